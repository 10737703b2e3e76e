r"""Which class does x belong to? The one with the least expected loss.

.. math:: k(x) = \arg\min_k \sum_c L_{ck}\,p(x\mid c)\,p(c),

which for equal losses is the most probable class; decision lines are where the choice changes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from posteriori.distributions import Distribution
from posteriori.numerics.types import Array
from posteriori.plotting.parts.frame import make_room, place_legend
from posteriori.plotting.parts.members import Member
from posteriori.plotting.parts.part_names import number_text, unstack
from posteriori.plotting.parts.style import INK, Axes, axes_for, color_of, dashes_of
from posteriori.plotting.pictures.density_curves import grid_of, range_of

__all__ = ["plot_decision"]


def plot_decision(
    classes: Any,
    priors: Sequence[float] | None = None,
    ax: Any = None,
    *,
    loss: Any = None,
    between: Any = None,
) -> Axes:
    """Draw class densities times their probabilities, and the lines between the decisions.

    The background has the colour of the class that is chosen there; the dark area under the
    curves is the probability of a wrong decision.

    Parameters
    ----------
    classes : batch, list or mapping of continuous distributions of one number
        Densities p(x | class).
    priors : sequence of float, optional
        Probabilities of the classes; equal if None.
    ax : matplotlib Axes, optional
        Where to draw; a new figure if None.
    loss : array (K, K), optional
        Loss of choosing the column's class where the row's is true; 1 for each error if None.
    between : pair of float, optional
        Range of x.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    Two classes of equal spread and probability part half-way:

    >>> from posteriori import Normal
    >>> ax = plot_decision([Normal(0.0, variance=1.0), Normal(3.0, variance=1.0)])
    >>> [text for text in ax.get_legend_handles_labels()[1] if "error" in text]
    ['error 6.681%, decide at 1.5']
    """
    members = _classes(classes)
    weights = _check_priors(priors, len(members))
    losses = _check_loss(loss, len(members))
    where = range_of(list(members.values()), 0.99, between)

    def joint(x: Array) -> Array:
        return np.stack([w * m.density(x) for w, m in zip(weights, members.values(), strict=True)])

    def choose(x: Array) -> Array:
        return np.argmin(losses.T @ np.nan_to_num(joint(x)), axis=0)

    lines = _lines(choose, where)
    with axes_for(ax) as axes:
        for position, (label, member) in enumerate(members.items()):
            x, p, top = grid_of(member, where)
            make_room(axes, where, weights[position] * top)
            color, dashes = color_of(position), dashes_of(position)
            name = f"{label}, p = {number_text(weights[position])}"
            axes.plot(x, weights[position] * p, color=color, ls=dashes, label=name)
        _draw_regions(axes, choose, lines, where)
        _draw_error(axes, joint, choose, lines, where, _error(members, weights, choose, lines))
        axes.set(xlabel="x", ylabel="p(x | class) p(class)")
        place_legend(axes)
    return axes


def _lines(choose: Any, where: tuple[float, float]) -> list[float]:
    """Return the points where the choice changes, by bisection of a fine grid."""
    x = np.linspace(*where, 4001)
    chosen = choose(x)
    found = []
    for i in np.flatnonzero(np.diff(chosen)):
        low, high = x[i], x[i + 1]
        for _ in range(60):
            middle = 0.5 * (low + high)
            if choose(np.array([middle]))[0] == chosen[i]:
                low = middle
            else:
                high = middle
        found.append(float(0.5 * (low + high)))
    return found


def _draw_regions(axes: Axes, choose: Any, lines: list[float], where: tuple[float, float]) -> None:
    edges = [where[0], *lines, where[1]]
    for low, high in pairwise(edges):
        chosen = choose(np.array([0.5 * (low + high)]))[0]
        axes.axvspan(low, high, color=color_of(chosen), alpha=0.08, lw=0, zorder=0)
    for line in lines:
        axes.axvline(line, color=INK, lw=1.4)


def _draw_error(
    axes: Axes,
    joint: Any,
    choose: Any,
    lines: list[float],
    where: tuple[float, float],
    error: float | None,
) -> None:
    """Shade what the classes that are not chosen contribute."""
    sides = [side for line in lines for side in (line, np.nextafter(line, np.inf))]
    x = np.union1d(np.linspace(*where, 1001), sides)
    parts = np.nan_to_num(joint(x), posinf=0.0)
    wrong = parts.sum(axis=0) - np.take_along_axis(parts, choose(x)[None], axis=0)[0]
    text = ", ".join(map(number_text, lines))
    label = f"decide at {text}" if text else "one choice everywhere"
    if error is not None:
        label = f"error {number_text(100 * error)}%, {label}"
    axes.fill_between(x, wrong, color=INK, alpha=0.45, lw=0, label=label)


def _error(
    members: Mapping[str, Member], weights: Array, choose: Any, lines: list[float]
) -> float | None:
    """Return the probability of a wrong decision, from the cumulative probabilities."""
    edges = np.array([-np.inf, *lines, np.inf])
    inside = [*(0.5 * np.add(lines[:-1], lines[1:])), lines[-1] + 1.0] if lines else []
    chosen = choose(np.array([lines[0] - 1.0 if lines else 0.0, *inside]))
    wrong = 0.0
    for k, member in enumerate(members.values()):
        try:
            held = np.diff(member.cdf(edges))
        except (AttributeError, TypeError):
            return None
        wrong += weights[k] * float(held[chosen != k].sum())
    return wrong


def _classes(classes: Any) -> dict[str, Member]:
    if isinstance(classes, Distribution):
        members = unstack(classes)
    elif isinstance(classes, Mapping):
        members = {str(key): Member(one) for key, one in classes.items()}
    else:
        members = {f"class {i}": Member(one) for i, one in enumerate(classes)}
    for label, member in members.items():
        one = member.batch
        if not isinstance(one, Distribution) or one.event_shape != () or member.is_discrete:
            raise TypeError(f"{label} must be a continuous distribution of one number, got {one!r}")
    if len(members) < 2:
        raise ValueError("classes must hold at least two distributions")
    return members


def _check_priors(priors: Any, size: int) -> Array:
    if priors is None:
        return np.full(size, 1.0 / size)
    p = np.asarray(priors, dtype=np.float64)
    if p.shape != (size,) or np.any(p < 0) or not np.isclose(p.sum(), 1.0):
        raise ValueError(f"priors must be {size} probabilities with sum 1, got {priors!r}")
    return p


def _check_loss(loss: Any, size: int) -> Array:
    if loss is None:
        return 1.0 - np.eye(size)
    losses = np.asarray(loss, dtype=np.float64)
    if losses.shape != (size, size) or not np.all(np.isfinite(losses)):
        raise ValueError(f"loss must be a finite matrix of shape ({size}, {size}), got {loss!r}")
    return losses
