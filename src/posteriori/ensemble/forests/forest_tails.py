r"""What rows that trees have not seen say about a forest: how wide its errors are, how sure its votes.

Numbers. The forest has a mean m(x) and a variance v(x) of the leaves' targets. Residuals of unseen rows
decide about the width c, the share ρ of a common variance, and the degrees of freedom ν of

.. math:: y \sim t_\nu\left(m(x),\ c\sqrt{(1-\rho)\,v(x) + \rho\,\bar v}\right).

Classes. Shares s of the trees' votes become probabilities :math:`p_k \propto (s_k + \delta)^\gamma`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from posteriori.ensemble.gradient_boosting.left_out_noise import fit_tail, student_log_density
from posteriori.numerics.lazy import optimize
from posteriori.numerics.types import Array

__all__ = ["ForestNoise", "VoteSharpness", "learn_noise", "learn_sharpness"]

#: Shares of the common variance that are tried.
_SHARES = (0.0, 0.1, 0.25, 0.5, 0.75, 1.0)

#: Rows that are enough for a few numbers.
_ENOUGH = 20_000

#: Logarithms between which γ is looked for; δ is at least half a vote, and at most a whole share.
_LOG_GAMMA = (-2.0, 2.0)


class ForestNoise(NamedTuple):
    """Width, common variance and its share, and tail t = 1/ν of the errors."""

    width: float
    share: float
    common: float
    tail: float

    def scale(self, variance: Array) -> Array:
        """Return the scale of rows whose leaves have a variance, (N,)."""
        mixed = (1.0 - self.share) * variance + self.share * self.common
        return self.width * np.sqrt(np.maximum(mixed, _LEAST * max(self.common, 1.0)))


#: A variance that is not 0.
_LEAST = 2.0**-100


def learn_noise(residual: Array, variance: Array, weight: Array) -> ForestNoise:
    """Return the noise that makes residuals of unseen rows most likely."""
    common = float(np.average(variance, weights=weight))
    best, best_score = ForestNoise(1.0, 1.0, common, 0.0), -np.inf
    for share in _SHARES:
        plain = ForestNoise(1.0, share, common, 0.0).scale(variance)
        z = residual / plain
        tail, width = fit_tail(z, weight)
        densities = student_log_density(z / width, tail) - np.log(width * plain)
        if weight @ densities > best_score:
            best, best_score = ForestNoise(width, share, common, tail), weight @ densities
    return best


class VoteSharpness(NamedTuple):
    """What is added to shares of votes, and the power that they are raised to."""

    delta: float
    gamma: float

    def probabilities(self, shares: Array) -> Array:
        """Return class probabilities (N, K) of shares (N, K)."""
        logs = self.gamma * np.log(np.maximum(shares, 0.0) + self.delta)
        p = np.exp(logs - logs.max(axis=1, keepdims=True))
        return p / p.sum(axis=1, keepdims=True)


def learn_sharpness(shares: Array, codes: Array, weight: Array, votes: float) -> VoteSharpness:
    """Return the sharpness that makes the classes of unseen rows most likely.

    Parameters
    ----------
    shares : (N, K)
    codes : (N,)
    weight : (N,)
    votes : float
        About how many votes the shares are of.
    """
    if len(shares) == 0:  # no row was left out of a bag
        return VoteSharpness(1.0 / max(votes, 1.0), 1.0)
    step = -(-len(shares) // _ENOUGH)
    by_class = np.ascontiguousarray(np.maximum(shares[::step], 0.0).T)
    own, weight = (codes[::step], np.arange(by_class.shape[1])), weight[::step]

    def loss(point: Array) -> float:
        delta, gamma = np.exp(point)
        logs = gamma * np.log(by_class + delta)
        top = logs.max(axis=0)
        return float(weight @ (top + np.log(np.exp(logs - top).sum(axis=0)) - logs[own]))

    least = -np.log(2.0 * max(votes, 1.0))
    found = optimize.minimize(
        loss,
        np.array([0.5 * least, 0.0]),
        method="Nelder-Mead",
        bounds=((least, 0.0), _LOG_GAMMA),
        options={"xatol": 1e-3},
    )
    return VoteSharpness(*map(float, np.exp(found.x)))
