"""Marginals of all variables, made one at a time when they are looked at."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from posteriori.distributions.counts.categorical import Categorical
from posteriori.factors.axes import Label
from posteriori.numerics.types import Array
from posteriori.tables.table_query import refuse_variable

__all__ = ["NetworkMarginals"]


class NetworkMarginals(Mapping[str, Categorical]):
    """Every variable and its distribution, a ``Categorical`` with labels.

    Attributes
    ----------
    log_evidence : float
        ln p of what was given.
    """

    log_evidence: float

    def __init__(
        self,
        labels: Mapping[str, tuple[Label, ...]],
        places: Mapping[str, slice],
        probabilities: Array,
        log_evidence: float,
    ) -> None:
        probabilities.setflags(write=False)
        self._labels, self._probabilities = labels, probabilities
        self._places = places
        self.log_evidence = log_evidence

    def __getitem__(self, name: str) -> Categorical:
        try:
            place = self._places[name]
        except KeyError:
            refuse_variable(name, self._labels)
        return Categorical._of_vector(self._probabilities[place], self._labels[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self._labels)

    def __len__(self) -> int:
        return len(self._labels)

    def __repr__(self) -> str:
        width = max(map(len, map(str, self)), default=0)
        lines = []
        for name, found in self.items():
            states = zip(self._labels[name], found.probabilities.tolist(), strict=True)
            lines.append(
                f"{name:<{width}}  " + "  ".join(f"{label}: {p:.4g}" for label, p in states)
            )
        return "\n".join(lines)
