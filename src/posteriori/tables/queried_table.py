"""Questions that a joint table answers: conditional probabilities, evidence, draws.

Every answer follows from the sum rule and the product rule, applied to the cells.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, Literal, Self, overload

import numpy as np

from posteriori.distributions.counts.categorical import Categorical
from posteriori.distributions.labels import decode_labels
from posteriori.factors import Factor
from posteriori.factors.axes import Label, Names
from posteriori.numerics.lazy import pandas as pd
from posteriori.numerics.random import as_generator
from posteriori.numerics.types import Array, Seed
from posteriori.tables.derivation import Derivation, Step, derive
from posteriori.tables.probability_table import ProbabilityTable, some_names
from posteriori.tables.table_query import parse_assignment, parse_query

__all__ = ["QueriedTable"]


class QueriedTable(ProbabilityTable):
    """A normalised factor with the derivation that led to it; the base of joint tables."""

    _origin: tuple[Step, ...]

    @classmethod
    def from_factor(cls, factor: Factor) -> Self:
        """Return the table that is proportional to a factor.

        Examples
        --------
        >>> from posteriori.tables import JointTable
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
    def _distribution(cls, factor: Factor) -> Categorical | Self:
        """Return a normalised factor as a Categorical if it has one axis, else as a table."""
        if len(factor.names) != 1:
            return cls.from_factor(factor)
        (labels,) = factor.labels.values()
        return Categorical(factor.probabilities, labels=labels)

    # -- the rules of probability ----------------------------------------------------------

    def marginal(self, names: Names) -> Self:
        """Return p(names), the sum over all other variables."""
        return self._of(self.factor.marginal(some_names(names)))

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
        >>> from posteriori.tables import diagnostic_test
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
            else self._distribution(posterior)
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
        index = pd.MultiIndex.from_product(self.labels.values(), names=self.names)
        frame = pd.Series(self.probabilities.ravel(), index=index, name="probability")
        return frame.reset_index()

    @property
    def _origin_steps(self) -> tuple[Step, ...]:
        stated = Step("m", f"p({', '.join(self.names)}) is given as a table")
        return self._origin or (stated,)


def _written(given: Mapping[str, Label]) -> str:
    return ", ".join(f"{name}={label}" for name, label in given.items())
