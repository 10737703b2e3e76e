r"""Conditionals that need no table of all their parents: noisy or, softmax, functions.

:math:`p(y = 0 \mid x) = (1 - \lambda) \prod_{i : x_i = 1} (1 - q_i)` of a noisy or is a product over parents, so
that it is a chain of small tables, whatever their number.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np

from posteriori.factors import Factor
from posteriori.factors.axes import Label, Names, as_labels, as_names
from posteriori.numerics.types import Array
from posteriori.numerics.validation import real, real_vector
from posteriori.tables import ConditionalTable

__all__ = [
    "Conditional",
    "Deterministic",
    "LogisticConditional",
    "NoisyOr",
    "Piece",
    "factor_of",
    "pieces_of",
]

#: Labels of every variable.
Labels: TypeAlias = Mapping[str, tuple[Label, ...]]

#: More cells than this in the table of a softmax or of a function are refused.
_MOST_CELLS = 1 << 26


class Piece(NamedTuple):
    """A table over some variables; names other than the target and what is given are inner ones."""

    names: tuple[str, ...]
    cells: Array


class Conditional(Protocol):
    """What a network asks of the distribution of one variable given others.

    Attributes
    ----------
    target : tuple of str
        One name.
    given : tuple of str
    labels : mapping of str to tuple
        Of the target, and of those parents whose labels it knows.
    """

    @property
    def target(self) -> tuple[str, ...]: ...
    @property
    def given(self) -> tuple[str, ...]: ...
    @property
    def labels(self) -> Labels: ...

    def pieces(self, labels: Labels) -> list[Piece]:
        """Return tables whose product, inner variables summed out, is the conditional."""
        ...

    def count_parameters(self, labels: Labels) -> int:
        """Return how many numbers are free."""
        ...


class _Named:
    """A target, what it depends on, and labels."""

    target: tuple[str, ...]
    given: tuple[str, ...]
    labels: Labels

    def __init__(self, target: str, given: Names, labels: Mapping[str, Iterable[Label]]) -> None:
        self.target, self.given = as_names([target], "target"), as_names(given, "given")
        known = {name: tuple(states) for name, states in labels.items()}
        names, sizes = tuple(known), tuple(map(len, known.values()))
        self.labels = dict(zip(names, as_labels(names, sizes, known), strict=True))
        if target in self.given:
            raise ValueError(f"{target!r} cannot be given itself")

    def __repr__(self) -> str:
        bar = f" | {', '.join(self.given)}" if self.given else ""
        return f"{type(self).__name__}: p({self.target[0]}{bar})"


class NoisyOr(_Named):
    r"""An effect with several causes, each of which brings it about on its own.

    .. math:: p(y = \text{no} \mid x) = (1 - \lambda) \prod_{i : x_i \text{ present}} (1 - q_i)

    Parameters
    ----------
    target : str
        The effect, of two states: absent, present.
    given : str or iterable of str
        Causes. The first state of each is its absence; all others are its presence.
    probabilities : sequence of float
        :math:`q_i`, that cause i alone brings the effect about.
    leak : float
        λ, that the effect is there without any of them.
    labels : pair
        Of the effect.

    Examples
    --------
    >>> cough = NoisyOr("cough", ["cold", "asthma"], [0.6, 0.8], leak=0.1)
    >>> round(math.exp(cough.log_absent([True, True])), 12)  # 0.9 · 0.4 · 0.2
    0.072
    """

    def __init__(
        self,
        target: str,
        given: Names,
        probabilities: Sequence[float],
        leak: float = 0.0,
        labels: Iterable[Label] = (0, 1),
    ) -> None:
        super().__init__(target, given, {target: labels})
        states = self.labels[target]
        self.probabilities = tuple(map(float, probabilities))
        self.leak = float(leak)
        if len(states) != 2:
            raise ValueError(f"the effect {target!r} has two states, got labels {states}")
        if len(self.probabilities) != len(self.given):
            raise ValueError(
                f"{len(self.given)} causes of {target!r} need as many probabilities, got "
                f"{len(self.probabilities)}"
            )
        for name, q in zip((*self.given, "leak"), (*self.probabilities, self.leak), strict=True):
            if not 0.0 <= q <= 1.0:
                raise ValueError(f"the probability of {name} must be in [0, 1], got {q:g}")

    def log_absent(self, present: Sequence[bool]) -> float:
        """Return ln of the probability that the effect is absent."""
        absent = 1.0 - self.leak
        for there, q in zip(present, self.probabilities, strict=True):
            absent *= 1.0 - q if there else 1.0
        return math.log(absent) if absent > 0.0 else -math.inf

    def pieces(self, labels: Labels) -> list[Piece]:
        """Return a chain: whether any of the causes up to each has brought the effect about."""
        target = self.target[0]
        names = [*(f"after {name}" for name in self.given[:-1]), target]
        before, tables = None, []
        for i, (name, q) in enumerate(zip(self.given, self.probabilities, strict=True)):
            own = np.empty((len(labels[name]), 2, 2))
            own[:, 0] = [1.0 - q, q]
            own[0, 0] = [1.0, 0.0]
            own[:, 1] = [0.0, 1.0]
            if before is None:
                start = np.array([1.0 - self.leak, self.leak])
                tables.append(Piece((name, names[i]), np.einsum("b,xba->xa", start, own)))
            else:
                tables.append(Piece((name, before, names[i]), own))
            before = names[i]
        return tables or [Piece((target,), np.array([1.0 - self.leak, self.leak]))]

    def count_parameters(self, labels: Labels) -> int:
        """Return the number of causes, and one for the leak."""
        return len(self.given) + 1


class LogisticConditional(_Named):
    r"""Softmax of a line in the one-of-K codes of the parents.

    .. math:: p(y = k \mid x) \propto \exp\Big(b_k + \sum_i W^{(i)}_{k, x_i}\Big)

    Parameters
    ----------
    target : str
    given : str or iterable of str
    weights : sequence of arrays (K, K_i)
        For each parent, what each of its states adds to the logits of the target.
    bias : (K,)
    labels : mapping or sequence, optional
        Of the target, in order; or by name, also of the parents. They are 0, 1, … where not given.

    Examples
    --------
    >>> grade = LogisticConditional("grade", "effort", [[[0.0, -1.0], [0.0, 1.0]]], bias=[0.5, 0.0])
    >>> grade.pieces({"effort": (0, 1), "grade": (0, 1)})[0].cells.round(4)
    array([[0.6225, 0.3775],
           [0.1824, 0.8176]])
    """

    def __init__(
        self,
        target: str,
        given: Names,
        weights: Sequence[Any],
        bias: Any,
        labels: Mapping[str, Iterable[Label]] | Iterable[Label] | None = None,
    ) -> None:
        self.bias = real_vector("bias", bias)
        own = range(self.bias.size)
        known = dict(labels) if isinstance(labels, Mapping) else {target: labels or own}
        super().__init__(target, given, {target: own, **known})
        if len(self.labels[target]) != self.bias.size:
            raise ValueError(
                f"{target!r} has labels {self.labels[target]}, and bias has {self.bias.size} numbers"
            )
        self.weights = tuple(real("weights", w) for w in weights)
        if len(self.weights) != len(self.given):
            raise ValueError(
                f"{len(self.given)} parents of {target!r} need as many arrays of weights, got "
                f"{len(self.weights)}"
            )
        for name, w in zip(self.given, self.weights, strict=True):
            if w.ndim != 2 or w.shape[0] != self.bias.size:
                raise ValueError(
                    f"the weights of {name!r} must be ({self.bias.size}, states of {name!r}), got shape "
                    f"{w.shape}"
                )

    def pieces(self, labels: Labels) -> list[Piece]:
        """Return the whole table."""
        shape = [len(labels[name]) for name in self.given]
        _require_cells(self, [*shape, self.bias.size])
        logits = np.zeros((*shape, self.bias.size)) + self.bias
        for i, (name, w) in enumerate(zip(self.given, self.weights, strict=True)):
            if w.shape[1] != shape[i]:
                raise ValueError(
                    f"the weights of {name!r} are for {w.shape[1]} states; it has {shape[i]}"
                )
            logits += w.T.reshape([*(n if j == i else 1 for j, n in enumerate(shape)), -1])
        logits -= logits.max(axis=-1, keepdims=True)
        cells = np.exp(logits)
        return [Piece((*self.given, self.target[0]), cells / cells.sum(axis=-1, keepdims=True))]

    def count_parameters(self, labels: Labels) -> int:
        """Return the number of weights and biases; each parent and the target lose one state."""
        states = 1 + sum(len(labels[name]) - 1 for name in self.given)
        return states * (self.bias.size - 1)


class Deterministic(_Named):
    """A variable that is a function of its parents.

    Parameters
    ----------
    target : str
    given : str or iterable of str
    function : callable
        From labels of the parents, in order, to a label of the target.
    labels : iterable
        Of the target.

    Examples
    --------
    >>> Deterministic("xor", ["a", "b"], lambda a, b: a ^ b, labels=[0, 1])
    Deterministic: p(xor | a, b)
    """

    def __init__(
        self, target: str, given: Names, function: Callable[..., Label], labels: Iterable[Label]
    ) -> None:
        super().__init__(target, given, {target: tuple(labels)})
        self.function = function

    def pieces(self, labels: Labels) -> list[Piece]:
        """Return a table of ones and zeros."""
        states = self.labels[self.target[0]]
        shape = [len(labels[name]) for name in self.given]
        _require_cells(self, [*shape, len(states)])
        cells = np.zeros((math.prod(shape), len(states)))
        for row, values in enumerate(product(*(labels[name] for name in self.given))):
            found = self.function(*values)
            if found not in states:
                where = ", ".join(f"{n}={v}" for n, v in zip(self.given, values, strict=True))
                raise ValueError(
                    f"{self.target[0]!r} has no label {found!r}, which follows from {where}"
                )
            cells[row, states.index(found)] = 1.0
        return [Piece((*self.given, self.target[0]), cells.reshape(*shape, -1))]

    def count_parameters(self, labels: Labels) -> int:
        """Return 0: nothing is free."""
        return 0


def pieces_of(conditional: Conditional | ConditionalTable, labels: Labels) -> list[Piece]:
    """Return the tables of a conditional; inner variables have names that nothing else has."""
    own = (*conditional.given, *conditional.target)
    if isinstance(conditional, ConditionalTable):
        return [Piece(own, conditional.probabilities)]
    return [
        Piece(
            tuple(
                name if name in own else _inner_name(name, conditional.target[0], labels)
                for name in piece.names
            ),
            piece.cells,
        )
        for piece in conditional.pieces(labels)
    ]


def factor_of(piece: Piece, labels: Labels) -> Factor:
    """Return a piece as a factor; states of inner variables are numbered."""
    sizes = zip(piece.names, piece.cells.shape, strict=True)
    return Factor(
        piece.names, piece.cells, [labels.get(name, tuple(range(n))) for name, n in sizes]
    )


def _inner_name(name: str, target: str, labels: Labels) -> str:
    """Return a name that is no variable's, and no other conditional's: the quoted target ends it."""
    found = f"{name} of {target!r}"
    while found in labels:
        found += "′"
    return found


def _require_cells(conditional: _Named, shape: Sequence[int]) -> None:
    cells = math.prod(map(float, shape))
    if cells > _MOST_CELLS:
        raise MemoryError(
            f"{conditional!r} needs a table of {cells:.3g} cells; give it fewer parents, or use NoisyOr, "
            "which needs none"
        )
