"""What a network is before anything is asked: one conditional for each variable, in files and as other objects."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NoReturn, Self

import numpy as np

from posteriori.factors import Factor
from posteriori.factors.axes import Label
from posteriori.graphs import DirectedGraph
from posteriori.networks.adapters.networkx_graph import network_to_networkx, tables_from_networkx
from posteriori.networks.adapters.pgmpy_model import network_to_pgmpy, tables_from_pgmpy
from posteriori.networks.adapters.pyagrum_network import network_to_pyagrum, tables_from_pyagrum
from posteriori.networks.conditionals import Conditional, factor_of, pieces_of
from posteriori.networks.factor_graph import FactorGraph
from posteriori.networks.network_reading import PathLike, read_conditionals, write_tables
from posteriori.numerics.validation import hint
from posteriori.tables import ConditionalTable

__all__ = ["NetworkValue"]

#: Variables of a cycle that an error names.
_NAMED = 12


class NetworkValue:
    """Conditionals that make a joint distribution; the base of networks that answer questions."""

    conditionals: dict[str, Conditional | ConditionalTable]
    labels: dict[str, tuple[Label, ...]]
    graph: DirectedGraph
    notes: tuple[str, ...]

    def __init__(self, *conditionals: Conditional | ConditionalTable) -> None:
        owned: dict[str, Conditional | ConditionalTable] = {}
        for one in conditionals:
            name = _target_of(one)
            if name in owned:
                raise ValueError(f"two conditionals give the distribution of {name!r}")
            owned[name] = one
        labels = _agreed_labels(owned)
        edges = [(parent, name) for name, one in owned.items() for parent in one.given]
        graph = DirectedGraph(edges, nodes=tuple(owned), acyclic=False)
        _require_acyclic(graph)
        self.__dict__.update(conditionals=owned, labels=labels, graph=graph, notes=())

    @classmethod
    def _of(
        cls, conditionals: Iterable[Conditional | ConditionalTable], notes: Iterable[str]
    ) -> Self:
        """Return a network with notes."""
        made = cls(*conditionals)
        made.__dict__["notes"] = tuple(notes)
        return made

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the variables."""
        return tuple(self.labels)

    @property
    def n_parameters(self) -> int:
        """How many numbers are free."""
        total = 0
        for one in self.conditionals.values():
            if isinstance(one, ConditionalTable):
                rows = np.prod([len(self.labels[n]) for n in one.given], dtype=object)
                total += int(rows) * (len(self.labels[one.target[0]]) - 1)
            else:
                total += one.count_parameters(self.labels)
        return total

    @classmethod
    def chain(
        cls, initial: Any, transition: Any, length: int, *, name: str = "x", labels: Any = None
    ) -> Self:
        """Return a first-order Markov chain ``x[0]``, ``x[1]``, ….

        Parameters
        ----------
        initial : (K,)
        transition : (K, K)
            Rows are the state before, columns the state after.
        length : int
            Number of variables.
        name : str
        labels : sequence, optional
            Of the states.
        """
        if length < 1:
            raise ValueError(f"length must be at least 1, got {length}")
        states = list(range(len(initial))) if labels is None else list(labels)
        first = ConditionalTable(f"{name}[0]", (), initial, [states])
        rest = (
            ConditionalTable(f"{name}[{t}]", f"{name}[{t - 1}]", transition, [states, states])
            for t in range(1, length)
        )
        return cls(first, *rest)

    # -- files and other libraries -----------------------------------------------------------

    @classmethod
    def read(cls, path: PathLike) -> Self:
        """Read a network from a file: BIF, XMLBIF or UAI by its suffix, also ``.gz``.

        Raises
        ------
        ValueError
            For files that are malformed (with the line), or form a cycle.
        MemoryError
            For files that declare larger tables than fit, before memory is taken.
        """
        conditionals, notes = read_conditionals(path)
        try:
            return cls._of(conditionals, notes)
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from None

    def write(self, path: PathLike) -> None:
        """Write the network to a file in the format of its suffix, with all digits, whole or not at all."""
        write_tables(path, self)

    @classmethod
    def from_networkx(cls, graph: Any) -> Self:
        """Return the network of a ``networkx.DiGraph`` whose nodes carry tables.

        Parameters
        ----------
        graph : networkx.DiGraph
            Each node has ``states`` (labels), ``given`` (its parents, in the order of the axes of its table) and
            ``probabilities`` (axes of the parents, then its own).
        """
        return cls(*tables_from_networkx(graph))

    def to_networkx(self) -> Any:
        """Return a ``networkx.DiGraph`` whose nodes carry their tables, as :meth:`from_networkx` reads them.

        Examples
        --------
        >>> from posteriori.networks import BayesianNetwork
        >>> graph = BayesianNetwork.chain([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], 2).to_networkx()
        >>> graph.nodes["x[1]"]["given"], graph.nodes["x[1]"]["states"]
        (['x[0]'], [0, 1])
        """
        return network_to_networkx(self)

    @classmethod
    def from_pgmpy(cls, model: Any) -> Self:
        """Return the network of a ``DiscreteBayesianNetwork`` of pgmpy."""
        return cls(*tables_from_pgmpy(model))

    def to_pgmpy(self) -> Any:
        """Return a ``pgmpy.models.DiscreteBayesianNetwork``; every conditional is written out as a table."""
        return network_to_pgmpy(self)

    @classmethod
    def from_pyagrum(cls, bn: Any) -> Self:
        """Return the network of a ``pyagrum.BayesNet``."""
        return cls(*tables_from_pyagrum(bn))

    def to_pyagrum(self) -> Any:
        """Return a ``pyagrum.BayesNet``; every conditional is written out as a table.

        Labels are whole numbers in ascending order, or text: all others are written as text.
        """
        return network_to_pyagrum(self)

    # -- factors -----------------------------------------------------------------------------

    def factors(self) -> dict[str, Factor]:
        """Return the tables of the conditionals; pieces of one are numbered."""
        found = {}
        for name, one in self.conditionals.items():
            pieces = pieces_of(one, self.labels)
            for i, piece in enumerate(pieces):
                key = name if len(pieces) == 1 else f"{name}.{i + 1}"
                while key in found or (key != name and key in self.conditionals):
                    key += "′"
                found[key] = factor_of(piece, self.labels)
        return found

    def to_factor_graph(self) -> FactorGraph:
        """Return the factor graph: a factor for each conditional, named like its variable."""
        return FactorGraph(self.factors())

    # -- being a value ---------------------------------------------------------------------

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"a BayesianNetwork is a value: make a new one to set {name}")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, NetworkValue):
            return NotImplemented
        return self.conditionals == other.conditionals

    def __hash__(self) -> int:
        return hash((type(self).__name__, frozenset(self.labels.items())))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self)._of, (tuple(self.conditionals.values()), self.notes)

    def __repr__(self) -> str:
        n, edges = len(self.labels), sum(len(one.given) for one in self.conditionals.values())
        names = ", ".join(self.names[:8]) + (", …" if n > 8 else "")
        return f"BayesianNetwork of {n} variables, {edges} edges, {self.n_parameters:,} parameters: {names}"


