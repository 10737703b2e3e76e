"""Variables that follow one another: chains."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from posteriori.distributions.base import Distribution
from posteriori.distributions.unknown import Conditional, check_plate
from posteriori.modeling.language.expressions import Expression

__all__ = ["Chain", "Previous"]


class Chain:
    """A sequence whose next member depends on the one before it.

    Parameters
    ----------
    initial : distribution
        Of the first member.
    step : callable
        From the previous member to the distribution of the next. Inputs and variables on the
        chain's plate are read at the time of arrival.
    length : int or str
        Number of members, which are then the first array axis after the named plates
        (``m.z[4]``, ``m.z[2:]``), or the name of a plate, which is then the first of all and
        takes its size from the data.

    Examples
    --------
    >>> from posteriori import Normal
    >>> Chain(Normal(0.0, variance=1.0), lambda s: Normal(s, variance=0.1), length="t")
    Chain(Normal, length='t')
    """

    def __init__(self, initial: Any, step: Callable[[Any], Any], length: int | str) -> None:
        if not isinstance(initial, (Distribution, Conditional)):
            raise TypeError(f"initial must be a distribution, got {initial!r}")
        if not callable(step):
            raise TypeError("step must be a function of the previous member")
        self.initial = initial
        self.step = step
        self.length = check_plate(length, "length")

    def __repr__(self) -> str:
        family = (
            self.initial.family if isinstance(self.initial, Conditional) else type(self.initial)
        )
        return f"Chain({family.__name__}, length={self.length!r})"


class Previous(Expression):
    """The member of a chain before the one that a step function describes."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"previous {self.name}"


def trace_step(chain: Chain, name: str) -> Conditional:
    """Call the step function once and return the conditional it makes."""
    made = chain.step(Previous(name))
    if isinstance(made, Distribution):  # members that do not depend on one another
        made = Conditional(type(made), made._given_parameters())
    if not isinstance(made, Conditional):
        raise TypeError(f"the step function of {name} must return a distribution, got {made!r}")
    return made
