"""Other origins and other units: the same beliefs, and a bound that moves by the Jacobian alone."""

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.testing import assert_allclose

from posteriori import (
    Categorical,
    Dirichlet,
    Gamma,
    InverseGamma,
    MvNormal,
    Normal,
    Wishart,
)
from posteriori.modeling import Chain, Input, Model, dot
from posteriori.modeling.posterior.posterior import Posterior
from tests.modeling.variational.cases import clusters, noise

X = clusters(8)
HALVES = np.array([0, 0, 0, 0, 1, 1, 1, 1])


class Setting(NamedTuple):
    """A model with data at a place and of a size; ``names`` are locations, ``start`` their start."""

    model: Model
    data: dict[str, Any]
    names: tuple[str, ...]
    start: dict[str, Any] = {}


def mean_and_precision(c: float, s: float) -> Setting:
    m = Model()
    m.mu = Normal(c, variance=4.0 * s**2)
    m.tau = Gamma(2.0, rate=1.5 * s**2)
    m.x = Normal(m.mu, precision=m.tau).iid("n")
    return Setting(m, {"x": X * s + c}, ("mu",))


def mean_and_variance(c: float, s: float) -> Setting:
    m = Model()
    m.mu = Normal(c, variance=4.0 * s**2)
    m.v = InverseGamma(3.0, scale=2.0 * s**2)
    m.x = Normal(m.mu, variance=m.v).iid("n")
    return Setting(m, {"x": X * s + c}, ("mu",))


def vectors(c: float, s: float) -> Setting:
    """Some entries are missing."""
    m = Model()
    m.mu = MvNormal(c * np.ones(3), cov=4.0 * s**2 * np.eye(3))
    m.L = Wishart(5.0, scale=0.3 / s**2 * np.eye(3))
    m.x = MvNormal(m.mu, precision=m.L).iid("n")
    x = noise(7, 3) * s + c
    x[1, 0] = x[3, 1:] = x[5] = np.nan
    return Setting(m, {"x": x}, ("mu",))


def mixture(c: float, s: float) -> Setting:
    m = Model()
    m.pi = Dirichlet(np.ones(2))
    m.mu = MvNormal(c * np.ones(2), cov=4.0 * s**2 * np.eye(2)).iid(2)
    m.L = Wishart(4.0, scale=0.5 / s**2 * np.eye(2)).iid(2)
    m.z = Categorical(m.pi).iid("n")
    m.x = MvNormal(m.mu[m.z], precision=m.L[m.z])
    return Setting(m, {"x": clusters(8, 2) * s + c}, ("mu",), {"z": HALVES})


def hidden_states(c: float, s: float) -> Setting:
    m = Model()
    m.A = Dirichlet(np.ones(2)).iid(2)
    m.z = Chain(Categorical([0.5, 0.5]), lambda z: Categorical(m.A[z]), length="t")
    m.mu = Normal(c, variance=9.0 * s**2).iid(2)
    m.tau = Gamma(2.0, rate=s**2).iid(2)
    m.x = Normal(m.mu[m.z], precision=m.tau[m.z])
    return Setting(m, {"x": X * s + c}, ("mu",), {"z": HALVES})


def groups(c: float, s: float) -> Setting:
    m = Model()
    m.mu = Normal(c, variance=4.0 * s**2)
    m.between = Gamma(2.0, rate=s**2)
    m.within = Gamma(3.0, rate=s**2)
    m.theta = Normal(m.mu, precision=m.between).iid(4)
    m.y = Normal(m.theta[np.array([0, 0, 1, 2, 2, 2, 3, 3])], precision=m.within)
    return Setting(m, {"y": X * s + c}, ("mu", "theta"))


