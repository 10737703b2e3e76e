"""Whether columns, their kinds and their priors go together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from posteriori.inference.classes import class_kernels
from posteriori.inference.classes.column_models import KINDS
from posteriori.numerics.compilation import as_kernel_input
from posteriori.numerics.types import Array
from posteriori.numerics.validation import require_squares

__all__ = ["check_kinds", "check_priors", "check_values", "places_of", "take_columns"]


def check_kinds(columns: Any, width: int) -> tuple[str, ...]:
    """Return the kind of each of ``width`` columns, of which one may be said of all."""
    given = (columns,) * width if isinstance(columns, str) else tuple(columns)
    if len(given) != width:
        raise ValueError(f"columns must name the kind of all {width} columns, got {len(given)}")
    for kind in given:
        if kind not in KINDS:
            raise ValueError(f"columns must be of kind {', '.join(KINDS)}; got {kind!r}")
    return given


def places_of(kinds: tuple[str, ...]) -> dict[str, Any]:
    """Return the columns of each kind that there is."""
    return {kind: np.flatnonzero(np.array(kinds) == kind) for kind in KINDS if kind in kinds}


def check_priors(priors: Mapping[str, Any] | None, integrate: bool) -> dict[str, Any]:
    """Return priors by kind, refusing those of another family than the kind has."""
    if not (priors is None or isinstance(priors, Mapping)):
        raise TypeError(f"priors must be a mapping from kinds of columns, got {priors!r}")
    given = {} if priors is None else dict(priors)
    if given and not integrate:
        raise ValueError('priors are for method="bayes"; method="ml" has none')
    for kind, prior in given.items():
        if kind not in KINDS:
            raise ValueError(f"priors must be by kind ({', '.join(KINDS)}); got {kind!r}")
        family = KINDS[kind].prior_family
        several = kind == "categorical" and isinstance(prior, Sequence)
        if not all(isinstance(one, family) for one in (prior if several else [prior])):
            raise TypeError(
                f"the prior of {kind} columns must be a {family.__name__}, got {prior!r}"
            )
    return given


def check_values(places: Mapping[str, Any], x: Array) -> None:
    """Refuse entries of rows (N, D) that columns of their kind do not hold."""
    for kind, at in places.items():
        part, largest = take_columns(x, at), KINDS[kind].largest
        if not KINDS[kind].whole:
            require_squares("X", part)
            continue
        row, column = class_kernels.first_not_whole(as_kernel_input(part), largest)
        if row >= 0:
            allowed = "0 or 1" if largest == 1 else "whole numbers from 0"
            if np.nanmin(part) < 0:
                row, column = np.argwhere(part < 0)[0]
                allowed += ". Negative values in data have no model of this kind"
            raise ValueError(
                f"X holds {part[row, column]:.6g} in row {row}, column {at[column]}: {kind} "
                f"columns hold {allowed}"
            )


def take_columns(x: Array, at: Any) -> Array:
    """Return some columns; all of them without a copy."""
    return x if len(at) == x.shape[1] else np.ascontiguousarray(x[:, at])
