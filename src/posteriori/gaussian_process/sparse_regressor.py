r"""Gaussian process regression of many rows: the function is told at a few points.

.. math:: \ln p(y) \ge \ln N(y\mid m, Q + \sigma^2I) - \frac1{2\sigma^2}\mathrm{tr}(K - Q),\qquad
          Q = K_{nm}K_{mm}^{-1}K_{mn}

References: M. Titsias, "Variational learning of inducing variables in sparse Gaussian processes", 2009;
E. Snelson & Z. Ghahramani, "Sparse Gaussian processes using pseudo-inputs", 2006.
"""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.utils.validation import check_is_fitted

from posteriori.distributions.numbers.normal import Normal
from posteriori.distributions.vectors.mvnormal import MvNormal
from posteriori.estimators.contract import copy_columns
from posteriori.estimators.estimator_rows import (
    Rows,
    check_inputs,
    check_noise_variance,
    check_rows,
)
from posteriori.estimators.parameters import WHOLE, Constraint, check_parameters, one_of, or_none
from posteriori.inference.processes.dense_process import noise_variances
from posteriori.inference.processes.forms.process_form import DenseForm
from posteriori.inference.processes.inducing.inducing_features import SparseRows
from posteriori.inference.processes.inducing.inducing_points import choose_points
from posteriori.inference.processes.inducing.sparse_process import (
    SparseProcess,
    learn_sparse,
    sparse_evidence,
    start_sparse,
)
from posteriori.inference.processes.kernel_search import (
    SEARCH_TOL,
    Objective,
    maximize_evidence,
    some_rows,
)
from posteriori.inference.processes.mean_effects import MeanEffects, mean_effects
from posteriori.inference.processes.noise_parts import silenced
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


