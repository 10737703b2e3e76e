"""Slow and obvious answers: integrals as weighted sums, and derivatives as differences.

A :class:`Rule` lists points and weights with Σ w f(x) = ∫ f(x) dx (or Σ f(x) for discrete x), to
about ten digits for densities of ordinary size. Every expectation in the tests is such a sum over
``exp(log_prob)``: nothing of the family but its density enters.

Continuous rules are trapezoidal sums after a change of variables that makes the integrand decay
at both ends; they converge exponentially fast (Trefethen & Weideman, SIAM Review 2014).
"""

from collections.abc import Callable
from functools import lru_cache
from itertools import product
from typing import Any, NamedTuple

import mpmath
import numpy as np

from posteriori.distributions.coordinates import flatten_statistics

__all__ = [
    "Rule",
    "as_columns",
    "average",
    "compositions",
    "counts",
    "cov",
    "density",
    "digits",
    "expect",
    "half_line",
    "high_precision",
    "interval",
    "listed",
    "mass",
    "inverse_matrices_2d",
    "inverse_root",
    "inverted",
    "matrices_2d",
    "matrices_around",
    "panels",
    "plane",
    "positive_line",
    "positives",
    "real_line",
    "simplex_3",
    "statistics_of",
    "tensor",
    "unit_interval",
    "with_kinks",
    "with_mean",
]


class Rule(NamedTuple):
    """Points x (M, *event), or a tuple of such arrays for a joint event, and weights (M,)."""

    points: Any
    weights: np.ndarray


# -- rules -------------------------------------------------------------------------------------


def listed(points: Any) -> Rule:
    """Sum over the points of a finite support."""
    points = np.asarray(points)
    return Rule(points, np.ones(len(points)))


def counts(last: int) -> Rule:
    """Sum over 0, 1, …, ``last``."""
    return listed(np.arange(last + 1.0))


def compositions(total: int, parts: int) -> Rule:
    """Sum over all vectors of ``parts`` counts that add up to ``total``."""
    grid = product(range(total + 1), repeat=parts)
    return listed(np.array([c for c in grid if sum(c) == total], dtype=float))


@lru_cache
def real_line(n: int = 500, centre: float = 0.0, scale: float = 1.0) -> Rule:
    """Integrate over all numbers: x = centre + scale · sinh(π/2 sinh t), heavy tails included."""
    t, h = np.linspace(-4.2, 4.2, n, retstep=True)
    u = 0.5 * np.pi * np.sinh(t)
    slope = np.cosh(u) * 0.5 * np.pi * np.cosh(t)
    return Rule(centre + scale * np.sinh(u), h * scale * slope)


@lru_cache
def positive_line(n: int = 600, scale: float = 1.0) -> Rule:
    """Integrate over the positive numbers: x = scale · exp(π/2 sinh t)."""
    t, h = np.linspace(-4.2, 4.2, n, retstep=True)
    x = scale * np.exp(0.5 * np.pi * np.sinh(t))
    return Rule(x, h * x * 0.5 * np.pi * np.cosh(t))


@lru_cache
def unit_interval(n: int = 300) -> Rule:
    """Integrate over (0, 1): x = 1/(1 + exp(−π sinh t))."""
    t, h = np.linspace(-3.1, 3.1, n, retstep=True)
    u = np.pi * np.sinh(t)
    x, rest = 1.0 / (1.0 + np.exp(-u)), 1.0 / (1.0 + np.exp(u))
    inside = (x > 0) & (x < 1)
    return Rule(x[inside], (h * x * rest * np.pi * np.cosh(t))[inside])


@lru_cache
def numbers(n: int = 60, centre: float = 0.0, scale: float = 1.0) -> Rule:
    """A short rule for products: x = centre + scale · sinh t, for tails like a normal's."""
    t, h = np.linspace(-4.0, 4.0, n, retstep=True)
    return Rule(centre + scale * np.sinh(t), h * scale * np.cosh(t))


@lru_cache
def positives(n: int = 60, scale: float = 1.0) -> Rule:
    """A short rule for products: x = scale · exp(t − e⁻ᵗ), for tails like an exponential's."""
    t, h = np.linspace(-3.0, 5.5, n, retstep=True)
    x = scale * np.exp(t - np.exp(-t))
    return Rule(x, h * x * (1.0 + np.exp(-t)))


