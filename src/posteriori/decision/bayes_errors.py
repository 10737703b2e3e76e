r"""How often even the best decision is wrong, by cumulative probabilities, cubature and simulation.

.. math:: P(\mathrm{error}) = \int \bigl(1 - \max_k p(C_k\mid x)\bigr)\,p(x)\,dx.

No classifier, linear or not, errs less often; that holds as far as the class densities are right.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from posteriori.decision.class_posteriors import check_classes, log_posterior
from posteriori.decision.cubature import MOST_DIMENSIONS, integrate_over_space
from posteriori.decision.intervals import decision_regions
from posteriori.decision.rules import check_priors
from posteriori.distributions.algebra.integrals import integrate_against, trusted
from posteriori.distributions.algebra.landmarks import landmarks
from posteriori.distributions.base import Univariate, has_atoms
from posteriori.numerics.random import as_generator
from posteriori.numerics.types import Array, Seed

__all__ = ["ErrorEstimate", "bayes_error", "error_of", "estimate_bayes_error"]


#: How near cubature comes, by the length of vectors.
_TOLERANCE = {1: 1e-7, 2: 1e-6, 3: 1e-4}


class ErrorEstimate(NamedTuple):
    """A probability of error from simulated points.

    Attributes
    ----------
    value, error : float
        The estimate and its standard error.
    """

    value: float
    error: float


def bayes_error(classes: Sequence[Any], priors: Any = None) -> float:
    """Return the least probability of a wrong decision about a number or a few of them.

    Parameters
    ----------
    classes : sequence of K distributions of one number, or of a vector of at most three
        p(x | class), all continuous or, of one number, all discrete.
    priors : array (K,), optional
        Probabilities of the classes; equal if None.

    Notes
    -----
    Continuous classes: the cumulative probabilities of the regions where another class is
    chosen, see :func:`decision_regions`. Discrete classes: a sum. Vectors: cubature on
    cells that shrink about the boundaries, to 10⁻⁶ for two numbers in
    a few tenths of a second and to 10⁻⁴ for three in a few seconds. For longer vectors see
    :func:`estimate_bayes_error`.

    Examples
    --------
    >>> from posteriori import Normal
    >>> round(bayes_error([Normal(-1, variance=1), Normal(1, variance=1)]), 6)
    0.158655
    >>> from posteriori import MvNormal
    >>> means = [-1.0, 0.0], [1.0, 0.0]
    >>> round(bayes_error([MvNormal(m, cov=np.eye(2)) for m in means]), 5)
    0.15866
    """
    members = check_low_dimension(check_classes(classes))
    weights = check_priors(priors, len(members))
    if members[0].event_shape or has_atoms(members[0]):
        return expect_posterior(members, weights, lambda q: 1.0 - q.max(axis=-1))
    regions = decision_regions(members, weights)
    edges = np.array([regions[0].lower, *(r.upper for r in regions)])
    chosen = np.array([r.action for r in regions])
    held = np.array([np.diff(m.cdf(edges)) for m in members])  # (K, regions)
    wrong = chosen != np.arange(len(members))[:, None]
    return float(weights @ np.where(wrong, held, 0.0).sum(axis=1))


def estimate_bayes_error(
    classes: Sequence[Any], priors: Any = None, *, size: int = 100_000, rng: Seed = None
) -> ErrorEstimate:
    """Estimate the least probability of a wrong decision about points of any shape.

    Parameters
    ----------
    classes : sequence of K distributions
        p(x | class).
    priors : array (K,), optional
        Probabilities of the classes; equal if None.
    size : int
        Number of points drawn from each class.
    rng : Generator, int or None

    Notes
    -----
    The average of 1 − max p(class | x) over points of the model, which varies less than the
    count of errors. Cost O(size K).
    """
    return _simulate(classes, priors, lambda x, q: 1.0 - q.max(axis=-1), size, rng)


def error_of(
    rule: Callable[[Array], Any],
    classes: Sequence[Any],
    priors: Any = None,
    *,
    size: int = 100_000,
    rng: Seed = None,
) -> ErrorEstimate:
    """Estimate how often a rule is wrong where the classes have these densities.

    Parameters
    ----------
    rule : callable
        Takes points (n, ...) and returns a class number for each.
    classes, priors, size, rng
        As in :func:`estimate_bayes_error`.

    Examples
    --------
    >>> from posteriori import Normal
    >>> fish = [Normal(11.5, variance=1), Normal(13.5, variance=1)]
    >>> error_of(lambda x: x > 13, fish, rng=0).value > bayes_error(fish)
    True
    """

    def conditional(x: Array, q: Array) -> Array:
        chosen = np.asarray(rule(x)).astype(np.intp)
        if chosen.shape != q.shape[:-1] or np.any((chosen < 0) | (chosen >= q.shape[-1])):
            raise ValueError(
                f"rule must return one class number from 0 to {q.shape[-1] - 1} for each point"
            )
        return 1.0 - np.take_along_axis(q, chosen[..., None], axis=-1)[..., 0]

    return _simulate(classes, priors, conditional, size, rng)


def check_low_dimension(members: Sequence[Any]) -> list[Any]:
    """Return classes of one number, all with atoms or all without, or of vectors of at most three."""
    shape = members[0].event_shape
    if len(shape) == 1 and shape[0] > MOST_DIMENSIONS:
        raise ValueError(
            f"vectors of {shape[0]} numbers are too long for cubature, which takes at most "
            f"{MOST_DIMENSIONS}; see estimate_bayes_error"
        )
    for k, member in enumerate(members):
        if not isinstance(member, Univariate) and len(shape) != 1:
            raise TypeError(
                f"classes[{k}] must be a distribution of a number or a vector, got {member!r}; see "
                "estimate_bayes_error"
            )
        if has_atoms(member) != has_atoms(members[0]):
            raise TypeError(f"classes[0] and classes[{k}] mix discrete and continuous points")
    return list(members)


def expect_posterior(members: Sequence[Any], weights: Array, f: Callable[[Array], Array]) -> float:
    """Return E[f(p(class | x))] over the x of all classes, by quadrature, sums or cubature."""
    if members[0].event_shape:
        return _expect_in_space(members, weights, f)

    def at(x: Array) -> Array:
        return f(np.exp(log_posterior(members, weights, x)))

    places = np.concatenate([landmarks(m) for m in members])
    return sum(
        float(w * trusted(integrate_against(m, at, places), f"the error where {m!r} is true"))
        for w, m in zip(weights, members, strict=True)
        if w > 0
    )


def _expect_in_space(members: Sequence[Any], weights: Array, f: Callable[[Array], Array]) -> float:
    """Return ∫ f(p(class | x)) p(x) dx over vectors x."""
    tol = _TOLERANCE[members[0].event_shape[0]]

    def mass_and_value(x: Array) -> Array:
        joint = weights * np.exp(np.stack([m.log_prob(x) for m in members], axis=-1))
        mass = joint.sum(axis=-1)
        some = np.where(mass > 0, mass, 1.0)
        return np.stack([mass, mass * f(joint / some[:, None])], axis=-1)

    (mass, value), _ = integrate_over_space(mass_and_value, members, tol)
    if abs(mass - 1.0) > 10.0 * tol:
        raise ValueError(
            f"the densities of the classes integrate to {mass:.6g} on the grid: they have atoms, no "
            "volume, or very different widths; see estimate_bayes_error"
        )
    return float(value)


def _simulate(
    classes: Sequence[Any],
    priors: Any,
    f: Callable[[Array, Array], Array],
    size: int,
    rng: Seed,
) -> ErrorEstimate:
    """Estimate E[f(x, p(class | x))], each class with points of its own."""
    members = check_classes(classes)
    weights = check_priors(priors, len(members))
    if size < 2:
        raise ValueError(f"size must be at least 2, got {size!r}")
    generator = as_generator(rng)
    value, variance = 0.0, 0.0
    for weight, member in zip(weights, members, strict=True):
        if weight == 0:
            continue
        x = np.asarray(member.sample(size, rng=generator))
        errors = f(x, np.exp(log_posterior(members, weights, x)))
        value += float(weight * errors.mean())
        variance += float(weight**2 * errors.var(ddof=1)) / size
    return ErrorEstimate(value, float(np.sqrt(variance)))
