"""The verdict in one sentence: which model, how sure that is, and what would change it."""

from __future__ import annotations

import math
from collections.abc import Sequence

from posteriori.selection.comparison import Row

__all__ = ["strength", "verdict"]


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


def verdict(rows: Sequence[Row], n_rows: int) -> str:
    """Return the verdict on ranked models, best first.

    Parameters
    ----------
    rows : sequence of Row
    n_rows : int
        Rows of the data.
    """
    sound = [row for row in rows if not row.failure]
    if not sound:
        return "No model could be fitted; the notes say why."
    best = sound[0]
    if len(sound) == 1:
        return (
            f"{_name(best)} is the only model that was fitted: there is nothing to compare it with."
        )
    second = sound[1]
    gap, error = abs(second.elpd_difference), second.elpd_difference_se
    if gap < 0.05 and not error >= 0.05:  # both would be printed as 0.0
        together = f"{_name(best)} and {_name(second)} predict unseen rows equally well."
        return together + _evidence(best, sound)
    if not math.isfinite(gap):
        return (
            f"{_name(best)} predicts unseen rows best: {_name(second)} held some of them impossible."
            + _evidence(best, sound)
        )
    how = strength(gap, error)
    text = (
        f"{_name(best)} predicts unseen rows best, by {gap:.1f} ± {error:.1f} nats over "
        f"{_name(second)}: "
    )
    return text + _meaning(how, gap, error, n_rows) + _evidence(best, sound)


def _meaning(how: str, gap: float, error: float, n_rows: int) -> str:
    if how == "not decided":
        needed = _rows_to_decide(gap, error, n_rows)
        return f"the data do not decide between them{needed}."
    if how == "weak":
        needed = _rows_to_decide(gap, error, n_rows)
        return f"a weak preference{needed}."
    if how == "not known":
        return "how sure that is cannot be told from so few rows."
    return f"a {how} difference, which new rows like these would hardly change."


def _rows_to_decide(gap: float, error: float, n_rows: int) -> str:
    """Say how many rows would bring the difference to two standard errors: both grow as N, √N."""
    if not (gap > 0.0 and error > 0.0):
        return ""
    needed = n_rows * (2.0 * error / gap) ** 2
    if needed > 1000 * n_rows:
        return ", and for prediction it does not matter which one is used"
    return f"; about {_rounded(needed)} rows like these would settle it"


def _rounded(count: float) -> str:
    digits = max(0, math.floor(math.log10(count)) - 1)
    return f"{round(count, -digits):,.0f}"


def _evidence(best: Row, rows: Sequence[Row]) -> str:
    """Say what the evidence has to add: agreement, or another opinion."""
    group = [row for row in rows if row.of == best.of and row.measure == best.measure and row.of]
    if len(group) < 2:
        return ""
    likely = max(group, key=lambda row: row.probability)
    p = f"{likely.probability:.3f}" if likely.probability < 0.9995 else "more than 0.999"
    if likely is best:
        return f" The evidence agrees (probability {p} among {len(group)} models)."
    return (
        f" The evidence prefers {_name(likely)} (probability {p} among {len(group)} "
        "models): it also counts how surprising the data were to the prior."
    )


def _name(row: Row) -> str:
    return f"“{row.name}”"
