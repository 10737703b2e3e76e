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
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from posteriori.classification.classifier import ProbabilisticClassifier
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
from posteriori.estimators.ascent_arguments import check_ascent
from posteriori.estimators.estimator_rows import check_inputs
from posteriori.estimators.labelled_rows import (
    LabelledRows,
    check_known_labels,
    check_labelled_rows,
)
from posteriori.estimators.standardized import Standardization, standardize
from posteriori.inference.predictors.expectation_propagation import curvature_sites, fit_sites
from posteriori.inference.predictors.generalized_linear import Likelihood, LinearPredictor
from posteriori.inference.predictors.mode_finding import Mode
from posteriori.inference.predictors.normal_bound import fit_normal_bound, move_to_mean
from posteriori.inference.predictors.site_predictors import (
    SinglePredictor,
    SitePredictors,
    Sites,
    Tilt,
)
from posteriori.inference.predictors.softmax_averages import contrasts
from posteriori.inference.predictors.softmax_predictor import SoftmaxPredictor
from posteriori.inference.predictors.weight_belief import (
    WeightBelief,
    laplace_belief,
    row_moments,
)
from posteriori.numerics.evidence import Kind, LogEvidence
from posteriori.numerics.random import as_generator
from posteriori.numerics.types import Array, Seed
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

#: Numbers of draws × rows × classes that are worked on at a time.
_BLOCK = 1 << 20


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


