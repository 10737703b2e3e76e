"""Chains beside other normal unknowns, each written twice: as a model and as rows of equations."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from posteriori import Chain, Gamma, Input, Model, MvNormal, Normal

__all__ = ["PAIRS", "Pair", "dense_moments", "expected_log_joint"]

SHAPE, RATE = 2.0, 0.5


class Rows(NamedTuple):
    """Equations ``design @ v = target`` with a known precision, or with the unknown one for NaN."""

    design: np.ndarray
    target: np.ndarray
    precision: np.ndarray


class Pair(NamedTuple):
    """A model with one unknown precision ``tau``, its data, and its rows.

    The vector holds the variables ``names`` one after another.
    """

    model: Callable[[], Model]
    data: dict[str, Any]
    names: tuple[str, ...]
    rows: Rows


class Written:
    """Rows that are written one by one."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.found: list[tuple[np.ndarray, float, float]] = []

    def add(self, coefficients: dict[int, float], target: float, precision: float) -> None:
        if np.isnan(target):
            return
        row = np.zeros(self.size)
        for i, c in coefficients.items():
            row[i] += c
        self.found.append((row, target, precision))

    def rows(self) -> Rows:
        design, target, precision = zip(*self.found, strict=True)
        return Rows(np.array(design), np.array(target), np.array(precision))


def dense_moments(rows: Rows, tau: float) -> tuple[np.ndarray, np.ndarray, float]:
    """Return mean, covariance and the log evidence of all rows at a precision."""
    w = np.where(np.isnan(rows.precision), tau, rows.precision)
    precision = (rows.design.T * w) @ rows.design
    h = (rows.design.T * w) @ rows.target
    cov = np.linalg.inv(precision)
    mean = cov @ h
    terms = 0.5 * (np.log(w) - np.log(2 * np.pi)).sum() - 0.5 * (w * rows.target**2).sum()
    free = 0.5 * (len(mean) * np.log(2 * np.pi) - np.linalg.slogdet(precision)[1])
    return mean, cov, float(terms + 0.5 * h @ mean + free)


def expected_log_joint(rows: Rows, mean, cov, tau: float, log_tau: float) -> float:
    """Return the expected log density of all rows."""
    unknown = np.isnan(rows.precision)
    w, log_w = np.where(unknown, tau, rows.precision), np.where(unknown, log_tau, 0.0)
    log_w[~unknown] = np.log(rows.precision[~unknown])
    squares = (rows.target - rows.design @ mean) ** 2
    squares += np.einsum("ri,ij,rj->r", rows.design, cov, rows.design)
    return float(0.5 * (log_w - np.log(2 * np.pi) - w * squares).sum())


