r"""Student's t of several columns, for rows with gaps: a normal whose width differs from row to row.

.. math:: x\mid u \sim N(\mu, \Sigma/u), \qquad u \sim \mathrm{Gamma}(\nu/2, \nu/2), \qquad
   x_o \sim t_\nu(\mu_o, \Sigma_{oo}).

With the distance :math:`\delta^2` of the p entries that are seen, a row counts :math:`(\nu + p)/(\nu + \delta^2)`
times: rows far out hardly move the others. The prior is worth a row or two, and keeps :math:`\Sigma` proper
where there are fewer rows than columns: in units in which columns have variance 1

.. math:: \Sigma^{-1} \sim \mathrm{Wishart}(D + 2, I), \qquad \nu \sim \mathrm{Gamma}(2, 0.1).

References: C. Liu & D. Rubin, "ML estimation of the t distribution using EM and its extensions, ECM and ECME",
1995; M. Juárez & M. Steel, "Model-based clustering of non-Gaussian panel data", 2010 (the prior of ν).
"""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from posteriori.distributions.vectors.mv_student_t import MvStudentT
from posteriori.estimators.base.base_estimator import BaseEstimator
from posteriori.estimators.estimator_rows import check_gappy_inputs, column_names
from posteriori.estimators.parameters import (
    AT_LEAST_ONE,
    NOT_NEGATIVE,
    POSITIVE,
    check_parameters,
    or_none,
)
from posteriori.estimators.row_density import RowDensity
from posteriori.inference.ascent.expectation_maximization import maximize_by_em
from posteriori.inference.gaps.completed_rows import normals_from_covariances
from posteriori.inference.gaps.gap_beliefs import GapBelief, number_gaps
from posteriori.inference.gaps.gap_patterns import GapPatterns, gap_patterns
from posteriori.inference.gaps.normal_gaps import (
    SeenDistances,
    conditional_moments,
    expected_moments,
    seen_distances,
    seen_log_densities,
)
from posteriori.mathematics.least_widths import check_least_widths, widen_covariances
from posteriori.numerics.lazy import optimize
from posteriori.numerics.random import as_generator
from posteriori.numerics.rank import exceeds_rounding
from posteriori.numerics.special import log_gamma_ratio
from posteriori.numerics.types import Array, Seed
from posteriori.numerics.validation import require_moderate

__all__ = ["StudentDensity"]

#: Ends of the search for the degrees of freedom: beyond, t is a normal.
_FEWEST, _MOST = 1.0, 1000.0

#: Shape − 1 and rate of their Gamma prior.
_SHAPE_LESS_ONE, _RATE = 1.0, 0.1


class _Parameters(NamedTuple):
    """Location (D,), scale (D, D) and ln ν, an array without axes."""

    location: Array
    scale: Array
    log_dof: Array


class _Expected(NamedTuple):
    """Sums over rows, each counted u times, about the location: Σu, Σu d, Σu d dᵀ; and the next ln ν."""

    total: float
    first: Array
    second: Array
    location: Array
    log_dof: Array


