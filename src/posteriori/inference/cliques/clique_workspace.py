"""Room for cliques and messages of a block of rows, kept beside small plans for the next question."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from posteriori.inference.cliques.clique_plan import CliquePlan
from posteriori.inference.cliques.clique_runs import Axes, Runs, lay_runs, make_runs
from posteriori.numerics.compilation import as_kernel_indices, run
from posteriori.numerics.types import Array, IntArray

__all__ = ["Workspace", "lay_rows", "make_workspace", "return_workspace", "take_workspace"]

#: A workspace of up to so many bytes is kept.
_KEPT = 1 << 20


class Workspace(NamedTuple):
    """What loops over a block of B rows write to.

    Attributes
    ----------
    runs : Runs
        Of each row, or of all of them.
    cells, messages, tops : (B, M), (B, S), (B, C)
    floors : (C,)
    margin, rest : (W,)
        For the largest message or residual.
    axes : Axes
    """

    runs: Runs
    cells: Array
    messages: Array
    tops: Array
    floors: Array
    margin: Array
    rest: Array
    axes: Axes


def make_workspace(plan: CliquePlan, rows: int, patterns: int) -> Workspace:
    """Return a workspace for some rows, with so many patterns of what is observed: one for each, or 1."""
    arrays, cliques = plan.arrays, plan.tree.n_cliques
    sizes = int(arrays.first_cell[-1]), int(arrays.first_message[-1]), cliques
    cells, messages, tops = (np.empty((rows, size)) for size in sizes)
    margin, rest = np.empty((2, plan.widest))
    axes = Axes(*np.zeros((5, plan.longest + 2), dtype=np.int64))
    runs = make_runs(arrays, patterns)
    return Workspace(runs, cells, messages, tops, np.empty(cliques), margin, rest, axes)


def lay_rows(plan: CliquePlan, workspace: Workspace, states: IntArray) -> None:
    """Write down the loops of rows that observe variables of the tree."""
    arrays = plan.arrays
    work = len(states) * 25.0 * len(arrays.axes)
    run(lay_runs, work, arrays, states, workspace.axes, *workspace.runs)


def take_workspace(plan: CliquePlan) -> Workspace:
    """Return a workspace for one row that observes no variable of the tree, its loops written down."""
    try:
        return plan.spare.pop()
    except IndexError:
        workspace = make_workspace(plan, 1, 1)
        nothing = np.full((1, plan.arrays.sizes.size), -1, dtype=np.int64)
        lay_rows(plan, workspace, as_kernel_indices(nothing))
        return workspace


def return_workspace(plan: CliquePlan, workspace: Workspace) -> None:
    """Keep a workspace for the next question, if it is small."""
    if plan.n_bytes <= _KEPT:
        plan.spare.append(workspace)
