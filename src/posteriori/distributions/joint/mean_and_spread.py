"""The events of the joint families: pairs of a mean and a spread."""

from __future__ import annotations

from typing import NamedTuple

from posteriori.numerics.types import Array

__all__ = ["MeanCov", "MeanPrecision", "MeanVariance"]


class MeanPrecision(NamedTuple):
    """A mean and a precision: numbers, or a vector (D,) and a matrix (D, D)."""

    mean: Array
    precision: Array


class MeanVariance(NamedTuple):
    """A mean, number or vector (D,), and a variance."""

    mean: Array
    variance: Array


class MeanCov(NamedTuple):
    """A mean (D,) and a covariance (D, D)."""

    mean: Array
    cov: Array
