r"""The prior of a Bayesian linear regression: what parameters mean, and what the data's scales say where none are given.

The default prior is unit information on standardised columns: with the standard deviations s of
the columns and the variance of the targets,

.. math:: w_js_j\mid\sigma^2 \sim N(0, \sigma^2),\qquad c\mid\sigma^2 \sim N(\bar y, \sigma^2),\qquad
          \sigma^2 \sim \mathrm{InvGamma}(1, \tfrac1{200}\mathrm{var}\,y),

where c is the value at the means of the columns. Where the scale of the weights is integrated for want
of rows, so is the noise, under the vaguer :math:`\sigma^2\sim\mathrm{InvGamma}(\tfrac14,
\tfrac1{800}\mathrm{var}\,y)`: a quarter of that row. There c is uniform within two standard deviations of
the targets around their mean: a normal of the noise's own width around the mean that the same rows have
told would count one row twice, and with few rows the noise would be taken as too small. Beside weights whose prior is given as flat the
other defaults are flat as well: the reference prior :math:`p(w, c, \sigma^2) \propto 1/\sigma^2`,
whose posterior has the intervals of least squares.

Where K of the D columns are apart, such as what bends beside straight lines, each part has a scale: of the
variance :math:`\tau^2\sigma^2` that all columns add to a target a priori those have a share ρ,

.. math:: w_js_j\mid\sigma^2 \sim N\Bigl(0,\ \frac{\rho}{K}\tau^2\sigma^2\Bigr)\ \text{apart},\qquad
          N\Bigl(0,\ \frac{1-\rho}{D-K}\tau^2\sigma^2\Bigr)\ \text{otherwise},

of which a few values are equally likely, among them 0. The total is treated as that of all columns is.

Reference: G. Box & G. Tiao, "Bayesian Inference in Statistical Analysis", 1973, section 2.7; G. Fuglstad et al.,
"Intuitive joint priors for variance parameters", Bayesian Analysis 15, 2020 (a total, and how it is shared).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from posteriori.estimators.parameters import FINITE, NOT_NEGATIVE, POSITIVE, one_of, or_none
from posteriori.numerics.least_squares.regression_statistics import RegressionStatistics
from posteriori.numerics.rank import exceeds_rounding, is_definite, is_semidefinite
from posteriori.numerics.types import Array
from posteriori.numerics.validation import as_numbers, check_symmetric, real

__all__ = [
    "CONSTRAINTS",
    "FEW_ROWS",
    "InterceptPrior",
    "LinearPrior",
    "SettledPrior",
    "check_prior",
    "scaled_prior",
]

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

#: Shares of columns that are apart: none, and from hardly any to most.
_SHARES = (0.0, 1 / 64, 1 / 16, 1 / 4, 1 / 2, 3 / 4)

#: Ways of treating hyper-parameters that integrate them for want of rows.
_INTEGRATED = ("integrated", "few columns")

#: Standard deviations of the targets within which the level is uniform there.
_REACH = 2.0

#: Of the row's worth that the noise is known by, where the scale of the weights is integrated.
_VAGUE = 0.25


class InterceptPrior(NamedTuple):
    """Normal prior of the value at the column means, in units of the noise; precision 0 is flat.

    A flat one has the density exp(``log_height``) wherever the data leave the value.
    """

    mean: float
    precision: float
    log_height: float = 0.0


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

    def settled(self, statistics: RegressionStatistics) -> SettledPrior:
        """Return the prior in numbers, as the scales of the data say where none are given."""
        d, spreads = statistics.n_inputs, statistics.scales
        units = np.where(spreads > 0, spreads, 1.0)[:d] if self.standardize else np.ones(d)
        average, spread = float(statistics.mean[-1]), float(spreads[-1])
        target = spread if spread > 0 else abs(average) or 1.0
        worth = _VAGUE if self.hyperparameters in _INTEGRATED else 1.0
        shape = (0.0 if self.is_flat else worth) if self.noise_shape is None else self.noise_shape
        scale = self.noise_scale
        if scale is None:
            scale = 0.0 if self.is_flat else 0.005 * worth * target**2
        return SettledPrior(self, units, self._intercept(average, target), shape, scale)

    def _intercept(self, average: float, target: float) -> InterceptPrior | None:
        """Return the prior of the value at the column means, of targets of this average and spread.

        The uniform one is flat: normal tails beyond its ends hold nothing, which are 2√N standard errors
        of the mean away.
        """
        if not self.fit_intercept:
            return None
        if self.level_is_uniform:
            return InterceptPrior(average, 0.0, float(-np.log(2.0 * _REACH * target)))
        mean = average if self.intercept_mean is None else self.intercept_mean
        return InterceptPrior(mean, self.level_precision / self.unit)

    @property
    def unit(self) -> float:
        """The noise precision where it is known, 1 where precisions are in units of it."""
        return 1.0 if self.noise_precision is None else self.noise_precision

    @property
    def level_is_uniform(self) -> bool:
        """Whether the level has no prior of its own beside hyper-parameters that are integrated."""
        stated = (self.intercept_mean, self.intercept_precision) != (None, None)
        return self.hyperparameters in _INTEGRATED and not stated

    @property
    def level_precision(self) -> float:
        """Precision of the level: given, or one row's worth, or 0 beside flat weights."""
        if self.intercept_precision is not None:
            return self.intercept_precision
        return 0.0 if self.is_flat else self.unit

    @property
    def is_flat(self) -> bool:
        """Whether the prior of the weights is flat in some direction, and so improper."""
        if self.root is None:
            return False
        if self.root.ndim == 1:
            return bool((self.root == 0).any())
        return len(self.root) < self.root.shape[1]


