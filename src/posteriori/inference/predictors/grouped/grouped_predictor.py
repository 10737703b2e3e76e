r"""Posteriors of linear predictors with effects of levels, and how their evidence grows with spreads.

.. math:: \eta_n = x_n\cdot w + \sum_c u_c[\ell_{nc}],\qquad u_c[\ell]\sim N(0, \sigma_c^2)

The curvature A of all coordinates v = (w, θ, u) has a diagonal corner. Laplace's evidence
:math:`F = \ln p(y, \hat v) - \tfrac12\ln|A|` has the slope

.. math:: \frac{dF}{d\ln\sigma_c} = \frac{|\hat u_c|^2 + \mathrm{tr}\,A^{-1}_{cc}}{\sigma_c^2} - L_c
          - \tfrac12\mathrm{tr}\Bigl(A^{-1}\frac{\partial A}{\partial\hat v}\,\delta_c\Bigr),\qquad
          \delta_c = \frac{d\hat v}{d\ln\sigma_c} = \frac{2A^{-1}\hat u_c}{\sigma_c^2},

whose last term is a sum over rows: curvatures change along the predictors of :math:`\delta_c`.

Reference: D. Bates et al., "Fitting linear mixed-effects models using lme4", 2015; L. Tierney &
J. Kadane, "Accurate approximations for posterior moments and marginal densities", 1986.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from posteriori.inference.effects.bordered import Bordered, BorderedFactor
from posteriori.inference.effects.effect_layout import (
    EffectLayout,
    GroupedRows,
    effect_gram,
    level_sums,
)
from posteriori.inference.predictors.generalized_linear import Curve, Likelihood, Rows
from posteriori.inference.predictors.grouped_weights import GroupedWeights
from posteriori.inference.predictors.mode_finding import Mode
from posteriori.inference.predictors.normal_bound import FEW_DIGITS, averaged_likelihood
from posteriori.numerics.types import Array

__all__ = ["GroupedPredictor"]

#: Steps of predictors, in their own units, over which curvatures are compared.
_STEP = 1e-4


@dataclass(frozen=True)
class GroupedPredictor:
    """The log posterior of weights, a log shape where there is one, and effects.

    Attributes
    ----------
    rows : GroupedRows
        Design matrix and levels.
    layout : EffectLayout
        Plain coordinates are the weights, then the log shape if there is one.
    likelihood : callable
        As of :class:`LinearPredictor`.
    precision, prior_mean : (P,)
        Of independent normal priors, of all coordinates.
    frequency : (N,), optional
        How often each row counts.
    shape_slope : float
        Times the log shape, this is added.
    """

    rows: GroupedRows
    layout: EffectLayout
    likelihood: Likelihood
    precision: Array
    prior_mean: Array
    frequency: Array | None = None
    shape_slope: float = 0.0

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return len(self.rows)

    @property
    def shape_place(self) -> int | None:
        """Where the log shape stands, if there is one."""
        d = self.rows.x.shape[1]
        return d if self.layout.plain > d else None

    @property
    def blocks(self) -> list[slice]:
        """Where the effects of each category stand."""
        return self.layout.places

    @property
    def weight_precision(self) -> Array:
        """Of the weights alone."""
        return self.precision[: self.rows.x.shape[1]]

    def belief(self, mode: Mode) -> GroupedWeights:
        """Return the normal belief at a mode."""
        variances = [1.0 / self.precision[place.start] for place in self.layout.places]
        return GroupedWeights(self.layout, mode.factor, mode.point, np.array(variances))

    def averaged(self, variance: Array) -> GroupedPredictor:
        """Return the same with means of log likelihoods over predictors that vary so, (N,)."""
        likelihood = averaged_likelihood(self.likelihood, variance, FEW_DIGITS)
        return replace(self, likelihood=likelihood)

    def with_shape_slope(self, slope: float) -> GroupedPredictor:
        """Return the same with ``slope`` θ added, for the log shape θ."""
        return replace(self, shape_slope=slope)

    def predictors(self, v: Array) -> Array:
        """Return η of all rows, (N,), or (N, M) for M columns of coordinates."""
        x = self.rows.x
        return x @ v[: x.shape[1]] + self.layout.values(v, self.rows.codes)

    def value_and_gradient(self, v: Array) -> tuple[float, Array]:
        """Return the log posterior and its gradient."""
        offset, f = v - self.prior_mean, self.frequency
        curve = self._curve(self.predictors(v), v)
        gradient = -self.precision * offset
        total = 0.5 * float(offset @ gradient) + float(_times(curve.value, f).sum())
        slope, codes = _times(curve.slope, f), self.rows.codes
        gradient[: self.rows.x.shape[1]] += slope @ self.rows.x
        for c, place in enumerate(self.layout.places):
            gradient[place] += np.bincount(codes[:, c], slope, self.layout.sizes[c])
        if curve.shape is not None:
            gradient[self.shape_place] += float(_times(curve.shape.slope, f).sum())
            gradient[self.shape_place] += self.shape_slope
            total += self.shape_slope * float(v[self.shape_place])
        return total, gradient

    def curvature(self, v: Array) -> Bordered:
        """Return minus the Hessian of the log posterior."""
        curve, f = self._curve(self.predictors(v), v), self.frequency
        x, codes, layout = self.rows.x, self.rows.codes, self.layout
        gram = effect_gram(x, codes, _times(curve.curvature, f), layout)
        if curve.shape is not None:
            place, cross = x.shape[1], _times(curve.shape.cross, f)
            mixed = np.zeros(layout.size)
            mixed[:place] = cross @ x
            for c, levels in enumerate(layout.places):
                mixed[levels] = level_sums(cross[:, None], codes[:, c], layout.sizes[c])[:, 0]
            mixed[place] = float(_times(curve.shape.curvature, f).sum())
            gram.core[place] = gram.core[:, place] = mixed[: layout.core]
            gram.border[:, place] = mixed[layout.core :]
        return gram.plus(self.precision)

    def slopes(self, mode: Mode, blocks: Sequence[slice]) -> Array:
        """Return the slopes of Laplace's evidence in the log spreads of blocks of coordinates."""
        factor: Any = mode.factor
        offset, found = mode.point - self.prior_mean, []
        width, shared, own = self._row_moments(factor)
        pulls = np.zeros((self.layout.size, len(blocks)))
        for k, block in enumerate(blocks):
            pulls[block, k] = 2.0 * self.precision[block] * offset[block]
        moves = factor.solve(pulls)
        eta, *ways = np.ascontiguousarray(self.predictors(np.column_stack([mode.point, moves])).T)
        for block, way, moved in zip(blocks, ways, moves.T, strict=True):
            ahead, back = self._along(eta, way, mode.point, moved)
            bend = (ahead.curvature - back.curvature) * width
            if ahead.shape is not None and back.shape is not None:
                bend = bend + 2.0 * (ahead.shape.cross - back.shape.cross) * shared
                bend = bend + (ahead.shape.curvature - back.shape.curvature) * own
            squares = offset[block] ** 2 + factor.variances[block]
            change = float(_times(bend, self.frequency).sum())
            size = block.stop - block.start
            found.append(float(self.precision[block] @ squares) - size - 0.5 * change)
        return np.array(found)

    def at_known_shape(self, mode: Mode) -> tuple[GroupedPredictor, Mode]:
        """Return the log posterior of all other coordinates given the log shape of a mode, and theirs."""
        place = self.shape_place
        if place is None:
            return self, mode
        log_shape, likelihood, bend = float(mode.point[place]), self.likelihood, mode.precision

        def given(eta: Array, shape: float, rows: Rows) -> Curve:
            return likelihood(eta, log_shape, rows)._replace(shape=None)

        rest: Any = bend.without(place)
        density = replace(
            self,
            layout=replace(self.layout, plain=place),
            likelihood=given,
            precision=np.delete(self.precision, place),
            prior_mean=np.delete(self.prior_mean, place),
            shape_slope=0.0,
        )
        point = np.delete(mode.point, place)
        return density, mode._replace(point=point, precision=rest, factor=rest.factorize())

    def _row_moments(self, factor: BorderedFactor) -> tuple[Array, Any, float]:
        """Return variances of predictors, their covariances with the log shape, and its variance."""
        belief = GroupedWeights(
            self.layout, factor, self.prior_mean, np.ones(len(self.layout.sizes))
        )
        width = belief.row_moments(self.rows)[1]
        place = self.shape_place
        if place is None:
            return width, 0.0, 0.0
        return width, belief.covariance_with(self.rows, place), float(factor.core_cov[place, place])

    def _along(self, eta: Array, way: Array, point: Array, moved: Array) -> tuple[Curve, Curve]:
        """Return curves on both sides, whose difference is the derivative along ``moved``."""
        step = _STEP / max(float(np.abs(way).max(initial=0.0)), 1e-300)
        if not np.isfinite(step) or step > 1e12:  # nothing moves
            step = 0.0
        curves = [self._curve(eta + s * step * way, point + s * step * moved) for s in (1.0, -1.0)]
        scale = 0.0 if step == 0.0 else 0.5 / step
        ahead, back = (_scaled(curve, scale) for curve in curves)
        return ahead, back

    def _curve(self, eta: Array, v: Array) -> Curve:
        place = self.shape_place
        return self.likelihood(eta, 0.0 if place is None else float(v[place]), slice(None))


def _times(values: Array, frequency: Array | None) -> Array:
    return values if frequency is None else values * frequency


def _scaled(curve: Curve, scale: float) -> Curve:
    """Return a curve whose curvatures are multiplied."""
    shape = curve.shape
    if shape is not None:
        shape = shape._replace(curvature=scale * shape.curvature, cross=scale * shape.cross)
    return curve._replace(curvature=scale * curve.curvature, shape=shape)
