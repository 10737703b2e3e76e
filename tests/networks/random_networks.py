"""Random networks, and all their answers from the table of all variables."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from posteriori.networks import BayesianNetwork
from posteriori.tables import ConditionalTable, JointTable

__all__ = ["joint_of", "networks_with_findings", "random_network"]


def random_network(seed: int, *, most: int = 6, zeros: float = 0.0) -> BayesianNetwork:
    """Return a network of up to ``most`` variables with up to three states and three parents."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, most + 1))
    names = [f"v{i}" for i in range(n)]
    labels: dict[str, list[Any]] = {
        name: [f"s{k}" for k in range(rng.integers(2, 4))] for name in names
    }
    made = []
    for i, name in enumerate(names):
        given = rng.permutation(names[:i])[: rng.integers(0, 4)].tolist()
        shape = [len(labels[p]) for p in given] + [len(labels[name])]
        cells = rng.random(shape) + 0.05
        gone = rng.random(shape) < zeros
        gone[..., 0] = False
        cells[gone] = 0.0
        cells /= cells.sum(axis=-1, keepdims=True)
        made.append(
            ConditionalTable(name, given, cells, [*(labels[p] for p in given), labels[name]])
        )
    return BayesianNetwork(*[made[i] for i in rng.permutation(n)])


@st.composite
def networks_with_findings(draw: Any) -> tuple[BayesianNetwork, dict[str, int]]:
    """Draw a network of up to five variables, with cells of 0 among others, and states of some of them."""
    sizes = draw(st.lists(st.integers(1, 3), min_size=1, max_size=5))
    cell = st.sampled_from([0.0, 1e-9, 0.1, 0.5, 1.0])
    made = []
    for i, size in enumerate(sizes):
        given = draw(st.lists(st.integers(0, i - 1), max_size=3, unique=True)) if i else []
        shape = [*(sizes[p] for p in given), size]
        n = int(np.prod(shape))
        cells = np.reshape(draw(st.lists(cell, min_size=n, max_size=n)), shape)
        cells[..., 0] += cells.sum(axis=-1) == 0.0  # a row has something
        cells /= cells.sum(axis=-1, keepdims=True)
        made.append(ConditionalTable(f"v{i}", [f"v{p}" for p in given], cells))
    seen = {i: draw(st.integers(0, n - 1)) for i, n in enumerate(sizes) if draw(st.booleans())}
    return BayesianNetwork(*made), {f"v{i}": state for i, state in seen.items()}


def joint_of(bn: BayesianNetwork) -> JointTable:
    """Return the table of all variables."""
    ordered = [bn.conditionals[name] for name in bn.graph.topological_order()]
    return JointTable.from_conditionals(*ordered)
