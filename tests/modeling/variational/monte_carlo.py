"""The bound by sampling: draws of the beliefs, and the log density of the model at them.

E[ln p(data, unknowns) − ln q(unknowns)] needs neither monomials nor messages: the densities are those
of the distributions themselves, evaluated for all draws at once because draws are one more plate.
"""

import copy
import itertools
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from scipy import special

from posteriori import Categorical, MvNormal
from posteriori.modeling import Model
from posteriori.modeling.binding.binder import Binder
from posteriori.modeling.binding.bound import child_term
from posteriori.modeling.binding.construction import member
from posteriori.modeling.binding.labelled import spread

__all__ = ["Estimate", "is_loopy", "log_joint_of_draws", "neighbours", "sampled_bound"]

DRAWS = "draws of the test"


class Estimate(NamedTuple):
    """A mean and its standard error."""

    value: float
    error: float


def sampled_bound(m: Model, data: Mapping[str, Any], *results: Any, size: int) -> Estimate:
    """Estimate the bound of the beliefs of variational results, which together know all unknowns."""
    rng = np.random.default_rng(0)
    draws: dict[str, np.ndarray] = {}
    log_q = np.zeros(size)
    loops = []
    pairs = [(result, node) for result in results for node in result.problem.nodes]
    for result, node in pairs:
        if node.kind == "discrete" and is_loopy(node):
            loops.append(node)
            continue
        found, log_prob = SAMPLERS[node.kind](node, size, rng)
        draws |= {name: values + offset(result, node, name) for name, values in found.items()}
        log_q += log_prob
    if loops:
        (node,), (result,) = loops, results
        return enumerated(
            m, data, result, node, {k: v[:400] for k, v in draws.items()}, log_q[:400]
        )
    values = log_joint_of_draws(m, data, results[0].approximation.bound, draws, size) - log_q
    return Estimate(float(values.mean()), float(values.std() / np.sqrt(size)))


def offset(result: Any, node: Any, name: str) -> Any:
    """Return how far a result moves what its node believes: nodes may count from a reference."""
    if node.kind not in ("normal", "sparse normal", "normal chain"):
        return 0
    return result.marginal(name).mean - node.marginal(name).mean


def enumerated(
    m: Model, data: Any, result: Any, node: Any, draws: Any, log_q: np.ndarray
) -> Estimate:
    """Sum over all states of a node that is optimal: ln Σ_z exp E[ln p(x, z, ·)] − E[ln q]."""
    size, bound = len(log_q), result.approximation.bound
    shapes = {name: bound.layouts[name].shape for name in node.names}
    choices = [
        range(node.sizes[n]) for n, shape in shapes.items() for _ in range(int(np.prod(shape)))
    ]
    states = np.array(list(itertools.product(*choices)), dtype=float)
    cuts = np.cumsum([np.prod(shape) for shape in shapes.values()])[:-1]
    parts = zip(shapes.items(), np.split(states, cuts, axis=1), strict=True)
    given = {n: np.repeat(part.reshape(-1, *shape), size, axis=0) for (n, shape), part in parts}
    others = {n: np.tile(v, (len(states), *np.ones(v.ndim - 1, int))) for n, v in draws.items()}
    logs = log_joint_of_draws(m, data, bound, {**others, **given}, size * len(states))
    logs = logs.reshape(len(states), size)
    means = logs.mean(axis=1)
    values = special.softmax(means) @ logs - log_q
    return Estimate(
        float(special.logsumexp(means) - log_q.mean()), float(values.std() / np.sqrt(size))
    )


# -- the model -------------------------------------------------------------------------------


def log_joint_of_draws(
    m: Model, data: Mapping[str, Any], bound: Any, draws: Mapping[str, Any], size: int
) -> np.ndarray:
    """Return ln p(data, unknowns) for each draw; missing members count nothing."""
    inputs = {k: v for k, v in data.items() if k in m._inputs}
    sizes = {axis.name: axis.size for layout in bound.layouts.values() for axis in layout.plates}
    binder = Binder(m._variables, m._inputs, inputs, {**sizes, DRAWS: size})
    binder.data = {**inputs}
    for name, variable in m._variables.items():
        values = with_draws(name, data, draws, size)
        timed = isinstance(variable.length, str)  # such plates come before all others
        binder.data[name] = np.moveaxis(values, 0, 1) if timed else values
        repeated = copy.copy(variable)
        repeated.plates = (DRAWS, *variable.plates)
        binder.bind_variable(name, repeated)
    total = np.zeros(size)
    for factor in binder.factors:
        x = spread(child_term(factor, binder).table, factor.rows + factor.events)
        at = factor.rows.index(binder.plates[DRAWS])
        logs = np.moveaxis(log_prob_of_rows(factor, x), at, 0)
        total += logs.reshape(size, -1).sum(axis=1)
    return total


