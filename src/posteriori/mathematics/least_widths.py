r"""Components that are no narrower than a given width w of each column, in any direction.

.. math:: \Sigma \succeq \mathrm{diag}(w^2).

A number that is recorded to steps δ has an error of variance :math:`\delta^2/12` of its own, so that
:math:`w = \delta/\sqrt{12}` is what a component on a value that repeats cannot fall below.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from posteriori.numerics.linalg import outer, symmetrize
from posteriori.numerics.types import Array
from posteriori.numerics.validation import as_numbers

__all__ = ["check_least_widths", "widen_covariances"]


def check_least_widths(name: str, least: Any, columns: int) -> Array:
    """Return the smallest widths of columns, (D,), refusing those below 0."""
    widths = as_numbers(name, least)
    if widths.shape not in ((), (columns,)) or not (np.isfinite(widths) & (widths >= 0.0)).all():
        raise ValueError(
            f"{name} must be a number >= 0, or one for each of the {columns} columns; got {least!r}"
        )
    return np.broadcast_to(widths, (columns,))


def widen_covariances(covs: Array, widths: Array) -> Array:
    r"""Return covariances (..., D, D) with as much added as makes none narrower than widths (D,).

    With :math:`S^{-1}(\Sigma - \mathrm{diag}(w^2))S^{-1} = U\Lambda U^\top`, in units S of the columns, this is
    :math:`\Sigma + SU\max(-\Lambda, 0)U^\top S`. Covariances that are wide enough stay as they are.

    Examples
    --------
    >>> narrow, wide = np.diag([0.01, 4.0]), np.eye(2)
    >>> widen_covariances(np.array([narrow, wide]), np.array([0.5, 0.5]))[:, [0, 1], [0, 1]]
    array([[0.25, 4.  ],
           [1.  , 1.  ]])
    """
    if not widths.any():
        return covs
    units = np.sqrt(np.maximum(np.diagonal(covs, axis1=-2, axis2=-1), widths**2))
    scale = outer(units, units)
    values, vectors = np.linalg.eigh((covs - np.diag(widths**2)) / scale)
    lacking = (vectors * np.maximum(-values, 0.0)[..., None, :]) @ np.swapaxes(vectors, -1, -2)
    return covs + scale * symmetrize(lacking)