class SparseGaussianProcessRegressor(RegressorMixin, BaseEstimator):
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
        of a process with independent noise where the points leave the function open; it can be too high.
    hyperparameters : {"type-II", "fixed"}
        "type-II": the kernel of highest evidence. "fixed": the kernel as it is.
    mean : {"constant", "zero", "linear"}
        What the function varies around; a level ~ N(ȳ, s²), and lines with standardised slopes ~ N(0, s²),
        are integrated out, with s the standard deviation of the targets.
    move_points : bool
        Whether points move uphill of the evidence once they are chosen.
    fixed : sequence of str
        Names of kernel parameters that are not learned, such as "White.variance".
    restarts : int
        Further searches from random kernels.
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
        With a given kernel a "bound", or an "estimate" of FITC; "type-II" where it was chosen by this.
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
        "hyperparameters": one_of("type-II", "fixed"),
        "mean": one_of("constant", "zero", "linear"),
        "restarts": Constraint("be a whole number >= 0", 0.0, np.inf, whole=True),
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
        restarts: int = 0,
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
        self.restarts = restarts
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
        kernel, points, self.n_iter_ = self._learn(kernel, sparse, absolute)
        self._keep(
            start_sparse(
                kernel,
                points,
                sparse,
                self.mean,
                fitc=self.method == "fitc",
                absolute=absolute,
            ),
            rows.fingerprint,
        )
        return self

    def partial_fit(
        self, X: Any, y: Any, sample_weight: Any = None, noise_variance: Any = None
    ) -> Self:
        """Learn from further rows, with the kernel and the points that the first ones have given.

        Where both were given from the start it is the same as one fit to all rows.
        """
        known: SparseProcess | None = self.__dict__.get("_process")
        if known is None:
            return self.fit(X, y, sample_weight, noise_variance)
        rows = self._read(X, y, sample_weight, noise_variance, reset=False)
        if known.model.absolute != _noise_is_given(known.model.kernel, rows):
            raise ValueError("noise_variance must be given for all rows, as it was before")
        sparse = SparseRows(rows.x, rows.y, rows.frequency, rows.variance)
        self._keep(known.extended(sparse), self._fingerprint.merge(rows.fingerprint))
        return self

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
        both._keep(self._process.merge(other._process), fingerprint)
        return both

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
        )

    def _kernel(self, rows: Rows) -> Kernel:
        if self.kernel is None:
            smooth = 1.0 * RBF(np.ones(rows.x.shape[1])) + White()
            usual = default_bounds(smooth, rows.x, rows.y - rows.y.mean())
            return smooth.with_log_parameters(usual.center)
        if not isinstance(self.kernel, Kernel):
            raise TypeError(
                f"kernel must be one of posteriori.kernels or None, got {self.kernel!r}"
            )
        return self.kernel

    def _learn(self, kernel: Kernel, rows: SparseRows, absolute: bool) -> tuple[Kernel, Array, int]:
        """Return the kernel, its points, and how many evaluations they took."""
        wanted = self._wanted(rows.x)
        if self.hyperparameters == "fixed" and not self.move_points:
            if isinstance(wanted, int):
                wanted = choose_points(silenced(kernel), rows.x, wanted)
            return kernel, wanted, 0
        mean = mean_effects(self.mean, rows.x, rows.y, rows.frequency)
        search = partial(
            maximize_evidence,
            bounds=default_bounds(kernel, rows.x, rows.y - mean.center),
            fixed=kernel.parameter_names if self.hyperparameters == "fixed" else self.fixed,
            restarts=int(self.restarts),
            rng=self.random_state,
            callback=self.callback,
            tol=0.0 if self.search_rows is None else SEARCH_TOL,
        )
        part = rows
        if self.search_rows is not None:
            part = rows.part(some_rows(len(rows.x), self.search_rows))
            few = part.part(some_rows(len(part.x), max(self.search_rows // _SHARE, 2)))
            kernel = search(_exact_evidence(few, mean, absolute), kernel).kernel
        evidence = sparse_evidence(part, mean, self.method == "fitc", absolute)
        found, points = learn_sparse(
            kernel, wanted, evidence, search, rows.x, move=bool(self.move_points)
        )
        if not found.converged:
            warnings.warn(
                f"{type(self).__name__} has not found the kernel of highest evidence in "
                f"{found.n_iter} evaluations; fix some parameters, or begin with this kernel_",
                ConvergenceWarning,
                stacklevel=3,
            )
        kept = kernel if self.hyperparameters == "fixed" else found.kernel
        return kept, points, found.n_iter

    def _wanted(self, x: Array) -> Array | int:
        """Return the points, or how many."""
        if np.isscalar(self.inducing):
            number: Any = self.inducing
            if number != int(number) or number < 1:
                raise ValueError(f"inducing must be points (M, D) or a number >= 1, got {number!r}")
            return int(number)
        points = check_points("inducing", self.inducing)
        if points.shape[1] != x.shape[1]:
            raise ValueError(
                f"inducing has {points.shape[1]} columns and X has {x.shape[1]}; points are rows like X"
            )
        return points

    def _keep(self, process: SparseProcess, fingerprint: Fingerprint) -> None:
        weights = process.solve()
        self._process, self._weights, self._fingerprint = process, weights, fingerprint
        self.kernel_, self.inducing_ = process.model.kernel, process.model.points
        kind: Kind = "estimate" if process.fitc else "bound"
        self.log_evidence_ = LogEvidence(
            weights.log_evidence,
            kind=kind if self.hyperparameters == "fixed" else "type-II",
            of="y|X",
            fingerprint=fingerprint,
        )

    # -- predictions -----------------------------------------------------------------------

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Return the expected targets (N,), with ``return_std`` also their standard deviations."""
        if not return_std:
            check_is_fitted(self)
            return self._process.predict(self._weights, check_inputs(self, X))[0]
        found = self.predict_dist(X)
        return found.mean, found.std

    def predict_dist(
        self, X: Any, *, joint: bool = False, noise: bool = True, noise_variance: Any = None
    ) -> Normal | MvNormal:
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
        """
        check_is_fitted(self)
        x, process = check_inputs(self, X), self._process
        added = self._noise(x, noise_variance) if noise else np.zeros(len(x))
        mean, variance = process.predict(self._weights, x)
        if not joint:
            return Normal(mean, variance=np.maximum(variance + added, np.finfo(float).tiny))
        return MvNormal(mean, cov=process.covariance(self._weights, x) + np.diag(added))

    def sample_functions(self, X: Any, size: int = 1, rng: Seed = None) -> Array:
        """Draw functions from the posterior and return their values at X, (S, N)."""
        drawn = self.predict_dist(X, joint=True, noise=False)
        return np.asarray(drawn.sample(size, rng=as_generator(rng)))

    def _noise(self, x: Array, noise_variance: Any) -> Array:
        model = self._process.model
        given = None if noise_variance is None else check_noise_variance(noise_variance, len(x))
        if model.absolute:
            return np.zeros(len(x)) if given is None else given
        own = noise_variances(model.kernel, x, False)
        return own if given is None else own * given


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