class SettledPrior(NamedTuple):
    """A prior in numbers, for some data.

    Attributes
    ----------
    given : LinearPrior
        What depends on the number of rows is settled.
    scales : (D,)
        Units of the columns in which the default prior speaks.
    intercept : InterceptPrior or None
    noise_shape, noise_scale : float
        a₀ and b₀: 1, or ¼ beside an integrated scale, and var(y)/200 for each of it; 0 and 0 beside flat
        weights. A target without spread counts by its size, or 1.
    """

    given: LinearPrior
    scales: Array
    intercept: InterceptPrior | None
    noise_shape: float
    noise_scale: float

    @property
    def scales_by_share(self) -> list[Array]:
        """For each share of the columns apart the units in which all weights have one scale, (D,).

        Infinite units fix weights at their prior mean. Where no columns are apart there is one entry.
        """
        apart = self.given.apart
        if apart is None:
            return [self.scales]
        d, k = len(self.scales), int(apart.sum())
        with np.errstate(divide="ignore"):
            return [
                self.scales / np.sqrt(np.where(apart, share * d / k, (1.0 - share) * d / (d - k)))
                for share in _SHARES
            ]


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


def scaled_prior(
    statistics: RegressionStatistics, prior: LinearPrior, factor: float
) -> dict[str, Any]:
    """Return the parameters of an estimator whose prior's standard deviations are ``factor`` times.

    Precisions that the data have set are written out, so that other data do not change them.
    """
    made, shrink = prior.settled(statistics), float(factor) ** -2
    found: dict[str, Any] = {}
    if prior.fit_intercept and not prior.for_rows(statistics.rows).level_is_uniform:
        found["intercept_precision"] = prior.level_precision * shrink
    if prior.hyperparameters == "grid":  # α, a precision, is divided: its rate multiplied
        rate = prior.precision_rate
        found["precision_rate"] = (made.noise_scale if rate is None else rate) / shrink
    elif prior.hyperparameters == "fixed" and prior.root is None:
        found["prior_precision"] = prior.unit * shrink * made.scales**2
    elif prior.hyperparameters == "fixed" and prior.root is not None and not prior.free.all():
        precision = np.full(len(prior.free), np.inf)
        precision[prior.free] = shrink * prior.root**2
        found["prior_precision"] = precision
    elif prior.hyperparameters == "fixed" and prior.root is not None:
        root = prior.root
        found["prior_precision"] = shrink * (root**2 if root.ndim == 1 else root.T @ root)
    return found


def _check_apart(estimator: Any, d: int) -> Array | None:
    """Return which columns have a scale of their own; None unless some have and some have not."""
    if estimator.own_scale is None:
        return None
    if estimator.hyperparameters not in ("learned", "type-II"):
        raise ValueError(
            "own_scale= gives columns a learned scale of their own: it needs hyperparameters='learned' or "
            f"'type-II', got {estimator.hyperparameters!r}"
        )
    chosen, apart = np.asarray(estimator.own_scale), np.zeros(d, dtype=bool)
    whole = chosen.ndim == 1 and (not chosen.size or np.issubdtype(chosen.dtype, np.integer))
    if not whole or (chosen.size and not (chosen.min() >= 0 and chosen.max() < d)):
        raise ValueError(
            f"own_scale must be numbers of columns from 0 to {d - 1}, got {estimator.own_scale!r}"
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
    precision = as_numbers("prior_precision", value)
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
