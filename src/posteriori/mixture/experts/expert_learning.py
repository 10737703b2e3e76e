r"""Linear experts behind a gate, by expectation–maximisation of the posterior density.

.. math:: p(t\mid z) = \sum_k g_k(z)\,\mathcal N(t\mid w_k^Tz, \sigma_k^2),\qquad
          g(z) = \mathrm{softmax}(BVz),

with an orthonormal basis B of the contrasts. Columns z and targets t are standardised, z begins with a
1, and a constant gate sees this 1 alone. The priors are proper and weak:

.. math:: w_{kj} \sim N(0, 1),\qquad \sigma_k^2 \sim \text{Inv-Gamma}(1, \tfrac1{200}),\qquad
          v_{kj} \sim N(0, 3^2).

Weights N(0, 1) move targets by one standard deviation; the noise prior counts as one row whose
residual is a tenth of one; gates that change from one expert to another within a small part of the
rows are as probable as those that hardly change.

References: M. Jordan & R. Jacobs, "Hierarchical mixtures of experts and the EM algorithm", 1994;
C. Bishop, "Pattern recognition and machine learning", 2006, §14.5.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from posteriori.distributions.numbers.inverse_gamma import InverseGamma
from posteriori.distributions.numbers.normal import Normal
from posteriori.inference.ascent.expectation_maximization import EMResult, maximize_by_em
from posteriori.inference.latent.ascent import Search, best_of_starts
from posteriori.inference.predictors.mode_finding import find_mode
from posteriori.inference.predictors.softmax_averages import contrasts
from posteriori.inference.predictors.softmax_predictor import SoftmaxPredictor
from posteriori.numerics.logspace import log_softmax, log_sum_exp
from posteriori.numerics.special import LOG_2PI
from posteriori.numerics.types import Array

__all__ = [
    "ExpertRows",
    "Experts",
    "LearnedExperts",
    "fit_experts",
    "learn_experts",
    "log_gates",
    "log_joint",
    "log_prior",
]

#: A weight moves targets by about a standard deviation.
_WEIGHT_PRIOR = Normal(0.0, variance=1.0)

#: Odds of experts may change by e³ over a standard deviation of a column, or hardly.
_GATE_PRIOR = Normal(0.0, variance=9.0)

#: One row whose residual is a tenth of a standard deviation of the targets.
_NOISE_PRIOR = InverseGamma(1.0, 1.0 / 200.0)

#: No noise variance is a smaller share of the variance of the targets.
FLOOR = 1e-6

#: Steps after which the starts are compared.
_SHORT = 20

#: Most gradients of the gate in a step: it need not be found exactly to raise the objective.
_GATE_STEPS = 3

#: … and standard deviations by which it may be off.
_GATE_TOL = 1e-6

#: Alternations between an expert's weights and its noise, which gain a factor of N_k each.
_ALTERNATIONS = 20

#: A relative change of the noise variance that ends them.
_SETTLED = 1e-12


class ExpertRows(NamedTuple):
    """Standardised rows.

    Attributes
    ----------
    design : (N, P)
        Columns, after a 1.
    targets : (N,)
    frequency : (N,)
        How often each row counts.
    gate_columns : int
        G, how many columns the gate sees: all, or the first.
    """

    design: Array
    targets: Array
    frequency: Array
    gate_columns: int

    @property
    def gate_design(self) -> Array:
        """What the gate sees, (N, G)."""
        return self.design[:, : self.gate_columns]


class Experts(NamedTuple):
    """Parameters.

    Attributes
    ----------
    gate : (K − 1, G)
        V.
    weights : (K, P)
    log_variances : (K,)
    """

    gate: Array
    weights: Array
    log_variances: Array


class LearnedExperts(NamedTuple):
    """Where a fit ended.

    Attributes
    ----------
    experts : Experts
    shares : (N, K)
        Responsibilities.
    result : EMResult
    """

    experts: Experts
    shares: Array
    result: EMResult

    def degenerate(self, rows: ExpertRows) -> list[int]:
        """Return the experts with noise on the floor, or fewer rows than weights and noise."""
        needed = rows.design.shape[1] + 1
        alone = rows.frequency @ self.shares < needed
        on_floor = self.experts.log_variances <= np.log(FLOOR)
        return np.flatnonzero(alone | on_floor).tolist() if self.shares.shape[1] > 1 else []


class _Expected(NamedTuple):
    """Responsibilities (N, K), and the parameters that they come from."""

    shares: Array
    experts: Experts


def learn_experts(
    rows: ExpertRows,
    starts: list[Array],
    *,
    tol: float = 1e-6,
    max_iter: int = 1000,
) -> LearnedExperts:
    """Climb a few steps from each of the responsibilities (N, K), then to the end from the best.

    Ends without a degenerate expert are better than others.
    """

    def climb(start: Array | Experts, *, max_iter: int) -> EMResult:
        return _climb(rows, start, tol, max_iter)

    result = best_of_starts(
        climb,
        iter(starts),
        Search(len(starts), _SHORT, max_iter, {}),
        is_sound=lambda found: not _learned(rows, found).degenerate(rows),
    )
    return _learned(rows, result)


def fit_experts(
    rows: ExpertRows, start: Array | Experts, *, tol: float, max_iter: int
) -> LearnedExperts:
    """Climb from responsibilities (N, K) or parameters."""
    return _learned(rows, _climb(rows, start, tol, max_iter))


def _climb(rows: ExpertRows, start: Array | Experts, tol: float, max_iter: int) -> EMResult:
    if not isinstance(start, Experts):
        start = _maximize(rows, _Expected(start, _no_experts(rows, start.shape[1])))
    return maximize_by_em(
        lambda experts: _expect(rows, experts),
        lambda expected: _maximize(rows, expected),
        start,
        log_prior=log_prior,
        tol=tol,
        max_iter=max_iter,
    )


def _learned(rows: ExpertRows, result: EMResult) -> LearnedExperts:
    experts = _with_noise(result.parameters)
    return LearnedExperts(experts, _expect(rows, experts)[0].shares, result)


def log_joint(experts: Experts, rows: ExpertRows) -> Array:
    """Return ln g_k(z) N(t | w_k·z, σ_k²), (N, K)."""
    log_variances = _with_noise(experts).log_variances
    squares = (rows.targets[:, None] - rows.design @ experts.weights.T) ** 2
    densities = -0.5 * (LOG_2PI + log_variances + squares * np.exp(-log_variances))
    return densities + log_gates(experts.gate, rows.gate_design)


def log_gates(gate: Array, design: Array) -> Array:
    """Return ln g_k(z), (N, K)."""
    return log_softmax(design @ gate.T @ contrasts(len(gate) + 1).T, axis=1)


def log_prior(experts: Experts) -> float:
    """Return the log density of parameters a priori."""
    variances = np.exp(_with_noise(experts).log_variances)
    noise = _NOISE_PRIOR.log_prob(variances).sum()
    weights = _WEIGHT_PRIOR.log_prob(experts.weights).sum()
    gate = _GATE_PRIOR.log_prob(experts.gate).sum()
    return float(noise + weights + gate)


def _expect(rows: ExpertRows, experts: Experts) -> tuple[_Expected, float]:
    """Return the responsibilities and the log likelihood."""
    joint = log_joint(experts, rows)
    each = log_sum_exp(joint, axis=1)
    shares = np.exp(joint - each[:, None])
    return _Expected(shares, _with_noise(experts)), float(rows.frequency @ each)


def _maximize(rows: ExpertRows, expected: _Expected) -> Experts:
    """Return the gate and the experts under which the expected log density is higher."""
    shares, before = expected
    weights, variances = _best_experts(rows, shares, np.exp(before.log_variances))
    return Experts(_best_gate(rows, shares, before.gate), weights, np.log(variances))


def _best_gate(rows: ExpertRows, shares: Array, start: Array) -> Array:
    """Return contrast weights that make the responsibilities more probable than ``start`` does."""
    if not start.size:
        return start
    design, frequency = rows.design, rows.frequency
    if rows.gate_columns == 1:  # all rows are alike: one counts for all
        total = frequency.sum()
        design, frequency = design[:1, :1], np.array([total])
        shares = (rows.frequency @ shares)[None] / total
    precision = np.full(start.size, _GATE_PRIOR.precision)
    density = SoftmaxPredictor(
        design, shares, shares.shape[1], precision, np.zeros(start.size), frequency
    )
    mode = find_mode(
        density, start.ravel(), tol=_GATE_TOL, max_iter=_GATE_STEPS, curvature_at_mode=False
    )
    return mode.point.reshape(start.shape)


def _best_experts(rows: ExpertRows, shares: Array, variances: Array) -> tuple[Array, Array]:
    r"""Return weights (K, P) and noise variances (K,) that explain weighted rows best.

    With weights r of the rows, eigenvalues λ of :math:`Z^TRZ = V\Lambda V^T` and :math:`a = V^TZ^TRt`, weights
    given the noise are :math:`V a/(λ + σ²)`, which never divides by less than the noise, and leave
    :math:`t^TRt - \sum a^2(λ + 2σ²)/(λ + σ²)²` unexplained.
    """
    counted = (shares * rows.frequency[:, None]).T  # (K, N)
    mass = counted.sum(axis=1)
    weighted = counted[:, :, None] * rows.design
    squares = weighted.transpose(0, 2, 1) @ rows.design
    whole = counted @ rows.targets**2
    values, vectors = np.linalg.eigh(squares)
    values = np.maximum(values, 0.0)
    a = (vectors.transpose(0, 2, 1) @ (rows.targets @ weighted)[:, :, None])[:, :, 0]
    prior, rows_prior = 2.0 * _NOISE_PRIOR.scale, 2.0 * _NOISE_PRIOR.shape + 2.0
    for _ in range(_ALTERNATIONS):
        noise = variances[:, None]
        left = whole - (a**2 * (values + 2.0 * noise) / (values + noise) ** 2).sum(axis=1)
        before, variances = variances, (prior + np.maximum(left, 0.0)) / (mass + rows_prior)
        variances = np.maximum(variances, FLOOR)
        if (np.abs(variances - before) <= _SETTLED * variances).all():
            break
    return (vectors @ (a / (values + variances[:, None]))[:, :, None])[:, :, 0], variances


def _no_experts(rows: ExpertRows, count: int) -> Experts:
    """Return experts that know nothing."""
    gate, p = np.zeros((count - 1, rows.gate_columns)), rows.design.shape[1]
    return Experts(gate, np.zeros((count, p)), np.zeros(count))


def _with_noise(experts: Experts) -> Experts:
    """Return experts with no noise below the floor, whither a jump may lead."""
    return experts._replace(log_variances=np.maximum(experts.log_variances, np.log(FLOOR)))
