"""Normal distributions averaged over a common precision: Student t distributions."""

from __future__ import annotations

from typing import Any

import numpy as np

from posteriori.distributions.numbers.normal import Normal
from posteriori.distributions.numbers.student_t import StudentT
from posteriori.distributions.vectors.mv_student_t import MvStudentT
from posteriori.modeling.exact.scaled.scaled_factors import MATRICES, PRECISIONS

__all__ = ["student"]


def student(unit: Any, belief: Any, owners: Any) -> Any:
    """Average normal distributions at unit precision over the belief about the precision.

    Under a common matrix ``unit`` holds the entries of vectors, all of one variance.
    """
    if isinstance(belief, MATRICES):
        return _student_of_vectors(unit, belief, owners)
    amount = belief.rate if isinstance(belief, PRECISIONS) else belief.scale
    a, b = (np.ravel(part)[owners] for part in (belief.shape, amount))
    if isinstance(unit, Normal):
        return StudentT(2.0 * a, unit.mean, scale=np.sqrt(b / a * unit.variance))
    return MvStudentT._from(  # as little definite as the covariance may be
        dof=np.asarray(2.0 * a),
        location=unit.mean,
        scale=np.asarray(b / a)[..., None, None] * unit.cov,
    )


def _student_of_vectors(unit: Normal, belief: Any, owners: Any) -> MvStudentT:
    """Return Student t with c = ν − D + 1 and scale v V⁻¹/c, where v is the unit variance."""
    matrix = belief.inverse_scale if isinstance(belief, PRECISIONS) else belief.scale
    size = matrix.shape[-1]
    dof = np.ravel(belief.dof)[owners] - size + 1.0
    factor = np.asarray(unit.variance[..., 0] / dof)[..., None, None]
    return MvStudentT(dof, unit.mean, scale=factor * matrix.reshape(-1, size, size)[owners])