@lru_cache
def interval(low: float, high: float, n: int = 300) -> Rule:
    """Integrate over (low, high)."""
    points, weights = unit_interval(n)
    width = high - low
    return Rule(low + width * points, width * weights)


@lru_cache
def half_line(low: float, scale: float = 1.0) -> Rule:
    """Integrate over the numbers from ``low`` on."""
    points, weights = positive_line(scale=scale)
    return Rule(low + points, weights)


@lru_cache
def with_kinks(left: float, right: float) -> Rule:
    """Integrate over all numbers, for densities with kinks at two places."""
    points, weights = positive_line()
    middle = interval(left, right)
    return Rule(
        np.concatenate([left - points[::-1], middle.points, right + points]),
        np.concatenate([weights[::-1], middle.weights, weights]),
    )


def tensor(*rules: Rule) -> Rule:
    """Integrate over a product of one-dimensional rules: points (M, number of rules)."""
    points = np.meshgrid(*(rule.points for rule in rules), indexing="ij")
    weights = np.meshgrid(*(rule.weights for rule in rules), indexing="ij")
    return Rule(
        np.stack([p.ravel() for p in points], axis=-1),
        np.prod([w.ravel() for w in weights], axis=0),
    )


@lru_cache
def plane(n: int = 160, scale: float = 1.0) -> Rule:
    """Integrate over pairs of numbers."""
    line = numbers(n, scale=scale)
    return tensor(line, line)


@lru_cache
def simplex_3(n: int = 120) -> Rule:
    """Integrate over (x₁, x₂), x₃ = 1 − x₁ − x₂: stick lengths u and v, dx₁dx₂ = (1−u) du dv."""
    t, h = np.linspace(-2.8, 2.8, n, retstep=True)
    e = np.pi * np.sinh(t)
    x, rest = 1.0 / (1.0 + np.exp(-e)), 1.0 / (1.0 + np.exp(e))
    w = h * x * rest * np.pi * np.cosh(t)
    i, j = (a.ravel() for a in np.meshgrid(np.arange(n), np.arange(n), indexing="ij"))
    points = np.stack([x[i], rest[i] * x[j], rest[i] * rest[j]], axis=-1)
    return Rule(points, w[i] * w[j] * rest[i])


@lru_cache
def matrices_2d() -> Rule:
    """Integrate over positive definite 2×2 matrices by A = L Lᵀ: dA = 4 l₁₁² l₂₂ dL.

    Wide enough for means near 1 and a dozen degrees of freedom, to about seven digits.
    """
    t, h = np.linspace(-2.8, 1.4, 32, retstep=True)
    diagonal = Rule(np.exp(t), h * np.exp(t))
    z, h = np.linspace(-3.2, 3.2, 28, retstep=True)
    below = Rule(z, np.full(len(z), h))
    grid = tensor(diagonal, below, diagonal)
    l11, l21, l22 = grid.points.T
    points = np.empty((len(l11), 2, 2))
    points[:, 0, 0] = l11 * l11
    points[:, 0, 1] = points[:, 1, 0] = l11 * l21
    points[:, 1, 1] = l21 * l21 + l22 * l22
    return Rule(points, grid.weights * 4.0 * l11 * l11 * l22)


@lru_cache
def inverse_matrices_2d() -> Rule:
    """The same matrices through their inverses: dA⁻¹ = |A|⁻³ dA."""
    points, weights = matrices_2d()
    return Rule(np.linalg.inv(points), weights / np.linalg.det(points) ** 3)


def inverted(rule: Rule) -> Rule:
    """Integrate over 1/x for the positive numbers x of another rule."""
    return Rule(1.0 / rule.points, rule.weights / rule.points**2)


def inverse_root(precision: np.ndarray) -> np.ndarray:
    """Return F with F Fᵀ = Λ⁻¹ for matrices (..., D, D)."""
    return np.linalg.inv(np.swapaxes(np.linalg.cholesky(precision), -1, -2))


