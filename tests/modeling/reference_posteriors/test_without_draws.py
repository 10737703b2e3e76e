"""Models of posteriordb without reference draws or data here, on data that were simulated from them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import pytest

from posteriori import (
    Categorical,
    Chain,
    Dirichlet,
    Exponential,
    Input,
    Model,
    MvNormal,
    Normal,
    take,
)
from posteriori.distributions import HalfNormal, HalfStudentT, TruncatedNormal, Uniform
from tests.modeling.reference_posteriors.test_reference_posteriors import POSTERIORS

Generator = np.random.Generator


class Written(NamedTuple):
    """A model, data simulated with known values of its unknowns, and how they are asked for."""

    model: Model
    data: Mapping[str, Any]
    truth: Mapping[str, Any]
    options: Mapping[str, Any] = {}


def path(moves: np.ndarray, length: int, rng: Generator) -> np.ndarray:
    states = [0]
    while len(states) < length:
        states.append(rng.choice(len(moves), p=moves[states[-1]]))
    return np.array(states)


# -- hidden Markov models ------------------------------------------------------------------------

MOVES = np.array([[0.95, 0.05], [0.1, 0.9]])


def drive(rng: Generator) -> tuple[Model, np.ndarray]:
    m = Model()
    m.theta = Dirichlet(np.array([[4.0, 1.0], [1.0, 4.0]]))
    m.z = Chain(Categorical([0.5, 0.5]), lambda z: Categorical(take(m.theta, z)), length="t")
    return m, path(MOVES, 400, rng)


def hmm_drive_0(rng: Generator) -> Written:
    m, z = drive(rng)
    for name in ("phi", "lambda_"):
        m[f"{name}1"] = HalfNormal(scale=1)
        m[f"{name}2"] = TruncatedNormal(3, 0.0, np.inf, scale=1)
    m.u = Exponential(rate=take([m.phi1, m.phi2], m.z))
    m.v = Exponential(rate=take([m.lambda_1, m.lambda_2], m.z))
    truth = {"phi1": 0.5, "phi2": 4.0, "lambda_1": 0.3, "lambda_2": 3.0, "theta": MOVES}
    data = {
        "u": rng.exponential(1 / np.array([0.5, 4.0])[z]),
        "v": rng.exponential(1 / np.array([0.3, 3.0])[z]),
    }
    return Written(m, data, truth, {"method": "quadrature"})


def hmm_drive_1(rng: Generator) -> Written:
    m, z = drive(rng)
    m.phi = Normal([0.0, 3.0], scale=1)
    m.lambda_ = Normal([0.0, 3.0], scale=1)
    m.u = Normal(take(m.phi, m.z), scale=0.5)
    m.v = Normal(take(m.lambda_, m.z), scale=0.8)
    truth = {"phi": np.array([0.5, 2.0]), "lambda_": np.array([0.3, 3.0]), "theta": MOVES}
    data = {
        "u": truth["phi"][z] + 0.5 * rng.normal(size=len(z)),
        "v": truth["lambda_"][z] + 0.8 * rng.normal(size=len(z)),
    }
    return Written(m, data, truth)


def hmm_gaussian(rng: Generator) -> Written:
    m = Model()
    m.pi1 = Dirichlet(np.ones(3))
    m.A = Dirichlet(np.ones((3, 3)))
    m.mu = Normal(0, scale=1e3).iid(3)
    m.sigma = Uniform(0, 1e3).iid(3)
    m.z = Chain(Categorical(m.pi1), lambda z: Categorical(take(m.A, z)), length="t")
    m.y = Normal(take(m.mu, m.z), scale=take(m.sigma, m.z))
    moves = np.array([[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.2, 0.2, 0.6]])
    z = path(moves, 500, rng)
    truth = {"mu": np.array([-4.0, 0.0, 6.0]), "sigma": np.array([1.0, 0.5, 1.5])}
    return Written(m, {"y": truth["mu"][z] + truth["sigma"][z] * rng.normal(size=500)}, truth)


# -- mixtures ------------------------------------------------------------------------------------


def normal_mixture(theta, mu, sigma, truth, count: int, rng: Generator, **options) -> Written:
    m = Model()
    m.theta, m.mu, m.sigma = theta, mu, sigma
    m.z = Categorical(m.theta).iid("n")
    m.y = Normal(take(m.mu, m.z), scale=take(m.sigma, m.z))
    z = rng.integers(0, len(truth["mu"]), count)
    y = truth["mu"][z] + truth["sigma"][z] * rng.normal(size=count)
    return Written(m, {"y": y}, truth, options)


def low_dim_gauss_mix_collapse(rng: Generator) -> Written:
    """The two means lie so near that a chain of draws goes from one order to the other."""
    truth = {"mu": np.array([-1.5, 1.5]), "sigma": np.array([0.8, 1.0])}
    half = HalfNormal(scale=2).iid(2)
    mu = Normal(0, scale=2).iid(2)
    asked = {"method": "quadrature"}
    return normal_mixture(Dirichlet([5.0, 5.0]), mu, half, truth, 400, rng, **asked)


def normal_mixture_k(rng: Generator) -> Written:
    truth = {
        "mu": np.array([-12.0, -5.0, 0.0, 6.0, 12.0]),
        "sigma": np.array([1, 1.5, 1, 0.8, 1.2]),
    }
    mu, sigma = Normal(0, scale=10).iid(5), Uniform(0, 10).iid(5)
    return normal_mixture(Dirichlet(np.ones(5)), mu, sigma, truth, 1000, rng)


# -- series ----------------------------------------------------------------------------------------


def uk_drivers(rng: Generator) -> Written:
    """A level and a season of twelve months, of which eleven are kept, the newest first."""
    n = 120
    moves = np.zeros((12, 12))
    moves[0, 0], moves[1, 1:] = 1.0, -1.0
    moves[range(2, 12), range(1, 11)] = 1.0
    on_level, on_season = (np.diag(np.eye(12)[k]) for k in (0, 1))
    seen = np.eye(12)[0] + np.eye(12)[1]
    m = Model()
    m.x, m.w = Input("t"), Input("t")
    m.beta = Normal(0, scale=1e3)
    m.lambda_ = Normal(0, scale=1e3)
    for name in ("season", "level", "irregular"):
        m[name] = HalfStudentT(4, scale=1)
    m.s = Chain(
        MvNormal(np.zeros(12), cov=1e4 * np.eye(12)),
        lambda s: MvNormal(
            moves @ s, cov=m.level * m.level * on_level + m.season * m.season * on_season
        ),
        length="t",
    )
    m.y = Normal(seen @ m.s + m.beta * m.x + m.lambda_ * m.w, scale=m.irregular)
    x, w = 0.2 * rng.normal(size=n), (np.arange(n) >= 90).astype(float)
    level = 7.0 + np.cumsum(0.03 * rng.normal(size=n))
    season = 0.2 * np.sin(2 * np.pi * np.arange(n) / 12)
    y = level + season - 0.3 * x - 0.25 * w + 0.06 * rng.normal(size=n)
    truth = {"beta": -0.3, "lambda_": -0.25, "level": 0.03, "irregular": 0.06}
    return Written(m, {"x": x, "w": w, "y": y}, truth, {"method": "quadrature"})


WRITTEN: dict[str, Callable[[Generator], Written]] = {
    "bball_drive_event_0-hmm_drive_0": hmm_drive_0,
    "bball_drive_event_1-hmm_drive_1": hmm_drive_1,
    "hmm_gaussian_simulated-hmm_gaussian": hmm_gaussian,
    "normal_5-normal_mixture_k": normal_mixture_k,
    "low_dim_gauss_mix_collapse-low_dim_gauss_mix_collapse": low_dim_gauss_mix_collapse,
    "uk_drivers-state_space_stochastic_level_stochastic_seasonal": uk_drivers,
}
LONG = [name for name in WRITTEN if POSTERIORS[name]["solved_by"] == "quadrature"]


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.slow if n in LONG else ()) for n in WRITTEN]
)
def test_what_data_were_simulated_with_is_found(name):
    """Within four standard deviations, of classes up to their names."""
    model, data, truth, options = WRITTEN[name](np.random.default_rng(0))
    post = model.infer(dict(data), **options)
    kinds = {"quadrature": "quadrature", "bound": "variational"}
    assert kinds[post.log_evidence.kind] == POSTERIORS[name]["solved_by"]
    order = np.argsort(post.mu.mean) if "mu" in truth else slice(None)
    for unknown, value in truth.items():
        mean, std = post[unknown].mean, post[unknown].std
        if np.ndim(value) == 1:
            mean, std = mean[order], std[order]
        assert np.all(np.abs(mean - value) < 4 * std), unknown


def test_intervals_that_are_too_narrow_are_named():
    model, data, _, _ = hmm_drive_0(np.random.default_rng(0))
    assert model.infer(dict(data)).cautions == [
        "intervals of theta, phi1, phi2, lambda_1, lambda_2 are too narrow"
    ]
