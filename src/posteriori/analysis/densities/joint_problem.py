"""All columns of a table as densities take them, and how one of these is fitted to a part of the rows.

A recorded number stands for any within the step δ that it is recorded to. All models see the same table, in
which each number lies somewhere within its step: there a value that repeats has the variance δ²/12. No component
or kernel is narrower, also where it holds rows that lie close by chance. What is said of unseen rows, and
evidences, are densities of this table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.pipeline import Pipeline

from posteriori.analysis.fitting.coded_rows import column_step, read_rows
from posteriori.analysis.fitting.preparation import CodeColumns
from posteriori.analysis.saved.density_model import log_density_of
from posteriori.analysis.table.columns import Column
from posteriori.analysis.table.wording import counted
from posteriori.distributions.vectors.dirichlet import Dirichlet
from posteriori.inference.gaps.gap_beliefs import GapBelief, mix_gaps
from posteriori.numerics.logspace import log_sum_exp, softmax
from posteriori.numerics.types import Array
from posteriori.selection.candidates import Candidate, candidates_for
from posteriori.selection.cross_validation import Unseen, split_rows

__all__ = [
    "DensityAverage",
    "JointProblem",
    "fit_density",
    "fit_joint",
    "joint_candidates",
    "make_joint_problem",
]


#: Entries that a column needs, so that all folds see some.
_FEWEST_ENTRIES = 5


class JointProblem(NamedTuple):
    """What densities are fitted to.

    Attributes
    ----------
    X : (N, D)
        Rows with an entry: numbers somewhere within their steps, codes, NaN for gaps.
    encoder : CodeColumns
        Makes numbers of the columns of a table.
    steps : (D,)
        To which numbers are recorded; 0 for codes, and where they show none.
    splits : list of pairs of rows
    classes : None
        There is no target.
    """

    X: Array
    encoder: CodeColumns
    steps: Array
    splits: list[tuple[Any, Any]]
    classes: None = None

    def some(self, rows: Any, seed: int) -> JointProblem:
        """Return the problem of some rows, with folds of their own."""
        x = self.X[rows]
        return self._replace(X=x, splits=split_rows(x, len(self.splits), seed, classes=False))

    @property
    def traits(self) -> tuple[str, ...]:
        """What candidates ask about the columns."""
        if set(self.encoder.columns) != {"normal"}:
            return ()
        several = ("several columns of numbers",) * (self.X.shape[1] > 1)
        return ("numbers", *several, *("numbers without gaps",) * (not np.isnan(self.X).any()))


def make_joint_problem(
    frame: pd.DataFrame, columns: Sequence[Column], folds: int, seed: int
) -> tuple[JointProblem, pd.DataFrame, list[Column]]:
    """Convert the used columns of a table, and cut its rows into folds.

    Returns
    -------
    problem : JointProblem
    frame : DataFrame
        Converted columns of all rows.
    columns : list of Column
        With those of too few entries left out.

    Raises
    ------
    ValueError
        When there are too few rows, or no column is left.
    """
    columns = [_without_rare(column, len(frame)) for column in columns]
    read = read_rows(frame, columns, seed, "to describe")
    raw, used = read.encoder.transform(read.frame), [c for c in columns if c.used]
    steps = [_step(raw[:, j], column) for j, column in enumerate(used)]
    splits = split_rows(read.x, folds, seed, classes=False)
    problem = JointProblem(read.x, read.encoder, np.array(steps), splits)
    return problem, read.frame, columns


def _without_rare(column: Column, rows: int) -> Column:
    entries = rows - column.missing
    if not column.used or entries >= _FEWEST_ENTRIES or rows < _FEWEST_ENTRIES:
        return column
    few = counted(entries, "entry", "entries")
    return replace(column, kind="empty", note=f"{few} only, too few to describe: left out")


def _step(values: Array, column: Column) -> float:
    if column.kind not in ("number", "date"):
        return 0.0
    return column_step(values[~np.isnan(values)], column.kind)


def joint_candidates(problem: JointProblem, models: Sequence[str] | None = ()) -> list[Candidate]:
    """Return the densities to try, or those of the given names, cheapest first."""
    rows, inputs = problem.X.shape
    return candidates_for("joint", models, targets=problem.traits, inputs=inputs, rows=rows)


def fit_joint(problem: JointProblem, candidate: Candidate, fold: int | None) -> Any:
    """Return what a density says of a fold when it has seen the others; or one of all rows."""
    if fold is None:
        fitted = fit_density(problem, candidate, np.arange(len(problem.X)))
        return Pipeline([("columns", problem.encoder), ("model", fitted)])
    train, held_out = problem.splits[fold]
    log_density = log_density_of(fit_density(problem, candidate, train), problem.X[held_out])
    unknown = np.full(len(held_out), np.nan)
    return Unseen(log_density, unknown, unknown)


def fit_density(problem: JointProblem, candidate: Candidate, rows: Any) -> Any:
    """Return a density that is fitted to some of the rows."""
    with np.errstate(invalid="ignore"):  # jumps of an ascent that lead nowhere are not taken
        return _density(problem, candidate).fit(problem.X[rows])


def _density(problem: JointProblem, candidate: Candidate) -> Any:
    """Return an unfitted density that knows the kinds, levels and steps of the columns."""
    model, widths = candidate.make(), problem.steps / np.sqrt(12.0)
    if candidate.encoding == "codes":
        levels = problem.encoder.levels_.values()
        beliefs = [Dirichlet(np.ones(len(names) + 1)) for names in levels]  # and one for the others
        priors = {"categorical": beliefs} if beliefs else None
        model.set_params(columns=problem.encoder.columns, priors=priors)
    kernels = "min_bandwidth" in model.get_params()
    return model.set_params(**{"min_bandwidth" if kernels else "min_width": widths})


class DensityAverage(NamedTuple):
    """Fitted densities of the same columns.

    Attributes
    ----------
    models : tuple of estimators
    weights : (K,)
    """

    models: tuple[Any, ...]
    weights: Array

    @classmethod
    def of_fitted(cls, models: Mapping[str, Pipeline], weights: Mapping[str, float]) -> Pipeline:
        """Return the average of pipelines that prepare columns alike, as a pipeline."""
        shares = np.array([weights[name] for name in models])
        encoder = next(iter(models.values()))[0]
        average = cls(tuple(model[-1] for model in models.values()), shares)
        return Pipeline([("columns", encoder), ("model", average)])

    def score_samples(self, x: Array) -> Array:
        """Return ln p of what is seen of rows, (N,)."""
        return log_sum_exp(self._log_joint(x), axis=1)

    def gap_beliefs(self, x: Array) -> tuple[GapBelief, ...]:
        """Return what is believed of the gaps of rows; models count as what is seen of a row says."""
        shares = softmax(self._log_joint(x), axis=1)
        return mix_gaps([model.gap_beliefs(x) for model in self.models], shares)

    def _log_joint(self, x: Array) -> Array:
        logs = [model.score_samples(x) for model in self.models]
        return np.stack(logs, axis=1) + np.log(self.weights)
