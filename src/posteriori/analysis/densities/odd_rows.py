r"""Odd rows, which the model itself would hardly draw, and the columns that make them so.

A model that has not seen a row is asked how probable it is, and to draw rows that miss the same entries. A column
is to blame as far as its entry surprises those who know the others,

.. math:: \ln p(x_j\mid x_{-j}) = \ln p(x) - \ln p(x_{-j}).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from posteriori.analysis.densities.joint_problem import JointProblem, fit_density
from posteriori.analysis.saved.density_model import log_density_of
from posteriori.inference.gaps.gap_beliefs import CodeGaps
from posteriori.inference.gaps.gap_patterns import gap_patterns
from posteriori.numerics.types import Array
from posteriori.selection.candidates import Candidate

__all__ = ["OddEntry", "OddRow", "find_odd_rows"]

#: Rows that are looked at, the least probable ones for what is seen of them.
_LOOKED_AT = 15

#: A row is odd if fewer as odd are expected among all.
_LIMIT = 0.1

#: Rows that are drawn for each row of the table, so that a few of them are as odd; and at most.
_DRAWN, _MOST_DRAWN = 50, 50_000

#: Rows that are drawn to see how probable others with the same gaps are, for so many patterns of gaps at most.
_SOME, _MOST_PATTERNS = 300, 300

#: Rows beyond which a model of all rows hardly knows single ones.
_MANY_ROWS = 2000

#: Columns that are blamed, and by how many nats an entry must surprise more than usual.
_BLAMED, _SURPRISING = 3, 2.0


class OddEntry(NamedTuple):
    """An entry that the other entries of its row do not expect.

    Attributes
    ----------
    column : int
    value : float
        Or a code.
    expected : float
        Its expectation given the other entries, or the most probable code.
    spread : float
        Standard deviation; of a code its probability.
    surprise : float
        Nats by which it is less probable than such entries usually are.
    """

    column: int
    value: float
    expected: float
    spread: float
    surprise: float


class OddRow(NamedTuple):
    """A row that the model would hardly draw.

    Attributes
    ----------
    row : int
        Its place among the rows of the problem.
    log_density : float
        Of what is seen of it, by a model that has not seen it.
    expected : float
        How many rows as odd the model expects among all.
    entries : tuple of OddEntry
        The most surprising first; none where only their combination is odd.
    """

    row: int
    log_density: float
    expected: float
    entries: tuple[OddEntry, ...]


def find_odd_rows(
    problem: JointProblem, candidate: Candidate, model: Any, log_density: Array, seed: int
) -> tuple[OddRow, ...]:
    """Return the rows that are odd, the least probable for what is seen of them first.

    Parameters
    ----------
    problem : JointProblem
    candidate : Candidate
        Is fitted again without folds that hold suspects; not where rows are so many that none counts.
    model : estimator
        That of the candidate, fitted to all rows.
    log_density : (N,)
        What it says of rows in folds that it has not seen.
    seed : int
    """
    x = problem.X
    suspects = _suspects(model, x, log_density, _draw(model, _SOME, len(x), seed))
    found: dict[int, OddRow] = {}
    for train, held_out in problem.splits:
        here = [row for row in suspects if row in held_out]
        if here:
            few = len(x) <= _MANY_ROWS
            unaware = fit_density(problem, candidate, train) if few else model
            found |= _odd_among(unaware, x, here, seed)
    return tuple(found[row] for row in suspects if row in found)


def _odd_among(model: Any, x: Array, suspects: list[int], seed: int) -> dict[int, OddRow]:
    """Return those of some rows that a model hardly ever draws."""
    drawn = _draw(model, min(_DRAWN * len(x), _MOST_DRAWN), len(x), seed)
    values: dict[bytes, Array] = {}  # of what is drawn, by the entries that are seen
    found = {}
    for row in suspects:
        seen, value = ~np.isnan(x[row]), float(model.score_samples(x[[row]])[0])
        if seen.tobytes() not in values:
            values[seen.tobytes()] = log_density_of(model, np.where(seen, drawn, np.nan))
        below = 1 + int(np.sum(values[seen.tobytes()] <= value))
        expected = len(x) * below / (len(drawn) + 1)
        if expected < _LIMIT:
            found[row] = OddRow(row, value, expected, ())
    if not found:
        return {}
    usual = _usual_surprises(model, x)
    return {n: one._replace(entries=_blamed(model, x[n], usual)) for n, one in found.items()}


def _draw(model: Any, size: int, rows: int, seed: int) -> Array:
    """Draw rows; of a mixture only from components to which two rows or more of the table belong.

    The others stand for what has not been seen, and what comes from there is odd.
    """
    drawn = model.sample(size, seed)
    if not isinstance(drawn, tuple):
        return np.asarray(drawn)
    x, codes = drawn
    seen = model.weights_ * rows >= 2.0
    return np.asarray(x[seen[codes]] if seen.any() else x)


def _suspects(model: Any, x: Array, log_density: Array, drawn: Array) -> list[int]:
    """Return rows that are far less probable than rows with the same gaps are on average."""
    seen, order, offsets, _ = gap_patterns(x)
    lacking = np.full(len(x), -np.inf)
    for k in np.argsort(-np.diff(offsets), kind="stable")[:_MOST_PATTERNS]:
        rows = order[offsets[k] : offsets[k + 1]]
        usual = log_density_of(model, np.where(seen[k], drawn, np.nan)).mean()
        lacking[rows] = usual - log_density[rows]
    worst = np.argsort(-lacking, kind="stable")[:_LOOKED_AT]
    return [int(row) for row in worst if np.isfinite(lacking[row])]


def _usual_surprises(model: Any, x: Array) -> Array:
    """Return how surprising entries of each column usually are, (D,)."""
    some = x[:: max(1, len(x) // _SOME)]
    return np.array([_median(_surprises(model, some, [j])[:, 0]) for j in range(x.shape[1])])


def _median(values: Array) -> float:
    known = values[~np.isnan(values)]
    return float(np.median(known)) if len(known) else 0.0


def _surprises(model: Any, rows: Array, columns: Sequence[int]) -> Array:
    """Return −ln p(x_j | x_−j) of entries, (N, C); NaN where there is none."""
    whole = model.score_samples(rows)
    found = np.empty((len(rows), len(columns)))
    for place, j in enumerate(columns):
        without = rows.copy()
        without[:, j] = np.nan
        found[:, place] = model.score_samples(without) - whole
    return np.where(np.isnan(rows[:, columns]), np.nan, found)


def _blamed(model: Any, row: Array, usual: Array) -> tuple[OddEntry, ...]:
    """Return the entry that surprises most, then the one that does so when the first is not seen, and so on."""
    left = row.copy()
    entries: list[OddEntry] = []
    while len(entries) < _BLAMED and not np.isnan(left).all():
        columns = np.flatnonzero(~np.isnan(left))
        excess = _surprises(model, left[None], columns.tolist())[0] - usual[columns]
        worst = int(np.argmax(excess))
        if excess[worst] <= _SURPRISING:
            break
        entries.append(_entry(model, left, int(columns[worst]), float(excess[worst])))
        left[columns[worst]] = np.nan
    return tuple(entries)


def _entry(model: Any, row: Array, column: int, surprise: float) -> OddEntry:
    """Tell an entry, and what the others expect in its place."""
    without = row[None].copy()
    without[0, column] = np.nan
    belief = next(b for b in model.gap_beliefs(without) if b.column == column)
    if isinstance(belief, CodeGaps):
        p = belief.probabilities[0]
        expected, spread = float(p.argmax()), float(p.max())
    else:
        expected, spread = float(belief.mean[0]), float(np.sqrt(belief.variance[0]))
    return OddEntry(column, float(row[column]), expected, spread, surprise)
