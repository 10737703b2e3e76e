"""Missing numbers of normal variables that are unknown like any other.

Missing members of a plate that nothing depends on are left out of the data: nothing is known of them,
and they tell nothing. Others matter: gaps in a series that follows itself, or parts of vectors whose
precision is unknown.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from posteriori.modeling.binding.bound import gap_name
from posteriori.modeling.binding.labelled import (
    Access,
    Axis,
    Lookup,
    Polynomial,
    Switch,
    Table,
    Term,
)
from posteriori.numerics.types import Array

__all__ = ["gap_term", "needs_gaps", "negated", "parts_missing"]


def needs_gaps(values: Array, parameters: Mapping[str, Polynomial]) -> bool:
    """Tell whether parts of normal vectors are missing whose noise cannot be marginalised."""
    if not parts_missing(values).any():
        return False
    accesses = [(key, term.accesses) for key, poly in parameters.items() for term in poly.terms]
    affine = all(len(found) <= (key == "mean") for key, found in accesses)
    tables = all(isinstance(a, Switch) for _, found in accesses for a in found)
    return not (affine or tables)


def parts_missing(values: Array) -> Array:
    """Tell which numbers are missing in vectors of which others are there."""
    missing: Array = np.isnan(values)
    return missing & ~missing.all(axis=-1, keepdims=True)


def gap_term(name: str, missing: Array, axes: tuple[Axis, ...]) -> tuple[Term, Axis]:
    """Return missing numbers as an unknown of their own, seen through the variable's axes."""
    own = Axis(gap_name(name), int(missing.sum()))
    positions = np.zeros(missing.shape, dtype=np.intp)
    positions[missing] = np.arange(own.size)
    access = Access(own.name, (Lookup(Table(positions, axes)),))
    return Term(Table(missing.astype(np.float64), axes), (access,)), own


def negated(term: Term) -> Term:
    """Return minus a term."""
    return term._replace(table=term.table._replace(values=-term.table.values))
