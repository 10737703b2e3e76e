r"""Independent components: :math:`x = As`, with sources that are independent and not normal.

The unmixing :math:`W = A^{-1}` of highest likelihood maximises
:math:`\ln|\det W| + \tfrac1N\sum_n\sum_i\ln p_i((Wx_n)_i)`.

Reference: D. MacKay, "Information theory, inference, and learning algorithms", 2003, ch. 34.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_array, check_is_fitted

from posteriori.decomposition.moment_stream import MomentStream
from posteriori.decomposition.principal_components import check_complete, require_rows
from posteriori.decomposition.spectra import moments_spectrum, row_spectrum, with_positive_peaks
from posteriori.estimators.base.base_estimator import BaseEstimator
from posteriori.estimators.parameters import NOT_NEGATIVE, WHOLE, check_parameters, one_of, or_none
from posteriori.inference.components.source_ascent import (
    Densities,
    SourceAscent,
    ascend_by_natural_gradient,
    ascend_by_newton,
    iterate_fixed_point,
)
from posteriori.inference.components.source_densities import GivenDensity, TailDensities
from posteriori.numerics.threads import without_blas_threads
from posteriori.numerics.types import Array
from posteriori.numerics.warnings import ConvergenceWarning

__all__ = ["ICA"]

#: So many rows, evenly spread, show where to begin.
_FEW = 5_000

#: How far the beginning goes: sampling errors of that many rows are of this size.
_NEAR, _NEAR_STEPS = 1e-3, 100

#: How often a source whose tails turn out to be of the other kind may change it.
_CHANGES = 4

#: Standard errors within which a source is taken for normal: the ascent has chosen the direction that
#: looks least so.
_LIKE_NORMAL = 4.0

_SOLVERS: dict[str, Callable[..., SourceAscent]] = {
    "newton": ascend_by_newton,
    "natural-gradient": ascend_by_natural_gradient,
    "fixed-point": iterate_fixed_point,
}


class ICA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Independent sources behind mixed columns.

    Parameters
    ----------
    n_components : int or None
        Sources; fewer than columns keep the principal components of largest variance. None is as many
        as there are directions in which rows vary.
    solver : {"newton", "natural-gradient", "fixed-point"}
        Preconditioned quasi-Newton steps; steps along the natural gradient, which need many more; or the
        fixed-point method, whose sources are exactly uncorrelated and of unit variance.
    sources : {"auto", "heavy", "light"} or (log density, score)
        Densities: "auto" learns whether the tails of each source are heavy, 1/(π cosh s), or light,
        ½ N(s | 1, 1) + ½ N(s | −1, 1); or two functions of arrays, ln p(s) and its derivative.
    tol : float
        For the largest entry of the relative gradient.
    max_iter : int

    Attributes
    ----------
    components_ : (k, D)
        W: sources are W (x − mean). The strongest source is the first.
    mixing_ : (D, k)
        A; the largest entry of each column is positive.
    mean_ : (D,)
    log_likelihood_ : float
        ln p(X); with fewer sources than columns, that of the principal components.
    gradient_norm_ : float
    heavy_tails_ : (k,) bool
        Whether the tails of each source are heavier than those of a normal.
    normal_sources_ : list of int
        Sources that cannot be told from normal ones. Where there are several, they are known only up to
        a rotation among them.
    n_iter_ : int
    converged_ : bool

    Warns
    -----
    ConvergenceWarning
        When ``gradient_norm_`` is above ``tol``.
    UserWarning
        When several sources cannot be told from normal ones.

    Notes
    -----
    Order, signs and sizes of sources are not in the data: sizes are those of the densities.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> S = np.stack([rng.laplace(size=2000), rng.uniform(-1, 1, size=2000)], axis=1)
    >>> A = np.array([[1.0, 0.5], [0.3, 1.0]])
    >>> from posteriori.decomposition import amari_distance
    >>> found = ICA().fit(S @ A.T)
    >>> found.heavy_tails_, round(amari_distance(found.components_, A), 2)
    (array([ True, False]), 0.01)
    """

    _constraints = {
        "n_components": or_none(WHOLE),
        "solver": one_of(*_SOLVERS),
        "tol": NOT_NEGATIVE,
        "max_iter": WHOLE,
    }

    def __init__(
        self,
        n_components: int | None = None,
        *,
        solver: str = "newton",
        sources: Any = "auto",
        tol: float = 1e-6,
        max_iter: int = 1000,
    ) -> None:
        self.n_components = n_components
        self.solver = solver
        self.sources = sources
        self.tol = tol
        self.max_iter = max_iter

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the sources of rows (N, D)."""
        check_parameters(self)
        x = check_complete(self, X, reset=True)
        require_rows(x)
        whitening, log_det = self._whiten(x)
        z = np.ascontiguousarray(whitening @ (x - self.mean_).T)
        densities = self._densities(len(z))
        with without_blas_threads():  # products are small, and of many columns shared out
            found, densities = self._ascend(z, densities)
        if not found.converged:
            warnings.warn(
                f"ICA stopped after {found.n_iter} steps with a gradient of {found.gradient_norm:.3g}, "
                f"above tol={self.tol:g}: raise max_iter, or let sources='auto' choose the densities",
                ConvergenceWarning,
                stacklevel=2,
            )
        log_det += float(np.linalg.slogdet(found.unmixing)[1])
        self.log_likelihood_ = len(x) * (log_det - found.moments.value)
        self.gradient_norm_ = found.gradient_norm
        self.n_iter_, self.converged_ = found.n_iter, found.converged
        self._keep(found.unmixing, whitening, z)
        return self

    def transform(self, X: Any) -> Array:
        """Return the sources of rows, (N, k)."""
        check_is_fitted(self)
        return (check_complete(self, X) - self.mean_) @ self.components_.T

    def inverse_transform(self, S: Any) -> Array:
        """Return the rows (N, D) that sources (N, k) mix to."""
        check_is_fitted(self)
        s = check_array(S, dtype=np.float64, input_name="S")
        if s.shape[1] != len(self.components_):
            raise ValueError(f"S must have {len(self.components_)} columns, got {s.shape[1]}")
        return s @ self.mixing_.T + self.mean_

    def _whiten(self, x: Array) -> tuple[Array, float]:
        """Set the mean; return B (k, D) with B (x − mean) of covariance I, and ln |det B|."""
        if x.shape[1] > len(x):
            self.mean_ = x.mean(axis=0)
            found = row_spectrum(x, self.mean_, gram=True)
        else:
            stream = MomentStream.of(x)
            self.mean_, found = stream.mean, moments_spectrum(stream.moments)
        rank = found.rank(self.mean_)
        if rank == 0:
            raise ValueError("every column of X is constant: there are no sources")
        k = rank if self.n_components is None else int(self.n_components)
        if k > rank:
            raise ValueError(
                f"n_components={k}, but rows of X vary in {rank} directions only (n_samples={len(x)}, "
                f"n_features={x.shape[1]}): ask for at most {rank}"
            )
        scale = np.sqrt(found.values[:k])
        return found.vectors[:k] / scale[:, None], -float(np.log(scale).sum())

    def _densities(self, k: int) -> Densities:
        """Return the densities to begin with."""
        named = self.sources
        if isinstance(named, str) and named in ("auto", "heavy", "light"):
            return TailDensities(np.full(k, named != "light"))
        if isinstance(named, tuple) and len(named) == 2 and all(map(callable, named)):
            return GivenDensity(*named)
        raise ValueError(
            "sources must be 'auto', 'heavy', 'light' or two functions (log density, score), got "
            f"{named!r}"
        )

    def _ascend(self, z: Array, densities: Densities) -> tuple[SourceAscent, Densities]:
        """Begin with a part of the rows, go on with all; change tails that prove to be of other kind."""
        few = np.ascontiguousarray(z[:, :: _stride(z)])
        near: dict[str, Any] = {"tol": max(_NEAR, self.tol), "max_iter": _NEAR_STEPS}
        first = iterate_fixed_point(few, np.eye(len(z)), densities, **near)
        start, learned = first.unmixing, isinstance(self.sources, str) and self.sources == "auto"
        changes = _CHANGES if learned else 0
        if learned:
            densities = TailDensities(_is_stable(first))
        if self.solver != "fixed-point":
            start = densities.scale[:, None] * start
            begun, densities = _with_fitting_tails(
                ascend_by_newton, few, start, densities, changes, near
            )
            start = begun.unmixing
        options: dict[str, Any] = {"tol": self.tol, "max_iter": int(self.max_iter)}
        return _with_fitting_tails(_SOLVERS[self.solver], z, start, densities, changes, options)

    def _keep(self, unmixing: Array, whitening: Array, z: Array) -> None:
        """Set sources by their strength, and what is known of their tails."""
        mixing = np.linalg.solve(unmixing, np.eye(len(unmixing)))
        back = np.linalg.pinv(whitening) @ mixing  # A
        sizes = np.linalg.norm(back, axis=0) * np.linalg.norm(unmixing, axis=1)  # as E[zzᵀ] = I
        order = np.argsort(-sizes, kind="stable")
        self.mixing_ = with_positive_peaks(back[:, order].T).T
        sign = np.sign(np.sum(self.mixing_ * back[:, order], axis=0))
        self.components_ = sign[:, None] * (unmixing @ whitening)[order]
        tails = _tail_scores(unmixing[order] @ z[:, :: _stride(z)])
        unsure = (
            np.abs(tails) < _LIKE_NORMAL
        )  # what a part of the rows leaves open, all of them tell
        tails[unsure] = _tail_scores(unmixing[order][unsure] @ z)
        self.heavy_tails_ = tails > 0.0
        self.normal_sources_ = np.flatnonzero(np.abs(tails) < _LIKE_NORMAL).tolist()
        self.n_components_ = len(order)
        if len(self.normal_sources_) > 1:
            told = ", ".join(map(str, self.normal_sources_))
            warnings.warn(
                f"sources {told} cannot be told from normal ones: they are known only up to a rotation "
                "among them",
                UserWarning,
                stacklevel=3,
            )

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)


def _stride(z: Array) -> int:
    """Return how many columns of z to go on by for a part that shows where to begin."""
    return max(1, z.shape[1] // _FEW)


def _with_fitting_tails(
    solve: Callable[..., SourceAscent],
    z: Array,
    start: Array,
    densities: Densities,
    changes: int,
    options: dict[str, Any],
) -> tuple[SourceAscent, Densities]:
    """Climb, and again with other tails for sources whose own are not like those of their densities."""
    found = solve(z, start, densities, **options)
    for _ in range(changes):
        other = ~_is_stable(found)
        if not (isinstance(densities, TailDensities) and other.any()):
            break
        densities = TailDensities(densities.heavy ^ other)
        found = solve(z, found.unmixing, densities, **options)
    return found, densities


def _is_stable(found: SourceAscent) -> Array:
    """Tell which sources have tails like those of their densities, (K,)."""
    squares = np.sum(found.unmixing**2, axis=1)
    return found.moments.slope * squares > np.diag(found.moments.cross)


def _tail_scores(y: Array) -> Array:
    """Return E[tanh′ s] − E[s tanh s] of sources of unit variance, in standard errors.

    It is 0 for a normal, positive for heavier tails. Its terms are corrected for the variance, which is
    estimated from the same rows: a change of it by δ moves them by δ/2 E[s (tanh′ − s tanh)′].
    """
    s = y / y.std(axis=1, keepdims=True)
    t = np.tanh(s)
    slope = 1.0 - t * t
    terms = slope - s * t
    pull = 0.5 * np.mean(s * (-2.0 * t * slope - t - s * slope), axis=1, keepdims=True)
    spread = (terms - pull * (s * s - 1.0)).std(axis=1)
    size = np.where(spread > 0.0, spread, 1.0) / np.sqrt(y.shape[1])
    return terms.mean(axis=1) / size
