r"""Factor graphs of tables: a node for every variable and every factor, messages between them.

.. math:: \mu_{f \to x}(x) = \sum_{z \setminus x} f(z) \prod_{y \in z \setminus x} \mu_{y \to f}(y), \qquad
   \mu_{x \to f}(x) = \prod_{g \ni x,\, g \neq f} \mu_{g \to x}(x)

A leaf that is a variable sends 1, a leaf that is a factor sends itself; with max in place of Σ, logarithms add.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import NamedTuple, NoReturn, Self

import numpy as np

from posteriori.distributions.counts.categorical import Categorical
from posteriori.factors import Decoding, Factor, contract, decode
from posteriori.factors.axes import Label
from posteriori.networks.files.network_files import write_network_file
from posteriori.networks.network_reading import PathLike, read_factors, tables_of_graph
from posteriori.numerics.validation import hint
from posteriori.tables import JointTable
from posteriori.tables.table_query import parse_assignment, refuse_variable

__all__ = ["FactorGraph", "GraphMessages"]


class GraphMessages(NamedTuple):
    """The messages of a tree, exactly two for each edge.

    Attributes
    ----------
    to_variable, to_factor : dict of (str, str) to Factor
        By factor and variable; in max-product what a message holds is the largest, and not the sum.
    """

    to_variable: dict[tuple[str, str], Factor]
    to_factor: dict[tuple[str, str], Factor]

    def __len__(self) -> int:
        return len(self.to_variable) + len(self.to_factor)


class FactorGraph:
    """A product of factors over discrete variables; not normalised.

    Parameters
    ----------
    factors : mapping of str to Factor
        Axes of one name have the same labels.

    Examples
    --------
    >>> graph = FactorGraph(
    ...     {"prior": Factor("A", [0.6, 0.4]), "link": Factor(["A", "B"], [[3.0, 1.0], [1.0, 2.0]])}
    ... )
    >>> graph.is_tree, len(graph.messages())
    (True, 6)
    >>> graph.marginals()["B"].probabilities.round(4)
    array([0.6111, 0.3889])
    >>> round(float(np.exp(graph.log_partition())), 12)
    3.6
    """

    factors: Mapping[str, Factor]

    def __init__(self, factors: Mapping[str, Factor]) -> None:
        if not isinstance(factors, Mapping):
            raise TypeError(
                f"factors must be a mapping of names to factors, got {type(factors).__name__}"
            )
        self.__dict__["factors"] = dict(factors)
        for name, factor in self.factors.items():
            if not isinstance(factor, Factor):
                raise TypeError(f"{name!r} must be a Factor, got {type(factor).__name__}")
        self.labels  # noqa: B018  # labels must agree

    @classmethod
    def read(cls, path: PathLike) -> Self:
        """Read a Markov network from a file of UAI, or the factors of a Bayesian network from any."""
        return cls(read_factors(path))

    def write(self, path: PathLike) -> None:
        """Write the factors to a file of UAI, which keeps neither names nor labels."""
        write_network_file(path, tables_of_graph(self))

    @cached_property
    def labels(self) -> dict[str, tuple[Label, ...]]:
        """Labels of every variable."""
        found: dict[str, tuple[Label, ...]] = {}
        for name, factor in self.factors.items():
            for axis, labels in factor.labels.items():
                if found.setdefault(axis, labels) != labels:
                    raise ValueError(
                        f"{name!r} has labels {labels} of {axis!r} where another factor has {found[axis]}"
                    )
        return found

    @property
    def variables(self) -> tuple[str, ...]:
        """The variables."""
        return tuple(self.labels)

    @property
    def edges(self) -> tuple[tuple[str, str], ...]:
        """Pairs of a factor and a variable that it holds."""
        return tuple((name, v) for name, factor in self.factors.items() for v in factor.names)

    @cached_property
    def holders(self) -> dict[str, tuple[str, ...]]:
        """The factors that hold each variable."""
        found: dict[str, list[str]] = {v: [] for v in self.labels}
        for name, v in self.edges:
            found[v].append(name)
        return {v: tuple(names) for v, names in found.items()}

    @cached_property
    def components(self) -> tuple[frozenset[str], ...]:
        """Sets of variables that hang together; constants are in none."""
        left, found = dict.fromkeys(self.labels), []
        while left:
            reached, stack = set(), [next(iter(left))]
            while stack:
                v = stack.pop()
                if v not in reached:
                    reached.add(v)
                    stack += [u for name in self.holders[v] for u in self.factors[name].names]
            found.append(frozenset(reached))
            left = {v: None for v in left if v not in reached}
        return tuple(found)

    @property
    def is_tree(self) -> bool:
        """Whether no part has a loop: then messages from the leaves give exact marginals."""
        joined = sum(bool(factor.names) for factor in self.factors.values())
        return len(self.edges) == len(self.labels) + joined - len(self.components)

    def merge(self, *names: str, into: str | None = None) -> Self:
        """Return the graph with some factors multiplied into one, which may open a loop.

        Parameters
        ----------
        names : str
            Two factors or more.
        into : str, optional
            What the product is called; by default the names, joined by "·".
        """
        for name in names:
            if name not in self.factors:
                raise ValueError(f"the graph has no factor {name!r}{hint(name, self.factors)}")
        if len(set(names)) < 2:
            raise ValueError("merge needs two factors or more")
        product = Factor.scalar(1.0)
        for name in names:
            product = product * self.factors[name]
        rest = {name: f for name, f in self.factors.items() if name not in names}
        return type(self)({**rest, into or "·".join(names): product})

    def subtrees(self, variable: str) -> dict[str, frozenset[str]]:
        """Return, for each factor of a variable, the factors on its side of the tree."""
        self._require_tree()
        if variable not in self.labels:
            refuse_variable(variable, self.labels)
        found = {}
        for start in self.holders[variable]:
            reached, stack = {start}, [(start, variable)]
            while stack:
                name, source = stack.pop()
                for v in self.factors[name].names:
                    if v != source:
                        further = [f for f in self.holders[v] if f not in reached]
                        reached.update(further)
                        stack += [(f, v) for f in further]
            found[start] = frozenset(reached)
        return found

    def given(self, evidence: str | Mapping[str, Label] | None) -> Self:
        """Return the graph with observed axes cut off."""
        if evidence is None:
            return self
        known = parse_assignment(evidence, self.labels)
        return type(self)(
            {
                name: f.reduce({v: known[v] for v in f.names if v in known})
                for name, f in self.factors.items()
            }
        )

    # -- messages --------------------------------------------------------------------------

    def messages(
        self, given: str | Mapping[str, Label] | None = None, *, maximize: bool = False
    ) -> GraphMessages:
        """Return all messages of a tree, from the leaves to a root and back.

        Raises
        ------
        ValueError
            Where the graph has a loop.
        """
        graph = self.given(given)
        graph._require_tree()
        found = GraphMessages({}, {})
        steps = graph._steps_from_roots()
        for name, variable, down in reversed(steps):  # from the leaves up
            graph._send(found, name, variable, to_variable=not down, maximize=maximize)
        for name, variable, down in steps:
            graph._send(found, name, variable, to_variable=down, maximize=maximize)
        return found

    def _steps_from_roots(self) -> list[tuple[str, str, bool]]:
        """Return all edges as they are met from a root of each part; True where the factor comes first."""
        steps: list[tuple[str, str, bool]] = []
        met: set[tuple[str, str]] = set()
        for root in self.variables:
            stack = [] if ("variable", root) in met else [root]
            met.add(("variable", root))
            while stack:
                variable = stack.pop()
                for name in self.holders[variable]:
                    if ("factor", name) not in met:
                        met.add(("factor", name))
                        steps.append((name, variable, False))
                        others = [v for v in self.factors[name].names if v != variable]
                        steps += [(name, v, True) for v in others]
                        met.update(("variable", v) for v in others)
                        stack += others
        return steps

    def _send(
        self, found: GraphMessages, name: str, variable: str, *, to_variable: bool, maximize: bool
    ) -> None:
        """Send one message; those that it needs are there."""
        if to_variable:
            product = self.factors[name]
            for v in product.names:
                if v != variable:
                    product = product * found.to_factor[name, v]
            found.to_variable[name, variable] = (
                product.maximum([variable]) if maximize else product.marginal([variable])
            )
            return
        labels = self.labels[variable]
        product = Factor(variable, np.ones(len(labels)), [labels])
        for other in self.holders[variable]:
            if other != name:
                product = product * found.to_variable[other, variable]
        found.to_factor[name, variable] = product

    def _require_tree(self) -> None:
        if not self.is_tree:
            raise ValueError(
                "the factor graph has a loop, around which messages would run for ever; merge factors, "
                'observe variables, or ask for method="junction tree"'
            )

    # -- answers ---------------------------------------------------------------------------

    def marginals(self, given: str | Mapping[str, Label] | None = None) -> dict[str, Categorical]:
        """Return the marginals of all variables that are not given; of graphs with loops too."""
        graph = self.given(given)
        graph._require_possible()
        found = {}
        passed = graph.messages() if graph.is_tree else None
        for v in graph.variables:
            if passed is None:
                product = contract(graph.factors.values(), v)
            else:
                product = Factor.scalar(1.0)
                for name in graph.holders[v]:
                    product = product * passed.to_variable[name, v]
            found[v] = Categorical(product.probabilities, labels=graph.labels[v])
        return found

    def beliefs(self, given: str | Mapping[str, Label] | None = None) -> dict[str, JointTable]:
        """Return the joint distribution of the variables of each factor that has any."""
        graph = self.given(given)
        graph._require_possible()
        passed = graph.messages() if graph.is_tree else None
        found = {}
        for name, factor in graph.factors.items():
            if not factor.names:
                continue
            if passed is None:
                belief = contract(graph.factors.values(), factor.names)
            else:
                belief = factor
                for v in factor.names:
                    belief = belief * passed.to_factor[name, v]
            found[name] = JointTable.from_factor(belief)
        return found

    def log_partition(self, given: str | Mapping[str, Label] | None = None) -> float:
        """Return ln of the sum of the product over all variables that are not given."""
        return contract(self.given(given).factors.values()).log_total

    def most_probable(self, given: str | Mapping[str, Label] | None = None) -> Decoding:
        """Return the assignment of highest value."""
        return decode(self.given(given).factors.values())

    def _require_possible(self) -> None:
        if self.log_partition() == -np.inf:
            raise ValueError("the product of the factors is 0 everywhere: nothing follows from it")

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"a FactorGraph is a value: make a new one to set {name}")

    def __repr__(self) -> str:
        lines = [f"{name}({', '.join(f.names)})" for name, f in self.factors.items()]
        kind = "tree" if self.is_tree else "graph with loops"
        return f"FactorGraph, a {kind} of {len(lines)} factors: {' '.join(lines)}"
