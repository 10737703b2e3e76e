"""Threads that share the rows of a table change no answer beyond rounding."""

import numpy as np
import pytest

from posteriori.decomposition.spectra import block_moments, table_origin
from posteriori.inference.components.source_densities import TailDensities, source_moments


@pytest.fixture
def two_threads(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "2")


@pytest.mark.parametrize("offset", [0.0, 1e8])
def test_moments_of_a_long_table(offset, two_threads):
    z = np.round(np.random.default_rng(0).normal(size=(45_001, 50)) * 2.0**20) / 2.0**20
    x = z + offset
    origin = table_origin(x)
    found = block_moments(x, origin)
    mean = (z - (origin - offset)).mean(axis=0)
    centred = z - z.mean(axis=0)
    assert found.count == len(x)
    np.testing.assert_allclose(found.mean, mean, atol=1e-7)
    np.testing.assert_allclose(found.scatter, centred.T @ centred, atol=1e-3)


def test_moments_of_many_sources(two_threads):
    z = np.random.default_rng(0).laplace(size=(4, 70_001))
    heavy, turn = np.array([True, False, True, False]), np.eye(4) + 0.1
    found = source_moments(turn, z, TailDensities(heavy))
    y = turn @ z
    scores = np.where(heavy[:, None], np.tanh(y), y - np.tanh(y))
    slopes = np.where(heavy[:, None], 1.0 / np.cosh(y) ** 2, np.tanh(y) ** 2)
    light = np.log(np.exp(-0.5 * (y - 1) ** 2) + np.exp(-0.5 * (y + 1) ** 2))
    light -= np.log(2.0) + 0.5 * np.log(2.0 * np.pi)
    logs = np.where(heavy[:, None], -np.log(np.pi * np.cosh(y)), light)
    n = z.shape[1]
    np.testing.assert_allclose(found.value, -logs.sum() / n, rtol=1e-10)
    np.testing.assert_allclose(found.cross, scores @ y.T / n, atol=1e-10)
    np.testing.assert_allclose(found.slope, slopes.mean(axis=1), rtol=1e-10)
    np.testing.assert_allclose(found.own, (slopes * y * y).mean(axis=1), rtol=1e-10)
