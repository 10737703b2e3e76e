r"""Faster ascent for products of unknowns: turn their common axis where the bound gains.

A product :math:`W z` stays the same when z becomes R z and W becomes :math:`W R^{-1}`, but the priors of the
two do not, and plain coordinate ascent creeps along such directions. With precisions α of the columns of W,
the gain is highest where :math:`A = \sum_n E[z_n z_n^T]` and :math:`B = \sum_d E[w_d w_d^T]` are both diagonal
and :math:`A_{kk} - α_k B_{kk} = N - D`: A is the identity times N where the prior of α is vague.

Reference: J. Luttinen & A. Ilin, "Transformations in variational Bayesian factor analysis to speed up
learning", 2010.
"""

from __future__ import annotations

import numpy as np

from posteriori.inference.components.factor_turns import balancing_turns
from posteriori.modeling.variational.ascent.grouping import Bilinear
from posteriori.modeling.variational.ascent.problem import Problem, restore
from posteriori.numerics.types import Array

__all__ = ["rotate"]


def rotate(problem: Problem, pair: Bilinear, before: Array) -> Array:
    """Turn the common axis of a pair; keep the turn if the bound rises. Return the bound."""
    scores, loadings = problem.owner[pair.scores], problem.owner[pair.loadings]
    if not (scores.can_turn and loadings.can_turn):
        return before
    kept = problem.snapshot()
    for turn, back in balancing_turns(
        scores.second_moment(pair.scores, pair.scores_axis),
        loadings.second_moment(pair.loadings, pair.loadings_axis),
        pair.vectors,
    ):
        scores.transform(pair.scores, pair.scores_axis, turn)
        loadings.transform(pair.loadings, pair.loadings_axis, np.swapaxes(back, -1, -2))
        problem.reduce()
        for node in problem.shared:
            if node is not scores and node is not loadings:
                problem.update(node)
        after = problem.slow_bound()
        if np.all(after >= before):
            return after
        restore(kept)
    problem.reduce()
    return before
