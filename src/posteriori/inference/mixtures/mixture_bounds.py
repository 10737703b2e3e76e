r"""The bound that EM climbs, its gap, and the gradient of what it bounds.

.. math:: \ln p(x) = \underbrace{E_q[\ln p(x, z)] + H(q)}_{\text{bound}} + \mathrm{KL}(q\,\|\,p(z\mid x))
   \quad\text{for every } q(z).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.special import xlogy

from posteriori.distributions.algebra.expectations import expect
from posteriori.distributions.composites.mixture import MixtureFamily
from posteriori.distributions.numbers.normal import Normal
from posteriori.distributions.vectors.mvnormal import MvNormal
from posteriori.numerics.logspace import log_softmax
from posteriori.numerics.types import Array
from posteriori.numerics.validation import as_observation

__all__ = [
    "EvidenceBound",
    "MixtureGradient",
    "evidence_bound",
    "jensen_gap",
    "log_likelihood_gradient",
]


class EvidenceBound(NamedTuple):
    """The log likelihood in parts.

    Attributes
    ----------
    bound : float
        Energy + entropy.
    energy : float
        E_q[ln p(x, z)].
    entropy : float
        H(q).
    kl : float
        KL(q ‖ p(z | x)), the gap.
    log_likelihood : float
        Bound + KL.
    """

    bound: float
    energy: float
    entropy: float
    kl: float
    log_likelihood: float


class MixtureGradient(NamedTuple):
    """Derivatives of the log likelihood.

    Attributes
    ----------
    logits : (K,)
        By the logarithms of weights that are normalised afterwards.
    means : (K,) or (K, D)
    covs : (K,) or (K, D, D)
        By variances, or by covariances.
    """

    logits: Array
    means: Array
    covs: Array


def evidence_bound(mixture: MixtureFamily, X: Any, responsibilities: Any) -> EvidenceBound:
    """Return the log likelihood of data as bound and gap, for any q.

    Parameters
    ----------
    mixture : Mixture
    X : (N, ...)
    responsibilities : (N, K)
        q(z_n = k), rows that sum to 1.

    Examples
    --------
    >>> from posteriori import Normal
    >>> from posteriori.distributions import Mixture
    >>> pair = Mixture([0.5, 0.5], Normal([-1.0, 1.0], variance=1.0))
    >>> found = evidence_bound(pair, [0.3, -1.2], [[0.5, 0.5], [0.9, 0.1]])
    >>> round(found.bound + found.kl - found.log_likelihood, 12)
    0.0
    """
    x = as_observation(X, "X")
    q = np.asarray(responsibilities, dtype=np.float64)
    if q.shape != (len(x), mixture.n_components):
        raise ValueError(
            f"responsibilities must have shape {(len(x), mixture.n_components)}, got {q.shape}"
        )
    if not (q.min() >= 0.0 and np.allclose(q.sum(axis=1), 1.0)):
        raise ValueError("responsibilities must be >= 0 and sum to 1 in each row")
    joint = _log_joint(mixture, x)
    energy = float(np.where(q > 0, q * joint, 0.0).sum())
    entropy = float(-xlogy(q, q).sum())
    posterior = log_softmax(joint, axis=1)
    kl = float((xlogy(q, q) - np.where(q > 0, q * posterior, 0.0)).sum())
    total = float((joint - posterior).max(axis=1).sum())
    return EvidenceBound(energy + entropy, energy, entropy, max(kl, 0.0), total)


def log_likelihood_gradient(mixture: MixtureFamily, X: Any) -> MixtureGradient:
    """Return the gradient of the log likelihood of a mixture of normals.

    Parameters
    ----------
    mixture : Mixture
        Of ``Normal`` or ``MvNormal`` components.
    X : (N,) or (N, D)

    Examples
    --------
    >>> from posteriori import Normal
    >>> from posteriori.distributions import Mixture
    >>> pair = Mixture([0.5, 0.5], Normal([-1.0, 1.0], variance=1.0))
    >>> log_likelihood_gradient(pair, [-1.0, 1.0]).means.round(
    ...     4
    ... )  # 2·σ(−2): both are pulled inwards
    array([ 0.2384, -0.2384])
    """
    parts = mixture.components
    x = as_observation(X, "X")
    r = np.exp(log_softmax(_log_joint(mixture, x), axis=1))
    counts = r.sum(axis=0)
    logits = counts - len(x) * mixture.probabilities
    if isinstance(parts, Normal):
        shift = x[:, None] - parts.mean
        v = parts.variance
        of_means = (r * shift).sum(axis=0) / v
        return MixtureGradient(
            logits, of_means, 0.5 * ((r * shift**2).sum(axis=0) / v - counts) / v
        )
    if not isinstance(parts, MvNormal):
        raise TypeError(
            f"components must be Normal or MvNormal, got {type(parts).__name__}: other families have "
            "no means and covariances to vary"
        )
    shift = x[:, None] - parts.mean
    pulled = np.linalg.solve(parts.cov, np.moveaxis(r[..., None] * shift, 0, -1))  # (K, D, N)
    whole = np.linalg.solve(parts.cov, np.moveaxis(shift, 0, -1))
    identity = np.broadcast_to(np.eye(shift.shape[-1]), parts.cov.shape)
    inverse = np.linalg.solve(parts.cov, identity)
    of_covs = 0.5 * (pulled @ np.swapaxes(whole, 1, 2) - counts[:, None, None] * inverse)
    return MixtureGradient(logits, pulled.sum(axis=-1), of_covs)


def jensen_gap(f: Callable[[Any], Any], distribution: Any) -> float:
    """Return f(E[x]) − E[f(x)]: at least 0 for a concave f such as the logarithm.

    Examples
    --------
    >>> from posteriori import Gamma
    >>> round(jensen_gap(np.log, Gamma(2.0, rate=1.0)), 6)  # ln 2 − ψ(2)
    0.270363
    """
    return float(f(distribution.mean) - expect(distribution, f))


def _log_joint(mixture: MixtureFamily, x: Array) -> Array:
    """Return ln π_k p_k(x), (N, K)."""
    if not isinstance(mixture, MixtureFamily) or mixture.batch_shape:
        raise TypeError(f"mixture must be one Mixture, got {mixture!r}")
    events = len(mixture.event_shape)
    if x.ndim != events + 1 or x.shape[1:] != mixture.event_shape:
        raise ValueError(f"X must hold rows of shape {mixture.event_shape}, got shape {x.shape}")
    with np.errstate(divide="ignore"):
        return np.log(mixture.probabilities) + mixture.components.log_prob(x[:, None])
