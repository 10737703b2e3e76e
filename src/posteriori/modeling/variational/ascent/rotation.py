r"""Faster ascent for products of unknowns: turn their common axis where the bound gains.

A product :math:`W z` stays the same when z becomes R z and W becomes :math:`W R^{-1}`, but the priors of the
two do not, and plain coordinate ascent creeps along such directions. With precisions α of the columns of W,
the gain is highest where :math:`A = \sum_n E[z_n z_n^T]` and :math:`B = \sum_d E[w_d w_d^T]` are both diagonal
and :math:`A_{kk} - α_k B_{kk} = N - D`: A is the identity times N where the prior of α is vague.

Reference: J. Luttinen & A. Ilin, "Transformations in variational Bayesian factor analysis to speed up
learning", 2010.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from posteriori.modeling.variational.ascent.grouping import Bilinear
from posteriori.modeling.variational.ascent.problem import Problem, restore
from posteriori.numerics.linalg import explicit_inverse
from posteriori.numerics.types import Array

__all__ = ["rotate"]


def rotate(problem: Problem, pair: Bilinear, before: Array) -> Array:
    """Turn the common axis of a pair; keep the turn if the bound rises. Return the bound."""
    scores, loadings = problem.owner[pair.scores], problem.owner[pair.loadings]
    if not (scores.can_turn and loadings.can_turn):
        return before
    kept = problem.snapshot()
    for turn, back in _turns(
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


def _turns(scores: Array, loadings: Array, count: int) -> Iterator[tuple[Array, Array]]:
    """Yield R and R⁻¹ for second moments (starts, K, K) that make both diagonal.

    The first has columns of unit size, the best where the priors of the loadings' sizes are vague;
    the second leaves the columns the sizes that they have.
    """
    size = scores.shape[-1]
    floor = 1e-12 * np.trace(scores, axis1=-2, axis2=-1)[..., None, None] * np.eye(size)
    lower = np.linalg.cholesky((scores + floor) / count)  # Σ E[zzᵀ] = N L Lᵀ
    turned = np.swapaxes(lower, -1, -2) @ loadings @ lower
    _, vectors = np.linalg.eigh(turned)
    vectors = vectors[..., ::-1]  # the strongest column first
    back = lower @ vectors
    back = back * np.where(np.diagonal(back, axis1=-2, axis2=-1) < 0.0, -1.0, 1.0)[..., None, :]
    turn = explicit_inverse(back)
    yield turn, back
    sizes, others = (np.diagonal(m, axis1=-2, axis2=-1) for m in (scores, loadings))
    order = np.argsort(-sizes * others, axis=-1)
    scale = np.sqrt(np.take_along_axis(sizes, order, axis=-1) / count)
    yield scale[..., :, None] * turn, back / scale[..., None, :]
