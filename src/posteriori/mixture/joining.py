r"""Components joined to clusters: a cluster need not have the shape of one component.

Starting from all components apart, the two are joined whose union takes most of the doubt away,

.. math:: -\sum_n\bigl\{t_{nj}\ln t_{nj} + t_{nk}\ln t_{nk}\bigr\} + \sum_n (t_{nj}+t_{nk})\ln(t_{nj}+t_{nk}),

until one is left. The density stays as it is. A bend in the entropy against the number of clusters
says how many there are.

Reference: J.-P. Baudry et al., "Combining mixture components for clustering", 2010.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.special import xlogy

from posteriori.numerics.types import Array

__all__ = ["JoinPath", "join_components"]


class JoinPath(NamedTuple):
    """Components joined one after another.

    Attributes
    ----------
    groups : tuple of tuples of tuples
        ``groups[c - 1]`` are the components of each of c clusters.
    entropies : array
        ``entropies[c - 1]`` is the entropy Σ_n H(z_n | x_n) of c clusters.
    """

    groups: tuple[tuple[tuple[int, ...], ...], ...]
    entropies: Array

    def labels(self, probabilities: Any, n_clusters: int) -> Any:
        """Return the most probable of ``n_clusters`` clusters for rows of probabilities (N, K)."""
        p = np.asarray(probabilities)
        joined = [p[:, list(group)].sum(axis=1) for group in self.groups[n_clusters - 1]]
        return np.argmax(joined, axis=0)


def join_components(model: Any, X: Any) -> JoinPath:
    """Return the path from all components of a fitted mixture to one cluster.

    Parameters
    ----------
    model : mixture
        Fitted; asked for ``predict_proba``.
    X : (N, D)

    Examples
    --------
    >>> from posteriori.datasets import load_old_faithful
    >>> from posteriori.mixture import GaussianMixture
    >>> X = load_old_faithful().data
    >>> path = join_components(GaussianMixture(3, random_state=0).fit(X), X)
    >>> [len(groups) for groups in path.groups]
    [1, 2, 3]
    >>> bool(np.all(np.diff(path.entropies) >= 0))
    True
    """
    p = np.asarray(model.predict_proba(X))
    groups: list[tuple[int, ...]] = [(k,) for k in range(p.shape[1])]
    shares = [p[:, k] for k in range(p.shape[1])]
    paths, entropies = [tuple(groups)], [_entropy(shares)]
    while len(groups) > 1:
        j, k = _best_pair(shares)
        groups[j], shares[j] = groups[j] + groups[k], shares[j] + shares[k]
        del groups[k], shares[k]
        paths.append(tuple(groups))
        entropies.append(_entropy(shares))
    return JoinPath(tuple(reversed(paths)), np.array(entropies[::-1]))


def _entropy(shares: list[Array]) -> float:
    return float(-sum(xlogy(t, t).sum() for t in shares))


def _best_pair(shares: list[Array]) -> tuple[int, int]:
    """Return the pair whose union takes most of the entropy away."""
    own = [float(xlogy(t, t).sum()) for t in shares]
    gains = {}
    for k in range(1, len(shares)):
        for j in range(k):
            both = shares[j] + shares[k]
            gains[j, k] = float(xlogy(both, both).sum()) - own[j] - own[k]
    return max(gains, key=lambda pair: gains[pair])
