"""Models by their evidence: log Bayes factors against the best, and probabilities."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from posteriori.numerics import LogEvidence
from posteriori.numerics.logspace import softmax
from posteriori.numerics.types import Array
from posteriori.plotting.parts.part_names import number_text
from posteriori.plotting.parts.style import COLORS, INK, Axes, axes_for

__all__ = ["draw_behind", "probability_text", "plot_evidence"]


def plot_evidence(evidences: Any, ax: Any = None, *, label: Any = None) -> Axes:
    """Draw how far each model falls behind the best one, in nats.

    Each bar is ln p(data | model) less that of the best model, a log Bayes factor; the text
    beside it is the probability of the model where all were equally probable before.

    Parameters
    ----------
    evidences : LogEvidence, or list or mapping from names to them
        All of the same data; a batch counts as a list.
    ax : matplotlib Axes, optional
        Where to draw; a new figure if None.
    label : sequence of str, optional
        Names of the models of a list or a batch.

    Returns
    -------
    matplotlib Axes

    Raises
    ------
    ValueError
        When the evidences are of different data.

    Examples
    --------
    >>> from posteriori import Bernoulli, Beta, bayes
    >>> tosses = [1, 1, 1, 0, 1, 1, 1, 1]
    >>> models = {"fair": Beta(1e6, 1e6), "unknown": Beta(1, 1)}
    >>> ax = plot_evidence({k: bayes(p, Bernoulli, tosses).log_evidence for k, p in models.items()})
    >>> [text.get_text() for text in ax.get_yticklabels()]
    ['unknown', 'fair']
    """
    values, errors, names, of = _collect(evidences, label)
    order = np.argsort(-values, kind="stable")
    behind = values - values.max()
    chance = softmax(values)
    with axes_for(ax, (5.4, min(12.0, 1.0 + 0.42 * len(values)))) as axes:
        texts = [probability_text(chance[i]) for i in order]
        draw_behind(axes, behind[order], errors[order], [names[i] for i in order], texts)
        best = number_text(values.max())
        axes.set_xlabel(f"ln p({of}) less that of the best, {best}; at right: probability")
    return axes


def draw_behind(
    axes: Axes,
    behind: Array,
    errors: Array,
    names: Sequence[str],
    texts: Sequence[str],
    colors: Sequence[str] | None = None,
) -> None:
    """Draw how far models are behind the best, with their errors, a row each; NaN is left blank.

    Parameters
    ----------
    axes : matplotlib Axes
    behind, errors : (N,)
        At most 0, and at least 0.
    names, texts : sequence of str
        At the left and at the right of each row.
    colors : sequence, optional
        Of the rows.
    """
    rows = np.arange(len(behind))
    paints = np.array(colors or [COLORS[0]] * len(rows))
    axes.hlines(rows, behind, 0.0, color=paints, lw=3)
    for color in dict.fromkeys(paints):
        mine = paints == color
        axes.plot(behind[mine], rows[mine], marker="o", ms=8, color=color, ls="none")
    for row, text in enumerate(texts):
        axes.text(1.02, row, text, va="center", transform=_right_of(axes))
    told = errors > 0
    if np.any(told):
        axes.errorbar(
            behind[told], rows[told], xerr=errors[told], color=INK, ls="none", lw=1.4, capsize=3
        )
    axes.set_yticks(rows, names)
    axes.set_ylim(len(rows) - 0.4, -0.6)
    shown = np.isfinite(behind)
    widest = max(-(behind - errors)[shown].min(), 1.0)
    axes.set_xlim(-1.06 * widest, max(0.06 * widest, 1.2 * (behind + errors)[shown].max()))


def _collect(evidences: Any, label: Any) -> tuple[Any, Any, list[str], str]:
    """Return values, errors and names of comparable evidences."""
    if isinstance(evidences, Mapping):
        parts, names = list(evidences.values()), [str(key) for key in evidences]
    else:
        parts = [evidences] if isinstance(evidences, LogEvidence) else list(evidences)
        names = [f"model {i}" for i in range(len(parts))]
    for one in parts:
        if not isinstance(one, LogEvidence):
            raise TypeError(f"evidences must be LogEvidence, got {type(one).__name__}")
        _ = one - parts[0]  # refuses what does not compare
    if not parts:
        raise ValueError("evidences is empty: name at least one")
    values = [np.ravel(one.value) for one in parts]
    errors = [
        np.broadcast_to(0.0 if one.error is None else np.ravel(one.error), np.shape(v))
        for one, v in zip(parts, values, strict=True)
    ]
    if any(len(v) > 1 for v in values):
        single = len(parts) == 1
        names = [
            (f"model {i}" if single else f"{n} [{i}]")
            for n, v in zip(names, values, strict=True)
            for i in range(len(v))
        ]
    if label is not None:
        names = [label] if isinstance(label, str) else [str(one) for one in label]
    flat = np.concatenate(values)
    if len(names) != len(flat):
        raise ValueError(f"label has {len(names)} entries for {len(flat)} models")
    return flat, np.concatenate(errors), names, parts[0].of


def _right_of(axes: Axes) -> Any:
    """Place text by the axes across, by the rows down."""
    return axes.get_yaxis_transform()


def probability_text(p: float) -> str:
    """Return a probability in percent, or as a power of ten where it is small."""
    return f"{100 * p:.1f}%" if p >= 5e-4 or p == 0 else f"{p:.0e}".replace("-", "−")
