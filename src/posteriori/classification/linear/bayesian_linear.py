r"""Classification by linear predictors with a posterior over their weights.

On standardised columns every weight has the prior N(0, 1/α), and the intercept N(g(share), 1/α) around
the value that ignores all inputs. The posterior is approximated by a normal distribution, and class
probabilities are means over that of the predictors. Laplace's N(mode, A⁻¹) states the posterior; what is
said of rows comes from that moved to the mean: posteriors of few rows for their weights are skewed.

References: D. MacKay, "The evidence framework applied to classification networks", 1992; C. Bishop,
"Pattern recognition and machine learning", 2006, secs. 4.5, 10.6; M. Kuss & C. Rasmussen, "Assessing
approximate inference for binary Gaussian process classification", 2005.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from functools import cached_property, partial
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from posteriori.classification.classifier import ProbabilisticClassifier
from posteriori.classification.linear.class_effects import corrected_weights, learn_class_effects
from posteriori.classification.linear.learned_precision import likely_precision
from posteriori.classification.linear.linear_mode import (
    class_signs,
    class_weights,
    density_mode,
    n_predictors,
    single_density,
    turn_weights,
)
from posteriori.distributions.numbers.normal import Normal
from posteriori.distributions.vectors.mvnormal import MvNormal
from posteriori.estimators.labelled_rows import (
    LabelledRows,
    check_known_labels,
    check_labelled_rows,
)
from posteriori.estimators.linear_predictor import LearnedWeights, LinearPredictorEstimator
from posteriori.estimators.parameters import Constraint, one_of
from posteriori.estimators.standardized import Standardization, standardize
from posteriori.inference.effects.effect_layout import GroupedRows
from posteriori.inference.predictors.expectation_propagation import curvature_sites, fit_sites
from posteriori.inference.predictors.generalized_linear import Likelihood, LinearPredictor
from posteriori.inference.predictors.mode_finding import Mode
from posteriori.inference.predictors.normal_bound import fit_normal_bound, move_to_mean
from posteriori.inference.predictors.seen_directions import is_wide, seen_directions
from posteriori.inference.predictors.site_predictors import (
    SinglePredictor,
    SitePredictors,
    Sites,
    Tilt,
)
from posteriori.inference.predictors.softmax_averages import contrasts
from posteriori.inference.predictors.softmax_likelihood import SoftmaxLikelihood
from posteriori.inference.predictors.softmax_predictor import SoftmaxPredictor
from posteriori.inference.predictors.weight_belief import WeightBelief, laplace_belief
from posteriori.numerics.blocks.row_blocks import RowBlocks
from posteriori.numerics.evidence import Kind
from posteriori.numerics.types import Array
from posteriori.numerics.validation import width_factor
from posteriori.numerics.warnings import ConvergenceWarning

__all__ = ["BayesianLinearClassifier", "Link"]

#: What kind of evidence each approximation gives, where it is not Laplace's.
_KINDS: dict[str, Kind] = {
    "variational": "bound",
    "polya-gamma": "bound",
    "ep": "ep",
}

#: With fewer effective parameters for each row than this, Laplace's posterior is not skewed.
_SKEWED = 1e-3

#: Expectation propagation whose last step was longer, in standard deviations, has no answer.
_UNSETTLED = 0.01


def _passes_over_rows(estimator: Any) -> bool:
    """Tell whether rows are only summed over, pass by pass."""
    return bool(estimator.method == "laplace")


class Link(NamedTuple):
    """How a predictor η gives the probability p of the second of two classes.

    Attributes
    ----------
    curve, tilt : callable
        From the signs of rows to their likelihood, and to its moments under cavities.
    mean : callable
        From means and variances of η to mean probabilities.
    log_prob, level : callable
        From η to ln p, and from p to η.
    augmented : callable, optional
        Fits a belief by latent variables that make the likelihood normal, where it has them.
    """

    curve: Callable[[Array], Likelihood]
    tilt: Callable[[Array], Tilt]
    mean: Callable[[Array, Array], Array]
    log_prob: Callable[[Array], Array]
    level: Callable[[Array], Array]
    augmented: Callable[..., WeightBelief] | None = None


class BayesianLinearClassifier(ProbabilisticClassifier, LinearPredictorEstimator):
    """What classifiers with normal beliefs about weights have in common.

    Subclasses state the likelihood of two classes, all that concerns more of them, and which
    approximations there are ("polya-gamma" is for two classes).
    """

    #: How the predictor of two classes gives their probabilities.
    _link: ClassVar[Link]

    #: Whether more than two classes can be learned.
    _several_classes: ClassVar[bool] = False

    _constraints: ClassVar[Mapping[str, Constraint]] = {
        **LinearPredictorEstimator._constraints,
        "hyperparameters": one_of("fixed", "type-II"),
    }

    def __init__(
        self,
        prior_precision: float = 1.0,
        method: str = "laplace",
        *,
        fit_intercept: bool = True,
        standardize: bool = True,
        class_weight: Any = None,
        tol: float = 1e-8,
        max_iter: int = 1000,
        hyperparameters: str = "fixed",
        groups: Any = None,
    ) -> None:
        self.prior_precision = prior_precision
        self.method = method
        self.hyperparameters = hyperparameters
        self.fit_intercept = fit_intercept
        self.standardize = standardize
        self.class_weight = class_weight
        self.tol = tol
        self.max_iter = max_iter
        self.groups = groups

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = self._several_classes and self.method != "polya-gamma"
        return tags

    # -- the likelihood of two classes -------------------------------------------------------

    def _level(self, share: Array) -> Array:
        """Return the predictors (1,) or (K − 1,) with which classes have these shares (K,)."""
        return np.asarray(self._link.level(share[1:]))

    def _likelihood(self, rows: LabelledRows) -> Likelihood | SoftmaxLikelihood:
        """Return the likelihood of labels as a function of the predictors of rows."""
        return self._link.curve(class_signs(rows))

    def _density(
        self, design: Array, rows: LabelledRows, precision: Array, mean: Array, cov: Array | None
    ) -> LinearPredictor | SoftmaxPredictor:
        """Return the log posterior; with a covariance, its likelihoods averaged over predictors."""
        curve = self._link.curve(class_signs(rows))
        return single_density(design, curve, rows, precision, mean, cov)

    def _sites(
        self, design: Array, rows: LabelledRows, near: WeightBelief
    ) -> tuple[SitePredictors, Tilt, Sites]:
        """Return what expectation propagation needs, with sites from a belief that is near."""
        sign, eta = class_signs(rows), design @ near.mean
        start = curvature_sites(self._link.curve(sign)(eta, 0.0, slice(None)), eta)
        return SinglePredictor(design, rows.frequency), self._link.tilt(sign), start

    def _probabilities(self, design: Any, belief: WeightBelief) -> Array:
        """Return mean probabilities of the classes under a belief about the weights, (N, K)."""
        mean, variance = self._moments(design, belief)
        return np.column_stack([self._link.mean(sign * mean, variance) for sign in (-1.0, 1.0)])

    def _log_probabilities(self, eta: Array) -> Array:
        """Return log probabilities of the classes (..., K) at predictors (..., 1) or (..., K − 1)."""
        return np.concatenate([self._link.log_prob(-eta), self._link.log_prob(eta)], axis=-1)

    # -- learning ----------------------------------------------------------------------------

    @available_if(_passes_over_rows)
    def fit_blocks(self, X: RowBlocks, y: Any) -> Self:
        """Find the posterior of the weights from rows that are made when they are read.

        Each pass over them makes them anew, so that no matrix of all inputs is held.

        Parameters
        ----------
        X : RowBlocks (N, D)
        y : array_like (N,)
        """
        return self.fit(X, y)

    def _read_rows(self, X: Any, y: Any, sample_weight: Any) -> LabelledRows:
        rows = check_labelled_rows(self, X, y, sample_weight, class_weight=self.class_weight)
        if len(rows.classes) > 2 and not self.__sklearn_tags__().classifier_tags.multi_class:
            remedy = " with method='ep'" if self._several_classes else ""
            raise ValueError(
                "Only binary classification is supported. The type of the target is multiclass: "
                f"{type(self).__name__} got {len(rows.classes)} classes; "
                f"BayesianLogisticRegression{remedy} takes more than two"
            )
        if rows.levels is not None:
            self._require_groups_suit()
        return rows

    def _require_groups_suit(self) -> None:
        if self.method != "laplace":
            raise ValueError(
                f"groups need method='laplace', got {self.method!r}: the spreads are "
                "chosen by its evidence"
            )

    def _learn(self, rows: LabelledRows) -> LearnedWeights:
        if rows.levels is not None:
            return self._learn_groups(rows)
        how, design = self._columns(rows)
        mean = np.zeros((n_predictors(len(rows.classes)), design.shape[1]))
        if self.fit_intercept:
            mean[:, 0] = self._level(rows.counts / rows.counts.sum())
        centre, seen = mean.ravel(), seen_directions(design[:]) if is_wide(rows.x) else None
        if seen is not None:
            design, mean = seen.rows, seen.of(centre)
        alpha = float(self.prior_precision)
        if self.hyperparameters == "type-II":
            alpha = likely_precision(
                lambda precision: self._density(design, rows, precision, mean.ravel(), None),
                mean.size,
                alpha,
                max_iter=self.max_iter,
            )
        precision = np.full(mean.size, alpha)
        belief, corrected, kind = self._beliefs(design, rows, precision, mean.ravel())
        if seen is not None:
            same, belief = corrected is belief, seen.widened(belief, centre, alpha)
            corrected = belief if same else seen.widened(corrected, centre, alpha)
        self.prior_precision_, self.classes_ = alpha, rows.classes
        self._standardization, self._corrected = how, corrected
        fixed = self.hyperparameters == "fixed"
        prior = (centre, precision) if seen is None else None
        return LearnedWeights(belief, precision, kind if fixed else "type-II", prior=prior)

    def _learn_groups(self, rows: LabelledRows) -> LearnedWeights:
        self._standardization, design = self._columns(rows)
        share = rows.counts / rows.counts.sum()
        level = self._level(share)
        learned = learn_class_effects(
            GroupedRows(design, rows.levels),
            self._likelihood(rows),
            level if self.fit_intercept else np.zeros_like(level),
            float(self.prior_precision),
            rows.frequency,
            learn_precision=self.hyperparameters == "type-II",
            tol=self.tol,
            max_iter=self.max_iter,
        )
        self.prior_precision_ = float(learned.precision[0]) if len(learned.precision) else 1.0
        self.classes_, self._corrected = rows.classes, corrected_weights(learned)
        return learned

    def _beliefs(
        self, design: Array, rows: LabelledRows, precision: Array, mean: Array
    ) -> tuple[WeightBelief, WeightBelief, Kind]:
        """Return the approximate posterior, the belief behind statements about rows, and the kind."""
        limits: dict[str, Any] = {"tol": self.tol, "max_iter": self.max_iter}
        density_of = partial(self._density, design, rows, precision, mean)
        mode = density_mode(density_of(None), **limits)
        if self.method == "variational":
            belief = fit_normal_bound(density_of, mode, precision, **limits)
        elif self.method == "polya-gamma":
            start, sign = laplace_belief(mode, precision), class_signs(rows)
            assert self._link.augmented is not None  # else it is no approximation of this class
            belief = self._link.augmented(
                design, sign, precision, mean, rows.frequency, start=start, **limits
            )
        elif self.method == "ep":
            near = laplace_belief(mode, precision)
            if len(rows.classes) > 2:  # cavities of flat sites at a far mode would be too wide
                near = fit_normal_bound(density_of, mode, precision, tol=self.tol, max_iter=3)
            predictors, tilt, sites = self._sites(design, rows, near)
            belief, _ = fit_sites(predictors, tilt, precision, mean, start=sites, **limits)
        if self.method == "laplace" or not self._settled(belief):
            return (*self._laplace(density_of, mode, precision, rows), "laplace")
        return belief, belief, _KINDS[self.method]

    def _laplace(
        self, density_of: Any, mode: Mode, precision: Array, rows: LabelledRows
    ) -> tuple[WeightBelief, WeightBelief]:
        """Return Laplace's belief, and the same moved to the mean where the posterior is skewed."""
        belief = laplace_belief(mode, precision)
        effective = len(precision) - float(precision @ np.diagonal(belief.cov))
        if effective <= _SKEWED * rows.counts.sum():
            return belief, belief
        try:
            return belief, move_to_mean(belief, density_of, mode)
        except np.linalg.LinAlgError:  # only the bend at the mode is definite
            return belief, belief

    def _settled(self, belief: WeightBelief) -> bool:
        """Tell whether the answer can be used: any bound that was raised, EP near its fixed point."""
        bound = self.method != "ep" and belief.n_iter > 0
        if bound or belief.converged or belief.step <= _UNSETTLED:
            return True
        warnings.warn(
            f"{type(self).__name__} did not converge in {belief.n_iter} steps of {self.method!r} "
            f"(the last one was of {belief.step:.2g} standard deviations): posterior and evidence are "
            "those of 'laplace'. Raise max_iter or prior_precision.",
            ConvergenceWarning,
            stacklevel=5,
        )
        return False

    def _columns(self, rows: LabelledRows) -> tuple[Standardization, Array]:
        if self.standardize:
            return standardize(rows.x, rows.frequency, intercept=self.fit_intercept)
        d = rows.x.shape[1]
        how = Standardization(np.zeros(d), np.ones(d), self.fit_intercept)
        if isinstance(rows.x, RowBlocks):
            return how, rows.x.standardized(how.mean, how.scale, ones=self.fit_intercept)
        return how, how.of(rows.x)

    def _state(self, belief: WeightBelief) -> MvNormal:
        k, turn = len(self.classes_), self._standardization.turn()
        mean = class_weights(belief.mean, k) @ turn.T
        cov = turn_weights(belief.cov, np.eye(1) if k == 2 else contrasts(k), turn)
        if k > 2:  # what all predictors share is not seen: it keeps its prior
            shared = turn @ turn.T / (k * self.prior_precision_)
            cov += np.tile(shared, (k, k))
        return MvNormal(mean.ravel(), cov=cov)

    def _name_weights(self) -> None:
        self.__dict__.pop("corrected_posterior_", None)  # of an earlier fit
        d, weights = (
            len(self._standardization.scale),
            class_weights(self._weights.mean, len(self.classes_)),
        )
        raw = self._standardization.raw_weights(weights)
        self.coef_ = np.ascontiguousarray(raw[:, :d])
        self.intercept_ = raw[:, d].copy() if self.fit_intercept else np.zeros(len(raw))

    def _targets_of(self, rows: LabelledRows) -> Any:
        return rows.codes

    def _named_weights(self, draws: Array) -> dict[str, Array]:
        k, d = len(self.classes_), len(self._standardization.scale)
        each = draws.reshape(len(draws), n_predictors(k), -1)
        raw = self._standardization.raw_weights(each if k == 2 else contrasts(k) @ each)
        return {"coef": raw[..., :d]} | ({"intercept": raw[..., d]} if self.fit_intercept else {})

    @cached_property
    def corrected_posterior_(self) -> MvNormal:
        """What probabilities, predictors and draws come from, in the units of raw columns."""
        check_is_fitted(self)
        same = self._corrected is self._weights
        return self.posterior_ if same else self._state(self._corrected.dense())

    # -- predicting --------------------------------------------------------------------------

    def predictor(self, X: Any) -> Normal:
        """Return the posterior of the predictor of two classes for each row, a batch."""
        design = self._design(X)
        if len(self.classes_) > 2:
            raise ValueError(
                f"{len(self.classes_)} classes have several predictors each row: see posterior_"
            )
        mean, variance = self._moments(design, self._corrected)
        return Normal(mean, variance=variance)

    def decision_function(self, X: Any) -> Array:
        """Return the log odds of the second class (N,), or log probabilities of all (N, K)."""
        log_p = self.predict_log_proba(X)
        return log_p[:, 1] - log_p[:, 0] if len(self.classes_) == 2 else log_p

    def predict_proba(self, X: Any) -> Array:
        """Return the probabilities of the classes with the weights integrated out, (N, K)."""
        design = self._design(X)
        parts = [
            self._probabilities(design[rows], self._corrected)
            for rows in self._slices(design, len(self.classes_))
        ]
        return np.concatenate(parts)

    # -- how the rows fare, and the prior ----------------------------------------------------

    def _known_rows(self, X: Any, y: Any) -> tuple[Any, Any]:
        design = self._design(X)
        return design, check_known_labels(self, design, y)

    def _log_likelihood(self, draws: Array, design: Array, targets: Any) -> Array:
        log_p = self._log_probabilities(self._predictors(draws, design))
        return np.take_along_axis(log_p, targets[None, :, None], axis=2)[..., 0]

    def _draw_targets(self, draws: Array, design: Array, rng: np.random.Generator) -> Any:
        p = np.exp(self._log_probabilities(self._predictors(draws, design)))
        below = np.cumsum(p[..., :-1], axis=2)  # of the first class, the first two, …
        return self.classes_[(rng.random((*p.shape[:2], 1)) >= below).sum(axis=2)]

    def _predictors(self, draws: Array, design: Any) -> Array:
        """Return the predictors (S, n, M) of rows under draws of M weight vectors (S, M P)."""
        if self._effects is not None:
            eta = self._effects.belief.drawn_predictors(draws, design)
            return eta if len(self.classes_) > 2 else eta[..., None]
        s, p = len(draws), design.shape[1]
        return (draws.reshape(-1, p) @ design.T).reshape(s, -1, len(design)).swapaxes(1, 2)

    @property
    def _drawn_from(self) -> WeightBelief:
        return self._corrected

    @property
    def _n_outputs(self) -> int:
        return len(self.classes_)

    def with_prior_scaled(self, factor: float) -> Self:
        """Return an unfitted copy whose prior has standard deviations ``factor`` times as large.

        A learned precision is first kept as it is.
        """
        alpha = self.prior_precision if self.hyperparameters == "fixed" else self.prior_precision_
        return clone(self).set_params(
            prior_precision=float(alpha / width_factor(factor) ** 2), hyperparameters="fixed"
        )
