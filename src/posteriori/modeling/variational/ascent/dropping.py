r"""Columns of factor models that only describe noise are switched off where that raises the bound.

Where every column of the data has its own noise, a factor that only one of them needs is noise by
another name, :math:`w_{dk}^2 + 1/\tau_d`, and sweeps exchange the two very slowly. Where there is no time
for that, the scores and loadings of the weakest factor are made negligible, and the beliefs are kept
if a few sweeps from there end higher; so the bound never falls.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from posteriori.inference.components.weak_factors import NEGLIGIBLE, weakest_factor
from posteriori.modeling.variational.ascent.coordinate_ascent import rises_above
from posteriori.modeling.variational.ascent.grouping import Bilinear
from posteriori.modeling.variational.ascent.problem import Problem, restore

__all__ = ["drop_weakest"]


def drop_weakest(problem: Problem, pairs: Sequence[Bilinear], bound: float) -> bool:
    """Switch off the weakest factor of a pair if that ends above a bound; else change nothing.

    Parameters
    ----------
    problem : Problem
        With one start.
    pairs : sequence of Bilinear
        Products of unknowns.
    bound : float
    """
    for pair, factor in _weakest(problem, pairs):
        kept = problem.snapshot()
        _shrink(problem, pair, factor)
        if rises_above(bound, problem):
            return True
        restore(kept)
        problem.reduce()
    return False


def _weakest(problem: Problem, pairs: Sequence[Bilinear]) -> Iterator[tuple[Bilinear, int]]:
    """Yield the weakest factor of each pair that is not off."""
    for pair in pairs:
        loadings, scores = problem.owner[pair.loadings], problem.owner[pair.scores]
        if not (loadings.can_turn and scores.can_turn):
            continue
        means = loadings.marginal(pair.loadings).mean
        others = tuple(i for i in range(means.ndim) if i != pair.loadings_axis)
        squares = np.sum(np.square(means), axis=others)
        moments = loadings.second_moment(pair.loadings, pair.loadings_axis)[0].diagonal()
        sizes = scores.second_moment(pair.scores, pair.scores_axis)[0].diagonal()
        weakest = weakest_factor(squares, moments, sizes)
        if weakest is not None:
            yield pair, weakest


def _shrink(problem: Problem, pair: Bilinear, factor: int) -> None:
    """Make the scores and loadings of a factor negligible."""
    for name, axis in ((pair.scores, pair.scores_axis), (pair.loadings, pair.loadings_axis)):
        node = problem.owner[name]
        matrix = np.eye(node.second_moment(name, axis).shape[-1])[None]
        matrix[0, factor, factor] = NEGLIGIBLE
        node.transform(name, axis, matrix)
