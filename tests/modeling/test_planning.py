"""Plans: what they print is what runs, and costs grow as they should."""

from typing import Any

import numpy as np
import pytest

from posteriori import Bernoulli, Beta, Normal
from posteriori.modeling import Chain, Model
from posteriori.modeling.contract.costs import Cost
from tests.modeling import (
    conjugate_models as conjugate,
    discrete_models as discrete,
    scaled_models as scaled,
)
from tests.modeling.discrete_cases import CASES as DISCRETE
from tests.modeling.exact import test_gaussian as gaussian

GALLERY = {
    **{f"normal: {name}": (c.build, c.data) for name, c in gaussian.CASES.items()},
    **{f"scaled: {name}": (c.build, c.data) for name, c in scaled.CASES.items()},
    **{f"discrete: {name}": (c.build, c.data) for name, c in DISCRETE.items()},
    **{
        f"conjugate: {name}": (lambda c=c: conjugate.one_for_all(c), {"y": c.data})
        for name, c in conjugate.CASES.items()
    },
}


@pytest.mark.parametrize("name", GALLERY)
def test_what_is_printed_runs(name: str) -> None:
    build, data = GALLERY[name]
    plan = build().plan(data)
    text = str(plan)
    post = plan.run()
    assert len(post._solved.results) == len(plan.blocks)
    for block, result in zip(plan.blocks, post._solved.results, strict=True):
        assert set(block.names) == set(result.names)
        assert f"{', '.join(block.names)}: {block.method}" in text
        assert f"{', '.join(block.names)}: {block.method}" in repr(plan)
        assert f"why: {block.why}" in text
        assert f"cost: {block.cost}" in text
        assert block.cost.operations > 0
        assert block.cost.bytes > 0
        ran = order_that_ran(result)
        if ran is not None:
            assert block.order == ran
            assert len(ran) > 12 or f"order: {', '.join(ran)}" in text


def order_that_ran(result: Any) -> Any:
    """Return the order that the engine recorded."""
    if hasattr(result, "posterior") and hasattr(result.posterior, "order"):
        return result.posterior.order
    if hasattr(result, "gaussian") and hasattr(result.gaussian, "posterior"):
        return (*result.gaussian.posterior.order, result.spread)
    if hasattr(result, "solved"):
        done, chain = result.solved, result.block.graph.chain
        before, after = ([b.node for b in part.buckets] for part in (done.before, done.after))
        along = () if chain is None else chain.nodes
        nodes = (*before, *along, *after, *done.cliques.planned.order)
        return tuple(node.name for node in nodes)
    return None


def groups(n: int) -> Any:
    m = Model()
    m.mu = Normal(0.0, variance=1.0)
    m.theta = Normal(m.mu, variance=1.0).iid("g")
    m.y = Normal(m.theta, variance=1.0)
    return m.plan(y=np.zeros(n))


def steps(n: int) -> Any:
    m = Model()
    m.s = Chain(Normal(0.0, variance=1.0), lambda s: Normal(s, variance=1.0), length="t")
    m.y = Normal(m.s, variance=1.0)
    return m.plan(y=np.zeros(n))


def coins(n: int) -> Any:
    m = Model()
    m.p = Beta(1.0, 1.0)
    m.y = Bernoulli(m.p).iid("n")
    return m.plan(y=np.zeros(n))


def states(n: int) -> Any:
    return discrete.hidden_markov().plan(y=np.zeros(n))


@pytest.mark.parametrize("plan", [groups, steps, coins, states])
def test_costs_are_linear_in_the_data(plan: Any) -> None:
    (small,), (large,) = plan(1000).blocks, plan(8000).blocks
    assert large.cost.operations / small.cost.operations == pytest.approx(8.0, rel=0.02)
    assert large.cost.bytes / small.cost.bytes == pytest.approx(8.0, rel=0.02)


def test_crossed_effects_are_cubic_in_the_smaller_one() -> None:
    m = Model()
    m.a = Normal(0.0, variance=1.0).iid("i")
    m.b = Normal(0.0, variance=1.0).iid("j")
    m.y = Normal(m.a + m.b, variance=1.0)
    (block,) = m.plan(y=np.zeros((200, 40))).blocks
    assert block.order == ("a", "b")
    assert block.cost.operations > 40**3 / 3


def test_units_can_be_read() -> None:
    assert str(Cost(1234.0, 5.6e6)) == "about 1.23 k operations, 5.6 MB"
    assert str(Cost(1e3, 12.0)) == "about 1 k operations, 12 B"
