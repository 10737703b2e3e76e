r"""The constant of an unnormalised density, from draws of it and of a proposal that overlaps with it.

With ratios :math:`l(θ) = p(X, θ)/q(θ)` of :math:`n_q` draws from q and :math:`n_p` from the posterior,

.. math:: r = \frac{\frac1{n_q}\sum_{θ\sim q} l/(s_p l + s_q r)}{\frac1{n_p}\sum_{θ\sim p} 1/(s_p l + s_q r)},
   \qquad s_p = \frac{n_p}{n_p + n_q},\quad s_q = \frac{n_q}{n_p + n_q},

which is solved by iteration. No term is larger than :math:`1/s`, whatever the tails of q, so that q need
not cover the posterior: overlapping is enough. Without draws of the posterior this is importance sampling.

References: X.-L. Meng & W. Wong, "Simulating ratios of normalizing constants via a simple identity", Statistica
Sinica 6, 1996; S. Frühwirth-Schnatter, "Estimating marginal likelihoods for mixture and Markov
switching models using bridge sampling techniques", Econometrics Journal 7, 2004 (the error).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from posteriori.numerics.logspace import log_sum_exp
from posteriori.numerics.types import Array

__all__ = ["Bridged", "bridge"]

#: Steps of the iteration, each of which brings r nearer by a constant factor, and where it ends.
_STEPS, _SETTLED = 1000, 1e-10


class Bridged(NamedTuple):
    """An estimate of ln r.

    Attributes
    ----------
    value, error : float
        And its standard error.
    effective : float
        Draws that carry the estimate, of the side that has fewer.
    """

    value: float
    error: float
    effective: float


def bridge(proposed: Array, chains: Sequence[Array]) -> Bridged:
    """Return the estimate from log ratios of draws.

    Parameters
    ----------
    proposed : (S,)
        ln l of independent draws of q.
    chains : sequence of arrays
        ln l of draws of the posterior, in groups that are independent of one another; none: importance
        sampling.
    """
    if not chains:
        value = float(log_sum_exp(proposed) - np.log(len(proposed)))
        terms = np.exp(proposed - value)
        return Bridged(value, _spread(terms) / np.sqrt(len(terms)), _effective(terms))
    held = np.concatenate(chains)
    share = len(held) / (len(held) + len(proposed))
    value = float(np.median(held))
    for _ in range(_STEPS):
        before = value
        ahead, back = _terms(proposed, share, value), _terms(held, share, value) - held
        value = float(_log_mean(ahead) - _log_mean(back))
        if abs(value - before) < _SETTLED:
            break
    ahead = np.exp(_terms(proposed, share, value))
    back = np.exp(_terms(held, share, value) - held + value)
    places = np.cumsum([len(chain) for chain in chains])[:-1]
    means = np.array([part.mean() for part in np.split(back, places)])
    variance = _spread(ahead) ** 2 / len(ahead) + _spread(means) ** 2 / len(means)
    return Bridged(value, float(np.sqrt(variance)), min(_effective(ahead), _effective(back)))


def _terms(logs: Array, share: float, value: float) -> Array:
    """Return ln l/(s_p l + s_q r)."""
    return -np.logaddexp(np.log(share), np.log1p(-share) + value - logs)


def _log_mean(logs: Array) -> float:
    return float(log_sum_exp(logs) - np.log(len(logs)))


def _spread(terms: Array) -> float:
    """Return the standard deviation beside the mean."""
    return float(terms.std(ddof=1) / terms.mean())


def _effective(terms: Array) -> float:
    return float(terms.sum() ** 2 / (terms**2).sum())
