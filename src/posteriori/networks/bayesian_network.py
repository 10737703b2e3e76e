r"""Bayesian networks: a joint distribution as a product of conditionals, and exact answers from it.

.. math:: p(x_1, \dots, x_n) = \prod_i p(x_i \mid \mathrm{pa}_i)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, NoReturn, Self

import numpy as np

from posteriori.distributions.counts.categorical import Categorical
from posteriori.distributions.labels import decode_labels
from posteriori.drawing.drawing import Drawing
from posteriori.factors import Decoding, Factor
from posteriori.factors.axes import Label, Names, refuse_axis
from posteriori.graphs import DirectedGraph
from posteriori.networks import reasons
from posteriori.networks.conditionals import Conditional, pieces_of
from posteriori.networks.factor_graph import FactorGraph
from posteriori.networks.flat_network import tabulate_network
from posteriori.networks.jeffrey import fit_margins
from posteriori.networks.marginal_view import NetworkMarginals
from posteriori.networks.network_drawing import draw_network
from posteriori.networks.network_engine import Engine, Findings
from posteriori.networks.network_evidence import Given, read_known
from posteriori.networks.network_plan import NetworkPlan, describe_plan
from posteriori.networks.network_reading import PathLike, read_conditionals, write_tables
from posteriori.networks.network_rows import encode_frame
from posteriori.networks.optima import find_optima
from posteriori.networks.other_methods import (
    METHODS,
    EliminationStep,
    cut,
    eliminate_in_order,
    enumerate_all,
    pass_on_tree,
)
from posteriori.numerics.random import as_generator
from posteriori.numerics.types import Array, Seed
from posteriori.numerics.validation import hint
from posteriori.tables import ConditionalTable, JointTable
from posteriori.tables.table_query import parse_query

__all__ = ["BayesianNetwork"]

#: A notebook shows networks of up to so many variables.
_MOST_SHOWN = 60


class BayesianNetwork:
    """A joint distribution of discrete variables, one conditional for each.

    An immutable value; what it takes to answer a question is worked out once for each set of observed
    variables, and kept beside it.

    Parameters
    ----------
    conditionals : ConditionalTable, NoisyOr, LogisticConditional or Deterministic
        One for each variable, in any order; labels of a variable are the same wherever they are given.

    Attributes
    ----------
    conditionals : dict of str to conditional
    labels : dict of str to tuple
        States of every variable.
    graph : DirectedGraph
    notes : tuple of str
        What a file that it was read from had to be helped with.

    Examples
    --------
    >>> yn = ["no", "yes"]
    >>> bn = BayesianNetwork(
    ...     ConditionalTable("rain", (), [0.8, 0.2], [yn]),
    ...     ConditionalTable("wet", "rain", [[0.9, 0.1], [0.2, 0.8]], [yn, yn]),
    ... )
    >>> round(bn.query("rain=yes | wet=yes"), 12) == round(0.16 / 0.24, 12)
    True
    >>> bn.marginals(given={"wet": "yes"})
    rain  no: 0.3333  yes: 0.6667
    wet   no: 0  yes: 1
    """

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
        graph = DirectedGraph(edges, nodes=tuple(owned))
        self.__dict__.update(conditionals=owned, labels=labels, graph=graph, notes=())

    @cached_property
    def _engine(self) -> Engine:
        return Engine(tabulate_network(self.conditionals.values(), self.labels))

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

    # -- files -----------------------------------------------------------------------------

    @classmethod
    def read(cls, path: PathLike) -> Self:
        """Read a network from a file: BIF, XMLBIF or UAI by its suffix, also ``.gz``."""
        conditionals, notes = read_conditionals(path)
        made = cls(*conditionals)
        made.__dict__["notes"] = notes
        return made

    def write(self, path: PathLike) -> None:
        """Write the network to a file in the format of its suffix, with all digits, whole or not at all."""
        write_tables(path, self)

    # -- questions -------------------------------------------------------------------------

    def query(
        self,
        question: Names,
        given: Given = None,
        *,
        virtual: Mapping[str, Any] | None = None,
        soft: Mapping[str, Any] | None = None,
        method: str | None = None,
        order: Sequence[str] | None = None,
    ) -> Any:
        """Answer p(want | know), as :meth:`JointTable.query` does.

        Parameters
        ----------
        question : str or iterable of str
            ``"rain | wet=yes"``, ``"rain, cold | wet=yes"``, ``"rain=yes | wet=yes"``; or names.
        given : str or mapping, optional
            More that is known.
        virtual : mapping, optional
            Likelihoods of the states of some variables, ``{"wet": [0.2, 0.9]}``.
        soft : mapping, optional
            New marginals of some variables, by Jeffrey's rule.
        method : str, optional
            "enumeration", "variable elimination", "sum-product" (where the factor graph is a tree) or
            "junction tree"; all give the same answer.
        order : sequence of str, optional
            In which variables are eliminated.

        Returns
        -------
        Categorical, JointTable or float
            For one variable, for several, and for an event.

        Raises
        ------
        ValueError
            Where a name or a state is unknown, or what is known is impossible: findings that contradict
            each other are named.
        """
        asked = parse_query(question, self.labels, given)
        findings = self._findings(asked.given, virtual, soft)
        index = self._engine.network.places
        targets = [index[name] for name in asked.targets]
        if method is None:
            places = None if order is None else [self._place(name) for name in order]
            total, p = self._engine.joint(targets, findings, order=places)
            if total == -np.inf or self._is_impossible(findings):
                self._refuse(findings)
        else:
            p = self._answer_by(method, asked.targets, findings, order)
        if asked.values:
            where = (self.labels[n].index(asked.values[n]) for n in asked.targets)
            return float(p[tuple(where)])
        labels = [self.labels[name] for name in asked.targets]
        if len(targets) == 1:
            return Categorical(p, labels=labels[0])
        return JointTable.from_factor(Factor(asked.targets, p, labels))

    def marginals(
        self,
        given: Given = None,
        *,
        virtual: Mapping[str, Any] | None = None,
        soft: Mapping[str, Any] | None = None,
    ) -> NetworkMarginals:
        """Return the distribution of every variable, a mapping of names to ``Categorical``."""
        findings = self._findings(given, virtual, soft)
        total, p = self._engine.marginals(findings)
        if total == -np.inf:
            self._refuse(findings)
        return NetworkMarginals(self.labels, self._bounds, p, total)

    def log_prob(self, assignment: str | Mapping[str, Label]) -> float:
        """Return ln p of an assignment of some or all variables."""
        return self._engine.log_total(self._findings(assignment))

    def most_probable(
        self,
        given: Given = None,
        of: Names | None = None,
        *,
        virtual: Mapping[str, Any] | None = None,
        soft: Mapping[str, Any] | None = None,
    ) -> Decoding:
        """Return the most probable assignment of all variables, or of some, the others summed out.

        Parameters
        ----------
        given, virtual, soft
            What is known.
        of : str or iterable of str, optional
            Which variables: marginal MAP.

        Returns
        -------
        Decoding
            ``assignment``, given states included when all variables are asked for, and ``log_value``, ln of
            its probability together with what is given.
        """
        findings = self._findings(given, virtual, soft)
        names = self.names if of is None else tuple([of] if isinstance(of, str) else of)
        places = [self._place(name) for name in names]
        for name, v in zip(names, places, strict=True):
            if of is not None and v in findings.states:
                raise ValueError(f"{name!r} is both asked for and given")
        value, states = self._engine.best(None if of is None else places, findings)
        if value == -np.inf:
            self._refuse(findings)
        best = {n: self.labels[n][states[v]] for n, v in zip(names, places, strict=True)}
        return Decoding(best, value)

    def optima(self, given: Given = None, *, limit: int = 100) -> Iterator[dict[str, Label]]:
        """Yield every assignment of highest probability, at most ``limit`` of them."""
        findings = self._findings(given)
        found = False
        for states in find_optima(self._engine, findings, limit):
            found = True
            yield {name: self.labels[name][states[v]] for v, name in enumerate(self.labels)}
        if not found and limit > 0:
            self._refuse(findings)

    def predict_proba(self, frame: Any, target: str) -> Array:
        """Return p(target | row) for every row of a frame, (N, K).

        Parameters
        ----------
        frame : pandas or polars frame, or mapping of columns
            None and NaN are not observed; a column of the target is not looked at.
        target : str

        Raises
        ------
        ValueError
            For columns and values that the network does not know, and rows that are impossible.
        """
        index, v = self._engine.network.places, self._place(target)
        states = encode_frame(frame, self.labels, index, len(index))
        states[:, v] = -1
        if not len(states):
            return np.zeros((0, len(self.labels[target])))
        total, p = self._engine.rows(v, states)
        if (total == -np.inf).any():
            row = int(np.flatnonzero(total == -np.inf)[0])
            seen = {u: int(s) for u, s in enumerate(states[row].tolist()) if s >= 0}
            self._refuse(Findings(seen, {}), f"row {row}: ")
        return p

    def sample(
        self, size: int | None = None, given: Given = None, *, rng: Seed = None
    ) -> dict[str, Any]:
        """Draw rows, exactly also under evidence.

        Returns
        -------
        dict
            A column of labels for each name (one label, if ``size`` is None).
        """
        findings = self._findings(given)
        if self._is_impossible(findings):
            self._refuse(findings)
        drawn = self._engine.draw(1 if size is None else size, findings, as_generator(rng))
        columns = drawn[0] if size is None else drawn.T
        return {
            name: decode_labels(columns[v], self.labels[name]) for v, name in enumerate(self.labels)
        }

    def plan(self, given: Names | Mapping[str, Label] | None = None) -> NetworkPlan:
        """Say what all marginals will take, given some variables, before anything runs."""
        names = [] if given is None else [given] if isinstance(given, str) else list(given)
        observed = {self._place(name.partition("=")[0].strip()): 0 for name in names}
        plan, network = self._engine.plan(None, Findings(observed, {}), memory=np.inf)
        return describe_plan(plan, tuple(network.places))

    def elimination(
        self, question: Names, given: Given = None, *, order: Sequence[str] | None = None
    ) -> list[EliminationStep]:
        """Return the steps of variable elimination: what is multiplied, and the table that is left."""
        asked = parse_query(question, self.labels, given)
        findings = self._findings(asked.given)
        steps, _ = self._eliminate(asked.targets, findings, order)
        return steps

    def full_conditional(self, name: str, rest: Mapping[str, Label]) -> Categorical:
        """Return p(name | all others), from its Markov blanket.

        Parameters
        ----------
        name : str
        rest : mapping
            States of the blanket at least; others are not looked at.
        """
        self._place(name)
        blanket = [str(other) for other in self.graph.markov_blanket(name)]
        missing = [other for other in blanket if other not in rest]
        if missing:
            raise ValueError(f"the blanket of {name!r} has {missing[0]!r}: give its state too")
        known = self._findings({other: rest[other] for other in blanket})
        p = np.ones(len(self.labels[name]))
        for owner in (name, *map(str, self.graph.children(name))):
            factor = Factor.scalar(1.0)
            for piece in pieces_of(self.conditionals[owner], self.labels):
                own = self._factor(piece.names, piece.cells)
                factor = factor * own.reduce({n: rest[n] for n in own.names if n in blanket})
            p = p * np.broadcast_to(factor.marginal([name]).values, p.shape)
        if not p.sum() > 0.0:
            self._refuse(known)
        return Categorical(p / p.sum(), labels=self.labels[name])

    # -- reasons ---------------------------------------------------------------------------

    def weights_of_evidence(self, event: str, given: Given) -> dict[str, float]:
        """Return, for each finding, the log odds of an event with all findings less those without it."""
        return reasons.weights_of_evidence(self, event, given)

    def information(self, name: str, given: Given = None) -> dict[str, float]:
        """Return how many nats each variable that is not observed would tell about one, the most first."""
        return reasons.information(self, name, given)

    def sensitivity(self, event: str, given: Given = None) -> dict[str, Array]:
        r"""Return ∂p(event | given)/∂θ for every cell θ of every table, other cells fixed.

        Returns
        -------
        dict
            For each variable with a table, an array of the table's shape: axes of its parents, then its own.
        """
        return reasons.sensitivity(self, event, given)

    # -- graphs ----------------------------------------------------------------------------

    def factors(self) -> dict[str, Factor]:
        """Return the tables of the conditionals; pieces of one are numbered."""
        found = {}
        for name, one in self.conditionals.items():
            pieces = pieces_of(one, self.labels)
            for i, piece in enumerate(pieces):
                key = name if len(pieces) == 1 else f"{name}.{i + 1}"
                found[key] = self._factor(piece.names, piece.cells)
        return found

    def to_factor_graph(self) -> FactorGraph:
        """Return the factor graph: a factor for each conditional, named like its variable."""
        return FactorGraph(self.factors())

    def draw(self, given: Given = None) -> Drawing:
        """Return a drawing: probabilities as bars, what is given shaded; in a notebook it shows itself."""
        return draw_network(self, given)

    def _repr_svg_(self) -> str | None:
        return self.draw().svg() if len(self.labels) <= _MOST_SHOWN else None

    def _factor(self, names: Sequence[str], cells: Array) -> Factor:
        labels = [self.labels.get(name, (0, 1)) for name in names]
        return Factor(names, cells, labels)

    # -- helpers ---------------------------------------------------------------------------

    @cached_property
    def _first_state(self) -> Any:
        return np.concatenate([[0], np.cumsum(self._engine.network.tables.sizes)])

    @cached_property
    def _bounds(self) -> dict[str, slice]:
        """Where the marginal of each variable lies among all of them."""
        first = self._first_state.tolist()
        return {name: slice(first[v], first[v + 1]) for v, name in enumerate(self.labels)}

    @cached_property
    def _has_zeros(self) -> bool:
        return self._engine.network.has_zeros

    def _place(self, name: str) -> int:
        if name not in self.labels:
            refuse_axis(name, self.names)
        return self._engine.network.places[name]

    def _findings(
        self,
        given: Given,
        virtual: Mapping[str, Any] | None = None,
        soft: Mapping[str, Any] | None = None,
    ) -> Findings:
        evidence = read_known(self.labels, given, virtual, soft)
        index = self._engine.network.places
        findings = Findings(
            {index[n]: self.labels[n].index(label) for n, label in evidence.states.items()},
            {index[n]: x for n, x in evidence.virtual.items()},
        )
        if evidence.soft:
            wanted = {index[n]: p for n, p in evidence.soft.items()}
            return fit_margins(self._engine, findings, wanted)
        return findings

    def _is_impossible(self, findings: Findings) -> bool:
        zeros = self._has_zeros or not all(x.all() for x in findings.likelihoods.values())
        return zeros and self._engine.log_total(findings) == -np.inf

    def _refuse(self, findings: Findings, before: str = "") -> NoReturn:
        """Name findings that contradict each other, none of which can be left out."""
        states = reasons.contradiction(self._engine, findings)
        names = tuple(self._engine.network.places)
        told = ", ".join(f"{names[v]}={self.labels[names[v]][s]}" for v, s in states.items())
        verb = "is impossible" if len(states) == 1 else "contradict each other"
        raise ValueError(f"{before}the evidence has probability 0: {told or 'it'} {verb}")

    def _answer_by(
        self, method: str, targets: Sequence[str], findings: Findings, order: Sequence[str] | None
    ) -> Array:
        if method not in METHODS:
            raise ValueError(
                f"method must be one of {', '.join(METHODS)}; got {method!r}{hint(method, METHODS)}"
            )
        if method == "junction tree":
            places = [self._place(name) for name in targets]
            if len(places) > 1:
                return self._engine.joint(places, findings)[1]
            total, p = self._engine.marginals(findings)
            if total == -np.inf:
                self._refuse(findings)
            return p[slice(*self._first_state[places[0] : places[0] + 2])]
        if method == "variable elimination":
            table = self._eliminate(targets, findings, order)[1]
        elif method == "enumeration":
            table = enumerate_all(list(self._cut_factors(findings).values()), targets)
        else:
            table = pass_on_tree(self._cut_factors(findings), targets)
        if table.log_total == -np.inf:
            self._refuse(findings)
        return table.transpose(targets).probabilities

    def _cut_factors(self, findings: Findings) -> dict[str, Factor]:
        names = tuple(self._engine.network.places)
        known = {names[v]: self.labels[names[v]][s] for v, s in findings.states.items()}
        likelihoods = {
            f"likelihood of {names[v]}": self._factor([names[v]], x)
            for v, x in findings.likelihoods.items()
        }
        return cut({**self.factors(), **likelihoods}, known)

    def _eliminate(
        self, targets: Sequence[str], findings: Findings, order: Sequence[str] | None
    ) -> tuple[list[EliminationStep], Factor]:
        factors = list(self._cut_factors(findings).values())
        names = tuple(self._engine.network.places)
        if order is None:
            places = [self._place(name) for name in targets]
            plan, _ = self._engine.plan(places, findings, kind="total")
            order = [names[v] for v in plan.order]
        free = {name for factor in factors for name in factor.names}
        wanted = [name for name in order if name in free and name not in targets]
        rest = [name for name in free if name not in wanted and name not in targets]
        return eliminate_in_order(factors, [*wanted, *sorted(rest)])

    # -- being a value ---------------------------------------------------------------------

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"a BayesianNetwork is a value: make a new one to set {name}")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), tuple(self.conditionals.values())

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
