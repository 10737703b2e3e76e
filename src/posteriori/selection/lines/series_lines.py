"""Series that go on: levels, trends, seasons and autoregressions, also of logarithms; cheapest first."""

from __future__ import annotations

from posteriori.selection.lines.candidate import Candidate

__all__ = ["NAIVE", "SERIES"]

_STRUCTURAL = "posteriori.sequence.StructuralSeries"
_AUTOREGRESSIVE = "posteriori.sequence.AutoregressiveSeries"
_SCALES = (
    "log variances of the parts N(·, 2.5²), common scale Inv-Gamma(½, 0.1), in units of the series"
)
_LAGS = "weights of lags N(0, 1/k²), common scale Inv-Gamma(½, 0.1), in units of the series"

#: Log odds of each thing that a model claims of all the future: a level to return to, or growth in
#: proportion. Learned on half of a collection of public series, where -2 to -6 do about equally well.
_CLAIM = -4.0
#: Trends that claim something.
_CLAIMING = ("constant",)

#: Name, trend, what it asks of a series, and cost without and with a season.
_TRENDS = (
    ("constant", "constant", "any", 1.0, 0.0),
    ("walk", "walk", "any", 1.0, 50.0),
    ("level", "level", "any", 40.0, 60.0),
    ("drift", "drift", "any", 60.0, 70.0),
    ("trend", "trend", "any", 100.0, 80.0),
    ("damped trend", "damped", "regular", 300.0, 300.0),
)

#: What repeats the last value, and the last season: all else is measured by it.
NAIVE = ("walk", "seasonal walk")


def _asks(*words: str) -> str:
    """Join what a candidate asks of a series."""
    return ", ".join(word for word in words if word != "any") or "any"


def _lines(transform: str) -> list[Candidate]:
    logs = "log " if transform == "log" else ""
    positive = "positive" if logs else "any"

    def structural(name: str, parts: dict[str, object], asks: str, cost: float) -> Candidate:
        seasonal = "season" in name
        return Candidate(
            logs + name,
            "series",
            _STRUCTURAL,
            {**parts, "transform": transform},
            _SCALES,
            cost,
            encoding="seasons" if seasonal else "numbers",
            targets=_asks(asks, positive, "seasonal" if seasonal else "any"),
            log_odds=_CLAIM * ((parts["trend"] in _CLAIMING) + bool(logs)),
        )

    trends = [row for row in _TRENDS if not (logs and row[0] == "drift")]  # growth for ever
    made = [structural(name, {"trend": t}, asks, cost) for name, t, asks, cost, _ in trends]
    made += [
        structural(f"{name} + season", {"trend": trend}, asks, cost)
        for name, trend, asks, _, cost in trends[1:]
    ]
    parts: dict[str, object] = {"trend": "walk", "autoregression": 2}  # returns to what wanders
    made.append(structural("walk + season + autoregression", parts, "regular", 400.0))
    made.append(
        Candidate(
            logs + "autoregression",
            "series",
            _AUTOREGRESSIVE,
            {"transform": transform},
            _LAGS,
            5.0,
            targets=_asks("regular", positive, "without inputs"),
            log_odds=_CLAIM * (1 + bool(logs)),
        )
    )
    return made


SERIES: tuple[Candidate, ...] = (
    *_lines("none"),
    Candidate(
        "seasonal walk",
        "series",
        _STRUCTURAL,
        {"trend": "seasonal walk"},
        _SCALES,
        2.0,
        encoding="seasons",
        targets="regular, short season",
    ),
    Candidate(
        "counts",
        "series",
        "posteriori.sequence.CountSeries",
        prior="discount uniform on (0, 1), first level exponential around the mean",
        cost=8.0,
        targets="regular, counts, without inputs",
    ),
    *_lines("log"),
)
