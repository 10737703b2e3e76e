"""Draws from the belief of a node, and its highest point.

Beliefs of different nodes are independent; within a node everything is drawn together. Chains are
Markov chains whose steps follow from the joint moments, or probabilities, of neighbours.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from posteriori.distributions.labels import decode_labels
from posteriori.modeling.variational.nodes.chain_node import ChainNode
from posteriori.modeling.variational.nodes.conjugate_node import ConjugateNode
from posteriori.modeling.variational.nodes.discrete_node import DiscreteNode
from posteriori.modeling.variational.nodes.gaussian_node import GaussianNode
from posteriori.modeling.variational.nodes.point_node import PointNode
from posteriori.modeling.variational.stream.streamed_node import awaited
from posteriori.numerics.types import Array

__all__ = ["draw_node", "mode_of_node"]


def draw_node(node: Any, size: int, rng: np.random.Generator) -> dict[str, Any]:
    """Return draws of a node's variables, (size, *shape) each."""
    node = awaited(node)
    if isinstance(node, DiscreteNode):
        return _draw_states(node, size, rng)
    if isinstance(node, GaussianNode):
        root = np.linalg.cholesky(node.cov[0])
        noise = rng.standard_normal((size, *node.mean.shape[1:]))
        return node.unpack(node.mean[0] + _apply(root, noise))
    if isinstance(node, ChainNode):
        return node.unpack(_draw_path(*node.moments(), size, rng))
    if isinstance(node, ConjugateNode):
        return {node.names[0]: node.pick(0).sample(size, rng=rng)}
    if node.kind == "discrete":
        return _draw_states(node.node, size, rng)
    return {n: np.broadcast_to(v, (size, *np.shape(v))) for n, v in mode_of_node(node).items()}


def mode_of_node(node: Any) -> dict[str, Any]:
    """Return the most probable values of a node's variables together."""
    node = awaited(node)
    if isinstance(node, PointNode):
        return _point(node)
    if isinstance(node, DiscreteNode):
        if node.solved:
            return node.solved[0].most_likely()
        best = _best_path(node) if node.chain else _best_states(node)
        return _in_words(node, best)
    if isinstance(node, ConjugateNode):
        return {node.names[0]: node.pick(0).mode}
    mean = node.mean if isinstance(node, GaussianNode) else node.moments()[0][None]
    return {name: values[0] for name, values in node.unpack(mean).items()}


def _point(node: PointNode) -> dict[str, Any]:
    if node.kind == "conjugate":
        return {node.names[0]: node.mode[0]}
    return mode_of_node(node.node)


# -- normal chains ---------------------------------------------------------------------------


def _draw_path(mean: Array, cov: Array, cross: Array, size: int, rng: np.random.Generator) -> Array:
    """Draw v_t | v_{t-1} ~ N(m_t + Gᵀ(v_{t-1} − m_{t-1}), Σ_t − GᵀC), G = Σ_{t-1}⁻¹ C."""
    path = np.empty((size, *mean.shape))
    noise: Array = np.asarray(rng.standard_normal(path.shape))
    for t in range(mean.shape[-2]):
        center, spread = np.broadcast_to(mean[..., t, :], noise[..., t, :].shape), cov[..., t, :, :]
        if t:
            gain = np.linalg.solve(cov[..., t - 1, :, :], cross[..., t - 1, :, :])
            gone = path[..., t - 1, :] - mean[..., t - 1, :]
            center = center + _apply(np.swapaxes(gain, -1, -2), gone)
            spread = spread - np.swapaxes(gain, -1, -2) @ cross[..., t - 1, :, :]
        path[..., t, :] = center + _apply(_root(spread), noise[..., t, :])
    return path


def _apply(matrix: Array, vectors: Array) -> Array:
    return np.einsum("...ij,...j->...i", matrix, vectors)


def _root(cov: Array) -> Array:
    """Return R with R Rᵀ = Σ; differences of covariances may be singular."""
    values, vectors = np.linalg.eigh(0.5 * (cov + np.swapaxes(cov, -1, -2)))
    return vectors * np.sqrt(np.maximum(values, 0.0))[..., None, :]


# -- states ----------------------------------------------------------------------------------


def _draw_states(node: DiscreteNode, size: int, rng: np.random.Generator) -> dict[str, Any]:
    if node.solved:
        return node.solved[0].sample(size, rng=rng)
    if node.chain:
        return _in_words(node, {node.names[0]: _draw_state_path(node, size, rng)})
    codes = {}
    for name in node.names:
        p = node.probabilities(name)[0]
        codes[name] = _pick(np.broadcast_to(p, (size, *p.shape)), rng)
    return _in_words(node, codes)


def _draw_state_path(node: DiscreteNode, size: int, rng: np.random.Generator) -> Array:
    """Draw the first state, then each next one given the one before."""
    first, steps, at = _markov_chain(node)
    lead = (size, *first.shape[:-1])
    path = np.empty((*lead, steps.shape[-3] + 1), dtype=np.intp)
    path[..., 0] = _pick(np.broadcast_to(first, (*lead, first.shape[-1])), rng)
    for t in range(steps.shape[-3]):
        rows = np.broadcast_to(steps[..., t, :, :], (*lead, *steps.shape[-2:]))
        chosen = np.take_along_axis(rows, path[..., t, None, None], axis=-2)[..., 0, :]
        path[..., t + 1] = _pick(chosen, rng)
    return np.moveaxis(path, -1, 1 + at)


def _best_path(node: DiscreteNode) -> dict[str, Array]:
    """Return the most probable path of each series (Viterbi)."""
    first, steps, at = _markov_chain(node)
    score = _log(first)
    back = []
    for t in range(steps.shape[-3]):
        total = score[..., :, None] + _log(steps[..., t, :, :])
        back.append(total.argmax(axis=-2))
        score = total.max(axis=-2)
    path = [score.argmax(axis=-1)]
    for pointers in reversed(back):
        path.append(np.take_along_axis(pointers, path[-1][..., None], axis=-1)[..., 0])
    return {node.names[0]: np.moveaxis(np.stack(path[::-1], axis=-1), -1, at)}


def _markov_chain(node: DiscreteNode) -> tuple[Array, Array, int]:
    """Return p(first) (*series, K), p(next | before) (*series, T - 1, K, K) and the time's axis."""
    assert node.chain is not None
    at = node.chain.time
    pairs = node.pairs[0]
    first = np.moveaxis(node.probabilities(node.names[0])[0], at, -2)[..., 0, :]
    total = pairs.sum(axis=-1, keepdims=True)
    steps = np.where(total > 0, pairs / np.where(total > 0, total, 1.0), 1.0 / pairs.shape[-1])
    return first, steps, at


def _log(p: Array) -> Array:
    with np.errstate(divide="ignore"):
        return np.log(p)


def _best_states(node: DiscreteNode) -> dict[str, Array]:
    return {name: node.probabilities(name)[0].argmax(axis=-1) for name in node.names}


def _pick(p: Array, rng: np.random.Generator) -> Array:
    """Draw a state for each row of probabilities (..., K)."""
    edges = np.cumsum(p, axis=-1)
    u = rng.random(p.shape[:-1])[..., None] * edges[..., -1:]
    return (u >= edges[..., :-1]).sum(axis=-1)


def _in_words(node: DiscreteNode, codes: dict[str, Array]) -> dict[str, Any]:
    labels = node.bound.labels
    return {
        name: values if labels.get(name) is None else decode_labels(values, labels[name])
        for name, values in codes.items()
    }
