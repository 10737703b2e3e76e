r"""Why an answer is what it is: what each finding did, what would tell most, on which numbers it hinges."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from posteriori.factors.axes import Label
from posteriori.inference.cliques.clique_answers import (
    clique_beliefs,
    joint_table,
    log_totals,
    marginals,
)
from posteriori.inference.cliques.clique_plan import CliquePlan, plan_cliques
from posteriori.inference.cliques.scope_beliefs import scope_belief
from posteriori.inference.cliques.table_set import TableSet
from posteriori.networks.network_engine import Engine, Findings
from posteriori.networks.network_evidence import Given
from posteriori.numerics.special import relative_entropy_terms
from posteriori.numerics.types import Array, IntArray
from posteriori.tables.table_query import Query, parse_query

if TYPE_CHECKING:
    from posteriori.networks.bayesian_network import BayesianNetwork

__all__ = ["contradiction", "information", "sensitivity", "weights_of_evidence"]


def weights_of_evidence(bn: BayesianNetwork, event: str, given: Given) -> dict[str, float]:
    """Return the log odds of an event with all findings, less those without each."""
    asked = _parse_event(bn, event, given, "weights of evidence are")
    index = bn._engine.network.places
    targets = [index[name] for name in asked.targets]
    event_at = tuple(bn.labels[name].index(asked.values[name]) for name in asked.targets)

    def log_odds(known: dict[str, Label]) -> float:
        findings = bn._findings(known)
        total, p = bn._engine.joint(targets, findings)
        if total == -np.inf or bn._is_impossible(findings):
            bn._refuse(findings)
        inside = float(p[event_at])
        p[event_at] = 0.0
        outside = float(p.sum())
        return (
            -math.inf
            if inside == 0.0
            else math.inf
            if outside == 0.0
            else math.log(inside / outside)
        )

    every = log_odds(dict(asked.given))
    found = {}
    for name in asked.given:
        without = log_odds({n: v for n, v in asked.given.items() if n != name})
        found[name] = 0.0 if every == without else every - without
    return found


def information(bn: BayesianNetwork, name: str, given: Given) -> dict[str, float]:
    r"""Return :math:`I(x; y \mid e) = \sum_x p(x \mid e)\, D(p(y \mid x, e) \| p(y \mid e))` for each y."""
    now = bn.marginals(given)
    findings, v = bn._findings(given), bn._place(name)
    if v in findings.states:
        raise ValueError(f"{name!r} is given: nothing more can be told about it")
    plan, network = bn._engine.plan(None, Findings({**findings.states, v: 0}, {}))
    states = np.full((len(bn.labels[name]), network.tables.sizes.size), -1, dtype=np.int64)
    for u, state in findings.states.items():
        states[:, u] = state
    states[:, v] = np.arange(len(states))
    weights = now[name].probabilities
    possible = weights > 0.0
    told = marginals(plan, network.tables, states[possible])
    found = {}
    for other, low in zip(bn.labels, bn._first_state, strict=False):
        u = bn._place(other)
        if u != v and u not in findings.states:
            p, q = (
                told.probabilities[:, low : low + len(bn.labels[other])],
                now[other].probabilities,
            )
            terms = relative_entropy_terms(p, np.broadcast_to(q, p.shape))
            found[other] = max(float(weights[possible] @ terms.sum(axis=1)), 0.0)
    return dict(sorted(found.items(), key=lambda item: -item[1]))


def sensitivity(bn: BayesianNetwork, event: str, given: Given) -> dict[str, Array]:
    r"""Return :math:`\partial p(h \mid e)/\partial\theta = \{D_{h,e}(\theta) - p(h \mid e)\,D_e(\theta)\}/p(e)`.

    D(θ) is the sum over all that a cell θ is multiplied by.
    """
    asked = _parse_event(bn, event, given, "sensitivity is")
    known, both = bn._findings(asked.given), bn._findings({**asked.given, **asked.values})
    log_known, log_both = bn._engine.log_total(known), bn._engine.log_total(both)
    if log_known == -np.inf:
        bn._refuse(known)
    p = math.exp(log_both - log_known)
    found = {}
    of_known, of_both = _derivatives(bn, known, log_known), _derivatives(bn, both, log_known)
    for name, d in of_known.items():
        found[name] = of_both[name] - p * d
    return found


def contradiction(engine: Engine, findings: Findings) -> Findings:
    """Return findings that are impossible together, none of which can be left out."""
    left = findings
    for part in ("likelihoods", "states"):
        for v in getattr(findings, part):
            rest = {u: x for u, x in getattr(left, part).items() if u != v}
            without = left._replace(**{part: rest})
            if engine.log_total(without) == -np.inf:
                left = without
    return left


def _parse_event(bn: BayesianNetwork, event: str, given: Given, what: str) -> Query:
    """Read an event and what is known."""
    asked = parse_query(event, bn.labels, given)
    if not asked.values:
        name = asked.targets[0]
        raise ValueError(f"{what} of an event such as {name}={bn.labels[name][-1]}, got {event!r}")
    return asked


def _derivatives(bn: BayesianNetwork, findings: Findings, log_scale: float) -> dict[str, Array]:
    """Return ∂p(findings)/∂θ, divided by e to the scale, for all tables of conditionals that have one."""
    engine = bn._engine
    tables = engine.network.tables
    plan, _ = engine.plan(None, findings)
    row = engine.row_of(findings)[0]
    beliefs = clique_beliefs(plan, tables, row)
    names, found = tuple(engine.network.places), {}
    pieces = np.bincount(engine.network.owner, minlength=len(bn.labels))
    for f in range(tables.n_tables):
        owner = int(engine.network.owner[f])
        if pieces[owner] > 1:
            continue
        shape = tables.sizes[tables.scope_of(f)]
        theta = bn._engine.network.tables.cells[tables.base[f] :][: int(np.prod(shape))].reshape(
            shape
        )
        theta = theta * math.exp(tables.log_scale[f])
        if beliefs.log_total > -np.inf and (theta > 0.0).all():
            belief = _family_belief(plan, tables, f, beliefs.cells, row)
            found[names[owner]] = belief / theta * math.exp(beliefs.log_total - log_scale)
        else:
            found[names[owner]] = _without_table(engine, f, findings, row, log_scale)
    return found


def _family_belief(
    plan: CliquePlan, tables: TableSet, table: int, cells: Array, row: IntArray
) -> Array:
    """Return the joint probabilities of the variables of a table, 0 where they are not as observed."""
    scope = tables.scope_of(table).tolist()
    free = [v for v in scope if row[v] < 0]
    shape = tables.sizes[scope]
    found = np.zeros(shape)
    where = tuple(slice(None) if row[v] < 0 else int(row[v]) for v in scope)
    if not free:
        found[where] = 1.0
        return found
    found[where] = scope_belief(plan, cells, free)
    return found


def _without_table(
    engine: Engine, table: int, findings: Findings, row: IntArray, log_scale: float
) -> Array:
    """Return the sum of the product of all other tables, for each cell of one with zeros."""
    tables = engine.network.tables
    scope = tables.scope_of(table).tolist()
    free_ones = [v for v in scope if row[v] < 0]
    use = np.delete(np.arange(tables.n_tables), table)
    free = np.ones(tables.sizes.size, dtype=np.int64)
    free[list(findings.states)] = 0
    found = np.zeros(tables.sizes[scope])
    where = tuple(slice(None) if row[v] < 0 else int(row[v]) for v in scope)
    others = [v for v in np.flatnonzero(free).tolist() if v not in free_ones]
    plan = plan_cliques(
        tables,
        use,
        free,
        together=[free_ones] if len(free_ones) > 1 else (),
        groups=[others, free_ones],
    )
    if free_ones:
        total, p = joint_table(plan, tables, row[None], free_ones)
        if total[0] > -np.inf:
            cells = p[0].reshape(tables.sizes[free_ones])
            found[where] = cells * math.exp(total[0] - log_scale)
    else:
        found[where] = math.exp(float(log_totals(plan, tables, row[None])[0]) - log_scale)
    return found
