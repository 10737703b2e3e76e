"""Small models that need variational inference, with data; sizes of plates differ on purpose."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from posteriori import (
    Bernoulli,
    Beta,
    Binomial,
    Categorical,
    Dirichlet,
    Exponential,
    Gamma,
    InverseGamma,
    InverseWishart,
    MvNormal,
    Normal,
    Poisson,
    Wishart,
)
from posteriori.modeling import Chain, Input, Model, dot, take

__all__ = ["CASES", "NAMES", "Case", "by_name", "solve", "variational"]


class Case(NamedTuple):
    """A model and what is known of it.

    Attributes
    ----------
    name : str
    make : callable
        Returns a new model and its data.
    """

    name: str
    make: Callable[[], tuple[Model, dict[str, Any]]]


CASES: list[Case] = []


def case(make: Callable[[], tuple[Model, dict[str, Any]]]) -> Callable[[], Any]:
    CASES.append(Case(make.__name__, make))
    return make


def by_name(name: str) -> tuple[Model, dict[str, Any]]:
    """Return the model of a name and its data."""
    return next(c for c in CASES if c.name == name).make()


def variational(post: Any) -> Any:
    """Return the one variational result of a posterior."""
    (result,) = [block for block in post._blocks if hasattr(block, "ascent")]
    return result


def solve(name: str, *, sweeps: int = 25) -> Any:
    """Return what a few sweeps find of members with data, made anew: a test may change it."""
    m, data = by_name(name)
    return variational(m.infer(data, callback=lambda i, _: i >= sweeps, restarts=1)).informed


def noise(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape)


def clusters(*shape: int, seed: int = 0) -> np.ndarray:
    """Return rows around −2 and 2, in turn."""
    x = 0.6 * noise(*shape, seed=seed)
    x[::2] += 2.0
    x[1::2] -= 2.0
    return x


# -- one level and hierarchies ---------------------------------------------------------------


@case
def mean_and_precision():
    m = Model()
    m.mu = Normal(1.0, variance=4.0)
    m.tau = Gamma(2.0, rate=1.5)
    m.x = Normal(m.mu, precision=m.tau).iid("n")
    return m, {"x": 3.0 + noise(7)}


@case
def ard_regression():
    m = Model()
    m.X = Input("n")
    m.alpha = Gamma(2.0, rate=1.0).iid(3)
    m.beta = Gamma(2.0, rate=0.5)
    m.w = Normal(0.0, precision=m.alpha)
    m.y = Normal(m.X @ m.w, precision=m.beta)
    x = noise(9, 3, seed=1)
    return m, {"X": x, "y": x @ [1.0, -2.0, 0.0] + 0.5 * noise(9, seed=2)}


@case
def eight_schools():
    m = Model()
    m.mu = Normal(0.0, variance=400.0)
    m.tau = Gamma(2.0, rate=20.0)
    m.theta = Normal(m.mu, precision=m.tau).iid("school")
    m.noise = Input("school")
    m.y = Normal(m.theta, variance=m.noise)
    return m, {
        "noise": np.array([15, 10, 16, 11, 9, 11, 10, 18]) ** 2.0,
        "y": np.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0]),
    }


@case
def ragged_groups():
    m = Model()
    group = np.array([0, 0, 1, 2, 2, 2, 3, 3, 0])
    m.mu = Normal(0.0, variance=4.0)
    m.between = Gamma(2.0, rate=1.0)
    m.within = Gamma(3.0, rate=1.0)
    m.theta = Normal(m.mu, precision=m.between).iid(4)
    m.y = Normal(m.theta[group], precision=m.within)
    return m, {"y": 0.7 * group + noise(9, seed=3)}


@case
def rates_of_rates():
    m = Model()
    m.b = Gamma(2.0, rate=1.0)
    m.rate = Gamma(1.5, rate=m.b).iid("n")
    m.y = Poisson(m.rate).iid(3)
    return m, {"y": np.random.default_rng(4).poisson(3.0, (3, 5)).T.astype(float)}


@case
def unknown_variance():
    m = Model()
    m.mu = Normal(0.0, variance=9.0)
    m.v = InverseGamma(3.0, scale=2.0)
    m.x = Normal(m.mu, variance=m.v).iid("n")
    return m, {"x": 1.0 + noise(6, seed=5)}


@case
def unknown_covariance():
    m = Model()
    m.mu = MvNormal(np.zeros(2), cov=4.0 * np.eye(2))
    m.S = InverseWishart(5.0, scale=2.0 * np.eye(2))
    m.x = MvNormal(m.mu, cov=m.S).iid("n")
    return m, {"x": noise(7, 2, seed=6) @ np.array([[1.0, 0.5], [0.0, 1.0]]) + 1.0}


@case
def parts_of_vectors_missing():
    m = Model()
    m.mu = MvNormal(np.zeros(3), cov=4.0 * np.eye(3))
    m.L = Wishart(5.0, scale=0.3 * np.eye(3))
    m.x = MvNormal(m.mu, precision=m.L).iid("n")
    x = noise(7, 3, seed=7)
    x[1, 0] = x[3, 1:] = x[5] = np.nan
    return m, {"x": x}


# -- mixtures --------------------------------------------------------------------------------


@case
def wishart_mixture():
    m = Model()
    m.pi = Dirichlet(0.7 * np.ones(3))
    m.mu = MvNormal(np.zeros(2), cov=4.0 * np.eye(2)).iid(3)
    m.L = Wishart(4.0, scale=0.5 * np.eye(2)).iid(3)
    m.z = Categorical(m.pi).iid("n")
    m.x = MvNormal(m.mu[m.z], precision=m.L[m.z])
    return m, {"x": clusters(8, 2)}


@case
def shared_precision_mixture():
    m = Model()
    m.pi = Dirichlet(np.ones(2))
    m.mu = MvNormal(np.zeros(3), cov=4.0 * np.eye(3)).iid(2)
    m.L = Wishart(5.0, scale=0.3 * np.eye(3))
    m.z = Categorical(m.pi).iid("n")
    m.x = MvNormal(m.mu[m.z], precision=m.L)
    return m, {"x": clusters(7, 3, seed=8)}


@case
def univariate_mixture():
    m = Model()
    m.pi = Dirichlet([1.0, 2.0])
    m.mu = Normal(0.0, variance=9.0).iid(2)
    m.tau = Gamma(2.0, rate=1.0).iid(2)
    m.z = Categorical(m.pi).iid("n")
    m.x = Normal(m.mu[m.z], precision=m.tau[m.z])
    x = clusters(9, seed=9)
    x[4] = np.nan
    return m, {"x": x}


@case
def bernoulli_mixture():
    m = Model()
    m.pi = Dirichlet(np.ones(2))
    m.p = Beta(1.0, 1.5).iid(4).iid(2)
    m.z = Categorical(m.pi).iid("n")
    m.x = Bernoulli(m.p[m.z])
    x = (clusters(7, 4, seed=10) > 0).astype(float)
    x[2, 1] = np.nan
    return m, {"x": x}


@case
def poisson_mixture():
    m = Model()
    m.pi = Dirichlet(np.ones(3))
    m.rate = Gamma(1.5, rate=0.5).iid(3)
    m.z = Categorical(m.pi).iid("n")
    m.x = Poisson(m.rate[m.z])
    return m, {"x": np.array([0.0, 9.0, 1.0, 12.0, 3.0, 8.0, 0.0])}


@case
def latent_class():
    """Answers to several questions, independent given the class."""
    m = Model()
    m.pi = Dirichlet(np.ones(2))
    m.p = Dirichlet(np.array([0.5, 1.0, 2.0])).iid(4).iid(2)
    m.z = Categorical(m.pi).iid("n")
    m.x = Categorical(m.p[m.z])
    return m, {"x": np.random.default_rng(11).integers(0, 3, (6, 4)).astype(float)}


@case
def binomial_mixture():
    m = Model()
    m.trials = Input("n")
    m.pi = Dirichlet(np.ones(2))
    m.p = Beta(1.0, 1.0).iid(2)
    m.z = Categorical(m.pi).iid("n")
    m.x = Binomial(m.trials, probability=m.p[m.z])
    return m, {"trials": np.array([5.0, 8.0, 6.0, 9.0, 7.0]), "x": [4.0, 1.0, 6.0, 2.0, 6.0]}


@case
def exponential_mixture():
    m = Model()
    m.pi = Dirichlet(np.ones(2))
    m.rate = Gamma(1.5, rate=1.0).iid(2)
    m.z = Categorical(m.pi).iid("n")
    m.x = Exponential(m.rate[m.z])
    return m, {"x": np.array([0.1, 8.0, 0.3, 11.0, 0.2, 6.0])}


@case
def mixture_of_regressions():
    m = Model()
    m.X = Input("n")
    m.pi = Dirichlet(np.ones(2))
    m.w = MvNormal(np.zeros(2), cov=9.0 * np.eye(2)).iid(2)
    m.tau = Gamma(2.0, rate=1.0).iid(2)
    m.z = Categorical(m.pi).iid("n")
    m.y = Normal(dot(m.X, m.w[m.z]), precision=m.tau[m.z])
    x = np.column_stack([np.ones(9), noise(9, seed=12)])
    y = np.where(np.arange(9) % 2, x @ [1.0, 3.0], x @ [-1.0, -3.0])
    return m, {"X": x, "y": y + 0.3 * noise(9, seed=13)}


@case
def two_gates():
    m = Model()
    m.pa = Dirichlet(np.ones(2))
    m.pb = Dirichlet(np.ones(3))
    m.mu = Normal(0.0, variance=9.0).iid(3).iid(2)
    m.tau = Gamma(2.0, rate=1.0)
    m.a = Categorical(m.pa).iid("n")
    m.b = Categorical(m.pb).iid("n")
    m.x = Normal(m.mu[m.a, m.b], precision=m.tau)
    return m, {"x": 3.0 * noise(7, seed=14)}


@case
def known_means_taken():
    """Known means, unknown weights and one unknown precision for each class."""
    m = Model()
    m.pi = Dirichlet(np.ones(3))
    m.tau = Gamma(2.0, rate=1.0).iid(3)
    m.z = Categorical(m.pi).iid("n")
    m.x = Normal(take([-2.0, 0.0, 2.0], m.z), precision=m.tau[m.z])
    return m, {"x": clusters(8, seed=15)}


@case
def topic_model():
    """Words of documents, each with weights of its own."""
    m = Model()
    document = np.array([0, 0, 0, 1, 1, 1, 1, 2, 2])
    m.theta = Dirichlet(np.ones(2)).iid(3)
    m.phi = Dirichlet(0.5 * np.ones(4)).iid(2)
    m.z = Categorical(m.theta[document])
    m.w = Categorical(m.phi[m.z])
    return m, {"w": np.array([0.0, 1.0, 0.0, 2.0, 3.0, 2.0, 1.0, 0.0, 3.0])}


# -- products of unknowns --------------------------------------------------------------------


@case
def principal_components():
    m = Model()
    m.W = MvNormal(np.zeros(2), cov=np.eye(2)).iid(4)
    m.mu = Normal(0.0, variance=4.0).iid(4)
    m.tau = Gamma(2.0, rate=1.0)
    m.z = MvNormal(np.zeros(2), cov=np.eye(2)).iid("n")
    m.x = Normal(m.W @ m.z + m.mu, precision=m.tau)
    return m, {"x": noise(6, 2, seed=16) @ noise(2, 4, seed=17) + 0.3 * noise(6, 4, seed=18)}


@case
def factor_analysis():
    """Columns of W have precisions of their own, as do the rows of the data; entries are missing."""
    m = Model()
    m.alpha = Gamma(2.0, rate=1.0).iid(2)
    m.W = Normal(0.0, precision=m.alpha).iid(4)
    m.tau = Gamma(2.0, rate=1.0).iid(4)
    m.z = MvNormal(np.zeros(2), cov=np.eye(2)).iid("n")
    m.x = Normal(m.W @ m.z, precision=m.tau)
    x = noise(7, 2, seed=19) @ noise(2, 4, seed=20) + 0.3 * noise(7, 4, seed=21)
    x[0, 1] = x[3, 0] = x[5, 3] = np.nan
    return m, {"x": x}


@case
def matrix_factorisation():
    """Crossed plates: a vector for each user and each item."""
    m = Model()
    m.u = MvNormal(np.zeros(2), cov=np.eye(2)).iid("user")
    m.v = MvNormal(np.zeros(2), cov=np.eye(2)).iid("item")
    m.tau = Gamma(2.0, rate=1.0)
    m.r = Normal(dot(m.u, m.v), precision=m.tau)
    r = noise(6, 2, seed=22) @ noise(2, 5, seed=23)
    r[1, 2] = r[4, 0] = np.nan
    return m, {"r": r}


# -- chains ----------------------------------------------------------------------------------


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


NAMES = [c.name for c in CASES]
