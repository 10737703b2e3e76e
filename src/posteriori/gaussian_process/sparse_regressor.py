r"""Gaussian process regression of many rows: the function is told at a few points.

.. math:: \ln p(y) \ge \ln N(y\mid m, Q + \sigma^2I) - \frac1{2\sigma^2}\mathrm{tr}(K - Q),\qquad
          Q = K_{nm}K_{mm}^{-1}K_{mn}

References: M. Titsias, "Variational learning of inducing variables in sparse Gaussian processes", 2009;
E. Snelson & Z. Ghahramani, "Sparse Gaussian processes using pseudo-inputs", 2006.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any, Self

import numpy as np
from sklearn.base import RegressorMixin, clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from posteriori.distributions.numbers.normal import Normal
from posteriori.estimators.approximate_posterior import ApproximatePosterior
from posteriori.estimators.base.base_estimator import BaseEstimator
from posteriori.estimators.contract import copy_columns
from posteriori.estimators.estimator_rows import (
    Rows,
    check_inputs,
    check_noise_variance,
    check_rows,
)
from posteriori.estimators.parameters import WHOLE, check_parameters, one_of, or_none
from posteriori.gaussian_process.process_belief import LARGEST_TARGET, Effect, ProcessBelief
from posteriori.gaussian_process.process_learning import is_not_integrated, kernel_is_kept
from posteriori.inference.processes.dense_process import noise_variances
from posteriori.inference.processes.forms.process_form import DenseForm
from posteriori.inference.processes.inducing.inducing_features import SparseRows
from posteriori.inference.processes.inducing.inducing_points import choose_points
from posteriori.inference.processes.inducing.sparse_process import (
    SolvedSparse,
    SparseProcess,
    learn_sparse,
    sparse_evidence,
    start_sparse,
)
from posteriori.inference.processes.kernel_search import (
    SEARCH_TOL,
    Objective,
    SearchedKernel,
    find_free,
    maximize_evidence,
    some_rows,
)
from posteriori.inference.processes.mean_effects import MeanEffects, mean_effects
from posteriori.inference.processes.noise_parts import silenced
from posteriori.inference.processes.parameter_integral import integrate_parameters
from posteriori.inference.processes.process_rows import merge_rows
from posteriori.inference.processes.search_bounds import default_bounds
from posteriori.kernels.inner_products import White
from posteriori.kernels.kernel import Kernel, check_points
from posteriori.kernels.radial import RBF
from posteriori.numerics.evidence import Fingerprint, Kind, LogEvidence
from posteriori.numerics.random import as_generator
from posteriori.numerics.types import Array, Seed
from posteriori.numerics.warnings import ConvergenceWarning

__all__ = ["SparseGaussianProcessRegressor"]

#: One of so many of the rows of a search on some rows begins it.
_SHARE = 4


class SparseGaussianProcessRegressor(ApproximatePosterior, RegressorMixin, BaseEstimator):
    """Regression by a function with a kernel, told at a few points, for 10³ to 10⁶ rows.

    Parameters
    ----------
    kernel : Kernel, optional
        Of the function and its noise, which :class:`~posteriori.kernels.White` is. None is
        ``Constant() * RBF(one scale for each column) + White()``, with what is usual for the data.
    inducing : int or (M, D)
        How many points tell the function, chosen among the rows where it is least known, or the points.
    method : {"variational", "fitc"}
        "variational": a lower bound of the evidence that rises with every point. "fitc": the evidence
        of a process with independent noise where the points leave the function open; it can be too high,
        and the noise of the kernel then ends too low. The bound's search begins at FITC's end as well.
    hyperparameters : {"type-II", "fixed", "integrated"}
        "type-II": the kernel of highest evidence. "fixed": the kernel as it is. "integrated": parameters
        weighed by how probable they are, with the priors of :class:`GaussianProcessRegressor`, for the
        points of the kernel of highest evidence.
    mean : {"constant", "zero", "linear"}
        What the function varies around; a level ~ N(ȳ, s²), and lines with standardised slopes ~ N(0, s²),
        are integrated out, with s the standard deviation of the targets.
    move_points : bool
        Whether points move uphill of the evidence once they are chosen.
    fixed : sequence of str
        Names of kernel parameters that are not learned, such as "White.variance".
    n_init : int
        Starts of the search, of which all but the first are at random.
    search_rows : int or None
        Rows, at equal steps, whose evidence the search for the kernel is after; None is all. There the
        search begins with the exact evidence of a quarter of these: with few points in many columns the
        bound hardly tells which columns matter. Points are chosen among all rows, of which the function
        and the evidence are.
    random_state : int, Generator or None
        For these.
    callback : callable, optional
        Is told the number of an evaluation and the highest evidence so far; True ends the search.

    Attributes
    ----------
    kernel_ : Kernel
    inducing_ : (M, D)
    log_evidence_ : LogEvidence
        With a given kernel a "bound", or an "estimate" of FITC; "type-II" where it was chosen by this,
        and "laplace" where parameters are integrated.
    account_ : tuple of str
        How it was computed: the method, the search, jitter if any.
    n_iter_ : int
        Evaluations in the search; 0 without one.
    n_features_in_, feature_names_in_

    Notes
    -----
    An evaluation costs O(N M²) time, and O(M²) memory beside the rows. NaN in y is a missing target.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.linspace(0.0, 10.0, 500)[:, None]
    >>> y = np.sin(x[:, 0]) + 0.1 * np.cos(50.0 * x[:, 0])
    >>> model = SparseGaussianProcessRegressor(inducing=20).fit(x, y)
    >>> model.predict([[np.pi / 2]]).round(1)
    array([1.])
    """

    _constraints = {
        "method": one_of("variational", "fitc"),
        "hyperparameters": one_of("type-II", "fixed", "integrated"),
        "mean": one_of("constant", "zero", "linear"),
        "n_init": WHOLE,
        "search_rows": or_none(WHOLE),
    }

    def __init__(
        self,
        kernel: Kernel | None = None,
        inducing: Any = 200,
        *,
        method: str = "variational",
        hyperparameters: str = "type-II",
        mean: str = "constant",
        move_points: bool = False,
        fixed: Any = (),
        n_init: int = 1,
        search_rows: int | None = None,
        random_state: Seed = None,
        callback: Any = None,
    ) -> None:
        self.kernel = kernel
        self.inducing = inducing
        self.method = method
        self.hyperparameters = hyperparameters
        self.mean = mean
        self.move_points = move_points
        self.fixed = fixed
        self.n_init = n_init
        self.search_rows = search_rows
        self.random_state = random_state
        self.callback = callback

    # -- learning --------------------------------------------------------------------------

    @property
    def _stream_is_batch(self) -> bool:
        """Whether nothing but sums is learned: kernel and points are given."""
        given = not np.isscalar(self.inducing) and not self.move_points
        return given and self.hyperparameters == "fixed"

    def fit(self, X: Any, y: Any, sample_weight: Any = None, noise_variance: Any = None) -> Self:
        """Learn the function, and its kernel where that is asked for.

        Parameters
        ----------
        X : (N, D)
        y : (N,)
            NaN is a missing target.
        sample_weight : (N,), optional
            Frequencies: 2 equals a repeated row, 0 leaves it out.
        noise_variance : (N,), optional
            Of the noise of each row, relative to that of the kernel; absolute where it has none.
        """
        check_parameters(self)
        rows = self._read(X, y, sample_weight, noise_variance, reset=True)
        kernel = self._kernel(rows)
        absolute = _noise_is_given(kernel, rows)
        sparse = SparseRows(rows.x, rows.y, rows.frequency, rows.variance)
        kernel, points, self.n_iter_, told = self._learn(kernel, sparse, absolute)
        solve = partial(
            _solve,
            points=points,
            rows=sparse,
            mean=self.mean,
            fitc=self.method == "fitc",
            absolute=absolute,
        )
        free = find_free(kernel, self.fixed)
        if self.hyperparameters == "integrated" and free.any():
            self._integrate(kernel, sparse, solve, free, rows.fingerprint)
        else:
            self._keep(solve(kernel), rows.fingerprint, told)
        return self

    def _integrate(
        self,
        kernel: Kernel,
        rows: SparseRows,
        solve: Callable[[Kernel], SolvedSparse],
        free: Array,
        fingerprint: Fingerprint,
    ) -> None:
        """Weigh parameters by how probable they are, for the points that are chosen."""
        first = solve(kernel)
        model, fitc = first.model, self.method == "fitc"
        evidence = sparse_evidence(rows, model.mean, fitc, model.absolute)
        bounds = default_bounds(kernel, rows.x, rows.y - model.mean.center, rows.frequency)
        found = integrate_parameters(
            lambda one: evidence(one, model.points)[:2],
            solve,
            lambda score: self._search(score, kernel, bounds=bounds, fixed=self.fixed),
            bounds,
            free,
        )
        self._warn_unless_found(found.top)
        self.n_iter_ += found.top.n_iter
        self._belief = ProcessBelief(
            found.models, found.solved, found.weights, model.absolute, True
        )
        self._fingerprint = fingerprint
        self.kernel_, self.inducing_ = found.top.kernel, model.points
        self.account_ = (*_told(first), found.account)
        self.log_evidence_ = LogEvidence(
            found.log_evidence, kind="laplace", of="y|X", fingerprint=fingerprint
        )

    @available_if(is_not_integrated)
    def partial_fit(
        self, X: Any, y: Any, sample_weight: Any = None, noise_variance: Any = None
    ) -> Self:
        """Learn from further rows, with the kernel and the points that the first ones have given.

        Where both were given from the start it is the same as one fit to all rows.
        """
        if "_belief" not in self.__dict__:
            return self.fit(X, y, sample_weight, noise_variance)
        known = self._process
        rows = self._read(X, y, sample_weight, noise_variance, reset=False)
        if known.model.absolute != _noise_is_given(known.model.kernel, rows):
            raise ValueError("noise_variance must be given for all rows, as it was before")
        sparse = SparseRows(rows.x, rows.y, rows.frequency, rows.variance)
        fingerprint = self._fingerprint.merge(rows.fingerprint)
        self._keep(known.extended(sparse).solve(), fingerprint, self._found)
        return self

    @available_if(is_not_integrated)
    def merge(self, other: SparseGaussianProcessRegressor) -> SparseGaussianProcessRegressor:
        """Return the model that has seen the rows of both, which have one kernel and the same points."""
        check_is_fitted(self)
        check_is_fitted(other)
        mine, theirs = self._process.model, other._process.model
        if mine.kernel != theirs.kernel or not np.array_equal(mine.points, theirs.points):
            raise ValueError("models with other kernels or other points cannot be merged")
        both = clone(self)
        copy_columns(self, both)
        both.n_iter_ = self.n_iter_
        fingerprint = self._fingerprint.merge(other._fingerprint)
        both._keep(self._process.merge(other._process).solve(), fingerprint, self._found)
        return both

    @property
    def _process(self) -> SparseProcess:
        """The one process that there is."""
        process: SparseProcess = self._belief.processes[0].process
        return process

    def _read(
        self, X: Any, y: Any, sample_weight: Any, noise_variance: Any, *, reset: bool
    ) -> Rows:
        return check_rows(
            self,
            X,
            y,
            sample_weight=sample_weight,
            noise_variance=noise_variance,
            missing="drop",
            reset=reset,
            largest=LARGEST_TARGET,
        )

    def _kernel(self, rows: Rows) -> Kernel:
        if self.kernel is None:
            smooth = 1.0 * RBF(np.ones(rows.x.shape[1])) + White()
            around = rows.y - np.average(rows.y, weights=rows.frequency)
            usual = default_bounds(smooth, rows.x, around, rows.frequency)
            return smooth.with_log_parameters(usual.center)
        if not isinstance(self.kernel, Kernel):
            raise TypeError(
                f"kernel must be one of posteriori.kernels or None, got {self.kernel!r}"
            )
        return self.kernel

    def _learn(
        self, kernel: Kernel, rows: SparseRows, absolute: bool
    ) -> tuple[Kernel, Array, int, tuple[str, ...]]:
        """Return the kernel, its points, how many evaluations they took, and the same in words."""
        wanted = self._wanted(rows.x)
        if self.hyperparameters == "fixed" and not self.move_points:
            if isinstance(wanted, int):
                wanted = choose_points(silenced(kernel), rows.x, wanted)
            return kernel, wanted, 0, ()
        mean = mean_effects(self.mean, rows.x, rows.y, rows.frequency)
        search = partial(
            self._search,
            bounds=default_bounds(kernel, rows.x, rows.y - mean.center, rows.frequency),
            fixed=kernel.parameter_names if self.hyperparameters == "fixed" else self.fixed,
            tol=0.0 if self.search_rows is None else SEARCH_TOL,
        )
        part = rows
        if self.search_rows is not None:
            part = rows.part(some_rows(len(rows.x), self.search_rows))
            few = part.part(some_rows(len(part.x), max(self.search_rows // _SHARE, 2)))
            kernel = search(_exact_evidence(few, mean, absolute), kernel).kernel
        evidence, fitc = (
            sparse_evidence(part, mean, method, absolute)
            for method in (self.method == "fitc", True)
        )
        scout = None if self.method == "fitc" or self.hyperparameters == "fixed" else fitc
        found, points = learn_sparse(
            kernel, wanted, evidence, search, rows.x, move=bool(self.move_points), scout=scout
        )
        self._warn_unless_found(found)
        kept = kernel if self.hyperparameters == "fixed" else found.kernel
        told = f"kernel and points of highest evidence after {found.n_iter} evaluations"
        return kept, points, found.n_iter, (told,)

    def _warn_unless_found(self, found: SearchedKernel) -> None:
        if not found.converged:
            warnings.warn(
                f"{type(self).__name__} has not found the kernel of highest evidence in "
                f"{found.n_iter} evaluations; fix some parameters, or begin with this kernel_",
                ConvergenceWarning,
                stacklevel=4,
            )

    def _search(self, objective: Objective, kernel: Kernel, **where: Any) -> SearchedKernel:
        return maximize_evidence(
            objective,
            kernel,
            n_init=int(self.n_init),
            rng=self.random_state,
            callback=self.callback,
            **where,
        )

    def _wanted(self, x: Array) -> Array | int:
        """Return the points, or how many."""
        if np.isscalar(self.inducing):
            number: Any = self.inducing
            if not WHOLE.allows(number):
                raise ValueError(f"inducing must be points (M, D) or a number >= 1, got {number!r}")
            return int(number)
        points = check_points("inducing", self.inducing)
        if points.shape[1] != x.shape[1]:
            raise ValueError(
                f"inducing has {points.shape[1]} columns and X has {x.shape[1]}; points are rows like X"
            )
        return points

    def _keep(self, solved: SolvedSparse, fingerprint: Fingerprint, found: tuple[str, ...]) -> None:
        model = solved.model
        self._belief = ProcessBelief((model.kernel,), (solved,), np.ones(1), model.absolute, True)
        self._fingerprint, self._found = fingerprint, found
        self.kernel_, self.inducing_ = model.kernel, model.points
        self.account_ = (*_told(solved), *found)
        kind: Kind = "estimate" if self.method == "fitc" else "bound"
        self.log_evidence_ = LogEvidence(
            solved.log_evidence,
            kind=kind if self.hyperparameters == "fixed" else "type-II",
            of="y|X",
            fingerprint=fingerprint,
        )

    # -- predictions -----------------------------------------------------------------------

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Return the expected targets (N,), with ``return_std`` also their standard deviations."""
        check_is_fitted(self)
        if not return_std:
            return self._belief.mean(check_inputs(self, X))
        found = self.predict_dist(X)
        return np.asarray(found.mean), np.asarray(found.std)

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
            Of the noise of each row, relative to that of the kernel; absolute where it has none.

        Returns
        -------
        Normal or MvNormal
        Mixture
            Of these, for hyperparameters="integrated".
        """
        check_is_fitted(self)
        x = check_inputs(self, X)
        level: Array | float | None = None if noise else 0.0
        if noise and noise_variance is not None:
            level = check_noise_variance(noise_variance, len(x))
        return self._belief.predict_jointly(x, level) if joint else self._belief.predict(x, level)

    def sample_functions(self, X: Any, size: int = 1, rng: Seed = None) -> Array:
        """Draw functions from the posterior and return their values at X, (S, N)."""
        check_is_fitted(self)
        return self._belief.sample(check_inputs(self, X), size, as_generator(rng))

    def sample_targets(self, X: Any, size: int = 1, rng: Seed = None) -> Array:
        """Draw whole new sets of targets at X from the posterior predictive, (S, N)."""
        check_is_fitted(self)
        return self._belief.sample_targets(check_inputs(self, X), size, as_generator(rng))

    def effects(self, X: Any) -> list[Effect]:
        """Return what is believed of the mean, if there is one, and of each summand of the kernel.

        Their means add up to that of the function; their beliefs depend on each other.
        """
        check_is_fitted(self)
        return self._belief.effects(check_inputs(self, X))

    @available_if(kernel_is_kept)
    def leave_one_out_log_density(
        self, X: Any, y: Any, sample_weight: Any = None, noise_variance: Any = None
    ) -> Array:
        """Return ln p(y_n | all other rows) of the rows that the model was fitted to, (N,).

        Weights are those of the fit; one of the copies of a row is left out. For the points and the level that all rows have given; not offered where these have chosen the
        parameters of the kernel.
        """
        check_is_fitted(self)
        rows = self._read(X, y, sample_weight, noise_variance, reset=False)
        if self._fingerprint != rows.fingerprint:
            raise ValueError(
                "X, y and sample_weight must be those that the model was fitted to: only these rows can be "
                "left out"
            )
        asked = SparseRows(rows.x, rows.y, None, rows.variance)
        logs = []
        for process in self._belief.processes:
            mean, variance = process.left_out(asked)
            logs.append(Normal(mean[:, 0], variance=variance).log_prob(rows.y))
        return self._belief.weigh_left_out(logs)


def _solve(
    kernel: Kernel, points: Array, rows: SparseRows, mean: str, fitc: bool, absolute: bool
) -> SolvedSparse:
    return start_sparse(kernel, points, rows, mean, fitc=fitc, absolute=absolute).solve()


def _told(solved: SolvedSparse) -> tuple[str, ...]:
    """Return how a function was found, in words."""
    method = "FITC" if solved.process.fitc else "collapsed bound"
    rows, points = solved.process.sums.rows, len(solved.model.points)
    told = [f"{method} of {rows:g} rows through {points} points, O(N M²)"]
    if solved.jitter:
        told.append(f"jitter {solved.jitter:.3g} on the diagonal: without it k(U) is not definite")
    return tuple(told)


def _exact_evidence(rows: SparseRows, mean: MeanEffects, absolute: bool) -> Objective:
    """Return the evidence of all of some rows, and its slopes, as a function of the kernel."""
    merged = merge_rows(rows.x, rows.y[:, None], rows.frequency, rows.variance)
    return DenseForm(merged, mean, absolute).score


def _noise_is_given(kernel: Kernel, rows: Rows) -> bool:
    """Tell whether rows bring noise of their own; refuse rows without any."""
    if np.any(noise_variances(kernel, rows.x[:1], False) > 0):
        return False
    if rows.variance is None:
        raise ValueError(
            f"{kernel!r} has no noise, and a few points cannot tell all targets exactly; add White() to "
            "the kernel, or give noise_variance"
        )
    return True
