r"""Turns of factors z and loadings W that leave :math:`Wz` as it is, and make beliefs about both independent.

:math:`Wz = (WR^{-1})(Rz)`, but the priors of the two factors of this product are not left as they are. With
precisions α of the columns of W, they gain most where :math:`A = \sum_n E[z_nz_n^\top]` and
:math:`B = \sum_d E[w_dw_d^\top]` are both diagonal and :math:`A_{kk} - α_kB_{kk} = N - D`: A is N times the
identity where the prior of α is vague.

Reference: J. Luttinen & A. Ilin, "Transformations in variational Bayesian factor analysis to speed up
learning", 2010.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from posteriori.numerics.linalg import explicit_inverse
from posteriori.numerics.types import Array

__all__ = ["balancing_turns"]


def balancing_turns(scores: Array, loadings: Array, count: int) -> Iterator[tuple[Array, Array]]:
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