def effects(c: float, s: float) -> Setting:
    m = Model()
    m.mu = Normal(c, variance=4.0 * s**2)
    m.ta, m.te = Gamma(2.0, rate=s**2), Gamma(2.0, rate=s**2)
    m.a = Normal(0.0, precision=m.ta).iid("r")
    m.y = Normal(m.mu + m.a, precision=m.te).iid("k")
    return Setting(m, {"y": noise(3, 4) * s + c}, ("mu", "a"))


def regression(c: float, s: float) -> Setting:
    m = Model()
    m.X = Input("n")
    m.level = Normal(c, variance=4.0 * s**2)
    m.w = MvNormal(np.zeros(2), cov=s**2 * np.eye(2))
    m.tau = Gamma(2.0, rate=s**2)
    m.y = Normal(m.X @ m.w + m.level, precision=m.tau)
    return Setting(m, {"X": noise(8, 2), "y": X * s + c}, ("level", "w"))


def classes_of_regressions(c: float, s: float) -> Setting:
    m = Model()
    m.X = Input("n")
    m.pi = Dirichlet(np.ones(2))
    m.w = MvNormal(np.array([c, 0.0]), cov=9.0 * s**2 * np.eye(2)).iid(2)
    m.tau = Gamma(2.0, rate=s**2).iid(2)
    m.z = Categorical(m.pi).iid("n")
    m.y = Normal(dot(m.X, m.w[m.z]), precision=m.tau[m.z])
    x = np.column_stack([np.ones(8), noise(8)])
    return Setting(m, {"X": x, "y": X * s + c}, ("w",), {"z": HALVES})


def weights_of_columns(c: float, s: float) -> Setting:
    """One of the columns is a level."""
    m = Model()
    m.X = Input("n")
    m.w = Normal(np.array([c, 0.0, 0.0]), variance=9.0 * s**2)
    m.tau = Gamma(2.0, rate=s**2)
    m.y = Normal(m.X @ m.w, precision=m.tau)
    x = np.column_stack([np.ones(8), noise(8, 2)])
    return Setting(m, {"X": x, "y": X * s + c}, ("w",))


def several_outputs(c: float, s: float) -> Setting:
    """Each has weights of its own and its own gaps."""
    m = Model()
    m.X = Input("n")
    m.W = MvNormal(np.array([c, 0.0]), cov=9.0 * s**2 * np.eye(2)).iid(3)
    m.tau = Gamma(2.0, rate=s**2).iid(3)
    m.y = Normal(m.W @ m.X, precision=m.tau)
    y = noise(8, 3) * s + c
    y[2, 0] = y[4:6, 2] = np.nan
    return Setting(m, {"X": np.column_stack([np.ones(8), noise(8)]), "y": y}, ("W",))


def level_and_slope(c: float, s: float) -> Setting:
    """A series seen through one of its two columns."""
    m = Model()
    m.r = Gamma(3.0, rate=s**2)
    m.s = Chain(
        MvNormal(np.array([c, 0.0]), cov=s**2 * np.eye(2)),
        lambda v: MvNormal(np.array([[1.0, 1.0], [0.0, 1.0]]) @ v, cov=0.1 * s**2 * np.eye(2)),
        length="t",
    )
    m.y = Normal(m.s @ np.array([1.0, 0.0]), precision=m.r)
    return Setting(m, {"y": X * s + c}, ("s",))


def components(c: float, s: float) -> Setting:
    """A column without data has its level from the prior."""
    m = Model()
    m.W = MvNormal(np.zeros(1), cov=s**2 * np.eye(1)).iid(3)
    m.mu = Normal(c, variance=4.0 * s**2).iid(3)
    m.tau = Gamma(2.0, rate=s**2)
    m.z = MvNormal(np.zeros(1), cov=np.eye(1)).iid("n")
    m.x = Normal(m.W @ m.z + m.mu, precision=m.tau)
    x = clusters(8, 3) * s + c
    x[:, 1] = np.nan
    return Setting(m, {"x": x}, ("W", "mu"), {"z": noise(8, 1)})


