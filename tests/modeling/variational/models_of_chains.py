"""Models in time, with data."""

import numpy as np

from posteriori import (
    Categorical,
    Dirichlet,
    Gamma,
    Input,
    MvNormal,
    Normal,
    Poisson,
    Wishart,
)
from posteriori.modeling import Chain, Model, take
from tests.modeling.variational.cases import Case, clusters, listed, noise

__all__ = ["CASES"]

CASES: list[Case] = []
case = listed(CASES)


def _hidden_states(m: Model, k: int) -> None:
    m.start = Dirichlet(np.ones(k))
    m.A = Dirichlet(np.ones(k)).iid(k)
    m.z = Chain(Categorical(m.start), lambda z: Categorical(m.A[z]), length="t")


@case
def normal_hmm():
    m = Model()
    _hidden_states(m, 2)
    m.mu = MvNormal(np.zeros(2), cov=9.0 * np.eye(2)).iid(2)
    m.L = Wishart(4.0, scale=0.5 * np.eye(2)).iid(2)
    m.x = MvNormal(m.mu[m.z], precision=m.L[m.z])
    return m, {"x": clusters(7, 2, seed=24)[[0, 2, 4, 1, 3, 5, 6]]}


@case
def categorical_hmm():
    m = Model()
    _hidden_states(m, 3)
    m.B = Dirichlet(np.ones(4)).iid(3)
    m.x = Categorical(m.B[m.z])
    return m, {"x": np.array([0.0, 0.0, 1.0, 3.0, 3.0, 2.0, 0.0, 1.0])}


@case
def poisson_hmm():
    m = Model()
    _hidden_states(m, 2)
    m.rate = Gamma(1.5, rate=0.3).iid(2)
    m.x = Poisson(m.rate[m.z])
    return m, {"x": np.array([1.0, 0.0, 2.0, 11.0, 9.0, np.nan, 14.0, 0.0])}


@case
def panel_hmm():
    """Several series with common parameters."""
    m = Model()
    m.A = Dirichlet(np.array([2.0, 1.0])).iid(2)
    m.z = Chain(Categorical([0.7, 0.3]).iid("series"), lambda z: Categorical(m.A[z]), length="t")
    m.mu = Normal(0.0, variance=9.0).iid(2)
    m.tau = Gamma(2.0, rate=1.0)
    m.x = Normal(m.mu[m.z], precision=m.tau)
    x = clusters(5, 3, seed=30)
    x[:, 1] *= -1.0
    return m, {"x": x}


@case
def change_point():
    """A state that is never left once it is entered."""
    m = Model()
    m.mu = Normal(0.0, variance=9.0).iid(2)
    m.tau = Gamma(2.0, rate=1.0)
    table = np.array([[0.9, 0.1], [0.0, 1.0]])
    m.z = Chain(Categorical([1.0, 0.0]), lambda z: Categorical(take(table, z)), length="t")
    m.x = Normal(m.mu[m.z], precision=m.tau)
    return m, {"x": np.array([0.1, -0.3, 0.2, 0.0, 3.1, 2.8, 3.3])}


@case
def linear_system():
    m = Model()
    m.A = Normal(0.0, variance=1.0).iid(2).iid(2)
    m.C = Normal(0.0, variance=1.0).iid(2).iid(3)
    m.tau = Gamma(2.0, rate=1.0)
    m.s = Chain(
        MvNormal(np.zeros(2), cov=np.eye(2)),
        lambda s: MvNormal(m.A @ s, cov=0.5 * np.eye(2)),
        length="t",
    )
    m.y = Normal(m.C @ m.s, precision=m.tau)
    return m, {"y": np.cumsum(noise(8, 3, seed=25), axis=0)}


@case
def noisy_autoregression():
    """A series with unknown coefficients, seen with noise and gaps."""
    m = Model()
    m.a = Normal(0.0, variance=1.0).iid(2)
    m.q = Gamma(3.0, rate=1.0)
    m.r = Gamma(3.0, rate=0.5)
    m.x0 = Normal(0.0, variance=1.0)
    m.x = Chain(
        Normal(m.x0, variance=1.0), lambda x: Normal(m.a[0] * x + m.a[1], precision=m.q), length="t"
    )
    m.y = Normal(m.x, precision=m.r)
    y = np.cumsum(noise(8, seed=26))
    y[3] = y[6] = np.nan
    return m, {"y": y}


@case
def series_with_gaps():
    """A series seen without noise: its gaps are unknown numbers."""
    m = Model()
    m.a = Normal(0.5, variance=1.0)
    m.q = Gamma(3.0, rate=1.0)
    m.y = Chain(Normal(0.0, variance=1.0), lambda y: Normal(m.a * y, precision=m.q), length="t")
    y = np.cumsum(noise(9, seed=29))
    y[2] = y[5] = y[6] = np.nan
    return m, {"y": y}


@case
def second_order_autoregression():
    """Each member of a series depends on the two before it, observed with gaps."""
    m = Model()
    m.a = Normal(0.0, variance=1.0).iid(2)
    m.q = Gamma(3.0, rate=1.0)
    y = np.cumsum(noise(8, seed=27))
    y[4] = np.nan
    for t in range(8):
        mean = 0.0
        for lag in (1, 2):
            if t >= lag:
                mean = mean + m.a[lag - 1] * m[f"y{t - lag}"]
        m[f"y{t}"] = Normal(mean, precision=m.q)
    return m, {f"y{t}": float(v) for t, v in enumerate(y) if not np.isnan(v)}


