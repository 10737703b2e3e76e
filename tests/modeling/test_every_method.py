"""Random small models: the planner learns them all, and no evidence is below the bound."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np
import pytest

from posteriori import (
    Bernoulli,
    Beta,
    Categorical,
    Dirichlet,
    Gamma,
    Model,
    MvNormal,
    Normal,
    Poisson,
    StudentT,
    Wishart,
    dot,
)
from posteriori.distributions import HalfCauchy, HalfNormal
from posteriori.kernels import RBF
from posteriori.modeling import Autoregression, Chain, GaussianProcess, take
from posteriori.modeling.contract.engine import GivesUpError


def random_model(seed: int) -> tuple[Model, np.ndarray]:
    """Return a model in units of its own, and data around the means that it may have."""
    rng = np.random.default_rng(seed)
    kinds = [rows_in_groups, rows_in_groups, walk, mixture, hidden_chain, counts, line]
    kinds += [crossed, factors, change, noises, memory, process]
    return kinds[int(rng.integers(len(kinds)))](rng, float(rng.choice([0.01, 1.0, 300.0])))


def rows_in_groups(rng: np.random.Generator, unit: float) -> tuple[Model, np.ndarray]:
    """Means of groups, or starts and slopes, and normal or heavy noise."""
    groups = int(rng.choice([1, 2, 5]))
    group = np.repeat(np.arange(groups), 3)
    m = Model()
    noise = str(rng.choice(["normal", "student", "heavy"]))
    kinds = ["known", "scale", "precision"] if noise == "normal" else ["known", "scale"]
    spread = _spread(m, unit, str(rng.choice(kinds)))
    mean = _mean(m, unit, groups, group, str(rng.choice(["one", "groups", "levels", "effects"])))
    if noise == "normal":
        m.y = Normal(mean, **spread)
        return m, unit * rng.normal(3.0, 1.0, size=len(group))
    dof: Any = 4.0
    if noise == "heavy":
        m.dof = Gamma(2, 0.1)
        dof = m.dof
    m.y = StudentT(dof, mean, **spread)
    return m, unit * (3.0 + rng.standard_t(4, size=len(group)))


def walk(rng: np.random.Generator, unit: float) -> tuple[Model, np.ndarray]:
    """A level that wanders or goes back, by steps of known or unknown size."""
    m = Model()
    noise = _spread(m, unit, str(rng.choice(["known", "scale", "precision"])))
    step: dict[str, Any] = {"scale": 0.5 * unit}
    if rng.random() < 0.5:
        m.step = Gamma(shape=3, rate=unit**2)
        step = {"precision": m.step}
    slope: Any = float(rng.choice([1.0, 0.8]))
    if rng.random() < 0.3:
        m.slope = Normal(0.7, scale=0.2)
        slope = m.slope
    m.level = Chain(Normal(0, scale=2 * unit), lambda x: Normal(slope * x, **step), length="t")
    m.y = Normal(m.level, **noise)
    y = unit * (np.cumsum(0.5 * rng.normal(size=15)) + rng.normal(size=15))
    if rng.random() < 0.3:
        y[[3, 9]] = np.nan
    return m, y


def mixture(rng: np.random.Generator, unit: float) -> tuple[Model, np.ndarray]:
    """Two or three classes, told apart by their priors or not, with spreads known, common or of their own."""
    count = int(rng.choice([2, 3]))
    m = Model()
    shares: Any = np.full(count, 1 / count)
    if rng.random() < 0.7:
        m.w = Dirichlet(np.full(count, 2.0))
        shares = m.w
    centre = 3.0 * unit * np.arange(count) if rng.random() < 0.5 else np.zeros(count)
    m.mu = Normal(centre, scale=4 * unit)
    m.z = Categorical(shares).iid("n")
    kind = str(rng.choice(["known", "common", "own"]))
    if kind == "known":
        m.y = Normal(take(m.mu, m.z), scale=unit)
    else:
        m.tau = (
            Gamma(3, rate=3 * unit**2)
            if kind == "common"
            else Gamma(3, rate=3 * unit**2).iid(count)
        )
        m.y = Normal(take(m.mu, m.z), precision=m.tau if kind == "common" else take(m.tau, m.z))
    return m, unit * (3.0 * rng.integers(0, count, 20) + rng.normal(size=20))


def hidden_chain(rng: np.random.Generator, unit: float) -> tuple[Model, np.ndarray]:
    """Two states that last, with known or unknown moves and means."""
    m = Model()
    moves: Any = np.array([[0.9, 0.1], [0.2, 0.8]])
    if rng.random() < 0.5:
        m.A = Dirichlet(np.array([[4.0, 1.0], [1.0, 4.0]]))
        moves = m.A
    m.mu = Normal([0.0, 3.0 * unit], scale=unit)
    spread = _spread(m, unit, str(rng.choice(["known", "precision"])))
    m.z = Chain(Categorical([0.5, 0.5]), lambda z: Categorical(take(moves, z)), length="t")
    m.y = Normal(take(m.mu, m.z), **spread)
    states = np.repeat([0, 1, 0], [6, 5, 4])
    return m, unit * (3.0 * states + rng.normal(size=15))


def counts(rng: np.random.Generator, unit: float) -> tuple[Model, np.ndarray]:
    """Rates or shares of groups, alike by a prior that is known or learned."""
    m = Model()
    group = np.repeat(np.arange(4), 3)
    learned = rng.random() < 0.5
    a: Any = 2.0
    b: Any = 2.0
    if learned:
        m.a, m.b = Gamma(2, rate=0.5), Gamma(2, rate=0.5)
        a, b = m.a, m.b
    if rng.random() < 0.5:
        m.rate = Gamma(2.0, rate=b).iid(4)
        m.y = Poisson(unit * m.rate[group])
        return m, rng.poisson(unit * rng.gamma(2.0, 0.5, 4)[group]).astype(float)
    m.p = Beta(a, b).iid(4)
    m.y = Bernoulli(m.p[group])
    return m, rng.integers(0, 2, len(group)).astype(float)


def line(rng: np.random.Generator, unit: float) -> tuple[Model, np.ndarray]:
    """Weights of columns, with a known or unknown spread, of all or of each."""
    X = rng.normal(size=(12, 3)) * rng.choice([0.1, 1.0, 20.0], 3)
    m = Model()
    noise = _spread(m, unit, str(rng.choice(["known", "scale", "precision"])))
    kind = str(rng.choice(["known", "common", "own"]))
    if kind == "known":
        m.w = MvNormal(np.zeros(3), cov=unit**2 * np.eye(3))
    else:
        m.alpha = (
            Gamma(2, rate=2 * unit**2) if kind == "common" else Gamma(2, rate=2 * unit**2).iid(3)
        )
        m.w = (
            Normal(0, precision=m.alpha).iid(3)
            if kind == "common"
            else Normal(0, precision=m.alpha)
        )
    mean = X @ m.w
    if rng.random() < 0.3:
        m.y = StudentT(4, mean, scale=unit)
    else:
        m.y = Normal(mean, **noise)
    return m, unit * (X @ rng.normal(size=3) + rng.normal(size=12))


def crossed(rng: np.random.Generator, unit: float) -> tuple[Model, np.ndarray]:
    """Effects of two groupings, whose spreads are learned, and gaps in the data."""
    first, second = np.repeat(np.arange(3), 4), np.tile(np.arange(4), 3)
    m = Model()
    noise = _spread(m, unit, str(rng.choice(["known", "scale", "precision"])))
    m.between = HalfNormal(scale=2 * unit) if rng.random() < 0.5 else HalfCauchy(2 * unit)
    m.a = Normal(0, scale=m.between).iid(3)
    m.alike = Gamma(2, rate=2 * unit**2)
    m.b = Normal(0, precision=m.alike).iid(4)
    m.y = Normal(m.a[first] + m.b[second], **noise)
    y = unit * (rng.normal(size=3)[first] + rng.normal(size=4)[second] + rng.normal(size=12))
    if rng.random() < 0.3:
        y[[2, 7]] = np.nan
    return m, y


def factors(rng: np.random.Generator, unit: float) -> tuple[Model, np.ndarray]:
    """Columns that follow one hidden number of each row."""
    m = Model()
    m.w = Normal(unit, scale=unit).iid(3)
    m.tau = Gamma(2, rate=2 * unit**2) if rng.random() < 0.5 else Gamma(2, rate=2 * unit**2).iid(3)
    m.x = Normal(0, variance=1).iid("n")
    m.y = Normal(m.w * m.x, precision=m.tau)
    return m, unit * (rng.normal(size=(10, 1)) + 0.5 * rng.normal(size=(10, 3)))


def change(rng: np.random.Generator, unit: float) -> tuple[Model, np.ndarray]:
    """A rate or a mean that changes once."""
    m = Model()
    step = np.array([[0.9, 0.1], [0.0, 1.0]])
    m.z = Chain(Categorical([1.0, 0.0]), lambda z: Categorical(take(step, z)), length="t")
    states = np.repeat([0, 1], [7, 6])
    if rng.random() < 0.5:
        m.rate = Gamma(2, rate=1 / (1 + unit)).iid(2)
        m.y = Poisson(take(m.rate, m.z))
        return m, rng.poisson((1 + unit) * (1 + 2 * states)).astype(float)
    m.mu = Normal(0, scale=5 * unit).iid(2)
    m.tau = Gamma(2, rate=2 * unit**2)
    m.y = Normal(take(m.mu, m.z), precision=m.tau)
    return m, unit * (3 * states + rng.normal(size=13))


def noises(rng: np.random.Generator, unit: float) -> tuple[Model, np.ndarray]:
    """Vectors with an unknown covariance, or groups of rows with spreads of their own."""
    m = Model()
    if rng.random() < 0.5:
        m.P = Wishart(4, np.eye(2) / (4 * unit**2))
        m.mu = MvNormal(np.zeros(2), cov=25 * unit**2 * np.eye(2))
        m.y = MvNormal(m.mu, precision=m.P).iid("n")
        return m, unit * rng.normal(1.0, 1.0, size=(8, 2))
    group = np.repeat(np.arange(3), 5)
    m.tau = Gamma(3, rate=3 * unit**2).iid(3)
    m.mu = Normal(0, scale=10 * unit)
    m.y = Normal(m.mu, precision=m.tau[group])
    return m, unit * (2 + np.array([0.5, 1.0, 2.0])[group] * rng.normal(size=15))


def memory(rng: np.random.Generator, unit: float) -> tuple[Model, np.ndarray]:
    """A series that remembers one or two steps, by coefficients that are learned."""
    order = int(rng.choice([1, 2]))
    m = Model()
    noise = _spread(m, unit, str(rng.choice(["known", "precision"])))
    m.a = MvNormal(np.zeros(order), cov=0.25 * np.eye(order))
    seen = rng.random() < 0.5
    series = Autoregression(Normal(0, scale=3 * unit), m.a, order=order, length="t", **noise)
    if seen:
        m.y = series
    else:
        m.x = series
        m.y = Normal(m.x, scale=0.5 * unit)
    y = np.zeros(20)
    for t in range(1, 20):
        y[t] = 0.6 * y[t - 1] + rng.normal()
    return m, unit * y


def process(rng: np.random.Generator, unit: float) -> tuple[Model, np.ndarray]:
    """A smooth function under known or unknown noise."""
    m = Model()
    noise = _spread(m, unit, str(rng.choice(["known", "scale", "precision"])))
    x = np.linspace(0, 4, 12)
    m.f = GaussianProcess(unit**2 * RBF(1.0), at=x[:, None])
    m.y = Normal(m.f, **noise)
    return m, unit * (np.sin(x) + 0.5 * rng.normal(size=12))


def _spread(m: Model, unit: float, kind: str) -> dict[str, Any]:
    if kind == "precision":
        m.tau = Gamma(shape=2, rate=2 * unit**2)
        return {"precision": m.tau}
    if kind == "scale":
        m.s = HalfNormal(scale=2 * unit)
        return {"scale": m.s}
    return {"scale": unit}


def _mean(m: Model, unit: float, groups: int, group: np.ndarray, kind: str) -> Any:
    """Return the mean of each row: one for all, one for each group, or starts and slopes."""
    if kind == "effects":
        m.P = Wishart(4, np.eye(2) / (4 * unit**2))
        m.a = MvNormal([2 * unit, 0.0], precision=m.P).iid(groups)
        return dot(np.stack([np.ones(len(group)), np.tile([-1.0, 0, 1], groups)], 1), m.a[group])
    if kind == "one":
        m.a = Normal(0, scale=5 * unit)
        return m.a * np.ones(len(group))
    if kind == "levels":
        m.between = Gamma(shape=2, rate=2 * unit**2)
        m.a = Normal(0, precision=m.between).iid(groups)
    else:
        m.a = Normal(0, scale=5 * unit).iid(groups)
    return m.a[group]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(200))
def test_the_planner_learns_what_can_be_learned(seed: int) -> None:
    """What a method applies to it learns; the planner learns it all, and no evidence is below the bound."""
    m, y = random_model(seed)
    found = m.infer(y=y)
    assert repr(found)
    bound = float(m.infer(y=y, method="vmp").log_evidence) if _applies(m, y, "vmp") else -np.inf
    assert float(found.log_evidence) >= bound - 2e-3
    if _applies(m, y, "quadrature"):
        with suppress(GivesUpError):  # who asks for an integral is told that it does not end
            integral = m.infer(y=y, method="quadrature")
            assert repr(integral)
            assert float(integral.log_evidence) >= bound - 2e-3


def _applies(m: Model, y: np.ndarray, method: str) -> bool:
    """Tell whether a method has a plan; that it has none, it says in words."""
    try:
        return bool(m.plan(y=y, method=method).blocks)
    except TypeError as error:
        if not str(error).startswith(("no method for", "method=")):
            raise
        return False


def test_all_kinds_of_models_are_drawn() -> None:
    models = [random_model(seed)[0] for seed in range(200)]
    variables = [variable for m in models for variable in m._variables.values()]
    families = {variable.family for variable in variables}
    assert {Bernoulli, Poisson, StudentT, Wishart, Dirichlet, HalfCauchy, HalfNormal} <= families
    stepped = {variable.family for variable in variables if variable.step is not None}
    assert {Normal, Categorical} <= stepped
    assert sum(Categorical in {v.family for v in m._variables.values()} for m in models) > 20
