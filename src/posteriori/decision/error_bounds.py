r"""Bounds on the least probability of a wrong decision, from the loosest to the tightest.

.. math:: \min(a, b) \le \frac{2ab}{a+b}, \qquad \min(a, b) \le a^s b^{1-s},\ 0\le s\le 1.

With :math:`a = p(x\mid C_1)p(C_1)` and b likewise the first gives the harmonic-mean bound, the
second the Chernoff bound, and s = ½ the Bhattacharyya bound. For K classes the harmonic bound
becomes :math:`E[1-\sum_k p(C_k\mid x)^2]`, and the other two are summed over pairs.

Reference: R. Duda, P. Hart & D. Stork, "Pattern classification", 2001, sec. 2.8.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize_scalar

from posteriori.decision.bayes_errors import check_low_dimension, expect_posterior
from posteriori.decision.class_posteriors import check_classes
from posteriori.decision.rules import check_priors
from posteriori.distributions.exponential import ExponentialFamily
from posteriori.numerics.types import Array

__all__ = [
    "ChernoffBound",
    "bhattacharyya_bound",
    "chance_bound",
    "chernoff_bound",
    "harmonic_bound",
    "prior_bound",
]


class ChernoffBound(NamedTuple):
    """The tightest bound of its kind.

    Attributes
    ----------
    value : float
    exponents : array (K, K)
        The s of every pair of classes (row, column), row < column; NaN elsewhere.
    """

    value: float
    exponents: Array


def chance_bound(n_classes: int = 2) -> float:
    """Return 1 − 1/K: no best decision errs more often, whatever the densities."""
    if n_classes < 2:
        raise ValueError(f"n_classes must be at least 2, got {n_classes!r}")
    return 1.0 - 1.0 / n_classes


def prior_bound(priors: Any) -> float:
    """Return 1 − max p(class), the error of always choosing the commonest class.

    Examples
    --------
    >>> round(prior_bound([0.2, 0.8]), 6)
    0.2
    """
    return 1.0 - float(check_priors(priors, len(priors)).max())


def harmonic_bound(classes: Sequence[Any], priors: Any = None) -> float:
    """Return E[1 − Σ_k p(k | x)²], which for two classes is E[2 p(1 | x) p(2 | x)].

    It is also the error of a nearest neighbour among infinitely many.

    Parameters
    ----------
    classes : sequence of K distributions of one number, or of a vector of at most three
    priors : array (K,), optional
        Equal if None.

    Examples
    --------
    >>> from posteriori.distributions import Cauchy
    >>> round(harmonic_bound([Cauchy(-2, 1), Cauchy(2, 1)]), 6)
    0.223607
    """
    members = check_low_dimension(check_classes(classes))
    weights = check_priors(priors, len(members))
    return expect_posterior(members, weights, lambda q: 1.0 - (q**2).sum(axis=-1))


def bhattacharyya_bound(classes: Sequence[Any], priors: Any = None) -> float:
    """Return Σ √(p(i) p(j)) ∫ √(p(x | i) p(x | j)) dx over pairs of classes.

    Parameters
    ----------
    classes : sequence of K distributions
        Of numbers or of vectors, at most three long unless all are of one exponential family.
    priors : array (K,), optional
        Equal if None.

    Examples
    --------
    >>> from posteriori import Normal
    >>> round(bhattacharyya_bound([Normal(-1, variance=1), Normal(1, variance=1)]), 6)
    0.303265
    """
    members = check_classes(classes)
    weights = check_priors(priors, len(members))
    pairs = combinations(range(len(members)), 2)
    return float(
        sum(_overlap(members[i], members[j], weights[i], weights[j], 0.5) for i, j in pairs)
    )


def chernoff_bound(classes: Sequence[Any], priors: Any = None) -> ChernoffBound:
    """Return Σ min_s p(i)^s p(j)^{1−s} ∫ p(x | i)^s p(x | j)^{1−s} dx over pairs of classes.

    Parameters
    ----------
    classes : sequence of K distributions
        Of numbers or of vectors, at most three long unless all are of one exponential family.
    priors : array (K,), optional
        Equal if None.

    Notes
    -----
    The logarithm of the overlap is convex in s, so the best s is found by Brent's method.

    Examples
    --------
    >>> from posteriori import Normal
    >>> bound = chernoff_bound([Normal(0, variance=1), Normal(0, variance=9)])
    >>> bool(bound.value < bhattacharyya_bound([Normal(0, variance=1), Normal(0, variance=9)]))
    True
    """
    members = check_classes(classes)
    weights = check_priors(priors, len(members))
    exponents = np.full((len(members), len(members)), np.nan)
    total = 0.0
    for i, j in combinations(range(len(members)), 2):
        value, exponents[i, j] = _least_overlap(members[i], members[j], weights[i], weights[j])
        total += value
    return ChernoffBound(total, exponents)


def _least_overlap(p: Any, q: Any, a: float, b: float) -> tuple[float, float]:
    if a == 0 or b == 0:
        return 0.0, np.nan
    found = minimize_scalar(
        lambda s: _overlap(p, q, a, b, s),
        bounds=(0.0, 1.0),
        method="bounded",
        options={"xatol": 1e-9},
    )
    return min(((float(found.fun), float(found.x)), (b, 0.0), (a, 1.0)))  # the ends are the priors


def _overlap(p: Any, q: Any, a: float, b: float, s: float) -> float:
    r"""Return :math:`\int (a\,p(x))^s (b\,q(x))^{1-s}\,dx`."""
    if a == 0 or b == 0:
        return 0.0
    if type(p) is type(q) and isinstance(p, ExponentialFamily) and p.constant_carrier:
        return float(a**s * b ** (1.0 - s) * np.exp(_log_overlap(p, q, s)))
    pair = np.array([a, b])
    members = check_low_dimension([p, q])
    share = expect_posterior(
        members, pair / (a + b), lambda r: r[..., 0] ** s * r[..., 1] ** (1 - s)
    )
    return (a + b) * share


def _log_overlap(p: Any, q: Any, s: float) -> Any:
    """Return ln ∫ p^s q^{1−s}: the integrand is a multiple of a member m of the family."""
    m = p**s * q ** (1.0 - s)
    x = m._interior()  # the ratio is the same at every point
    return s * p.log_prob(x) + (1.0 - s) * q.log_prob(x) - m.log_prob(x)
