"""Categories and models: bars with their names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from posteriori.plotting.parts.frame import make_room, place_legend
from posteriori.plotting.parts.members import Member
from posteriori.plotting.parts.style import Axes, color_of

__all__ = ["draw_bars"]


def draw_bars(
    axes: Axes, members: Mapping[str, Member], *, names: Sequence[str] | None = None
) -> None:
    """Draw the probabilities of categories; several distributions stand side by side."""
    first = next(iter(members.values())).batch
    size = first.n_categories
    given: Any = names if names is not None else first.labels or range(size)
    if len(given) != size:
        raise ValueError(f"names has {len(given)} entries for {size} categories")
    width = 0.8 / len(members)
    places = np.arange(size)
    tallest = max(float(m.batch.probabilities[m.index].max()) for m in members.values())
    make_room(axes, (-0.6, size - 0.4), tallest)
    for position, (label, member) in enumerate(members.items()):
        probabilities = member.batch.probabilities[member.index]
        shift = width * (position - 0.5 * (len(members) - 1))
        bars = axes.bar(
            places + shift,
            probabilities,
            width=0.92 * width,
            color=color_of(position),
            alpha=0.85,
            label=label if len(members) > 1 else None,
        )
        if len(members) == 1 and size <= 12:
            axes.bar_label(bars, [f"{p:.3g}" for p in probabilities], padding=2, fontsize=9)
    _name_categories(axes, [str(one) for one in given])
    axes.set_ylabel("probability")
    place_legend(axes)


def _name_categories(axes: Axes, names: list[str]) -> None:
    step = max(1, len(names) // 20)  # so that names stay apart
    crowded = sum(map(len, names[::step])) > 45
    axes.set_xticks(
        range(0, len(names), step),
        names[::step],
        rotation=30 if crowded else 0,
        ha="right" if crowded else "center",
    )
