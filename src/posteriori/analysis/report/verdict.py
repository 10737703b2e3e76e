"""The verdict in one sentence: which model, how sure that is, and what would change it."""

from __future__ import annotations

import math
from collections.abc import Sequence

from posteriori.analysis.table.number_words import number_with_error
from posteriori.selection.comparison import Row

__all__ = ["strength", "verdict"]

#: Differences in nats, of all rows together, that hardly matter however consistent they are.
#: A. Vehtari et al. call models "very similar" below it.
_SMALL = 4.0

#: Where so many times as many rows would be needed to decide, it does not matter.
_MANY_TIMES = 100.0

#: With fewer rows, standard errors are too rough to tell how many more are needed.
_FEW_ROWS = 30

#: The evidence prefers a model if it is so many times as probable.
_PREFERRED = 3.0


def strength(difference: float, error: float) -> str:
    """Say how far a difference stands above its standard error.

    Parameters
    ----------
    difference : float
        Advantage in held-out log density, ≥ 0.
    error : float
        Its standard error.
    """
    if not error > 0.0:
        return "not known" if math.isnan(error) else "clear" if difference > 0 else "none"
    ratio = difference / error
    for limit, word in ((1.0, "not decided"), (2.0, "weak"), (4.0, "clear")):
        if ratio < limit:
            return word
    return "very clear"


def verdict(
    rows: Sequence[Row],
    n_rows: int,
    *,
    baseline: str = "",
    untried: int = 0,
    revealing: Sequence[str] = (),
) -> str:
    """Return the verdict on ranked models, best first.

    Parameters
    ----------
    rows : sequence of Row
    n_rows : int
        Rows of the data.
    baseline : str
        The model that ignores all columns.
    untried : int
        Models that were not reached.
    revealing : sequence of str
        Columns that alone tell the target.
    """
    sound = [row for row in rows if not row.failure]
    if not sound:
        return "No model could be fitted; the notes say why."
    if len(sound) == 1:
        text = f"{_name(sound[0])} is the only model that was fitted: there is nothing to compare it with."
    else:
        text = _against_baseline(sound, baseline) or _against_second(sound, n_rows)
    return text + _reservations(untried, revealing)


def _against_baseline(sound: list[Row], baseline: str) -> str:
    """Say that the columns do not help, where they do not; else nothing."""
    best, flat = sound[0], next((row for row in sound if row.name == baseline), None)
    if flat is None:
        return ""
    if flat is best:
        return f"{_name(best)} predicts unseen rows best: no model finds help in the columns."
    gap, error = -flat.elpd_difference, flat.elpd_difference_se
    if not (math.isfinite(gap) and math.isfinite(error)) or gap >= 2.0 * error:
        return ""
    return (
        f"The columns tell next to nothing that these rows show: {_name(best)} predicts unseen rows "
        f"best, by {number_with_error(gap, error)} nats over {_name(flat)}, which ignores them."
    )


def _against_second(sound: list[Row], n_rows: int) -> str:
    best, second = sound[:2]
    gap, error = abs(second.elpd_difference), second.elpd_difference_se
    if gap < 0.05 and not error >= 0.05:  # both would be printed as 0.0
        text = f"{_name(best)} and {_name(second)} predict unseen rows equally well."
    elif not math.isfinite(gap):
        text = f"{_name(best)} predicts unseen rows best: {_name(second)} held some of them impossible."
    else:
        text = (
            f"{_name(best)} predicts unseen rows best, by {number_with_error(gap, error)} nats over "
            f"{_name(second)}: {_meaning(gap, error, n_rows)}."
        )
    return text + _evidence(best, second, sound)


def _meaning(gap: float, error: float, n_rows: int) -> str:
    how = strength(gap, error)
    if how == "not known":
        return "how sure that is cannot be told from so few rows"
    if how == "not decided":
        return f"the data do not decide between them{_rows_to_decide(gap, error, n_rows)}"
    if how == "weak":
        return f"a weak preference{_rows_to_decide(gap, error, n_rows)}"
    if gap < _SMALL:
        return "a small difference, which hardly matters for prediction"
    return f"a {how} difference, which new rows like these would hardly change"


def _rows_to_decide(gap: float, error: float, n_rows: int) -> str:
    """Say how many rows would bring the difference to two standard errors: both grow as N, √N."""
    if not (gap > 0.0 and error > 0.0):
        return ""
    needed = n_rows * (2.0 * error / gap) ** 2
    if needed > _MANY_TIMES * n_rows:
        return ", and for prediction it hardly matters which one is used"
    if n_rows < _FEW_ROWS:
        return ""
    return f"; about {_rounded(needed)} rows like these would settle it"


def _rounded(count: float) -> str:
    digits = max(0, math.floor(math.log10(count)) - 1)
    return f"{round(count, -digits):,.0f}"


def _evidence(best: Row, second: Row, rows: Sequence[Row]) -> str:
    """Say what the evidence has to add: agreement, or another opinion."""
    group = [row for row in rows if row.of == best.of and row.measure == best.measure and row.of]
    if len(group) < 2:
        return ""
    likely = max(group, key=lambda row: row.probability)
    p = f"{likely.probability:.3f}" if likely.probability < 0.9995 else "more than 0.999"
    if likely is best and likely.probability >= 0.5:
        if second in group:
            return f" The evidence agrees (probability {p} among {len(group)} models)."
        return f" The evidence cannot compare these two; it prefers {_name(best)} in its group of {len(group)} ({p})."
    if likely.probability < _PREFERRED * best.probability:
        return ""
    return (
        f" The evidence prefers {_name(likely)} (probability {p} among {len(group)} "
        "models): it also counts how surprising the data were to the prior."
    )


def _reservations(untried: int, revealing: Sequence[str]) -> str:
    text = ""
    if untried:
        models = "1 model was" if untried == 1 else f"{untried} models were"
        text += f" {models} not tried and may do better."
    if revealing:
        names = " and ".join(repr(name) for name in revealing[:2])
        each = "tells" if len(revealing) == 1 else "each tell"
        text += f" But {names} alone {each} the target: is that known beforehand?"
    return text


def _name(row: Row) -> str:
    return f"“{row.name}”"
