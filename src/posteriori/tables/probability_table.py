r"""Tables of probabilities: their cells, the events that they make likely, and their information.

All of it is read from the cells alone: the probability of an event is the sum of the cells in
which it happens, and the mutual information is
:math:`I(a; b) = \sum p(a, b) \ln \frac{p(a, b)}{p(a)\,p(b)}`.
"""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from posteriori.factors import Factor
from posteriori.factors.axes import Label, Names, as_names
from posteriori.factors.factor import nats_per
from posteriori.numerics.special import relative_entropy_terms
from posteriori.numerics.types import Array
from posteriori.numerics.validation import hint
from posteriori.tables.event_algebra import Event, EventLike

__all__ = ["ProbabilityTable", "some_names"]


class ProbabilityTable:
    """What can be read from a normalised factor; the base of joint tables."""

    factor: Factor

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the variables."""
        return self.factor.names

    @property
    def labels(self) -> dict[str, tuple[Label, ...]]:
        """Labels of each variable, by name."""
        return self.factor.labels

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of labels of each variable."""
        return self.factor.shape

    @property
    def probabilities(self) -> Array:
        """The cells, with sum 1."""
        return self.factor.values

    @property
    def mode(self) -> dict[str, Label]:
        """The most probable cell (the first one, if several are equal)."""
        return self.factor.argmax()

    # -- events ----------------------------------------------------------------------------

    def event(self, event: EventLike) -> Event:
        """Return an event, which combines by ``&``, ``|`` and ``~``.

        Parameters
        ----------
        event : str, mapping or function
            ``"D=1, T=0"``, ``{"D": 1}``, or a function whose arguments are named like variables:
            ``lambda D, T: D == T``.
        """
        return Event.read(self.factor, event)

    def event_probability(self, *events: EventLike, given: EventLike | None = None) -> float:
        """Return the probability that all ``events`` happen, given another.

        Examples
        --------
        >>> from posteriori.tables import JointTable
        >>> dice = JointTable(["a", "b"], np.full((6, 6), 1 / 36), [range(1, 7)] * 2)
        >>> round(dice.event_probability(lambda a, b: a + b == 7), 12) == round(1 / 6, 12)
        True
        >>> round(dice.event_probability("a=6", given=lambda a, b: a + b >= 11) * 3, 12)
        2.0
        """
        if not events:
            raise TypeError("event_probability needs at least one event")
        first, *others = map(self.event, events)
        for other in others:
            first = first & other
        return first.probability if given is None else first.given(self.event(given))

    def mutually_exclusive(self, *events: EventLike, tolerance: float = 1e-12) -> bool:
        """Tell whether no two of the events can happen together."""
        read = [self.event(event) for event in events]
        pairs = ((a, b) for i, a in enumerate(read) for b in read[:i])
        return all((a & b).probability <= tolerance for a, b in pairs)

    def collectively_exhaustive(self, *events: EventLike, tolerance: float = 1e-12) -> bool:
        """Tell whether one of the events is certain to happen."""
        neither = self.event(lambda: True)
        for event in events:
            neither = neither & ~self.event(event)
        return neither.probability <= tolerance

    def is_independent(
        self, a: Names, b: Names, given: Names = (), tolerance: float = 1e-9
    ) -> bool:
        """Tell whether p(a, b | given) = p(a | given) p(b | given) for all that can happen.

        Parameters
        ----------
        a, b, given : str or iterable of str
            Sets of variables that do not overlap.
        tolerance : float
            By how much the two sides may differ.

        Examples
        --------
        Two coins do not know of each other, until somebody says whether they are equal:

        >>> from posteriori.tables import JointTable
        >>> coins = JointTable(
        ...     ["A", "B", "equal"], [[[0, 0.25], [0.25, 0]], [[0.25, 0], [0, 0.25]]]
        ... )
        >>> coins.is_independent("A", "B"), coins.is_independent("A", "B", given="equal")
        (True, False)
        """
        both, product, known = self._split(a, b, given)
        gap = np.abs((both / known).values - (product / known / known).values)
        return bool(np.all(gap <= tolerance))

    # -- information -----------------------------------------------------------------------

    def entropy(self, names: Names | None = None, *, unit: str = "nats") -> float:
        """Return the entropy −Σ p ln p of all variables, or of ``names`` (in nats or bits)."""
        chosen = self.factor if names is None else self.factor.marginal(some_names(names))
        return chosen.entropy(unit=unit)

    def conditional_entropy(self, target: Names, given: Names, *, unit: str = "nats") -> float:
        """Return H(target | given) = H(target, given) − H(given).

        Examples
        --------
        >>> from posteriori.tables import JointTable
        >>> t = JointTable(["x", "y"], [[0.4, 0.1], [0.1, 0.4]])
        >>> round(t.conditional_entropy("y", given="x", unit="bits"), 10)
        0.7219280949
        """
        ratio = self._conditional(some_names(target, "target"), as_names(given, "given"))
        weights = self.factor.marginal(ratio.names).values
        logs = np.where(weights > 0, ratio.log_values, 0.0)
        return float(-np.sum(weights * logs)) / nats_per(unit) + 0.0

    def mutual_information(
        self, a: Names, b: Names, given: Names = (), *, unit: str = "nats"
    ) -> float:
        """Return I(a; b | given), the divergence of p(a, b) from p(a) p(b).

        Examples
        --------
        >>> from posteriori.tables import JointTable
        >>> t = JointTable(["x", "y"], [[0.4, 0.1], [0.1, 0.4]])
        >>> round(t.mutual_information("x", "y", unit="bits"), 10)
        0.2780719051
        """
        both, product, known = self._split(a, b, given)
        terms = relative_entropy_terms(both.values, (product / known).values)
        return float(np.sum(terms)) / nats_per(unit)

    def kl(self, other: ProbabilityTable, *, unit: str = "nats") -> float:
        """Return KL(self ‖ other), infinite where the other excludes what this one allows."""
        if not self.factor._same_axes(other.factor):
            raise ValueError(
                f"KL divergence needs tables over the same names and labels, got "
                f"{self.labels} and {other.labels}"
            )
        theirs = other.factor.transpose(self.names).values
        return float(np.sum(relative_entropy_terms(self.probabilities, theirs))) / nats_per(unit)

    def _conditional(self, target: tuple[str, ...], given: tuple[str, ...]) -> Factor:
        """Return p(target | given), with zeros where given cannot happen."""
        both = self.factor.marginal(as_names((*given, *target), "target and given"))
        return both / both.marginal(given)

    def _split(self, a: Names, b: Names, given: Names) -> tuple[Factor, Factor, Factor]:
        """Return p(a, b, c), p(a, c) p(b, c) and p(c), the first two with axes in one order."""
        first, second, known = some_names(a, "a"), some_names(b, "b"), as_names(given, "given")
        both = self.factor.marginal(as_names((*first, *second, *known), "a, b and given"))
        product = both.marginal((*first, *known)) * both.marginal((*second, *known))
        return both, product.transpose(both.names), both.marginal(known)

    # -- being a value ---------------------------------------------------------------------

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        raise AttributeError(
            f"a {type(self).__name__} is a value: make a new one instead of setting {name}"
        )

    def __getattr__(self, name: str) -> NoReturn:
        public = [known for known in dir(type(self)) if not known.startswith("_")]
        raise AttributeError(f"{type(self).__name__} has no attribute {name!r}{hint(name, public)}")


def some_names(names: Names, argument: str = "names") -> tuple[str, ...]:
    """Return names as a tuple that is not empty."""
    chosen = as_names(names, argument)
    if not chosen:
        raise ValueError(f"{argument} needs at least one name")
    return chosen
