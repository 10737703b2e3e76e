"""A model some of whose unknowns are given a value, without binding it anew."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from posteriori.modeling.binding.bound import Bound, BoundFactor
from posteriori.modeling.binding.labelled import Table, substitute
from posteriori.numerics.types import Array

__all__ = ["fix", "fix_factors"]


def fix(bound: Bound, values: Mapping[str, Array]) -> Bound:
    """Return the model with some unknowns observed."""
    factors = fix_factors(bound.factors, bound, values)
    return bound._replace(
        factors=factors,
        observed={**bound.observed, **values},
        given={**bound.given, **values},
    )


def fix_factors(
    factors: Collection[BoundFactor], bound: Bound, values: Mapping[str, Array]
) -> tuple[BoundFactor, ...]:
    """Return factors with the values of some unknowns in their parameters."""
    tables = {name: Table(value, bound.layouts[name].axes) for name, value in values.items()}
    return tuple(
        factor._replace(
            parameters={key: substitute(poly, tables) for key, poly in factor.parameters.items()}
        )
        if any(access.name in values for access in factor.accesses)
        else factor
        for factor in factors
    )
