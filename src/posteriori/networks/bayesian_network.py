r"""Bayesian networks: a joint distribution as a product of conditionals, and exact answers from it.

.. math:: p(x_1, \dots, x_n) = \prod_i p(x_i \mid \mathrm{pa}_i)
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from numbers import Integral
from typing import Any, NoReturn

import numpy as np

from posteriori.distributions.counts.categorical import Categorical
from posteriori.distributions.labels import decode_labels
from posteriori.drawing.drawing import Drawing
from posteriori.factors import Decoding, Factor
from posteriori.factors.axes import Label, Names, as_names
from posteriori.networks import reasons
from posteriori.networks.conditionals import Piece, factor_of, pieces_of
from posteriori.networks.flat_network import tabulate_network
from posteriori.networks.jeffrey import fit_margins
from posteriori.networks.marginal_view import NetworkMarginals
from posteriori.networks.network_drawing import draw_network
from posteriori.networks.network_engine import Engine, Findings
from posteriori.networks.network_evidence import Given, read_known
from posteriori.networks.network_plan import NetworkPlan, describe_plan
from posteriori.networks.network_rows import encode_frame
from posteriori.networks.network_value import NetworkValue
from posteriori.networks.optima import find_optima
from posteriori.networks.other_methods import (
    METHODS,
    EliminationStep,
    cut,
    eliminate_in_order,
    enumerate_all,
    pass_on_tree,
)
from posteriori.numerics.random import as_generator, as_size
from posteriori.numerics.types import Array, Seed
from posteriori.numerics.validation import hint
from posteriori.tables import JointTable
from posteriori.tables.table_query import parse_assignment, parse_query, refuse_variable

__all__ = ["BayesianNetwork"]

#: A notebook shows networks of up to so many variables.
_MOST_SHOWN = 60


class BayesianNetwork(NetworkValue):
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
    >>> from posteriori.tables import ConditionalTable
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

    @cached_property
    def _engine(self) -> Engine:
        return Engine(tabulate_network(self.conditionals.values(), self.labels))

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
            In which variables are eliminated, by "variable elimination" or by the tree of cliques.

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
        wanted = None if order is None else self._order(order, method)
        if method is None:
            total, p = self._engine.joint(targets, findings, order=wanted)
            if total == -np.inf or self._is_impossible(findings):
                self._refuse(findings)
        else:
            p = self._answer_by(method, asked.targets, findings, wanted)
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
            its probability together with what is given; likelihoods are multiplied, new marginals are not.
        """
        findings = self._findings(given, virtual, soft)
        names = self.names if of is None else as_names(of, "of")
        if of is not None and not names:
            raise ValueError("of names no variable; leave it out to ask for all")
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
        """Iterate over every assignment of highest probability, at most ``limit`` of them."""
        if not isinstance(limit, Integral) or limit < 0:
            raise ValueError(f"limit must be a whole number from 0 on, got {limit!r}")
        findings = self._findings(given)
        if self._is_impossible(findings):
            self._refuse(findings)
        found = find_optima(self._engine, findings, int(limit))
        return (
            {name: self.labels[name][states[v]] for v, name in enumerate(self.labels)}
            for states in found
        )

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
        v = self._place(target)
        states = encode_frame(frame, self.labels, self._engine.network.places, without=target)
        if not len(states):
            return np.zeros((0, len(self.labels[target])))
        total, p = self._engine.rows(v, states)
        if (total == -np.inf).any():
            row = int(np.flatnonzero(total == -np.inf)[0])
            seen = {u: int(s) for u, s in enumerate(states[row].tolist()) if s >= 0}
            self._refuse(Findings(seen, {}), f"row {row}: ")
        return p

    def sample(
        self, size: int | tuple[int, ...] | None = None, given: Given = None, *, rng: Seed = None
    ) -> dict[str, Any]:
        """Draw rows, exactly also under evidence.

        Returns
        -------
        dict
            For each name an array of labels of shape ``size``; one label, if ``size`` is None.
        """
        shape, findings = as_size(size), self._findings(given)
        if self._is_impossible(findings):
            self._refuse(findings)
        drawn = self._engine.draw(math.prod(shape), findings, as_generator(rng))
        columns = drawn.T.reshape(drawn.shape[1], *shape)
        return {
            name: decode_labels(columns[v], self.labels[name]) for v, name in enumerate(self.labels)
        }

    def plan(self, given: Names | Mapping[str, Label] | None = None) -> NetworkPlan:
        """Say what all marginals will take, given some variables, before anything runs.

        Parameters
        ----------
        given : str, mapping or iterable of str, optional
            States, as for :meth:`marginals`; or names alone, since states do not matter here.

        Raises
        ------
        MemoryError
            When no machine has room for the tables.
        """
        if isinstance(given, Mapping) or (isinstance(given, str) and "=" in given):
            names: Iterable[str] = parse_assignment(given, self.labels)
        else:
            names = () if given is None else as_names(given, "given")
        observed = {self._place(name): 0 for name in names}
        plan, network = self._engine.plan(None, Findings(observed, {}), memory=np.inf)
        return describe_plan(plan, tuple(network.places))

    def elimination(
        self, question: Names, given: Given = None, *, order: Sequence[str] | None = None
    ) -> list[EliminationStep]:
        """Return the steps of variable elimination: what is multiplied, and the table that is left."""
        asked = parse_query(question, self.labels, given)
        findings = self._findings(asked.given)
        wanted = None if order is None else self._order(order, "variable elimination")
        return self._eliminate(asked.targets, findings, wanted)[0]

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
                own = factor_of(piece, self.labels)
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

    # -- pictures --------------------------------------------------------------------------

    def draw(self, given: Given = None) -> Drawing:
        """Return a drawing: probabilities as bars, what is given shaded; in a notebook it shows itself."""
        return draw_network(self, given)

    def _repr_svg_(self) -> str | None:
        return self.draw().svg() if len(self.labels) <= _MOST_SHOWN else None

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
            refuse_variable(name, self.labels)
        return self._engine.network.places[name]

    def _order(self, order: Names, method: str | None) -> list[int]:
        """Return variables by index in the order in which they are to be eliminated."""
        if method in ("enumeration", "sum-product"):
            raise ValueError(f"order is not used by method={method!r}; leave one of them out")
        return [self._place(name) for name in as_names(order, "order")]

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
            return fit_margins(self._engine, findings, wanted, self.labels)
        return findings

    def _is_impossible(self, findings: Findings) -> bool:
        zeros = self._has_zeros or not all(x.all() for x in findings.likelihoods.values())
        return zeros and self._engine.log_total(findings) == -np.inf

    def _refuse(self, findings: Findings, before: str = "") -> NoReturn:
        """Name findings that contradict each other, none of which can be left out."""
        least = reasons.contradiction(self._engine, findings)
        names = tuple(self._engine.network.places)
        told = [f"{names[v]}={self.labels[names[v]][s]}" for v, s in least.states.items()]
        told += [f"the likelihoods of {names[v]}" for v in least.likelihoods]
        alone = len(least.states) == 1 and not least.likelihoods
        verb = "is impossible" if alone else "contradict each other"
        raise ValueError(f"{before}the evidence has probability 0: {', '.join(told)} {verb}")

    def _answer_by(
        self, method: str, targets: Sequence[str], findings: Findings, order: list[int] | None
    ) -> Array:
        if method not in METHODS:
            raise ValueError(
                f"method must be one of {', '.join(METHODS)}; got {method!r}{hint(method, METHODS)}"
            )
        if method == "junction tree":
            places = [self._place(name) for name in targets]
            if len(places) > 1 or order is not None:
                total, p = self._engine.joint(places, findings, order=order)
            else:
                total, p = self._engine.marginals(findings)
                p = p[slice(*self._first_state[places[0] : places[0] + 2])]
            if total == -np.inf or self._is_impossible(findings):
                self._refuse(findings)
            return p
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
            f"likelihood of {names[v]}": factor_of(Piece((names[v],), x), self.labels)
            for v, x in findings.likelihoods.items()
        }
        return cut({**self.factors(), **likelihoods}, known)

    def _eliminate(
        self, targets: Sequence[str], findings: Findings, order: list[int] | None
    ) -> tuple[list[EliminationStep], Factor]:
        factors = list(self._cut_factors(findings).values())
        names = tuple(self._engine.network.places)
        if order is None:
            places = [self._place(name) for name in targets]
            plan, _ = self._engine.plan(places, findings, kind="total")
            order = list(plan.order)
        free = {name for factor in factors for name in factor.names}
        wanted = [names[v] for v in order if names[v] in free and names[v] not in targets]
        rest = [name for name in free if name not in wanted and name not in targets]
        return eliminate_in_order(factors, [*wanted, *sorted(rest)])
