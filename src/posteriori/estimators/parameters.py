"""What parameters of estimators may be, as data: a class states a table, and one function reads it.

_constraints = {"tol": POSITIVE, "max_iter": AT_LEAST_ONE, "solver": one_of("newton", "sgd")}
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

__all__ = [
    "ABOVE_ZERO",
    "AT_LEAST_ONE",
    "NOT_NEGATIVE",
    "POSITIVE",
    "Constraint",
    "check_parameters",
    "one_of",
    "or_none",
]


class Constraint(NamedTuple):
    """What values are allowed; the same in words, after "must"; and the remedy, if it needs one."""

    allows: Callable[[Any], Any]
    words: str
    remedy: str = ""


POSITIVE = Constraint(lambda value: np.isfinite(value) and value > 0, "be a positive number")
ABOVE_ZERO = Constraint(lambda value: value > 0, "be positive")  # infinity is
NOT_NEGATIVE = Constraint(
    lambda value: np.isfinite(value) and value >= 0, "be a finite number >= 0"
)
AT_LEAST_ONE = Constraint(lambda value: value >= 1, "be at least 1")


def one_of(*choices: str, mark: str = "'") -> Constraint:
    """Allow these texts only.

    Examples
    --------
    >>> one_of("sum", "average").words
    "be 'sum' or 'average'"
    >>> one_of("a", "b", "c", mark="").words
    'be one of a, b, c'
    """
    shown = [f"{mark}{choice}{mark}" for choice in choices]
    two = len(choices) == 2 and mark  # bare words are easier to tell apart in a list
    told = " or ".join(shown) if two else f"one of {', '.join(shown)}"
    return Constraint(lambda value: isinstance(value, str) and value in choices, f"be {told}")


def or_none(constraint: Constraint) -> Constraint:
    """Allow None as well."""
    return constraint._replace(allows=lambda value: value is None or constraint.allows(value))


def check_parameters(estimator: Any) -> None:
    """Refuse an estimator one of whose parameters is not as the table of its class says.

    Raises
    ------
    ValueError
        That names the parameter, what it must be, and what it is.
    """
    for name, constraint in estimator._constraints.items():
        value = getattr(estimator, name)
        try:
            allowed = bool(constraint.allows(value))
        except (TypeError, ValueError):  # it cannot even be compared
            allowed = False
        if not allowed:
            raise ValueError(f"{name} must {constraint.words}, got {value!r}{constraint.remedy}")