class BayesianLinearClassifier(ProbabilisticClassifier):
    """What classifiers with normal beliefs about weights have in common.

    Subclasses state the likelihood of two classes, and all that concerns more of them.
    """

    #: How the predictor of two classes gives their probabilities.
    _link: ClassVar[Link]

    #: The approximations that the likelihood has; "polya-gamma" is for two classes.
    _approximations: ClassVar[tuple[str, ...]] = ("laplace",)

    #: Whether more than two classes can be learned.
    _several_classes: ClassVar[bool] = False

    def __init__(
        self,
        prior_precision: float = 1.0,
        approximation: str = "laplace",
        *,
        fit_intercept: bool = True,
        standardize: bool = True,
        class_weight: Any = None,
        tol: float = 1e-8,
        max_iter: int = 1000,
        hyperparameters: str = "fixed",
    ) -> None:
        self.prior_precision = prior_precision
        self.approximation = approximation
        self.hyperparameters = hyperparameters
        self.fit_intercept = fit_intercept
        self.standardize = standardize
        self.class_weight = class_weight
        self.tol = tol
        self.max_iter = max_iter

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = (
            self._several_classes and self.approximation != "polya-gamma"
        )
        return tags

    # -- the likelihood of two classes -------------------------------------------------------

    def _level(self, share: Array) -> Array:
        """Return the predictors (1,) or (K − 1,) with which classes have these shares (K,)."""
        return np.asarray(self._link.level(share[1:]))

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

    def _probabilities(self, design: Array, belief: WeightBelief) -> Array:
        """Return mean probabilities of the classes under a belief about the weights, (N, K)."""
        mean, variance = row_moments(design, belief.mean, belief.cov)
        return np.column_stack([self._link.mean(sign * mean, variance) for sign in (-1.0, 1.0)])

    def _log_probabilities(self, eta: Array) -> Array:
        """Return log probabilities of the classes (..., K) at predictors (..., 1) or (..., K − 1)."""
        return np.concatenate([self._link.log_prob(-eta), self._link.log_prob(eta)], axis=-1)

    # -- learning ----------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Find the posterior of the weights.

        Parameters
        ----------
        X : array_like (N, D)
        y : array_like (N,)
            Labels.
        sample_weight : array_like (N,), optional
            Frequencies: 2 equals a repeated row, 0 leaves it out.
        """
        self._check_parameters()
        rows = check_labelled_rows(self, X, y, sample_weight)
        self._check_classes(rows)
        how, design = self._columns(rows)
        size = n_predictors(len(rows.classes))
        mean = np.zeros((size, design.shape[1]))
        if self.fit_intercept:
            mean[:, 0] = self._level(rows.counts / rows.counts.sum())
        alpha = float(self.prior_precision)
        if self.hyperparameters == "type-II":
            alpha = likely_precision(
                lambda precision: self._density(design, rows, precision, mean.ravel(), None),
                mean.size,
                alpha,
                max_iter=self.max_iter,
            )
        self.prior_precision_ = alpha
        precision = np.full(mean.size, alpha)
        beliefs = self._beliefs(design, rows, precision, mean.ravel())
        self._keep(*beliefs, how, rows)
        self._warn(beliefs[0])
        return self

    def _beliefs(
        self, design: Array, rows: LabelledRows, precision: Array, mean: Array
    ) -> tuple[WeightBelief, WeightBelief, Kind]:
        """Return the approximate posterior, the belief behind statements about rows, and the kind."""
        limits: dict[str, Any] = {"tol": self.tol, "max_iter": self.max_iter}
        density_of = partial(self._density, design, rows, precision, mean)
        mode = density_mode(density_of(None), **limits)
        if self.approximation == "variational":
            belief = fit_normal_bound(density_of, mode, precision, **limits)
        elif self.approximation == "polya-gamma":
            start, sign = laplace_belief(mode, precision), class_signs(rows)
            assert self._link.augmented is not None  # else it is no approximation of this class
            belief = self._link.augmented(
                design, sign, precision, mean, rows.frequency, start=start, **limits
            )
        elif self.approximation == "ep":
            near = laplace_belief(mode, precision)
            if len(rows.classes) > 2:  # cavities of flat sites at a far mode would be too wide
                near = fit_normal_bound(density_of, mode, precision, tol=self.tol, max_iter=3)
            predictors, tilt, sites = self._sites(design, rows, near)
            belief, _ = fit_sites(predictors, tilt, precision, mean, start=sites, **limits)
        if self.approximation == "laplace" or not self._settled(belief):
            return (*self._laplace(density_of, mode, precision, rows), "laplace")
        return belief, belief, _KINDS[self.approximation]

    def _laplace(
        self, density_of: Any, mode: Mode, precision: Array, rows: LabelledRows
    ) -> tuple[WeightBelief, WeightBelief]:
        """Return Laplace's belief, and the same moved to the mean where the posterior is skewed."""
        belief = laplace_belief(mode, precision)
        effective = len(precision) - float(precision @ np.diagonal(belief.cov))
        if effective <= _SKEWED * rows.counts.sum():
            return belief, belief
        return belief, move_to_mean(belief, density_of, mode)

    def _settled(self, belief: WeightBelief) -> bool:
        """Tell whether the answer can be used: any bound that was raised, EP near its fixed point."""
        bound = self.approximation != "ep" and belief.n_iter > 0
        if bound or belief.converged or belief.step <= _UNSETTLED:
            return True
        warnings.warn(
            f"{type(self).__name__} did not converge in {belief.n_iter} steps of {self.approximation!r} "
            f"(the last one was of {belief.step:.2g} standard deviations): posterior and evidence are "
            "those of 'laplace'. Raise max_iter or prior_precision.",
            ConvergenceWarning,
            stacklevel=4,
        )
        return False

    def _columns(self, rows: LabelledRows) -> tuple[Standardization, Array]:
        if self.standardize:
            return standardize(rows.x, rows.frequency, intercept=self.fit_intercept)
        d = rows.x.shape[1]
        how = Standardization(np.zeros(d), np.ones(d), self.fit_intercept)
        return how, how.of(rows.x)

    def _check_parameters(self) -> None:
        check_ascent(self)
        if self.approximation not in self._approximations:
            raise ValueError(
                f"approximation must be one of {', '.join(map(repr, self._approximations))}, got "
                f"{self.approximation!r}"
            )
        if self.hyperparameters not in ("fixed", "type-II"):
            raise ValueError(
                f"hyperparameters must be 'fixed' or 'type-II', got {self.hyperparameters!r}"
            )

    def _check_classes(self, rows: LabelledRows) -> None:
        if len(rows.classes) > 2 and not self.__sklearn_tags__().classifier_tags.multi_class:
            remedy = " with approximation='ep'" if self._several_classes else ""
            raise ValueError(
                "Only binary classification is supported. The type of the target is multiclass: "
                f"{type(self).__name__} got {len(rows.classes)} classes; "
                f"BayesianLogisticRegression{remedy} takes more than two"
            )

    def _keep(
        self,
        belief: WeightBelief,
        corrected: WeightBelief,
        kind: Kind,
        how: Standardization,
        rows: LabelledRows,
    ) -> None:
        self.classes_ = rows.classes
        self._standardization = how
        self._weights, self._corrected = belief, corrected
        alpha, d = self.prior_precision_, len(how.scale)
        self.posterior_ = self._stated(belief)
        self.corrected_posterior_ = (
            self.posterior_ if corrected is belief else self._stated(corrected)
        )
        raw = self.posterior_.mean.reshape(-1, d + int(self.fit_intercept))
        self.coef_ = np.ascontiguousarray(raw[:, :d])
        self.intercept_ = raw[:, d].copy() if self.fit_intercept else np.zeros(len(raw))
        self.log_evidence_ = LogEvidence(
            belief.log_evidence,
            kind=kind if self.hyperparameters == "fixed" else "type-II",
            of="y|X",
            fingerprint=rows.fingerprint,
        )
        self.effective_parameters_ = float(len(belief.mean) - alpha * np.trace(belief.cov))
        self.n_iter_ = belief.n_iter

    def _stated(self, belief: WeightBelief) -> MvNormal:
        """Return a belief about standardised weights as one about those of the raw columns."""
        k, turn = len(self.classes_), self._standardization.turn()
        mean = class_weights(belief.mean, k) @ turn.T
        cov = turn_weights(belief.cov, np.eye(1) if k == 2 else contrasts(k), turn)
        if k > 2:  # what all predictors share is not seen: it keeps its prior
            shared = turn @ turn.T / (k * self.prior_precision_)
            cov += np.tile(shared, (k, k))
        return MvNormal(mean.ravel(), cov=cov)

    def _warn(self, belief: WeightBelief) -> None:
        if not belief.converged:
            warnings.warn(
                f"{type(self).__name__} did not converge in {belief.n_iter} steps: the last one was "
                f"of {belief.step:.2g} standard deviations. Raise max_iter or prior_precision.",
                ConvergenceWarning,
                stacklevel=3,
            )

    # -- predicting --------------------------------------------------------------------------

    def predictor(self, X: Any) -> Normal:
        """Return the posterior of the predictor of two classes for each row, a batch."""
        design = self._design(X)
        if len(self.classes_) > 2:
            raise ValueError(
                f"{len(self.classes_)} classes have several predictors each row: see posterior_"
            )
        mean, variance = row_moments(design, self._corrected.mean, self._corrected.cov)
        return Normal(mean, variance=variance)

    def decision_function(self, X: Any) -> Array:
        """Return the log odds of the second class (N,), or log probabilities of all (N, K)."""
        log_p = self.predict_log_proba(X)
        return log_p[:, 1] - log_p[:, 0] if len(self.classes_) == 2 else log_p

    def predict_proba(self, X: Any) -> Array:
        """Return the probabilities of the classes with the weights integrated out, (N, K)."""
        design = self._design(X)
        p = np.empty((len(design), len(self.classes_)))
        for rows in _row_blocks(len(design), p.shape[1] ** 2):
            p[rows] = self._probabilities(design[rows], self._corrected)
        return p

    # -- how the rows fare -------------------------------------------------------------------

    def log_likelihood_draws(self, X: Any, y: Any, size: int, rng: Seed = None) -> Array:
        """Return ln p(y_n | w_s) of rows under draws of the posterior, (S, N)."""
        design = self._design(X)
        codes = check_known_labels(self, design, y)
        draws = self._draw(size, as_generator(rng))
        found = np.empty((size, len(design)))
        for rows in _row_blocks(len(design), size * len(self.classes_)):
            log_p = self._log_probabilities(_predictors(draws, design[rows]))
            found[:, rows] = np.take_along_axis(log_p, codes[None, rows, None], axis=2)[..., 0]
        return found

    def sample_targets(self, X: Any, size: int = 1, rng: Seed = None) -> Any:
        """Draw whole new sets of labels at X from the posterior predictive, (S, N)."""
        design, generator = self._design(X), as_generator(rng)
        draws = self._draw(size, generator)
        codes, u = (
            np.zeros((size, len(design)), dtype=np.intp),
            generator.random((size, len(design))),
        )
        for rows in _row_blocks(len(design), size * len(self.classes_)):
            p = np.exp(self._log_probabilities(_predictors(draws, design[rows])))
            below = np.cumsum(p[..., :-1], axis=2)  # of the first class, the first two, …
            codes[:, rows] = (u[:, rows, None] >= below).sum(axis=2)
        return self.classes_[codes]

    def _draw(self, size: int, rng: np.random.Generator) -> Array:
        """Draw weights of standardised columns, (S, 1, P) or (S, K − 1, P)."""
        root = np.linalg.cholesky(self._corrected.cov)
        draws = self._corrected.mean + rng.standard_normal((size, len(root))) @ root.T
        return draws.reshape(size, n_predictors(len(self.classes_)), -1)

    def with_prior_scaled(self, factor: float) -> Self:
        """Return an unfitted copy whose prior has standard deviations ``factor`` times as large.

        A learned precision is first kept as it is.
        """
        alpha = self.prior_precision if self.hyperparameters == "fixed" else self.prior_precision_
        return clone(self).set_params(
            prior_precision=alpha / float(factor) ** 2, hyperparameters="fixed"
        )

    def _design(self, X: Any) -> Array:
        check_is_fitted(self)
        return self._standardization.of(check_inputs(self, X))


def _predictors(draws: Array, design: Array) -> Array:
    """Return the predictors (S, n, M) of rows under draws of the weights (S, M, P)."""
    s, m, p = draws.shape
    return (draws.reshape(s * m, p) @ design.T).reshape(s, m, -1).swapaxes(1, 2)


def _row_blocks(n: int, numbers_each: int) -> Iterator[slice]:
    """Yield slices of rows whose arrays stay small."""
    step = max(1, _BLOCK // max(numbers_each, 1))
    for first in range(0, n, step):
        yield slice(first, min(first + step, n))