def with_mean(spread: Rule, location: Any, root: np.ndarray) -> Rule:
    """Integrate over pairs (μ, s), s from another rule and μ = m + F z by Gauss–Hermite in z.

    ``root`` is F for each s, (M,) or (M, D, D), such that a normal μ given s has covariance F Fᵀ:
    three nodes an axis are then exact for polynomials in μ up to the fifth degree.
    """
    location = np.asarray(location, dtype=float)
    size = location.shape[-1] if location.ndim else 1
    nodes, weights = np.polynomial.hermite_e.hermegauss(3)
    grid = tensor(*[Rule(nodes, weights * np.exp(0.5 * nodes**2))] * size)
    if root.ndim == 1:
        means = location + root[:, None, None] * grid.points
        volume = root**size
    else:
        means = location + np.einsum("mij,kj->mki", root, grid.points)
        volume = np.abs(np.linalg.det(root))
    k = len(grid.weights)
    means = means.reshape(-1, size) if location.ndim else means.reshape(-1)
    return Rule(
        (means, np.repeat(spread.points, k, axis=0)),
        np.repeat(spread.weights * volume, k) * np.tile(grid.weights, len(volume)),
    )


def as_columns(rule: Rule) -> Rule:
    """Read vectors as matrices of one column, and numbers as matrices of one entry."""
    means, spreads = rule.points
    return Rule((means[..., None], spreads[..., None, None]), rule.weights)


def matrices_around(d: Any) -> Rule:
    """Integrate over 2×2 matrices M + A Z Bᵀ by Gauss–Hermite, exact for polynomials."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(9)
    grid = tensor(*[Rule(nodes, weights * np.exp(0.5 * nodes**2))] * 4)
    rows, columns = np.linalg.cholesky(d.row_cov), np.linalg.cholesky(d.col_cov)
    points = d.mean + rows @ grid.points.reshape(-1, 2, 2) @ columns.T
    return Rule(points, grid.weights * (np.linalg.det(rows) * np.linalg.det(columns)) ** 2)


def panels(edges: Any, n: int = 12) -> Rule:
    """Integrate over an interval, piece by piece between edges, by Gauss–Legendre."""
    nodes, weights = np.polynomial.legendre.leggauss(n)
    edges = np.asarray(edges)
    half = 0.5 * np.diff(edges)[:, None]
    return Rule(((edges[:-1, None] + half) + half * nodes).ravel(), (half * weights).ravel())


# -- expectations ------------------------------------------------------------------------------


def density(d: Any, x: Any) -> np.ndarray:
    """Return the density at the points, not its logarithm."""
    return np.exp(d.log_prob(np.asarray(x, dtype=float)))


def mass(d: Any, rule: Rule) -> np.ndarray:
    """Return w p(x), the probability that each point of the rule stands for."""
    return rule.weights * np.exp(d.log_prob(rule.points))


def expect(d: Any, rule: Rule, f: Callable[[Any], Any] | np.ndarray) -> np.ndarray:
    """Return E[f(x)]; points of no probability count for nothing, whatever f is there."""
    with np.errstate(all="ignore"):
        values = np.asarray(f(rule.points) if callable(f) else f, dtype=float)
    return average(mass(d, rule), values)


def average(w: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return Σ w f over the points that have any probability."""
    keep = w > 0
    return np.tensordot(w[keep], values[keep], axes=(0, 0))


def cov(d: Any, rule: Rule, f: Callable[[Any], Any]) -> np.ndarray:
    """Return Cov[f(x)] of a vector function (M, ...) → (M, K)."""
    with np.errstate(all="ignore"):
        values = np.asarray(f(rule.points), dtype=float)
    w = mass(d, rule)
    keep = w > 0
    centred = values[keep] - average(w, values)
    return np.einsum("m,mi,mj->ij", w[keep], centred, centred)


def statistics_of(d: Any) -> Callable[[Any], np.ndarray]:
    """Return T as a function from points to flat vectors (M, K)."""
    known = (d.n_categories,) if hasattr(d, "n_categories") else ()
    return lambda x: flatten_statistics(type(d).sufficient(x, *known), d._natural_ndims)


# -- digits ------------------------------------------------------------------------------------


def high_precision(f: Callable[..., Any], *arguments: float, digits: int = 60) -> float:
    """Evaluate ``f`` on exact copies of float arguments with many digits, and round once."""
    with mpmath.workdps(digits):
        return float(f(*(mpmath.mpf(float(a)) for a in arguments)))


def digits(value: Any, expected: Any, decimals: int) -> None:
    """Agree with a number printed with so many decimals."""
    np.testing.assert_allclose(value, expected, rtol=0, atol=0.5001 * 10.0**-decimals)
