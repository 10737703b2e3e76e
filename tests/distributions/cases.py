"""One row per family: what the laws in ``test_laws.py`` need to know about it.

To add a family, add a row: two members of ordinary size, a batch, a few points, and the rule of
``oracles.py`` that integrates (or sums) over its support. Every law that applies runs on it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from inspect import signature
from typing import Any

import numpy as np
from scipy import stats

from posteriori.distributions import (
    Bernoulli,
    Beta,
    BetaBinomial,
    Binomial,
    Categorical,
    Cauchy,
    Dirichlet,
    DirichletMultinomial,
    Empirical,
    Exponential,
    Gamma,
    Geometric,
    HalfCauchy,
    HalfNormal,
    InverseGamma,
    InverseWishart,
    Laplace,
    LogNormal,
    MatrixNormal,
    MatrixNormalWishart,
    Mixture,
    Multinomial,
    MvNormal,
    MvStudentT,
    NegativeBinomial,
    Normal,
    NormalGamma,
    NormalInverseGamma,
    NormalInverseWishart,
    NormalWishart,
    Numeric,
    NumericCounts,
    Pareto,
    PointMass,
    Poisson,
    PolyaGamma,
    StudentT,
    Transformed,
    TruncatedNormal,
    Uniform,
    VectorNormalGamma,
    VectorNormalInverseGamma,
    VonMises,
    Wishart,
)
from posteriori.distributions.batches import take_members
from posteriori.distributions.maps import AbsoluteMap, ExpMap, LinearMap
from tests.distributions import oracles

__all__ = ["CASES", "Case", "members", "pick", "restack", "spread"]

Make = Callable[[], Any]


@dataclass(frozen=True)
class Case:
    """A family under test."""

    #: A member of ordinary size, and another whose support is the same.
    one: Make
    two: Make
    #: Members side by side, with a batch shape.
    batch: Make
    #: Points of the support (n, *event), or a tuple of arrays for a joint event.
    inside: Any
    #: How to integrate over the support, ten digits for the members above; a rule that fits
    #: itself to a member takes it as argument.
    rule: Callable[..., oracles.Rule]
    #: Single points off the support: log_prob is −inf there.
    outside: Sequence[Any] = ()
    #: Whether the density is a probability of single points.
    discrete: bool = False
    #: The same member as ``one`` in scipy.stats.
    peer: Make | None = None
    #: Members near the ends of the floating-point range, for round trips.
    extremes: Sequence[Make] = ()
    #: Natural parameters of messages that are no distribution.
    improper: Sequence[tuple[Any, ...]] = ()
    #: Relative accuracy of ``rule``; looser where it has several dimensions.
    rtol: float = 1e-9
    #: Number of draws behind the checks of samples.
    n_draws: int = 20_000

    #: Whether draws differ from one another.
    varies: bool = True
    #: A member without batch that combines with those of ``batch``; ``one`` if None.
    beside_batch: Make | None = None
    #: Where the support of ``one`` begins; by default 0 if points lie off it, else −inf.
    begins: float | None = None
    #: How the family fits data, where that takes more than the data.
    fit_with: Callable[..., Any] | None = None

    @property
    def family(self) -> type:
        return type(self.one())

    @property
    def id(self) -> str:
        return self.family.__name__

    @property
    def joint(self) -> bool:
        """Whether an event is a tuple of arrays."""
        return isinstance(self.inside, tuple)

    @property
    def least(self) -> float:
        """Where an integral over the support of ``one`` begins."""
        default = 0.0 if len(self.outside) else -np.inf
        return default if self.begins is None else self.begins

    @property
    def points(self) -> Any:
        return tuple(map(np.asarray, self.inside)) if self.joint else np.asarray(self.inside)

    def event_shapes(self, d: Any) -> list[tuple[int, ...]]:
        """Shape of one event, part by part."""
        return list(d.event_shape) if self.joint else [d.event_shape]

    def rule_for(self, d: Any) -> oracles.Rule:
        takes_member = any(p.default is p.empty for p in signature(self.rule).parameters.values())
        return self.rule(d) if takes_member else self.rule()

    def broadcastable(self) -> Any:
        return (self.beside_batch or self.one)()

    def fit(self, data: Any, weights: Any = None) -> Any:
        return (self.fit_with or self.family.fit)(data, weights=weights)


def pick(points: Any, index: Any) -> Any:
    """Index plain or joint points."""
    return tuple(p[index] for p in points) if isinstance(points, tuple) else points[index]


def restack(points: Any, f: Callable[..., Any]) -> Any:
    """Apply ``f`` to plain points or to each part of joint ones; a list gives several arguments."""
    several = points if isinstance(points, list) else [points]
    if isinstance(several[0], tuple):
        return tuple(f(*parts) for parts in zip(*several, strict=True))
    return f(*several)


def spread(points: Any) -> Any:
    """Insert the axis along which a batch lies, between points and events."""
    return restack(points, lambda part: part[:, None])


def members(d: Any) -> list[Any]:
    """Return the members of a batch of shape (B,), one by one."""
    if hasattr(type(d), "_take_members"):
        return [take_members(d, i) for i in range(*d.batch_shape)]
    given = {k: v for k in d._parameters if isinstance(v := d.__dict__.get(k), np.ndarray)}
    rest = {k: v for k in d._parameters if (v := d.__dict__.get(k)) is not None and k not in given}
    (size,) = d.batch_shape
    return [d._from(**{k: v[i] for k, v in given.items()}, **rest) for i in range(size)]


CASES: tuple[Case, ...] = (
    Case(
        one=lambda: Normal(0.7, variance=1.69),
        two=lambda: Normal(-0.4, variance=0.64),
        batch=lambda: Normal([-1.0, 0.5, 2.0], variance=[0.5, 1.0, 3.0]),
        inside=[-3.0, -0.2, 0.7, 1.1, 4.5],
        rule=oracles.real_line,
        peer=lambda: stats.norm(0.7, 1.3),
        extremes=(
            lambda: Normal(1e12, variance=1e-12),
            lambda: Normal(-1e-12, variance=1e12),
            lambda: Normal(3.0, precision=1e12),
        ),
        improper=((0.3, 0.0), (1.0, -0.5)),
    ),
    Case(
        one=lambda: MvNormal([0.5, -0.3], cov=[[1.2, 0.4], [0.4, 0.8]]),
        two=lambda: MvNormal([-0.2, 0.4], cov=[[0.7, -0.2], [-0.2, 1.1]]),
        batch=lambda: MvNormal(
            [[0.0, 1.0], [2.0, -1.0], [0.3, 0.3]],
            cov=[[[1.0, 0.2], [0.2, 2.0]], [[0.5, 0.0], [0.0, 0.5]], [[2.0, -0.7], [-0.7, 1.0]]],
        ),
        inside=[[0.0, 0.0], [0.5, -0.3], [1.7, 0.2], [-2.0, 2.0]],
        rule=oracles.plane,
        peer=lambda: stats.multivariate_normal([0.5, -0.3], [[1.2, 0.4], [0.4, 0.8]]),
        extremes=(
            lambda: MvNormal([1e12, -1e12], cov=1e-12 * np.eye(2)),
            lambda: MvNormal([1e-12, 1.0], precision=[[1e-12, 0.0], [0.0, 1e12]]),
        ),
        improper=(
            ([0.3, -0.2], [[1.0, 1.0], [1.0, 1.0]]),
            ([0.3, -0.2], [[1.0, 0.0], [0.0, -2.0]]),
            ([0.0, 0.0], [[0.0, 0.0], [0.0, 0.0]]),
        ),
        rtol=1e-8,
    ),
    Case(
        one=lambda: Gamma(2.7, 1.4),
        two=lambda: Gamma(1.6, 0.9),
        batch=lambda: Gamma([1.2, 3.0, 40.0], [0.5, 2.0, 10.0]),
        inside=[0.05, 0.8, 1.9, 7.0],
        outside=[-0.1, -5.0],
        rule=oracles.positive_line,
        peer=lambda: stats.gamma(2.7, scale=1 / 1.4),
        extremes=(lambda: Gamma(1e12, 1e-12), lambda: Gamma(1e-12, 1e12)),
        improper=((-1.5, -1.0), (1.0, 0.0), (0.5, 2.0)),
    ),
    Case(
        one=lambda: Beta(2.3, 3.6),
        two=lambda: Beta(1.9, 2.2),
        batch=lambda: Beta([1.5, 3.0, 25.0], [2.0, 2.5, 40.0]),
        inside=[0.03, 0.3, 0.5, 0.92],
        outside=[-0.1, 1.2],
        rule=oracles.unit_interval,
        peer=lambda: stats.beta(2.3, 3.6),
        extremes=(lambda: Beta(1e12, 1e-12), lambda: Beta(3.0, 1e12)),
        improper=((-1.5, 1.0), (1.0, -2.0)),
    ),
    Case(
        one=lambda: Dirichlet([2.3, 3.1, 1.8]),
        two=lambda: Dirichlet([1.7, 2.0, 2.6]),
        batch=lambda: Dirichlet([[1.5, 2.0, 2.5], [20.0, 30.0, 15.0]]),
        inside=[[0.2, 0.3, 0.5], [0.7, 0.2, 0.1], [0.05, 0.9, 0.05]],
        outside=[[0.5, 0.6, -0.1], [0.2, 0.2, 0.2]],
        rule=oracles.simplex_3,
        peer=lambda: stats.dirichlet([2.3, 3.1, 1.8]),
        extremes=(lambda: Dirichlet([1e12, 3.0, 1e-12]),),
        improper=(([-1.5, 1.0, 1.0],),),
        rtol=1e-8,
    ),
    Case(
        one=lambda: Bernoulli(0.3),
        two=lambda: Bernoulli(0.6),
        batch=lambda: Bernoulli([0.2, 0.5, 0.9]),
        inside=[0.0, 1.0],
        outside=[0.5, 2.0, -1.0],
        rule=lambda: oracles.counts(1),
        discrete=True,
        peer=lambda: stats.bernoulli(0.3),
        extremes=(lambda: Bernoulli(1e-12), lambda: Bernoulli(0.5)),
    ),
    Case(
        one=lambda: InverseGamma(5.5, 4.0),
        two=lambda: InverseGamma(6.2, 3.0),
        batch=lambda: InverseGamma([3.0, 2.5, 40.0], [0.5, 2.0, 60.0]),
        inside=[0.1, 0.6, 1.1, 5.0],
        outside=[-0.1, 0.0],
        rule=oracles.positive_line,
        peer=lambda: stats.invgamma(5.5, scale=4.0),
        extremes=(lambda: InverseGamma(1e12, 1e-12), lambda: InverseGamma(1e-12, 1e12)),
        improper=((-0.5, -1.0), (-3.0, 0.0)),
    ),
    Case(
        one=lambda: Exponential(1.7),
        two=lambda: Exponential(0.6),
        batch=lambda: Exponential([0.2, 1.0, 30.0]),
        inside=[0.01, 0.5, 2.0, 6.0],
        outside=[-0.1],
        rule=oracles.positive_line,
        peer=lambda: stats.expon(scale=1 / 1.7),
        extremes=(lambda: Exponential(1e12), lambda: Exponential(1e-12)),
        improper=((0.0,), (0.5,)),
    ),
    Case(
        one=lambda: Poisson(3.4),
        two=lambda: Poisson(1.9),
        batch=lambda: Poisson([0.5, 4.0, 60.0]),
        inside=[0.0, 1.0, 3.0, 20.0],
        outside=[-1.0, 0.5],
        rule=lambda: oracles.counts(100),
        discrete=True,
        peer=lambda: stats.poisson(3.4),
        extremes=(lambda: Poisson(1e12), lambda: Poisson(1e-12)),
    ),
    Case(
        one=lambda: Binomial(12, 0.3),
        two=lambda: Binomial(12, 0.55),
        batch=lambda: Binomial([12, 12, 12], [0.1, 0.5, 0.9]),
        inside=[0.0, 3.0, 7.0, 12.0],
        outside=[-1.0, 0.5, 13.0],
        rule=lambda: oracles.counts(12),
        discrete=True,
        peer=lambda: stats.binom(12, 0.3),
        extremes=(lambda: Binomial(1_000_000_000_000, 0.25), lambda: Binomial(5, 1e-12)),
        fit_with=partial(Binomial.fit, trials=12),
    ),
    Case(
        one=lambda: Categorical([0.2, 0.35, 0.45]),
        two=lambda: Categorical([0.6, 0.3, 0.1]),
        batch=lambda: Categorical([[0.1, 0.2, 0.7], [0.3, 0.4, 0.3]]),
        inside=[0.0, 1.0, 2.0],
        outside=[-1.0, 0.5, 3.0],
        rule=lambda: oracles.counts(2),
        discrete=True,
        extremes=(lambda: Categorical([1e-12, 0.5, 0.5 - 1e-12]),),
        fit_with=partial(Categorical.fit, n_categories=3),
    ),
    Case(
        one=lambda: Multinomial(4, [0.2, 0.3, 0.5]),
        two=lambda: Multinomial(4, [0.6, 0.3, 0.1]),
        batch=lambda: Multinomial([4, 4], [[0.1, 0.2, 0.7], [0.3, 0.4, 0.3]]),
        inside=[[1.0, 1.0, 2.0], [4.0, 0.0, 0.0], [0.0, 3.0, 1.0]],
        outside=[[1.0, 1.0, 1.0], [-1.0, 2.0, 3.0], [0.5, 1.5, 2.0]],
        rule=lambda: oracles.compositions(4, 3),
        discrete=True,
        peer=lambda: stats.multinomial(4, [0.2, 0.3, 0.5]),
        extremes=(lambda: Multinomial(10**12, [1e-12, 0.5, 0.5 - 1e-12]),),
    ),
    Case(
        one=lambda: StudentT(9.0, 0.5, scale=1.2),
        two=lambda: StudentT(14.0, -0.3, scale=0.8),
        batch=lambda: StudentT([3.0, 5.0, 1e6], [0.0, 1.0, -2.0], scale=[0.5, 2.0, 1.0]),
        inside=[-4.0, -0.5, 0.5, 2.0],
        rule=oracles.real_line,
        peer=lambda: stats.t(9.0, 0.5, 1.2),
    ),
    Case(
        one=lambda: MvStudentT(9.0, [0.5, -0.3], scale=[[1.2, 0.4], [0.4, 0.8]]),
        two=lambda: MvStudentT(14.0, [-0.2, 0.4], scale=[[0.7, -0.2], [-0.2, 1.1]]),
        batch=lambda: MvStudentT(
            [3.0, 1e6], [[0.0, 1.0], [2.0, -1.0]], scale=[[[1.0, 0.2], [0.2, 2.0]], np.eye(2)]
        ),
        inside=[[0.0, 0.0], [0.5, -0.3], [1.7, 0.2], [-6.0, 5.0]],
        rule=lambda: oracles.tensor(oracles.real_line(240), oracles.real_line(240)),
        peer=lambda: stats.multivariate_t([0.5, -0.3], [[1.2, 0.4], [0.4, 0.8]], 9.0),
        rtol=1e-8,
    ),
    Case(
        one=lambda: PointMass(1.5),
        two=lambda: PointMass(-0.5),
        batch=lambda: PointMass([1.5, -0.5, 3.0]),
        inside=[1.5, 1.5],
        outside=[0.0],
        rule=lambda: oracles.listed([1.5, -0.5, 0.0]),
        discrete=True,
        varies=False,
    ),
    Case(
        one=lambda: Wishart(12.0, [[0.12, 0.03], [0.03, 0.1]]),
        two=lambda: Wishart(14.0, [[0.1, -0.02], [-0.02, 0.12]]),
        batch=lambda: Wishart([3.5, 80.0], [[[1.0, 0.2], [0.2, 2.0]], [[0.01, 0.0], [0.0, 0.02]]]),
        inside=[[[1.0, 0.2], [0.2, 1.5]], [[0.5, -0.3], [-0.3, 0.4]], [[3.0, 1.0], [1.0, 2.0]]],
        outside=[[[1.0, 2.0], [2.0, 1.0]], [[1.0, 0.2], [0.3, 1.0]], [[-1.0, 0.0], [0.0, -1.0]]],
        rule=oracles.matrices_2d,
        peer=lambda: stats.wishart(12.0, [[0.12, 0.03], [0.03, 0.1]]),
        extremes=(
            lambda: Wishart(1e12, 1e-12 * np.eye(2)),
            lambda: Wishart(3.0, [[1e-12, 0.0], [0.0, 1e12]]),
        ),
        improper=((-2.0, -np.eye(2)), (1.0, np.eye(2)), (1.0, -np.ones((2, 2)))),
        rtol=1e-6,
    ),
    Case(
        one=lambda: InverseWishart(14.0, [[8.0, 1.0], [1.0, 7.0]]),
        two=lambda: InverseWishart(12.0, [[9.0, -1.0], [-1.0, 10.0]]),
        batch=lambda: InverseWishart(
            [6.5, 80.0], [[[1.0, 0.2], [0.2, 2.0]], [[100.0, 0.0], [0.0, 50.0]]]
        ),
        inside=[[[1.0, 0.2], [0.2, 1.5]], [[0.5, -0.3], [-0.3, 0.4]], [[3.0, 1.0], [1.0, 2.0]]],
        outside=[[[1.0, 2.0], [2.0, 1.0]], [[1.0, 0.2], [0.3, 1.0]], [[-1.0, 0.0], [0.0, -1.0]]],
        rule=oracles.inverse_matrices_2d,
        peer=lambda: stats.invwishart(14.0, [[8.0, 1.0], [1.0, 7.0]]),
        extremes=(
            lambda: InverseWishart(1e12, 1e12 * np.eye(2)),
            lambda: InverseWishart(3.0, [[1e-12, 0.0], [0.0, 1e12]]),
        ),
        improper=((-1.5, -np.eye(2)), (-4.0, np.eye(2))),
        rtol=1e-6,
    ),
    Case(
        one=lambda: NormalGamma(0.5, 1.7, 4.0, 3.0),
        two=lambda: NormalGamma(-0.2, 0.8, 5.5, 4.0),
        batch=lambda: NormalGamma([0.0, 3.0], [0.5, 20.0], [2.5, 50.0], [1.0, 40.0]),
        inside=([0.0, 0.5, 2.0], [0.4, 1.3, 3.0]),
        outside=[(0.0, -1.0)],
        rule=lambda d: oracles.with_mean(
            (tau := oracles.positive_line()), d.location, (d.mean_strength * tau.points) ** -0.5
        ),
        extremes=(lambda: NormalGamma(0.0, 1e12, 1e12, 1e-12),),
        improper=((0.5, -1.0, 0.3, 0.5), (-2.0, -1.0, 0.0, -0.5)),
    ),
    Case(
        one=lambda: NormalInverseGamma(0.5, 1.7, 5.5, 3.0),
        two=lambda: NormalInverseGamma(-0.2, 0.8, 6.5, 4.0),
        batch=lambda: NormalInverseGamma([0.0, 3.0], [0.5, 20.0], [2.5, 50.0], [1.0, 40.0]),
        inside=([0.0, 0.5, 2.0], [0.4, 1.3, 3.0]),
        outside=[(0.0, -1.0), (0.0, 0.0)],
        rule=lambda d: oracles.with_mean(
            (variance := oracles.inverted(oracles.positive_line())),
            d.location,
            (variance.points / d.mean_strength) ** 0.5,
        ),
        extremes=(lambda: NormalInverseGamma(0.0, 1e12, 1e12, 1e-12),),
        improper=((-3.5, -1.0, 0.3, 0.5), (0.0, -1.0, 0.0, -0.5)),
    ),
    Case(
        one=lambda: VectorNormalGamma(
            [0.5, -0.3], mean_precision=[[1.2, 0.4], [0.4, 0.8]], shape=5.5, rate=3.0
        ),
        two=lambda: VectorNormalGamma(
            [-0.2, 0.4], mean_precision=[[0.7, -0.2], [-0.2, 1.1]], shape=6.5, rate=4.0
        ),
        batch=lambda: VectorNormalGamma(
            [[0.0, 1.0], [2.0, -1.0]],
            mean_precision=[[[1.0, 0.2], [0.2, 2.0]], [[5.0, 0.0], [0.0, 9.0]]],
            shape=[2.5, 50.0],
            rate=[1.0, 40.0],
        ),
        inside=([[0.0, 0.0], [0.5, -0.3], [1.0, 2.0]], [0.4, 1.3, 3.0]),
        outside=[([0.0, 0.0], -1.0)],
        rule=lambda d: oracles.with_mean(
            (tau := oracles.positive_line()),
            d.location,
            oracles.inverse_root(d.mean_precision) * tau.points[:, None, None] ** -0.5,
        ),
        improper=((3.5, -1.0, [0.3, 0.0], 0.5 * np.eye(2)), (-2.0, -1.0, [0.0, 0.0], -np.eye(2))),
    ),
    Case(
        one=lambda: VectorNormalInverseGamma(
            [0.5, -0.3], mean_precision=[[1.2, 0.4], [0.4, 0.8]], shape=5.5, scale=3.0
        ),
        two=lambda: VectorNormalInverseGamma(
            [-0.2, 0.4], mean_precision=[[0.7, -0.2], [-0.2, 1.1]], shape=6.5, scale=4.0
        ),
        batch=lambda: VectorNormalInverseGamma(
            [[0.0, 1.0], [2.0, -1.0]],
            mean_precision=[[[1.0, 0.2], [0.2, 2.0]], [[5.0, 0.0], [0.0, 9.0]]],
            shape=[2.5, 50.0],
            scale=[1.0, 40.0],
        ),
        inside=([[0.0, 0.0], [0.5, -0.3], [1.0, 2.0]], [0.4, 1.3, 3.0]),
        outside=[([0.0, 0.0], -1.0), ([0.0, 0.0], 0.0)],
        rule=lambda d: oracles.with_mean(
            (variance := oracles.inverted(oracles.positive_line())),
            d.location,
            oracles.inverse_root(d.mean_precision) * variance.points[:, None, None] ** 0.5,
        ),
        improper=((-3.5, -1.0, [0.3, 0.0], 0.5 * np.eye(2)), (0.0, -1.0, [0.0, 0.0], -np.eye(2))),
    ),
    Case(
        one=lambda: NormalWishart([0.3, -0.2], 1.7, 12.0, [[0.12, 0.03], [0.03, 0.1]]),
        two=lambda: NormalWishart([-0.1, 0.4], 0.8, 14.0, [[0.1, -0.02], [-0.02, 0.12]]),
        batch=lambda: NormalWishart(
            [[0.0, 1.0], [2.0, -1.0]],
            [0.5, 20.0],
            [6.5, 80.0],
            [[[1.0, 0.2], [0.2, 2.0]], [[0.01, 0.0], [0.0, 0.02]]],
        ),
        inside=([[0.0, 0.0], [0.5, -0.3]], [[[1.0, 0.2], [0.2, 1.5]], [[0.5, -0.3], [-0.3, 0.4]]]),
        outside=[([0.0, 0.0], [[1.0, 2.0], [2.0, 1.0]])],
        rule=lambda d: oracles.with_mean(
            (precision := oracles.matrices_2d()),
            d.location,
            oracles.inverse_root(precision.points) * d.mean_strength**-0.5,
        ),
        improper=((0.5, -np.eye(2), [0.3, 0.0], 0.5), (-3.0, -np.eye(2), [0.0, 0.0], -0.5)),
        rtol=1e-6,
    ),
    Case(
        one=lambda: NormalInverseWishart([0.3, -0.2], 1.7, 14.0, [[8.0, 1.0], [1.0, 7.0]]),
        two=lambda: NormalInverseWishart([-0.1, 0.4], 0.8, 12.0, [[9.0, -1.0], [-1.0, 10.0]]),
        batch=lambda: NormalInverseWishart(
            [[0.0, 1.0], [2.0, -1.0]],
            [0.5, 20.0],
            [6.5, 80.0],
            [[[1.0, 0.2], [0.2, 2.0]], [[100.0, 0.0], [0.0, 50.0]]],
        ),
        inside=([[0.0, 0.0], [0.5, -0.3]], [[[1.0, 0.2], [0.2, 1.5]], [[0.5, -0.3], [-0.3, 0.4]]]),
        outside=[([0.0, 0.0], [[1.0, 2.0], [2.0, 1.0]])],
        rule=lambda d: oracles.with_mean(
            (cov := oracles.inverse_matrices_2d()),
            d.location,
            np.linalg.cholesky(cov.points) * d.mean_strength**-0.5,
        ),
        improper=((-3.5, -np.eye(2), [0.3, 0.0], 0.5), (0.5, -np.eye(2), [0.0, 0.0], -0.5)),
        rtol=1e-6,
    ),
    Case(
        one=lambda: Uniform(0.0, 2.5),
        two=lambda: Uniform(-0.5, 3.0),
        batch=lambda: Uniform([0.0, -1.0, -9.0], [3.0, 5.0, 40.0]),
        inside=[0.1, 0.7, 1.9, 2.4],
        outside=[-0.6, 3.2],
        rule=lambda d: oracles.interval(float(d.low), float(d.high)),
        peer=lambda: stats.uniform(0.0, 2.5),
    ),
    Case(
        one=lambda: Laplace(0.7, 1.3),
        two=lambda: Laplace(-0.4, 0.8),
        batch=lambda: Laplace([-1.0, 0.5, 2.0], [0.5, 1.0, 3.0]),
        inside=[-3.0, -0.2, 0.7, 1.1, 4.5],
        rule=lambda: oracles.with_kinks(-0.4, 0.7),
        peer=lambda: stats.laplace(0.7, 1.3),
    ),
    Case(
        one=lambda: Cauchy(0.7, 1.3),
        two=lambda: Cauchy(-0.4, 0.8),
        batch=lambda: Cauchy([-1.0, 0.5, 2.0], [0.5, 1.0, 3.0]),
        inside=[-30.0, -0.2, 0.7, 1.1, 4.5],
        rule=oracles.real_line,
        peer=lambda: stats.cauchy(0.7, 1.3),
    ),
    Case(
        one=lambda: HalfNormal(1.3),
        two=lambda: HalfNormal(0.8),
        batch=lambda: HalfNormal([0.5, 1.0, 3.0]),
        inside=[0.0, 0.2, 1.1, 3.5],
        outside=[-0.1],
        rule=oracles.positive_line,
        peer=lambda: stats.halfnorm(0.0, 1.3),
        extremes=(lambda: HalfNormal(1e12), lambda: HalfNormal(1e-12)),
        improper=((0.0,), (-0.7,)),
    ),
    Case(
        one=lambda: HalfCauchy(1.3),
        two=lambda: HalfCauchy(0.8),
        batch=lambda: HalfCauchy([0.5, 1.0, 3.0]),
        inside=[0.0, 0.2, 1.1, 35.0],
        outside=[-0.1],
        rule=oracles.positive_line,
        peer=lambda: stats.halfcauchy(0.0, 1.3),
    ),
    Case(
        one=lambda: LogNormal(0.3, variance=0.25),
        two=lambda: LogNormal(-0.2, variance=0.16),
        batch=lambda: LogNormal([-1.0, 0.5, 2.0], variance=[0.5, 1.0, 0.1]),
        inside=[0.2, 0.9, 1.4, 6.0],
        outside=[-0.1, 0.0],
        rule=oracles.positive_line,
        peer=lambda: stats.lognorm(0.5, scale=np.exp(0.3)),
        extremes=(
            lambda: LogNormal(30.0, variance=1e-12),
            lambda: LogNormal(-20.0, variance=1e4),
        ),
        improper=((0.3, 0.0), (1.0, -0.5)),
    ),
    Case(
        one=lambda: Pareto(5.5, 1.2),
        two=lambda: Pareto(7.0, 1.2),
        batch=lambda: Pareto([3.5, 1.5, 0.7], [1.2, 1.2, 1.2]),
        inside=[1.21, 1.5, 2.0, 30.0],
        outside=[-1.0, 0.0, 1.19],
        rule=lambda d: oracles.half_line(float(d.minimum)),
        peer=lambda: stats.pareto(5.5, scale=1.2),
        extremes=(lambda: Pareto(1e12, 1.0), lambda: Pareto(1e-12, 1e12)),
        fit_with=partial(Pareto.fit, minimum=1.2),
        begins=1.2,
    ),
    Case(
        one=lambda: VonMises(0.7, 2.3),
        two=lambda: VonMises(-0.4, 1.1),
        batch=lambda: VonMises([-1.0, 0.5, 3.0], [0.2, 1.0, 300.0]),
        inside=[-2.3, -0.2, 0.7, 1.1, 3.1],
        rule=lambda d: oracles.interval(float(d.mean) - np.pi, float(d.mean) + np.pi),
        peer=lambda: stats.vonmises(2.3, 0.7),
        extremes=(lambda: VonMises(0.5, 1e12), lambda: VonMises(-3.0, 1e-12)),
        begins=0.7 - np.pi,
    ),
    Case(
        one=lambda: TruncatedNormal(0.7, 0.0, 3.0, variance=1.69),
        two=lambda: TruncatedNormal(-0.4, 0.0, 3.0, variance=0.64),
        batch=lambda: TruncatedNormal(
            [0.0, 9.0, -9.0], [-1.0, 0.0, -0.5], [4.0, 3.0, 40.0], variance=[1.0, 0.25, 4.0]
        ),
        inside=[0.01, 0.4, 1.5, 2.9],
        outside=[-1.5, 5.0],
        rule=lambda d: oracles.interval(float(d.lower), float(d.upper)),
        peer=lambda: stats.truncnorm(-0.7 / 1.3, 2.3 / 1.3, 0.7, 1.3),
        beside_batch=lambda: TruncatedNormal(0.7, -2.0, 50.0, variance=1.69),
    ),
    Case(
        one=lambda: Geometric(0.3),
        two=lambda: Geometric(0.55),
        batch=lambda: Geometric([0.1, 0.5, 0.9], start=[0, 0, 0]),
        inside=[0.0, 1.0, 3.0, 20.0],
        outside=[-1.0, 0.5],
        rule=lambda: oracles.counts(150),
        discrete=True,
        peer=lambda: stats.geom(0.3, loc=-1),
        extremes=(lambda: Geometric(1e-12), lambda: Geometric(0.5, start=1)),
        improper=((0.0,), (0.4,)),
    ),
    Case(
        one=lambda: NegativeBinomial(2.5, 0.4),
        two=lambda: NegativeBinomial(3.0, mean=2.0),
        batch=lambda: NegativeBinomial([0.5, 4.0, 1e6], mean=[0.5, 4.0, 6.0]),
        inside=[0.0, 1.0, 3.0, 20.0],
        outside=[-1.0, 0.5],
        rule=lambda: oracles.counts(200),
        discrete=True,
        peer=lambda: stats.nbinom(2.5, 0.4),
    ),
    Case(
        one=lambda: BetaBinomial(12, 1.7, 2.6),
        two=lambda: BetaBinomial(12, 4.0, 0.8),
        batch=lambda: BetaBinomial([12, 12, 12], [0.3, 5.0, 2e6], [0.4, 2.0, 1e6]),
        inside=[0.0, 3.0, 7.0, 12.0],
        outside=[-1.0, 0.5, 13.0],
        rule=lambda: oracles.counts(12),
        discrete=True,
        peer=lambda: stats.betabinom(12, 1.7, 2.6),
    ),
    Case(
        one=lambda: DirichletMultinomial(4, [1.2, 0.7, 2.5]),
        two=lambda: DirichletMultinomial(4, [3.0, 4.0, 1.0]),
        batch=lambda: DirichletMultinomial([4, 4], [[0.3, 0.4, 0.3], [2e6, 1e6, 3e6]]),
        inside=[[1.0, 1.0, 2.0], [4.0, 0.0, 0.0], [0.0, 3.0, 1.0]],
        outside=[[1.0, 1.0, 1.0], [-1.0, 2.0, 3.0], [0.5, 1.5, 2.0]],
        rule=lambda: oracles.compositions(4, 3),
        discrete=True,
        peer=lambda: stats.dirichlet_multinomial([1.2, 0.7, 2.5], 4),
    ),
    Case(
        one=lambda: MatrixNormal(
            [[0.5, -0.3], [0.2, 0.1]], [[1.2, 0.4], [0.4, 0.8]], [[0.7, -0.2], [-0.2, 1.1]]
        ),
        two=lambda: MatrixNormal(
            [[0.0, 0.4], [-0.3, 0.2]], [[0.8, 0.1], [0.1, 0.9]], [[1.0, 0.3], [0.3, 0.6]]
        ),
        batch=lambda: MatrixNormal(
            [[[0.0, 1.0], [2.0, 0.5]], [[2.0, -1.0], [0.3, 0.0]]],
            [[[1.0, 0.2], [0.2, 2.0]], np.eye(2)],
            [[[0.5, 0.0], [0.0, 0.5]], [[2.0, -0.7], [-0.7, 1.0]]],
        ),
        inside=[[[0.0, 0.0], [0.0, 0.0]], [[0.5, -0.3], [0.2, 0.1]], [[1.7, 0.2], [-2.0, 1.0]]],
        rule=oracles.matrices_around,
        peer=lambda: stats.matrix_normal(
            [[0.5, -0.3], [0.2, 0.1]], [[1.2, 0.4], [0.4, 0.8]], [[0.7, -0.2], [-0.2, 1.1]]
        ),
    ),
    Case(
        one=lambda: MatrixNormalWishart(
            [[0.5], [-0.3]], [[1.2, 0.4], [0.4, 0.8]], dof=8.0, scale=[[0.5]]
        ),
        two=lambda: MatrixNormalWishart(
            [[-0.2], [0.4]], [[0.7, -0.2], [-0.2, 1.1]], dof=11.0, scale=[[0.3]]
        ),
        batch=lambda: MatrixNormalWishart(
            [[[0.0], [1.0]], [[2.0], [-1.0]]],
            [[[1.0, 0.2], [0.2, 2.0]], [[5.0, 0.0], [0.0, 9.0]]],
            dof=[5.0, 80.0],
            scale=[[[1.0]], [[0.01]]],
        ),
        inside=([[[0.0], [0.0]], [[0.5], [-0.3]], [[1.0], [2.0]]], [[[0.4]], [[1.3]], [[3.0]]]),
        outside=[([[0.0], [0.0]], [[-1.0]])],
        rule=lambda d: oracles.as_columns(
            oracles.with_mean(
                (precision := oracles.positive_line()),
                d.location[:, 0],
                oracles.inverse_root(d.mean_precision) / precision.points[:, None, None] ** 0.5,
            )
        ),
        improper=(
            (0.5, [[-1.0]], [0.3, 0.0], 0.5 * np.eye(2)),
            (-3.0, [[-1.0]], [0.0, 0.0], -np.eye(2)),
        ),
    ),
    Case(
        one=lambda: PolyaGamma(1.7, 0.8),
        two=lambda: PolyaGamma(3.0, -2.0),
        batch=lambda: PolyaGamma([0.6, 1.0, 12.0], [0.0, 3.0, 1.0]),
        inside=[0.03, 0.2, 0.6, 2.0],
        outside=[-0.1, 0.0],
        rule=lambda: oracles.positive_line(300),
    ),
    Case(
        one=lambda: Empirical([[0.5, 1.0], [2.0, -1.0], [3.0, 0.0]], [0.25, 0.25, 0.5]),
        two=lambda: Empirical([[0.5, 1.0], [2.0, -1.0], [3.0, 0.0]], [0.5, 0.25, 0.25]),
        batch=lambda: Empirical(
            [[[0.5, 1.0], [2.0, -1.0]], [[2.0, -1.0], [0.5, 1.0]]],
            [[0.25, 0.75], [0.5, 0.5]],
            event_ndim=1,
        ),
        inside=[[0.5, 1.0], [2.0, -1.0], [0.5, 1.0]],
        outside=[[0.5, 0.0]],
        rule=lambda: oracles.listed([[0.5, 1.0], [2.0, -1.0], [3.0, 0.0]]),
        discrete=True,
    ),
    Case(
        one=lambda: Empirical([2.0, 0.5, 3.0, 2.0], [0.25, 0.25, 0.25, 0.25]),
        two=lambda: Empirical([2.0, 0.5, 3.0], [0.5, 0.375, 0.125]),
        batch=lambda: Empirical([[0.5, 2.0], [2.0, 0.5]], [[0.25, 0.75], [0.5, 0.5]], event_ndim=0),
        inside=[0.5, 2.0, 0.5],
        outside=[-1.0, 1.0, 4.0],
        rule=lambda: oracles.listed([0.5, 2.0, 3.0]),
        discrete=True,
    ),
    Case(
        one=lambda: Mixture(
            [0.25, 0.75],
            MvNormal([[0.5, -0.3], [1.5, 1.0]], cov=[[[1.2, 0.4], [0.4, 0.8]], np.eye(2)]),
        ),
        two=lambda: Mixture(
            [0.5, 0.5],
            MvNormal([[-0.5, 0.3], [0.5, 0.0]], cov=[[[0.7, 0.2], [0.2, 0.8]], np.eye(2)]),
        ),
        batch=lambda: Mixture(
            [[0.25, 0.75], [0.5, 0.5]],
            MvStudentT(
                [[5.0, 9.0], [4.0, 6.0]],
                [[[0.0, 1.0], [2.0, -1.0]], [[0.3, 0.3], [1.0, 1.0]]],
                scale=[[np.eye(2), np.eye(2)], [np.eye(2), 0.5 * np.eye(2)]],
            ),
        ),
        inside=[[0.0, 0.0], [0.5, -0.3], [1.7, 0.2], [-2.0, 2.0]],
        rule=lambda: oracles.plane(200),
        rtol=1e-8,
    ),
    Case(
        one=lambda: Mixture([0.25, 0.75], Normal([-1.0, 1.5], variance=[0.5, 2.0])),
        two=lambda: Mixture([0.5, 0.5], Normal([0.0, 1.0], variance=[1.0, 3.0])),
        batch=lambda: Mixture(
            [[0.25, 0.75], [0.5, 0.5]],
            Normal([[0.0, 2.0], [-1.0, 4.0]], variance=[[1.0, 2.0], [0.5, 3.0]]),
        ),
        inside=[-3.0, -0.2, 0.7, 1.1, 4.5],
        rule=oracles.real_line,
    ),
    Case(
        one=lambda: Transformed(
            MvNormal([0.5, -0.3], cov=[[1.2, 0.4], [0.4, 0.8]]),
            LinearMap([[1.0, 0.5], [-0.5, 0.75]], [0.5, 0.0]),
        ),
        two=lambda: Transformed(
            MvStudentT(14.0, [-0.2, 0.4], scale=[[0.7, -0.2], [-0.2, 1.1]]),
            LinearMap([[1.0, 0.0], [0.5, 1.0]]),
        ),
        batch=lambda: Transformed(
            MvNormal([[0.0, 1.0], [2.0, -1.0]], cov=[np.eye(2), 0.5 * np.eye(2)]),
            LinearMap([[1.0, 0.5], [-0.5, 0.75]]),
        ),
        inside=[[0.0, 0.0], [0.5, -0.3], [1.7, 0.2], [-2.0, 2.0]],
        rule=lambda: oracles.tensor(oracles.real_line(240), oracles.real_line(240)),
        rtol=1e-8,
    ),
    Case(
        one=lambda: Transformed(Normal(0.3, variance=0.4), ExpMap()),
        two=lambda: Transformed(StudentT(9.0, scale=1.0), AbsoluteMap()),
        batch=lambda: Transformed(Normal([0.0, 1.0], variance=[0.25, 0.5]), ExpMap()),
        inside=[0.05, 0.8, 1.9, 7.0],
        outside=[-0.1, -5.0],
        rule=oracles.positive_line,
        peer=lambda: stats.lognorm(np.sqrt(0.4), scale=np.exp(0.3)),
    ),
    Case(
        one=lambda: Numeric([0.0, 1.0, 2.0, 4.0], [0.25, 0.5, 0.25, 0.0], error=0.125),
        two=lambda: Numeric([0.0, 1.0, 2.0, 4.0], [0.25, 0.25, 0.25, 0.25]),
        batch=lambda: Numeric(
            [0.0, 1.0, 2.0, 4.0], [[0.25, 0.25, 0.25, 0.25], [0.25, 0.5, 0.25, 0.0]]
        ),
        inside=[0.25, 0.9, 1.1, 3.5],
        outside=[-0.1, 4.1],
        rule=lambda: oracles.panels([0.0, 1.0, 2.0, 4.0]),
    ),
    Case(
        one=lambda: NumericCounts(0, [0.25, 0.5, 0.125, 0.125], error=0.0625),
        two=lambda: NumericCounts(0, [0.5, 0.25, 0.125, 0.125]),
        batch=lambda: NumericCounts([0, 0], [[0.25, 0.75], [0.5, 0.5]]),
        inside=[0.0, 1.0, 0.0],
        outside=[-1.0, 0.5, 7.0],
        rule=lambda: oracles.counts(3),
        discrete=True,
    ),
)
