r"""Bayesian linear regression: posterior, evidence and predictions in closed form.

.. math:: y_n = b + w^Tx_n + \varepsilon_n,\qquad \varepsilon_n \sim N(0, v_n\sigma^2),\qquad
          w \sim N(m_0, S_0)

.. math:: S_N^{-1} = S_0^{-1} + \beta X^TX,\qquad m_N = S_N(S_0^{-1}m_0 + \beta X^Ty),\qquad
          y_* \sim N(m_N^Tx_*,\ \beta^{-1} + x_*^TS_Nx_*)

Reference: C. Bishop, "Pattern Recognition and Machine Learning", 2006, ch. 3.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import RegressorMixin, clone
from sklearn.utils.metaestimators import available_if

from posteriori.estimators.approximate_posterior import ApproximatePosterior
from posteriori.estimators.base.base_estimator import BaseEstimator
from posteriori.estimators.contract import copy_columns
from posteriori.estimators.estimator_rows import (
    Rows,
    check_grouped_inputs,
    check_noise_variance,
    check_rows,
    has_groups,
)
from posteriori.estimators.parameters import check_parameters
from posteriori.numerics.blocks.row_blocks import RowBlocks
from posteriori.numerics.evidence import Fingerprint
from posteriori.numerics.least_squares.regression_statistics import regression_statistics
from posteriori.numerics.random import as_generator
from posteriori.numerics.special import LOG_2PI
from posteriori.numerics.types import Array, Seed
from posteriori.numerics.validation import width_factor
from posteriori.regression.bayesian.grouped_learning import learn_groups
from posteriori.regression.bayesian.learned_attributes import (
    LearnedAttributes,
    marginals_of_weights,
)
from posteriori.regression.bayesian.learning import Learned
from posteriori.regression.bayesian.left_out_rows import (
    expected_log_likelihood,
    leave_one_out_log_density,
)
from posteriori.regression.bayesian.priors import CONSTRAINTS, check_prior, scaled_prior

__all__ = ["BayesianLinearRegressor"]


def _prior_is_kept(estimator: Any) -> bool:
    """Tell whether the prior does not depend on each row through chosen hyper-parameters."""
    return estimator.hyperparameters in ("fixed", "grid") and not has_groups(estimator)


def _rows_add_up(estimator: Any) -> bool:
    """Tell whether sums over rows are all that is learned from: spreads need the rows of levels."""
    return not has_groups(estimator)


def _or_one(variance: Array | None) -> Array | float:
    return 1.0 if variance is None else variance


class BayesianLinearRegressor(
    ApproximatePosterior, LearnedAttributes, RegressorMixin, BaseEstimator
):
    """Linear regression with a normal prior, its evidence and calibrated predictions.

    Without arguments the prior is proper on standardised columns (unit information) and the noise
    is integrated out, so that evidences compare without a choice to make.

    Parameters
    ----------
    prior_precision : float, (D,), (D, D) or None
        Precision of the weights: in the units of the data when ``noise_precision`` is known,
        otherwise in units of the noise precision (w | σ² ~ N(m₀, σ²Λ⁻¹)). 0 is flat, p(w | σ²) ∝ 1:
        with the defaults of the intercept and the noise the posterior has the t intervals of least
        squares, with as many degrees of freedom as rows less weights; it has no evidence. inf fixes
        weights at their prior mean. None is one per standardised column, in units of the noise
        precision.
    prior_mean : float, (D,) or None
        m₀; None is 0.
    noise_precision : float or None
        β = 1/σ² if it is known; None learns it.
    hyperparameters : {"fixed", "type-II", "ard", "grid", "learned", "sparse"}
        "fixed": the prior above. "type-II": one precision α of all weights, and β, of highest
        evidence. "ard": a precision for each weight; columns that the evidence does not want are
        pruned. "grid": α and β integrated under gamma hyper-priors. "learned": "type-II" for more
        than 100 rows; for fewer, where intervals at one scale would be too narrow, the scale
        (β/α)^½ of the D weights in units of the noise is integrated under a half-Cauchy prior of width
        D^(−½). "sparse": "ard" for more than 100 rows; for fewer, columns join one by one, and the sets
        that this comes by are averaged over, each set of k of the D with a prior proportional to 1/C(D, k)
        and an integrated scale. With no fewer columns than
        rows the evidence of "type-II" and "ard" would grow without end as the noise vanishes:
        there it is multiplied by exp(−β ``noise_scale``), and for "ard" each set of k of the D
        columns has a prior proportional to 1/C(D, k), since otherwise they would fit the noise.
    fit_intercept : bool
        Whether a constant stands beside the columns.
    intercept_mean : float or None
        Prior mean of the value at the column means; None is the mean of y.
    intercept_precision : float or None
        Its precision, in the same units as ``prior_precision``; None is one row's worth, or 0 beside
        flat weights; for "learned" and "sparse" with few rows, where no mean is given either, the
        value is uniform within two standard deviations of y around their mean. 0 is flat: such evidences compare only with their like, since one degree of
        freedom of y is left out.
    standardize : bool
        Whether the default prior, α and the hyper-priors speak of standardised columns.
    noise_shape, noise_scale : float or None
        Inverse-gamma prior of σ² where it is integrated; None is 1 and var(y)/200, a noise of one
        hundredth of the variance that counts as one row (a quarter of one for "learned" and
        "sparse" with few rows), or beside
        flat weights p(σ²) ∝ 1/σ².
    precision_shape, precision_rate : float, float or None
        Gamma hyper-prior of α for "grid"; None is var(y)/200, so that α/β has median 1.
    missing : {"error", "drop"}
        What NaN in y means: an error, or a missing target, whose row says nothing.
    solver : {"newton", "fixed-point"}
        How "type-II" climbs: a scan with Newton's method, or MacKay's updates.
    groups : sequence of str or int, optional
        Columns of X, by name or number, whose entries name groups: texts, categories or codes. Each
        level has an effect N(0, σ_c²) on the intercept, with one spread σ_c for each column that the
        evidence chooses. Rare levels stay near the mean, and a level that was not seen has the width
        of the spread. A missing entry is a level of its own.
    own_scale : sequence of int, optional
        Numbers of columns, those of groups not counted, whose weights have a scale of their own, for
        "learned" and "type-II": say, what bends beside straight lines. Of the variance that all columns
        add to the targets a priori they have a share of 0, 1/64, 1/16, 1/4, 1/2 or 3/4, all equally
        likely, and summed over; of what is chosen given a share, that of the most probable is told.

    Attributes
    ----------
    coef_ : (D,)
        Posterior means of the weights, of the columns that hold no groups.
    intercept_ : float
    posterior_ : MvNormal, VectorNormalInverseGamma or Mixture
        Of the weights, the intercept last if there is one.
    log_evidence_ : LogEvidence
        ln p(y | X); kind "type-II" where hyper-parameters were chosen by it.
    effective_parameters_ : float
        γ, how many weights the data determine.
    noise_variance_ : float
        Posterior mean of σ², or its known or chosen value.
    prior_precision_ : float or (D,)
        Learned α of "type-II" and "ard" (infinite for pruned columns), and of "learned" where it is
        chosen.
    noise_precision_ : float
        Known or chosen β.
    hyper_posterior_ : HyperGrid
        Nodes and weights of the integral over α/β, for "grid", and "learned" with few rows.
    group_effects_ : dict of GroupEffects
        By column: levels, means and standard deviations of their effects, and the spread.
    n_iter_ : int
    n_features_in_, feature_names_in_

    Examples
    --------
    >>> import numpy as np
    >>> x = np.array([-0.5, 0.5, 0.8])
    >>> Phi = np.column_stack([np.ones(3), x])
    >>> model = BayesianLinearRegressor(2.0, noise_precision=25.0, fit_intercept=False)
    >>> model.fit(Phi, -0.3 + 0.5 * x).coef_
    array([-0.28034385,  0.45432384])
    >>> model.log_evidence_
    LogEvidence(-1.334027, kind="exact", of="y|X")
    >>> model.predict_dist([[1.0, 0.2]]).std.round(4)
    array([0.2305])
    """

    _constraints = CONSTRAINTS

    def __init__(
        self,
        prior_precision: Any = None,
        *,
        prior_mean: Any = None,
        noise_precision: float | None = None,
        hyperparameters: str = "fixed",
        fit_intercept: bool = True,
        intercept_mean: float | None = None,
        intercept_precision: float | None = None,
        standardize: bool = True,
        noise_shape: float | None = None,
        noise_scale: float | None = None,
        precision_shape: float = 1.0,
        precision_rate: float | None = None,
        missing: str = "error",
        solver: str = "newton",
        groups: Any = None,
        own_scale: Any = None,
    ) -> None:
        self.prior_precision = prior_precision
        self.prior_mean = prior_mean
        self.noise_precision = noise_precision
        self.hyperparameters = hyperparameters
        self.fit_intercept = fit_intercept
        self.intercept_mean = intercept_mean
        self.intercept_precision = intercept_precision
        self.standardize = standardize
        self.noise_shape = noise_shape
        self.noise_scale = noise_scale
        self.precision_shape = precision_shape
        self.precision_rate = precision_rate
        self.missing = missing
        self.solver = solver
        self.groups = groups
        self.own_scale = own_scale

    # -- learning --------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None, noise_variance: Any = None) -> Self:
        """Learn from rows.

        Parameters
        ----------
        X : (N, D)
        y : (N,)
        sample_weight : (N,), optional
            How often each row counts: equal to repeated rows.
        noise_variance : (N,), optional
            Noise variance of each row, relative to σ² (absolute with ``noise_precision=1``).

        Notes
        -----
        Costs O(N D² + D³).
        """
        learned = self._summarise(X, y, sample_weight, noise_variance, known=None)
        _ = learned.solution  # errors and warnings belong here
        self._learned = learned
        return self

    @available_if(has_groups)
    def fit_blocks(self, X: RowBlocks, y: Any) -> Self:
        """Learn from rows that are made when they are read; without groups there is partial_fit."""
        return self.fit(X, y)

    @available_if(_rows_add_up)
    def partial_fit(
        self, X: Any, y: Any, sample_weight: Any = None, noise_variance: Any = None
    ) -> Self:
        """Learn from further rows: the same as one fit to all of them.

        Only sums are kept, and the posterior is solved for when it is first asked for.
        """
        known = self.__dict__.get("_learned")
        self._learned = self._summarise(X, y, sample_weight, noise_variance, known=known)
        return self

    @available_if(_rows_add_up)
    def merge(self, other: BayesianLinearRegressor) -> BayesianLinearRegressor:
        """Return the model that has seen the data of both; parameters are those of this one."""
        mine, theirs = self._fitted(), other._fitted()
        if mine.statistics.n_inputs != theirs.statistics.n_inputs:
            raise ValueError(
                f"models of {mine.statistics.n_inputs} and {theirs.statistics.n_inputs} columns "
                "cannot be merged"
            )
        if mine.statistics.centred != theirs.statistics.centred:
            raise ValueError("a model with an intercept and one without cannot be merged")
        both = clone(self)
        copy_columns(self, both)
        both._learned = mine.merge(theirs)
        return both

    def _summarise(
        self, X: Any, y: Any, sample_weight: Any, noise_variance: Any, *, known: Learned | None
    ) -> Learned:
        """Return what rows say, together with what is known from earlier ones."""
        if known is None:
            check_parameters(self)
        rows = check_rows(
            self,
            X,
            y,
            sample_weight=sample_weight,
            noise_variance=noise_variance,
            missing=self.missing,
            reset=known is None,
        )
        prior = check_prior(self, rows.x.shape[1]) if known is None else known.prior
        before = Fingerprint() if known is None else known.fingerprint
        fingerprint = before.update(rows.y, rows.frequency)
        if rows.codes is not None:
            return learn_groups(rows, prior, fingerprint)
        statistics = regression_statistics(
            rows.x,
            rows.y[:, None],
            frequency=rows.frequency,
            variance=rows.variance,
            centre=prior.fit_intercept,
            earlier=None if known is None else known.statistics,
        )
        return Learned(prior, statistics, fingerprint)

    # -- predictions -----------------------------------------------------------------------

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Return the expected targets (N,), with ``return_std`` also their standard deviations."""
        belief = self._belief
        x = check_grouped_inputs(self, X)
        if not return_std:
            return belief.values(x) @ belief.probabilities
        mean, variance = belief.mean_variance(x, 1.0)
        return mean, np.sqrt(variance)

    def predict_dist(
        self, X: Any, *, joint: bool = False, noise: bool = True, noise_variance: Any = None
    ) -> Any:
        """Return the distribution of the targets.

        Parameters
        ----------
        X : (N, D)
        joint : bool
            One distribution of all N targets instead of N of one target each.
        noise : bool
            False leaves the noise out: the distribution of the function itself.
        noise_variance : (N,), optional
            Noise variance of each row, relative to σ²; 1 by default.

        Returns
        -------
        Normal or MvNormal
            Where the noise is known or chosen by evidence.
        StudentT or MvStudentT
            Where it is integrated out.
        Mixture
            Of these, for hyperparameters="grid", and "learned" with few rows.
        """
        belief = self._belief
        x = check_grouped_inputs(self, X)
        level: Array | float = 1.0 if noise else 0.0
        if noise_variance is not None:
            level = level * check_noise_variance(noise_variance, len(x))
        return belief.predict_jointly(x, level) if joint else belief.predict(x, level)

    def function_covariance(self, X: Any, other: Any = None) -> Array:
        """Return the posterior covariance of the function's values at X and ``other`` (N, N').

        It is that of the noise-free function, σ² φ(x)ᵀA⁻¹φ(x'), with the posterior mean of σ².
        """
        belief = self._belief
        x = check_grouped_inputs(self, X)
        return belief.covariance(x, x if other is None else check_grouped_inputs(self, other))

    @available_if(_rows_add_up)
    def equivalent_kernel(self, X: Any, X_train: Any, noise_variance: Any = None) -> Array:
        r"""Return how much each training target counts in each prediction: (N, N_train).

        .. math:: k(x, x_n) = \tfrac1{v_n}\{(x-\bar x)^TA^{-1}(x_n-\bar x) + 1/\kappa\},\qquad
                  E[f(x)] = \sum_n k(x, x_n)\,y_n

        for prior means of 0 (an intercept's prior around the mean of y counts as data: 1/W).

        Parameters
        ----------
        X : (N, D)
        X_train : (N_train, D)
            The rows that the model was fitted to.
        noise_variance : (N_train,), optional
            As it was given to ``fit``.
        """
        learned = self._fitted()
        belief = learned.solution.belief
        x, rows = check_grouped_inputs(self, X), check_grouped_inputs(self, X_train)
        kernel = np.tensordot(belief.probabilities, belief.co_spread(x, rows), axes=1)
        if belief.level_precision is not None and learned.prior.intercept_mean is None:
            kernel += 1.0 / learned.statistics.weight - 1.0 / belief.level_precision
        if noise_variance is None:
            return kernel
        return kernel / check_noise_variance(noise_variance, len(rows))

    def sample_weights(self, size: int = 1, rng: Seed = None) -> Array:
        """Draw weights from the posterior: (S, D), or (S, D + 1) with the intercept last."""
        belief = self._belief
        weights, intercepts, _ = belief.sample(size, as_generator(rng))
        return weights if belief.level_precision is None else np.column_stack([weights, intercepts])

    def _beliefs_of_parameters(self, size: int, rng: Seed) -> dict[str, Any]:
        return marginals_of_weights(self._belief, size, rng)

    def _drawn_parameters(self, size: int, rng: Seed) -> tuple[dict[str, Array], None]:
        weights, levels, noise = self._belief.sample(size, as_generator(rng))
        level = {} if self._belief.level_precision is None else {"intercept": levels}
        return {"coef": weights, **level, "noise_variance": noise}, None

    def sample_functions(self, X: Any, size: int = 1, rng: Seed = None) -> Array:
        """Draw functions from the posterior and return their values at X: (S, N)."""
        values, _ = self._belief.sample_values(
            check_grouped_inputs(self, X), size, as_generator(rng)
        )
        return values

    # -- how the rows fare -----------------------------------------------------------------

    @available_if(_prior_is_kept)
    def leave_one_out_log_density(self, X: Any, y: Any, noise_variance: Any = None) -> Array:
        """Return ln p(y_n | all other rows) of the rows that the model was fitted to, (N,).

        In closed form, with the prior as it is: exact for hyperparameters="fixed" and "grid",
        and not offered where all rows have chosen the hyper-parameters.
        """
        rows = self._seen_rows(X, y, noise_variance)
        return leave_one_out_log_density(self._belief, rows.inputs, rows.y, _or_one(rows.variance))

    def expected_log_likelihood(self, X: Any, y: Any, noise_variance: Any = None) -> Array:
        """Return E[ln p(y_n | w, σ²)] under the posterior, (N,): how well each row is fitted."""
        rows = self._seen_rows(X, y, noise_variance)
        return expected_log_likelihood(self._belief, rows.inputs, rows.y, _or_one(rows.variance))

    def log_likelihood_draws(
        self, X: Any, y: Any, size: int, rng: Seed = None, noise_variance: Any = None
    ) -> Array:
        """Return ln p(y_n | θ_s) of rows under draws of the posterior, (S, N)."""
        rows = self._seen_rows(X, y, noise_variance)
        values, noise = self._belief.sample_values(rows.inputs, size, as_generator(rng))
        variance = noise[:, None] * _or_one(rows.variance)
        return -0.5 * (LOG_2PI + np.log(variance) + (rows.y - values) ** 2 / variance)

    def sample_targets(self, X: Any, size: int = 1, rng: Seed = None) -> Array:
        """Draw whole new sets of targets at X from the posterior predictive, (S, N)."""
        generator = as_generator(rng)
        values, noise = self._belief.sample_values(check_grouped_inputs(self, X), size, generator)
        return values + np.sqrt(noise)[:, None] * generator.standard_normal(values.shape)

    def with_prior_scaled(self, factor: float) -> BayesianLinearRegressor:
        """Return an unfitted copy whose prior has standard deviations ``factor`` times as large.

        Those of the weights and of the intercept; what the data of this fit have set in the prior
        is kept. Hyper-parameters that are chosen by evidence leave only the intercept's.
        """
        learned = self._fitted()
        scaled = scaled_prior(learned.statistics, learned.prior, width_factor(factor))
        return clone(self).set_params(**scaled)

    def _seen_rows(self, X: Any, y: Any, noise_variance: Any) -> Rows:
        return check_rows(
            self, X, y, noise_variance=noise_variance, missing=self.missing, reset=False
        )