class StudentDensity(RowDensity, BaseEstimator):
    """A density of all columns together that is heavier in its tails than a normal.

    Parameters
    ----------
    dof : float, optional
        Degrees of freedom ν; learned by default, between 1 and 1000.
    tol : float
        Nats that a step must gain.
    max_iter : int
    min_width : float or (D,)
        The scale is no narrower, in any direction: say, δ/√12 of numbers that are rounded to steps δ.

    Attributes
    ----------
    dof_ : float
    location_, scale_ : (D,), (D, D)
    model_ : MvStudentT
        The density of a row.
    trace_ : array
        Log posterior density after each step.
    n_iter_ : int
    converged_ : bool

    Notes
    -----
    NaN is a missing entry. The parameters are the most probable ones under a weak prior.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 2))
    >>> X[:10] *= 8.0  # some rows lie far out
    >>> s = StudentDensity().fit(X)
    >>> round(s.dof_), X.var(axis=0).round(1), np.diag(s.scale_).round(1)
    (3, array([4.3, 2.4]), array([0.9, 0.8]))
    """

    dof_: float
    location_: Array
    scale_: Array
    _constraints = {
        "dof": or_none(POSITIVE),
        "tol": NOT_NEGATIVE,
        "max_iter": AT_LEAST_ONE,
    }

    def __init__(
        self,
        dof: float | None = None,
        *,
        tol: float = 1e-6,
        max_iter: int = 1000,
        min_width: Any = 0.0,
    ) -> None:
        self.dof = dof
        self.tol = tol
        self.max_iter = max_iter
        self.min_width = min_width

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from rows (N, D); NaN is a missing entry."""
        check_parameters(self)
        x = check_gappy_inputs(self, X, reset=True)
        require_moderate("X", x)
        widths = check_least_widths("min_width", self.min_width, x.shape[1])
        mean, unit = self._units(x)
        z = (x - mean) / unit
        z = z[~np.isnan(z).all(axis=1)]
        rows = _Rows(z, gap_patterns(z), self.dof)
        found = maximize_by_em(
            rows.expect, rows.maximize, rows.start(), tol=self.tol, max_iter=int(self.max_iter)
        )
        location, scale, log_dof = found.parameters
        seen = np.sum(~np.isnan(x), axis=0)
        self.trace_ = np.array(found.trace) - seen @ np.log(unit)
        self.n_iter_, self.converged_ = found.n_iter, found.converged
        self.location_ = mean + unit * location
        self.scale_ = widen_covariances(scale * np.outer(unit, unit), widths)
        self.dof_ = float(np.exp(log_dof))
        return self

    def log_prob(self, X: Any) -> Array:
        """Return ln p(row) of the seen entries, (N,)."""
        check_is_fitted(self)
        x = check_gappy_inputs(self, X)
        normals = normals_from_covariances(self.location_[None], self.scale_[None])
        return seen_log_densities(x, gap_patterns(x), normals, np.array([self.dof_]))[:, 0]

    def gap_beliefs(self, X: Any) -> tuple[GapBelief, ...]:
        """Return what is believed of the gaps (NaN) of rows, given what is seen of them.

        Returns
        -------
        tuple of NumberGaps
            ``column``, ``rows``, ``mean`` and ``variance``, for each column with gaps.
        """
        check_is_fitted(self)
        x = check_gappy_inputs(self, X)
        normals = normals_from_covariances(self.location_[None], self.scale_[None])
        sure = np.ones((len(x), 1))
        found = conditional_moments(x, gap_patterns(x), normals, sure, np.array([self.dof_]))
        return number_gaps(x, found.mean, found.variance)

    def sample(self, size: int = 1, rng: Seed = None) -> Array:
        """Draw rows (n_samples, D)."""
        return np.asarray(self.model_.sample(size, rng=as_generator(rng)))

    @property
    def model_(self) -> MvStudentT:
        """The density as a distribution."""
        check_is_fitted(self)
        return MvStudentT(self.dof_, self.location_, scale=self.scale_)

    def _units(self, x: Array) -> tuple[Array, Array]:
        """Return mean and standard deviation of each column, or refuse those without spread."""
        names, empty = column_names(self), np.isnan(x).all(axis=0)
        if empty.any():
            raise ValueError(f"{names[int(np.argmax(empty))]} of X has no entry: leave it out")
        mean = np.nanmean(x, axis=0)
        unit = np.sqrt(np.nanmean((x - mean) ** 2, axis=0))
        flat = ~exceeds_rounding(unit, np.abs(mean))
        if flat.any():
            raise ValueError(
                f"{names[int(np.argmax(flat))]} of X is constant (n_samples={len(x)}), so that rows have "
                "no density: leave it out"
            )
        return mean, unit

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


class _Rows(NamedTuple):
    """Standardised rows with an entry, their patterns, and the degrees of freedom if they are known."""

    z: Array
    patterns: GapPatterns
    dof: float | None

    def start(self) -> _Parameters:
        """Return the standard normal, nearly."""
        d = self.z.shape[1]
        first = 10.0 if self.dof is None else self.dof
        return _Parameters(np.zeros(d), np.eye(d), np.array(np.log(first)))

    def expect(self, at: _Parameters) -> tuple[_Expected, float]:
        """Return the sums, with the degrees of freedom that suit the distances best, and the objective."""
        location, scale, log_dof = at
        normals = normals_from_covariances(location[None], scale[None])
        seen = seen_distances(self.z, self.patterns, normals)
        value = self._log_posterior(float(log_dof), seen)
        value -= 0.5 * float(np.trace(normals.precisions[0])) - 0.5 * float(normals.log_dets[0])
        better = self._best_dof(float(log_dof), seen)
        nu = np.exp(better)
        counted = (nu + seen.counts) / (nu + seen.squares[:, 0])  # E[u | seen]
        sure = np.ones((len(self.z), 1))
        filled = conditional_moments(self.z, self.patterns, normals, sure).mean - location
        once = expected_moments(self.z, self.patterns, normals, sure).second[0]
        # E[u d dᵀ] = u d̂ d̂ᵀ + Λ_mm⁻¹: what is open of gaps is the wider, the less a row counts
        second = once + (filled.T * (counted - 1.0)) @ filled
        sums = (float(counted.sum()), counted @ filled, second)
        return _Expected(*sums, location, np.array(better)), value

    def maximize(self, sums: _Expected) -> _Parameters:
        """Return Σ = (S + I)/(N + 1), the mode of its inverse, about the mean of counted rows."""
        shift = sums.first / sums.total
        scatter = sums.second - np.outer(shift, sums.first)
        scale = (0.5 * (scatter + scatter.T) + np.eye(len(shift))) / (len(self.z) + 1.0)
        return _Parameters(sums.location + shift, scale, sums.log_dof)

    def _log_posterior(self, log_dof: float, seen: SeenDistances) -> float:
        """Return ln p(rows | ν) + ln p(ν), at the distances of rows."""
        nu, half = np.exp(log_dof), 0.5 * seen.counts
        each = log_gamma_ratio(0.5 * nu, half) - half * np.log(nu * np.pi)
        each = each - 0.5 * seen.log_dets[:, 0]
        each = each - (0.5 * nu + half) * np.log1p(seen.squares[:, 0] / nu)
        prior = 0.0 if self.dof is not None else _SHAPE_LESS_ONE * log_dof - _RATE * nu
        return float(each.sum() + prior)

    def _best_dof(self, log_dof: float, seen: SeenDistances) -> float:
        if self.dof is not None:
            return log_dof
        found = optimize.minimize_scalar(
            lambda t: -self._log_posterior(t, seen),
            bounds=(np.log(_FEWEST), np.log(_MOST)),
            method="bounded",
            options={"xatol": 1e-6},
        )
        better = self._log_posterior(float(found.x), seen) >= self._log_posterior(log_dof, seen)
        return float(found.x) if better else log_dof
