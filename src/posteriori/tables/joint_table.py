r"""Joint tables: the whole of discrete probability on one table, by two rules.

The sum rule :math:`p(x) = \sum_y p(x, y)` and the product rule :math:`p(x, y) = p(y|x)\,p(x)`
answer every question, :math:`p(x|z) = \sum_y p(x,y,z) \big/ \sum_{x,y} p(x,y,z)`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, Literal, Self, overload

import numpy as np

from posteriori.distributions.counts.categorical import Categorical
from posteriori.distributions.labels import decode_labels
from posteriori.factors import Factor
from posteriori.factors.axes import Label, Names, as_names, hint
from posteriori.numerics.random import as_generator
from posteriori.numerics.types import Array, Seed
from posteriori.numerics.validation import probability as check_probability
from posteriori.tables.conditional_table import ConditionalTable
from posteriori.tables.derivation import Derivation, Step, assume, derive, symbol
from posteriori.tables.probability_table import ProbabilityTable, some_names
from posteriori.tables.table_data import count_rows
from posteriori.tables.table_query import parse_assignment, parse_query

__all__ = ["JointTable", "as_distribution", "diagnostic_test"]

Labels = Mapping[str, Iterable[Label]] | Sequence[Iterable[Label] | None] | None

_SUM_TOLERANCE = 1e-6


class JointTable(ProbabilityTable):
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

    _origin: tuple[Step, ...]

    def __init__(self, names: Names, probabilities: Any, labels: Labels = None) -> None:
        factor = Factor(names, probabilities, labels)
        total = float(np.exp(factor.log_total))
        if not abs(total - 1.0) <= _SUM_TOLERANCE:
            raise ValueError(
                f"probabilities must sum to 1 (tolerance {_SUM_TOLERANCE:g}), got a sum of "
                f"{total:.10g}; JointTable.from_factor normalises any table"
            )
        self.__dict__.update(factor=factor.normalize().factor, _origin=())

    @classmethod
    def from_factor(cls, factor: Factor) -> Self:
        """Return the table that is proportional to a factor.

        Examples
        --------
        >>> JointTable.from_factor(Factor("X", [1, 3])).probabilities
        array([0.25, 0.75])
        """
        return cls._of(factor.normalize().factor)

    @classmethod
    def _of(cls, factor: Factor, origin: tuple[Step, ...] = ()) -> Self:
        self = object.__new__(cls)
        self.__dict__.update(factor=factor, _origin=origin)
        return self

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

    def marginal(self, names: Names) -> JointTable:
        """Return p(names), the sum over all other variables."""
        return JointTable._of(self.factor.marginal(some_names(names)))

    def conditional(self, target: Names, given: Names) -> ConditionalTable:
        """Return p(target | given) for every value of ``given``.

        Rows of ``given`` that cannot happen hold zeros.

        Examples
        --------
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

    @overload
    def query(
        self,
        question: Names,
        given: str | Mapping[str, Label] | None = None,
        *,
        trace: Literal[False] = False,
    ) -> Any: ...
    @overload
    def query(
        self,
        question: Names,
        given: str | Mapping[str, Label] | None = None,
        *,
        trace: Literal[True],
    ) -> Derivation: ...
    def query(
        self,
        question: Names,
        given: str | Mapping[str, Label] | None = None,
        *,
        trace: bool = False,
    ) -> Any:
        r"""Answer p(want | know).

        Parameters
        ----------
        question : str or iterable of str
            ``"D | T=1"``, ``"D, S | T=1, X=a"``, ``"D=1 | T=1"``; or names. Labels are written as
            they print; quotes tell the string "1" from the number 1. Space does not matter.
        given : str or mapping, optional
            More that is known, ``{"T": 1}``.
        trace : bool
            Also return the derivation, a list of steps: (m) model assumption, (s) sum rule,
            (p) product rule.

        Returns
        -------
        Categorical, JointTable, float or Derivation
            A Categorical for one target, a JointTable for several, a probability where every
            target has a value; with ``trace`` a record ``(answer, steps)``.

        Raises
        ------
        ValueError
            When a name or label is unknown, or what is given has probability 0.

        Examples
        --------
        >>> t = diagnostic_test(prevalence=0.01, sensitivity=0.95, specificity=0.85)
        >>> t.query("D | T=1")
        Categorical([0.939873, 0.060127], labels=(0, 1))
        >>> print(t.query("D | T=1", trace=True))
        (p) p(D, T) = p(D) p(T | D)
        (s) p(T=1) = Σ_D p(D, T=1) = 0.158
        (p) p(D | T=1) = p(D, T=1) / p(T=1) = (0.939873, 0.0601266)
        """
        asked = parse_query(question, self.labels, given)
        known = self.factor.reduce(asked.given)
        if known.log_total == -np.inf:
            raise ValueError(f"{_written(asked.given)} has probability 0: nothing follows from it")
        posterior = known.marginal(asked.targets).normalize().factor
        answer = (
            float(np.exp(posterior.log_value(asked.values)))
            if asked.values
            else as_distribution(posterior)
        )
        if not trace:
            return answer
        return Derivation(answer, (*self._origin_steps, *derive(asked, known, posterior)))

    def evidence(self, given: str | Mapping[str, Label]) -> float:
        """Return the probability of what is given, ``"T=1, X=a"`` or ``{"T": 1}``."""
        known = parse_assignment(given, self.labels)
        return float(np.exp(self.factor.reduce(known).log_total))

    def log_prob(self, assignment: str | Mapping[str, Label]) -> float:
        """Return the logarithm of the probability of an assignment of some or all variables."""
        return self.factor.reduce(parse_assignment(assignment, self.labels)).log_total

    # -- draws and frames ------------------------------------------------------------------

    def sample(self, size: int | None = None, *, rng: Seed = None) -> dict[str, Any]:
        """Draw rows.

        Parameters
        ----------
        size : int, optional
            Number of rows; None draws one.
        rng : Generator, int or None
            Source of randomness; the same seed gives the same draws.

        Returns
        -------
        dict
            A column of labels for each name (one label, if ``size`` is None); a frame can be made
            of it, and :meth:`from_data` reads it back.
        """
        levels = self._cumulative
        u = as_generator(rng).random(size)
        cells = np.unravel_index(np.searchsorted(levels, u, side="right"), self.shape)
        columns = zip(self.names, cells, strict=True)
        return {name: decode_labels(codes, self.labels[name]) for name, codes in columns}

    @cached_property
    def _cumulative(self) -> Array:
        sums = np.cumsum(self.probabilities.ravel())
        return sums / sums[-1]

    def to_frame(self) -> Any:
        """Return a pandas frame with a column per variable and one of probabilities."""
        import pandas as pd

        index = pd.MultiIndex.from_product(self.labels.values(), names=self.names)
        frame = pd.Series(self.probabilities.ravel(), index=index, name="probability")
        return frame.reset_index()

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

    @property
    def _origin_steps(self) -> tuple[Step, ...]:
        stated = Step("m", f"p({', '.join(self.names)}) is given as a table")
        return self._origin or (stated,)


