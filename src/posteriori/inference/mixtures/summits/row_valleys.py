r"""Whether rows are missing between two components: a dip that is seen, not one that normals make.

Normals that share an even stretch of rows among them have a dip of 0.45 between them that the rows have not.
So rows of two components are laid along the direction that tells these apart best,

.. math:: w \propto (\Sigma_1 + \Sigma_2)^{-1}(\mu_2 - \mu_1), \qquad w^\top\mu_1 = 0,\ w^\top\mu_2 = 1,

and counted in three windows of the same width: at both means and in the valley between them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from posteriori.inference.mixtures.summits.density_ridges import MixtureParts, Ridges, find_ridges
from posteriori.numerics.linalg import inverse_from_factor
from posteriori.numerics.types import Array

__all__ = ["seen_ridges"]

#: Half the width of a window, where the distance between the means is 1.
_HALF = 0.15
#: The valley lies no nearer to a mean than this.
_NEAREST = 0.3
#: Places where the valley is looked for.
_PLACES = 21
#: What is added to each count.
_EXTRA = 0.5


def seen_ridges(parts: MixtureParts, x: Array, labels: Any, sizes: Array) -> Ridges:
    """Return the ridges of a mixture, and their saddles raised where rows show less of a dip.

    Parameters
    ----------
    parts : MixtureParts
    x : (N, D)
        Columns of numbers, without gaps.
    labels : (N,)
        The component of each row.
    sizes : (K,)
        Rows of the components.
    """
    ridges = find_ridges(parts)
    if len(sizes) == 1 or x.shape[1] == 0:
        return ridges
    lower = ridges.peaks[ridges.pairs].min(axis=1)
    seen = _log_dips(parts, x, labels, sizes, ridges)
    if parts.tables:  # what codes alone let the density fall to
        k = len(sizes)
        coded = find_ridges(parts._replace(means=np.empty((k, 0)), precisions=np.empty((k, 0, 0))))
        seen = seen + np.minimum(coded.saddles - coded.peaks[ridges.pairs].min(axis=1), 0.0)
    return ridges._replace(seen=np.maximum(ridges.saddles, lower + seen))


def _log_dips(parts: MixtureParts, x: Array, labels: Any, sizes: Array, ridges: Ridges) -> Array:
    """Return ln of rows in the valley over the fewer rows at the two means, at most 0."""
    a, b = ridges.pairs.T
    covs = inverse_from_factor(np.linalg.cholesky(parts.precisions))
    apart = parts.means[b] - parts.means[a]
    w = np.linalg.solve(covs[a] + covs[b], apart[..., None])[..., 0]
    w /= np.maximum(np.einsum("ed,ed->e", w, apart), np.finfo(float).tiny)[:, None]
    place = x @ w.T - np.einsum("ed,ed->e", w, parts.means[a])
    spread = [np.sqrt(np.einsum("ed,edf,ef->e", w, covs[k], w)) for k in (a, b)]
    grid = np.linspace(0.0, 1.0, _PLACES)
    density = sum(
        (sizes[k] / s)[:, None] * np.exp(-0.5 * (away / s[:, None]) ** 2)
        for k, s, away in zip((a, b), spread, (grid, 1.0 - grid), strict=True)
    )
    valley = np.clip(grid[np.argmin(density, axis=1)], _NEAREST, 1.0 - _NEAREST)
    theirs = (labels[:, None] == a) | (labels[:, None] == b)
    between, first, second = (
        (theirs & (np.abs(place - centre) < _HALF)).sum(axis=0) + _EXTRA
        for centre in (valley, 0.0, 1.0)
    )
    return np.minimum(np.log(between / np.minimum(first, second)), 0.0)
