"""Data one by one, and what is said of each given all others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from posteriori.distributions.labels import encode_labels
from posteriori.modeling.binding.bound import Bound, BoundFactor
from posteriori.modeling.binding.labelled import Axis, shape_of
from posteriori.modeling.forms.normal_rows import residual_rows
from posteriori.numerics.types import Array

__all__ = ["LEAST_LEFT", "Data", "LeftOut", "as_codes", "targets_and_noise"]

#: Data that determine their own mean to this share lose their digits.
LEAST_LEFT = 1e-9


class Data(NamedTuple):
    """Observed variables whose members make data together.

    Attributes
    ----------
    names : tuple of str
    axes : tuple of Axis
        Along which the data lie.
    positions : (N,)
        Of data of which something is known, among all members.
    """

    names: tuple[str, ...]
    axes: tuple[Axis, ...]
    positions: Any

    def __len__(self) -> int:
        return len(self.positions)


class LeftOut(NamedTuple):
    """Log predictive densities of data given all others.

    Attributes
    ----------
    pointwise : (N,)
    leverage : float
        Sum of the leverages, which counts parameters; NaN where there are none.
    """

    pointwise: Array
    leverage: float = float("nan")


def targets_and_noise(bound: Bound, data: Data, factor: BoundFactor) -> tuple[Array, Array]:
    """Return targets and noise variances of normal data."""
    y = np.ravel(bound.observed[factor.name])[data.positions]
    (rows,) = residual_rows(factor, bound)
    shape = shape_of(factor.rows)
    return y, 1.0 / np.broadcast_to(rows.weight, shape).ravel()[data.positions]


def as_codes(draws: Mapping[str, Any], bound: Bound) -> dict[str, Array]:
    """Return draws as numbers, those of states with names as their places."""
    found = {}
    for name, values in draws.items():
        labels = bound.labels.get(name)
        codes = values if labels is None else encode_labels(values, labels)
        found[name] = np.asarray(codes, dtype=np.float64)
    return found
