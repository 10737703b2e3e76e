"""Likelihoods with an unknown parameter, written as ordinary functions.

``bayes(prior, lambda x: MvNormal(A @ x + b, cov=R), data)`` calls the function once with an
:class:`Unknown` in place of x. The unknown remembers the affine map that it went through, and the
constructor it ends up in returns a :class:`Conditional` instead of a distribution.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from posteriori.numerics.symbol import Symbol
from posteriori.numerics.types import Array
from posteriori.numerics.validation import as_observation

__all__ = ["Conditional", "Unknown", "trace_likelihood"]


class Conditional(NamedTuple):
    """A family with some parameters unknown: p(x | θ).

    Attributes
    ----------
    family : type
        The likelihood's family.
    parameters : mapping
        Its arguments by name; the unknown ones are symbols.
    plates : tuple of int or str
        Repetitions by :meth:`iid`: array axes of known length, or names of plates.
    """

    family: Any
    parameters: Mapping[str, Any]
    plates: tuple[int | str, ...] = ()

    def iid(self, n: int | str) -> Conditional:
        """Repeat independently: ``iid(5)`` prepends an array axis, ``iid("n")`` a named plate."""
        return self._replace(plates=(check_plate(n), *self.plates))

    @property
    def unknown(self) -> dict[str, Unknown]:
        """The unknown parameters by name, in the order of the function's arguments."""
        found = {n: v for n, v in self.parameters.items() if isinstance(v, Unknown)}
        return dict(sorted(found.items(), key=lambda item: item[1].index))

    @property
    def known(self) -> dict[str, Array]:
        """The known parameters by name."""
        return {n: v for n, v in self.parameters.items() if not isinstance(v, Unknown)}

    def at(self, *theta: Any) -> Any:
        """Return the distribution at given values of the unknowns."""
        values = {
            name: value.evaluate(theta[value.index]) if isinstance(value, Unknown) else value
            for name, value in self.parameters.items()
        }
        return self.family(**values)


def check_plate(n: Any, argument: str = "n") -> int | str:
    """Check what :meth:`iid` takes: a whole number >= 1, or a name."""
    if isinstance(n, str) and n.isidentifier():
        return n
    if isinstance(n, (int, np.integer)) and not isinstance(n, bool) and n >= 1:
        return int(n)
    raise ValueError(f"{argument} must be a whole number >= 1 or the name of a plate, got {n!r}")


class Unknown(Symbol):
    """An unknown θ after an affine map: ``matrix @ (factor * θ) + offset``.

    Parameters
    ----------
    index : int
        Which argument of the likelihood function it stands for.
    """

    __slots__ = ("factor", "index", "matrix", "offset")

    def __init__(
        self,
        index: int = 0,
        *,
        factor: Array | None = None,
        matrix: Array | None = None,
        offset: Array | None = None,
    ) -> None:
        self.index = index
        self.factor = factor
        self.matrix = matrix
        self.offset = offset

    @property
    def is_plain(self) -> bool:
        """Whether no map was applied."""
        return self.factor is None and self.matrix is None and self.offset is None

    def condition(self, family: type, parameters: Mapping[str, Any]) -> Conditional:
        """Return the conditional that a constructor makes of this unknown."""
        return Conditional(family, dict(parameters))

    def evaluate(self, theta: Any) -> Any:
        """Apply the affine map to a value of θ."""
        value = theta if self.factor is None else self.factor * theta
        if self.matrix is not None:
            value = np.matmul(self.matrix, np.asarray(value)[..., None])[..., 0]
        return value if self.offset is None else value + self.offset

    def __add__(self, other: Any) -> Unknown:
        shift = _constant(other)
        offset = shift if self.offset is None else self.offset + shift
        return Unknown(self.index, factor=self.factor, matrix=self.matrix, offset=offset)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Unknown:
        return self + (-_constant(other))

    def __rsub__(self, other: Any) -> Unknown:
        return (-self) + other

    def __neg__(self) -> Unknown:
        return self * -1.0

    def __mul__(self, other: Any) -> Unknown:
        gain = _constant(other)
        offset = None if self.offset is None else self.offset * gain
        if self.matrix is not None:
            matrix = np.asarray(gain)[..., None] * self.matrix
            return Unknown(self.index, factor=self.factor, matrix=matrix, offset=offset)
        factor = gain if self.factor is None else self.factor * gain
        return Unknown(self.index, factor=factor, offset=offset)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Unknown:
        return self * (1.0 / _constant(other))

    def __rmatmul__(self, other: Any) -> Unknown:
        matrix = _constant(other)
        if matrix.ndim < 1:
            raise TypeError("the left side of @ must be a vector or a matrix")
        offset = None if self.offset is None else np.matmul(matrix, self.offset)
        if self.matrix is not None:
            return Unknown(
                self.index, factor=self.factor, matrix=matrix @ self.matrix, offset=offset
            )
        scaled = matrix if self.factor is None else matrix * self.factor
        return Unknown(self.index, matrix=scaled, offset=offset)

    def __bool__(self) -> bool:
        raise TypeError("the value is unknown: it cannot decide an `if`")

    def __repr__(self) -> str:
        return f"Unknown({self.index})"


def trace_likelihood(function: Callable[..., Any]) -> Conditional:
    """Call a likelihood function with unknowns and return the conditional it makes."""
    count = len(inspect.signature(function).parameters)
    made = function(*(Unknown(i) for i in range(count)))
    if not isinstance(made, Conditional):
        raise TypeError(
            "the likelihood function must return a distribution that depends on its argument, "
            f"such as lambda mu: Normal(mu, variance=1.0); got {made!r}"
        )
    return made


def _constant(value: Any) -> Array:
    if isinstance(value, Symbol):
        raise TypeError("only sums and products with known numbers are conjugate")
    return as_observation(value, "operand of the unknown")
