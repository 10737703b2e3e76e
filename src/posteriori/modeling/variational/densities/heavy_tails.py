r"""Student t factors as normal ones whose rows have weights of their own.

.. math:: t(x \mid \nu, m, s) = \int N(x \mid m, s^2/w)\,\mathrm{Gamma}(w \mid \tfrac\nu2, \tfrac\nu2)\,dw :

given the weights a model with such noise is as one with normal noise, and given all else the weight of
a row is a gamma variable (C. Liu & D. Rubin, "ML estimation of the t distribution using EM and its
extensions, ECM and ECME", 1995).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from posteriori.distributions.numbers.gamma import Gamma
from posteriori.distributions.numbers.normal import Normal
from posteriori.distributions.numbers.student_t import StudentT
from posteriori.modeling.binding.bound import Bound, BoundFactor, Layout
from posteriori.modeling.binding.labelled import Access, Polynomial, Table, Term

__all__ = ["is_weight", "with_weights", "without_weight"]

_WEIGHT = "[weight]"


def is_weight(name: str) -> bool:
    """Tell whether a variable is the weights of the rows of another."""
    return name.endswith(_WEIGHT)


def without_weight(name: str) -> str:
    """Return the variable that weights belong to, or the name itself."""
    return name.removesuffix(_WEIGHT)


def with_weights(
    bound: Bound, names: Sequence[str], factors: Sequence[BoundFactor]
) -> tuple[Bound, tuple[str, ...], tuple[BoundFactor, ...]]:
    """Return a model whose Student t factors are normal given weights, which are unknown."""
    heavy = [factor for factor in factors if factor.family is StudentT]
    if not heavy:
        return bound, tuple(names), tuple(factors)
    families = dict(bound.families)
    new: dict[str, Layout] = {}
    written: dict[int, tuple[BoundFactor, ...]] = {}
    for factor in heavy:
        layout = bound.layouts[factor.name]
        if factor.places != layout.axes:
            raise TypeError(
                f"{factor.name} is a chain with Student t steps, which has no rule: make its steps "
                "normal, or its noise Student t"
            )
        name = factor.name + _WEIGHT
        new[name] = Layout(layout.plates, layout.ints, ())
        families[name], families[factor.name] = Gamma, Normal
        written[id(factor)] = _split(factor, name)
    layouts = {}
    for name, layout in bound.layouts.items():  # weights before those that depend on them
        if name + _WEIGHT in new:
            layouts[name + _WEIGHT] = new[name + _WEIGHT]
        layouts[name] = layout
    every = _replaced(bound.factors, written)
    return (
        bound._replace(layouts=layouts, families=families, factors=every),
        (*names, *new),
        _replaced(factors, written),
    )


def _replaced(
    factors: Sequence[BoundFactor], written: dict[int, tuple[BoundFactor, ...]]
) -> tuple[BoundFactor, ...]:
    return tuple(part for factor in factors for part in written.get(id(factor), (factor,)))


def _split(factor: BoundFactor, name: str) -> tuple[BoundFactor, BoundFactor]:
    """Return p(w | ν) and p(x | m, s, w)."""
    dof, rows = factor.parameters["dof"], factor.rows
    half = dof._replace(
        terms=tuple(t._replace(table=Table(0.5 * t.table.values, t.table.axes)) for t in dof.terms)
    )
    weights = BoundFactor(name, Gamma, {"shape": half, "rate": half}, rows, (), rows)
    weight = Polynomial(
        (Term(Table(np.ones(()), ()), (Access(name, rows),)),), dof.plates, dof.axes
    )
    given = {"mean": factor.parameters["mean"], "scale": factor.parameters["scale"]}
    return weights, factor._replace(family=Normal, parameters={**given, "weight": weight})