def random_walk(c: float, s: float) -> Setting:
    m = Model()
    m.q = Gamma(3.0, rate=s**2)
    m.s = Chain(Normal(c, variance=s**2), lambda v: Normal(v, precision=m.q), length="t")
    m.y = Normal(m.s, variance=0.5 * s**2)
    return Setting(m, {"y": X * s + c}, ("s",))


def walk_beside_a_level(c: float, s: float) -> Setting:
    m = Model()
    m.level = Normal(c, variance=4.0 * s**2)
    m.q = Gamma(3.0, rate=s**2)
    m.s = Chain(Normal(0.0, variance=s**2), lambda v: Normal(0.9 * v, precision=m.q), length="t")
    m.y = Normal(m.s + m.level, variance=0.3 * s**2)
    return Setting(m, {"y": X * s + c}, ("level", "s"))


def drift_with_gaps(c: float, s: float) -> Setting:
    m = Model()
    m.drift = Normal(0.0, variance=s**2)
    m.q = Gamma(3.0, rate=s**2)
    m.y = Chain(Normal(c, variance=s**2), lambda v: Normal(v + m.drift, precision=m.q), length="t")
    y = np.cumsum(X) * s + c
    y[3] = np.nan
    return Setting(m, {"y": y}, ("drift",))


def switching_walk(c: float, s: float) -> Setting:
    m = Model()
    m.P = Dirichlet(np.ones(2)).iid(2)
    m.z = Chain(Categorical([0.5, 0.5]), lambda z: Categorical(m.P[z]), length="t")
    m.d = Normal(0.0, variance=4.0 * s**2).iid(2)
    m.q = Gamma(3.0, rate=s**2).iid(2)
    m.s = Chain(
        Normal(c, variance=s**2), lambda v: Normal(v + m.d[m.z], precision=m.q[m.z]), length="t"
    )
    m.y = Normal(m.s, variance=0.3 * s**2)
    return Setting(m, {"y": np.cumsum(X) * s + c}, ("s", "d"), {"z": HALVES})


SETTINGS = [
    mean_and_precision,
    mean_and_variance,
    vectors,
    mixture,
    hidden_states,
    groups,
    effects,
    regression,
    classes_of_regressions,
    weights_of_columns,
    several_outputs,
    level_and_slope,
    components,
    random_walk,
    walk_beside_a_level,
    drift_with_gaps,
    switching_walk,
]


def learned(setting: Setting) -> Posterior:
    return setting.model.infer(setting.data, init=setting.start, tol=1e-10, max_iter=5000)


@cache
def at_home(make: Callable[[float, float], Setting]) -> Posterior:
    """Return what is learned about 0 in units of 1, with which all else is compared."""
    return learned(make(0.0, 1.0))


def check(make: Callable[[float, float], Setting], c: float, s: float) -> None:
    near, far = make(0.0, 1.0), make(c, s)
    a, b = at_home(make), learned(far)
    (y,) = (v for k, v in near.data.items() if k not in near.model._inputs)
    jacobian = np.isfinite(y).sum() * np.log(s)
    assert_allclose(float(b.log_evidence) + jacobian, float(a.log_evidence), rtol=1e-8)
    for name in near.names:
        assert_allclose(b[name].variance / s**2, a[name].variance, rtol=1e-4)


@pytest.mark.parametrize("s", [1e-6, 1e6])
@pytest.mark.parametrize("make", SETTINGS, ids=lambda f: f.__name__)
def test_units_do_not_matter(make: Callable[[float, float], Setting], s: float) -> None:
    check(make, 0.0, s)


@pytest.mark.parametrize("c", [1e3, 1e8])
@pytest.mark.parametrize("make", SETTINGS, ids=lambda f: f.__name__)
def test_a_shift_changes_nothing(make: Callable[[float, float], Setting], c: float) -> None:
    """float64 keeps 8 digits of data near 10⁸."""
    check(make, c, 1.0)
