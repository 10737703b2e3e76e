r"""The noise of a normal child whose precision is believed in: its expectation and its tails.

Given :math:`\tau \sim \mathrm{Ga}(a, b)`, a normal variable with precision :math:`\tau` alone is Student
t with :math:`2a` degrees of freedom and scale :math:`b/a`; its variance is :math:`b/(a-1)`. Vectors under
a Wishart precision with :math:`\nu` degrees of freedom have :math:`\nu - D + 1` of them. Any other belief about a spread has the tails
of the gamma variable whose logarithm has the same mean and variance.
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
from posteriori.modeling.binding.labelled import Access, Axis, Table, labels_of, seen, spread
from posteriori.modeling.contract.requests import no_closed_form
from posteriori.modeling.forms.normal_rows import known_variance, spread_of
from posteriori.modeling.variational.densities.number_functions import expect_by_scores
from posteriori.numerics.lazy import special
from posteriori.numerics.linalg import explicit_inverse
from posteriori.numerics.types import Array

__all__ = ["Spread", "Tails", "noise_of"]

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
        raise no_closed_form(factor.name, f"its {key} is a sum of unknowns")
    ((table, accesses),) = poly.terms
    known = _constant(factor, key, table)
    variance, scale, dof = known, known, np.asarray(np.inf)
    for access in accesses:
        belief, layout = look_up(access.name)
        average, tails = _part(_noise_of_one(belief, key), access, layout, factor)
        variance, scale = variance * average, scale * tails.scale
        dof = np.minimum(dof, tails.dof)
    return Spread(variance, Tails(dof, scale))


def _constant(factor: BoundFactor, key: str, table: Table) -> Array:
    """Return what the unknown variance is multiplied by, over the rows and events."""
    poly = factor.parameters[key]
    events = poly.axes[len(poly.axes) - factor.family._parameters[key] :]
    inside = [a for a in events if a in table.axes]
    if set(table.axes) - set(factor.rows) - set(events) or len(inside) not in (0, len(events)):
        raise no_closed_form(factor.name, f"its {key} is a sum over an axis")
    value = spread(table, (*factor.rows, *(inside or events)))
    if key != "precision":
        return value**2 if key == "scale" else value
    return explicit_inverse(value) if inside else 1.0 / value


class _Noise(NamedTuple):
    """The variance that one unknown stands for: its scale and tails, and its expectation."""

    dof: Array
    scale: Array
    average: Array


def _noise_of_one(belief: Any, key: str) -> _Noise:
    """Return what a belief about a precision, a variance or a standard deviation says of noise."""
    if isinstance(belief, (Wishart, InverseWishart)):
        matrix = belief.inverse_scale if isinstance(belief, Wishart) else belief.scale
        dof = np.asarray(belief.dof - matrix.shape[-1] + 1.0)
        return _gamma_noise(dof, matrix, dof[..., None, None])
    if isinstance(belief, Gamma if key == "precision" else InverseGamma) and key != "scale":
        amount = belief.rate if isinstance(belief, Gamma) else belief.scale
        dof = np.asarray(2.0 * belief.shape)
        return _gamma_noise(dof, 2.0 * amount, dof)
    power = {"precision": -1.0, "variance": 1.0, "scale": 2.0}[key]
    return _noise_of_number(belief, power)


def _gamma_noise(dof: Array, amount: Array, over: Array) -> _Noise:
    with np.errstate(divide="ignore"):
        inverse = np.where(over > 2.0, 1.0 / np.maximum(over - 2.0, 0.0), np.inf)
    return _Noise(dof, amount / over, amount * inverse)


def _noise_of_number(belief: Any, power: float) -> _Noise:
    """Return the noise whose precision is gamma distributed with the moments of its logarithm.

    Of a gamma variable τ they are E[ln τ] = ψ(a) − ln b and Var[ln τ] = ψ'(a).
    """
    middle = expect_by_scores(belief, lambda x: power * np.log(x))
    around = expect_by_scores(belief, lambda x: (power * np.log(x) - middle) ** 2)
    shape = _inverse_trigamma(around)
    scale = np.exp(middle + special.digamma(shape)) / shape
    average = expect_by_scores(belief, lambda x: x**power)
    return _Noise(2.0 * shape, scale, np.where(shape > 1.0, average, np.inf))


def _inverse_trigamma(values: Array) -> Array:
    """Solve ψ'(a) = v by Newton's method in 1/ψ', which is nearly a straight line."""
    a = 0.5 + 1.0 / values
    for _ in range(8):
        slope = special.polygamma(1, a)
        a = a + slope * (1.0 - slope / values) / special.polygamma(2, a)
    return np.asarray(a)


def _part(
    noise: _Noise, access: Access, layout: Layout, factor: BoundFactor
) -> tuple[Array, Tails]:
    """Return what one unknown says, as the rows see it."""
    lead = (*layout.plates, *layout.ints)
    places = access.places[: len(lead)]
    if not labels_of(access._replace(places=places)) <= set(factor.rows):
        raise no_closed_form(factor.name, f"it depends on a whole row of {access.name} at once")
    inner = tuple(Axis("event", axis.size) for axis in layout.events)

    def as_rows(values: Any, *events: Axis) -> Array:
        axes = (*lead, *events)
        full = np.broadcast_to(values, tuple(axis.size for axis in axes))
        found = spread(seen(Table(full, axes), lead, places), (*factor.rows, *events))
        return found[..., None, None] if factor.events and not events else found

    degrees = as_rows(noise.dof)
    tails = Tails(degrees[..., 0, 0] if factor.events else degrees, as_rows(noise.scale, *inner))
    return as_rows(noise.average, *inner), tails
