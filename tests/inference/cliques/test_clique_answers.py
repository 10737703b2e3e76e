"""Totals, marginals, joint tables, best states and draws, against the whole joint table."""

from __future__ import annotations

import tracemalloc
from typing import NamedTuple

import numpy as np
import pytest

from posteriori.inference.cliques import clique_groups
from posteriori.inference.cliques.clique_answers import (
    best_states,
    clique_beliefs,
    draw_states,
    joint_table,
    log_totals,
    marginals,
)
from posteriori.inference.cliques.clique_plan import plan_cliques
from posteriori.inference.cliques.scope_beliefs import entropy_of_beliefs, scope_belief
from posteriori.inference.cliques.table_set import (
    TableSet,
    gather_log_tables,
    gather_scopes,
    gather_tables,
    in_logs,
)
from posteriori.numerics import compilation


@pytest.fixture(params=["plain", "compiled"], autouse=True)
def _mode(request, monkeypatch):
    monkeypatch.setattr(compilation, "_pays", lambda body, work: request.param == "compiled")


class Case(NamedTuple):
    """Random tables, evidence, and the joint table with impossible states set to 0."""

    tables: TableSet
    states: np.ndarray
    free: np.ndarray
    joint: np.ndarray

    @property
    def all(self) -> np.ndarray:
        return np.arange(self.tables.n_tables)

    @property
    def unobserved(self) -> list[int]:
        return np.flatnonzero(self.free).tolist()

    @property
    def total(self) -> float:
        return float(self.joint.sum())

    def sum_to(self, wanted: list[int]) -> np.ndarray:
        rest = tuple(a for a in range(self.joint.ndim) if a not in wanted)
        kept = self.joint.sum(axis=rest)
        return np.transpose(kept, np.argsort(np.argsort(wanted)))


def make_case(seed: int, *, cut: bool = True, zeros: float = 0.2) -> Case:
    """Make random tables; observed variables are cut off, or have axes of one state in the tree."""
    rng = np.random.default_rng(seed)
    while True:
        n = int(rng.integers(1, 8))
        sizes = rng.integers(1, 4, size=n).tolist()
        scopes = [
            rng.choice(n, size=min(n, int(rng.integers(1, 4))), replace=False).tolist()
            for _ in range(rng.integers(0, 10))
        ]
        shapes = [[sizes[v] for v in scope] for scope in scopes]
        tables = [rng.random(shape) * (rng.random(shape) >= zeros) for shape in shapes]
        joint = np.ones(sizes)
        for scope, table in zip(scopes, tables, strict=True):
            shape = [sizes[v] if v in scope else 1 for v in range(n)]
            joint = joint * np.transpose(table, np.argsort(scope)).reshape(shape)
        seen = rng.random(n) < 0.3
        states = np.where(seen, [rng.integers(size) for size in sizes], -1)
        inside = np.zeros(sizes)
        where = tuple(slice(None) if s < 0 else slice(s, s + 1) for s in states)
        inside[where] = joint[where]
        if inside.sum() > 0.0:
            free = np.where(seen & cut, 0, 1)
            return Case(gather_tables(sizes, scopes, tables), states, free, inside)


@pytest.mark.parametrize("cut", [True, False])
@pytest.mark.parametrize("logs", [True, False])
@pytest.mark.parametrize("seed", range(20))
def test_marginals_and_total(seed, logs, cut):
    case = make_case(seed, cut=cut)
    plan = plan_cliques(case.tables, case.all, case.free)
    tables = in_logs(case.tables) if logs else case.tables
    found = marginals(plan, tables, case.states[None])
    assert found.log_total[0] == pytest.approx(np.log(case.total), rel=1e-12, abs=1e-12)
    np.testing.assert_allclose(log_totals(plan, tables, case.states[None]), found.log_total)
    for v in case.unobserved:
        low, high = plan.arrays.first_state[v : v + 2]
        expected = case.sum_to([v]) / case.total
        np.testing.assert_allclose(found.probabilities[0, low:high], expected, atol=1e-13)


