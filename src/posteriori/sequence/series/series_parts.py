r"""Parts of a structural series, each a small chain: trends, seasons, cycles, autoregressions, inputs.

A part has states, entries of its transition and of the covariances of its noise (variance 1), and what
is believed of its states at the first step, in units of the series. Over irregular steps Δ variances
are multiplied by Δ; the smooth trend is Wiener's process integrated,

.. math:: \mathrm{Cov} = \begin{pmatrix} Δ^3/3 & Δ^2/2 \\ Δ^2/2 & Δ \end{pmatrix}.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from posteriori.inference.series.matern_chain import matern_chain
from posteriori.numerics.types import Array

__all__ = [
    "SeriesPart",
    "autoregressive_part",
    "cycle_part",
    "dummy_season_part",
    "harmonic_season_part",
    "input_part",
    "matern_part",
    "repeated_season_part",
    "trend_part",
    "walking_weights",
]


class SeriesPart(NamedTuple):
    """A part of a series.

    Attributes
    ----------
    name : str
        Of the component that it adds to the series.
    emission : (D,) or (T, D)
    transition : (..., 1 or T, D, D)
        Axes in front are those of what is unknown of the part.
    noises : dict
        From names of scales to the covariances of their noise, (..., 1 or T, D, D).
    initial_cov : (..., D, D)
    proper : bool
        Whether the start is that of an equilibrium, which needs no prior.
    """

    name: str
    emission: Array
    transition: Array
    noises: dict[str, Array]
    initial_cov: Array
    proper: bool = False


def trend_part(
    kind: str, steps: Array | None, level: float, slope: float, damping: Array | float
) -> SeriesPart:
    """Return a trend.

    Parameters
    ----------
    kind : str
        As of ``StructuralSeries``.
    steps : (T,) or None
        Times to the next value; None is 1.
    level, slope : float
        Standard deviations of the first level and slope.
    damping : (...)
        Of the slope from step to step.
    """
    delta = np.ones(1) if steps is None else steps
    if kind in ("constant", "walk", "level"):
        noises = {} if kind == "constant" else {"level": delta[:, None, None]}
        return SeriesPart("level", np.ones(1), np.ones((1, 1, 1)), noises, np.eye(1) * level**2)
    transition = np.zeros((*np.shape(damping), len(delta), 2, 2))
    transition[..., 0, 0] = 1.0
    transition[..., 0, 1] = delta
    transition[..., 1, 1] = np.asarray(damping)[..., None]
    first, second = np.diag([1.0, 0.0]), np.diag([0.0, 1.0])
    noises = {"level": delta[:, None, None] * first, "slope": delta[:, None, None] * second}
    if kind == "line":
        noises = {}
    elif kind == "drift":
        del noises["slope"]
    elif kind == "smooth":
        rows = [[delta**3 / 3, delta**2 / 2], [delta**2 / 2, delta]]
        noises = {"slope": np.moveaxis(np.array(rows), -1, 0)}
    start = np.diag([level**2, slope**2])
    return SeriesPart("level", np.array([1.0, 0.0]), transition, noises, start)


def dummy_season_part(name: str, period: int, swing: float) -> SeriesPart:
    """Return effects that repeat after ``period`` steps and add up to noise over them."""
    size = period - 1
    transition = np.eye(size, k=-1)
    transition[0] = -1.0  # s_t = −(s_{t−1} + … + s_{t−S+1}) + ω
    noise = np.zeros((1, size, size))
    noise[0, 0, 0] = 1.0
    start = swing**2 * (np.eye(size) - 1.0 / period)  # S effects about their mean
    return SeriesPart(name, np.eye(size)[0], transition[None], {name: noise}, start)


def repeated_season_part(period: int, level: float) -> SeriesPart:
    """Return values that are those of ``period`` steps before, each with a step of its own added."""
    transition = np.eye(period, k=-1)
    transition[0, -1] = 1.0  # μ_t = μ_{t−S} + ω
    noise = np.zeros((1, period, period))
    noise[0, 0, 0] = 1.0
    start = level**2 * np.eye(period)
    return SeriesPart("level", np.eye(period)[0], transition[None], {"level": noise}, start)


def harmonic_season_part(name: str, period: float, harmonics: int, swing: float) -> SeriesPart:
    """Return waves of a period and its fractions, of which the faster ones are expected smaller."""
    order = np.arange(1, harmonics + 1)
    size = 2 * harmonics
    transition = _rotations(2.0 * np.pi * order / period)
    emission = np.tile([1.0, 0.0], harmonics)
    widths = np.repeat(1.0 / order**2, 2)
    start = np.diag(swing**2 * widths / widths[::2].sum())
    return SeriesPart(name, emission, transition[None], {name: np.eye(size)[None]}, start)


def cycle_part(period: Array, damping: Array) -> SeriesPart:
    """Return a wave whose size and phase wander: ρ times a rotation, in equilibrium at the start."""
    angle, shrunk = 2.0 * np.pi / period, damping[..., None, None]
    transition = shrunk * _rotations(angle[..., None])
    start = np.eye(2) / (1.0 - shrunk**2)
    noise = {"cycle": np.eye(2)[None]}
    steps = transition[..., None, :, :]
    return SeriesPart("cycle", np.array([1.0, 0.0]), steps, noise, start, proper=True)


def autoregressive_part(partial: Array) -> SeriesPart:
    """Return a stationary autoregression by its partial correlations (..., p) in (−1, 1)."""
    size = partial.shape[-1]
    weights, correlations = partial[..., :0], np.ones((*partial.shape[:-1], size + 1))
    for k in range(size):  # Durbin–Levinson
        r, known = partial[..., k : k + 1], correlations[..., 1 : k + 1]
        left = 1.0 - (weights * known).sum(axis=-1)
        ahead = (weights * known[..., ::-1]).sum(axis=-1)
        correlations[..., k + 1] = ahead + r[..., 0] * left
        weights = np.concatenate([weights - r * weights[..., ::-1], r], axis=-1)
    transition = np.zeros((*partial.shape[:-1], 1, size, size)) + np.eye(size, k=-1)
    transition[..., 0, 0, :] = weights
    noise = np.zeros((size, size))
    noise[0, 0] = 1.0
    variance = 1.0 / np.prod(1.0 - partial**2, axis=-1)
    lags = np.abs(np.subtract.outer(np.arange(size), np.arange(size)))
    start = variance[..., None, None] * correlations[..., lags]
    emission = np.eye(size)[0]
    name = "autoregression"
    return SeriesPart(name, emission, transition, {name: noise[None]}, start, proper=True)


def matern_part(nu: float, length: Array, steps: Array | None) -> SeriesPart:
    """Return a Matérn process, whose scale is its standard deviation."""
    delta = np.ones(1) if steps is None else steps
    chains = [matern_chain(nu, float(one), delta) for one in np.ravel(length)]
    transition, noise = (
        np.reshape([chain[k] for chain in chains], (*np.shape(length), *chains[0][k].shape))
        for k in range(2)
    )
    start = chains[0].initial_cov
    emission, noises = np.eye(len(start))[0], {"matern": noise}
    return SeriesPart("matern", emission, transition, noises, start, proper=True)


def input_part(inputs: Array, swing: float) -> SeriesPart:
    """Return weights of inputs (T, K) that stay."""
    size = inputs.shape[1]
    start = swing**2 * np.eye(size)
    return SeriesPart("inputs", inputs, np.eye(size)[None], {}, start)


def walking_weights(part: SeriesPart) -> SeriesPart:
    """Return weights of inputs that walk."""
    return part._replace(noises={"inputs": np.eye(len(part.initial_cov))[None]})


def _rotations(angles: Array) -> Array:
    """Return rotations by angles (..., K) on the diagonal."""
    count = angles.shape[-1]
    made = np.zeros((*angles.shape[:-1], 2 * count, 2 * count))
    c, s = np.cos(angles), np.sin(angles)
    first, second = 2 * np.arange(count), 2 * np.arange(count) + 1
    made[..., first, first], made[..., first, second] = c, s
    made[..., second, first], made[..., second, second] = -s, c
    return made
