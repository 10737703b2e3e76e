r"""Modes of posteriors by Newton's method, with as few Hessians as possible.

A Hessian of N rows and D columns costs N D² operations and a gradient N D. So a factorised Hessian is
used again, corrected by what the gradients have shown since (BFGS), for as long as they shrink fast,
and made anew when they do not; every step must raise the log density. At the mode the curvature A
gives Laplace's approximation

.. math:: \ln p(\text{data}) \approx \ln p(\text{data}, \hat w) + \tfrac D2\ln 2\pi - \tfrac12\ln|A|.

References: J. Nocedal & S. Wright, "Numerical optimization", 2006, alg. 7.4 (corrections); Y. Dauphin
et al., "Identifying and attacking the saddle point problem", 2014 (steps where A is indefinite).
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np

from posteriori.inference.effects.block_bordered import BlockBordered
from posteriori.inference.effects.bordered import Bordered
from posteriori.numerics.lazy import lapack
from posteriori.numerics.rank import factor_definite
from posteriori.numerics.special import LOG_2PI
from posteriori.numerics.types import Array

__all__ = ["LogDensity", "Mode", "find_mode", "laplace_evidence"]

#: A used Hessian is kept while each step shrinks the gradient at least by this factor.
_SHRINKS = 0.3

#: A step must raise the log density by this part of what the gradient promises.
_ARMIJO = 1e-4

#: A rise by less than this share of the log density is rounding.
_ROUNDING = 1e-12

#: A curvature this many standard deviations from the mode is that of the mode.
_AT_MODE = 1e-6

#: After so many halvings a step is 1e-12 of what it was.
_MOST_HALVINGS = 40

#: Where the curvature is indefinite, no direction bends by less than this share of the diagonal.
_LEAST_BEND = 1e-9

#: Shares of its diagonal that are added to an indefinite curvature with a corner, until it is definite.
_STIFFER = tuple(10.0**k for k in range(-3, 7))


_NOT_FINITE = "the curvature of the log posterior is not finite: bring the columns or targets to moderate scales"


class LogDensity(Protocol):
    """A log density to climb, up to a constant."""

    def value_and_gradient(self, w: Array) -> tuple[float, Array]:
        """Return the log density and its gradient."""

    def curvature(self, w: Array) -> Array | Bordered | BlockBordered:
        """Return minus the Hessian, (D, D)."""


class Mode(NamedTuple):
    """Where a log density is highest.

    Attributes
    ----------
    point : (D,)
    value : float
        The log density there.
    gradient_norm : float
        Largest entry of the gradient, in units in which the curvature has unit diagonal.
    precision : (D, D), Bordered or BlockBordered
        The curvature at the point; one with a corner that is not definite there, as it was raised to be.
    factor : (D, D), BorderedFactor or BlockBorderedFactor
        Its lower Cholesky factor.
    n_iter, n_curvatures : int
        How many gradients and Hessians were needed.
    converged : bool
    """

    point: Array
    value: float
    gradient_norm: float
    precision: Any
    factor: Any
    n_iter: int
    n_curvatures: int
    converged: bool


class _Place(NamedTuple):
    """A point with its log density and gradient."""

    w: Array
    value: float
    gradient: Array


def find_mode(
    density: LogDensity,
    start: Array,
    *,
    tol: float = 1e-8,
    max_iter: int = 200,
    near: Mode | None = None,
    curvature_at_mode: bool = True,
) -> Mode:
    """Climb to a mode.

    Parameters
    ----------
    density : LogDensity
    start : (D,)
    tol : float
        The ascent ends when no entry of the gradient exceeds this, each measured by the square
        root of its curvature: a step of that many standard deviations.
    max_iter : int
        Most gradients.
    near : Mode, optional
        Of a similar density: its curvature serves until it fails.
    curvature_at_mode : bool
        False where the mode alone is wanted: the curvature is then that of some point before it.

    Examples
    --------
    >>> class Normal:
    ...     def value_and_gradient(self, w):
    ...         return -0.5 * float(w @ w), -w
    ...
    ...     def curvature(self, w):
    ...         return np.eye(len(w))
    >>> find_mode(Normal(), np.array([3.0, 4.0])).point
    array([0., 0.])
    """
    here = _Place(np.array(start, dtype=np.float64), *density.value_and_gradient(start))
    if not np.isfinite(here.value):
        raise ValueError("the log density is not finite at the start of the ascent")
    n_iter, n_curvatures, rounding, flat = 1, 0, False, False
    bend = None if near is None else _bend_of(near.precision)
    fresh = False
    while True:
        if bend is None:
            bend, fresh, n_curvatures = _bend_of(density.curvature(here.w)), True, n_curvatures + 1
        size = bend.size(here.gradient)
        done = size <= tol or rounding or n_iter >= max_iter
        if curvature_at_mode and not fresh and (done or size <= _AT_MODE):
            bend = None  # the curvature is wanted at the mode, and makes the last step exact
            continue
        if done and (bend.definite or n_iter >= max_iter):
            break
        step = bend.way_out(here.gradient) if done else bend.step(here.gradient)
        there, tried = _climb(density, here, step)
        n_iter += tried
        if there is None:
            if fresh:  # no rise along the Newton direction
                break
            bend = None
            continue
        # a standard deviation away it is no higher: the bend is one of rounding
        flat = done and there.value - here.value <= _ROUNDING * max(1.0, abs(here.value))
        bend.learn(there.w - here.w, here.gradient - there.gradient)
        shrunk = bend.size(there.gradient) < max(tol, _SHRINKS * size)
        invisible = float(here.gradient @ step) <= _ROUNDING * max(1.0, abs(here.value))
        rounding = fresh and invisible and not shrunk and bend.definite
        fresh = fresh and size <= _AT_MODE
        here = there
        if not (shrunk or rounding):
            bend = None
    converged = (bend.definite or flat) and (size <= tol or rounding)
    return Mode(
        here.w, here.value, size, bend.precision, bend.factor, n_iter, n_curvatures, converged
    )


def laplace_evidence(mode: Mode) -> float:
    """Return Laplace's approximation of the log integral of the density."""
    factor = mode.factor
    if isinstance(factor, np.ndarray):
        log_det = 2.0 * float(np.log(np.diagonal(factor)).sum())
    else:
        log_det = factor.log_det
    return mode.value + 0.5 * (len(mode.point) * LOG_2PI - log_det)


