"""The verdict, which needs no statistics: what can be predicted and how well, by which model, and what to do next."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from posteriori.analysis.fitting.running import INTERRUPTED, OUT_OF_TIME
from posteriori.analysis.ranking.ranked_outcomes import AVERAGE
from posteriori.analysis.table.wording import (
    counted,
    listed,
    number_within,
    one_sentence,
    short_number,
)
from posteriori.analysis.targets.decided_words import costs_to_tell, said_of_class
from posteriori.analysis.targets.reasons import (
    FAR,
    FEW_ROWS,
    SMALL,
    alarms_hold,
    chances_hold,
    ranges_hold,
)
from posteriori.numerics.types import Array
from posteriori.selection.comparison import Row

if TYPE_CHECKING:
    from posteriori.analysis.comparisons.conclusions import Analysis
    from posteriori.analysis.ranking.ranked_result import RankedResult

__all__ = [
    "DOUBTED",
    "NO_MODEL",
    "choice_in_words",
    "classes_in_words",
    "columns_help",
    "doubt_of",
    "errors_of",
    "next_steps",
    "numbers_in_words",
    "share_words",
    "standing",
    "untried_in_words",
    "verdict_of",
]

#: What is said where nothing was fitted.
NO_MODEL = "No model could be fitted; the notes say why."

#: Differences in nats, of a single row, that matter little where they are not sure: one part in ten of its probability.
_SMALL_OF_A_ROW = 0.1

#: A model that the evidence gives less is doubted.
DOUBTED = 0.01

#: Classes whose shares are told; of more, the one that is found least often.
_MOST_CLASSES = 3


# -- for everybody -----------------------------------------------------------------------------


def verdict_of(found: Analysis) -> str:
    """Say how well the target can be predicted, from what, by which model, and what to do next."""
    if found.ranking.rows[0].failure:
        return NO_MODEL
    answer = _class_to_find if found.decided else _ANSWERS[found.target.task]
    answered, choice = answer(found), (choice_of(found), _promise(found), doubt_of(found))
    steps = found.steps
    told = [answered, one_sentence(*choice), one_sentence(*steps[:1])]
    return " ".join(text for text in told if text)


def _numbers(found: Analysis) -> str:
    """Say how far predictions are off, beside always saying the same number."""
    said, drivers = found.unseen.prediction, found.drivers
    y, loss = found.problem.y, found.problem.loss
    flat = found.outcomes.get(found.baseline)
    same = np.median(y) if flat is None or flat.unseen is None else flat.unseen.prediction
    return numbers_in_words(
        found.target.column.name,
        errors_of(y, said, loss),
        errors_of(y, same, loss),
        drivers,
        loss=loss,
        helped=columns_help(found.single_rows, found.baseline),
    )


def errors_of(y: Array, said: Array, loss: str) -> Array:
    """Return by how much predictions (N,) are off; of the loss "log", by how much their logarithms are."""
    if loss != "log":
        return np.abs(y - said)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(said > 0.0, np.abs(np.log(y) - np.log(said)), np.inf)


def numbers_in_words(
    name: str,
    errors: Array,
    simple: Array,
    drivers: Sequence[str],
    *,
    loss: str = "squared",
    helped: bool = True,
) -> str:
    """Say how well numbers are predicted, and what that depends on.

    Parameters
    ----------
    name : str
        Of the target.
    errors, simple : (N,)
        By how much predictions are off, and the same number would be.
    drivers : sequence of str
        Columns that matter most.
    loss : str
    helped : bool
        Whether a model does clearly better than without columns.
    """
    depends = _depends(drivers)
    off = (float(errors.mean()), float(np.quantile(errors, 0.9)), float(simple.mean()))
    typical, far, same = (
        f"a factor of {short_number(math.exp(e), 3)}" if loss == "log" else short_number(e, 2)
        for e in off
    )
    if not helped:
        return (
            f"These columns do not help to predict “{name}”, as far as the rows show: always saying the same number "
            f"is off by {same} on average, and no model does clearly better."
        )
    return (
        f"“{name}” is predicted to within {typical} on average, and to within {far} in nine of ten unseen rows, where "
        f"always saying the same number would be off by {same}{depends}."
    )


def _classes(found: Analysis) -> str:
    """Say how often classes are told right, beside always saying the most frequent one."""
    return classes_in_words(
        found.target.column.name,
        [str(label) for label in found.problem.classes],
        found.codes,
        found.unseen.prediction.argmax(axis=1),
        found.drivers,
        helped=columns_help(found.single_rows, found.baseline),
    )


def classes_in_words(
    name: str,
    labels: Sequence[str],
    codes: Array,
    said: Array,
    drivers: Sequence[str],
    *,
    helped: bool,
) -> str:
    """Say how well classes are told, which are found, and what that depends on.

    Parameters
    ----------
    name : str
        Of the target.
    labels : K texts
    codes, said : (N,)
        Places of the classes that came, and of those that were held most probable.
    drivers : sequence of str
        Columns that matter most.
    helped : bool
        Whether a model does clearly better than without columns.
    """
    counts = np.bincount(codes, minlength=len(labels))
    often, most = labels[int(counts.argmax())], share_words(float(counts.max() / len(codes)))
    if not helped:
        return (
            f"These columns do not help to tell “{name}”, as far as the rows show: always saying “{often}” is right in "
            f"{most}, and no model does clearly better."
        )
    shares = np.bincount(codes[codes == said], minlength=len(labels)) / np.maximum(counts, 1)
    if len(labels) <= _MOST_CLASSES:
        parts = [
            f"“{label}” in {share_words(p)}"
            for label, p in zip(labels, shares.tolist(), strict=True)
        ]
        told = ", ".join(parts)
    else:
        least = int(shares.argmin())
        told = f"least often “{labels[least]}”, in {share_words(float(shares[least]))}"
    return (
        f"“{name}” is told right in {share_words(float(np.mean(said == codes)))} of unseen rows ({told}), where always "
        f"saying “{often}” is right in {most}{_depends(drivers)}."
    )


def _class_to_find(found: Analysis) -> str:
    """Say how many rows of a class are found, for how many false alarms."""
    decided, name = found.decided[found.kept], found.target.column.name
    return said_of_class(name, found.problem.classes, decided, _depends(found.drivers))


def _density(found: Analysis) -> str:
    """Say where most of the values are."""
    column, ends = found.target.column, np.quantile(found.problem.y, [0.05, 0.5, 0.95])
    low, middle, high = (number_within(q, ends[2] - ends[0], column.written) for q in ends)
    return f"Nine of ten values of “{column.name}” lie between {low} and {high}, half of them below {middle}."


#: What is said of each kind of target.
_ANSWERS = {"regression": _numbers, "classification": _classes, "density": _density}


def share_words(share: float) -> str:
    """Write a share in per cent, with a decimal where it would be all.

    Examples
    --------
    >>> share_words(0.437), share_words(0.997), share_words(1.0)
    ('44%', '99.7%', '100%')
    """
    return f"{100.0 * share:.{int(0.995 <= share < 0.9995)}f}%"


def _depends(drivers: Sequence[str]) -> str:
    return f"; it depends most on {listed(drivers)}" if drivers else ""


def columns_help(rows: Sequence[Row], baseline: str) -> bool:
    """Tell whether a model does clearly better than the one that ignores all columns, if there is that one."""
    sound = [row for row in rows if not row.failure]
    flat = next((row for row in sound if row.name == baseline), None)
    return flat is None or (flat is not sound[0] and _is_behind(flat))


def choice_of(found: RankedResult) -> str:
    """Say which model to use, and whether the choice matters."""
    names = {name: o.candidate.words for name, o in found.outcomes.items()}
    rows, kept = found.ranking.rows, found.kept
    worse = rows[0].name != kept and found.error_ratio(rows[0].name) > 1.0
    return choice_in_words(rows, kept, names, len(found.problem.X), worse=worse)


def choice_in_words(
    rows: Sequence[Row], kept: str, names: Mapping[str, str], n_rows: int, *, worse: bool = False
) -> str:
    """Say which model to use, and whether the choice matters.

    Parameters
    ----------
    rows : sequence of Row
        The ranking, best first.
    kept : str
        The model to use.
    names : mapping
        What models are called.
    n_rows : int
        Rows of the data.
    worse : bool
        Whether the first of the ranking is not kept since it errs more than without columns.
    """
    which = "The average of the models" if kept == AVERAGE else f"“{names[kept]}”"
    others = [row for row in rows if not row.failure and row.name not in (kept, AVERAGE)]
    if not others:
        return f"{which} is the only model that was fitted: there is nothing to compare it with"
    how = (
        "what stands above it in the ranking is off by more than always saying the same number"
        if worse
        else standing(others, names, n_rows)
    )
    return f"{which} is the one to use: {how}"


def doubt_of(found: RankedResult, *, few: bool = False) -> str:
    """Doubt the model at the top where the evidence all but excludes it.

    A clear lead is no luck, unless it was seen at ``few`` points only. Evidence of target and columns speaks of another
    question.
    """
    top = found.ranking.rows[0]
    if top.probability < DOUBTED and "X,y" not in top.of:
        rivals = [row for row in found.ranking.rows if row.of == top.of]
        likely = max(rivals, key=lambda row: row.probability if row.probability >= 0.0 else -1.0)
        if few or not _is_behind(likely):
            return (
                f"but “{found.words(top.name)}” may do so well by luck, as all that was seen, taken together, speaks for "
                f"“{found.words(likely.name)}” instead"
            )
    return ""


def standing(others: Sequence[Row], names: Mapping[str, str], n_rows: int) -> str:
    """Say how many other models do about as well as the best, or may do so."""
    open_ = [row for row in others if not _is_behind(row)]
    small = max(SMALL, _SMALL_OF_A_ROW * n_rows)
    near = [row for row in others if -row.elpd_difference < (small if row in open_ else SMALL)]
    if near:
        verb = "does" if len(near) == 1 else "do"
        return f"{_named(near, names)} {verb} about as well, so that the choice hardly matters"
    if open_:
        return f"it does best, but {_named(open_, names)} may do as well"
    than = _named(others, names, "the ")
    return f"it does clearly better than {than}"


def _is_behind(row: Row) -> bool:
    """Tell whether a model is behind the best by two standard errors or more."""
    gap, error = -row.elpd_difference, row.elpd_difference_se
    return gap == math.inf or gap >= FAR * error > -math.inf


def _named(rows: Sequence[Row], names: Mapping[str, str], those: str = "") -> str:
    """Return the name of one model, or the number of several."""
    return f"“{names[rows[0].name]}”" if len(rows) == 1 else f"{those}{len(rows)} others"


def _promise(found: Analysis) -> str:
    """Say whether what the model says of its own certainty can be relied upon."""
    if found.problem.classes is None:
        return _ON_RANGES[ranges_hold(found.unseen.level, counts="counts" in found.target.traits)]
    if found.decided:
        return _ON_CHANCES[alarms_hold(found.unseen.prediction, found.decided[found.kept])]
    return _ON_CHANCES[chances_hold(found.unseen.prediction, found.codes)]


_ON_RANGES = {
    0: "the ranges that it gives for new rows can be relied upon",
    1: "the ranges that it gives for new rows are wider than they need to be",
    -1: "the ranges that it gives for new rows are too narrow: allow for more",
}
_ON_CHANCES = {
    0: "the probabilities that it gives can be relied upon",
    1: "the probabilities that it gives are too cautious",
    -1: "the probabilities that it gives are too sure: allow for more mistakes",
}


def next_steps(found: Analysis) -> list[str]:
    """Say what stands against acting on it at once, the gravest first, each a clause of a sentence."""
    rows, steps = len(found.problem.y), []
    if found.revealing:
        which = listed([repr(name) for name in found.revealing[:2]])
        one = len(found.revealing) == 1
        each, they, them = ("tells", "it is", "it") if one else ("each tell", "they are", "them")
        steps.append(
            f"but {which} alone {each} the target: if {they} not known beforehand, leave {them} out"
        )
    if found.dated:
        steps.append(
            "the rows are a series, and each was predicted from rows on both sides of it, which flatters: ask posteriori "
            f"forecast what comes next, or predict each from earlier rows alone with --time {found.dated}"
        )
    steps.append(untried_in_words(found))
    if not columns_help(found.single_rows, found.baseline):
        steps.append("look for other columns, or collect more rows")
    elif rows < FEW_ROWS:
        steps.append(f"with {rows} rows all of this is rough: collect more")
    if found.decided:
        steps.append(costs_to_tell(found.decided[found.kept], found.problem.classes))
    return [step for step in steps if step]


def untried_in_words(found: RankedResult) -> str:
    """Say how many models were not waited for; nothing if none."""
    untried = sum(o.failure in (INTERRUPTED, OUT_OF_TIME) for o in found.outcomes.values())
    verb = "was" if untried == 1 else "were"
    return f"{counted(untried, 'model')} {verb} not tried and may do better" if untried else ""
