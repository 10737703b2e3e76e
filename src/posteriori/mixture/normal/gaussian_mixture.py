r"""Mixtures of normals by expectation–maximisation, :math:`p(x) = \sum_k π_k N(x\mid μ_k, Σ_k)`.

Reference: C. Bishop, "Pattern recognition and machine learning", 2006, sec. 9.2.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np

from posteriori.distributions.composites.mixture import MixtureFamily
from posteriori.distributions.joint.normal_wishart import NormalWishart
from posteriori.distributions.vectors.mvnormal import MvNormal
from posteriori.estimators.parameters import COVARIANCES, check_parameters, covariance_of, one_of
from posteriori.inference.ascent.expectation_maximization import EMResult
from posteriori.inference.mixtures.likelihood_ascent import maximize_by_gradient
from posteriori.inference.mixtures.mixture_rows import MixtureRows
from posteriori.inference.mixtures.normal_learning import PointLearner, ascend_normals, sort_by_size
from posteriori.inference.mixtures.normal_maximum import FLOOR, NormalParts, parts_to_statistics
from posteriori.inference.mixtures.normal_scores import NormalStatistics
from posteriori.inference.mixtures.normal_starts import NormalSearch, best_ascent
from posteriori.inference.mixtures.normal_units import Units
from posteriori.inference.mixtures.wishart_priors import prior_in_units
from posteriori.mixture.mixture_estimator import counted_rows
from posteriori.mixture.normal.normal_mixture import NormalDensities, NormalMixture, read_rows
from posteriori.numerics.linalg import triangular_inverse
from posteriori.numerics.random import as_generator
from posteriori.numerics.rank import is_definite
from posteriori.numerics.types import Array
from posteriori.numerics.validation import as_numbers

__all__ = ["GaussianMixture"]

#: How fast earlier batches are forgotten: one part in t of the rows counts t to minus this power.
_FORGETTING = 0.7

#: As many rows for each component nearly always hold enough distinct ones: sorting all takes long.
_FIRST = 100

_FIXED = {"weights": "weights_init", "means": "means_init", "covariances": "precisions_init"}

#: A covariance within this factor of the floor in some direction lies on it.
_ON_FLOOR = 1.0 + 1e-6


class GaussianMixture(NormalMixture):
    """Mixture of normals of highest likelihood, or with a prior of highest posterior density.

    Parameters
    ----------
    n_components : int
    covariance : {"full", "diagonal", "spherical", "shared"}
        A covariance for each component; variances of columns; one variance each; one covariance for all.
    assignment : {"soft", "hard"}
        Whether rows are shared out by their responsibilities, or belong to one component alone
        (classification EM).
    prior : NormalWishart, optional
        Of means and precisions of "full" components: one, or a batch of K. Then the mode of the
        posterior is found.
    solver : {"em", "lbfgs"}
        Whether the maximum is found by steps of EM, or by gradients once such steps gain less than 10
        nats.
    weights_init, means_init, precisions_init : arrays, optional
        Where to begin: (K,), (K, D), and precisions in the shape of ``covariances_``.
    fixed : sequence of {"weights", "means", "covariances"}
        What stays as it is given.
    split_merge : bool
        Whether components are merged and split where an ascent has ended, and kept where that leads
        higher. Not with ``solver="lbfgs"`` or a given start.
    n_init : int
        Starts, of which the best is kept.
    tol : float
        Nats.
    max_iter : int
    accelerated : bool
        Whether slow steps may be followed by jumps.
    random_state : int, Generator or None

    Attributes
    ----------
    weights_ : (K,)
        The largest first, unless a start was given.
    means_ : (K, D)
    covariances_ : (K, D, D); "shared" (D, D), "diagonal" (K, D), "spherical" (K,)
    model_ : Mixture
    log_likelihood_ : float
        Of the rows that it was fitted to.
    trace_ : array
        The objective at the start and after each step; with a prior up to a constant.
    n_iter_ : int
    converged_ : bool
    n_parameters_ : int
        Free parameters.
    degenerate_ : list of int
        Components that have shrunk to the floor or have fewer than D + 1 rows.

    Notes
    -----
    The likelihood is unbounded, so no covariance falls below 1e-6 times that of the data in any
    direction. NaN is a missing entry, and ``sample_weight`` counts how often a row is there. O(N K D²)
    a step, in blocks of rows. For evidence see :class:`BayesianGaussianMixture`.

    Examples
    --------
    >>> from posteriori.datasets import load_old_faithful
    >>> g = GaussianMixture(2, random_state=0).fit(load_old_faithful().data)
    >>> g.weights_.round(4), g.means_.round(2)
    (array([0.6441, 0.3559]), array([[ 4.29, 79.97],
           [ 2.04, 54.48]]))
    >>> round(g.log_likelihood_, 3)
    -1130.264
    >>> g.impute([[2.0, np.nan]]).round(1)  # a short eruption, and how long to wait for the next
    array([[ 2. , 54.2]])
    """

    _constraints = {
        **NormalMixture._constraints,
        "covariance": covariance_of(*COVARIANCES),
        "assignment": one_of("soft", "hard"),
        "solver": one_of("em", "lbfgs"),
    }
    _stream_is_batch = False  # what rows do depends on those before them

    def __init__(
        self,
        n_components: int = 1,
        *,
        covariance: str = "full",
        assignment: str = "soft",
        prior: NormalWishart | None = None,
        solver: str = "em",
        weights_init: Any = None,
        means_init: Any = None,
        precisions_init: Any = None,
        fixed: Sequence[str] = (),
        split_merge: bool = True,
        n_init: int = 1,
        tol: float = 1e-6,
        max_iter: int = 1000,
        accelerated: bool = True,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.covariance = covariance
        self.assignment = assignment
        self.prior = prior
        self.solver = solver
        self.weights_init = weights_init
        self.means_init = means_init
        self.precisions_init = precisions_init
        self.fixed = fixed
        self.split_merge = split_merge
        self.n_init = n_init
        self.tol = tol
        self.max_iter = max_iter
        self.accelerated = accelerated
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from rows (N, D); NaN is a missing entry, weights are frequencies."""
        check_parameters(self)
        x, frequency = counted_rows(self, X, sample_weight)
        _require_distinct(x, self.n_components)
        rows = read_rows(self, x, frequency, self.covariance)
        start, fixed = self._starting_point(rows)
        learner = self._learner(rows, fixed)
        given = start is not None
        search = NormalSearch(
            self.n_components,
            self.n_init,
            split_merge=self.split_merge and not given and self.solver == "em",
            may_empty=False,
            named=False,
            hard=self.assignment == "hard",
            start=start,
            ascend=self._ascend,
            both_units=self.n_components > 1 and self.covariance in ("full", "shared"),
        )
        rng = as_generator(self.random_state)
        found = best_ascent(
            learner, rows, search, rng, lambda statistics: not _degenerate(learner, statistics)
        )
        statistics = found.parameters
        if not given:
            statistics = sort_by_size(statistics, self.covariance)
        self._keep(rows, learner, statistics)
        self.trace_ = np.array(found.trace)
        self.n_iter_, self.converged_ = found.n_iter, found.converged
        self._fitted = rows.total
        self.__dict__.pop("_streamed", None)
        return self

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from further rows by stepwise EM: sums of statistics move towards those of the batch.

        A batch of one part in t of the rows so far counts t^-0.7. The order of batches matters: this is not the fit to all rows at
        once.

        Reference: P. Liang & D. Klein, "Online EM for unsupervised models", 2009.
        """
        if not hasattr(self, "_streamed"):
            self.fit(X, sample_weight=sample_weight)
            self._streamed = self._fitted
            return self
        x, frequency = counted_rows(self, X, sample_weight, reset=False)
        rows = read_rows(self, x, frequency, self.covariance, extra=self._spread)
        learner = self._learner(rows, {})._replace(spread=rows.units.covs_of(self._spread))
        before = parts_to_statistics(self._parts_in(rows), self.covariance, rows.total)
        now = rows.expect(learner.scores(before)[0], hard=self.assignment == "hard").statistics
        self._streamed += rows.total
        share = (self._streamed / rows.total) ** -_FORGETTING
        mixed = ((1.0 - share) * old + share * new for old, new in zip(before, now, strict=True))
        self._keep(rows, learner, NormalStatistics(*mixed))
        return self

    def _ascend(
        self,
        learner: PointLearner,
        rows: MixtureRows,
        start: NormalStatistics,
        hopeless: Callable[[NormalStatistics], bool] | None = None,
        done: int = 0,
    ) -> EMResult:
        """Climb from a start, after so many steps that are done; given up where that is hopeless."""
        hard, most = self.assignment == "hard", max(self.max_iter - done, 1)
        if self.solver == "em":
            options = {"tol": self.tol, "max_iter": most, "accelerated": self.accelerated}
            return ascend_normals(learner, rows, start, hard=hard, hopeless=hopeless, **options)
        if hard or learner.prior is not None or learner.fixed:
            raise ValueError(
                'solver="lbfgs" takes neither hard assignments nor a prior nor fixed parts: choose "em"'
            )
        return maximize_by_gradient(learner, rows, start, tol=self.tol, max_iter=self.max_iter)

    def _learner(self, rows: MixtureRows, fixed: dict[str, Array]) -> PointLearner:
        prior = self.prior
        if prior is not None and self.covariance != "full":
            raise ValueError(
                f'a prior is for covariance="full", got {self.covariance!r}: leave one of them out'
            )
        told = None if prior is None else prior_in_units(prior, rows.units, self.n_components)
        return PointLearner(self.covariance, rows.spread, told, fixed)

    def _starting_point(
        self, rows: MixtureRows
    ) -> tuple[NormalStatistics | None, dict[str, Array]]:
        """Return the sums to begin at, None where nothing is given, and what stays fixed."""
        fixed = tuple(self.fixed)
        unknown = set(fixed) - set(_FIXED)
        if unknown:
            raise ValueError(f"fixed must name {', '.join(_FIXED)}; got {unknown.pop()!r}")
        for name in fixed:
            if getattr(self, _FIXED[name]) is None:
                raise ValueError(f"fixed={name!r} needs {_FIXED[name]} to be given")
        if self.weights_init is self.means_init is self.precisions_init is None:
            return None, {}
        if self.means_init is None:
            raise ValueError("weights_init and precisions_init need means_init beside them")
        parts = self._given_parts(rows)
        fields = {"weights": "weights", "means": "means", "covariances": "covs"}
        held = {fields[name]: getattr(parts, fields[name]) for name in fixed}
        return parts_to_statistics(parts, self.covariance, rows.total), held

    def _given_parts(self, rows: MixtureRows) -> NormalParts:
        k, d = self.n_components, len(rows.units.centre)
        kind = self.covariance
        shape = {"full": (k, d, d), "shared": (d, d), "diagonal": (k, d), "spherical": (k,)}[kind]
        weights = _given("weights_init", self.weights_init, (k,), np.full(k, 1.0 / k))
        means = _given("means_init", self.means_init, (k, d), None)
        precisions = _given("precisions_init", self.precisions_init, shape, None)
        if not (weights.min() > 0.0 and np.isclose(weights.sum(), 1.0)):
            raise ValueError(f"weights_init must be positive and sum to 1, got {weights}")
        if precisions is None:
            covs = _same_for_all(rows.units.raw_covs(rows.spread), kind, k)
        else:
            covs = _inverted(precisions, kind)
        return _parts_to_units(NormalParts(weights / weights.sum(), means, covs), kind, rows.units)

    def _parts_in(self, rows: MixtureRows) -> NormalParts:
        parts = NormalParts(self.weights_, self.means_, self.covariances_)
        return _parts_to_units(parts, self.covariance, rows.units)

    def _keep(self, rows: MixtureRows, learner: PointLearner, statistics: NormalStatistics) -> None:
        """Set what is learned, in the units of the data."""
        parts, units, kind = learner.parts(statistics), rows.units, self.covariance
        self.weights_ = parts.weights / parts.weights.sum()
        self.means_ = units.raw_means(parts.means)
        self.covariances_ = _raw_covs(parts.covs, kind, units)
        k, d = self.means_.shape
        covs = _as_matrices(self.covariances_, kind, k, d)
        with np.errstate(divide="ignore"):
            self._densities = NormalDensities(np.log(self.weights_), self.means_, covs)
        self.model_ = MixtureFamily(self.weights_, MvNormal(self.means_, cov=covs))
        self.log_likelihood_ = (
            rows.expect(learner.scores(statistics)[0]).log_likelihood - rows.log_scale
        )
        self.degenerate_ = _degenerate(learner, statistics)
        each = {
            "full": k * d * (d + 1) // 2,
            "shared": d * (d + 1) // 2,
            "diagonal": k * d,
            "spherical": k,
        }
        self.n_parameters_ = k - 1 + k * d + each[kind]
        self._spread = units.raw_covs(learner.spread)


def _degenerate(learner: PointLearner, statistics: NormalStatistics) -> list[int]:
    """Return components on the floor, or with fewer rows than a covariance needs."""
    parts, d = learner.parts(statistics), statistics.sums.shape[1]
    few = statistics.counts < d + 1.0
    if learner.kind in ("diagonal", "spherical"):
        least = np.diag(learner.spread) if learner.kind == "diagonal" else learner.spread.max()
        ratio = parts.covs / least
        low = ratio.min(axis=1) if learner.kind == "diagonal" else ratio
    else:
        white = triangular_inverse(np.linalg.cholesky(learner.spread))
        low = np.linalg.eigvalsh(white @ parts.covs @ white.T)[..., 0]
    return np.flatnonzero(few | (low <= FLOOR * _ON_FLOOR)).tolist()


def _require_distinct(x: Array, k: int) -> None:
    distinct = len(np.unique(x[: _FIRST * k], axis=0))
    if distinct < k < len(x):
        distinct = len(np.unique(x, axis=0))
    if distinct < k:
        raise ValueError(
            f"n_components={k}, but X has only {distinct} distinct rows: ask for fewer components"
        )


def _given(name: str, value: Any, shape: tuple[int, ...], default: Any) -> Any:
    if value is None:
        return default
    array = as_numbers(name, value)
    if array.shape != shape or not np.isfinite(array).all():
        raise ValueError(f"{name} must be finite and of shape {shape}, got shape {array.shape}")
    return array


def _same_for_all(cov: Array, kind: str, k: int) -> Array:
    """Return the covariance of the data as that of every component."""
    if kind == "shared":
        return cov
    if kind == "spherical":
        return np.full(k, np.trace(cov) / len(cov))
    return np.stack([cov if kind == "full" else np.diag(cov)] * k)


def _inverted(precisions: Array, kind: str) -> Array:
    if kind in ("diagonal", "spherical"):
        if not (precisions > 0).all():
            raise ValueError("precisions_init must be positive")
        return 1.0 / precisions
    if not np.all(is_definite(precisions)):
        raise ValueError("precisions_init must be positive definite")
    white = triangular_inverse(np.linalg.cholesky(precisions))
    return np.swapaxes(white, -1, -2) @ white


def _parts_to_units(parts: NormalParts, kind: str, units: Units) -> NormalParts:
    means = units.means_of(parts.means)
    if kind in ("full", "shared"):
        return NormalParts(parts.weights, means, units.covs_of(parts.covs))
    scale = np.diag(units.root) ** 2
    return NormalParts(
        parts.weights, means, parts.covs / (scale if kind == "diagonal" else scale[0])
    )


def _raw_covs(covs: Array, kind: str, units: Units) -> Array:
    if kind in ("full", "shared"):
        raw = units.raw_covs(covs)
        return 0.5 * (raw + np.swapaxes(raw, -1, -2))
    scale = np.diag(units.root) ** 2
    return covs * (scale if kind == "diagonal" else scale[0])


def _as_matrices(covs: Array, kind: str, k: int, d: int) -> Array:
    if kind in ("full", "shared"):
        return np.broadcast_to(covs, (k, d, d))
    return (
        np.eye(d) * np.broadcast_to(covs if kind == "diagonal" else covs[:, None], (k, d))[:, None]
    )
