r"""Loops that hand beliefs down the tree of cliques, :math:`p(s, r) = p(s)\,\psi_c(s, r)/\mu_c(s)`, and read marginals."""

from __future__ import annotations

import math

from posteriori.inference.cliques.clique_loops import fold
from posteriori.inference.cliques.clique_plan import PlanArrays
from posteriori.inference.cliques.clique_runs import Runs
from posteriori.numerics.compilation import kernel
from posteriori.numerics.types import Array, IntArray

__all__ = ["distribute_rows"]


@kernel(plain=True, allocates=False)
def distribute_rows(
    plan: PlanArrays,
    runs: Runs,
    states: IntArray,
    log_total: Array,
    messages: Array,
    tops: Array,
    counter: IntArray,
    margin: Array,
    rest: Array,
    cells: Array,
    found: Array,
) -> None:
    """Hand beliefs down the tree: afterwards cells are joint probabilities.

    Parameters
    ----------
    plan, runs, states, log_total, messages, tops, counter, cells
        As :func:`collect_rows` has left them.
    margin, rest : (W,)
        Room for the largest message, and for the largest residual.
    found : (B, K)
        Zeros; marginals of all variables of the tree are written. Empty where they are not asked for.
    """
    n_used = len(plan.used)
    for b in range(len(log_total)):
        if log_total[b] == -math.inf:
            continue
        r, row = b if len(runs.n_cells) > 1 else 0, cells[b]
        for c in range(len(plan.above) - 1, -1, -1):
            above, kept, n = plan.above[c], runs.kept[r][c], runs.n_cells[r][c] // runs.kept[r][c]
            for s in range(kept):
                margin[s] = 0.0 if above >= 0 else 1.0
            if above >= 0:
                i, at = n_used + c, plan.first_cell[above]
                end, low = at + runs.n_cells[r][above], plan.first_run[i]
                size, step, loops = runs.size[r], runs.step[r], runs.length[r][i]
                most = plan.maximize[above]
                fold(most, low, loops, size, step, counter, row, at, end, margin)
            owned = len(found) > 0 and plan.owned[c] > 0
            _distribute_message(c, plan, kept, n, messages[b], tops[b][c], margin, rest, owned, row)
            if len(found) > 0:
                _read_marginals(plan, states[b], c, kept, n, margin, rest, found[b])


@kernel(plain=True, allocates=False)
def _distribute_message(
    c: int,
    plan: PlanArrays,
    kept: int,
    n: int,
    messages: Array,
    top: float,
    margin: Array,
    rest: Array,
    owned: int,
    cells: Array,
) -> None:
    """Turn cells of a clique into joint probabilities: each run by p(s)/μ(s); sum them to the residual if owned."""
    at, to = plan.first_cell[c], plan.first_message[c]
    if owned:
        for i in range(n):
            rest[i] = 0.0
    for s in range(kept):
        sent = messages[to + s] * top
        share = margin[s] / sent if sent > 0.0 else 0.0
        if owned:
            for i in range(n):
                cells[at + i] *= share
                rest[i] += cells[at + i]
        else:
            for i in range(n):
                cells[at + i] *= share
        at += n


@kernel(plain=True, allocates=False)
def _read_marginals(
    plan: PlanArrays,
    states: IntArray,
    c: int,
    kept: int,
    n: int,
    margin: Array,
    rest: Array,
    found: Array,
) -> None:
    """Write the marginals that are read here: some from p(s), and those of variables that are in no separator."""
    low, shared = plan.start[c], plan.shared[c]
    inner = kept
    for a in range(plan.start[c + 1] - low):
        v = plan.axes[low + a]
        size, first = 1 if states[v] >= 0 else plan.sizes[v], plan.first_state[v]
        if a == shared:
            inner = n
        inner //= size
        if plan.read_at[v] == (c if a < shared else -1):
            if states[v] >= 0:
                found[first + states[v]] = 1.0
            elif a < shared:
                _sum_axis(margin, kept, inner, size, found, first)
            else:
                _sum_axis(rest, n, inner, size, found, first)


@kernel(plain=True, allocates=False)
def _sum_axis(table: Array, count: int, inner: int, size: int, found: Array, first: int) -> None:
    """Add a table up to one of its axes, whose next state is ``inner`` cells on."""
    at = 0
    while at < count:
        for k in range(size):
            total = 0.0
            for i in range(at, at + inner):
                total += table[i]
            found[first + k] += total
            at += inner