@pytest.mark.parametrize("smaller", [1, 2])
@pytest.mark.parametrize("seed", range(20))
def test_small_tables_that_are_multiplied_with_one_another_first(seed, smaller, monkeypatch):
    monkeypatch.setattr(clique_groups, "_LARGE", 1)
    monkeypatch.setattr(clique_groups, "_SMALLER", smaller)
    case = make_case(seed)
    some = case.unobserved[:2]
    plan = plan_cliques(
        *(case.tables, case.all, case.free), groups=[case.unobserved[2:], some], maximize=some
    )
    value, best = best_states(plan, case.tables, case.states[None])
    sums = case.sum_to(some)
    assert value[0] == pytest.approx(np.log(sums.max()), rel=1e-12, abs=1e-12)
    assert sums[tuple(best[0, some])] == pytest.approx(sums.max(), rel=1e-12)
    test_marginals_and_total(seed, logs=False, cut=False)
    test_beliefs_of_cliques_are_joint_probabilities(seed)


def test_a_large_clique_takes_small_tables_as_one():
    rng = np.random.default_rng(0)
    scopes = [list(range(8)), *([i, i + 1] for i in range(7))]
    cells = [rng.random([2] * len(scope)) for scope in scopes]
    tables = gather_tables([2] * 8, scopes, cells)
    plan = plan_cliques(tables, np.arange(8), np.ones(8, dtype=np.int64))
    assert plan.tree.n_cliques > 1
    joint = cells[0]
    for (i, j), table in zip(scopes[1:], cells[1:], strict=True):
        joint = joint * table.reshape([2 if v in (i, j) else 1 for v in range(8)])
    found = marginals(plan, tables, np.full((1, 8), -1))
    assert found.log_total[0] == pytest.approx(np.log(joint.sum()), rel=1e-12)
    expected = [joint.sum(axis=tuple(set(range(8)) - {v})) / joint.sum() for v in range(8)]
    np.testing.assert_allclose(found.probabilities[0], np.concatenate(expected), atol=1e-13)


@pytest.mark.parametrize("seed", range(20))
def test_joint_tables_of_two_variables_in_any_order(seed):
    case = make_case(seed)
    wanted = np.random.default_rng(seed).permutation(case.unobserved)[:2].tolist()
    if not wanted:
        pytest.skip("nothing is free")
    rest = [v for v in case.unobserved if v not in wanted]
    plan = plan_cliques(case.tables, case.all, case.free, together=[wanted], groups=[rest, wanted])
    found = joint_table(plan, case.tables, case.states[None], wanted)
    expected = case.sum_to(wanted) / case.total
    np.testing.assert_allclose(found.probabilities[0], expected.ravel(), atol=1e-13)


@pytest.mark.parametrize("seed", range(20))
def test_best_states_of_all_variables_and_of_some(seed):
    case = make_case(seed)
    plan = plan_cliques(case.tables, case.all, case.free, maximize=case.unobserved)
    value, best = best_states(plan, case.tables, case.states[None])
    assert value[0] == pytest.approx(np.log(case.joint.max()), rel=1e-12, abs=1e-12)
    assert case.joint[tuple(best[0])] == pytest.approx(case.joint.max(), rel=1e-12)
    some = case.unobserved[:2]
    if some:
        rest = case.unobserved[2:]
        plan = plan_cliques(case.tables, case.all, case.free, groups=[rest, some], maximize=some)
        value, best = best_states(plan, case.tables, case.states[None])
        sums = case.sum_to(some)
        assert value[0] == pytest.approx(np.log(sums.max()), rel=1e-12, abs=1e-12)
        assert sums[tuple(best[0, some])] == pytest.approx(sums.max(), rel=1e-12)


