"""Which models a table is tried with: one line each, in a file for each task.

A line names an estimator by its path, so that this room imports none of them; a room that has a
new model adds a line.
"""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches

from posteriori.selection.lines.candidate import Candidate
from posteriori.selection.lines.classification_lines import CLASSIFICATION
from posteriori.selection.lines.density_lines import DENSITY
from posteriori.selection.lines.joint_lines import JOINT
from posteriori.selection.lines.regression_lines import REGRESSION
from posteriori.selection.lines.segment_lines import SEGMENTS
from posteriori.selection.lines.series_lines import SERIES

__all__ = ["CANDIDATES", "Candidate", "candidates_for"]

#: All models of the commands that compare some, cheapest first within a task.
CANDIDATES: tuple[Candidate, ...] = (
    *REGRESSION,
    *DENSITY,
    *CLASSIFICATION,
    *JOINT,
    *SEGMENTS,
    *SERIES,
)

#: What is said to be something, where that is no target.
_DESCRIBED = {"joint": "the columns are", "series": "the series is"}


def candidates_for(
    task: str,
    names: Sequence[str] | None = (),
    *,
    targets: Sequence[str] = (),
    inputs: int = 0,
    rows: int = 0,
    classes: int = 2,
    curved: bool = True,
    thorough: bool = False,
) -> list[Candidate]:
    """Return the models to try, cheapest first.

    Parameters
    ----------
    task : str
    names : sequence of str, or str
        Only these, however costly, by name or title; all that suit by default, or where it is None.
    targets : sequence of {"counts", "many zeros", "positive", "skewed", "two classes"}
        What is known about the targets; of a joint density, what the columns are; of series "regular",
        "positive", "seasonal", "counts" and "without inputs", where they are.
    inputs, rows : int
        Size of the data; 0 where it is not known.
    classes : int
        Of the target, where these are predicted.
    curved : bool
        Whether some input has more than two values. Otherwise a function of it is a straight line,
        and a candidate with a basis would be the same model as one without.
    thorough : bool
        Also those that cost much and seldom win.

    Raises
    ------
    ValueError
        When a name is unknown, or the model does not suit the targets.
    """
    known = {c.name: c for c in CANDIDATES if c.task == task}
    called = {c.words: c.name for c in known.values()}
    wanted = (names,) if isinstance(names, str) else names or ()
    names = [called.get(name, name) for name in wanted]
    for name in names:
        if name not in known:
            near = get_close_matches(name, {**known, **called}, n=1, cutoff=0.6)
            hint = f"; did you mean {near[0]!r}?" if near else "."
            raise ValueError(f"no {task} model {name!r}{hint} There are: {', '.join(known)}")
        lacking = _lacking(known[name], targets)
        if lacking:
            what = _DESCRIBED.get(task, "the target is")
            raise ValueError(
                f"{name!r} is for {', '.join(lacking)}, which {what} not; leave it out of models"
            )
    chosen = [known[name] for name in names] or [
        c
        for c in known.values()
        if not _lacking(c, targets)
        and c.suits in ("any", *targets)
        and inputs <= c.most_inputs
        and (not rows or c.fewest_rows <= rows <= c.most_rows)
        and rows * max(classes - 1, 1) <= c.most_predictors
        and (curved or not c.basis)
        and (thorough or not c.thorough)
    ]
    return sorted(chosen, key=lambda c: c.cost)


def _lacking(candidate: Candidate, targets: Sequence[str]) -> list[str]:
    """Return what a candidate asks of the targets, and they are not."""
    return [asked for asked in candidate.targets.split(", ") if asked not in ("any", *targets)]
