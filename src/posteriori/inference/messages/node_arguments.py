"""What is handed to a node of a factor graph: messages, known values, matrices, noise."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from posteriori.distributions.composites.point_mass import PointMass
from posteriori.distributions.exponential import ExponentialFamily
from posteriori.distributions.numbers.normal import Normal
from posteriori.distributions.vectors.mvnormal import MvNormal
from posteriori.factors import Factor
from posteriori.inference.messages.gaussian_messages import as_vector
from posteriori.numerics.types import Array
from posteriori.numerics.validation import as_observation

__all__ = [
    "as_gaussian",
    "as_known",
    "as_matrix",
    "as_message",
    "as_point",
    "noise_of",
    "require_length",
    "split_known",
]


def as_message(name: str, value: Any) -> Any:
    """Take numbers and arrays as known values; refuse what is no message."""
    if isinstance(value, (ExponentialFamily, PointMass)):
        return value
    if isinstance(value, Factor):
        if len(value.names) != 1:
            raise TypeError(f"a message has one axis, got {', '.join(value.names)} on {name!r}")
        return value
    return as_point(as_observation(value, name))


def as_gaussian(name: str, value: Any, *, scalar: bool = False) -> MvNormal:
    """Return a normal message as one on vectors, a known value as one of no width.

    Known values are numbers where ``scalar`` says so. Other families are refused.
    """
    if isinstance(value, PointMass):
        mean = np.asarray(value.location)[..., None] if scalar else np.asarray(value.location)
        return MvNormal._from(mean=mean, cov=np.zeros((*mean.shape, mean.shape[-1])))
    if not isinstance(value, (Normal, MvNormal)):
        raise TypeError(
            f"no rule for {type(value).__name__} on {name!r}: this node takes Normal, MvNormal "
            "and known values"
        )
    return as_vector(value)


def as_point(location: Any) -> PointMass:
    """Return the point mass at a number or vector."""
    value = np.asarray(location)
    return PointMass(value, event_ndim=min(value.ndim, 1))


def as_known(name: str, value: Any) -> Array:
    """Return a known value as an array; refuse messages that leave it open."""
    if isinstance(value, PointMass):
        return np.asarray(value.location)
    if isinstance(value, (ExponentialFamily, Factor)):
        raise TypeError(f"{name} must be known here: a number, an array or a PointMass")
    return as_observation(value, name)


def split_known(x: Any, y: Any, name: str) -> tuple[Array, Any, str]:
    """Return the known vector, the message on the other side, and that side's name."""
    if isinstance(x, (Normal, MvNormal)):
        return as_known("y", y), x, "x"
    return as_known("x", x), y, name


def as_matrix(matrix: Any, like: Any) -> tuple[Array, bool, bool]:
    """Return A with two axes, and whether x and y are numbers."""
    a = as_observation(matrix, "matrix")
    if a.ndim == 0:
        scalar = isinstance(like, Normal) or (isinstance(like, PointMass) and not like.event_shape)
        size = 1 if scalar else like.event_shape[0]
        return a * np.eye(size), scalar, scalar
    if a.ndim == 1:  # y = a x with a vector a and a number x
        return a[:, None], True, False
    if a.ndim > 2:
        raise ValueError(f"matrix must have at most two axes, got shape {a.shape}")
    return a, False, False


def require_length(name: str, value: Any, size: int, scalar: bool) -> None:
    """Check that a message fits the side of the matrix it comes from."""
    if scalar != isinstance(value, Normal):
        want = "a number" if scalar else f"a vector of length {size}"
        raise TypeError(f"the matrix takes {want} on {name!r}, got {type(value).__name__}")
    if not scalar and value.event_shape != (size,):
        raise ValueError(
            f"the matrix takes a vector of length {size} on {name!r}, "
            f"got length {value.event_shape[0]}"
        )


def noise_of(spread: Mapping[str, Any]) -> Normal | MvNormal:
    """Return N(0, v) for the known variance of a Gaussian node."""
    if len(spread) != 1 or not set(spread) <= {"variance", "cov"}:
        raise TypeError(
            "the gaussian node needs its variance (or cov) as the one parameter, "
            f"got {', '.join(spread) or 'none'}"
        )
    ((name, value),) = spread.items()
    known = as_known(name, value)
    if name == "variance":
        return Normal(0.0, variance=known)
    return MvNormal(np.zeros(known.shape[-1]), cov=known)
