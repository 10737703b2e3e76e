"""Random networks, and all their answers from the table of all variables."""

from __future__ import annotations

from typing import Any

import numpy as np

from posteriori.networks import BayesianNetwork
from posteriori.tables import ConditionalTable, JointTable

__all__ = ["joint_of", "random_network"]


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


def joint_of(bn: BayesianNetwork) -> JointTable:
    """Return the table of all variables."""
    ordered = [bn.conditionals[name] for name in bn.graph.topological_order()]
    return JointTable.from_conditionals(*ordered)
