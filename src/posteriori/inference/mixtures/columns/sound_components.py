r"""Whether components have rows enough for a density: of a few rows it could rise without bound.

The likelihood of a mixture of normals has no highest point: a component that shrinks onto a row gains without
end. A component is sound if it has more rows than directions in which it could shrink to a point, and if these
vary by more than a millionth of the variance of all rows in each of them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from posteriori.numerics.linalg import triangular_inverse
from posteriori.numerics.types import Array

__all__ = ["Shrinkable", "are_sound"]

#: Least variance of a component, as a share of that of all rows.
_LEAST = 1e-6


class Shrinkable(NamedTuple):
    """Columns in which a component could shrink to a point.

    Attributes
    ----------
    columns : sequence of int
        Empty where densities are bounded: of codes and counts, or under a prior.
    together : bool
        Whether they make one vector, so that it could be in any direction.
    """

    columns: list[int]
    together: bool = False


def are_sound(x: Array, weight: Array, shrinkable: Shrinkable) -> bool:
    """Tell whether all components have rows enough.

    Parameters
    ----------
    x : (N, D)
        NaN is a missing entry.
    weight : (K, N)
        How much each row counts in each component.
    shrinkable : Shrinkable
    """
    if not shrinkable.columns:
        return True
    z = x[:, shrinkable.columns]
    return _fill_all_directions(z, weight) if shrinkable.together else _vary(z, weight)


def _vary(z: Array, weight: Array) -> bool:
    """Tell whether each component has two rows or more in every column, and these vary."""
    seen = z == z
    centred = np.where(seen, z - np.nanmean(z, axis=0), 0.0)
    weights = np.vstack([weight, weight.sum(axis=0)])
    count = np.maximum(weights @ seen, 1e-300)
    variance = weights @ centred**2 / count - (weights @ centred / count) ** 2
    return bool((count >= 2.0).all() and (variance > _LEAST * variance[-1]).all())


def _fill_all_directions(z: Array, weight: Array) -> bool:
    """Tell whether each component has D + 1 rows or more, and these vary in all directions."""
    if weight.sum(axis=1).min() < z.shape[1] + 1.0:
        return False
    centred = z - z.mean(axis=0)

    def covariance(w: Array) -> Array:
        mean = w @ centred / w.sum()
        return (centred * w[:, None]).T @ centred / w.sum() - np.outer(mean, mean)

    white = triangular_inverse(np.linalg.cholesky(covariance(weight.sum(axis=0))))
    least = [np.linalg.eigvalsh(white @ covariance(w) @ white.T)[0] for w in weight]
    return min(least) > _LEAST
