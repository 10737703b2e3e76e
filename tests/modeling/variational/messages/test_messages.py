"""Messages are derivatives: how the expected log density changes with the moments of each node.

After its update, the belief of a node says what its messages were: q ∝ exp of their sum. Any other
belief, put in its place, must change the expected log density by the difference of E[ln q]; the
expected log density is computed without messages, from the tables of moments.
"""

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from posteriori.distributions.coordinates import inner
from posteriori.modeling.binding.labelled import Table, spread
from tests.modeling.variational.models import NAMES, solve
from tests.modeling.variational.monte_carlo import neighbours

LOOPY = {"factorial_hmm"}  # two chains that meet at each time: no product of pairs


def energy(problem: Any) -> float:
    return float(sum(problem.energies().values())[0])


@pytest.mark.parametrize("name", NAMES)
def test_messages_are_derivatives(name: str) -> None:
    problem = solve(name, sweeps=3).problem
    rng = np.random.default_rng(0)
    kinds = set()
    for node in problem.nodes:
        if node.kind == "discrete" and name in LOOPY:
            continue
        problem.reduce()
        problem.update(node)
        before = energy(problem)
        expected = DISTURB[node.kind](node, rng)
        assert abs(expected) > 1e-5  # something did change, far beyond what the next line forgives
        assert_allclose(energy(problem) - before, expected, rtol=1e-7, atol=1e-9)
        problem.update(node)  # as it was
        kinds.add(node.kind)
    assert kinds


# -- another belief in a node's place, and E[ln q] of the old one under the new less the old -----


def conjugate(node: Any, rng: np.random.Generator) -> float:
    """Move the expected statistics: ⟨η, δ⟩."""
    deltas = []
    for k, (values, axes) in enumerate(node._tables):
        delta = 0.1 * rng.standard_normal(values.shape)
        if node.family._natural_ndims[k] == 2:
            delta = delta + np.swapaxes(delta, -1, -2)
        deltas.append(delta)
        node._tables[k] = Table(values + delta, axes)
    return float(np.sum(inner(node.belief.natural, deltas, node.family._natural_ndims)))


def grid(node: Any, rng: np.random.Generator) -> float:
    """Move the expected functions: Σ c δ."""
    total = 0.0
    for key, c in zip(node.keys, node.coefficients, strict=True):
        delta = 0.1 * rng.standard_normal(c.shape)
        node._means[key] = node._means[key] + delta
        total += float(c @ delta)
    return total


def normal(node: Any, rng: np.random.Generator) -> float:
    """Move mean and covariance from where J m = h: −½ δᵀ J δ − ½ tr(J Δ)."""
    lead = (1, *(axis.size for axis in node.batch))
    cov = np.broadcast_to(node.cov, (*lead, node.size, node.size))
    precision = np.linalg.inv(cov)
    delta = rng.standard_normal(node.mean.shape)
    more = rng.standard_normal(cov.shape)
    more = more @ np.swapaxes(more, -1, -2)
    node.set(node.mean + delta, cov + more)
    square = np.einsum("...i,...ij,...j", delta, precision, delta).sum()
    return float(-0.5 * (square + (precision * more).sum()))


def sparse_normal(node: Any, rng: np.random.Generator) -> float:
    """The same, with covariances kept where numbers meet."""
    mean, cov = node.joint_moments(node.names)
    precision = np.linalg.inv(cov)
    delta = rng.standard_normal(mean.shape)
    more = rng.standard_normal(cov.shape)
    more = more @ more.T
    begin, below = node.meetings.begin, node.meetings.below
    numbers = np.argsort(node.meetings.place)
    columns = np.repeat(numbers, np.diff(begin))
    inverse = node.solution.inverse + more[columns, numbers[below]]
    node.mean, node.solution = node.mean + delta, node.solution._replace(inverse=inverse)
    return float(-0.5 * (delta @ precision @ delta + (precision * more).sum()))