def diagnostic_test(prevalence: float, sensitivity: float, specificity: float) -> JointTable:
    """Return the joint table of a disease D and of a test T for it, both 0 or 1.

    Parameters
    ----------
    prevalence : float
        p(D=1), the share of the ill.
    sensitivity : float
        p(T=1 | D=1), how many of the ill test positive.
    specificity : float
        p(T=0 | D=0), how many of the healthy test negative.

    Examples
    --------
    >>> round(diagnostic_test(0.01, 0.95, 0.85).query("D=1 | T=1"), 10)
    0.0601265823
    """
    ill = check_probability("prevalence", prevalence)
    hit = check_probability("sensitivity", sensitivity)
    clear = check_probability("specificity", specificity)
    return JointTable.from_conditionals(
        ConditionalTable("D", (), [1.0 - ill, ill]),
        ConditionalTable("T", "D", [[clear, 1.0 - clear], [1.0 - hit, hit]]),
    )


def as_distribution(factor: Factor) -> Categorical | JointTable:
    """Return a normalised factor as a Categorical if it has one axis, else as a JointTable."""
    if len(factor.names) != 1:
        return JointTable.from_factor(factor)
    (labels,) = factor.labels.values()
    return Categorical(factor.probabilities, labels=labels)


def _scopes(table: ConditionalTable | JointTable) -> tuple[tuple[str, ...], tuple[str, ...]]:
    if isinstance(table, ConditionalTable):
        return table.target, table.given
    if isinstance(table, JointTable):
        return table.names, ()
    raise TypeError(
        f"from_conditionals takes ConditionalTable and JointTable, got {type(table).__name__}"
    )


def _written(given: Mapping[str, Label]) -> str:
    return ", ".join(f"{name}={label}" for name, label in given.items())
