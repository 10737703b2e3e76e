r"""The noise of a normal child whose precision is believed in: its expectation and its tails.

Given :math:`\tau \sim \mathrm{Ga}(a, b)`, a normal variable with precision :math:`\tau` alone is Student
t with :math:`2a` degrees of freedom and scale :math:`b/a`; its variance is :math:`b/(a-1)`. Vectors under
a Wishart precision with :math:`\nu` degrees of freedom have :math:`\nu - D + 1` of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from posteriori.distributions.numbers.gamma import Gamma
from posteriori.distributions.numbers.inverse_gamma import InverseGamma
from posteriori.distributions.vectors.inverse_wishart import InverseWishart
from posteriori.distributions.vectors.wishart import Wishart
from posteriori.modeling.binding.bound import BoundFactor, Layout
from posteriori.modeling.binding.labelled import Access, Axis, Table, labels_of, spread
from posteriori.modeling.forms.normal_rows import known_variance, spread_of
from posteriori.modeling.variational.densities.addressing import seen
from posteriori.numerics.linalg import explicit_inverse
from posteriori.numerics.types import Array

__all__ = ["Spread", "Tails", "noise_of"]

#: Families that a precision may have, and those of a variance or covariance.
_PRECISIONS = (Gamma, Wishart)
_SPREADS = (InverseGamma, InverseWishart)

#: Belief and layout of a variable.
Lookup = Callable[[str], tuple[Any, Layout]]


class Tails(NamedTuple):
    """How heavy the tails of a Student t distribution are, and its scale when only noise is there."""

    dof: Array
    scale: Array


class Spread(NamedTuple):
    """Noise of the rows of a factor.

    Attributes
    ----------
    variance : array (*rows) or (*rows, D, D)
        Its expectation, infinite where the belief about the precision does not have one.
    tails : Tails or None
        None where the noise is known, so that the child is normal.
    """

    variance: Array
    tails: Tails | None


def noise_of(factor: BoundFactor, look_up: Lookup) -> Spread:
    """Return the noise of a normal factor without switches."""
    key, poly = spread_of(factor)
    if poly.is_known:
        return Spread(known_variance(factor), None)
    if len(poly.terms) != 1:
        raise TypeError(_refusal(factor, f"its {key} is a sum of unknowns"))
    ((table, accesses),) = poly.terms
    known = _constant(factor, key, table)
    variance, scale, dof = known, known, np.asarray(np.inf)
    for access in accesses:
        belief, layout = look_up(access.name)
        if not isinstance(belief, _PRECISIONS if key == "precision" else _SPREADS):
            found = type(belief).__name__
            raise TypeError(_refusal(factor, f"its {key} depends on {access.name}, a {found}"))
        average, tails = _part(belief, access, layout, factor)
        variance, scale = variance * average, scale * tails.scale
        dof = np.minimum(dof, tails.dof)
    return Spread(variance, Tails(dof, scale))


def _constant(factor: BoundFactor, key: str, table: Table) -> Array:
    """Return what the unknown variance is multiplied by, over the rows and events."""
    poly = factor.parameters[key]
    events = poly.axes[len(poly.axes) - factor.family._parameters[key] :]
    inside = [a for a in events if a in table.axes]
    if set(table.axes) - set(factor.rows) - set(events) or len(inside) not in (0, len(events)):
        raise TypeError(_refusal(factor, f"its {key} is a sum over an axis"))
    value = spread(table, (*factor.rows, *(inside or events)))
    if key != "precision":
        return value
    return explicit_inverse(value) if inside else 1.0 / value


def _part(belief: Any, access: Access, layout: Layout, factor: BoundFactor) -> tuple[Array, Tails]:
    """Return what one unknown says, as the rows see it."""
    lead = (*layout.plates, *layout.ints)
    places = access.places[: len(lead)]
    if not labels_of(access._replace(places=places)) <= set(factor.rows):
        raise TypeError(_refusal(factor, f"it depends on a whole row of {access.name} at once"))
    if layout.events:
        matrix = belief.inverse_scale if isinstance(belief, Wishart) else belief.scale
        dof, unit = belief.dof - matrix.shape[-1] + 1.0, 1.0
    else:
        matrix = belief.rate if isinstance(belief, Gamma) else belief.scale
        dof, unit = 2.0 * belief.shape, 2.0

    def as_rows(values: Any, *inner: Axis) -> Array:
        axes = (*lead, *inner)
        full = np.broadcast_to(values, tuple(axis.size for axis in axes))
        return spread(seen(Table(full, axes), lead, places), (*factor.rows, *inner))

    amount = as_rows(matrix, *(Axis("event", axis.size) for axis in layout.events))
    degrees = as_rows(dof)
    over = degrees[..., None, None] if factor.events else degrees
    if factor.events and not layout.events:
        amount = amount[..., None, None]
    with np.errstate(divide="ignore"):
        average = np.where(over > 2.0, unit / np.maximum(over - 2.0, 0.0), np.inf)
    return amount * average, Tails(degrees, amount * unit / over)


def _refusal(factor: BoundFactor, reason: str) -> str:
    return f"{factor.name} has no closed-form predictive here: {reason}"
