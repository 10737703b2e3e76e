r"""Principal components: :math:`z = U_k^\top(x - \bar x)`, :math:`\hat x = U_k z + \bar x`.

The directions U of largest variance are those of least error: what is left over is
:math:`\tfrac1N\sum_n|x_n - \hat x_n|^2 = \sum_{j>k}\lambda_j`.

Reference: C. Bishop, "Pattern recognition and machine learning", 2006, sec. 12.1.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy.stats import chi2
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_array, check_is_fitted

from posteriori.decomposition.component_number import (
    check_number,
    count_above_noise,
    find_knee,
    log_evidences_of_rank,
    number_for_share,
)
from posteriori.decomposition.moment_stream import MomentStream
from posteriori.decomposition.spectra import (
    Spectrum,
    moments_spectrum,
    power_spectrum,
    random_spectrum,
    row_spectrum,
)
from posteriori.estimators.base.base_estimator import BaseEstimator
from posteriori.estimators.estimator_rows import check_inputs
from posteriori.estimators.parameters import check_parameters, one_of, or_none
from posteriori.numerics.lazy import covariance
from posteriori.numerics.random import as_generator
from posteriori.numerics.types import Array, IntArray
from posteriori.numerics.validation import require_squares

__all__ = ["PCA", "check_complete", "require_rows"]

#: Rows farther out than this share of normal rows are outliers.
_INLIERS = 0.975

#: From this many columns or rows on, whichever are fewer, all directions take minutes to find.
_LARGE = 2000

#: Of a large table, components up to this part of its smaller side are found by random directions.
_FEW = 0.1


class PCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Directions of largest variance.

    Parameters
    ----------
    n_components : int, float, {"knee", "evidence", "parallel"} or None
        How many; or the share of the variance that they carry, in (0, 1]; or the rule that chooses:
        the knee of the eigenvalues, Minka's evidence, or more variance than noise has (Horn's parallel
        analysis). None keeps every direction in which rows vary.
    solver : {"auto", "covariance", "svd", "gram", "randomized", "power"}
        Eigenvectors of the covariance (D, D); singular vectors of centred rows; eigenvectors of inner
        products of rows (N, N); passes over the rows from random directions; power iteration, one
        direction after another. All agree.
    whiten : bool
        Whether scores are divided by their standard deviations: their covariance, divided by N, is I.
    outliers : {"drop"} or None
        Leave out rows that lie far from the rest by a robust covariance (``MinCovDet``).
    random_state : int, Generator or None
        For "randomized", "power", "parallel" and ``outliers``.

    Attributes
    ----------
    mean_ : (D,)
    components_ : (k, D)
        Orthonormal, the largest entry of each positive.
    eigenvalues_ : (M,)
        Variances along the directions that were found, also those that are not kept; divided by N.
    explained_variance_ : (k,)
        Divided by N − 1, as scikit-learn does.
    explained_variance_ratio_ : (k,)
        Shares of the variance of all columns.
    reconstruction_error_ : float
        Mean squared distance of rows to their reconstructions, the sum of dropped eigenvalues.
    n_components_ : int
    n_samples_ : int
        Rows that counted.
    outliers_ : (m,)
        Numbers of the rows that were dropped.

    Notes
    -----
    Directions of largest variance depend on the units of the columns: scale these first where they
    differ. A single outlier can turn them. Gaps (NaN) are refused; :class:`ProbabilisticPCA` takes them.

    Examples
    --------
    >>> p = PCA(1).fit([[1.0, 2.0], [3.0, 4.0], [5.0, 9.0]])
    >>> p.components_.round(4), p.eigenvalues_.round(4), round(p.reconstruction_error_, 4)
    (array([[0.4792, 0.8777]]), array([11.2144,  0.1189]), 0.1189)
    """

    _stream: MomentStream
    _constraints = {
        "solver": one_of("auto", "covariance", "svd", "gram", "randomized", "power"),
        "outliers": or_none(one_of("drop")),
    }

    def __init__(
        self,
        n_components: int | float | str | None = None,
        *,
        solver: str = "auto",
        whiten: bool = False,
        outliers: str | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.solver = solver
        self.whiten = whiten
        self.outliers = outliers
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the directions of rows (N, D)."""
        check_parameters(self)
        check_number(self.n_components)
        x = check_complete(self, X, reset=True)
        require_rows(x)
        rng = as_generator(self.random_state)
        self.outliers_ = _outliers(x, rng) if self.outliers else np.zeros(0, dtype=np.int64)
        if len(self.outliers_):
            x = np.delete(x, self.outliers_, axis=0)
        self.__dict__.pop("_stream", None)
        spectrum, mean, variances = self._solve(x, rng)
        self._keep(spectrum, mean, variances, len(x), rng)
        return self

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Find the directions of these rows and all that came before: equal to one ``fit`` of them."""
        check_parameters(self)
        check_number(self.n_components)
        if self.outliers:
            raise ValueError("outliers are sought among all rows: drop them before partial_fit")
        first = "_stream" not in self.__dict__
        x = check_complete(self, X, reset=first)
        stream = MomentStream.of(x) if first else self._stream.add(x)
        if stream.n_rows < 2:
            raise ValueError("1 sample has no directions: begin with more rows")
        rng = as_generator(self.random_state)
        found = moments_spectrum(stream.moments)
        self._keep(found, stream.mean, stream.variances, stream.n_rows, rng)
        self._stream, self.outliers_ = stream, np.zeros(0, dtype=np.int64)
        return self

    def transform(self, X: Any) -> Array:
        """Return coordinates of rows along the components, (N, k)."""
        check_is_fitted(self)
        x = check_complete(self, X)
        scores = (x - self.mean_) @ self.components_.T
        return scores / self._scale if self.whiten else scores

    def inverse_transform(self, Z: Any) -> Array:
        """Return the rows (N, D) that coordinates (N, k) stand for."""
        check_is_fitted(self)
        z = check_array(Z, dtype=np.float64, input_name="Z")
        if z.shape[1] != self.n_components_:
            raise ValueError(f"Z must have {self.n_components_} columns, got {z.shape[1]}")
        return (z * self._scale if self.whiten else z) @ self.components_ + self.mean_

    def _solve(self, x: Array, rng: np.random.Generator) -> tuple[Spectrum, Array, Array]:
        """Return the spectrum, and means and variances of columns."""
        solver = self._chosen_solver(*x.shape)
        if solver in ("covariance", "power"):
            stream = MomentStream.of(x)
            if solver == "power":
                found = power_spectrum(stream.moments, self._sought(x), rng)
            else:
                found = moments_spectrum(stream.moments)
            return found, stream.mean, stream.variances
        require_squares("X", x)
        mean = x.mean(axis=0)
        mean += (x - mean).mean(axis=0)  # what the first sum rounded off
        if solver == "randomized":
            found = random_spectrum(x, mean, self._sought(x), rng)
        else:
            found = row_spectrum(x, mean, gram=solver == "gram")
        return found, mean, x.var(axis=0)

    def _chosen_solver(self, n: int, d: int) -> str:
        if self.solver != "auto":
            return self.solver
        asked = self.n_components if isinstance(self.n_components, int) else min(n, d)
        if min(n, d) > _LARGE and asked < _FEW * min(n, d):
            return "randomized"
        if n >= 2 * d:
            return "covariance"
        return "gram" if d >= 2 * n else "svd"

    def _sought(self, x: Array) -> int:
        """Return how many directions to find: all of them where a rule chooses."""
        asked = self.n_components
        most = min(len(x) - 1, x.shape[1])
        return min(int(asked), most) if isinstance(asked, int | np.integer) else most

    def _keep(
        self, found: Spectrum, mean: Array, variances: Array, n: int, rng: np.random.Generator
    ) -> None:
        """Set what is learned."""
        rank = found.rank(mean)
        if rank == 0:
            raise ValueError("every column of X is constant: rows have no direction")
        values = found.values[:rank]
        k = self._number(found, rank, variances, n, rng)
        self.mean_, self.n_samples_, self.n_components_ = mean, n, k
        self.eigenvalues_ = values
        self.components_ = found.vectors[:k]
        self.explained_variance_ = values[:k] * (n / (n - 1.0))
        self.explained_variance_ratio_ = values[:k] / found.total
        self.reconstruction_error_ = found.left_over(k)
        self._scale = np.sqrt(values[:k])

    def _number(
        self, found: Spectrum, rank: int, variances: Array, n: int, rng: np.random.Generator
    ) -> int:
        asked, values, d = self.n_components, found.values[:rank], len(variances)
        if asked is None:
            return rank
        if asked == "knee":
            return find_knee(values)
        if asked == "parallel":
            return count_above_noise(values, found.vectors[:rank], variances, n, rng)
        if asked == "evidence":
            if rank < d:
                raise ValueError(
                    f"evidence needs rows that vary in all {d} directions, got {rank}: give more rows "
                    'or fewer columns, or choose by "parallel"'
                )
            return 1 if d == 1 else 1 + int(np.argmax(log_evidences_of_rank(values, n)))
        if isinstance(asked, float):
            return number_for_share(values, found.total, asked)
        if int(asked) > rank:
            raise ValueError(
                f"n_components={asked}, but rows of X vary in {rank} directions only "
                f"(n_samples={n}, n_features={d}): ask for at most {rank}"
            )
        return int(asked)


def check_complete(estimator: Any, X: Any, *, reset: bool = False) -> Array:
    """Return X as finite float64 (N, D); who has gaps is told where to go."""
    try:
        return check_inputs(estimator, X, reset=reset)
    except ValueError as error:
        if "contains NaN in" not in str(error):
            raise
        raise ValueError(f"{error}; ProbabilisticPCA takes rows with gaps as they are") from None


def require_rows(x: Array) -> None:
    """Refuse a single row."""
    if len(x) < 2:
        raise ValueError("X has 1 sample, which has no directions: give more rows")


def _outliers(x: Array, rng: np.random.Generator) -> IntArray:
    """Return the numbers of rows that lie far out by a robust covariance."""
    n, d = x.shape
    if n < 2 * d + 1:
        raise ValueError(
            f"outliers among {n} rows in {d} columns cannot be told: give at least {2 * d + 1} rows"
        )
    seed = int(rng.integers(2**31))
    z = x - x.mean(axis=0)
    size = np.abs(z).max(axis=0)
    z /= np.where(size > 0, size, 1.0)  # distances are the same in all units
    try:
        robust = covariance.MinCovDet(random_state=seed).fit(z)
    except ValueError as error:  # half of the rows are the same
        raise ValueError(
            f"outliers='drop' finds no spread among most rows of X: {error}; leave it out"
        ) from None
    return np.flatnonzero(robust.mahalanobis(z) > chi2.ppf(_INLIERS, d))