def with_draws(name: str, data: Mapping[str, Any], draws: Any, size: int) -> np.ndarray:
    if name not in data:
        return np.asarray(draws[name], dtype=float)
    known = np.asarray(data[name], dtype=float)
    values = np.broadcast_to(known, (size, *known.shape)).copy()
    gaps = f"{name}[missing]"
    if gaps in draws:
        missing = np.isnan(known)
        partly = missing & ~missing.all(axis=-1, keepdims=True)
        unknown = missing if draws[gaps].shape[1] == missing.sum() else partly
        values[:, unknown] = draws[gaps]
    return values


def log_prob_of_rows(factor: Any, x: np.ndarray) -> np.ndarray:
    gaps = np.isnan(x)
    absent = gaps.any(axis=tuple(range(len(factor.rows), x.ndim)))
    logs = member(factor).log_prob(np.where(gaps, 0.0, x))
    return np.where(absent, 0.0, logs)


# -- beliefs ---------------------------------------------------------------------------------


def from_marginal(node: Any, size: int, rng: Any) -> tuple[dict[str, Any], np.ndarray]:
    draws, total = {}, np.zeros(size)
    for name in node.names:
        belief = node.marginal(name)
        draws[name] = belief.sample(size, rng=rng)
        total += np.asarray(belief.log_prob(draws[name])).reshape(size, -1).sum(axis=1)
    return draws, total


def normal(node: Any, size: int, rng: Any) -> tuple[dict[str, Any], np.ndarray]:
    """Draw jointly, and let the node take the vectors apart as it does with means."""
    lead = tuple(axis.size for axis in node.batch)
    cov = np.broadcast_to(node.cov[0], (*lead, node.size, node.size))
    belief = MvNormal(node.mean[0], cov=cov)
    vectors = belief.sample(size, rng=rng)
    log_prob = np.asarray(belief.log_prob(vectors)).reshape(size, -1).sum(axis=1)
    apart = copy.copy(node)
    apart.mean = vectors
    draws = {}
    for name in node.names:
        values, axes = apart._mean_table(name)
        order = [axes.index(axis) for axis in node.layouts[name].axes]
        draws[name] = np.transpose(values, (0, *order))
    return draws, log_prob


def sparse_normal(node: Any, size: int, rng: Any) -> tuple[dict[str, Any], np.ndarray]:
    """Draw all variables as one dense vector."""
    mean, cov = node.joint_moments(node.names)
    belief = MvNormal(mean, cov=cov)
    vectors = belief.sample(size, rng=rng)
    shapes = [node.layouts[name].shape for name in node.names]
    cuts = np.cumsum([int(np.prod(shape)) for shape in shapes])[:-1]
    parts = zip(node.names, shapes, np.split(vectors, cuts, axis=1), strict=True)
    draws = {name: part.reshape(size, *shape) for name, shape, part in parts}
    return draws, np.asarray(belief.log_prob(vectors))


