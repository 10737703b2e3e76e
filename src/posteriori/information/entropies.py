r"""Measures of information: entropy, divergence and what one variable tells about another.

.. math:: H[p] = -\sum_x p\ln p,\qquad KL(p\,\|\,q) = \sum_x p\ln\frac pq,\qquad
          I[x, y] = KL(p(x,y)\,\|\,p(x)\,p(y)) = H[x] - H[x\mid y].

Every function takes probabilities as arrays, in which 0 ln 0 = 0, and answers in nats or in bits;
those of one or two distributions take these as well. Entropies of densities depend on the unit of
measurement and may be negative; divergences and mutual information do not and are not.

Reference: T. Cover & J. Thomas, "Elements of Information Theory", 2006, ch. 2 and 8.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from posteriori.distributions.algebra.integrals import integrate_against, trusted
from posteriori.distributions.algebra.landmarks import landmarks
from posteriori.distributions.base import Distribution, Univariate
from posteriori.numerics.lazy import special
from posteriori.numerics.special import relative_entropy_terms
from posteriori.numerics.types import Array, number
from posteriori.numerics.validation import SUM_TOLERANCE, nonnegative, probability

__all__ = [
    "Unit",
    "conditional_entropy",
    "cross_entropy",
    "entropy",
    "kl_divergence",
    "mutual_information",
    "self_information",
    "size_of_unit",
]

Unit = Literal["nats", "bits"]
Axis = int | tuple[int, ...] | None

#: One unit in nats.
_SIZE = {"nats": 1.0, "bits": float(np.log(2.0))}


def self_information(p: Any, *, unit: Unit = "nats") -> Array:
    """Return −ln p, the surprise at an event of probability ``p``; independent surprises add.

    Examples
    --------
    >>> float(self_information(1 / 8, unit="bits"))
    3.0
    """
    with np.errstate(divide="ignore"):
        return -np.log(probability("p", p)) / size_of_unit(unit) + 0.0


def entropy(p: Any, *, axis: Axis = None, unit: Unit = "nats") -> Array:
    """Return the entropy of probabilities or of a distribution.

    Parameters
    ----------
    p : array of probabilities, or distribution
        The entries along ``axis`` sum to 1. A distribution of one number without a closed form
        is integrated numerically.
    axis : int, tuple of int or None
        Axes over which the probabilities sum to 1; None takes the whole array as one table.
    unit : {"nats", "bits"}
        Natural logarithm or base 2.

    Examples
    --------
    >>> entropy([[0.4, 0.1], [0.1, 0.4]], unit="bits").round(6)
    np.float64(1.721928)
    >>> from posteriori import Normal
    >>> entropy(Normal(0, variance=1)).round(6)
    np.float64(1.418939)
    """
    if isinstance(p, Distribution):
        return _entropy_of(p) / size_of_unit(unit)
    table = _probabilities("p", p, axis)
    return special.entr(table).sum(axis=axis) / size_of_unit(unit)


def cross_entropy(p: Any, q: Any, *, axis: Axis = None, unit: Unit = "nats") -> Array:
    """Return −E_p[ln q] = H[p] + KL(p ‖ q): the mean length of a code made for q, used on p.

    Parameters are those of :func:`kl_divergence`.

    Examples
    --------
    >>> cross_entropy([0.5, 0.5], [0.25, 0.75], unit="bits").round(6)
    np.float64(1.207519)
    """
    if isinstance(p, Distribution) or isinstance(q, Distribution):
        return entropy(p, unit=unit) + kl_divergence(p, q, unit=unit)
    a, b = _pair(p, q, axis)
    with np.errstate(divide="ignore"):
        return -special.xlogy(a, b).sum(axis=axis) / size_of_unit(unit) + 0.0


def kl_divergence(p: Any, q: Any, *, axis: Axis = None, unit: Unit = "nats") -> Array:
    """Return KL(p ‖ q) = E_p[ln p/q]: never negative, 0 only for equals, not symmetric.

    Parameters
    ----------
    p, q : arrays of probabilities that broadcast, or two distributions
        Of one family: by its closed form. Of two families of one number: by a sum or a
        quadrature, whose error must stay below 1e-8; vectors of two families are refused.
    axis : int, tuple of int or None
        Axes over which the probabilities sum to 1; None takes the whole array as one table.
    unit : {"nats", "bits"}
        Natural logarithm or base 2.

    Returns
    -------
    float or array
        Infinite where q excludes what p allows.

    Examples
    --------
    >>> (
    ...     kl_divergence([0.5, 0.5], [0.9, 0.1]).round(6),
    ...     kl_divergence([0.9, 0.1], [0.5, 0.5]).round(6),
    ... )
    (np.float64(0.510826), np.float64(0.368064))
    """
    if isinstance(p, Distribution) or isinstance(q, Distribution):
        return _divergence_of(p, q) / size_of_unit(unit)
    a, b = _pair(p, q, axis)
    terms = relative_entropy_terms(a, b)  # sums to the divergence, each term not negative
    return np.asarray(terms).sum(axis=axis) / size_of_unit(unit)


def conditional_entropy(
    joint: Any, given_axis: int | tuple[int, ...], *, unit: Unit = "nats"
) -> Array:
    """Return H[rest | given] = H[joint] − H[given]: what is left to learn once ``given`` is known.

    Parameters
    ----------
    joint : array
        Joint probabilities with one axis per variable, with sum 1.
    given_axis : int or tuple of int
        Axes of the variables that are known.
    unit : {"nats", "bits"}
        Natural logarithm or base 2.

    Examples
    --------
    >>> conditional_entropy([[0.4, 0.1], [0.1, 0.4]], given_axis=0, unit="bits").round(6)
    np.float64(0.721928)
    """
    table = _probabilities("joint", joint, None)
    rest = _other_axes(table, given_axis, "given_axis")
    share = table / _nonzero(table.sum(axis=rest, keepdims=True))
    return -special.xlogy(table, np.where(share > 0, share, 1.0)).sum() / size_of_unit(unit) + 0.0


def mutual_information(
    joint: Any, axis: int | tuple[int, ...] = 0, *, unit: Unit = "nats"
) -> Array:
    """Return I[x, y] = KL(p(x, y) ‖ p(x) p(y)), where x are the variables on ``axis``.

    Parameters
    ----------
    joint : array
        Joint probabilities with one axis per variable, with sum 1.
    axis : int or tuple of int
        Axes of x; all others make up y.
    unit : {"nats", "bits"}
        Natural logarithm or base 2.

    Examples
    --------
    >>> mutual_information([[0.4, 0.1], [0.1, 0.4]], unit="bits").round(6)
    np.float64(0.278072)
    """
    table = _probabilities("joint", joint, None)
    rest = _other_axes(table, axis, "axis")
    own = tuple(i for i in range(table.ndim) if i not in rest)
    product = table.sum(axis=rest, keepdims=True) * table.sum(axis=own, keepdims=True)
    return np.asarray(relative_entropy_terms(table, product)).sum() / size_of_unit(unit)


def size_of_unit(unit: str) -> float:
    """Return the unit in nats: ln 2 for a bit."""
    if unit not in _SIZE:
        raise ValueError(f'unit must be "nats" or "bits", got {unit!r}')
    return _SIZE[unit]


def _probabilities(name: str, value: Any, axis: Axis) -> Array:
    table = np.asarray(nonnegative(name, value))
    total = table.sum(axis=axis)
    if not np.all(np.abs(total - 1.0) <= SUM_TOLERANCE):
        worst = np.ravel(total)[np.argmax(np.abs(np.ravel(total) - 1.0))]
        raise ValueError(
            f"{name} must sum to 1 over axis {axis} (tolerance {SUM_TOLERANCE:g}), "
            f"got a sum of {worst:.10g}; divide by the sum to normalise"
        )
    return table / table.sum(axis=axis, keepdims=True)


def _pair(p: Any, q: Any, axis: Axis) -> tuple[Array, Array]:
    a, b = _probabilities("p", p, axis), _probabilities("q", q, axis)
    try:
        np.broadcast_shapes(a.shape, b.shape)
    except ValueError:
        raise ValueError(
            f"p and q must speak of the same events, got shapes {a.shape} and {b.shape}"
        ) from None
    return a, b


def _other_axes(table: Array, axis: int | tuple[int, ...], name: str) -> tuple[int, ...]:
    listed = (axis,) if isinstance(axis, (int, np.integer)) else tuple(axis)
    if not all(-table.ndim <= i < table.ndim for i in listed):
        raise ValueError(f"{name} must name axes of a table of shape {table.shape}, got {axis!r}")
    known = {i % table.ndim for i in listed}
    return tuple(i for i in range(table.ndim) if i not in known)


def _nonzero(total: Array) -> Array:
    return np.where(total > 0, total, 1.0)


def _entropy_of(p: Distribution) -> Array:
    if hasattr(type(p), "entropy"):
        return p.entropy()
    if isinstance(p, Univariate):
        found = integrate_against(p, lambda x: -p.log_prob(x))
        return trusted(found, f"the entropy of {p!r}")
    raise TypeError(
        f"{type(p).__name__} has no closed entropy; estimate it by draws: "
        "-p.log_prob(p.sample(100_000)).mean()"
    )


def _divergence_of(p: Any, q: Any) -> Array:
    if not (isinstance(p, Distribution) and isinstance(q, Distribution)):
        raise TypeError("p and q must both be distributions, or both arrays of probabilities")
    if type(p) is type(q) and hasattr(type(p), "kl"):
        return p.kl(q)
    if not (isinstance(p, Univariate) and isinstance(q, Univariate)):
        raise TypeError(
            f"no closed form of KL({type(p).__name__} ‖ {type(q).__name__}) is known; estimate it "
            "by draws x = p.sample(100_000): (p.log_prob(x) - q.log_prob(x)).mean()"
        )
    return _numeric_divergence(p, q)


def _numeric_divergence(p: Univariate, q: Univariate) -> Array:
    places = landmarks(q)
    excluded = integrate_against(
        p, lambda x: np.where(np.isneginf(q.log_prob(x)), 1.0, 0.0), places
    )
    if excluded.value > 1e-12:
        return number(np.inf)
    found = integrate_against(p, lambda x: p.log_prob(x) - q.log_prob(x), places)
    return np.maximum(trusted(found, f"KL({p!r} ‖ {q!r})"), 0.0)
