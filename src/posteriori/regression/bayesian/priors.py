"""The prior of a Bayesian linear regression: what the parameters of the estimator mean, checked."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from posteriori.estimators.parameters import FINITE, NOT_NEGATIVE, POSITIVE, one_of, or_none
from posteriori.numerics.rank import exceeds_rounding, is_definite, is_semidefinite
from posteriori.numerics.types import Array
from posteriori.numerics.validation import check_symmetric, real

__all__ = ["CONSTRAINTS", "FEW_ROWS", "LinearPrior", "check_prior"]

#: Rows up to which scales are not taken as known: beyond, that costs intervals of 90 % less than half
#: a per cent.
FEW_ROWS = 100

#: How hyper-parameters are treated with few rows, and with many.
_BY_ROWS = {"learned": ("integrated", "type-II"), "sparse": ("few columns", "ard")}

_WIDTH = POSITIVE._replace(words="be positive and finite")

#: What the parameters of a linear regression may be, but for those that depend on its columns.
CONSTRAINTS = {
    "hyperparameters": one_of("fixed", "type-II", "ard", "grid", "learned", "sparse", mark=""),
    "solver": one_of("newton", "fixed-point", mark=""),
    "missing": one_of("error", "drop"),
    "noise_precision": or_none(_WIDTH),
    "noise_shape": or_none(_WIDTH),
    "noise_scale": or_none(_WIDTH),
    "precision_shape": _WIDTH,
    "precision_rate": or_none(_WIDTH),
    "intercept_mean": or_none(FINITE),
    "intercept_precision": NOT_NEGATIVE._replace(
        words="be >= 0 and finite (0 is flat)",
        none=True,
        remedy="; use fit_intercept=False for an intercept that is known to be 0",
    ),
}


class LinearPrior(NamedTuple):
    """Checked parameters.

    Attributes
    ----------
    hyperparameters : str
        "fixed", "type-II", "ard", "grid"; "learned" and "sparse" until the number of rows is known, then
        those that :meth:`for_rows` has.
    root : (K, F), (F,) or None
        P with PᵀP the given prior precision of the weights that are free, a row for each direction
        that it speaks of, or the diagonal of a diagonal one; None for the default.
    free : (D,) bool
        False where an infinite precision fixes a weight at its prior mean.
    mean : (D,)
    noise_precision : float or None
    fit_intercept : bool
    intercept_mean, intercept_precision : float or None
    standardize : bool
    noise_shape, noise_scale : float or None
    precision_shape : float
    precision_rate : float or None
    solver : {"newton", "fixed-point"}
    apart : (D,) bool or None
        Which columns have a scale of their own; None where all have one.
    """

    hyperparameters: str
    root: Array | None
    free: Array
    mean: Array
    noise_precision: float | None
    fit_intercept: bool
    intercept_mean: float | None
    intercept_precision: float | None
    standardize: bool
    noise_shape: float | None
    noise_scale: float | None
    precision_shape: float
    precision_rate: float | None
    solver: str
    apart: Array | None = None

    def for_rows(self, rows: float) -> LinearPrior:
        """Return the prior with what depends on the number of rows settled."""
        few, many = _BY_ROWS.get(self.hyperparameters, (self.hyperparameters,) * 2)
        return self._replace(hyperparameters=few if rows <= FEW_ROWS else many)

    @property
    def is_flat(self) -> bool:
        """Whether the prior of the weights is flat in some direction, and so improper."""
        if self.root is None:
            return False
        if self.root.ndim == 1:
            return bool((self.root == 0).any())
        return len(self.root) < self.root.shape[1]


def check_prior(estimator: Any, d: int) -> LinearPrior:
    """Read the parameters of an estimator, and check those that depend on its D columns."""
    e = estimator
    if e.hyperparameters != "fixed":
        for name in ("prior_precision", "noise_precision"):
            if getattr(e, name) is not None:
                raise ValueError(
                    f"{name} is learned with hyperparameters={e.hyperparameters!r}; leave it None, "
                    "or use hyperparameters='fixed'"
                )
    root, free = _check_precision(e.prior_precision, d)
    return LinearPrior(
        hyperparameters=e.hyperparameters,
        root=root,
        free=free,
        mean=_check_mean(e.prior_mean, d),
        noise_precision=_number(e.noise_precision),
        fit_intercept=bool(e.fit_intercept),
        intercept_mean=_number(e.intercept_mean),
        intercept_precision=_number(e.intercept_precision),
        standardize=bool(e.standardize),
        noise_shape=_number(e.noise_shape),
        noise_scale=_number(e.noise_scale),
        precision_shape=float(e.precision_shape),
        precision_rate=_number(e.precision_rate),
        solver=e.solver,
        apart=_check_apart(e, d),
    )


def _check_apart(estimator: Any, d: int) -> Array | None:
    """Return which columns have a scale of their own; None unless some have and some have not."""
    if estimator.apart is None:
        return None
    if estimator.hyperparameters not in ("learned", "type-II"):
        raise ValueError(
            "apart= gives columns a learned scale of their own: it needs hyperparameters='learned' or "
            f"'type-II', got {estimator.hyperparameters!r}"
        )
    chosen, apart = np.asarray(estimator.apart), np.zeros(d, dtype=bool)
    whole = chosen.ndim == 1 and (not chosen.size or np.issubdtype(chosen.dtype, np.integer))
    if not whole or (chosen.size and not (chosen.min() >= 0 and chosen.max() < d)):
        raise ValueError(
            f"apart must be numbers of columns from 0 to {d - 1}, got {estimator.apart!r}"
        )
    apart[chosen.astype(np.intp)] = True
    return apart if apart.any() and not apart.all() else None


def _number(value: Any) -> float | None:
    return None if value is None else float(value)


def _check_mean(value: Any, d: int) -> Array:
    if value is None:
        return np.zeros(d)
    mean = np.asarray(real("prior_mean", value))
    if mean.shape not in ((), (d,)):
        raise ValueError(f"prior_mean must be a number or have {d} entries, got shape {mean.shape}")
    return np.broadcast_to(mean, (d,)).astype(float)


def _check_precision(value: Any, d: int) -> tuple[Array | None, Array]:
    """Return a root of the precision of the free weights, and which are free."""
    if value is None:
        return None, np.ones(d, dtype=bool)
    precision = np.asarray(value, dtype=np.float64)
    if np.isnan(precision).any() or ((precision < 0).any() and precision.ndim < 2):
        raise ValueError(f"prior_precision must be >= 0 (inf fixes a weight), got {value!r}")
    if precision.ndim < 2 and precision.shape in ((), (d,)):
        diagonal = np.broadcast_to(precision, (d,))
        free = np.isfinite(diagonal)
        return np.sqrt(diagonal[free]), free
    if precision.shape != (d, d):
        raise ValueError(
            f"prior_precision must be a number, a vector of {d} or a {d} x {d} matrix, got shape "
            f"{precision.shape}"
        )
    if not np.isfinite(precision).all():
        raise ValueError("a prior_precision matrix must be finite; inf works in a vector")
    return _root_of_matrix(check_symmetric("prior_precision", precision)), np.ones(d, dtype=bool)


def _root_of_matrix(precision: Array) -> Array:
    if is_definite(precision):
        return np.linalg.cholesky(precision).T
    values, vectors = np.linalg.eigh(precision)
    if not is_semidefinite(precision):
        raise ValueError(
            f"prior_precision must have no negative eigenvalue, its smallest is {values[0]:.6g}"
        )
    seen = exceeds_rounding(values, values[-1])
    return (vectors[:, seen] * np.sqrt(values[seen])).T