def normal_chain(node: Any, size: int, rng: Any) -> tuple[dict[str, Any], np.ndarray]:
    """Draw one member after another, given the one before."""
    length, n = node.time.size, node.size
    series = tuple(axis.size for axis in node.batch)
    mean = node._mean.values[0].reshape(*series, length, n)
    cov = node._cov.values[0].reshape(*series, length, n, n)
    cross = node._cross.values[0].reshape(*series, length - 1, n, n)
    first = MvNormal(mean[..., 0, :], cov=cov[..., 0, :, :])
    path = [first.sample(size, rng=rng)]
    total = np.asarray(first.log_prob(path[0])).reshape(size, -1).sum(axis=1)
    for t in range(length - 1):
        gain = np.swapaxes(np.linalg.solve(cov[..., t, :, :], cross[..., t, :, :]), -1, -2)
        center = mean[..., t + 1, :] + np.einsum("...ij,...j", gain, path[-1] - mean[..., t, :])
        rest = cov[..., t + 1, :, :] - gain @ cross[..., t, :, :]
        step = MvNormal(center, cov=np.broadcast_to(rest, (size, *rest.shape)))
        path.append(step.sample(rng=rng))
        total += np.asarray(step.log_prob(path[-1])).reshape(size, -1).sum(axis=1)
    stacked = np.stack(path, axis=1 + len(series))
    values = stacked.reshape(size, *series, length, *(axis.size for axis in node.own))
    axes = (*node.batch, node.time, *node.own)
    order = [1 + axes.index(axis) for axis in node.layout.axes]
    return {node.name: np.transpose(values, (0, *order))}, total


def discrete(node: Any, size: int, rng: Any) -> tuple[dict[str, Any], np.ndarray]:
    if not node._pairs:
        return from_marginal(node, size, rng)
    return joint_rows(node, size, rng) if len(node.names) > 1 else state_chain(node, size, rng)


def is_loopy(node: Any) -> bool:
    """Tell whether a node is neither independent members, nor rows, nor one chain."""
    if len(node.names) == 1 or not node._pairs:
        return len(node._pairs) > 1
    rows = int(np.prod([axis.size for axis in node._pairs[0][0].rows]))
    sizes = {int(np.prod(node.bound.layouts[name].shape)) for name in node.names}
    return len(node._pairs) > 1 or sizes != {rows}


def joint_rows(node: Any, size: int, rng: Any) -> tuple[dict[str, Any], np.ndarray]:
    """Draw several variables that meet in one table for each row."""
    ((scope, table),) = node._pairs
    states = [s.state for s in scope.switches]
    rows = tuple(axis.size for axis in scope.rows)
    sizes = tuple(axis.size for axis in states)
    values = spread(table, (node.restart, *scope.rows, *states))[0].reshape(*rows, -1)
    belief = Categorical(values / values.sum(axis=-1, keepdims=True))
    codes = belief.sample(size, rng=rng)
    parts = np.unravel_index(codes, sizes)
    log_prob = np.asarray(belief.log_prob(codes)).reshape(size, -1).sum(axis=1)
    draws = {}
    for switch, part in zip(scope.switches, parts, strict=True):
        order = [1 + scope.rows.index(place) for place in switch.places]
        draws[switch.name] = np.transpose(part, (0, *order))
    return draws, log_prob


def state_chain(node: Any, size: int, rng: Any) -> tuple[dict[str, Any], np.ndarray]:
    """Draw the states of a chain in turn; its time is its first axis."""
    (name,) = node.names
    p = node.centre(name)[0]
    pairs = neighbours(node)
    first = Categorical(p[0])
    path = [first.sample(size, rng=rng)]
    total = np.asarray(first.log_prob(path[0])).reshape(size, -1).sum(axis=1)
    for t in range(len(p) - 1):
        rows = np.take_along_axis(
            np.broadcast_to(pairs[t], (size, *pairs[t].shape)), path[-1][..., None, None], axis=-2
        )[..., 0, :]
        law = Categorical(rows / rows.sum(axis=-1, keepdims=True))
        path.append(law.sample(rng=rng))
        total += np.asarray(law.log_prob(path[-1])).reshape(size, -1).sum(axis=1)
    return {name: np.stack(path, axis=1)}, total


def neighbours(node: Any) -> np.ndarray:
    """Return the joint probabilities of the states of a chain, (T − 1, *series, K, K)."""
    ((scope, table),) = node._pairs
    before, after = scope.switches
    (step,) = before.places[0].positions.axes
    series = tuple(axis for axis in scope.rows if axis is not step)
    labels = (node.restart, step, *series, before.state, after.state)
    return np.broadcast_to(spread(table, labels)[0], tuple(a.size for a in labels[1:]))


SAMPLERS = {
    "conjugate": from_marginal,
    "normal": normal,
    "sparse normal": sparse_normal,
    "normal chain": normal_chain,
    "discrete": discrete,
    "grid": from_marginal,
}
