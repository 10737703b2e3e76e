r"""What beliefs of cliques say: joint probabilities of variables that lie together, and the entropy of all.

A variable stands in the residual r of one clique, whose separator s has gone before it, so that

.. math:: H = -\sum_c \sum_{s, r} p(s, r) \ln p(r \mid s).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from posteriori.inference.cliques.clique_plan import CliquePlan
from posteriori.numerics.lazy import special
from posteriori.numerics.types import Array

__all__ = ["entropy_of_beliefs", "scope_belief"]


def scope_belief(plan: CliquePlan, cells: Array, wanted: Sequence[int]) -> Array:
    """Return the joint probabilities of free variables that some table joins, an axis for each.

    Parameters
    ----------
    plan : CliquePlan
    cells : (M,)
        Of :func:`~posteriori.inference.cliques.clique_answers.clique_beliefs`.
    wanted : sequence of int
        At least one variable, each once.
    """
    arrays, tree = plan.arrays, plan.tree
    clique = int(tree.home[min(wanted, key=lambda v: tree.position[v])])
    axes = arrays.axes[arrays.start[clique] : arrays.start[clique + 1]].tolist()
    belief = cells[arrays.first_cell[clique] : arrays.first_cell[clique + 1]]
    belief = belief.reshape(arrays.sizes[axes])
    belief = belief.sum(axis=tuple(i for i, v in enumerate(axes) if v not in wanted))
    kept = [v for v in axes if v in wanted]
    return np.transpose(belief, [kept.index(v) for v in wanted])


def entropy_of_beliefs(plan: CliquePlan, cells: Array) -> float:
    """Return the entropy of all free variables together, in nats."""
    arrays = plan.arrays
    total = float(special.entr(cells).sum())
    separators = np.diff(arrays.first_message).tolist()
    for c, n in enumerate(separators):
        belief = cells[arrays.first_cell[c] : arrays.first_cell[c + 1]].reshape(n, -1)
        total -= float(special.entr(belief.sum(axis=1)).sum())
    return total
