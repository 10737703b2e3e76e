"""The verdict: how well the target can be predicted, by which model, and how sure that is."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from posteriori.analysis.fitting.running import INTERRUPTED, OUT_OF_TIME
from posteriori.analysis.ranking.ranked_outcomes import AVERAGE
from posteriori.analysis.table.wording import number_with_error, short_number
from posteriori.analysis.targets.decided_words import said_of_class
from posteriori.numerics.types import Array
from posteriori.selection.comparison import Row

if TYPE_CHECKING:
    from posteriori.analysis.targets.conclusions import Analysis

__all__ = ["answer", "strength", "verdict", "verdict_of"]


#: Differences in nats, of all rows together, that hardly matter however consistent they are.
#: A. Vehtari et al. call models "very similar" below it.
_SMALL = 4.0

#: Where so many times as many rows would be needed to decide, it does not matter.
_MANY_TIMES = 100.0

#: With fewer rows, standard errors are too rough to tell how many more are needed.
_FEW_ROWS = 30

#: The evidence prefers a model if it is so many times as probable.
_PREFERRED = 3.0

#: Columns that are named as those that matter most, at most.
_MOST_NAMED = 3

#: A column matters if shuffling it costs this share of what shuffling the most important one does.
_MATTERS = 0.1

#: Below this R² nothing is explained.
_NOTHING = 0.005


def verdict_of(found: Analysis) -> str:
    """Say how well the target can be predicted, by which model, how sure that is, what to beware of."""
    if found.ranking.rows[0].failure:
        return verdict(found.single_rows, len(found.problem.y))
    outcomes = found.outcomes.values()
    names = {name: o.candidate.words for name, o in found.outcomes.items()}
    which = verdict(
        found.single_rows,
        len(found.problem.y),
        baseline=found.baseline,
        untried=sum(o.failure in (INTERRUPTED, OUT_OF_TIME) for o in outcomes),
        revealing=found.revealing,
        names=names,
        average=_ahead(found),
    )
    return f"{answer(found)} {which}{_on_errors(found)}"


def _ahead(found: Analysis) -> tuple[float, float] | None:
    """Return by how much, with which error, the average is ahead of the best single model."""
    if found.ranking.rows[0].name != AVERAGE:
        return None
    row = found.ranking[found.best_single]
    return -row.elpd_difference, row.elpd_difference_se


# -- what can be predicted ---------------------------------------------------------------------


def answer(found: Analysis) -> str:
    """Say how far the target can be predicted, and from which columns, by the model that is kept."""
    unseen = found.outcomes[found.kept].unseen
    assert unseen is not None
    name, y = found.target.column.name, found.problem.y
    if found.decided:
        decided = found.decided[found.kept]
        return said_of_class(name, found.problem.classes, decided, _matter(found))
    if found.problem.classes is not None:
        return f"{_classified(name, unseen.prediction, y, found.problem.classes)}{_matter(found)}."
    if found.target.task == "density":
        low, high = (short_number(q, 3) for q in np.quantile(y, [0.05, 0.95]))
        return f"90% of “{name}” lie between {low} and {high}."
    reach = short_number(float(np.quantile(np.abs(y - unseen.prediction), 0.9)), 2)
    explained = _explained(found.metrics[found.kept]["R²"])
    return f"“{name}” can be predicted to ± {reach} (90%); {explained}{_matter(found)}."


def _explained(share: float) -> str:
    if share < _NOTHING:
        return "none of its variance is explained"
    return (
        f"{100.0 * share:.0f}% of its variance is explained"
        if share < 0.995
        else ("nearly all of its variance is explained")
    )


def _classified(name: str, p: Array, y: Array, classes: Array) -> str:
    codes = np.searchsorted(classes, y)
    right = np.mean(p.argmax(axis=1) == codes)
    often = np.bincount(codes).max() / len(codes)
    return (
        f"“{name}” is told right in {100.0 * right:.0f}% of unseen rows, where always saying the most "
        f"frequent class is right in {100.0 * often:.0f}%"
    )


def _matter(found: Analysis) -> str:
    """Name the columns that matter most to the best single model."""
    importance = found.importance
    if importance is None:
        return ""
    least = max(_MATTERS * float(importance.mean[0]), 0.0)
    lost = zip(importance.names[:_MOST_NAMED], importance.mean, strict=False)
    named = [name for name, mean in lost if mean > least]
    if not named:
        return ""
    listed = " and ".join([", ".join(named[:-1]), named[-1]] if len(named) > 1 else named)
    return f"; {listed} {'matters' if len(named) == 1 else 'matter'} most"


def _on_errors(found: Analysis) -> str:
    """Say which model has the least error, if that is not the best by density, and which is kept."""
    if found.problem.classes is not None or found.target.task == "density":
        return ""
    errors = {n: next(iter(found.metrics[n].values())) for n in found.metrics if n != AVERAGE}
    measure = next(iter(found.metrics[found.kept]))
    least, best = min(errors, key=lambda n: errors[n]), found.best_single
    text = ""
    if errors[least] < 0.99 * errors[best]:
        text = (
            f" By error it is “{found.words(least)}” ({measure} {short_number(errors[least], 3)} "
            f"against {short_number(errors[best], 3)})."
        )
    if found.kept != found.ranking.rows[0].name:
        text += f" “{found.words(found.kept)}” is kept: {_why_not_best(found)}."
    return text


def _why_not_best(found: Analysis) -> str:
    """Say why another model is kept than the best by density."""
    if found.kept == AVERAGE and found.average_will_do:
        return f"{len(found.problem.y)} rows hardly tell which single model is best"
    return f"“{found.words(found.ranking.rows[0].name)}” errs more than no column at all"


# -- which model -------------------------------------------------------------------------------


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
    names: Mapping[str, str] | None = None,
    average: tuple[float, float] | None = None,
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
    names : mapping, optional
        What models are called; their names by default.
    average : (float, float), optional
        By how many nats, with which error, the average of all models is ahead of the best.
    """
    called = {} if names is None else names
    rows = [replace(row, name=called.get(row.name, row.name)) for row in rows]
    baseline = called.get(baseline, baseline)
    sound = [row for row in rows if not row.failure]
    if not sound:
        return "No model could be fitted; the notes say why."
    if len(sound) == 1:
        text = f"{_name(sound[0])} is the only model that was fitted: there is nothing to compare it with."
    else:
        text = _against_baseline(sound, baseline) or _against_second(sound, n_rows)
    if average is not None and average[0] >= 0.05:  # less would be printed as 0.0
        does = "better still" if average[0] > 2.0 * average[1] else "at least as well"
        text += f" The average of the models does {does}, by {number_with_error(*average)} nats."
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
    return text + _what_evidence_adds(best, second, sound)


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


def _what_evidence_adds(best: Row, second: Row, rows: Sequence[Row]) -> str:
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