def normal_chain(node: Any, rng: np.random.Generator) -> float:
    """The same, with the precision of the whole series from the covariances of neighbours."""
    length, n = node.time.size, node.size
    series = int(np.prod([axis.size for axis in node.batch]))
    mean = node._mean.values.reshape(series, length, n)
    cov = node._cov.values.reshape(series, length, n, n)
    cross = node._cross.values.reshape(series, length - 1, n, n)
    whole = whole_covariance(cov, cross)
    precision = np.linalg.inv(whole)
    delta = rng.standard_normal(mean.shape)
    root = 0.3 * rng.standard_normal(whole.shape)
    more = root @ np.swapaxes(root, -1, -2)
    blocks = more.reshape(series, length, n, length, n)
    t = np.arange(length)
    new_cov = cov + np.moveaxis(blocks[:, t, :, t, :], 0, 1)
    new_cross = cross + np.moveaxis(blocks[:, t[:-1], :, t[1:], :], 0, 1)
    for key, values in (("_mean", mean + delta), ("_cov", new_cov), ("_cross", new_cross)):
        old = getattr(node, key)
        setattr(node, key, Table(values.reshape(old.values.shape), old.axes))
    flat = delta.reshape(series, -1)
    square = np.einsum("si,sij,sj", flat, precision, flat)
    return float(-0.5 * (square + (precision * more).sum()))


def whole_covariance(cov: np.ndarray, cross: np.ndarray) -> np.ndarray:
    """Return the covariance of a Markov chain: C(s, t + 1) = C(s, t) C(t, t)⁻¹ C(t, t + 1)."""
    series, length, n, _ = cov.shape
    whole = np.zeros((series, length, n, length, n))
    for s in range(length):
        block = cov[:, s]
        whole[:, s, :, s] = block
        for t in range(s, length - 1):
            block = block @ np.linalg.solve(cov[:, t], cross[:, t])
            whole[:, s, :, t + 1] = block
            whole[:, t + 1, :, s] = np.swapaxes(block, -1, -2)
    return whole.reshape(series, length * n, length * n)


def discrete(node: Any, rng: np.random.Generator) -> float:
    if not node._pairs:
        return sum(states(node, name, rng) for name in node.names)
    return state_rows(node, rng) if len(node.names) > 1 else state_chain(node, rng)


def states(node: Any, name: str, rng: np.random.Generator) -> float:
    """Independent members: Σ δ ln p."""
    old = node.centre(name)
    new = another(old, 1, rng)
    node.set_centre(name, new)
    return float(((new - old) * safe_log(old)).sum())


def state_rows(node: Any, rng: np.random.Generator) -> float:
    """Several variables that meet once in each row: Σ δ ln p of their table."""
    ((scope, table),) = node._pairs
    labels = [s.state for s in scope.switches]
    width = len(labels)
    axes = (node.restart, *scope.rows, *labels)
    old = spread(table, axes)
    new = another(old, width, rng)
    node._pairs = [(scope, Table(new, axes))]
    for k, switch in enumerate(scope.switches):
        others = tuple(-width + i for i in range(width) if i != k)
        axes = node._probabilities[switch.name].axes
        node._probabilities[switch.name] = Table(new.sum(axis=others), axes)
    return float(((new - old) * safe_log(old)).sum())


def state_chain(node: Any, rng: np.random.Generator) -> float:
    """One chain: ln q = Σ ln q(pairs) − Σ ln q(inner states)."""
    (name,) = node.names
    old, pairs = node.centre(name)[0], neighbours(node)
    new, new_pairs = [another(old[0], 1, rng)], []
    for step in another(pairs, 1, rng):
        new_pairs.append(new[-1][..., None] * step)
        new.append(new_pairs[-1].sum(axis=-2))
    ((scope, _),) = node._pairs
    (time,) = scope.switches[0].places[0].positions.axes
    series = [axis for axis in scope.rows if axis is not time]
    axes = (node.restart, time, *series, *(s.state for s in scope.switches))
    node._pairs = [(scope, Table(np.array(new_pairs)[None], axes))]
    node._probabilities[name] = Table(np.array(new)[None], node._probabilities[name].axes)
    change = ((np.array(new_pairs) - pairs) * safe_log(pairs)).sum()
    return float(change - ((np.array(new) - old)[1:-1] * safe_log(old)[1:-1]).sum())


def another(p: np.ndarray, width: int, rng: np.random.Generator) -> np.ndarray:
    """Return random probabilities of the states that are possible, on the last axes."""
    weights = (p > 1e-40) * rng.uniform(0.2, 1.0, p.shape)
    total = weights.sum(axis=tuple(range(-width, 0)), keepdims=True)
    return weights / np.where(total > 0, total, 1.0)


def safe_log(p: np.ndarray) -> np.ndarray:
    return np.log(np.where(p > 0, p, 1.0))


DISTURB = {
    "conjugate": conjugate,
    "normal": normal,
    "sparse normal": sparse_normal,
    "normal chain": normal_chain,
    "discrete": discrete,
    "grid": grid,
}
