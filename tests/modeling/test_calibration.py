"""Calibration by simulation: the truth is a draw of the posterior that its own data lead to.

Parameters and data are drawn from the model, and the posterior's distribution function is taken at
the parameters. Over many repetitions these values are uniform, for each number of the model.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy import stats

from posteriori import (
    Bernoulli,
    Beta,
    Categorical,
    Dirichlet,
    Gamma,
    MvNormal,
    Normal,
    Poisson,
)
from posteriori.distributions import MvStudentT
from posteriori.modeling import Chain, Input, Model, take

pytestmark = pytest.mark.slow

REPETITIONS = 600
X = np.column_stack([np.ones(6), np.linspace(-1.0, 2.0, 6)])
JUDGE = np.array([0, 0, 0, 1, 1, 1, 2, 2, 2])
WINE = np.array([0, 1, 2, 1, 2, 3, 0, 2, 3])
SITE = np.array([0, 0, 0, 1, 1, 2])
DAYS = np.array([10.0, 20.0, 15.0, 5.0, 7.0, 2.0])
MOVE = np.array([[0.8, 0.15, 0.05], [0.2, 0.6, 0.2], [0.1, 0.2, 0.7]])


class Case(NamedTuple):
    build: Callable[[], Model]
    observed: tuple[str, ...]
    inputs: dict[str, Any]
    plates: dict[str, int]
    missing: float = 0.0


def coin() -> Model:
    m = Model()
    m.p = Beta(2.0, 3.0)
    m.y = Bernoulli(m.p).iid("n")
    return m


def die() -> Model:
    m = Model()
    m.p = Dirichlet(2.0 * np.ones(4))
    m.y = Categorical(m.p).iid("n")
    return m


def mean_and_precision() -> Model:
    m = Model()
    m.tau = Gamma(shape=2.0, rate=0.5)
    m.mu = Normal(10.0, precision=0.1 * m.tau)
    m.y = Normal(m.mu, precision=m.tau).iid("n")
    return m


def regression() -> Model:
    m = Model()
    m.X = Input()
    m.w = MvNormal(np.zeros(2), cov=[[4.0, 1.0], [1.0, 2.0]])
    m.y = Normal(m.X @ m.w, variance=0.25)
    return m


def regression_with_precision() -> Model:
    m = Model()
    m.X = Input()
    m.tau = Gamma(shape=3.0, rate=1.0)
    m.w = MvNormal(np.zeros(2), precision=0.5 * np.eye(2) * m.tau)
    m.y = Normal(m.X @ m.w, precision=m.tau)
    return m


def hierarchical() -> Model:
    m = Model()
    m.g = Input("n")
    m.mu = Normal(50.0, variance=100.0)
    m.theta = Normal(m.mu, variance=25.0).iid(3)
    m.y = Normal(m.theta[m.g], variance=36.0)
    return m


def crossed_effects() -> Model:
    m = Model()
    m.judge, m.wine = Input(), Input()
    m.level = Normal(5.0, variance=25.0)
    m.severity = Normal(0.0, variance=1.0).iid(3)
    m.quality = Normal(0.0, variance=4.0).iid(4)
    m.y = Normal(m.level + m.severity[m.judge] + m.quality[m.wine], variance=0.25)
    return m


def local_trend() -> Model:
    m = Model()
    step, noise = np.array([[1.0, 1.0], [0.0, 1.0]]), np.diag([0.5, 0.1])
    m.s = Chain(
        MvNormal(np.zeros(2), cov=np.eye(2)), lambda s: MvNormal(step @ s, cov=noise), length="t"
    )
    m.y = Normal(m.s[0], variance=1.0)
    return m


def local_level() -> Model:
    m = Model()
    m.s = Chain(Normal(0.0, variance=4.0), lambda s: Normal(s, variance=0.5), length="t")
    m.y = Normal(m.s, variance=1.0)
    return m


def hidden_markov() -> Model:
    m = Model()
    m.z = Chain(Categorical([0.5, 0.3, 0.2]), lambda z: Categorical(take(MOVE, z)), length="t")
    m.y = Normal(take([-1.0, 0.5, 2.0], m.z), variance=1.0)
    return m


def explaining_away() -> Model:
    m = Model()
    m.rain = Bernoulli(0.2)
    m.sprinkler = Bernoulli(0.3)
    m.y = Bernoulli(take(take([[0.05, 0.9], [0.8, 0.95]], m.rain), m.sprinkler)).iid("n")
    return m


def poisson_counts() -> Model:
    m = Model()
    m.site, m.days = Input("n"), Input("n")
    m.rate = Gamma(shape=2.0, rate=2.0).iid(3)
    m.y = Poisson(m.days * m.rate[m.site])
    return m


WINES = {"judge": JUDGE, "wine": WINE}
CASES = {
    "coin": Case(coin, ("y",), {}, {"n": 7}),
    "die": Case(die, ("y",), {}, {"n": 9}),
    "mean and precision": Case(mean_and_precision, ("y",), {}, {"n": 4}),
    "regression": Case(regression, ("y",), {"X": X}, {}),
    "regression with precision": Case(regression_with_precision, ("y",), {"X": X}, {}),
    "hierarchical normal": Case(hierarchical, ("y",), {"g": [0, 0, 1, 1, 1, 2]}, {}),
    "crossed effects": Case(crossed_effects, ("y",), WINES, {}),
    "crossed effects with gaps": Case(crossed_effects, ("y",), WINES, {}, missing=0.3),
    "local level": Case(local_level, ("y",), {}, {"t": 6}),
    "local trend with gaps": Case(local_trend, ("y",), {}, {"t": 6}, missing=0.3),
    "hidden Markov model": Case(hidden_markov, ("y",), {}, {"t": 5}),
    "hidden Markov model with gaps": Case(hidden_markov, ("y",), {}, {"t": 5}, missing=0.4),
    "explaining away": Case(explaining_away, ("y",), {}, {"n": 2}),
    "Poisson counts": Case(poisson_counts, ("y",), {"site": SITE, "days": DAYS}, {}),
}


def place_of(truth: Any, belief: Any, rng: np.random.Generator) -> np.ndarray:
    """Return the distribution function of each number at its true value, uniform if calibrated.

    At a value of probability p > 0 the function jumps: a uniform draw picks the place in the jump.
    """
    if isinstance(belief, MvNormal):
        return stats.norm.cdf(truth, belief.mean, np.sqrt(belief.variance))
    if isinstance(belief, MvStudentT):
        scale = np.sqrt(np.diagonal(belief.scale, axis1=-2, axis2=-1))
        return stats.t.cdf((truth - belief.mean) / scale, belief.dof)
    if isinstance(belief, Dirichlet):
        a = belief.concentration
        return stats.beta.cdf(truth, a, a.sum(axis=-1, keepdims=True) - a)
    if isinstance(belief, Bernoulli):
        p = np.stack([1.0 - belief.probability, belief.probability], axis=-1)
    elif isinstance(belief, Categorical):
        p = belief.probabilities
    else:
        return np.asarray(belief.cdf(truth))
    at = np.asarray(truth, dtype=int)[..., None]
    own = np.take_along_axis(p, at, axis=-1)[..., 0]
    below = np.take_along_axis(np.cumsum(p, axis=-1), at, axis=-1)[..., 0] - own
    return below + own * rng.random(np.shape(truth))


@pytest.mark.parametrize("name", CASES)
def test_the_truth_is_a_draw_of_the_posterior(name: str) -> None:
    case = CASES[name]
    model = case.build()
    rng = np.random.default_rng(1234)
    places: dict[str, list[np.ndarray]] = {}
    for _ in range(REPETITIONS):
        drawn = model.simulate(plates=case.plates, rng=rng, **case.inputs)
        data = {}
        for variable in case.observed:
            gone = rng.random(drawn[variable].shape) < case.missing
            data[variable] = np.where(gone, np.nan, drawn[variable])
        post = model.infer({**case.inputs, **data})
        for variable, truth in drawn.items():
            if variable not in data:
                place = place_of(truth, post[variable], rng)
                places.setdefault(variable, []).append(np.ravel(place))
    for variable, found in places.items():
        for i, values in enumerate(np.array(found).T):
            assert stats.kstest(values, "uniform").pvalue > 1e-4, f"{variable} at {i}"


@pytest.mark.parametrize("name", ["hierarchical normal", "crossed effects", "local level"])
def test_the_truth_has_the_distance_of_a_draw(name: str) -> None:
    """(x − m)ᵀ C⁻¹ (x − m) of all unknowns together is chi-square."""
    case = CASES[name]
    model = case.build()
    rng = np.random.default_rng(77)
    unknown = [n for n in model._variables if n not in case.observed]
    values = []
    for _ in range(REPETITIONS):
        drawn = model.simulate(plates=case.plates, rng=rng, **case.inputs)
        post = model.infer({**case.inputs, **{n: drawn[n] for n in case.observed}})
        joint = post.joint(*unknown)
        away = np.concatenate([np.ravel(drawn[n]) for n in unknown]) - joint.mean
        values.append(stats.chi2.cdf(away @ np.linalg.solve(joint.cov, away), len(away)))
    assert stats.kstest(values, "uniform").pvalue > 1e-4


def test_a_wrong_posterior_is_seen() -> None:
    """With twice the noise variance in place of the true one, the places are not uniform."""
    rng = np.random.default_rng(5)
    wrong = Model()
    wrong.X = Input()
    wrong.w = MvNormal(np.zeros(2), cov=[[4.0, 1.0], [1.0, 2.0]])
    wrong.y = Normal(wrong.X @ wrong.w, variance=0.5)
    places = []
    for _ in range(REPETITIONS):
        drawn = regression().simulate(rng=rng, X=X)
        places.append(place_of(drawn["w"], wrong.infer(X=X, y=drawn["y"]).w, rng)[0])
    assert stats.kstest(places, "uniform").pvalue < 1e-4