def _data(length: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    x = np.linspace(-1.0, 1.0, length)
    walk = np.cumsum(0.3 * rng.standard_normal(length))
    return x, walk + 1.5 * x + 0.5 * rng.standard_normal(length)


def level_and_slope(length: int = 30, seed: int = 3, holes: tuple[int, ...] = ()) -> Pair:
    """A random walk and a slope, the noise unknown."""
    x, y = _data(length, seed)
    y[list(holes)] = np.nan

    def model() -> Model:
        m = Model()
        m.x = Input("t")
        m.tau = Gamma(SHAPE, RATE)
        m.b = Normal(0, variance=4)
        m.s = Chain(Normal(0, variance=1), lambda s: Normal(s, variance=0.09), length="t")
        m.y = Normal(m.s + m.b * m.x, precision=m.tau)
        return m

    w = Written(1 + length)
    w.add({0: 1.0}, 0.0, 1 / 4)
    w.add({1: 1.0}, 0.0, 1.0)
    for t in range(1, length):
        w.add({1 + t: 1.0, t: -1.0}, 0.0, 1 / 0.09)
    for t in range(length):
        w.add({1 + t: 1.0, 0: x[t]}, y[t], np.nan)
    return Pair(model, {"x": x, "y": y}, ("b", "s"), w.rows())


def offset_and_unknown_steps(length: int = 25, seed: int = 4) -> Pair:
    """A stationary chain around an offset, the precision of its steps unknown."""
    _, y = _data(length, seed)
    y = y + 2.0

    def model() -> Model:
        m = Model()
        m.c = Normal(0, variance=9)
        m.tau = Gamma(SHAPE, RATE)
        m.s = Chain(Normal(0, variance=1), lambda s: Normal(0.8 * s, precision=m.tau), length="t")
        m.y = Normal(m.s + m.c, variance=0.3)
        return m

    w = Written(1 + length)
    w.add({0: 1.0}, 0.0, 1 / 9)
    w.add({1: 1.0}, 0.0, 1.0)
    for t in range(1, length):
        w.add({1 + t: 1.0, t: -0.8}, 0.0, np.nan)
    for t in range(length):
        w.add({1 + t: 1.0, 0: 1.0}, y[t], 1 / 0.3)
    return Pair(model, {"y": y}, ("c", "s"), w.rows())


def drift_in_every_step(length: int = 20, seed: int = 5) -> Pair:
    """A random walk with drift."""
    _, y = _data(length, seed)

    def model() -> Model:
        m = Model()
        m.d = Normal(0, variance=1)
        m.tau = Gamma(SHAPE, RATE)
        m.s = Chain(Normal(0, variance=1), lambda s: Normal(s + m.d, variance=0.1), length="t")
        m.y = Normal(m.s, precision=m.tau)
        return m

    w = Written(1 + length)
    w.add({0: 1.0}, 0.0, 1.0)
    w.add({1: 1.0}, 0.0, 1.0)
    for t in range(1, length):
        w.add({1 + t: 1.0, t: -1.0, 0: -1.0}, 0.0, 10.0)
    for t in range(length):
        w.add({1 + t: 1.0}, y[t], np.nan)
    return Pair(model, {"y": y}, ("d", "s"), w.rows())


def two_chains(length: int = 25, seed: int = 6) -> Pair:
    """A level and a fast component that reverts."""
    _, y = _data(length, seed)

    def model() -> Model:
        m = Model()
        m.tau = Gamma(SHAPE, RATE)
        m.s = Chain(Normal(0, variance=4), lambda s: Normal(s, variance=0.05), length="t")
        m.r = Chain(Normal(0, variance=1), lambda r: Normal(-0.5 * r, variance=0.3), length="t")
        m.y = Normal(m.s + m.r, precision=m.tau)
        return m

    w = Written(2 * length)
    w.add({0: 1.0}, 0.0, 1 / 4)
    w.add({length: 1.0}, 0.0, 1.0)
    for t in range(1, length):
        w.add({t: 1.0, t - 1: -1.0}, 0.0, 20.0)
        w.add({length + t: 1.0, length + t - 1: 0.5}, 0.0, 1 / 0.3)
    for t in range(length):
        w.add({t: 1.0, length + t: 1.0}, y[t], np.nan)
    return Pair(model, {"y": y}, ("s", "r"), w.rows())


def group_effects(length: int = 24, seed: int = 7) -> Pair:
    """Effects of four groups beside a chain, members of groups in no order."""
    _, y = _data(length, seed)
    groups = np.random.default_rng(seed).integers(0, 4, length)
    y = y + groups

    def model() -> Model:
        m = Model()
        m.g = Input("t")
        m.tau = Gamma(SHAPE, RATE)
        m.u = Normal(0, variance=2).iid(4)
        m.s = Chain(Normal(0, variance=1), lambda s: Normal(s, variance=0.09), length="t")
        m.y = Normal(m.s + m.u[m.g], precision=m.tau)
        return m

    w = Written(4 + length)
    for k in range(4):
        w.add({k: 1.0}, 0.0, 0.5)
    w.add({4: 1.0}, 0.0, 1.0)
    for t in range(1, length):
        w.add({4 + t: 1.0, 3 + t: -1.0}, 0.0, 1 / 0.09)
    for t in range(length):
        w.add({4 + t: 1.0, groups[t]: 1.0}, y[t], np.nan)
    return Pair(model, {"g": groups, "y": y}, ("u", "s"), w.rows())


def vectors_and_weights(length: int = 12, seed: int = 8) -> Pair:
    """A chain of vectors beside a vector of weights."""
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((length, 3)), np.cumsum(rng.standard_normal(length))
    step, seen = np.array([[1.0, 1.0], [0.0, 0.9]]), np.array([1.0, 0.5])

    def model() -> Model:
        m = Model()
        m.X = Input("t")
        m.tau = Gamma(SHAPE, RATE)
        m.w = MvNormal(np.zeros(3), cov=2.0 * np.eye(3))
        m.s = Chain(
            MvNormal(np.zeros(2), cov=np.eye(2)),
            lambda s: MvNormal(step @ s, cov=0.2 * np.eye(2)),
            length="t",
        )
        m.y = Normal(m.s @ seen + m.X @ m.w, precision=m.tau)
        return m

    w = Written(3 + 2 * length)
    for k in range(3):
        w.add({k: 1.0}, 0.0, 0.5)
    for k in range(2):
        w.add({3 + k: 1.0}, 0.0, 1.0)
    for t in range(1, length):
        now, before = 3 + 2 * t, 1 + 2 * t
        w.add({now: 1.0, before: -1.0, before + 1: -1.0}, 0.0, 5.0)
        w.add({now + 1: 1.0, before + 1: -0.9}, 0.0, 5.0)
    for t in range(length):
        row = {k: X[t, k] for k in range(3)} | {3 + 2 * t: 1.0, 4 + 2 * t: 0.5}
        w.add(row, y[t], np.nan)
    return Pair(model, {"X": X, "y": y}, ("w", "s"), w.rows())


PAIRS: dict[str, Pair] = {
    "slope": level_and_slope(),
    "slope, gaps": level_and_slope(holes=(4, 5, 6, 20)),
    "offset": offset_and_unknown_steps(),
    "drift": drift_in_every_step(),
    "two chains": two_chains(),
    "groups": group_effects(),
    "vectors": vectors_and_weights(),
}
