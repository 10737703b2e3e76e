r"""Mixtures of linear experts: each row follows one of several regressions, and a gate says which.

.. math:: p(y\mid x) = \sum_k g_k(x)\,\mathcal N(y\mid b_k + w_k^Tx, \sigma_k^2),\qquad
          g(x) = \mathrm{softmax}(c + Vx).

With a constant gate it is a mixture of regressions; without inputs, a mixture of normals.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from posteriori.distributions.composites.mixture import Mixture
from posteriori.distributions.numbers.normal import Normal
from posteriori.estimators.base.base_estimator import BaseEstimator
from posteriori.estimators.estimator_rows import Rows, check_inputs, check_rows
from posteriori.estimators.parameters import AT_LEAST_ONE, POSITIVE, check_parameters, one_of
from posteriori.estimators.standardized import Standardization, measure
from posteriori.inference.predictors.softmax_averages import contrasts
from posteriori.mixture.experts.expert_learning import (
    ExpertRows,
    Experts,
    LearnedExperts,
    learn_experts,
    log_gates,
    log_prior,
)
from posteriori.mixture.experts.expert_starts import expert_starts
from posteriori.numerics.logspace import log_softmax, softmax
from posteriori.numerics.random import as_generator
from posteriori.numerics.types import Array

__all__ = ["MixtureOfExperts"]

_COUNT = AT_LEAST_ONE._replace(words="be a whole number, at least 1", whole=True)


class MixtureOfExperts(RegressorMixin, BaseEstimator):
    r"""Linear regressions with own noise, one of which a gate chooses for each row.

    The parameters are those of highest posterior density, by expectation–maximisation. Priors are
    proper and weak, on standardised columns and targets: weights and levels of experts N(0, 1), noise
    variances Inv-Gamma(1, 1/200), weights of the gate N(0, 3²). No noise variance falls below 1e-6 of
    that of y.

    Parameters
    ----------
    n_experts : int
    gate : {"softmax", "constant"}
        Whether the probabilities of the experts depend on the inputs.
    n_init : int
        Starts, of which the best is followed to its end. Neither the order of the rows nor whether
        they are repeated or counted has a part in them.
    tol : float
        Nats that the last step gained at most.
    max_iter : int
    random_state : int, Generator or None
        Of the starts.

    Attributes
    ----------
    weights_ : (K,)
        Mean probabilities of the experts over the rows of the fit, largest first.
    coef_ : (K, D)
    intercept_ : (K,)
    noise_variances_ : (K,)
    gate_coef_ : (K, D)
        Of the log probabilities, up to what all experts share; 0 for a constant gate.
    gate_intercept_ : (K,)
    log_likelihood_ : float
        ln p(y | X) at these parameters.
    trace_ : (T,)
        ln p(y | X) plus the log prior density of the standardised parameters, after each step.
    degenerate_ : list of int
        Experts whose noise is on the floor, or with fewer rows than weights and noise: more rows
        might do without them. A fit with none is preferred.
    converged_ : bool
    n_iter_ : int
    n_features_in_, feature_names_in_

    Notes
    -----
    Costs O(N K D²) for each step, and O(N K² D²) for a softmax gate. What is predicted takes the
    parameters for known; with few rows for each expert it is too sure.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(-1, 1, size=300)
    >>> y = np.where(rng.random(300) < 0.6, 1 + 2 * x, -2 * x) + 0.1 * rng.normal(size=300)
    >>> model = MixtureOfExperts(2, gate="constant", random_state=0).fit(x[:, None], y)
    >>> model.coef_.round(1).ravel(), model.weights_.round(1)
    (array([ 2., -2.]), array([0.6, 0.4]))
    >>> model.responsibilities([[0.9]], [2.8]).round(3)
    array([[1., 0.]])
    """

    _constraints = {
        "n_experts": _COUNT,
        "gate": one_of("softmax", "constant"),
        "n_init": _COUNT,
        "tol": POSITIVE,
        "max_iter": _COUNT,
    }

    def __init__(
        self,
        n_experts: int = 2,
        gate: str = "softmax",
        *,
        n_init: int = 6,
        tol: float = 1e-6,
        max_iter: int = 1000,
        random_state: Any = None,
    ) -> None:
        self.n_experts = n_experts
        self.gate = gate
        self.n_init = n_init
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from rows.

        Parameters
        ----------
        X : (N, D)
        y : (N,)
        sample_weight : (N,), optional
            How often each row counts: equal to repeated rows.
        """
        check_parameters(self)
        rows, units = _standardize(check_rows(self, X, y, sample_weight=sample_weight), self.gate)
        starts = expert_starts(
            rows, int(self.n_experts), int(self.n_init), as_generator(self.random_state)
        )
        learned = learn_experts(rows, starts, tol=self.tol, max_iter=int(self.max_iter))
        weights = rows.frequency @ np.exp(log_gates(learned.experts.gate, rows.gate_design))
        order = np.argsort(-weights, kind="stable")
        self.weights_ = weights[order] / weights.sum()
        self._state_experts(learned.experts, order, units)
        self._state_ascent(learned, order, rows, units)
        return self

    def _state_experts(self, experts: Experts, order: Array, units: _Units) -> None:
        """Set the parameters in raw units, in the order of the experts' sizes."""
        size = units.target_scale
        self._centre = units.mean
        self.coef_ = size * units.raw(experts.weights[order, 1:])
        self._levels = units.target_mean + size * experts.weights[order, 0]
        self.intercept_ = self._levels - self.coef_ @ self._centre
        self.noise_variances_ = size**2 * np.exp(experts.log_variances[order])
        eta = (contrasts(len(order)) @ experts.gate)[order]
        self.gate_coef_ = units.raw(eta[:, 1:])
        self._gate_levels = eta[:, 0]
        self.gate_intercept_ = self._gate_levels - self.gate_coef_ @ self._centre

    def _state_ascent(
        self, learned: LearnedExperts, order: Array, rows: ExpertRows, units: _Units
    ) -> None:
        """Set what there is to say about the way to the parameters."""
        result = learned.result
        self.trace_ = np.array(result.trace) - rows.frequency.sum() * np.log(units.target_scale)
        self.log_likelihood_ = float(self.trace_[-1] - log_prior(learned.experts))
        self.degenerate_ = np.flatnonzero(np.isin(order, learned.degenerate(rows))).tolist()
        self.converged_, self.n_iter_ = result.converged, result.n_iter

    def predict(self, X: Any) -> Array:
        """Return the expected targets, (N,)."""
        log_gate, means = self._answers(X)
        return (np.exp(log_gate) * means).sum(axis=1)

    def predict_dist(self, X: Any) -> Any:
        """Return the distribution of each row's target: a batch of mixtures of normals, (N,)."""
        log_gate, means = self._answers(X)
        variances = np.broadcast_to(self.noise_variances_, means.shape)
        return Mixture(np.exp(log_gate), Normal(means, variance=variances))

    def predict_gate(self, X: Any) -> Array:
        """Return the probabilities of the experts before the target is seen, (N, K)."""
        return np.exp(self._answers(X)[0])

    def responsibilities(self, X: Any, y: Any) -> Array:
        """Return the probabilities of the experts once the target is seen, (N, K)."""
        check_is_fitted(self)
        rows = check_rows(self, X, y, reset=False)
        log_gate, means = self._answers(rows.x)
        densities = Normal(means, variance=self.noise_variances_).log_prob(rows.y[:, None])
        return softmax(log_gate + densities, axis=1)

    def _answers(self, X: Any) -> tuple[Array, Array]:
        """Return log probabilities and means of the experts, (N, K) each."""
        check_is_fitted(self)
        d = check_inputs(self, X) - self._centre
        log_gate = log_softmax(self._gate_levels + d @ self.gate_coef_.T, axis=1)
        return log_gate, self._levels + d @ self.coef_.T


