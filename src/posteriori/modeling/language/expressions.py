"""The words of the model language: variables, inputs, constants and what one does with them.

An expression has no shape and no value; it is a tree that :mod:`posteriori.modeling.binding.binder` turns
into arrays once data arrive.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import reduce
from typing import Any, NoReturn

import numpy as np

from posteriori.distributions.unknown import Conditional
from posteriori.numerics.lazy import special
from posteriori.numerics.logspace import softmax
from posteriori.numerics.symbol import Symbol
from posteriori.numerics.validation import as_observation

__all__ = [
    "Applied",
    "Constant",
    "Expression",
    "Input",
    "Operation",
    "Variable",
    "as_expression",
    "dot",
    "take",
]

_WORDS = (
    "variables can be added, subtracted, multiplied, divided by known numbers, joined by @ and dot(), "
    "indexed by [] and take()"
)

_NO_FRAMES = "data frames cannot stand in a model: use .to_numpy()"

#: What NumPy calls when an array stands on the left of an operator.
_OPERATORS: dict[Any, Callable[..., Any]] = {
    np.add: operator.add,
    np.subtract: operator.sub,
    np.multiply: operator.mul,
    np.divide: operator.truediv,
    np.matmul: operator.matmul,
    np.negative: operator.neg,
    np.positive: operator.pos,
}

_COMPARISONS = (np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal)

#: What arrays have and newcomers ask expressions for, and what to write instead.
_OF_ARRAYS = {
    "T": "write the sum with the axes as they are, or declare the variable transposed",
    "dot": "write dot(a, b) or a @ b",
    "mean": "write dot(np.full(n, 1 / n), x)",
    "ndim": "its shape is known when data arrive",
    "shape": "its shape is known when data arrive",
    "size": "its size is known when data arrive",
    "sum": "write dot(np.ones(n), x)",
}


class Expression(Symbol):
    """Something that a parameter may be made of."""

    #: Lets SciPy's sparse matrices leave ``matrix @ expression`` to the expression.
    __array_priority__ = 1000

    def condition(self, family: type, parameters: Mapping[str, Any]) -> Conditional:
        """Return the conditional distribution whose parameters contain this expression."""
        return Conditional(family, dict(parameters))

    def __add__(self, other: Any) -> Expression:
        return Operation("add", (self, as_expression(other)))

    def __radd__(self, other: Any) -> Expression:
        return Operation("add", (as_expression(other), self))

    def __sub__(self, other: Any) -> Expression:
        return Operation("add", (self, -as_expression(other)))

    def __rsub__(self, other: Any) -> Expression:
        return Operation("add", (as_expression(other), -self))

    def __neg__(self) -> Expression:
        return Operation("multiply", (Constant(-1.0), self))

    def __mul__(self, other: Any) -> Expression:
        return Operation("multiply", (self, as_expression(other)))

    def __rmul__(self, other: Any) -> Expression:
        return Operation("multiply", (as_expression(other), self))

    def __pos__(self) -> Expression:
        return self

    def __truediv__(self, other: Any) -> Expression:
        divisor = as_expression(other)
        if not isinstance(divisor, Constant):
            raise TypeError(
                f"{self!r} / {divisor!r} has no closed form: only known numbers can divide; let a "
                "variable of its own stand for the inverse, as a precision does for a variance"
            )
        if np.any(divisor.dense() == 0.0):
            raise ZeroDivisionError(f"{self!r} is divided by 0")
        return Operation("multiply", (Constant(1.0 / divisor.value), self))

    def __rtruediv__(self, other: Any) -> Expression:
        return as_expression(other) / self

    def __matmul__(self, other: Any) -> Expression:
        return Operation("matmul", (self, as_expression(other)))

    def __rmatmul__(self, other: Any) -> Expression:
        return Operation("matmul", (as_expression(other), self))

    def __getitem__(self, index: Any) -> Expression:
        return Operation("index", (self,), index if isinstance(index, tuple) else (index,))

    # -- NumPy -----------------------------------------------------------------------------

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        """Let ``array @ expression`` be an expression; refuse what has no closed form."""
        if _is_called_from("pandas"):
            raise TypeError(_NO_FRAMES)
        if ufunc in _COMPARISONS:
            return self == inputs
        apply = _OPERATORS.get(ufunc)
        if apply is None or method != "__call__" or options:
            call = ufunc.__name__ if method == "__call__" else f"{ufunc.__name__}.{method}"
            raise TypeError(f"np.{call} cannot be applied to {self!r}: {_WORDS}")
        return apply(*map(as_expression, inputs))

    def __array_function__(self, function: Any, types: Any, given: Any, options: Any) -> NoReturn:
        raise TypeError(f"np.{function.__name__} cannot be applied to {self!r}: {_WORDS}")

    # -- what has no closed form -----------------------------------------------------------

    def __pow__(self, other: Any) -> NoReturn:
        raise TypeError(f"{self!r} ** {other!r} has no closed form: {_WORDS}")

    def __rpow__(self, other: Any) -> NoReturn:
        raise TypeError(f"{other!r} ** {self!r} has no closed form: {_WORDS}")

    def __abs__(self) -> NoReturn:
        raise TypeError(f"abs({self!r}) has no closed form: {_WORDS}")

    def __getattr__(self, name: str) -> Any:
        if name in _OF_ARRAYS:
            raise AttributeError(f"{self!r} has no .{name}: {_OF_ARRAYS[name]}")
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    # -- what Python would do in silence ---------------------------------------------------

    def __eq__(self, other: object) -> NoReturn:  # type: ignore[override]
        raise TypeError(
            f"{self!r} has no value yet, so == cannot compare it; give observations to infer()"
        )

    def __lt__(self, other: object) -> NoReturn:
        raise TypeError(
            f"{self!r} has no value yet, so < and > cannot compare it; give observations to infer()"
        )

    __le__ = __gt__ = __ge__ = __lt__

    __hash__ = object.__hash__

    def __bool__(self) -> NoReturn:
        raise TypeError(
            f"{self!r} has no value yet: it cannot decide an if, and, or; "
            "use a Categorical variable and take() to switch between cases"
        )

    def __iter__(self) -> Iterator[Any]:
        if _is_called_from("pandas"):
            raise TypeError(_NO_FRAMES)
        raise TypeError(f"{self!r} cannot be iterated: its size is unknown until data arrive")

    def __len__(self) -> int:
        raise TypeError(f"{self!r} has no length until data arrive")

    def __float__(self) -> float:
        raise TypeError(f"{self!r} has no value yet; infer() or simulate() give it one")

    def __index__(self) -> int:
        raise TypeError(
            f"{self!r} cannot index a list: it has no value yet; write take(list, {self!r})"
        )

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        # NumPy asks for it when an array is indexed; what __index__ says it keeps to itself.
        # SciPy asks for it in sparse @ expression, and leaves that to us if it gets an object.
        if _is_called_from("scipy.sparse"):
            alone = np.empty((), dtype=object)
            alone[()] = self
            return alone
        if _is_called_from("pandas"):
            raise TypeError(_NO_FRAMES)
        raise TypeError(
            f"{self!r} has no value yet, so it is no array and cannot index one; "
            f"write take(array, {self!r}) instead of array[{self!r}]"
        )


def _is_called_from(package: str) -> bool:
    """Tell whether the caller of a method is code of another package."""
    name: str = sys._getframe(2).f_globals.get("__name__", "")
    return name.startswith(package)


class Constant(Expression):
    """A known number or array, dense or sparse."""

    def __init__(self, value: Any) -> None:
        self.value: Any = value if hasattr(value, "tocsr") else as_observation(value, "constant")

    def dense(self) -> Any:
        """Return the value as an array."""
        return self.value.toarray() if hasattr(self.value, "tocsr") else self.value

    def __repr__(self) -> str:
        return f"Constant{self.value.shape}" if self.value.ndim else f"{float(self.value):g}"


class Input(Expression):
    """A quantity that is known and given with the data: ``m.X = Input()``.

    Parameters
    ----------
    *plates : str
        Named plates that the leading axes of its array belong to, such as the length of a chain.
    """

    def __init__(self, *plates: str) -> None:
        for plate in plates:
            if not isinstance(plate, str):
                raise TypeError(f"Input takes names of plates, got {plate!r}")
        self.plates = plates
        self.name: str | None = None

    def __repr__(self) -> str:
        return self.name or "Input()"


class Variable(Expression):
    """A random variable of a model.

    Attributes
    ----------
    family, parameters, plates
        Of its prior; of the first member, for a chain.
    length : int, str or None
        Of a chain.
    step : Conditional or None
        How a chain's next member depends on the previous one.
    order : int
        Of a chain: on how many earlier ones.
    labels : tuple or None
        Names of the categories of a categorical variable.
    """

    def __init__(
        self,
        name: str,
        prior: Any,
        length: int | str | None = None,
        step: Conditional | None = None,
        order: int = 1,
    ) -> None:
        self.name = name
        self.length = length
        self.order = order
        self.step = step and step._replace(parameters=_without_labels(step.parameters))
        conditional = isinstance(prior, Conditional)
        self.family = prior.family if conditional else type(prior)
        given = prior.parameters if conditional else prior._given_parameters()
        self.labels = given.get("labels") if conditional else getattr(prior, "_labels", None)
        self.parameters = _without_labels(given)
        self.plates: tuple[int | str, ...] = prior.plates if conditional else ()

    def __repr__(self) -> str:
        return self.name


class Operation(Expression):
    """An operation on expressions.

    Attributes
    ----------
    kind : {"add", "multiply", "matmul", "index", "take", "dot", "apply"}
    arguments : tuple of Expression
    index : tuple
        What stands between the brackets, for "index".
    """

    def __init__(self, kind: str, arguments: tuple[Expression, ...], index: tuple[Any, ...] = ()):
        self.kind = kind
        self.arguments = arguments
        self.index = index

    def __repr__(self) -> str:
        return _written(self, 20)


class Applied(Operation):
    """A known function of a known quantity, evaluated when data arrive.

    Attributes
    ----------
    function : callable
        From an array to an array.
    """

    def __init__(self, function: Callable[[Any], Any], argument: Expression):
        super().__init__("apply", (argument,))
        self.function = function


def _written(item: Any, depth: int) -> str:
    """Write an expression down, with … for what lies too deep."""
    if not isinstance(item, Operation):
        return repr(item)
    if not depth:
        return "…"
    parts = [_written(argument, depth - 1) for argument in item.arguments]
    signs = {"add": " + ", "multiply": " * ", "matmul": " @ "}
    if item.kind in signs:
        return f"({signs[item.kind].join(parts)})"
    if item.kind == "index":
        return f"{parts[0]}[{', '.join(_written(i, depth - 1) for i in item.index)}]"
    return f"{item.kind}({', '.join(parts)})"


def _without_labels(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the density depends on, in the form that constructors take."""
    found = {key: value for key, value in parameters.items() if key != "labels"}
    if "log_weights" in found:
        found["probabilities"] = softmax(found.pop("log_weights"))
    if "log_odds" in found:
        found["probability"] = special.expit(found.pop("log_odds"))
    return found


