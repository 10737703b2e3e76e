r"""A few unknown numbers as coordinates without bounds.

A number x above a is a + eᵘ, one between a and b is a + (b − a)/(1 + e⁻ᵘ), probabilities of K
classes are a softmax of K − 1 coordinates and 0; densities are multiplied by the Jacobian.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from posteriori.distributions.base import Univariate, has_atoms
from posteriori.distributions.numbers.normal import Normal
from posteriori.distributions.vectors.dirichlet import Dirichlet
from posteriori.distributions.vectors.mvnormal import MvNormal
from posteriori.modeling.binding.bound import BoundFactor
from posteriori.modeling.binding.construction import construct, member
from posteriori.modeling.binding.labelled import Access
from posteriori.modeling.contract.engine import Group
from posteriori.modeling.forms.fixing import fix_factors
from posteriori.modeling.forms.state_tables import DISCRETE
from posteriori.numerics.types import Array

__all__ = ["Coordinates", "Free", "as_free"]

#: Parts of the prior at which mass is looked for.
_LEVELS = np.array([0.5, 0.1, 0.9, 0.01, 0.99, 0.3, 0.7])
#: Coordinates beyond ± this are those of an end: squares of e³⁰⁰ are still numbers.
_LARGEST = 300.0
#: Scales of coordinates are not smaller, in case a prior is nearly a constant.
_LEAST_SCALE = 1e-3
#: Names of parameters that say where numbers end.
_ENDS = ("low", "high", "lower", "upper", "scale_min", "minimum")


class Free(NamedTuple):
    """An unknown with its prior and the ends of its numbers.

    Attributes
    ----------
    name : str
    shape : tuple of int
        Of the whole variable.
    prior : Distribution
        With guesses in the place of unknown parameters: it only tells where to look.
    low, high : arrays (N,)
        Ends of each number; of a simplex 0 and 1.
    is_simplex : bool
    is_ordered : bool
        Whether one of the K! equal orders of the numbers, the increasing one, stands for all.
    """

    name: str
    shape: tuple[int, ...]
    prior: Any
    low: Array
    high: Array
    is_simplex: bool
    is_ordered: bool = False

    @property
    def size(self) -> int:
        """Number of coordinates."""
        count = int(np.prod(self.shape))
        return count - count // self.shape[-1] if self.is_simplex else count

    def read(self, u: Array) -> tuple[Array, Array]:
        """Return the values (..., *shape) at coordinates (..., size), and logs of the Jacobian."""
        if self.is_simplex:
            return self._probabilities(_between_ends(u))
        above, below = np.isfinite(self.low), np.isfinite(self.high)
        endless, u = u, _between_ends(u)
        both = above & below
        # ln x' = ln(b − a) − |u| − 2 ln(1 + e^{−|u|})
        tail = np.log1p(np.exp(-np.abs(u)))
        share = np.exp(-np.log1p(np.exp(-u)))
        with np.errstate(invalid="ignore"):
            inside = self.low + (self.high - self.low) * share
            logs = np.where(both, np.log(self.high - self.low) - np.abs(u) - 2.0 * tail, u)
        positive = np.exp(u)
        one_end = np.where(above, self.low + positive, self.high - positive)
        values = np.where(both, inside, np.where(above | below, one_end, endless))
        log_jacobian = np.where(above | below, logs, 0.0).sum(axis=-1)
        if self.is_ordered:
            is_first = np.all(np.diff(values, axis=-1) > 0.0, axis=-1)
            log_jacobian = np.where(is_first, log_jacobian + math.lgamma(self.size + 1.0), -np.inf)
        return values.reshape(u.shape[:-1] + self.shape), log_jacobian

    def _probabilities(self, u: Array) -> tuple[Array, Array]:
        classes = self.shape[-1]
        rows = u.reshape(*u.shape[:-1], -1, classes - 1)
        logits = np.concatenate([rows, np.zeros((*rows.shape[:-1], 1))], axis=-1)
        logs = logits - np.logaddexp.reduce(logits, axis=-1, keepdims=True)
        # |dπ/du| = Π π_k
        return np.exp(logs).reshape(u.shape[:-1] + self.shape), logs.sum(axis=(-2, -1))

    def write(self, values: Array) -> Array:
        """Return the coordinates of values (..., *shape)."""
        with np.errstate(divide="ignore", invalid="ignore"):
            if self.is_simplex:
                logs = np.log(values)
                u = (logs[..., :-1] - logs[..., -1:]).reshape(*values.shape[: -len(self.shape)], -1)
                return _between_ends(u)
            x = values.reshape(*values.shape[: values.ndim - len(self.shape)], -1)
            above, below = np.isfinite(self.low), np.isfinite(self.high)
            from_low, to_high = np.log(x - self.low), np.log(self.high - x)
            ends = np.where(below, -to_high, 0.0) + np.where(above, from_low, 0.0)
            ends = np.where(below & ~above, to_high, ends)
            far = np.exp(_LARGEST)
            return np.where(above | below, _between_ends(ends), np.clip(x, -far, far))

    def levels(self, levels: Array) -> Array:
        """Return coordinates (L, size) of parts of the prior."""
        if self.is_simplex or isinstance(self.prior, MvNormal):
            return self.write(self.prior.sample(len(levels), rng=0).reshape(-1, *self.shape))
        at = levels.reshape(-1, *(1,) * len(self.shape))
        if self.is_ordered:  # each number from its own part of the prior
            at = (np.arange(self.size) + at) / self.size
        with np.errstate(over="ignore"):  # the far parts of a vague prior
            found = self.prior.quantile(at)
        return self.write(np.broadcast_to(found, (len(levels), *self.shape)))


def _between_ends(u: Array) -> Array:
    """Return coordinates whose numbers differ from their ends."""
    return np.clip(u, -_LARGEST, _LARGEST)


def as_free(factor: BoundFactor, group: Group) -> Free | str:
    """Return a continuous unknown of a group, or why it cannot be integrated over."""
    unknown = [key for key, poly in factor.parameters.items() if not poly.is_known]
    if any(key in _ENDS for key in unknown):
        return f"where {factor.name} ends is unknown"
    if not issubclass(factor.family, (Dirichlet, MvNormal, Univariate)):
        return f"{factor.name} is no number"
    shape = group.bound.layouts[factor.name].shape
    try:
        prior = _stand_in(_at_prior_centres(factor, group))
    except ValueError:  # parameters that no member has, as a scale of 0
        prior = _stand_in(factor)
    if isinstance(prior, Dirichlet):
        if shape[-1] < 2:
            return f"{factor.name} has one class"
        return Free(factor.name, shape, prior, np.zeros(()), np.ones(()), True)
    if isinstance(prior, MvNormal):
        return Free(factor.name, shape, prior, np.asarray(-np.inf), np.asarray(np.inf), False)
    if has_atoms(prior):
        return f"{factor.name} is no number"
    low, high = (
        np.broadcast_to(prior.quantile(end), shape).ravel().astype(np.float64) for end in (0.0, 1.0)
    )
    return Free(factor.name, shape, prior, low, high, False)


def _stand_in(factor: BoundFactor) -> Any:
    """Return the prior with 1 in the place of what nothing is known of, I in that of matrices."""
    parameters = {}
    for key, poly in factor.parameters.items():
        shape = tuple(axis.size for axis in poly.labels)
        is_matrix = factor.family._parameters[key] == 2
        unit = np.eye(shape[-2], shape[-1]) if is_matrix else np.ones(())
        parameters[key] = poly.value() if poly.is_known else np.broadcast_to(unit, shape)
    if factor.family in (Normal, MvNormal) and not factor.parameters["mean"].is_known:
        parameters["mean"] = np.zeros_like(parameters["mean"])
    return construct(factor.family, parameters, factor.name)


def _at_prior_centres(factor: BoundFactor, group: Group) -> BoundFactor:
    """Return a factor with centres of priors in the place of unknown numbers that have one."""
    seen = {a.name for a in factor.accesses if isinstance(a, Access)} & {*group.names}
    centres = {name: _prior_centre(name, group) for name in seen - {factor.name}}
    values = {name: centre for name, centre in centres.items() if centre is not None}
    return fix_factors([factor], group.bound, values)[0] if values else factor


def _prior_centre(name: str, group: Group) -> Array | None:
    """Return the mean of an unknown, or its median, at the centres of its own parameters."""
    own = [factor for factor in group.factors if factor.name == name]
    if len(own) != 1 or own[0].family in DISCRETE:
        return None
    factor = _at_prior_centres(own[0], group)
    if not all(poly.is_known for poly in factor.parameters.values()):
        return None
    prior = member(factor)
    centre = np.asarray(prior.mean if hasattr(prior, "mean") else getattr(prior, "median", np.nan))
    shape = group.bound.layouts[name].shape
    return np.broadcast_to(centre, shape) if np.isfinite(centre).all() else None


@dataclass(frozen=True)
class Coordinates:
    """All unknowns that are integrated over, one after another.

    Attributes
    ----------
    free : tuple of Free
    """

    free: tuple[Free, ...]

    @property
    def size(self) -> int:
        """Number of coordinates."""
        return sum(item.size for item in self.free)

    @property
    def names(self) -> list[str]:
        """The variable that each coordinate belongs to."""
        return [item.name for item in self.free for _ in range(item.size)]

    def read(self, u: Array) -> tuple[dict[str, Array], Array]:
        """Return the values of all variables at points (..., D), and logs of the Jacobian."""
        values, total, start = {}, np.zeros(u.shape[:-1]), 0
        for item in self.free:
            values[item.name], log_jacobian = item.read(u[..., start : start + item.size])
            total = total + log_jacobian
            start += item.size
        return values, total

    def write(self, values: Mapping[str, Array]) -> Array:
        """Return the coordinates (D,) of values of all variables."""
        return np.concatenate([item.write(values[item.name]) for item in self.free])

    def starts(self) -> tuple[Array, Array]:
        """Return points from all over the prior (S, D), and the scale of each coordinate."""
        rows = []
        for i, item in enumerate(self.free):
            levels = np.roll(_LEVELS[1:], i)  # not all unknowns low, or high, at once
            rows.append(item.levels(np.append(_LEVELS[:1], levels)))
        found = np.concatenate(rows, axis=1)
        scales = np.clip(np.ptp(found, axis=0) / 6.0, _LEAST_SCALE, np.inf)
        return found, scales