class _Units(NamedTuple):
    """What standardised numbers are in the units of the data.

    Attributes
    ----------
    mean, scale : (D,)
    varies : (D,) bool
        Which columns are not constant: the others are left out.
    target_mean, target_scale : float
    """

    mean: Array
    scale: Array
    varies: Array
    target_mean: float
    target_scale: float

    def raw(self, weights: Array) -> Array:
        """Return weights (K, D) of all columns; those that the model does not see have none."""
        coef = np.zeros((len(weights), len(self.mean)))
        seen = np.flatnonzero(self.varies)[: weights.shape[1]]
        coef[:, seen] = weights / self.scale[seen]
        return coef


def _standardize(rows: Rows, gate: str) -> tuple[ExpertRows, _Units]:
    """Return rows in standard deviations from their means."""
    targets, constant = measure(rows.y[:, None], rows.frequency, intercept=True)
    if constant[0]:
        raise ValueError(
            f"y is {rows.y[0]:.6g} in every row (n_samples = {len(rows.y)}): noise can only be "
            "learned from targets that differ"
        )
    how, fixed = measure(rows.x, rows.frequency, intercept=True)
    units = _Units(how.mean, how.scale, ~fixed, float(targets.mean[0]), float(targets.scale[0]))
    kept = Standardization(how.mean[~fixed], how.scale[~fixed], True)
    design = kept.of(rows.x[:, ~fixed])
    frequency = np.ones(len(design)) if rows.frequency is None else rows.frequency
    t = (rows.y - units.target_mean) / units.target_scale
    return ExpertRows(design, t, frequency, design.shape[1] if gate == "softmax" else 1), units
