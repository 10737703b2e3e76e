"""Checks of the rows that estimators are given: each names the argument, the value and the remedy."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple, NoReturn

import numpy as np
from sklearn.utils.validation import (
    _get_feature_names,
    check_array,
    check_consistent_length,
    column_or_1d,
    validate_data,
)

from posteriori.estimators.contract import NamesColumns, offers
from posteriori.estimators.group_columns import learn_levels, split_columns
from posteriori.estimators.weighted_fits import check_frequency
from posteriori.inference.effects.effect_layout import GroupedRows
from posteriori.numerics.blocks.row_blocks import RowBlocks
from posteriori.numerics.evidence import Fingerprint
from posteriori.numerics.types import Array
from posteriori.numerics.validation import (
    LARGEST_DATUM,
    naming_overflow,
    naming_texts,
    require_moderate,
    unmasked,
    weighted_limit,
)

__all__ = [
    "Rows",
    "as_column",
    "check_counts",
    "check_finite_columns",
    "check_gappy_inputs",
    "check_grouped_inputs",
    "check_inputs",
    "check_noise_variance",
    "check_rows",
    "column_names",
    "has_groups",
]


class Rows(NamedTuple):
    """Checked rows.

    Attributes
    ----------
    x : (N, D)
    y : (N,) or (N, M)
    frequency : (N,) or None
        How often each row counts; None is once. No row counts 0 times.
    variance : (N,) or None
        Noise variance of each row, relative to the common one; None is 1.
    codes : (N, C) or None
        Levels of rows in the columns that hold groups, which x does not have; None without groups.
    """

    x: Array
    y: Array
    frequency: Array | None
    variance: Array | None
    codes: Any = None

    @property
    def inputs(self) -> Any:
        """The inputs, with levels where there are groups."""
        return self.x if self.codes is None else GroupedRows(self.x, self.codes)

    @property
    def fingerprint(self) -> Fingerprint:
        """Of the targets."""
        return Fingerprint().update(self.y, self.frequency)


def check_inputs(estimator: Any, X: Any, *, reset: bool = False) -> Any:
    """Return X as finite float64 (N, D), and keep its number and names of columns if ``reset``.

    Rows that are made when they are read stay so.
    """
    if isinstance(X, RowBlocks):
        validate_data(estimator, X, reset=reset, skip_check_array=True)
        check_finite_columns(X, None)
        return X
    plain = type(X) is np.ndarray and X.dtype == np.float64 and X.ndim == 2 and len(X) > 0
    X = X if plain else unmasked("X", X)
    seen = not reset and not offers(estimator, NamesColumns)
    if plain and seen and X.shape[1] == estimator.n_features_in_:
        x = X  # as scikit-learn's checks would return it; small chunks feel their cost
    else:
        x = _as_numbers(estimator, X, reset)
    check_finite_columns(x, X)
    return x


def check_gappy_inputs(estimator: Any, X: Any, *, reset: bool = False) -> Array:
    """Return X as float64 (N, D) whose squares are finite; NaN is a missing entry."""
    X = unmasked("X", X)
    x = _as_numbers(estimator, X, reset)
    extremes = (reduce(x, axis=None, initial=0.0) for reduce in (np.fmax.reduce, np.fmin.reduce))
    if any(
        abs(value) > LARGEST_DATUM for value in extremes
    ):  # no table of truths beside a large file
        _refuse_entry(np.abs(x) > LARGEST_DATUM, x, X)
    return x


def _as_numbers(estimator: Any, X: Any, reset: bool) -> Array:
    how: Any = {"reset": reset, "dtype": np.float64, "ensure_all_finite": False}
    if type(X) is np.ndarray and X.dtype == np.float64:
        return validate_data(estimator, X, **how)  # numbers already: nothing to convert
    with naming_overflow("X"), naming_texts("X"):
        return validate_data(estimator, X, **how)


def as_column(X: Any) -> Any:
    """Return numbers (N,) as a column (N, 1), and anything else as it is."""
    ndim = np.ndim(X) if isinstance(X, list | tuple) else getattr(X, "ndim", None)
    return np.asarray(X).reshape(-1, 1) if ndim == 1 else X


def has_groups(estimator: Any) -> bool:
    """Tell whether an estimator is given columns that hold groups."""
    groups = getattr(estimator, "groups", None)
    return groups is not None and len(groups) > 0


def check_grouped_inputs(estimator: Any, X: Any) -> Any:
    """Return what a fitted estimator predicts from: finite float64 (N, D), with levels if it has groups."""
    if not has_groups(estimator):
        return check_inputs(estimator, X)
    x, labels, _ = split_columns(estimator, X, reset=False)
    check_finite_columns(x, None)
    return GroupedRows(x, estimator._groups.codes(labels))


def check_rows(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    sample_weight: Any = None,
    noise_variance: Any = None,
    missing: str = "error",
    several_targets: bool = False,
    gaps: bool = False,
    reset: bool = True,
    largest: float = LARGEST_DATUM,
) -> Rows:
    """Check what ``fit`` is given; rows of weight 0 and missing targets are left out.

    Parameters
    ----------
    estimator : estimator
        Whose ``n_features_in_`` and ``feature_names_in_`` are set (or compared).
    X : (N, D)
    y : (N,), or (N, M) with ``several_targets``
    sample_weight : (N,), optional
        Frequencies >= 0: equal to repeated rows.
    noise_variance : (N,), optional
        Noise variance of each row > 0, relative to the common one.
    missing : {"error", "drop", "entries"}
        What NaN in y means: nothing good; a row without target; one target of several.
    several_targets : bool
    gaps : bool
        Whether NaN in X is a missing entry; an error if not.
    reset : bool
        False for later calls of ``partial_fit``.
    largest : float
        Of targets, which must not be all below its inverse either.
    """
    if y is None:
        raise ValueError(
            f"{type(estimator).__name__} requires y to be passed, but the target y is None"
        )
    labels = None
    if has_groups(estimator):
        x, labels, names = split_columns(estimator, X, reset=reset)
        check_finite_columns(x, None)
    else:
        x = (check_gappy_inputs if gaps else check_inputs)(estimator, X, reset=reset)
    targets = _check_targets(y, several_targets)
    if len(x) != len(targets):
        check_consistent_length(x, targets)  # says so
    frequency = variance = None
    if sample_weight is not None:
        frequency = check_frequency(sample_weight, x)
    if noise_variance is not None:
        variance = check_noise_variance(noise_variance, len(x))
    keep = _rows_that_count(targets, frequency, missing)
    rows = Rows(x, targets, frequency, variance)
    if keep is not None:
        kept = (a if a is None else a[keep] for a in (frequency, variance))
        rows = Rows(x[keep], targets[keep], *kept)
    most = 1.0 if rows.frequency is None else float(rows.frequency.max())
    require_moderate("y", rows.y, min(largest, weighted_limit(most)))
    if labels is None:
        return rows
    if keep is not None:
        labels = [label[keep] for label in labels]
    if reset:
        estimator._groups = learn_levels(labels, names)
    return rows._replace(codes=estimator._groups.codes(labels))


def column_names(estimator: Any) -> list[str]:
    """Return what to call the columns in messages: their names, or their numbers."""
    if offers(estimator, NamesColumns):
        return list(estimator.feature_names_in_)
    return [f"column {j}" for j in range(estimator.n_features_in_)]


def check_noise_variance(noise_variance: Any, rows: int) -> Array:
    """Return noise variances (N,), all positive and finite."""
    v = np.asarray(unmasked("noise_variance", noise_variance), dtype=np.float64)
    if v.shape != (rows,):
        raise ValueError(
            f"noise_variance must hold one number per row ({rows}), got shape {v.shape}"
        )
    wrong = ~((v > 0) & np.isfinite(v))
    if wrong.any():
        row = int(np.argmax(wrong))
        raise ValueError(
            f"noise_variance must be positive and finite, got {v[row]:.6g} in row {row}"
        )
    return v


def _check_targets(y: Any, several: bool) -> Array:
    if type(y) is np.ndarray and y.ndim == 1 and y.dtype == np.float64:
        return y  # small chunks feel what the checks below cost
    y = unmasked("y", y)
    flat = y if several else column_or_1d(y, warn=True)
    with naming_overflow("y"):
        return check_array(
            flat, dtype=np.float64, ensure_2d=False, ensure_all_finite=False, input_name="y"
        )


def check_counts(estimator: Any, y: Array, stacklevel: int = 3) -> None:
    """Refuse targets below 0, and warn of those that are not whole."""
    name = type(estimator).__name__
    if np.any(y < 0):
        row = int(np.argmax(y < 0))
        raise ValueError(f"{name} needs counts >= 0 as y, got {y[row]:g} in row {row}")
    if np.any(y != np.floor(y)):
        row = int(np.argmax(y != np.floor(y)))
        warnings.warn(
            f"{name} is a model of counts, but y is {y[row]:g} in row {row}; the log evidence of "
            "such targets compares with that of other models of counts only",
            UserWarning,
            stacklevel=stacklevel,
        )


def check_finite_columns(x: Any, original: Any, first: int = 0) -> None:
    """Refuse numbers that are not finite or whose squares are not, by the names that the original table has.

    ``first`` is the number of the first row, of rows from the midst of a table.
    """
    if isinstance(x, RowBlocks):
        for rows, block in x.blocks():
            check_finite_columns(block, original, rows.start)
        return
    with np.errstate(over="ignore", invalid="ignore"):
        if _sum_of_squares(x) <= LARGEST_DATUM**2:
            return
        wrong = ~(np.abs(x) <= LARGEST_DATUM)
    if wrong.any():  # else many numbers are large, none too large
        _refuse_entry(wrong, x, original, first)


def _sum_of_squares(x: Array) -> float:
    """Return Σx², of numbers that lie apart in memory without a copy of them."""
    if x.flags.c_contiguous or x.flags.f_contiguous:
        flat = x.ravel("K")
        return float(flat @ flat)
    return float(np.einsum("ij,ij->", x, x))


def _refuse_entry(wrong: Array, x: Array, original: Any, first: int = 0) -> NoReturn:
    """Name the first of the entries that are wrong; ``first`` is the number of the first row."""
    row, column = np.argwhere(wrong)[0]
    names = _get_feature_names(original)
    name = f"column {column}" if names is None else f"column {names[column]!r}"
    value = x[row, column]
    if np.isfinite(value):
        raise ValueError(
            f"X must lie within ±{LARGEST_DATUM:g}, got {value:.6g} in {name}, row {first + row}; divide the "
            "column by a unit of its size"
        )
    what = "NaN" if np.isnan(value) else "infinity (inf)"
    raise ValueError(
        f"Input X contains {what} in {name}, row {first + row}; fill it in (sklearn.impute) or leave the row out"
    )


def _rows_that_count(y: Array, frequency: Array | None, missing: str) -> Array | None:
    """Return which rows to keep, None for all."""
    keep = None if frequency is None or frequency.all() else frequency > 0
    counted = y if keep is None else y[keep]
    if not np.isfinite(counted).all():
        if np.isinf(counted).any():
            row = int(np.argwhere(np.isinf(y))[0, 0])
            raise ValueError(f"Input y contains infinity in row {row}; targets must be finite")
        if missing == "error":
            row = int(np.argwhere(np.isnan(y))[0, 0])
            raise ValueError(
                f"Input y contains NaN in row {row}; leave the row out, or pass missing='drop' where "
                "the model has it"
            )
        seen = ~np.isnan(y)
        if y.ndim == 2:
            if missing == "drop":
                _refuse_parts(seen)
            seen = np.asarray(seen.any(axis=1))
        keep = seen if keep is None else keep & seen
    if keep is not None and not keep.any():
        raise ValueError("no row is left: every target is missing or has sample_weight 0")
    return keep


def _refuse_parts(seen: Array) -> None:
    """Say which row has some of its targets."""
    parts = seen.any(axis=1) & ~seen.all(axis=1)
    if parts.any():
        row = int(np.argmax(parts))
        raise ValueError(
            f"Input y contains NaN in row {row}, column {int(np.argmin(seen[row]))}, and other targets of that "
            "row are there; leave the row out, or use outputs='coregionalised' where the model has it"
        )