@pytest.mark.parametrize("seed", [2, 5, 9])
def test_draws_have_the_frequencies_of_the_joint_table(seed):
    case = make_case(seed)
    plan = plan_cliques(case.tables, case.all, case.free)
    size = 2000
    drawn = draw_states(plan, case.tables, case.states, size, np.random.default_rng(seed))
    counts = np.zeros(case.joint.shape)
    np.add.at(counts, tuple(drawn.T), 1.0)
    p = case.joint / case.total
    assert not counts[p == 0.0].any()
    assert np.all(np.abs(counts / size - p) < 5.0 * np.sqrt(p * (1.0 - p) / size) + 1e-12)


@pytest.mark.parametrize("seed", range(10))
def test_beliefs_of_cliques_are_joint_probabilities(seed):
    case = make_case(seed)
    plan = plan_cliques(case.tables, case.all, case.free)
    found = clique_beliefs(plan, case.tables, case.states)
    arrays = plan.arrays
    for c in range(plan.tree.n_cliques):
        axes = arrays.axes[arrays.start[c] : arrays.start[c + 1]].tolist()
        cells = found.cells[arrays.first_cell[c] : arrays.first_cell[c + 1]]
        np.testing.assert_allclose(cells, (case.sum_to(axes) / case.total).ravel(), atol=1e-13)


@pytest.mark.parametrize("seed", range(10))
def test_beliefs_of_what_a_table_joins_and_the_entropy_of_all(seed):
    case = make_case(seed)
    plan = plan_cliques(case.tables, case.all, case.free)
    cells = clique_beliefs(plan, case.tables, case.states).cells
    for f in range(case.tables.n_tables):
        wanted = [v for v in case.tables.scope_of(f).tolist() if case.free[v]]
        if wanted:
            expected = case.sum_to(wanted) / case.total
            np.testing.assert_allclose(scope_belief(plan, cells, wanted), expected, atol=1e-13)
    p = case.joint[case.joint > 0.0] / case.total
    assert entropy_of_beliefs(plan, cells) == pytest.approx(-np.sum(p * np.log(p)), abs=1e-12)


@pytest.mark.parametrize("seed", range(10))
def test_tables_of_logarithms_and_a_plan_made_before_them(seed):
    case = make_case(seed)
    given, n = case.tables, case.tables.n_tables
    scopes = [given.scope_of(f).tolist() for f in range(n)]
    sizes = given.sizes.tolist()
    plan = plan_cliques(gather_scopes(sizes, scopes), case.all, case.free)
    ends = [*given.base.tolist(), given.cells.size]
    with np.errstate(divide="ignore"):
        logs = [np.log(given.cells[ends[f] : ends[f + 1]]) + given.log_scale[f] for f in range(n)]
    for shift in (0.0, -2000.0):
        made = gather_log_tables(sizes, scopes, [table + shift for table in logs])
        found = marginals(plan, made, case.states[None])
        expected = np.log(case.total) + n * shift
        assert found.log_total[0] == pytest.approx(expected, rel=1e-12, abs=1e-12)


def test_logarithms_too_far_apart_for_plain_numbers_stay_logarithms():
    wide = gather_log_tables([2, 2], [[0], [0, 1]], [np.array([0.0, -900.0]), np.zeros((2, 2))])
    assert wide.logs
    plan = plan_cliques(wide, np.arange(2), np.ones(2, dtype=np.int64))
    steep = gather_log_tables(
        [2, 2], [[0], [0, 1]], [np.array([0.0, -900.0]), np.array([[-900.0, -901.0], [0.0, 0.0]])]
    )
    found = marginals(plan, steep, np.array([[-1, -1]]))
    weights = np.array([1.0 + np.exp(-1.0), 2.0])  # both states of the first are at e^-900
    assert found.log_total[0] == pytest.approx(-900.0 + np.log(weights.sum()), rel=1e-13)
    np.testing.assert_allclose(found.probabilities[0, :2], weights / weights.sum(), rtol=1e-12)


