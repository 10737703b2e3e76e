r"""Where on the line which class is chosen: intervals between the points where the choice changes.

.. math:: R_a = \{x : a = \arg\min_{a'} \sum_k L_{ka'}\,p(x\mid C_k)\,p(C_k)\}.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtr

from posteriori.decision.class_posteriors import check_classes
from posteriori.decision.rules import check_loss, check_priors
from posteriori.distributions.base import Univariate, has_atoms
from posteriori.numerics.types import Array

__all__ = ["Region", "decision_regions"]

#: Probabilities whose quantiles are searched for changes: dense in the middle and in both tails.
_LEVELS = ndtr(np.linspace(-7.0, 7.0, 1401))


class Region(NamedTuple):
    """An interval in which one action is best.

    Attributes
    ----------
    lower, upper : float
    action : int
        Number of the action: the class, where no loss is given.
    """

    lower: float
    upper: float
    action: int


def decision_regions(
    classes: Sequence[Any], priors: Any = None, *, loss: Any = None
) -> list[Region]:
    """Return the intervals of a number x, from −∞ to ∞, and what is chosen in each.

    Parameters
    ----------
    classes : sequence of K continuous distributions of one number
        p(x | class).
    priors : array (K,), optional
        Probabilities of the classes; equal if None.
    loss : array (K, A), optional
        ``loss[k, a]`` of action a where class k is true; 1 for each error if None.

    Notes
    -----
    Changes are looked for between the quantiles of all classes, from 10⁻¹² to 1 − 10⁻¹², and
    bisected to rounding. Beyond, the choice at the last quantile stands.

    Examples
    --------
    A wide class holds both sides of a narrow one:

    >>> from posteriori import Normal
    >>> for region in decision_regions([Normal(0, variance=1), Normal(0, variance=4)]):
    ...     print(f"{region.lower:.4f} to {region.upper:.4f}: class {region.action}")
    -inf to -1.3596: class 1
    -1.3596 to 1.3596: class 0
    1.3596 to inf: class 1
    """
    members = check_numbers(check_classes(classes))
    weights, table = check_priors(priors, len(members)), check_loss(loss, len(members))

    def choose(x: Array) -> Array:
        with np.errstate(divide="ignore"):
            log_joint = np.stack([m.log_prob(x) for m in members], axis=-1) + np.log(weights)
        top = log_joint.max(axis=-1, keepdims=True)
        joint = np.exp(log_joint - np.where(np.isfinite(top), top, 0.0))
        return np.argmin(joint @ table, axis=-1)

    grid = _search_grid(members)
    chosen = choose(grid)
    steps = np.flatnonzero(np.diff(chosen))
    cuts = _bisect(choose, grid[steps], grid[steps + 1], chosen[steps])
    edges = np.concatenate([[-np.inf], cuts, [np.inf]])
    actions = chosen[np.concatenate([[0], steps + 1])]
    rows = zip(edges[:-1], edges[1:], actions, strict=True)
    return [Region(float(low), float(high), int(a)) for low, high, a in rows]


def check_numbers(members: Sequence[Any]) -> list[Univariate]:
    """Return classes that are continuous distributions of one number."""
    for k, member in enumerate(members):
        if not isinstance(member, Univariate) or has_atoms(member):
            raise TypeError(
                f"classes[{k}] must be a continuous distribution of one number, got {member!r}"
            )
    return list(members)


def _search_grid(members: Sequence[Univariate]) -> Array:
    points = np.unique(np.concatenate([np.asarray(m.quantile(_LEVELS)) for m in members]))
    points = points[np.isfinite(points)]
    middles = 0.5 * points[:-1] + 0.5 * points[1:]
    return np.union1d(points, middles)


def _bisect(choose: Callable[[Array], Array], low: Array, high: Array, chosen: Array) -> Array:
    """Return where the choice leaves ``chosen`` on the way from low to high."""
    for _ in range(80):
        middle = 0.5 * low + 0.5 * high
        stays = choose(middle) == chosen
        low, high = np.where(stays, middle, low), np.where(stays, high, middle)
    return 0.5 * low + 0.5 * high
