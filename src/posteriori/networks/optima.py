"""Every assignment of highest probability, one after another."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from posteriori.inference.cliques.clique_answers import reached_cells
from posteriori.networks.network_engine import Engine, Findings
from posteriori.numerics.types import IntArray

__all__ = ["find_optima"]

#: Products of up to 4,000 tables that are equal on paper differ by less, relatively.
_TIE = 1e-12


def find_optima(engine: Engine, findings: Findings, limit: int) -> Iterator[IntArray]:
    """Yield states (n,), from the roots of the tree of cliques down, at most ``limit`` of them."""
    plan, network = engine.plan(None, findings, kind="best")
    states = np.full(network.tables.sizes.size, -1, dtype=np.int64)
    for v, state in findings.states.items():
        states[v] = state
    log_total, cells = reached_cells(plan, network.tables, states)
    if log_total == -np.inf:
        return
    arrays, sizes = plan.arrays, network.tables.sizes
    stack = [(plan.tree.n_cliques - 1, states)]
    while stack and limit > 0:
        c, here = stack.pop()
        if c < 0:
            limit -= 1
            yield here
            continue
        axes = arrays.axes[arrays.start[c] : arrays.start[c + 1]]
        shared, residual = axes[: arrays.shared[c]], axes[arrays.shared[c] :]
        shape = sizes[residual]
        n = int(np.prod(shape))
        place = int(np.ravel_multi_index(here[shared], sizes[shared])) if shared.size else 0
        run = cells[arrays.first_cell[c] + place * n :][:n]
        for r in np.flatnonzero(run >= run.max() * (1.0 - _TIE))[::-1]:
            new = here.copy()
            new[residual] = np.unravel_index(r, shape)
            stack.append((c - 1, new))