def as_expression(value: Any) -> Expression:
    """Wrap numbers and arrays; refuse what cannot be part of a model."""
    if isinstance(value, Expression):
        return value
    if type(value).__module__.partition(".")[0] in ("pandas", "polars"):
        raise TypeError(_NO_FRAMES)
    return Constant(value)


def take(table: Any, index: Any) -> Expression:
    """Index the first axis of a table by a variable: ``take(means, m.z)``.

    Parameters
    ----------
    table : array (K, ...), expression, or list of numbers and expressions
        One row for each value of the index: ``take([0.0, m.p], m.z)``.
    index : variable
        A Categorical or Bernoulli variable, or known codes. Its axes are rows that one more
        index passes by: ``take(take(table, m.a), m.b)`` reads the row of a and the column of b.
    """
    if isinstance(table, list | tuple) and any(isinstance(row, Expression) for row in table):
        return _take_among(table, index)
    return Operation("take", (as_expression(table), as_expression(index)))


def _take_among(rows: Sequence[Any], index: Any) -> Expression:
    """Return Σ_k 1[index = k] row_k of rows of which some are unknown; the numbers are one table."""
    known = [np.asarray(row, dtype=np.float64) for row in rows if not isinstance(row, Expression)]
    shapes = {row.shape for row in known}
    if len(shapes) > 1:
        raise ValueError(f"the rows of a list to take from must have one shape, got {shapes}")
    nothing = np.zeros(shapes.pop() if shapes else ())
    numbers = [nothing if isinstance(row, Expression) else row for row in rows]
    found = [take(np.array(numbers), index)] if np.any(numbers) else []
    for k, row in enumerate(rows):
        if isinstance(row, Expression):
            found.append(take(np.eye(len(rows))[k], index) * row)
    return reduce(operator.add, found)


def dot(a: Any, b: Any) -> Expression:
    """Return the inner product of two vectors, Σ a_i b_i on the last axis."""
    return Operation("dot", (as_expression(a), as_expression(b)))
