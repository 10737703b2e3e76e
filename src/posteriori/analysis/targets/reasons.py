"""What a verdict rests on, for statisticians: differences in nats, evidences, errors."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from posteriori.analysis.ranking.ranked_outcomes import AVERAGE
from posteriori.analysis.table.wording import number_with_error, one_sentence, short_number
from posteriori.analysis.targets.decided_classes import Decided
from posteriori.analysis.targets.decided_words import reasons_on_class
from posteriori.numerics.types import Array
from posteriori.selection.comparison import Row

if TYPE_CHECKING:
    from posteriori.analysis.comparisons.conclusions import Analysis
    from posteriori.analysis.ranking.ranked_result import RankedResult

__all__ = [
    "FAR",
    "FEW_ROWS",
    "SMALL",
    "alarms_hold",
    "chances_hold",
    "differences",
    "differences_of",
    "ranges_hold",
    "reasons_of",
    "strength",
]

#: Differences in nats, of all rows together, that hardly matter however consistent they are.
#: A. Vehtari et al. call models "very similar" below it.
SMALL = 4.0

#: Standard errors up to which a share is as was promised.
FAR = 2.0

#: With fewer rows all is rough.
FEW_ROWS = 30

#: Where so many times as many rows would be needed to decide, it does not matter.
_MANY_TIMES = 100.0

#: The evidence prefers a model if it is so many times as probable.
_PREFERRED = 3.0

#: Below this R² nothing is explained.
_NOTHING = 0.005


def reasons_of(found: Analysis) -> list[str]:
    """Return what to do beside the gravest thing, and what the verdict rests on: differences, evidences, errors."""
    if found.ranking.rows[0].failure:
        return []
    further = [one_sentence(step) for step in found.steps[1:]]
    told = differences_of(found, found.baseline)
    if found.decided:
        return [*further, *reasons_on_class(found), *told]
    if found.target.task == "regression":
        told = [_explained(found), *told, *_on_errors(found)]
    return [*further, *told]


def _explained(found: Analysis) -> str:
    share = found.metrics[found.kept]["R²"]
    much = (
        "none" if share < _NOTHING else f"{100.0 * share:.0f}%" if share < 0.995 else "nearly all"
    )
    name = found.target.column.name
    return f"{much[0].upper()}{much[1:]} of the variance of “{name}” is explained by “{found.words(found.kept)}”."


def _on_errors(found: Analysis) -> list[str]:
    """Say which model has the least error, if that is not the best by density, and why another one is kept."""
    errors = {n: next(iter(found.metrics[n].values())) for n in found.metrics if n != AVERAGE}
    measure = next(iter(found.metrics[found.kept]))
    least, best = min(errors, key=lambda n: errors[n]), found.best_single
    told = []
    if errors[least] < 0.99 * errors[best]:
        told.append(
            f"By error it is “{found.words(least)}” ({measure} {short_number(errors[least], 3)} "
            f"against {short_number(errors[best], 3)})."
        )
    if found.kept != found.ranking.rows[0].name:
        told.append(f"“{found.words(found.kept)}” is kept: {_why_not_best(found)}.")
    return told


def _why_not_best(found: Analysis) -> str:
    """Say why another model is kept than the best by density."""
    if found.kept == AVERAGE:
        return "an average is seldom surer than it should be, as the first of many models is"
    if found.keep == found.kept:
        return "it was asked for"
    if found.kept == found.best_single:
        return "a single model was asked for"
    return f"“{found.words(found.ranking.rows[0].name)}” errs more than no column at all"


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


def differences_of(found: RankedResult, baseline: str = "") -> list[str]:
    """Say by how much the best model is ahead, and what evidences and the average add."""
    names = {name: o.candidate.words for name, o in found.outcomes.items()}
    told = differences(found.single_rows, len(found.problem.X), baseline=baseline, names=names)
    row = next(row for row in found.ranking.rows if row.name == found.best_single)
    gap, error = -row.elpd_difference, row.elpd_difference_se
    if found.ranking.rows[0].name == AVERAGE and gap >= 0.05:  # less would be printed as 0.0
        does = "better still" if gap > FAR * error else "at least as well"
        told.append(
            f"The average of the models does {does}, by {number_with_error(gap, error)} nats."
        )
    return told


def differences(
    rows: Sequence[Row], n_rows: int, *, baseline: str = "", names: Mapping[str, str] | None = None
) -> list[str]:
    """Say by how much the best of ranked models is ahead, how sure that is, and what the evidence adds.

    Parameters
    ----------
    rows : sequence of Row
        Best first, without the average.
    n_rows : int
        Rows of the data.
    baseline : str
        The model that ignores all columns.
    names : mapping, optional
        What models are called; their names by default.
    """
    called = {} if names is None else names
    rows = [replace(row, name=called.get(row.name, row.name)) for row in rows]
    sound = [row for row in rows if not row.failure]
    if len(sound) < 2:
        return []
    flat = _against_baseline(sound, called.get(baseline, baseline))
    return [flat] if flat else _against_second(sound, n_rows)


def _against_baseline(sound: list[Row], baseline: str) -> str:
    """Say that the columns do not help, where they do not; else nothing."""
    best, flat = sound[0], next((row for row in sound if row.name == baseline), None)
    if flat is None:
        return ""
    if flat is best:
        return f"{_name(best)} predicts unseen rows best: no model finds help in the columns."
    gap, error = -flat.elpd_difference, flat.elpd_difference_se
    if not (math.isfinite(gap) and math.isfinite(error)) or gap >= FAR * error:
        return ""
    return (
        f"The columns tell next to nothing that these rows show: {_name(best)} predicts unseen rows "
        f"best, by {number_with_error(gap, error)} nats over {_name(flat)}, which ignores them."
    )


def _against_second(sound: list[Row], n_rows: int) -> list[str]:
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
    adds = _what_evidence_adds(best, second, sound)
    return [text, adds] if adds else [text]


def _meaning(gap: float, error: float, n_rows: int) -> str:
    how = strength(gap, error)
    if how == "not known":
        return "how sure that is cannot be told from so few rows"
    if how == "not decided":
        return f"the data do not decide between them{_rows_to_decide(gap, error, n_rows)}"
    if how == "weak":
        return f"a weak preference{_rows_to_decide(gap, error, n_rows)}"
    if gap < SMALL:
        return "a small difference, which hardly matters for prediction"
    return f"a {how} difference, which new rows like these would hardly change"


def _rows_to_decide(gap: float, error: float, n_rows: int) -> str:
    """Say how many rows would bring the difference to two standard errors: both grow as N, √N."""
    if not (gap > 0.0 and error > 0.0):
        return ""
    needed = n_rows * (2.0 * error / gap) ** 2
    if needed > _MANY_TIMES * n_rows:
        return ", and for prediction it hardly matters which one is used"
    if n_rows < FEW_ROWS:
        return ""
    return f"; about {_rounded(needed)} rows like these would settle it"


def _rounded(count: float) -> str:
    digits = max(0, math.floor(math.log10(count)) - 1)
    return f"{round(count, -digits):,.0f}"


def _what_evidence_adds(best: Row, second: Row, rows: Sequence[Row]) -> str:
    """Say what the evidence has to add: agreement, or another opinion."""
    group = [row for row in rows if row.of == best.of and row.measure == best.measure and row.of]
    if len(group) < 2:
        return ""
    likely = max(group, key=lambda row: row.probability)
    p = f"{likely.probability:.3f}" if likely.probability < 0.9995 else "more than 0.999"
    if likely is best and likely.probability >= 0.5:
        if second in group:
            return f"The evidence agrees (probability {p} among {len(group)} models)."
        return f"The evidence cannot compare these two; it prefers {_name(best)} in its group of {len(group)} ({p})."
    if likely.probability < _PREFERRED * best.probability:
        return ""
    return (
        f"The evidence prefers {_name(likely)} (probability {p} among {len(group)} "
        "models): it also counts how surprising the data were to the prior."
    )


def _name(row: Row) -> str:
    return f"“{row.name}”"


# -- promises ------------------------------------------------------------------------------------


def _promise_kept(expected: float, error: float, came: float) -> int:
    """Tell whether fewer (−1), as many (0) or more (1) came than were promised."""
    return 0 if abs(came - expected) <= FAR * error else 1 if came > expected else -1


def ranges_hold(level: Array, *, counts: bool = False) -> int:
    """Tell whether intervals of 90 % held fewer (−1), as many (0) or more (1) values than they promise.

    Parameters
    ----------
    level : (N,)
        Of what came in its predictive distribution.
    counts : bool
        Whether these are counts, whose intervals end at whole numbers, and hold more than they promise.
    """
    count, held = len(level), float(np.sum(np.abs(level - 0.5) <= 0.45))
    kept = _promise_kept(0.9 * count, 0.3 * math.sqrt(count), held)
    return min(kept, 0) if counts else kept


def chances_hold(p: Array, codes: Array) -> int:
    """Tell whether the most probable classes came less (−1), as (0) or more often (1) than they promise.

    Parameters
    ----------
    p : (N, K)
    codes : (N,)
        Classes that came.
    """
    sure = p.max(axis=1)
    error = max(float(np.sqrt((sure * (1.0 - sure)).sum())), 1.0 / FAR)  # one row is no reason
    return _promise_kept(float(sure.sum()), error, float(np.sum(p.argmax(axis=1) == codes)))


def alarms_hold(p: Array, decided: Decided) -> int:
    """Tell whether fewer (−1), as many (0) or more (1) alarms were true than their probabilities promise.

    Without any alarm, whether the most probable classes came as often.

    Parameters
    ----------
    p : (N, K)
    decided : Decided
    """
    sure = p[decided.said == decided.positive, decided.positive]
    if not len(sure):
        return chances_hold(p, decided.codes)
    error = max(float(np.sqrt((sure * (1.0 - sure)).sum())), 1.0 / FAR)
    return _promise_kept(float(sure.sum()), error, float(decided.found))
