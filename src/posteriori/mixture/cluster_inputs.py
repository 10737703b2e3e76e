"""Checks of the rows that are divided into clusters: each names the argument, the value and the remedy."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import _get_feature_names, check_array, validate_data

from posteriori.estimators.parameters import (
    AT_LEAST_ONE,
    NOT_NEGATIVE,
    Constraint,
)
from posteriori.estimators.weighted_fits import require_frequency
from posteriori.numerics.types import Array
from posteriori.numerics.validation import naming_overflow, require_moderate, unmasked

__all__ = ["CONSTRAINTS", "CheckedRows", "check_frequencies", "check_gappy_rows", "check_init"]

#: What the parameters of all clusterings may be.
CONSTRAINTS = {
    "n_clusters": Constraint("be a whole number >= 1", 1.0, np.inf, whole=True),
    "max_iter": AT_LEAST_ONE._replace(words="be a whole number >= 1", whole=True),
    "n_init": AT_LEAST_ONE._replace(words="be a whole number >= 1", whole=True),
    "tol": NOT_NEGATIVE,
}

#: Rows that are looked at together.
_BLOCK = 65_536


class CheckedRows(NamedTuple):
    """Rows (N, D), and whether some of their entries are missing."""

    x: Array
    gappy: bool


def check_gappy_rows(estimator: Any, X: Any, *, reset: bool) -> CheckedRows:
    """Return X as float64 without copying where it already is; NaN is a gap.

    Raises
    ------
    ValueError
        For infinities, and for rows (of ``reset``: and columns) without any number.
    """
    original, X = X, unmasked("X", X)
    with naming_overflow("X"):
        x = validate_data(estimator, X, reset=reset, dtype=np.float64, ensure_all_finite=False)
    names = _get_feature_names(original)
    with np.errstate(over="ignore", invalid="ignore"):
        gappy = not np.isfinite(x.sum()) and _has_gaps(x, names, columns=reset)
    require_moderate("X", x)
    return CheckedRows(x, gappy)


def check_frequencies(sample_weight: Any, n: int) -> Array | None:
    """Return weights (N,), finite, none negative and not all 0."""
    if sample_weight is None:
        return None
    w = check_array(
        unmasked("sample_weight", sample_weight),
        dtype=np.float64,
        ensure_2d=False,
        ensure_all_finite=False,
        input_name="sample_weight",
    )
    if w.ndim == 0:
        w = np.full(n, float(w))
    if w.shape != (n,):
        raise ValueError(f"sample_weight must hold one number per row ({n}), got shape {w.shape}")
    wrong = ~((w >= 0) & np.isfinite(w))
    if wrong.any():
        row = int(np.argmax(wrong))
        raise ValueError(
            f"sample_weight must be finite and not negative, got {w[row]:.6g} in row {row}; weights are "
            "frequencies, 0 leaves a row out"
        )
    if not w.any():
        raise ValueError(
            "sample_weight is zero for every row: none is left; give some row a weight"
        )
    require_frequency(w)
    return w


def check_init(init: Any, k: int, d: int) -> Any:
    """Return the name of a start, or centres (k, d)."""
    if isinstance(init, str):
        if init not in ("k-means++", "random"):
            raise ValueError(
                f"init must be 'k-means++', 'random' or centres of shape ({k}, {d}), got {init!r}"
            )
        return init
    centers = np.asarray(init, dtype=np.float64)
    if centers.shape != (k, d):
        raise ValueError(
            f"init must have the shape (n_clusters, columns) = ({k}, {d}), got {centers.shape}"
        )
    if not np.isfinite(centers).all():
        raise ValueError(f"init must be finite, got {centers[~np.isfinite(centers)][0]}")
    require_moderate("init", centers)
    return centers


def _has_gaps(x: Array, names: Any, *, columns: bool) -> bool:
    """Tell whether entries are missing; refuse infinities and what has no number at all."""
    seen, gappy = np.zeros(x.shape[1], dtype=bool), False
    for start in range(0, len(x), _BLOCK):
        block = x[start : start + _BLOCK]
        there = ~np.isnan(block)
        wrong = np.isinf(block)
        if wrong.any():
            row, column = np.argwhere(wrong)[0]
            raise ValueError(
                f"Input X contains infinity (inf) in {_name(names, column)}, row {start + row}; NaN stands "
                "for a missing entry"
            )
        empty = ~there.any(axis=1)
        if empty.any():
            raise ValueError(
                f"row {start + int(np.argmax(empty))} of X holds only NaN: it says nothing of its cluster; "
                "leave it out"
            )
        seen |= there.any(axis=0)
        gappy = gappy or not there.all()
    if columns and not seen.all():
        name = _name(names, int(np.argmin(seen)))
        raise ValueError(f"{name} of X holds only NaN; leave it out")
    return gappy


def _name(names: Any, column: int) -> str:
    return f"column {column}" if names is None else f"column {names[column]!r}"
