"""Numbers that floating point cannot hold: too large, too small, or too far from their prior."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from posteriori.modeling.binding.bound import Bound, BoundFactor
from posteriori.modeling.binding.labelled import Table, spread
from posteriori.modeling.forms.simulation import member
from posteriori.modeling.variational.densities.factor_view import GAUSSIAN
from posteriori.numerics.types import Array

__all__ = ["require_moderate", "require_near", "require_noticeable"]

#: Products of squares of larger numbers overflow.
_LARGEST = 1e100

#: Standard deviations between a prior and its data: a square of 10¹⁴ leaves two digits of a nat.
_FARTHEST = 1e7

#: Exponents that are smaller vanish in a − 1; inverses of smaller sizes, or their squares, overflow.
_SMALLEST = dict.fromkeys(("shape", "concentration", "a", "b"), 1e-15) | {
    "rate": 1e-300,
    "variance": 1e-300,
    "cov": 1e-300,
    "scale": 1e-150,
}


def require_moderate(factor: BoundFactor, bound: Bound) -> None:
    """Refuse data and known means whose squares overflow."""
    if factor.name in bound.observed:
        _require_moderate(f"the data of {factor.name}", bound.observed[factor.name])
    for table, accesses in factor.parameters["mean"].terms:
        if not accesses:
            _require_moderate(f"the known mean of {factor.name}", table.values)


def _require_moderate(what: str, values: Array) -> None:
    if not values.size:
        return
    for extreme in (np.fmax.reduce(values, axis=None), np.fmin.reduce(values, axis=None)):
        if abs(extreme) > _LARGEST:
            raise ValueError(
                f"{what} hold {extreme:g}, whose square is too large for floating point; use other "
                "units, so that numbers are near 1"
            )


def require_noticeable(factor: BoundFactor) -> None:
    """Refuse known parameters so small that nothing is left of them after rounding."""
    for key, poly in factor.parameters.items():
        smallest = _SMALLEST.get(key)
        if smallest is None or not poly.is_known:
            continue
        for table, _ in poly.terms:
            positive = table.values[table.values > 0.0]
            if positive.size and positive.min() < smallest:
                raise ValueError(
                    f"the {key} of {factor.name} is {positive.min():.3g}, too small for floating point: "
                    f"use at least {smallest:g}, or units in which numbers are near 1"
                )


def require_near(
    levels: Mapping[str, Table],
    width: Callable[[], float],
    factors: Sequence[BoundFactor],
    bound: Bound,
) -> None:
    """Refuse known priors so far from where the data are that nothing can be told from rounding.

    Parameters
    ----------
    levels : mapping to Table
        Where the data put variables.
    width : callable
        Returns how far the data themselves reach.
    factors, bound
    """
    for factor in factors:
        if factor.name not in levels or factor.family not in GAUSSIAN:
            continue
        if not all(poly.is_known for poly in factor.parameters.values()):
            continue
        prior = member(factor)
        labels = (*factor.rows, *factor.events)
        data = spread(levels[factor.name], bound.layouts[factor.name].axes)
        if data.ndim != len(labels):  # the first member of a chain
            continue
        away = np.abs(data - prior.mean)
        distance = away / np.sqrt(prior.variance)
        worst = np.unravel_index(np.argmax(distance), distance.shape)
        if distance[worst] > _FARTHEST and away[worst] > width():
            mean, scale, where = (
                np.broadcast_to(a, distance.shape)[worst]
                for a in (prior.mean, np.sqrt(prior.variance), data)
            )
            raise ValueError(
                f"the prior of {factor.name} expects {mean:.4g} ± {scale:.2g} but the data put it near "
                f"{where:.4g}, {distance[worst]:.1g} standard deviations away: rounding errors would "
                "decide; give it a wider prior, or check the units of the data"
            )
