"""Conditional probability tables, p(target | given): one distribution for each value of given."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, Self

import numpy as np

from posteriori.distributions.counts.categorical import Categorical
from posteriori.factors import Factor
from posteriori.factors.axes import Label, Names, as_names
from posteriori.numerics.types import Array
from posteriori.tables.table_query import parse_assignment

if TYPE_CHECKING:
    from posteriori.tables.joint_table import JointTable

__all__ = ["ConditionalTable"]

_SUM_TOLERANCE = 1e-6


class ConditionalTable:
    """A table of conditional probabilities p(target | given).

    Parameters
    ----------
    target : str or iterable of str
        What the probabilities are of.
    given : str or iterable of str
        What they depend on; () makes an unconditional distribution.
    probabilities : array_like
        Axes of ``given`` first, then those of ``target``; sums over the latter are 1 within 1e-6
        and are renormalised.
    labels : mapping or sequence, optional
        Labels of each axis; 0, …, K−1 where not given.

    Examples
    --------
    >>> test = ConditionalTable("T", given="D", probabilities=[[0.85, 0.15], [0.05, 0.95]])
    >>> test.at("D=1")
    Categorical([0.05, 0.95], labels=(0, 1))
    >>> test
    p(T | D)
    D  T  probability
    0  0  0.85
    0  1  0.15
    1  0  0.05
    1  1  0.95
    """

    factor: Factor
    target: tuple[str, ...]
    given: tuple[str, ...]

    def __init__(
        self,
        target: Names,
        given: Names = (),
        probabilities: Any = None,
        labels: Mapping[str, Iterable[Label]] | Sequence[Iterable[Label] | None] | None = None,
    ) -> None:
        targets, known = as_names(target, "target"), as_names(given, "given")
        if not targets:
            raise ValueError("target needs at least one name")
        if probabilities is None:
            raise TypeError("ConditionalTable needs probabilities")
        factor = Factor((*known, *targets), probabilities, labels)
        sums = factor.marginal(known)
        wrong = np.abs(np.asarray(sums.values) - 1.0) > _SUM_TOLERANCE
        if wrong.any():
            at = np.argwhere(wrong)[0]
            row = ", ".join(f"{n}={sums.labels[n][i]!r}" for n, i in zip(known, at, strict=True))
            raise ValueError(
                f"probabilities of {', '.join(targets)} must sum to 1 (tolerance "
                f"{_SUM_TOLERANCE:g}){' for ' + row if row else ''}, got a sum of "
                f"{float(sums.values[tuple(at)]):.10g}"
            )
        self.__dict__.update(factor=factor / sums, target=targets, given=known)

    @classmethod
    def _of(cls, factor: Factor, target: tuple[str, ...], given: tuple[str, ...]) -> Self:
        """Wrap p(target | given); cells where given cannot happen are 0."""
        self = object.__new__(cls)
        self.__dict__.update(factor=factor.transpose((*given, *target)), target=target, given=given)
        return self

    @property
    def probabilities(self) -> Array:
        """The table: axes of given, then of target."""
        return self.factor.values

    @property
    def labels(self) -> dict[str, tuple[Label, ...]]:
        """Labels of each axis, by name."""
        return self.factor.labels

    def at(self, given: str | Mapping[str, Label]) -> Categorical | JointTable:
        """Return the distribution of the target for one value of each name in ``given``.

        A Categorical for one target, a JointTable for several.
        """
        from posteriori.tables.joint_table import as_distribution

        known = parse_assignment(given, self.labels)
        for name in self.given:
            if name not in known:
                raise ValueError(f"no value is given for {name!r}")
        row = self.factor.reduce(known)
        if row.log_total == -np.inf:
            where = ", ".join(f"{name}={label}" for name, label in known.items())
            raise ValueError(f"{where} has probability 0: nothing follows from it")
        return as_distribution(row)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ConditionalTable):
            return NotImplemented
        same = set(self.target) == set(other.target) and set(self.given) == set(other.given)
        return same and self.factor == other.factor

    def __hash__(self) -> int:
        return hash((frozenset(self.target), frozenset(self.given), self.factor))

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        raise AttributeError(f"a ConditionalTable is a value: make a new one to set {name}")

    def __repr__(self) -> str:
        bar = f" | {', '.join(self.given)}" if self.given else ""
        return f"p({', '.join(self.target)}{bar})\n{self.factor._table('probability')}"
