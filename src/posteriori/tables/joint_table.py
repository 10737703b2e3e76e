r"""Joint and conditional tables: the whole of discrete probability, by two rules.

The sum rule :math:`p(x) = \sum_y p(x, y)` and the product rule :math:`p(x, y) = p(y|x)\,p(x)`
answer every question, :math:`p(x|z) = \sum_y p(x,y,z) \big/ \sum_{x,y} p(x,y,z)`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NoReturn, Self

import numpy as np

from posteriori.distributions.counts.categorical import Categorical
from posteriori.factors import Factor
from posteriori.factors.axes import Label, Names, as_names
from posteriori.numerics.types import Array
from posteriori.numerics.validation import SUM_TOLERANCE, hint, nonnegative
from posteriori.tables.derivation import Step, assume, symbol
from posteriori.tables.probability_table import some_names
from posteriori.tables.queried_table import QueriedTable
from posteriori.tables.table_data import count_rows
from posteriori.tables.table_query import parse_assignment

__all__ = ["ConditionalTable", "JointTable"]

Labels = Mapping[str, Iterable[Label]] | Sequence[Iterable[Label] | None] | None


class JointTable(QueriedTable):
    """A joint distribution of discrete variables, one probability per cell.

    Parameters
    ----------
    names : str or iterable of str
        One name per axis.
    probabilities : array_like
        The cells: not negative, with sum 1 within 1e-6; they are renormalised.
    labels : mapping or sequence, optional
        Labels of each axis, by name or in order; 0, …, K−1 where not given.

    Examples
    --------
    Diagnosis: 1 % are ill (D=1); the test is positive (T=1) for 95 % of these, and for 15 % of the
    healthy.

    >>> t = JointTable(["D", "T"], [[0.99 * 0.85, 0.99 * 0.15], [0.01 * 0.05, 0.01 * 0.95]])
    >>> [round(float(p), 10) for p in t.query("D | T=1").probabilities]
    [0.9398734177, 0.0601265823]
    >>> round(t.evidence("T=1"), 10), round(t.query("D=1 | T=0"), 8)
    (0.158, 0.00059382)
    >>> t
    JointTable over D, T
    D  T  probability
    0  0  0.8415
    0  1  0.1485
    1  0  0.0005
    1  1  0.0095

    A bag holds one ball, white or black; a white one is added, and a white one is drawn. The next
    is white with probability 2/3:

    >>> colours = ["white", "black"]
    >>> bag = JointTable(["unknown", "drawn"], [[0.5, 0.0], [0.25, 0.25]], [colours, colours])
    >>> round(bag.query("unknown=white | drawn=white"), 12)
    0.666666666667

    Five red and seven green balls, drawn without putting them back: what comes later tells about
    what came first.

    >>> urn = JointTable.from_conditionals(
    ...     ConditionalTable("first", (), [5 / 12, 7 / 12], [["red", "green"]]),
    ...     ConditionalTable(
    ...         "second", "first", [[4 / 11, 7 / 11], [5 / 11, 6 / 11]], [["red", "green"]] * 2
    ...     ),
    ... )
    >>> round(urn.query("first=red") * 12, 12)
    5.0
    >>> round(urn.query("first=red | second=green") * 11, 12)
    5.0
    """

    def __init__(self, names: Names, probabilities: Any, labels: Labels = None) -> None:
        factor = Factor(names, probabilities, labels)
        total = float(np.exp(factor.log_total))
        if not abs(total - 1.0) <= SUM_TOLERANCE:
            raise ValueError(
                f"probabilities must sum to 1 (tolerance {SUM_TOLERANCE:g}), got a sum of "
                f"{total:.10g}; JointTable.from_factor normalises any table"
            )
        self.__dict__.update(factor=factor.normalize().factor, _origin=())

    @classmethod
    def from_conditionals(cls, *tables: ConditionalTable | JointTable) -> Self:
        """Multiply a chain p(A), p(B | A), p(C | A, B), … by the product rule.

        A table that is conditioned on only some of the variables before it states an assumption:
        that the others would not change it. :meth:`query` lists these in its derivation.

        Examples
        --------
        >>> rain = ConditionalTable("rain", (), [0.8, 0.2])
        >>> wet = ConditionalTable("wet", "rain", [[0.9, 0.1], [0.1, 0.9]])
        >>> round(JointTable.from_conditionals(rain, wet).query("rain=1 | wet=1"), 6)
        0.692308
        """
        if not tables:
            raise ValueError("from_conditionals needs at least one table")
        product = Factor.scalar(1.0)
        steps: list[Step] = []
        for table in tables:
            target, given = _scopes(table)
            for name in given:
                if name not in product.names:
                    raise ValueError(
                        f"p({', '.join(target)} | {', '.join(given)}) comes before a table of "
                        f"{name!r}; order the tables so that causes come first"
                        f"{hint(name, product.names)}"
                    )
            for name in target:
                if name in product.names:
                    raise ValueError(f"two tables give the distribution of {name!r}")
            steps += assume(target, given, product.names)
            product = product * table.factor
        rule = " ".join(symbol(*_scopes(table)) for table in tables)
        steps.append(Step("p", f"p({', '.join(product.names)}) = {rule}"))
        return cls._of(product.normalize().factor, tuple(steps))

    @classmethod
    def from_data(
        cls,
        data: Any,
        names: Names | None = None,
        *,
        labels: Mapping[str, Iterable[Label]] | None = None,
        weights: Any = None,
        pseudocount: float = 0.0,
    ) -> Self:
        """Estimate the table from rows by counting.

        Parameters
        ----------
        data : mapping of columns, pandas or polars frame, or array (N, D) with ``names``
            One row per observation.
        names : iterable of str, optional
            Which columns to use, or the names of the columns of an array.
        labels : mapping, optional
            Labels that can occur, by name; by default those that do, in sorted order.
        weights : array_like (N,), optional
            Frequency weights: a weight of 2 equals a repeated row.
        pseudocount : float
            Added to every cell, so that what was not seen is not impossible.

        Examples
        --------
        >>> JointTable.from_data({"A": ["x", "y", "y", "x"], "B": [0, 1, 1, 1]}).query("B | A=x")
        Categorical([0.5, 0.5], labels=(0, 1))
        """
        return cls.from_factor(count_rows(data, names, labels, weights, pseudocount))

    # -- the rules of probability ----------------------------------------------------------

    def conditional(self, target: Names, given: Names) -> ConditionalTable:
        """Return p(target | given) for every value of ``given``.

        Rows of ``given`` that cannot happen hold zeros.

        Examples
        --------
        >>> from posteriori.tables import diagnostic_test
        >>> t = diagnostic_test(prevalence=0.01, sensitivity=0.95, specificity=0.85)
        >>> t.conditional("T", given="D").probabilities.round(12)
        array([[0.85, 0.15],
               [0.05, 0.95]])
        >>> (t.conditional("T", given="D") * t.marginal("D")).factor.allclose(t.factor)
        True
        """
        targets, known = some_names(target, "target"), as_names(given, "given")
        return ConditionalTable._of(self._conditional(targets, known), targets, known)

    def __mul__(self, other: object) -> JointTable:
        """Apply the product rule: p(A) · p(B | A) = p(A, B)."""
        if not isinstance(other, ConditionalTable):
            return NotImplemented
        return JointTable.from_conditionals(self, other)

    __rmul__ = __mul__

    # -- being a value ---------------------------------------------------------------------

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, JointTable):
            return NotImplemented
        return self.factor == other.factor

    def __hash__(self) -> int:
        return hash(("JointTable", self.factor))

    def __reduce__(self) -> tuple[Any, ...]:
        return JointTable._of, (self.factor, self._origin)

    def __repr__(self) -> str:
        return f"JointTable over {', '.join(self.names)}\n{self.factor._table('probability')}"


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
        and are renormalised, if they differ from 1 by more than rounding.
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
        cells = nonnegative(f"probabilities of {', '.join(targets)}", probabilities)
        factor = Factor((*known, *targets), cells, labels)
        self.__dict__.update(
            factor=_with_sums_of_one(factor, targets, known), target=targets, given=known
        )

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
        known = parse_assignment(given, self.labels)
        for name in self.given:
            if name not in known:
                raise ValueError(f"no value is given for {name!r}")
        row = self.factor.reduce(known)
        if row.log_total == -np.inf:
            where = ", ".join(f"{name}={label}" for name, label in known.items())
            raise ValueError(f"{where} has probability 0: nothing follows from it")
        return JointTable._distribution(row)

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


def _scopes(table: ConditionalTable | JointTable) -> tuple[tuple[str, ...], tuple[str, ...]]:
    if isinstance(table, ConditionalTable):
        return table.target, table.given
    if isinstance(table, JointTable):
        return table.names, ()
    raise TypeError(
        f"from_conditionals takes ConditionalTable and JointTable, got {type(table).__name__}"
    )


def _with_sums_of_one(factor: Factor, target: tuple[str, ...], given: tuple[str, ...]) -> Factor:
    """Divide p(target | given) by its sums, but where these are 1 up to rounding: digits stay as they are."""
    cells = factor.values
    totals = np.asarray(cells.sum(axis=tuple(range(len(given), cells.ndim))))
    gaps = np.abs(totals - 1.0)
    if (gaps > SUM_TOLERANCE).any():
        at = np.argwhere(gaps > SUM_TOLERANCE)[0]
        row = ", ".join(f"{n}={factor.labels[n][i]!r}" for n, i in zip(given, at, strict=True))
        raise ValueError(
            f"probabilities of {', '.join(target)} must sum to 1 (tolerance "
            f"{SUM_TOLERANCE:g}){' for ' + row if row else ''}, got a sum of "
            f"{float(totals[tuple(at)]):.10g}"
        )
    rounding = cells.size // totals.size * np.finfo(float).eps
    if (gaps <= rounding).all():
        return factor
    labels = [factor.labels[name] for name in given]
    return factor / Factor(given, np.where(gaps <= rounding, 1.0, totals), labels)
