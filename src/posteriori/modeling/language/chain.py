"""Variables that follow one another: chains."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from posteriori.distributions.base import Distribution
from posteriori.distributions.numbers.normal import Normal
from posteriori.distributions.unknown import Conditional, check_plate
from posteriori.modeling.language.expressions import Expression

__all__ = ["Autoregression", "Chain", "Previous"]


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

    #: Number of earlier members that a step depends on.
    order = 1

    def __init__(self, initial: Any, step: Callable[..., Any], length: int | str) -> None:
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
        return f"{type(self).__name__}({family.__name__}, length={self.length!r})"


class Autoregression(Chain):
    r"""A series of numbers each of which is a sum of those before it, and noise.

    .. math:: x_t = c + \varphi_1 x_{t-1} + \dots + \varphi_p x_{t-p} + N(0, \sigma^2)

    The series may be observed itself, with gaps or without, or be a state that is seen through
    noise, as any other variable; ``post.predict("x", t=12)`` continues it. A series without gaps is a
    regression on its own past, so that its coefficients may be many; under noise, or with gaps, they
    are integrated over where they are few.

    Parameters
    ----------
    initial : distribution
        Of each of the first p members, a normal one.
    coefficients : array (p,), unknown vector, or sequence of numbers and unknowns
        φ₁, …, φ_p, that of the member just before first.
    order : int, optional
        p. Only an unknown vector needs it, whose length is not known before there are data.
    offset : number or unknown
        c; the mean of the series is c/(1 − Σ φ_k), where it has one.
    variance, scale, precision : number or unknown
        Of the noise: one of them.
    length : int or str
        As for :class:`Chain`.

    Examples
    --------
    >>> from posteriori import Model, MvNormal, Normal
    >>> m = Model()
    >>> m.phi = MvNormal([0.0, 0.0], cov=[[1.0, 0.0], [0.0, 1.0]])
    >>> m.y = Autoregression(Normal(0.0, scale=5.0), m.phi, order=2, scale=0.1, length="t")
    >>> post = m.infer(y=[1.0, 1.5, 1.6, 1.4, 0.9, 0.4, 0.0, -0.2])
    >>> post.phi.mean.round(1)
    array([ 1.5, -0.7])
    """

    def __init__(
        self,
        initial: Any,
        coefficients: Any,
        *,
        order: int | None = None,
        offset: Any = 0.0,
        variance: Any = None,
        scale: Any = None,
        precision: Any = None,
        length: int | str,
    ) -> None:
        phi, self.order = _coefficients(coefficients, order)
        given = {"variance": variance, "scale": scale, "precision": precision}
        spread = {key: value for key, value in given.items() if value is not None}
        if len(spread) != 1:
            raise TypeError(
                "Autoregression takes the noise as one of variance=, scale= and precision=, "
                f"got {' and '.join(spread) or 'none'}"
            )

        def step(*previous: Any) -> Any:
            mean = sum((c * x for c, x in zip(phi, previous, strict=True)), start=0.0 + offset)
            return Normal(mean, **spread)

        super().__init__(initial, step, length)
        family = initial.family if isinstance(initial, Conditional) else type(initial)
        many = isinstance(initial, Distribution) and initial.batch_shape
        if family is not Normal or many:
            raise TypeError(
                f"initial must be one Normal, of each of the first members: {initial!r}"
            )


class Previous(Expression):
    """An earlier member of a chain than the one that a step function describes."""

    def __init__(self, name: str, lag: int = 1) -> None:
        self.name = name
        self.lag = lag

    def __repr__(self) -> str:
        return f"previous {self.name}" if self.lag == 1 else f"{self.name} {self.lag} before"


def trace_step(chain: Chain, name: str) -> Conditional:
    """Call the step function once and return the conditional it makes."""
    made = chain.step(*(Previous(name, lag) for lag in range(1, chain.order + 1)))
    if isinstance(made, Distribution):  # members that do not depend on one another
        made = Conditional(type(made), made._given_parameters())
    if not isinstance(made, Conditional):
        raise TypeError(f"the step function of {name} must return a distribution, got {made!r}")
    return made


def _coefficients(given: Any, order: int | None) -> tuple[list[Any], int]:
    """Return the coefficients one by one, and how many there are."""
    if order is not None and (not isinstance(order, int) or order < 1):
        raise ValueError(f"order must be a whole number above 0, got {order!r}")
    if isinstance(given, Expression):
        if order is None:
            raise ValueError(
                f"order says how many coefficients {given!r} has: Autoregression(..., order=2)"
            )
        return [given[k] for k in range(order)], order
    found = list(given) if isinstance(given, (list, tuple)) else list(np.atleast_1d(given))
    if not found or (order is not None and order != len(found)):
        raise ValueError(f"order is {order}, but there are {len(found)} coefficients")
    return found, len(found)
