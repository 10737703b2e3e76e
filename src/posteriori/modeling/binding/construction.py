"""Members of a family from the parameters that a model, or a file, holds by their names."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

import numpy as np

from posteriori.distributions.counts.poisson import Poisson
from posteriori.modeling.binding.bound import BoundFactor
from posteriori.numerics.types import Array

__all__ = [
    "construct",
    "construct_chosen",
    "constructor_parameters",
    "log_prob_of",
    "member",
    "spelling",
]

#: Stands for the rate of counts that are 0: any other has a log density below −690.
_NO_RATE = 1e-300

#: Parameters that a constructor takes under another name.
_SPELLINGS = {("MvStudentT", "location"): "mean"}


def spelling(family: str, key: str) -> str:
    """Return the name under which a constructor takes a parameter."""
    return _SPELLINGS.get((family, key), key)


def member(factor: BoundFactor) -> Any:
    """Return the distribution of a factor whose parameters are all known."""
    parameters = {key: poly.value() for key, poly in factor.parameters.items()}
    return construct(factor.family, parameters, factor.name)


def construct(family: Any, parameters: Mapping[str, Any], name: str) -> Any:
    """Construct a member of a family; an error says whose parameters are at fault."""
    spelled = {spelling(family.__name__, key): value for key, value in parameters.items()}
    try:
        return family(**spelled)
    except ValueError as error:
        raise ValueError(f"parameters of {name}: {error}") from None


def construct_chosen(family: Any, parameters: Mapping[str, Any], name: str) -> Any:
    """Construct members that states choose from: in one of them counts may have no rate at all."""
    if family is Poisson:
        rate = np.asarray(parameters["rate"])
        parameters = {**parameters, "rate": np.where(rate == 0.0, _NO_RATE, rate)}
    return construct(family, parameters, name)


def log_prob_of(distribution: Any, x: Array, name: str) -> Array:
    """Return log densities; an error says whose values are at fault, or lie at a pole."""
    try:
        logs = np.asarray(distribution.log_prob(x))
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None
    if np.any(logs == np.inf):
        raise ValueError(
            f"{name} is observed where the density of {type(distribution).__name__} is infinite, and so "
            "would be the evidence; move the observation by its rounding error, or leave it out"
        )
    return logs


def constructor_parameters(marginal: Any) -> dict[str, Array]:
    """Return the parameters as they were given, or as the constructor takes them."""
    given = marginal._given_parameters()
    family = type(marginal).__name__
    accepted = inspect.signature(type(marginal).__new__).parameters
    if not {spelling(family, k) for k in given} <= accepted.keys():
        given = {name: getattr(marginal, name) for n in marginal._shown if (name := n.rstrip("="))}
    return {name: np.asarray(value) for name, value in given.items()}
