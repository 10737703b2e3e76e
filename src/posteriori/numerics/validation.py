"""Checks of what users hand in: each names the argument, the value and the remedy.

Every parameter check returns a locked float64 array (or ``np.float64`` for a plain number) and
lets a :class:`~posteriori.numerics.Symbol` through untouched, so that constructors stay one line.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from posteriori.numerics.rank import factor_definite
from posteriori.numerics.symbol import Symbol
from posteriori.numerics.types import Array

__all__ = [
    "LARGEST_DATUM",
    "MOST_WIDER",
    "SUM_TOLERANCE",
    "SYMMETRY_TOLERANCE",
    "as_numbers",
    "as_observation",
    "check_symmetric",
    "exactly_one",
    "hint",
    "listed",
    "naming_overflow",
    "naming_texts",
    "nonnegative",
    "positive",
    "positive_definite",
    "positive_vector",
    "probability",
    "probability_vector",
    "real",
    "real_matrix",
    "real_vector",
    "require_moderate",
    "require_reach",
    "require_same_size",
    "require_squares",
    "unmasked",
    "weighted_limit",
    "whole",
    "width_factor",
]

_INFINITY = float("inf")

#: Given probabilities may miss a sum of 1 by this: they may be rounded to six decimals.
SUM_TOLERANCE = 1e-6

#: Priors may be made wider or narrower by this: precisions, their products and roots are numbers.
MOST_WIDER = 1e50

#: Data up to here have squares and sums of squares.
LARGEST_DATUM = 1e150

#: Given entries across a diagonal may differ by this share of the largest, as rounding explains.
SYMMETRY_TOLERANCE = 1e-8


def real(name: str, value: Any) -> Array:
    """Check a finite number or array of finite numbers."""
    if type(value) is float and -_INFINITY < value < _INFINITY:
        return np.float64(value)  # type: ignore[return-value]  # the scalar member of Array
    return _checked(name, value, None, "")


def positive(name: str, value: Any) -> Array:
    """Check numbers in (0, ∞)."""
    if type(value) is float and 0.0 < value < _INFINITY:
        return np.float64(value)  # type: ignore[return-value]
    return _checked(name, value, lambda v: v > 0, "must be positive")


def nonnegative(name: str, value: Any) -> Array:
    """Check numbers in [0, ∞)."""
    return _checked(name, value, lambda v: v >= 0, "must not be negative")


def probability(name: str, value: Any) -> Array:
    """Check numbers in [0, 1]."""
    if type(value) is float and 0.0 <= value <= 1.0:
        return np.float64(value)  # type: ignore[return-value]
    return _checked(name, value, lambda v: (v >= 0) & (v <= 1), "must lie between 0 and 1")


def whole(name: str, value: Any) -> Array:
    """Check whole numbers 0, 1, 2, … (kept as float64)."""
    return _checked(
        name, value, lambda v: (v >= 0) & (v == np.floor(v)), "must be a whole number >= 0"
    )


def real_vector(name: str, value: Any) -> Array:
    """Check a finite vector (..., D)."""
    return _with_event(name, real(name, value), 1, "a vector")


def width_factor(value: Any) -> float:
    """Check by how many times a prior is to be wider: its square and the inverse are numbers."""
    factor = float(positive("factor", value))
    if not 1.0 / MOST_WIDER <= factor <= MOST_WIDER:
        raise ValueError(
            f"factor must lie between {1.0 / MOST_WIDER:g} and {MOST_WIDER:g}, got {factor:g}; beyond, "
            "a prior is flat or a point: state such a prior where the model is made"
        )
    return factor


def positive_vector(name: str, value: Any) -> Array:
    """Check a vector (..., D) of positive numbers."""
    return _with_event(name, positive(name, value), 1, "a vector")


def probability_vector(name: str, value: Any) -> Array:
    """Check (..., K) non-negative numbers that sum to 1 within 1e-6; return them renormalised."""
    p = _with_event(name, nonnegative(name, value), 1, "a vector of probabilities")
    if isinstance(p, Symbol):
        return p
    total = p.sum(axis=-1, keepdims=True)
    wrong = np.abs(total - 1.0) > SUM_TOLERANCE
    if np.any(wrong):
        worst = float(total[wrong].flat[0])
        raise ValueError(
            f"{name} must sum to 1 (tolerance {SUM_TOLERANCE:g}), got a sum of {worst:.10g}; "
            f"divide by the sum to normalise"
        )
    return _lock(p / total)


def real_matrix(name: str, value: Any) -> Array:
    """Check a square matrix (..., D, D) that is symmetric up to rounding; return it symmetric."""
    a = _with_event(name, real(name, value), 2, "a square matrix")
    if isinstance(a, Symbol):
        return a
    return check_symmetric(name, a)


def positive_definite(name: str, value: Any) -> Array:
    """Check a symmetric positive definite matrix (..., D, D)."""
    a = real_matrix(name, value)
    if not isinstance(a, Symbol):
        try:
            factor_definite(a)
        except np.linalg.LinAlgError:
            smallest = float(np.linalg.eigvalsh(a).min())
            raise ValueError(
                f"{name} must be positive definite, its smallest eigenvalue is {smallest:.6g}"
            ) from None
    return a


def check_symmetric(name: str, a: Array) -> Array:
    """Return (A + Aᵀ)/2 locked, or say which entries differ."""
    if a.shape[-1] != a.shape[-2]:
        raise ValueError(f"{name} must be a square matrix, got shape {a.shape}")
    transposed = np.swapaxes(a, -1, -2)
    gap = np.abs(a - transposed)
    largest = np.max(np.abs(a), axis=(-2, -1), keepdims=True, initial=0.0)
    if np.any(gap > SYMMETRY_TOLERANCE * largest):
        *_, i, j = np.unravel_index(int(np.argmax(gap)), a.shape)
        raise ValueError(
            f"{name} must be symmetric, entries ({i}, {j}) and ({j}, {i}) differ by "
            f"{float(gap.max()):.6g}; use ({name} + {name}.T) / 2 if that is rounding"
        )
    return _lock(0.5 * (a + transposed))


def require_same_size(mean: Array, matrix: Array, name: str) -> None:
    """Refuse a mean of another length than the matrix beside it."""
    if isinstance(mean, Symbol) or isinstance(matrix, Symbol):
        return
    if mean.shape[-1] != matrix.shape[-1]:
        size = matrix.shape[-1]
        raise ValueError(f"mean has {mean.shape[-1]} entries but {name} is {size} x {size}")


def require_squares(name: str, values: Array, limit: float = LARGEST_DATUM) -> None:
    """Refuse data beyond ``limit``, whose squares overflow. NaN is left to others.

    Examples
    --------
    >>> require_squares("y", np.array([1.0, 1e200]))
    Traceback (most recent call last):
    ValueError: y must lie within ±1e+150, got 1e+200; divide it by a unit of its size
    """
    largest, least = _extremes(values)
    if max(largest, -least) > limit:
        worst = largest if largest > -least else least
        raise ValueError(
            f"{name} must lie within ±{limit:g}, got {worst:.6g}; divide it by a unit of its size"
        )


def require_moderate(name: str, values: Array, limit: float = LARGEST_DATUM) -> None:
    """Refuse data whose squares overflow, or all vanish.

    Examples
    --------
    >>> require_moderate("y", np.array([0.0, 1e-200]))
    Traceback (most recent call last):
    ValueError: y has no number beyond 1e-200, whose square is 0; divide it by a unit of its size
    """
    require_squares(name, values, limit)
    largest, least = _extremes(values)
    size = max(largest, -least)
    if 0 < size < 1.0 / limit:
        raise ValueError(
            f"{name} has no number beyond {size:.6g}, whose square is 0; divide it by a unit of its size"
        )


def weighted_limit(most: float) -> float:
    """Return up to where, and from whose inverse, squares of data that count so many times are numbers."""
    return LARGEST_DATUM / float(np.sqrt(max(most, 1.0 / most)))


def require_reach(variances: Array) -> None:
    """Refuse predictions so far from the rows of the fit that their variances overflow.

    Examples
    --------
    >>> require_reach(np.array([1.0, np.inf]))
    Traceback (most recent call last):
    ValueError: row 1 of X lies so far from the rows of the fit that the variance there overflows; divide y, or the columns of X, by a unit of their size
    """
    if not np.isfinite(variances).all():
        row = int(np.argwhere(~np.isfinite(variances))[0, 0])
        raise ValueError(
            f"row {row} of X lies so far from the rows of the fit that the variance there overflows; divide y, "
            "or the columns of X, by a unit of their size"
        )


def _extremes(values: Array) -> tuple[float, float]:
    """Return the largest and the least of the numbers and 0, without NaN."""
    return (
        float(np.fmax.reduce(values, axis=None, initial=0.0)),
        float(np.fmin.reduce(values, axis=None, initial=0.0)),
    )


def exactly_one(family: str, **given: Any) -> str:
    """Return the name of the one argument that is not None, else say which were expected."""
    names = [name for name, value in given.items() if value is not None]
    if len(names) != 1:
        got = " and ".join(names) if names else "none"
        raise TypeError(f"{family} takes exactly one of {', '.join(given)}; got {got}")
    return names[0]


def as_observation(x: Any, name: str = "x") -> Array:
    """Turn data into float64 without copying where it already is."""
    kind = type(x)
    if kind is float or kind is np.float64:
        return np.float64(x)  # type: ignore[return-value]
    if kind is np.ndarray and x.dtype == np.float64:
        return x if x.ndim else x[()]
    return _as_float(name, x)


@contextmanager
def naming_overflow(name: str) -> Iterator[None]:
    """Say whose whole numbers are beyond all floating-point ones."""
    try:
        yield
    except OverflowError:
        raise ValueError(f"{name} must be finite, got a whole number beyond 1e308") from None


@contextmanager
def naming_texts(name: str) -> Iterator[None]:
    """Say whose texts are no numbers, and how they become codes."""
    try:
        yield
    except ValueError as error:
        if "could not convert string" not in str(error):
            raise
        raise ValueError(
            f"{name} must hold numbers, of categories the codes 0, 1, … "
            f"(sklearn.preprocessing.OrdinalEncoder makes them): {error}"
        ) from None


def as_numbers(name: str, value: Any) -> Array:
    """Return an array of float64; what holds no numbers is refused by name.

    Examples
    --------
    >>> as_numbers("width", "wide")
    Traceback (most recent call last):
    ValueError: width must hold numbers, got 'wide'
    """
    try:
        return np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must hold numbers, got {value!r}") from None


def unmasked(name: str, value: Any) -> Any:
    """Return what is not a masked array as it is; masked numbers are missing ones, NaN.

    Examples
    --------
    >>> unmasked("x", np.ma.array([1.0, 9.0], mask=[False, True]))
    array([ 1., nan])
    """
    if not isinstance(value, np.ma.MaskedArray):
        return value
    if not np.ma.is_masked(value):
        return value.data
    if value.dtype.kind not in "biuf":
        raise ValueError(
            f"{name} holds masked entries; leave these out, only numbers can be missing"
        )
    return np.ma.filled(value.astype(np.float64), np.nan)


def _as_float(name: str, value: Any) -> Array:
    try:
        array = np.asarray(unmasked(name, value))
    except ValueError as error:
        raise ValueError(f"{name} is ragged: {error}") from None
    if array.dtype.kind == "O":
        array = _object_to_float(name, array)
    if array.dtype.kind not in "biuf":
        raise TypeError(f"{name} must hold real numbers, got dtype {array.dtype}")
    array = array.astype(np.float64, copy=False)
    return array if array.ndim else array[()]


def _object_to_float(name: str, array: np.ndarray[Any, Any]) -> Array:
    """Convert nullable integers and the like; anything that is not a number is a TypeError."""
    with naming_overflow(name):
        try:
            return array.astype(np.float64)
        except (TypeError, ValueError):
            example = next(v for v in array.flat if not isinstance(v, (int, float)))
            raise TypeError(f"{name} must hold real numbers, got {example!r}") from None


def _checked(name: str, value: Any, accept: Callable[[Array], Any] | None, complaint: str) -> Array:
    if isinstance(value, Symbol):
        return value  # type: ignore[return-value]  # the constructor hands it on
    array = _as_float(name, value)
    if not np.all(np.isfinite(array)):
        raise ValueError(f"{name} must be finite, got {_first(array, ~np.isfinite(array))}")
    if accept is not None:
        accepted = accept(array)
        if not np.all(accepted):
            raise ValueError(f"{name} {complaint}, got {_first(array, ~np.asarray(accepted))}")
    return _lock(array, original=value)


def _with_event(name: str, value: Array, ndim: int, what: str) -> Array:
    if not isinstance(value, Symbol) and value.ndim < ndim:
        raise ValueError(f"{name} must be {what}, got shape {value.shape}")
    return value


def _first(array: Array, bad: Any) -> str:
    return f"{float(np.asarray(array)[np.asarray(bad)].flat[0]):.10g}"


def _lock(array: Array, original: Any = None) -> Array:
    """Copy once if the caller could still write to the memory, then forbid writing."""
    if not array.ndim:
        return array[()]
    fresh = original is None or isinstance(original, (list, tuple))
    if not fresh or array.base is not None:
        array = array.copy()
    array.setflags(write=False)
    return array


# -- what may have been meant ----------------------------------------------------------------


def hint(wrong: object, options: Iterable[object]) -> str:
    """Return "; did you mean …?" for the nearest option, or nothing when none is near."""
    text = {str(option).lower(): option for option in options}
    near = difflib.get_close_matches(str(wrong).lower(), text, n=1)
    return f"; did you mean {text[near[0]]!r}?" if near else ""


def meant_or_has(wrong: str, options: Iterable[str]) -> str:
    """Return "; did you mean …?" for the nearest option, or "; it has …" with the first of all.

    Examples
    --------
    >>> meant_or_has("Theta", ["mu", "theta"]), meant_or_has("x", ["mu", "theta"])
    ("; did you mean 'theta'?", '; it has mu, theta')
    """
    known = list(options)
    shown = ", ".join(known[:20]) + (", …" if len(known) > 20 else "")
    return hint(wrong, known) or f"; it has {shown or 'none'}"


def listed(options: Sequence[object]) -> str:
    """Return the first few options for an error message."""
    shown = ", ".join(map(repr, options[:12]))
    return shown + (f", … ({len(options)} in all)" if len(options) > 12 else "") or "none"
