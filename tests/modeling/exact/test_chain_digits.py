"""Chains written in the language against 80 digits, where textbook forms lose most of theirs."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

from posteriori import MvNormal, Normal
from posteriori.inference import LinearGaussianChain
from posteriori.modeling import Chain, Model
from tests.inference.oracles import exact_posterior

pytestmark = pytest.mark.blas

#: Variances of steps and observations.
RATIOS = [(1e-12, 1.0), (1.0, 1e-12), (1e-6, 1e6), (1e6, 1e-6), (1e-12, 1e-12), (1e12, 1.0)]
STEP = np.array([[1.0, 0.1], [0.0, 1.0]])


class Twin(NamedTuple):
    """A model, the same chain as matrices, and the numbers of its state that each name has."""

    model: Model
    chain: LinearGaussianChain
    places: dict[str, slice]


def level(q: float, r: float, p0: float, start: float) -> Twin:
    m = Model()
    m.s = Chain(Normal(start, variance=p0), lambda s: Normal(s, variance=q), length="t")
    m.y = Normal(m.s, variance=r)
    return Twin(m, LinearGaussianChain(start, p0, 1.0, 0.0, q, 1.0, 0.0, r), {"s": slice(0, 1)})


def position_and_velocity(q: float, r: float, p0: float, start: float) -> Twin:
    """Noise on the velocity alone: the covariance of a step is singular."""
    noise, prior, mean = np.diag([0.0, q]), p0 * np.eye(2), np.array([start, 0.0])
    m = Model()
    m.s = Chain(MvNormal(mean, cov=prior), lambda s: MvNormal(STEP @ s, cov=noise), length="t")
    m.y = Normal(m.s[0], variance=r)
    chain = LinearGaussianChain(mean, prior, STEP, 0.0, noise, [[1.0, 0.0]], 0.0, r)
    return Twin(m, chain, {"s": slice(0, 2)})


def summed_velocities(q: float, r: float, p0: float, start: float) -> Twin:
    """Two chains, of which one reads the other at the time of arrival."""
    m = Model()
    m.v = Chain(Normal(0.0, variance=p0), lambda v: Normal(v, variance=q), length="t")
    m.x = Chain(Normal(start, variance=p0), lambda x: Normal(x + m.v, variance=q), length="t")
    m.y = Normal(m.x, variance=r)
    prior, mean = p0 * np.eye(2), np.array([0.0, start])
    noise = q * np.array([[1.0, 1.0], [1.0, 2.0]])
    step = [[1.0, 0.0], [1.0, 1.0]]
    chain = LinearGaussianChain(mean, prior, step, 0.0, noise, [[0.0, 1.0]], 0.0, r)
    return Twin(m, chain, {"v": slice(0, 1), "x": slice(1, 2)})


def sensor_offset(q: float, r: float, p0: float, start: float) -> Twin:
    """A constant beside the chain."""
    m = Model()
    m.c = Normal(0.0, variance=4.0)
    m.s = Chain(Normal(start, variance=p0), lambda s: Normal(0.5 * s, variance=q), length="t")
    m.y = Normal(m.s + m.c, variance=r)
    chain = LinearGaussianChain(
        [start, 0.0],
        np.diag([p0, 4.0]),
        np.diag([0.5, 1.0]),
        0.0,
        np.diag([q, 0.0]),
        [[1.0, 1.0]],
        0.0,
        r,
    )
    return Twin(m, chain, {"s": slice(0, 1), "c": slice(1, 2)})


BUILDERS = [level, position_and_velocity, summed_velocities, sensor_offset]


def assert_digits(twin: Twin, y: np.ndarray, digits: float) -> None:
    post = twin.model.infer(y=y)
    exact = exact_posterior(twin.chain, y[:, None])
    mean = exact.mean.astype(float)
    variance = np.array([np.diag(c) for c in exact.cov]).astype(float)
    for name, place in twin.places.items():
        d, steps = post[name], slice(None) if np.ndim(post[name].mean) else -1
        shape = np.shape(d.mean)
        np.testing.assert_allclose(d.mean, mean[steps, place].reshape(shape), rtol=digits)
        np.testing.assert_allclose(d.variance, variance[steps, place].reshape(shape), rtol=digits)
    assert float(post.log_evidence) == pytest.approx(float(exact.log_evidence), rel=digits)


def series(q: float, r: float) -> np.ndarray:
    rng = np.random.default_rng(3)
    walk = np.cumsum(np.sqrt(q) * rng.normal(size=6))
    return np.asarray(walk + np.sqrt(r) * rng.normal(size=6))


@pytest.mark.parametrize("p0", [1.0, 1e8])
@pytest.mark.parametrize(("q", "r"), RATIOS)
@pytest.mark.parametrize("build", BUILDERS)
def test_ten_digits(build: Callable[..., Twin], q: float, r: float, p0: float) -> None:
    assert_digits(build(q, r, p0, 0.0), series(q, r), 1e-10)


@pytest.mark.parametrize("p0", [1.0, 1e8])
@pytest.mark.parametrize("build", BUILDERS[:3])
def test_data_near_1e8(build: Callable[..., Twin], p0: float) -> None:
    assert_digits(build(0.1, 1.0, p0, 1e8), 1e8 + series(0.1, 1.0), 1e-11)


def test_data_near_1e8_from_a_start_at_zero() -> None:
    assert_digits(level(0.1, 1.0, 1e16, 0.0), 1e8 + series(0.1, 1.0), 1e-9)


def test_gaps() -> None:
    y: Any = series(1e-6, 1e6)
    y[2] = y[5] = np.nan
    for build in BUILDERS:
        assert_digits(build(1e-6, 1e6, 1e8, 0.0), y, 1e-10)
