"""Discrete blocks that are solved in every sweep: one plan for all of them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from posteriori.modeling.exact.discrete import discrete_block as discrete
from posteriori.modeling.forms.state_tables import StateTable
from posteriori.modeling.variational.nodes.table_block import TableBlock, table_beliefs
from tests.modeling.discrete_cases import CASES
from tests.modeling.variational.models import by_name, variational

LIFTED = [name for name, case in CASES.items() if case.method != "member by member"]


def with_other_values(tables: list[StateTable], seed: int) -> list[StateTable]:
    rng = np.random.default_rng(seed)
    moved = (t.table.values + rng.normal(size=t.table.values.shape) for t in tables)
    return [
        t._replace(table=t.table._replace(values=v)) for t, v in zip(tables, moved, strict=True)
    ]


@pytest.mark.parametrize("name", LIFTED)
def test_a_plan_that_is_used_again_gives_the_beliefs_of_a_new_one(name: str) -> None:
    case = CASES[name]
    (block,) = case.build().plan(case.data).blocks
    first = TableBlock(block.bound, block.sizes, block.tables)
    tables = with_other_values(block.tables, 1)
    again = first.refilled(tables).solve()
    anew = TableBlock(block.bound, block.sizes, tables).solve()
    assert again.block.planned.before is first.planned.before
    assert_allclose(again.log_evidence, anew.log_evidence, rtol=1e-13)
    for variable in block.names:
        assert_allclose(again.probabilities(variable), anew.probabilities(variable), atol=1e-13)
    for mine, theirs in zip(table_beliefs(again), table_beliefs(anew), strict=True):
        assert mine.axes == theirs.axes
        assert_allclose(mine.values, theirs.values, atol=1e-13)


def test_tables_of_other_labels_get_a_plan_of_their_own() -> None:
    case = CASES["two loops"]
    (block,) = case.build().plan(case.data).blocks
    first = TableBlock(block.bound, block.sizes, block.tables)
    fewer = first.refilled(block.tables[:-1]).solve()
    anew = TableBlock(block.bound, block.sizes, block.tables[:-1]).solve()
    assert_allclose(fewer.log_evidence, anew.log_evidence, rtol=1e-13)


def test_sweeps_of_a_factorial_chain_plan_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made = []

    def counted(*arguments):
        made.append(discrete_graph(*arguments))
        return made[-1]

    discrete_graph = discrete.lifted_graph
    monkeypatch.setattr(discrete, "lifted_graph", counted)
    m, data = by_name("factorial_hmm")
    result = variational(m.infer(data, n_init=1, max_iter=20, tol=1e-2))
    assert len(result.ascent.trace) > 2
    assert len(made) <= 2  # of the priors alone, and of all factors
