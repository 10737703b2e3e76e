r"""Regression for other than normal targets: Laplace posteriors over one Newton core.

The predictor is :math:`\eta = b + x\cdot w`. On standardised columns every weight has the prior N(0, 1/α), and
the intercept N(g(ȳ), 1/α) around the value that ignores all inputs. A family may have a shape beside
the weights (a dispersion, a width of the noise), whose logarithm has the precision α as well and is
learned with them. The posterior is the normal distribution at the mode with the curvature there, and
the evidence its integral.

References: P. McCullagh & J. Nelder, "Generalized linear models", 1989; D. MacKay, "Information
theory, inference, and learning algorithms", 2003, ch. 27.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import RegressorMixin

from posteriori.distributions.composites.mixture import Mixture
from posteriori.distributions.numbers.normal import Normal
from posteriori.distributions.vectors.mvnormal import MvNormal
from posteriori.estimators.estimator_rows import Rows, check_rows
from posteriori.estimators.linear_predictor import LearnedWeights, LinearPredictorEstimator
from posteriori.estimators.standardized import measure, standardize
from posteriori.inference.effects.effect_layout import EffectLayout, GroupedRows
from posteriori.inference.predictors.generalized_linear import LinearPredictor, posterior_mode
from posteriori.inference.predictors.grouped.grouped_fit import GroupedFit, learn_spreads
from posteriori.inference.predictors.grouped.grouped_predictor import GroupedPredictor
from posteriori.inference.predictors.grouped_weights import GroupedWeights
from posteriori.inference.predictors.mode_finding import Mode, find_mode
from posteriori.inference.predictors.seen_directions import is_wide, seen_directions
from posteriori.inference.predictors.weight_belief import WeightBelief, laplace_belief
from posteriori.numerics.calculus.predictor_nodes import predictor_nodes
from posteriori.numerics.types import Array
from posteriori.numerics.validation import require_squares

__all__ = ["START", "GeneralizedRegressor", "RowNodes"]

#: Points of the Gauss–Hermite rule over a log shape.
_SHAPE_NODES = 5

#: The spread of effects at which the search begins, in units of the predictor.
START = 0.5

#: Where it begins again if that leads nowhere: wide effects of levels with a row each leave no noise.
_NARROWER = (0.2, 0.05)

#: Means of columns, in standard deviations, that may be taken off after sums have been made.
_NEAR_ZERO = 3.0


class RowNodes(NamedTuple):
    """Nodes of a rule over the predictor and the log shape of rows.

    Attributes
    ----------
    at, blur : (N, Q)
        Predictors, and the variance that each stands for.
    log_shape, weights : (Q,)
    offset : (N, Q)
        How far each predictor is from its mean given the log shape.
    variance : (N,)
        Of the predictor given the log shape.
    """

    at: Array
    blur: Array
    log_shape: Array
    weights: Array
    offset: Array
    variance: Array


class GeneralizedRegressor(RegressorMixin, LinearPredictorEstimator):
    """What regressions on a linear predictor have in common.

    Parameters
    ----------
    prior_precision, fit_intercept, tol, max_iter, groups
        As of :class:`PoissonRegressor`.
    """

    def __init__(
        self,
        prior_precision: float = 1.0,
        *,
        fit_intercept: bool = True,
        tol: float = 1e-8,
        max_iter: int = 200,
        groups: Any = None,
    ) -> None:
        self.prior_precision = prior_precision
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter
        self.groups = groups

    # -- what a family states ----------------------------------------------------------------

    #: Whether there is a shape beside the weights.
    _shaped = False

    #: Whether its mode is that with the weights integrated out.
    _shape_apart = False

    def _check_targets(self, y: Array) -> None:
        """Refuse targets off the support."""

    @abstractmethod
    def _centre(self, rows: Rows) -> tuple[float, float, float]:
        """Return the intercept that ignores all inputs, the unit of η, and the usual log shape."""

    @abstractmethod
    def _likelihood(self, y: Array) -> Any:
        """Return the log density of rows as a function of their predictors, and derivatives."""

    @abstractmethod
    def _width(self, eta: Array, log_shape: Array) -> Array:
        """Return how far η must move to change the distribution of the target."""

    @abstractmethod
    def _member(self, eta: Array, log_shape: Array, blur: Array) -> Any:
        """Return the distribution of targets with predictors N(η, blur)."""

    @abstractmethod
    def _mean_of(self, eta: Normal) -> Array:
        """Return the mean of targets with uncertain predictors."""

    # -- learning ----------------------------------------------------------------------------

    def _read_rows(self, X: Any, y: Any, sample_weight: Any) -> Rows:
        rows = check_rows(self, X, y, sample_weight=sample_weight)
        require_squares("X", rows.x)
        self._check_targets(rows.y)
        return rows

    def _learn(self, rows: Rows) -> LearnedWeights:
        if rows.codes is not None:
            return self._learn_groups(rows)
        if is_wide(rows.x):
            return self._learn_wide(rows)
        x, turn = self._standardize(rows)
        mean, precision = self._prior(turn.shape[1], rows)
        density = LinearPredictor(
            x, self._likelihood(rows.y), np.diag(precision), mean, rows.frequency, turn
        )
        belief = laplace_belief(self._ascend(density), precision)
        return LearnedWeights(belief, precision[: turn.shape[1]], prior=(mean, precision))

    def _learn_wide(self, rows: Rows) -> LearnedWeights:
        """Learn from fewer rows than columns, in the directions that they see."""
        how, design = standardize(rows.x, rows.frequency, intercept=self.fit_intercept)
        self._standardization, seen = how, seen_directions(design)
        size = seen.rows.shape[1]
        mean, every = self._prior(design.shape[1], rows)
        _, precision = self._prior(size, rows)
        density = LinearPredictor(
            seen.rows, self._likelihood(rows.y), np.diag(precision), seen.of(mean), rows.frequency
        )
        belief = laplace_belief(self._ascend(density), precision)
        return LearnedWeights(seen.widened(belief, mean, every[0]), precision[:size])

    def _learn_groups(self, rows: Rows) -> LearnedWeights:
        self._standardization, design = standardize(
            rows.x, rows.frequency, intercept=self.fit_intercept
        )
        mean, precision = self._prior(design.shape[1], rows)
        unit = self._centre(rows)[1]
        sizes = tuple(int(n) for n in rows.codes.max(axis=0) + 1)
        layout = EffectLayout(len(mean), sizes)

        def learn(first: float) -> GroupedFit:
            density = GroupedPredictor(
                GroupedRows(design, rows.codes),
                layout,
                self._likelihood(rows.y),
                layout.spread_out(precision, np.full(len(sizes), (first * unit) ** -2)),
                layout.spread_out(mean, np.zeros(len(sizes))),
                rows.frequency,
            )
            apart, places = self._shape_apart, layout.places
            return learn_spreads(density, places, unit, self.tol, self._ascend, known_shape=apart)

        return LearnedWeights.of_groups(_first_converged(learn))

    def _ascend(
        self,
        density: Any,
        near: Mode | None = None,
        tol: float | None = None,
    ) -> Mode:
        """Return where the posterior is approximated."""
        limits: dict[str, Any] = {"tol": tol or self.tol, "max_iter": self.max_iter}
        if near is not None:
            return find_mode(density, near.point, near=near, **limits)
        if isinstance(density, LinearPredictor):
            return posterior_mode(density, density.prior_mean, **limits)
        return find_mode(density, density.prior_mean, **limits)

    def _standardize(self, rows: Rows) -> tuple[Array, Array]:
        """Return a table and T, with Tv its weights and intercept where v is of standardised columns.

        It is X itself, without a copy, where its means are not large beside its spread.
        """
        how, constant = measure(rows.x, rows.frequency, intercept=self.fit_intercept)
        self._standardization, x = how, rows.x
        if constant.any() or np.any(np.abs(how.mean) > _NEAR_ZERO * how.scale):
            x = (rows.x - how.mean) / how.scale
            x[:, constant] = 0.0
            how = how._replace(mean=np.zeros_like(how.mean), scale=np.ones_like(how.scale))
        turn = how.turn()
        return x, turn if self.fit_intercept else np.pad(turn, ((0, 1), (0, 0)))

    def _prior(self, size: int, rows: Rows) -> tuple[Array, Array]:
        """Return means and precisions of intercept and weights, then the log shape."""
        level, unit, log_shape = self._centre(rows)
        mean, precision = np.zeros(size), np.full(size, self.prior_precision / unit**2)
        if self.fit_intercept:
            mean[0] = level
        if self._shaped:
            mean = np.append(mean, log_shape)
            precision = np.append(precision, self.prior_precision)
        return mean, precision

    def _state(self, belief: WeightBelief) -> MvNormal:
        size = len(self._standardization.scale) + self.fit_intercept
        return self._standardization.raw(MvNormal(belief.mean[:size], cov=belief.cov[:size, :size]))

    def _name_weights(self) -> None:
        d = len(self._standardization.scale)
        raw = self._standardization.raw_weights(self._weights.mean[: d + self.fit_intercept])
        self.coef_ = raw[:d]
        self.intercept_ = float(raw[d]) if self.fit_intercept else 0.0

    def _targets_of(self, rows: Rows) -> Array:
        return rows.y

    def _named_weights(self, draws: Array) -> dict[str, Array]:
        d = len(self._standardization.scale)
        raw = self._standardization.raw_weights(draws[:, : d + self.fit_intercept])
        found = {"coef": raw[:, :d]} | ({"intercept": raw[:, d]} if self.fit_intercept else {})
        return found | ({"log_shape": draws[:, -1]} if self._shaped else {})

    # -- predicting --------------------------------------------------------------------------

    def predictor(self, X: Any) -> Normal:
        """Return the posterior of η for each row, a batch of normal distributions."""
        return self._predictor(self._design(X))

    def predict_dist(self, X: Any) -> Any:
        """Return the predictive distribution of each row's target.

        The predictor, and the shape where there is one, are integrated out: a mixture over the
        nodes of a rule that grows finer where the posterior is wide beside the noise.
        """
        nodes = self._nodes(self._design(X))
        return Mixture(nodes.weights, self._member(nodes.at, nodes.log_shape, nodes.blur))

    def predict(self, X: Any) -> Array:
        """Return the mean of the predictive distribution (its median where there is no mean)."""
        return self._mean_of(self.predictor(X))

    def _predictor(self, design: Any) -> Normal:
        mean, variance = self._moments(design, self._weights)
        return Normal(mean, variance=variance)

    def _nodes(self, design: Any) -> RowNodes:
        eta = self._predictor(design)
        shapes, shares, gain, unexplained = self._shape_rule(design)
        mean = np.asarray(eta.mean)[:, None] + gain[:, None] * (shapes - shapes.mean())
        variance = np.maximum(np.asarray(eta.variance) - unexplained, 0.0)
        std = np.sqrt(variance)[:, None]
        at, weights, blur = predictor_nodes(mean, std, self._width(mean + std, shapes))
        flat = (len(design), -1)
        return RowNodes(
            at.reshape(flat),
            np.broadcast_to(blur[..., None], at.shape).reshape(flat),
            np.repeat(shapes, at.shape[-1]),
            np.outer(shares, weights).ravel(),
            (at - mean[..., None]).reshape(flat),
            variance,
        )

    def _shape_rule(self, design: Any) -> tuple[Array, Array, Array, Array]:
        """Return nodes and shares of the log shape, dE[η]/dθ, and how much of Var[η] it explains."""
        if not self._shaped:
            return np.zeros(1), np.ones(1), np.zeros(len(design)), np.zeros(len(design))
        variance = float(self._weights.cov[-1, -1])
        gain = self._shape_covariance(design) / variance
        nodes, shares = np.polynomial.hermite_e.hermegauss(_SHAPE_NODES)
        shapes = self._weights.mean[-1] + np.sqrt(variance) * nodes
        return shapes, shares / shares.sum(), gain, gain**2 * variance

    def _shape_covariance(self, design: Any) -> Array:
        """Return the covariance of the predictors of rows with the log shape, (N,)."""
        if self._effects is None:
            z = self._weights.along(design)
            return z @ self._weights.cov[: z.shape[1], -1]
        belief = self._effects.belief
        assert isinstance(belief, GroupedWeights)  # there is one predictor
        return belief.covariance_with(design, len(self._weights.mean) - 1)

    # -- how the rows fare -------------------------------------------------------------------

    def _known_rows(self, X: Any, y: Any) -> tuple[Any, Array]:
        rows = check_rows(self, X, y, reset=False)
        self._check_targets(rows.y)
        return self._standardized(rows.inputs), rows.y

    def _log_likelihood(self, draws: Array, design: Array, targets: Array) -> Array:
        etas, shapes = self._predictors(draws, design)
        curve, everywhere = self._likelihood(targets), slice(None)
        pairs = zip(etas, shapes, strict=True)
        return np.array([curve(eta, float(shape), everywhere).value for eta, shape in pairs])

    def _draw_targets(self, draws: Array, design: Array, rng: np.random.Generator) -> Array:
        etas, shapes = self._predictors(draws, design)
        members = self._member(etas, shapes[:, None], np.zeros_like(etas))
        return np.asarray(members.sample(rng=rng), dtype=np.float64)

    def _predictors(self, draws: Array, design: Any) -> tuple[Array, Array]:
        """Return predictors (S, n) and log shapes (S,), 0 where there are none."""
        if self._effects is None:
            etas = draws[:, : design.shape[1]] @ design.T
        else:
            etas = self._effects.belief.drawn_predictors(draws, design)
        place = len(self._weights.mean) - 1
        return etas, draws[:, place] if self._shaped else np.zeros(len(draws))


def _first_converged(learn: Callable[[float], GroupedFit]) -> GroupedFit:
    """Return the first fit that converges, from wide effects to narrow ones; else that of most evidence."""
    fits, failure = [], None
    for first in (START, *_NARROWER):
        try:
            fits.append(learn(first))
        except np.linalg.LinAlgError as error:
            failure = error
            continue
        if fits[-1].mode.converged:
            return fits[-1]
    if not fits:
        raise failure or AssertionError
    return max(fits, key=lambda fit: fit.log_evidence)
