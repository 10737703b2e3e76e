"""How notebooks show a distribution of one number: its name above its density or masses."""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np

from posteriori.numerics.types import Array

__all__ = ["sketch"]

#: Size of the sketch of a density in pixels, and its points.
_WIDTH, _HEIGHT, _POINTS = 240.0, 60.0, 160

#: Probability beyond either end of a sketch.
_TAIL = 0.002


def sketch(distribution: Any) -> str | None:
    """Return the name of a distribution of one number above its density or masses; None where there is no sketch."""
    if distribution.batch_shape:
        return None
    try:
        low, high = np.asarray(distribution.quantile([_TAIL, 1.0 - _TAIL]), dtype=np.float64)
    except ValueError:  # improper, or too extreme for a quantile
        return None
    if not 0.0 <= high - low < np.inf:
        return None
    atoms = bool(distribution._has_atoms)
    at = _places(low, high, atoms=atoms)
    with np.errstate(all="ignore"):
        heights = np.exp(np.asarray(distribution.log_prob(at), dtype=np.float64))
    top = max(float(heights.max()) if atoms else _top(heights), 1e-300)
    y = _HEIGHT * (1.0 - np.clip(np.nan_to_num(heights, nan=0.0, posinf=top), 0.0, top) / top)
    x = _WIDTH * (at - at[0] + 0.5 * atoms) / max(at[-1] - at[0] + atoms, 1e-300)
    drawn = _masses(x, y) if atoms else _density(x, y)
    words = f"from {at[0]:.4g} to {at[-1]:.4g}"
    return (
        f"<p><code>{escape(repr(distribution))}</code></p>"
        f'<svg width="{_WIDTH:g}" height="{_HEIGHT + 4:g}" viewBox="0 -2 {_WIDTH:g} {_HEIGHT + 4:g}" role="img" '
        f'aria-label="{words}">{drawn}</svg><p><small>{words}</small></p>'
    )


def _places(low: float, high: float, *, atoms: bool) -> Array:
    """Return where a sketch is drawn: at whole numbers, about as many as there is room for, or densely."""
    if not atoms:
        return np.linspace(low, high, _POINTS)
    step = max(1.0, np.ceil((high - low) / _POINTS))
    return np.arange(np.floor(low), high + 1.0, step)


def _top(heights: Array) -> float:
    """Return how high a sketch reaches: not up to poles at its ends."""
    inner = heights[_POINTS // 32 : -_POINTS // 32]
    finite = [part[np.isfinite(part)].max(initial=0.0) for part in (heights, inner)]
    return float(min(finite[0], 1.5 * finite[1]))


def _density(x: Array, y: Array) -> str:
    line = "L".join(f"{a:.1f} {b:.1f}" for a, b in zip(x, y, strict=True))
    area = f'<path d="M0 {_HEIGHT:g}L{line}L{_WIDTH:g} {_HEIGHT:g}Z" fill="#4477aa" fill-opacity="0.2"/>'
    return f'{area}<path d="M{line}" fill="none" stroke="#4477aa" stroke-width="2"/>'


def _masses(x: Array, y: Array) -> str:
    steps = "".join(f"M{a:.1f} {_HEIGHT:g}V{b:.1f}" for a, b in zip(x, y, strict=True))
    wide = min(12.0, 0.8 * _WIDTH / len(x))
    return f'<path d="{steps}" stroke="#4477aa" stroke-width="{wide:.1f}"/>'
