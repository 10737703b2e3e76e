r"""Questions in whole numbers: plans for a set of observed variables, kept, and runs of them."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from posteriori.inference.cliques.clique_answers import (
    best_states,
    draw_states,
    joint_table,
    log_totals,
    marginals,
)
from posteriori.inference.cliques.clique_plan import CliquePlan, plan_cliques
from posteriori.networks.flat_network import FlatNetwork, with_likelihoods
from posteriori.numerics.types import Array, IntArray

__all__ = ["Engine", "Findings"]

#: Plans that are kept, the latest.
_PLANS = 64


class Findings(NamedTuple):
    """States of observed variables, and likelihoods of the states of others, by index."""

    states: Mapping[int, int]
    likelihoods: Mapping[int, Array]


class Engine:
    """Answers about the tables of a network; plans are kept, the latest 64 of them."""

    def __init__(self, network: FlatNetwork) -> None:
        self.network = network
        self._plans: OrderedDict[object, CliquePlan] = OrderedDict()

    def plan(
        self,
        asked: Sequence[int] | None,
        findings: Findings,
        *,
        kind: str = "sum",
        rest: Sequence[int] = (),
        memory: float | None = None,
        order: Sequence[int] | None = None,
    ) -> tuple[CliquePlan, FlatNetwork]:
        """Return a plan and the tables that it is for.

        Parameters
        ----------
        asked : sequence of int or None
            Variables of a joint table, or to be maximised; None for all.
        findings : Findings
        kind : "sum", "total", "best"
        rest : sequence of int
            More variables that rows of evidence may observe.
        memory : float, optional
            Bytes that may be taken.
        order : sequence of int, optional
            In which free variables are eliminated; those that are missing go last.
        """
        network = with_likelihoods(self.network, findings.likelihoods)
        key = (
            *(None if asked is None else tuple(asked), frozenset(findings.states)),
            *(tuple(findings.likelihoods), kind, tuple(rest), order and tuple(order), memory),
        )
        found = self._plans.get(key)
        if found is None:
            found = self._make(network, asked, findings, kind, rest, memory, order)
            self._plans[key] = found
            if len(self._plans) > _PLANS:
                self._plans.popitem(last=False)
        else:
            self._plans.move_to_end(key)
        return found, network

    def _make(
        self,
        network: FlatNetwork,
        asked: Sequence[int] | None,
        findings: Findings,
        kind: str,
        rest: Sequence[int],
        memory: float | None,
        order: Sequence[int] | None,
    ) -> CliquePlan:
        tables = network.tables
        if asked is None:
            use = np.arange(tables.n_tables)
            free = np.ones(tables.sizes.size, dtype=np.int64)
            free[list(findings.states)] = 0
        else:
            weighed = [*findings.likelihoods, *rest]
            apart = kind == "sum" and not rest
            use, free = network.needed(asked, weighed, findings.states, apart=apart)
        groups: Sequence[Sequence[int]] | None = None
        together: Sequence[Sequence[int]] = ()
        maximize: Sequence[int] = ()
        unobserved = np.flatnonzero(free).tolist()
        if kind == "best" and asked is None:
            maximize = unobserved
        elif asked:
            wanted = [v for v in asked if free[v]]
            others = [v for v in unobserved if v not in set(wanted)]
            groups = [others, wanted] if wanted else None
            together = [wanted] if kind == "sum" and len(wanted) > 1 else ()
            maximize = wanted if kind == "best" else ()
        if order is not None:
            groups = _by_order(order, groups or [unobserved])
        return plan_cliques(
            *(tables, use, free),
            together=together,
            groups=groups,
            maximize=maximize,
            memory=memory,
        )

    def row_of(self, findings: Findings) -> IntArray:
        """Return findings as one row of states, (1, n)."""
        states = np.full((1, self.network.tables.sizes.size), -1, dtype=np.int64)
        for v, state in findings.states.items():
            states[0, v] = state
        return states

    def log_total(self, findings: Findings) -> float:
        """Return ln p of the findings."""
        plan, network = self.plan((), findings, kind="total")
        return float(log_totals(plan, network.tables, self.row_of(findings))[0])

    def marginals(self, findings: Findings) -> tuple[float, Array]:
        """Return ln p of the findings, and the probabilities of all states of all variables."""
        plan, network = self.plan(None, findings)
        found = marginals(plan, network.tables, self.row_of(findings))
        p = found.probabilities[0]
        first = plan.arrays.first_state
        for v, state in findings.states.items():
            p[first[v] + state] = 1.0
        return float(found.log_total[0]), p

    def joint(
        self, asked: Sequence[int], findings: Findings, **options: object
    ) -> tuple[float, Array]:
        """Return the joint table of some variables that are not observed.

        The logarithm is finite where the findings that bear on them are possible.
        """
        plan, network = self.plan(asked, findings, **options)  # type: ignore[arg-type]
        found = joint_table(plan, network.tables, self.row_of(findings), asked)
        shape = network.tables.sizes[list(asked)]
        return float(found.log_total[0]), found.probabilities[0].reshape(shape)

    def best(self, asked: Sequence[int] | None, findings: Findings) -> tuple[float, IntArray]:
        """Return ln of the largest probability, findings included, and the states there."""
        plan, network = self.plan(asked, findings, kind="best")
        value, states = best_states(plan, network.tables, self.row_of(findings))
        return float(value[0]), states[0]

    def draw(self, size: int, findings: Findings, rng: np.random.Generator) -> IntArray:
        """Draw states of all variables, (size, n)."""
        plan, network = self.plan(None, findings)
        return draw_states(plan, network.tables, self.row_of(findings)[0], size, rng)

    def rows(self, target: int, states: IntArray) -> tuple[Array, Array]:
        """Return ln of the total and p(target | row) for rows of states, −1 where nothing is observed."""
        always = np.flatnonzero((states >= 0).all(axis=0))
        sometimes = np.flatnonzero((states >= 0).any(axis=0) & (states < 0).any(axis=0))
        fixed = Findings(dict.fromkeys(always.tolist(), 0), {})
        plan, network = self.plan([target], fixed, rest=sometimes.tolist())
        found = joint_table(plan, network.tables, states, [target])
        return found.log_total, found.probabilities


def _by_order(order: Sequence[int], groups: Sequence[Sequence[int]]) -> list[Sequence[int]]:
    """Split groups into single variables as an order says; what it does not name goes last in its group."""
    found: list[Sequence[int]] = []
    for group in groups:
        inside = set(group)
        named = [v for v in order if v in inside]
        found += [[v] for v in named]
        found.append([v for v in group if v not in set(named)])
    return found
