"""What parameters of estimators may be, as data: a class states a table, and one function reads it.

_constraints = {"tol": POSITIVE, "max_iter": AT_LEAST_ONE, "solver": one_of("newton", "sgd")}
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import cache
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

__all__ = [
    "ABOVE_ZERO",
    "AT_LEAST_ONE",
    "COVARIANCES",
    "FINITE",
    "FLAG",
    "NOT_NEGATIVE",
    "POSITIVE",
    "WHOLE",
    "Constraint",
    "check_parameters",
    "covariance_of",
    "one_of",
    "or_none",
    "require_estimator",
]


class Constraint(NamedTuple):
    """What a parameter may be.

    Attributes
    ----------
    words : str
        The same in words, after "must".
    least, most : float
        Ends of the numbers that are allowed; none are where they are not in order.
    open : bool
        Whether the lower end is left out.
    choices : tuple of str
        Texts that are allowed.
    none : bool
        Whether None is.
    remedy : str
        What to do instead, where the words do not tell.
    whole : bool
        Whether numbers must be whole.
    test : callable, optional
        Tells alone whether a value is allowed.
    hints : mapping
        What to do instead of a value that others allow.
    """

    words: str
    least: float = np.inf
    most: float = -np.inf
    open: bool = False
    choices: tuple[str, ...] = ()
    none: bool = False
    remedy: str = ""
    whole: bool = False
    test: Callable[[Any], bool] | None = None
    hints: Mapping[str, str] = MappingProxyType({})

    def allows(self, value: Any) -> bool:
        """Tell whether a value is allowed."""
        if self.test is not None:
            return self.test(value)
        if value is None or isinstance(value, str):
            return self.none if value is None else value in self.choices
        try:
            inside = self.least <= value <= self.most and not (self.open and value == self.least)
            return bool(inside and (not self.whole or float(value).is_integer()))
        except (TypeError, ValueError):  # it cannot be compared with numbers
            return False

    def remedy_for(self, value: Any) -> str:
        """Return what to do instead of a value."""
        return self.hints.get(value, self.remedy) if isinstance(value, str) else self.remedy


_LARGEST = float(np.finfo(np.float64).max)

POSITIVE = Constraint("be a positive number", 0.0, _LARGEST, open=True)
ABOVE_ZERO = Constraint("be positive", 0.0, np.inf, open=True)
NOT_NEGATIVE = Constraint("be a finite number >= 0", 0.0, _LARGEST)
AT_LEAST_ONE = Constraint("be at least 1", 1.0, np.inf)
WHOLE = AT_LEAST_ONE._replace(words="be a whole number >= 1", whole=True)
FINITE = Constraint("be finite", -_LARGEST, _LARGEST)


def _is_seed(value: Any) -> bool:
    whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    return bool(whole and value >= 0)


FLAG = Constraint("be True or False", test=lambda value: isinstance(value, (bool, np.bool_)))

#: Parameters that mean the same in every estimator.
_BY_NAME = {
    "callback": Constraint(
        "be a function or None", test=lambda value: value is None or callable(value)
    ),
    "progress": Constraint(
        "be True, False or None", test=lambda value: value is None or FLAG.allows(value)
    ),
    "random_state": Constraint(
        "be None, a whole number >= 0 or a numpy Generator",
        remedy="; np.random.default_rng(seed) makes one",
        test=lambda value: (
            value is None or isinstance(value, np.random.Generator) or _is_seed(value)
        ),
    ),
}


def one_of(*choices: str, mark: str = "'") -> Constraint:
    """Allow these texts only.

    Examples
    --------
    >>> one_of("sum", "average").words
    "be 'sum' or 'average'"
    >>> one_of("a", "b", mark="").words  # bare words are easier to tell apart in a list
    'be one of a, b'
    """
    shown = [f"{mark}{choice}{mark}" for choice in choices]
    two = len(choices) == 2 and mark
    told = " or ".join(shown) if two else f"one of {', '.join(shown)}"
    return Constraint(f"be {told}", choices=choices)


#: What a covariance may be, in all estimators.
COVARIANCES = ("full", "diagonal", "spherical", "shared")

#: What others call them.
_COVARIANCE_HINTS = {"tied": ': say "shared"', "diag": ': say "diagonal"'}


def covariance_of(*kinds: str, **hints: str) -> Constraint:
    """Allow these kinds of covariance, and say what to do for others.

    Examples
    --------
    >>> covariance_of("full", "shared").words
    'be "full" or "shared"'
    """
    told = {kind: f": {hint}" for kind, hint in hints.items()}
    return one_of(*kinds, mark='"')._replace(hints={**_COVARIANCE_HINTS, **told})


def or_none(constraint: Constraint) -> Constraint:
    """Allow None as well."""
    return constraint._replace(none=True)


def check_parameters(estimator: Any) -> None:
    """Refuse an estimator one of whose parameters is not as the table of its class says.

    What a parameter without a row in the table may be is told by its default, or by its name in all estimators:
    one that is True or False by default is a flag, ``random_state`` seeds a generator, and ``callback`` is called.

    Raises
    ------
    ValueError
        That names the parameter, what it must be, and what it is.
    """
    kind: Any = type(estimator)
    table = {**_told_by_defaults(kind), **estimator._constraints}
    for name, constraint in table.items():
        value = getattr(estimator, name)
        if not constraint.allows(value):
            raise ValueError(
                f"{name} must {constraint.words}, got {value!r}{constraint.remedy_for(value)}"
            )


@cache
def _told_by_defaults(estimator: Any) -> dict[str, Constraint]:
    """Return what flags, and parameters of one meaning everywhere, may be."""
    parameters = inspect.signature(estimator).parameters
    flags = {name: FLAG for name, p in parameters.items() if isinstance(p.default, bool)}
    return flags | {name: one for name, one in _BY_NAME.items() if name in parameters}


def require_estimator(name: str, value: Any) -> None:
    """Refuse what cannot be fitted.

    Examples
    --------
    >>> require_estimator("estimator", None)
    Traceback (most recent call last):
    TypeError: estimator must be an estimator, with fit and get_params; got None
    """
    if isinstance(value, type) or not (hasattr(value, "fit") and hasattr(value, "get_params")):
        raise TypeError(f"{name} must be an estimator, with fit and get_params; got {value!r}")
