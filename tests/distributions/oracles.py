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
    "add_coordinates",
    "compositions",
    "counts",
    "cov",
    "expect",
    "high_precision",
    "listed",
    "mass",
    "matrices_2d",
    "plane",
    "points_count",
    "positive_line",
    "positives",
    "real_line",
    "simplex_3",
    "statistics_of",
    "tensor",
    "unit_interval",
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
def matrices_2d(n: int = 44, scale: float = 1.0) -> Rule:
    """Integrate over positive definite 2×2 matrices by A = L Lᵀ: dA = 4 l₁₁² l₂₂ dL."""
    diagonal, below = positives(n, scale), numbers(n, scale=scale)
    (l11, l21, l22), w = (
        (grid := tensor(diagonal, below, diagonal)).points.T,
        grid.weights,
    )
    points = np.empty((len(w), 2, 2))
    points[:, 0, 0] = l11 * l11
    points[:, 0, 1] = points[:, 1, 0] = l11 * l21
    points[:, 1, 1] = l21 * l21 + l22 * l22
    return Rule(points, w * 4.0 * l11 * l11 * l22)


def add_coordinates(rule: Rule, line: Rule, join: Callable[[Any, Any], Any]) -> Rule:
    """Integrate over pairs of one point of ``rule`` and one of ``line``; ``join`` makes the event."""
    m, k = len(rule.weights), len(line.weights)
    left = np.repeat(np.asarray(rule.points), k, axis=0)
    right = np.concatenate([np.asarray(line.points)] * m, axis=0)
    return Rule(join(left, right), np.repeat(rule.weights, k) * np.tile(line.weights, m))


# -- expectations ------------------------------------------------------------------------------


def points_count(points: Any) -> int:
    """Number of points, for plain and joint events."""
    return len(points[0]) if isinstance(points, tuple) else len(points)


def mass(d: Any, rule: Rule) -> np.ndarray:
    """Return w p(x), the probability that each point of the rule stands for."""
    return rule.weights * np.exp(d.log_prob(rule.points))


def expect(d: Any, rule: Rule, f: Callable[[Any], Any] | np.ndarray) -> np.ndarray:
    """Return E[f(x)]; points of no probability count for nothing, whatever f is there."""
    w = mass(d, rule)
    with np.errstate(all="ignore"):
        values = np.asarray(f(rule.points) if callable(f) else f, dtype=float)
    keep = w > 0
    return np.tensordot(w[keep], values[keep], axes=(0, 0))


def cov(d: Any, rule: Rule, f: Callable[[Any], Any]) -> np.ndarray:
    """Return Cov[f(x)] of a vector function (M, ...) → (M, K)."""
    with np.errstate(all="ignore"):
        values = np.asarray(f(rule.points), dtype=float)
    centre = expect(d, rule, values)
    w = mass(d, rule)
    keep = w > 0
    centred = values[keep] - centre
    return np.einsum("m,mi,mj->ij", w[keep], centred, centred)


def statistics_of(d: Any) -> Callable[[Any], np.ndarray]:
    """Return T as a function from points to flat vectors (M, K)."""
    return lambda x: flatten_statistics(type(d).sufficient(x), d._natural_ndims)


# -- many digits -------------------------------------------------------------------------------


def high_precision(f: Callable[..., Any], *arguments: float, digits: int = 60) -> float:
    """Evaluate ``f`` on exact copies of float arguments with many digits, and round once."""
    with mpmath.workdps(digits):
        return float(f(*(mpmath.mpf(float(a)) for a in arguments)))