def _target_of(conditional: Conditional | ConditionalTable) -> str:
    if not hasattr(conditional, "target") or not hasattr(conditional, "given"):
        raise TypeError(
            "a network is made of conditionals (ConditionalTable, NoisyOr, LogisticConditional, "
            f"Deterministic), got {type(conditional).__name__}"
        )
    if len(conditional.target) != 1:
        raise ValueError(
            f"a conditional of a network is of one variable, got {', '.join(conditional.target)}; make one "
            "for each by the product rule"
        )
    return conditional.target[0]


def _agreed_labels(
    owned: Mapping[str, Conditional | ConditionalTable],
) -> dict[str, tuple[Label, ...]]:
    """Return the labels of all variables, which must be the same wherever they are given."""
    found = {name: tuple(one.labels[name]) for name, one in owned.items()}
    for name, one in owned.items():
        for parent in one.given:
            if parent not in owned:
                raise ValueError(
                    f"{name!r} depends on {parent!r}, which has no conditional{hint(parent, tuple(owned))}"
                )
            labels = one.labels.get(parent)
            if labels is not None and tuple(labels) != found[parent]:
                raise ValueError(
                    f"the conditional of {name!r} has labels {tuple(labels)} of {parent!r}, whose own are "
                    f"{found[parent]}"
                )
    return found


def _require_acyclic(graph: DirectedGraph) -> None:
    cycle = graph.cycle
    if cycle:
        told = " → ".join(map(str, (*cycle[:_NAMED], "…") if len(cycle) > _NAMED else cycle))
        raise ValueError(
            f"the conditionals form a cycle {told} → {cycle[0]}, so that they make no joint distribution; "
            "leave out what one of them is given"
        )
