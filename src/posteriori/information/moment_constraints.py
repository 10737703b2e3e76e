"""What is known of a random variable: expectations of its powers or of any function."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from posteriori.numerics.types import Array
from posteriori.numerics.validation import real

__all__ = [
    "Constraint",
    "MomentsLike",
    "Power",
    "evaluate",
    "first_two",
    "read_constraints",
    "targets_of",
]

#: Expectations by the power, or by the function, that they are of.
MomentsLike: TypeAlias = Mapping[int | Callable[[Any], Any], float]


class Constraint(NamedTuple):
    """E[function(x)] = target."""

    name: str
    function: Callable[[Any], Any]
    target: float


def read_constraints(
    moments: MomentsLike | None, mean: float | None, variance: float | None
) -> list[Constraint]:
    """List the constraints that moments, mean and variance state."""
    listed: list[Constraint] = []
    if mean is not None:
        listed.append(Constraint("E[x]", Power(1), float(real("mean", mean))))
    if variance is not None:
        if mean is None:
            raise ValueError("a variance needs the mean that it is taken about; give mean as well")
        if not variance > 0:
            raise ValueError(f"variance must be positive, got {variance!r}")
        listed.append(
            Constraint("Var[x]", Power(2, float(mean)), float(real("variance", variance)))
        )
    for key, target in (moments or {}).items():
        name, function = _named_function(key)
        if any(name == c.name for c in listed):
            raise ValueError(f"{name} is given twice")
        listed.append(Constraint(name, function, float(real(name, target))))
    return listed


def targets_of(constraints: list[Constraint]) -> dict[str, float]:
    """Return the targets by name."""
    return {c.name: c.target for c in constraints}


def first_two(constraints: list[Constraint]) -> tuple[float, float] | None:
    """Return mean and variance where these and nothing else is known."""
    known = targets_of(constraints)
    if set(known) == {"E[x]", "Var[x]"}:
        return known["E[x]"], known["Var[x]"]
    if set(known) == {"E[x]", "E[x^2]"}:
        return known["E[x]"], known["E[x^2]"] - known["E[x]"] ** 2
    return None


def evaluate(constraint: Constraint, x: Array) -> Array:
    """Return the function at an array of points, checked."""
    values = np.asarray(constraint.function(x), dtype=np.float64)
    if values.shape != x.shape:
        raise ValueError(f"the function of {constraint.name} must work elementwise on arrays")
    if not np.all(np.isfinite(values)):
        raise ValueError(f"the function of {constraint.name} is not finite on the whole support")
    return values


def _named_function(key: Any) -> tuple[str, Callable[[Any], Any]]:
    if isinstance(key, (int, np.integer)) and not isinstance(key, bool) and key >= 1:
        return ("E[x]" if key == 1 else f"E[x^{key}]"), Power(int(key))
    if callable(key):
        return f"E[{getattr(key, '__name__', 'f')}(x)]", key
    raise TypeError(f"moments must be keyed by whole numbers >= 1 or by functions, got {key!r}")


class Power:
    """The function (x − centre)ᵏ, which knows that it is a polynomial."""

    def __init__(self, order: int, centre: float = 0.0) -> None:
        self.order, self.centre = order, centre

    def __call__(self, x: Any) -> Any:
        return (x - self.centre) ** self.order
