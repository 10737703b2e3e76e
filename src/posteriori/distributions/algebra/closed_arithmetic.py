"""Families that are closed under sums, products and affine maps, as tables of rules.

A rule returns the distribution, or None where its condition (say an equal rate) does not hold.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from posteriori.distributions.composites.empirical import Empirical, UnivariateEmpirical
from posteriori.distributions.composites.mixture import MixtureFamily, UnivariateMixture
from posteriori.distributions.composites.numeric import Numeric, NumericCounts
from posteriori.distributions.composites.point_mass import PointMass
from posteriori.distributions.counts.bernoulli import Bernoulli
from posteriori.distributions.counts.binomial import Binomial
from posteriori.distributions.counts.negative_binomial import NegativeBinomial
from posteriori.distributions.counts.poisson import Poisson
from posteriori.distributions.numbers.cauchy import Cauchy
from posteriori.distributions.numbers.exponential_distribution import Exponential
from posteriori.distributions.numbers.gamma import Gamma
from posteriori.distributions.numbers.inverse_gamma import InverseGamma
from posteriori.distributions.numbers.laplace import Laplace
from posteriori.distributions.numbers.log_normal import LogNormal
from posteriori.distributions.numbers.normal import Normal
from posteriori.distributions.numbers.polya_gamma import PolyaGamma
from posteriori.distributions.numbers.student_t import StudentT
from posteriori.distributions.numbers.uniform import Uniform
from posteriori.distributions.vectors.mv_student_t import MvStudentT
from posteriori.distributions.vectors.mvnormal import MvNormal
from posteriori.numerics.types import Array

__all__ = ["closed_affine", "closed_product", "closed_sum"]

Rule = Callable[..., Any]
_SUMS: dict[tuple[type, type], Rule] = {}
_PRODUCTS: dict[tuple[type, type], Rule] = {}
_AFFINE: dict[type, Rule] = {}

#: Pairs of points that are listed: 16 MB.
_MOST_PAIRS = 1_000_000


def closed_sum(p: Any, q: Any) -> Any:
    """Return the distribution of x + y if a family holds it, else None."""
    return _look_up(_SUMS, p, q)


def closed_product(p: Any, q: Any) -> Any:
    """Return the distribution of x·y if a family holds it, else None."""
    return _look_up(_PRODUCTS, p, q)


def closed_affine(p: Any, gain: Array, offset: Array) -> Any:
    """Return the distribution of gain·x + offset if a family holds it, else None."""
    rule = _AFFINE.get(type(p))
    return None if rule is None else rule(p, gain, offset)


def _look_up(table: dict[tuple[type, type], Rule], p: Any, q: Any) -> Any:
    if (type(p), type(q)) in table:
        return table[type(p), type(q)](p, q)
    if (type(q), type(p)) in table:
        return table[type(q), type(p)](q, p)
    return None


def _rule(table: dict[Any, Rule], *keys: Any) -> Callable[[Rule], Rule]:
    def register(rule: Rule) -> Rule:
        table.update(dict.fromkeys(keys, rule))
        return rule

    return register


def _equal(a: Array, b: Array) -> bool:
    return bool(np.all(a == b))


# -- sums --------------------------------------------------------------------------------------


@_rule(_SUMS, (Normal, Normal), (MvNormal, MvNormal))
def _sum_of_normals(p: Any, q: Any) -> Any:
    return p + q


@_rule(_SUMS, (Gamma, Gamma), (Exponential, Gamma), (Exponential, Exponential))
def _sum_of_gammas(p: Any, q: Any) -> Any:
    if not _equal(p.rate, q.rate):
        return None
    shapes = (d.shape if isinstance(d, Gamma) else np.ones(d.batch_shape) for d in (p, q))
    return Gamma(sum(shapes), p.rate)


@_rule(_SUMS, (Poisson, Poisson))
def _sum_of_poissons(p: Poisson, q: Poisson) -> Any:
    return Poisson(p.rate + q.rate)


@_rule(_SUMS, (Binomial, Binomial), (Bernoulli, Binomial), (Bernoulli, Bernoulli))
def _sum_of_trials(p: Any, q: Any) -> Any:
    if not _equal(p.probability, q.probability):
        return None
    trials = (d.trials if isinstance(d, Binomial) else np.ones(d.batch_shape) for d in (p, q))
    return Binomial(sum(trials), p.probability)


@_rule(_SUMS, (NegativeBinomial, NegativeBinomial))
def _sum_of_waiting_times(p: NegativeBinomial, q: NegativeBinomial) -> Any:
    if not _equal(p.probability, q.probability):
        return None
    return NegativeBinomial(p.count + q.count, p.probability)


@_rule(_SUMS, (Cauchy, Cauchy))
def _sum_of_cauchys(p: Cauchy, q: Cauchy) -> Any:
    return Cauchy(p.location + q.location, p.scale + q.scale)


@_rule(_SUMS, (PolyaGamma, PolyaGamma))
def _sum_of_polya_gammas(p: PolyaGamma, q: PolyaGamma) -> Any:
    equal = _equal(np.abs(p.tilt), np.abs(q.tilt))
    return PolyaGamma(p.shape + q.shape, p.tilt) if equal else None


@_rule(_SUMS, (Empirical, Empirical), (UnivariateEmpirical, UnivariateEmpirical))
def _sum_of_points(p: Any, q: Any) -> Any:
    return _over_pairs(p, q, np.add)


# -- products ----------------------------------------------------------------------------------


@_rule(_PRODUCTS, (LogNormal, LogNormal))
def _product_of_log_normals(p: LogNormal, q: LogNormal) -> Any:
    both = p.logarithm + q.logarithm
    return LogNormal(both.mean, variance=both.variance)


@_rule(_PRODUCTS, (Bernoulli, Bernoulli))
def _product_of_bernoullis(p: Bernoulli, q: Bernoulli) -> Any:
    return Bernoulli(p.probability * q.probability)


@_rule(_PRODUCTS, (UnivariateEmpirical, UnivariateEmpirical))
def _product_of_points(p: Any, q: Any) -> Any:
    return _over_pairs(p, q, np.multiply)


def _over_pairs(p: Any, q: Any, operation: Any) -> Any:
    if p.batch_shape or q.batch_shape or len(p.weights) * len(q.weights) > _MOST_PAIRS:
        return None
    points = operation(p.points[:, None], q.points[None])
    weights = p.weights[:, None] * q.weights
    return Empirical(points.reshape(-1, *p.event_shape), weights.ravel())


# -- affine maps -------------------------------------------------------------------------------


@_rule(_AFFINE, Normal, MvNormal, MvStudentT)
def _affine_by_method(p: Any, gain: Array, offset: Array) -> Any:
    if p.event_shape and np.ndim(gain) == 0:
        gain = gain * np.eye(p.event_shape[0])
    return p.affine(gain, offset)


@_rule(_AFFINE, PointMass)
def _affine_point(p: PointMass, gain: Array, offset: Array) -> Any:
    if p._event_ndim == 1 and np.ndim(gain) == 2:
        return PointMass(np.matmul(gain, p.location[..., None])[..., 0] + offset, p.event_ndim)
    return PointMass(gain * p.location + offset, p.event_ndim)


@_rule(_AFFINE, Cauchy)
def _affine_cauchy(p: Cauchy, gain: Array, offset: Array) -> Any:
    return Cauchy(gain * p.location + offset, np.abs(gain) * p.scale)


@_rule(_AFFINE, StudentT)
def _affine_student(p: StudentT, gain: Array, offset: Array) -> Any:
    return StudentT(p.dof, gain * p.location + offset, scale=np.abs(gain) * p.scale)


@_rule(_AFFINE, Laplace)
def _affine_laplace(p: Laplace, gain: Array, offset: Array) -> Any:
    return Laplace(gain * p.mean + offset, np.abs(gain) * p.scale)


@_rule(_AFFINE, Uniform)
def _affine_uniform(p: Uniform, gain: Array, offset: Array) -> Any:
    ends = gain * p.low + offset, gain * p.high + offset
    return Uniform(np.minimum(*ends), np.maximum(*ends))


@_rule(_AFFINE, Gamma, Exponential, InverseGamma, LogNormal)
def _scaled_positive(p: Any, gain: Array, offset: Array) -> Any:
    if np.any(offset != 0) or np.any(gain <= 0):
        return None
    if isinstance(p, LogNormal):
        inner = p.logarithm
        return LogNormal(inner.mean + np.log(gain), scale=inner.scale)
    if isinstance(p, InverseGamma):
        return InverseGamma(p.shape, gain * p.scale)
    return (
        Exponential(p.rate / gain) if isinstance(p, Exponential) else Gamma(p.shape, p.rate / gain)
    )


@_rule(_AFFINE, Empirical, UnivariateEmpirical)
def _affine_points(p: Any, gain: Array, offset: Array) -> Any:
    if np.ndim(gain) == 2:
        return Empirical(p.points @ gain.T + offset, p.weights, p._event_ndim)
    return Empirical(gain * p.points + offset, p.weights, p._event_ndim)


@_rule(_AFFINE, UnivariateMixture)
def _affine_mixture(p: Any, gain: Array, offset: Array) -> Any:
    components = closed_affine(p.components, gain, offset)
    return None if components is None else MixtureFamily(p.probabilities, components)


@_rule(_AFFINE, Numeric)
def _affine_table(p: Numeric, gain: Array, offset: Array) -> Any:
    if np.ndim(gain) or np.ndim(offset):
        return None
    order = slice(None) if gain > 0 else slice(None, None, -1)
    nodes = gain * p.nodes + offset
    return Numeric(nodes[..., order], p.density[..., order], p.error)


@_rule(_AFFINE, NumericCounts)
def _shifted_counts(p: NumericCounts, gain: Array, offset: Array) -> Any:
    if np.any(np.abs(gain) != 1) or np.ndim(gain) or np.any(offset != np.floor(offset)):
        return None
    if gain > 0:
        return NumericCounts(p.start + offset, p.masses, p.error)
    return NumericCounts(offset - p.points[..., -1], p.masses[..., ::-1], p.error)
