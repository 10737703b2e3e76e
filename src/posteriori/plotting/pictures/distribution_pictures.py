"""Which picture suits which distribution."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from posteriori.distributions import Categorical, Dirichlet, PointMass
from posteriori.plotting.parts.members import Member
from posteriori.plotting.parts.part_names import unstack
from posteriori.plotting.parts.style import Axes
from posteriori.plotting.pictures.bars import draw_bars
from posteriori.plotting.pictures.contours import draw_contours, draw_simplex
from posteriori.plotting.pictures.density_curves import draw_curves
from posteriori.plotting.pictures.forest import draw_forest

__all__ = ["PLOTTABLE", "Picture", "picture_of"]

PLOTTABLE = """\
a distribution of one number (curve or stems), of two numbers (contours), of categories (bars) or \
of a vector (intervals), single or batched; a PointMass; a list or a mapping from names to such \
distributions; a BayesResult; a list or a mapping from names to LogEvidence; a Reliability or \
Confusion; a fitted classifier of two columns; a fitted regression of one column; a fitted mixture of one or two \
columns; a fitted histogram or kernel density of one column"""


class Picture(NamedTuple):
    """A way to draw, what it draws, and the size that suits it."""

    draw: Callable[..., None]
    members: Mapping[str, Member]
    size: tuple[float, float]

    def paint(self, axes: Axes, options: Mapping[str, Any]) -> None:
        """Draw on axes, after a look at the names of the options."""
        allowed = [p.name for p in inspect.signature(self.draw).parameters.values()][2:]
        for name in options:
            if name not in allowed:
                kind = self.draw.__name__.removeprefix("draw_")
                raise TypeError(
                    f"{name} is no option of a plot of {kind}; "
                    f"it takes label, {', '.join(sorted(allowed))}"
                )
        self.draw(axes, self.members, **options)


def picture_of(things: Mapping[Any, Any], label: Any = None) -> Picture:
    """Return how to draw named distributions together.

    Raises
    ------
    TypeError
        When they cannot share one pair of axes, or one cannot be drawn at all.
    """
    members: dict[str, Member] = {}
    draws = {}
    for name, d in things.items():
        draw = _way(d)
        draws[draw] = type(d).__name__
        for text, member in unstack(d, label if d.batch_shape else name).items():
            own = text if name is None or not d.batch_shape else f"{name}, {text}"
            members[_unused(own, members)] = member
    if len(draws) > 1:
        raise TypeError(
            f"{' and '.join(draws.values())} cannot share one pair of axes; plot them one by one"
        )
    ((draw, _),) = draws.items()
    sizes = {getattr(m.batch, "n_categories", m.batch.event_shape) for m in members.values()}
    if len(sizes) > 1:
        listed = ", ".join(map(str, sorted(sizes)))
        raise TypeError(f"events of sizes {listed} cannot share one pair of axes")
    return Picture(draw, members, _size(draw, members))


def _way(d: Any) -> Callable[..., None]:
    """Return the function that draws a distribution."""
    shape = d.event_shape
    if isinstance(d, Categorical):
        return draw_bars
    if isinstance(d, Dirichlet) and shape == (3,):
        return draw_simplex
    if shape == ():
        return draw_curves
    if shape == ((), ()):
        return draw_contours
    if len(shape) == 1 and isinstance(shape[0], int) and not isinstance(d, PointMass):
        if shape == (2,) and not isinstance(d, Dirichlet) and _fills_the_plane(d):
            return draw_contours
        return draw_forest
    raise TypeError(
        f"{type(d).__name__} of event shape {shape} has no plot; plot takes {PLOTTABLE}"
    )


def _fills_the_plane(d: Any) -> bool:
    """Tell whether a density surrounds the draws: counts and probabilities sit on a line."""
    draws = d.sample(50, rng=0)
    beside = draws + 1e-3 * np.array([1.0, -0.6]) * np.std(draws, axis=0)
    with np.errstate(all="ignore"):
        return bool(np.mean(np.isfinite(d.log_prob(beside))) > 0.5)


def _size(draw: Callable[..., None], members: Mapping[str, Member]) -> tuple[float, float]:
    if draw is draw_forest:
        rows = next(iter(members.values())).batch.event_shape[0] * (1 + 0.25 * (len(members) - 1))
        return 5.4, min(12.0, 1.0 + 0.32 * rows)
    if draw in (draw_contours, draw_simplex):
        return 4.8, 4.0
    return 5.4, 3.1


def _unused(text: str, taken: Mapping[str, Any]) -> str:
    """Number a label that another distribution has already."""
    count = 2
    made = text
    while made in taken:
        made = f"{text} ({count})"
        count += 1
    return made
