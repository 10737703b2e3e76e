"""What a node answers: a node of another kind takes part in an ascent, and says what it cannot do."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from posteriori import Gamma, Model, Normal
from posteriori.modeling.binding.labelled import Axis, Table
from posteriori.modeling.contract.linear_forms import Expectation
from posteriori.modeling.variational.ascent.coordinate_ascent import ascend
from posteriori.modeling.variational.ascent.problem import Problem
from posteriori.modeling.variational.nodes.node import Message, Node
from tests.modeling.variational.models import solve, variational


class GridNode(Node):
    """A number whose density is known on a grid, of one start."""

    kind, form = "grid", "vectors"

    def __init__(self, name: str, grid: np.ndarray, restart: Axis) -> None:
        self.names, self.grid, self.restart = (name,), grid, restart
        self.logs = np.zeros(len(grid))

    @property
    def weights(self) -> np.ndarray:
        return np.exp(self.logs - self.logs.max())

    def update(self, messages: Iterable[Message]) -> None:
        parts = [table.values.item() * self.grid ** len(mine) for mine, table in messages]
        self.logs = np.sum(parts, axis=0)

    def expect(self, accesses: Sequence[Any]) -> Expectation:
        moment = np.average(self.grid ** len(accesses), weights=self.weights)
        return [(Table(np.asarray(moment), ()),)]

    def log_total(self) -> np.ndarray:
        step = self.grid[1] - self.grid[0]
        return np.array([self.logs.max() + np.log(self.weights.sum() * step)])

    def entropy(self) -> np.ndarray:
        return self.log_total() - np.average(self.logs, weights=self.weights)


def unknown_mean_and_precision() -> Any:
    m = Model()
    m.mu = Normal(1.0, variance=4.0)
    m.tau = Gamma(2.0, rate=1.0)
    m.x = Normal(m.mu, precision=m.tau).iid("n")
    return variational(m.infer(x=[0.3, 1.2, 2.9, 0.8, 1.1], factorize="full"))


def test_a_node_of_another_kind_takes_part_in_an_ascent() -> None:
    result = unknown_mean_and_precision()
    restart = result.problem.restart
    grid = GridNode("mu", np.linspace(-8.0, 10.0, 4001), restart)
    grid.logs = -((grid.grid - 1.0) ** 2)
    problem = Problem(
        result.approximation.monomials, [grid, result.problem.owner["tau"]], (), restart
    )
    found = ascend(problem, tol=1e-9, max_iter=200)
    assert found.converged
    assert_allclose(found.trace[-1], result.log_evidence, atol=1e-6)
    assert_allclose(problem.slow_bound()[0], result.log_evidence, atol=1e-6)
    ((mean,),) = grid.expect([None])
    assert_allclose(mean.values, result.marginal("mu").mean, atol=1e-5)


@pytest.mark.parametrize(
    "ask",
    [
        lambda node: node.select(0),
        lambda node: node.settle(),
        lambda node: node.natural(),
        lambda node: node.set_coordinates([]),
        lambda node: node.second_moment("mu", 0),
        lambda node: node.transform("mu", 0, np.eye(1)),
        lambda node: node.overlaps("mu"),
        lambda node: node.map_states("mu", np.eye(2)),
        lambda node: node.set_centre("mu", np.zeros(1)),
        lambda node: node.start_from("mu", 1.0, ()),
        lambda node: node.marginal("mu"),
        lambda node: node.point("mu"),
        lambda node: node.covariance(None, None),
        lambda node: node.draw(1, np.random.default_rng(0)),
        lambda node: node.highest(),
    ],
)
def test_what_a_node_does_not_state_it_refuses(ask: Callable[[Node], Any]) -> None:
    with pytest.raises(TypeError, match="the belief about mu cannot"):
        ask(GridNode("mu", np.linspace(0.0, 1.0, 3), Axis("restart", 1)))


def test_refusals_name_the_kind_of_group() -> None:
    node = GridNode("mu", np.linspace(0.0, 1.0, 3), Axis("restart", 1))
    with pytest.raises(TypeError, match="mu are a grid group"):
        node.joint_moments(["mu"])
    with pytest.raises(TypeError, match="mu, a grid group, cannot be carried over"):
        node.carried_over(("mu",))


@pytest.mark.parametrize(
    "name", ["wishart_mixture", "eight_schools", "factor_analysis", "mixture_of_regressions"]
)
def test_normal_beliefs_are_carried_over_with_their_moments(name: str) -> None:
    checked = 0
    for node in solve(name).problem.nodes:
        if node.form != "vectors":
            continue
        for names in {node.names, node.names[:1]}:
            (belief,) = node.carried_over(names)
            shifts = {n: 1.0 + np.arange(np.size(node.centre(n)[0])) for n in names}
            shifts = {n: shifts[n].reshape(node.centre(n)[0].shape) for n in names}
            moved = belief.moved(shifts)
            variances = np.diagonal(np.linalg.inv(belief.precision), axis1=-2, axis2=-1)
            for n in names:
                marginal, numbers = node.marginal(n), belief.numbers[n]
                batch = belief.batch[n]
                order = (*batch, *(i for i in range(marginal.mean.ndim) if i not in batch))
                means = np.transpose(marginal.mean, order)
                assert_allclose(belief.mean[..., numbers], means, rtol=1e-12)
                shifted = np.transpose(marginal.mean + shifts[n], order)
                assert_allclose(moved.mean[..., numbers], shifted, rtol=1e-12)
                spread = np.transpose(marginal.variance, order)
                assert_allclose(variances[..., numbers], spread, rtol=1e-9)
                checked += 1
    assert checked