def test_products_beyond_the_range_of_plain_numbers_are_taken_in_logarithms():
    # state 0 has weight 1e-600, state 1 has 1e-400: as plain numbers both would be 0, or state 0 would win
    steep = [np.array([1.0, 1e-200])] * 2 + [np.array([1e-300, 1.0])] * 2
    tables = gather_tables([2], [[0]] * 4, steep)
    plan = plan_cliques(tables, np.arange(4), np.array([1]))
    found = marginals(plan, tables, np.array([[-1]]))
    assert found.log_total[0] == pytest.approx(-400.0 * np.log(10.0), rel=1e-12)
    np.testing.assert_allclose(found.probabilities[0], [1e-200, 1.0], rtol=1e-9)


def test_impossible_rows_have_minus_infinity_and_others_their_answers():
    tables = gather_tables([2, 2], [[0, 1], [0]], [np.eye(2), np.array([0.3, 0.7])])
    plan = plan_cliques(tables, np.arange(2), np.ones(2, dtype=np.int64))
    found = marginals(plan, tables, np.array([[0, 1], [-1, 1], [0, 0]]))
    np.testing.assert_allclose(found.log_total, [-np.inf, np.log(0.7), np.log(0.3)])
    np.testing.assert_allclose(found.probabilities[1], [0.0, 1.0, 0.0, 1.0])


def test_a_table_that_is_zero_everywhere_makes_everything_impossible():
    tables = gather_tables([2], [[0]], [np.zeros(2)])
    plan = plan_cliques(tables, np.arange(1), np.array([1]))
    assert log_totals(plan, tables, np.array([[-1]]))[0] == -np.inf


def test_tables_that_do_not_fit_are_refused_before_memory_is_taken():
    n = 60
    pairs = [[i, j] for i in range(n) for j in range(i)]
    tables = gather_tables([2] * n, pairs, [np.ones((2, 2))] * len(pairs))
    plan_cliques(tables, np.arange(3), np.ones(n, dtype=np.int64))  # what is compiled is compiled
    tracemalloc.start()
    with pytest.raises(
        MemoryError, match=r"cells, the largest over 60 or more variables; there is"
    ):
        plan_cliques(tables, np.arange(len(pairs)), np.ones(n, dtype=np.int64))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2**22


@pytest.mark.parametrize("cell", [1e-250, 1.0, 1e250])
def test_totals_of_many_cliques_beyond_the_range_of_numbers(cell):
    n = 300
    tables = gather_tables([3] * n, [[v] for v in range(n)], [np.full(3, cell)] * n)
    plan = plan_cliques(tables, np.arange(n), np.ones(n, dtype=np.int64))
    total = log_totals(plan, tables, np.full((1, n), -1))
    assert total[0] == pytest.approx(n * (np.log(3.0) + np.log(cell)), rel=1e-12)


@pytest.mark.parametrize("sizes", [[2] * 12, [3] * 9, [12] * 4])
def test_memory_of_a_run_is_within_three_times_what_its_plan_says(sizes):
    n = len(sizes)
    scopes = [[v, (v + 1) % n, (v + n // 2) % n] for v in range(n)]
    cells = [np.random.default_rng(v).random([sizes[u] for u in scopes[v]]) for v in range(n)]
    tables = gather_tables(sizes, scopes, cells)
    plan = plan_cliques(tables, np.arange(n), np.ones(n, dtype=np.int64))
    states = np.full((1, n), -1)
    marginals(plan, tables, states)  # what is compiled is compiled
    plan.spare.clear()
    tracemalloc.start()
    marginals(plan, tables, states)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak <= 3.0 * plan.n_bytes


def test_rows_of_tables_without_a_free_variable():
    tables = gather_tables([2], [[0]], [np.array([0.25, 0.75])])
    plan = plan_cliques(tables, np.arange(1), np.zeros(1, dtype=np.int64))
    np.testing.assert_allclose(log_totals(plan, tables, np.array([[0], [1]])), np.log([0.25, 0.75]))