@case
def chain_with_offset():
    m = Model()
    m.c = Normal(0.0, variance=4.0)
    m.q = Gamma(3.0, rate=1.0)
    m.s = Chain(Normal(0.0, variance=1.0), lambda s: Normal(0.9 * s, precision=m.q), length="t")
    m.y = Normal(m.s + m.c, variance=0.3)
    return m, {"y": 2.0 + np.cumsum(noise(6, seed=28))}


@case
def level_with_slope():
    """A random walk with gaps beside a slope, both precisions unknown."""
    m = Model()
    m.x = Input("t")
    m.b = Normal(0.0, variance=4.0)
    m.q = Gamma(3.0, rate=1.0)
    m.r = Gamma(3.0, rate=0.5)
    m.s = Chain(Normal(0.0, variance=1.0), lambda s: Normal(s, precision=m.q), length="t")
    m.y = Normal(m.s + m.b * m.x, precision=m.r)
    y = np.cumsum(noise(7, seed=41))
    y[2] = y[5] = np.nan
    return m, {"x": np.linspace(-1.0, 1.0, 7), "y": y}


@case
def two_chains_and_groups():
    """A level and a cycle of vectors, beside effects of groups."""
    m = Model()
    m.g = Input("t")
    m.u = Normal(0.0, variance=2.0).iid(3)
    m.r = Gamma(3.0, rate=0.5)
    turn = 0.9 * np.array([[0.6, 0.8], [-0.8, 0.6]])
    m.s = Chain(Normal(0.0, variance=1.0), lambda s: Normal(s, variance=0.2), length="t")
    m.c = Chain(
        MvNormal(np.zeros(2), cov=np.eye(2)),
        lambda c: MvNormal(turn @ c, cov=0.1 * np.eye(2)),
        length="t",
    )
    m.y = Normal(m.s + m.c @ np.array([1.0, 0.0]) + m.u[m.g], precision=m.r)
    return m, {"g": np.array([0, 2, 1, 1, 0]), "y": np.cumsum(noise(5, seed=42))}


@case
def panel_with_offsets():
    """Several series with an offset each and a common slope."""
    m = Model()
    m.x = Input("t", "series")
    m.b = Normal(0.0, variance=4.0)
    m.u = Normal(0.0, variance=2.0).iid("series")
    m.r = Gamma(3.0, rate=1.0)
    m.s = Chain(
        Normal(0.0, variance=0.1).iid("series"), lambda s: Normal(s, variance=0.2), length="t"
    )
    m.y = Normal(m.s + m.u + m.b * m.x, precision=m.r)
    y = np.cumsum(noise(4, 3, seed=43), axis=0)
    y[2, 1] = np.nan
    return m, {"x": noise(4, 3, seed=44), "y": y}


@case
def panel_of_chains():
    """Several series with an unknown coefficient and noise."""
    m = Model()
    m.a = Normal(0.5, variance=1.0)
    m.q = Gamma(3.0, rate=1.0)
    m.r = Gamma(3.0, rate=1.0)
    m.s = Chain(
        Normal(0.0, variance=1.0).iid("series"),
        lambda s: Normal(m.a * s, precision=m.q),
        length="t",
    )
    m.y = Normal(m.s, precision=m.r)
    y = np.cumsum(noise(5, 3, seed=31), axis=0)
    y[2, 1] = np.nan
    return m, {"y": y}


@case
def switching_system():
    m = Model()
    m.P = Dirichlet(np.ones(2)).iid(2)
    m.z = Chain(Categorical([0.5, 0.5]), lambda z: Categorical(m.P[z]), length="t")
    m.d = Normal(0.0, variance=4.0).iid(2)
    m.q = Gamma(3.0, rate=1.0).iid(2)
    m.s = Chain(
        Normal(0.0, variance=1.0),
        lambda s: Normal(0.9 * s + m.d[m.z], precision=m.q[m.z]),
        length="t",
    )
    m.y = Normal(m.s, variance=0.3)
    return m, {"y": np.array([0.0, 1.0, 2.2, 3.1, 2.0, 1.1, -0.2])}


@case
def factorial_hmm():
    m = Model()
    m.mu = Normal(0.0, variance=9.0).iid(2)
    m.nu = Normal(0.0, variance=9.0).iid(2)
    m.tau = Gamma(2.0, rate=1.0)
    slow, fast = np.array([[0.9, 0.1], [0.2, 0.8]]), np.array([[0.4, 0.6], [0.7, 0.3]])
    m.a = Chain(Categorical([0.6, 0.4]), lambda a: Categorical(take(slow, a)), length="t")
    m.b = Chain(Categorical([0.5, 0.5]), lambda b: Categorical(take(fast, b)), length="t")
    m.x = Normal(m.mu[m.a] + m.nu[m.b], precision=m.tau)
    return m, {"x": np.array([0.2, 3.0, 4.9, 2.1])}