def _climb(density: LogDensity, here: _Place, step: Array) -> tuple[_Place | None, int]:
    """Halve a step until the log density rises by its share of what the gradient promises."""
    promise = float(here.gradient @ step)
    slack = _ROUNDING * max(1.0, abs(here.value))
    length = 1.0
    for tried in range(1, _MOST_HALVINGS + 1):
        w = here.w + length * step
        there = _Place(w, *density.value_and_gradient(w))
        enough = here.value + _ARMIJO * length * promise - slack
        if np.isfinite(there.value) and there.value >= enough:
            return there, tried
        length *= 0.5
    return None, _MOST_HALVINGS


class _Bend:
    """A curvature, factorised, and what steps have taught since.

    Where it is not positive definite, steps see its eigenvalues in absolute value: away from
    saddles, as far as the bend allows.
    """

    def __init__(self, precision: Array) -> None:
        self.precision = 0.5 * (precision + precision.T)
        diagonal = np.abs(np.diagonal(self.precision))
        self.scale = np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
        scaled = self.precision / self.scale / self.scale[:, None]
        if not np.all(np.isfinite(scaled)):
            raise ValueError(_NOT_FINITE)
        self.downhill: Array | None = None
        try:
            root = factor_definite(scaled)
        except np.linalg.LinAlgError:
            values, vectors = np.linalg.eigh(scaled)
            self.downhill = vectors[:, 0]
            values = np.maximum(np.abs(values), _LEAST_BEND)
            upper = np.linalg.qr((vectors * np.sqrt(values)).T, mode="r")
            root = (np.where(np.diagonal(upper) < 0, -1.0, 1.0)[:, None] * upper).T
        self.factor = self.scale[:, None] * root
        self._root = root
        self._pairs: list[tuple[Array, Array, float]] = []

    @property
    def definite(self) -> bool:
        return self.downhill is None

    def size(self, gradient: Array) -> float:
        """Return the largest entry of a gradient in units of unit curvature."""
        return float(np.abs(gradient / self.scale).max()) if len(gradient) else 0.0

    def step(self, gradient: Array) -> Array:
        """Return the Newton step A⁻¹g, with the corrections of later pairs."""
        g, shares = gradient, []
        for moved, change, product in reversed(self._pairs):
            share = float(moved @ g) / product
            g = g - share * change
            shares.append(share)
        step = self._solve(g)
        for (moved, change, product), share in zip(self._pairs, reversed(shares), strict=True):
            step = step + (share - float(change @ step) / product) * moved
        return step

    def _solve(self, gradient: Array) -> Array:
        return np.asarray(lapack.dpotrs(self._root.T, gradient / self.scale)[0] / self.scale)

    def learn(self, moved: Array, change: Array) -> None:
        """Note that over a step the gradient fell by so much."""
        product = float(moved @ change)
        if product > 0:
            self._pairs.append((moved, change, product))

    def way_out(self, gradient: Array) -> Array:
        """Return a step of a standard deviation along which the density bends upwards."""
        assert self.downhill is not None
        step = self.downhill / self.scale
        return step if gradient @ step >= 0 else -step


class _BorderedBend(_Bend):
    """A curvature with a corner; where it is not definite its diagonal is raised."""

    def __init__(self, precision: Bordered | BlockBordered) -> None:
        self.precision: Any = precision
        diagonal = np.abs(precision.diagonal)
        if not np.all(np.isfinite(diagonal)):
            raise ValueError(_NOT_FINITE)
        self.scale = np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
        self.factor: Any = None
        self.downhill = None
        self._pairs = []
        for raised in (0.0, *_STIFFER):
            try:
                stiffened = precision.plus(raised * diagonal) if raised else precision
                self.factor, self.precision = stiffened.factorize(), stiffened
                break
            except np.linalg.LinAlgError:
                self.downhill = self.scale  # some direction: which one is not known
        if self.factor is None:
            raise ValueError(_NOT_FINITE)

    def _solve(self, gradient: Array) -> Array:
        return np.asarray(self.factor.solve(gradient))

    def way_out(self, gradient: Array) -> Array:
        """Return a step: a saddle is left by rounding alone."""
        return self._solve(gradient)


def _bend_of(precision: Array | Bordered | BlockBordered) -> _Bend:
    return _Bend(precision) if isinstance(precision, np.ndarray) else _BorderedBend(precision)
