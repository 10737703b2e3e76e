"""Point masses in a model: known numbers with a name, which stand wherever the name is used."""

from __future__ import annotations

from posteriori.distributions.composites.point_mass import PointMass
from posteriori.modeling.binding.bound import Bound
from posteriori.modeling.binding.labelled import Polynomial

__all__ = ["constants_of", "require_known"]


def constants_of(bound: Bound) -> list[str]:
    """Return the variables that are point masses at known places, and not among the data."""
    return [
        factor.name
        for factor in bound.factors
        if factor.family is PointMass
        and factor.name not in bound.observed
        and bound.variables[factor.name].step is None
        and factor.parameters["location"].is_known
    ]


def require_known(name: str, location: Polynomial) -> Polynomial:
    """Return where a point mass lies; refuse it where unknowns tell.

    Raises
    ------
    TypeError
        When the place depends on unknown variables: it is an expression of them.
    """
    if not location.is_known:
        unknown = sorted({access.name for term in location.terms for access in term.accesses})
        raise TypeError(
            f"{name} is a PointMass whose place depends on {', '.join(unknown)}, and so is no unknown of "
            f"its own: write the expression of {', '.join(unknown)} in its place"
        )
    return location
