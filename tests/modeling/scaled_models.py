"""Models in which one unknown precision scales all that is normal."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from posteriori import Gamma, InverseGamma, MvNormal, Normal
from posteriori.modeling import Chain, Input, Model
from posteriori.modeling.binding.binder import bind
from posteriori.modeling.exact.scaled.scaled_factors import find_common_precision

__all__ = [
    "C",
    "CASES",
    "Case",
    "GAPS",
    "GROUP",
    "R",
    "STRENGTH",
    "VECTORS",
    "X",
    "Y",
    "common_precision_of",
    "groups",
    "hierarchy",
    "local_level",
    "local_vectors",
    "mean_and_precision",
    "regression",
]

RNG = np.random.default_rng(23)
X = RNG.normal(size=(7, 2))
Y = RNG.normal(size=7)
GAPS = np.where(np.arange(7) % 3 == 1, np.nan, Y)
GROUP = np.array([0, 1, 1, 2, 0, 2, 1])
STRENGTH = np.array([[2.0, 0.3], [0.3, 1.0]])
C = np.array([[1.0, 0.3], [0.0, 1.0], [2.0, -1.0]])
R = np.array([[0.6, 0.1, 0.0], [0.1, 0.5, 0.2], [0.0, 0.2, 0.9]])
VECTORS = RNG.normal(size=(4, 3))


class Case(NamedTuple):
    build: Callable[[], Model]
    data: dict[str, Any]
    shapes: dict[str, tuple[int, ...]]


def mean_and_precision() -> Model:
    m = Model()
    m.tau = Gamma(2.0, 1.5)
    m.mu = Normal(0.3, precision=0.5 * m.tau)
    m.y = Normal(m.mu, precision=m.tau).iid("n")
    return m


def regression() -> Model:
    m = Model()
    m.X = Input()
    m.tau = Gamma(2.0, 1.5)
    m.w = MvNormal([0.1, -0.2], precision=STRENGTH * m.tau)
    m.y = Normal(m.X @ m.w, precision=m.tau)
    return m


def regression_by_variance() -> Model:
    m = Model()
    m.X = Input()
    m.tau = InverseGamma(2.0, 1.5)
    m.w = MvNormal([0.1, -0.2], cov=STRENGTH * m.tau)
    m.b = Normal(0.0, variance=3.0 * m.tau)
    m.y = Normal(m.X @ m.w + m.b, variance=np.linspace(0.5, 1.5, 7) * m.tau)
    return m


def hierarchy() -> Model:
    m = Model()
    m.g = Input()
    m.tau = Gamma(3.0, 2.0)
    m.mu = Normal(0.0, precision=0.1 * m.tau)
    m.theta = Normal(m.mu, precision=2.0 * m.tau).iid(3)
    m.y = Normal(m.theta[m.g], precision=m.tau)
    return m


def local_level() -> Model:
    m = Model()
    m.tau = Gamma(3.0, 2.0)
    m.s = Chain(
        Normal(0.0, precision=0.2 * m.tau),
        lambda s: Normal(0.9 * s, precision=3.0 * m.tau),
        length="t",
    )
    m.y = Normal(m.s, precision=m.tau)
    return m


def local_vectors() -> Model:
    m = Model()
    m.tau = InverseGamma(3.0, 2.0)
    m.z = MvNormal(np.zeros(2), cov=STRENGTH * m.tau).iid("n")
    m.x = MvNormal(C @ m.z, cov=R * m.tau)
    return m


def with_known_mean() -> Model:
    m = Model()
    m.tau = Gamma(2.0, 1.5)
    m.mu = Normal(0.3, precision=0.5 * m.tau)
    m.y = Normal(m.mu, precision=m.tau).iid("n")
    m.noise = Normal(0.1, precision=4.0 * m.tau).iid(3)
    return m


def drift() -> Model:
    m = Model()
    m.tau = Gamma(3.0, 2.0)
    m.d = Normal(0.1, precision=m.tau)
    m.s = Chain(
        Normal(0.0, precision=0.2 * m.tau),
        lambda s: Normal(s + m.d, precision=3.0 * m.tau),
        length="t",
    )
    m.y = Normal(m.s, precision=m.tau)
    return m


NOISE = np.array([0.2, -0.5, 0.1])
CASES = {
    "mean and precision": Case(mean_and_precision, {"y": Y}, {"mu": ()}),
    "regression": Case(regression, {"X": X, "y": Y}, {"w": (2,)}),
    "by variance": Case(regression_by_variance, {"X": X, "y": Y}, {"w": (2,), "b": ()}),
    "hierarchy": Case(hierarchy, {"g": GROUP, "y": Y}, {"mu": (), "theta": (3,)}),
    "local level": Case(local_level, {"y": Y[:4]}, {"s": (4,)}),
    "drift": Case(drift, {"y": Y[:4]}, {"d": (), "s": (4,)}),
    "local vectors": Case(local_vectors, {"x": VECTORS}, {"z": (4, 2)}),
    "known mean": Case(with_known_mean, {"y": Y, "noise": NOISE}, {"mu": ()}),
}


def groups() -> Model:
    m = Model()
    m.g = Input()
    m.tau = Gamma([2.0, 3.0, 1.0], 1.5)
    m.mu = Normal([0.0, 0.5, 1.0], precision=0.5 * m.tau)
    m.y = Normal(m.mu[m.g], precision=m.tau[m.g])
    return m


def common_precision_of(model: Model, data: dict[str, Any]) -> str | None:
    bound = bind(model._variables, model._inputs, data)
    return find_common_precision(bound, bound.latent, bound.factors)
