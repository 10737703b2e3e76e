"""What the parts of a plot are called."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np

from posteriori.numerics.types import Array
from posteriori.plotting.parts.members import Member

__all__ = ["interval_text", "number_text", "short_name", "unstack"]

#: Characters of a legend; longer texts give way to the name of the family.
_LONGEST_NAME = 60


def unstack(d: Any, label: Any = None) -> dict[str, Member]:
    """Return the members of a batch under labels that tell them apart.

    Parameters
    ----------
    d : distribution
        Single or batched.
    label : str or sequence of str, optional
        One for each member; made of the parameters that differ if None.
    """
    indices = list(np.ndindex(d.batch_shape))
    if label is None:
        labels = [short_name(d)] if not d.batch_shape else [_name(d, index) for index in indices]
    else:
        labels = [label] if isinstance(label, str) else [str(one) for one in label]
        if len(labels) != len(indices):
            raise ValueError(f"label has {len(labels)} entries for {len(indices)} distributions")
    return {text: Member(d, index) for text, index in zip(labels, indices, strict=True)}


def short_name(d: Any) -> str:
    """Return how a distribution prints, or its family where that is long."""
    text = repr(d).replace("-", "−")
    return text if len(text) <= _LONGEST_NAME else type(d).__name__.removeprefix("Univariate")


def number_text(x: Any) -> str:
    """Return a number with four digits, as labels show it."""
    value = float(x)
    if value == 0 or 1e-4 <= abs(value) < 1e6:
        text = np.format_float_positional(value, precision=4, fractional=False, trim="-")
    else:
        text = f"{value:.3g}"
    return text.replace("-", "−")


def interval_text(member: Member, mass: float) -> str:
    """Return the central interval in words."""
    low, high = member.interval(mass)
    return f"{100 * mass:.4g}%: {number_text(low)} to {number_text(high)}"


def _name(d: Any, index: tuple[int, ...]) -> str:
    """Name a member by the constructor's arguments that differ within the batch."""
    parts = {name: value for name, value in _arguments(d).items() if np.ptp(value) > 0}
    place = ", ".join(map(str, index))
    if not parts:
        return f"[{place}]"
    told = {name: np.broadcast_to(v, d.batch_shape)[index] for name, v in parts.items()}
    text = ", ".join(f"{name} {number_text(value)}" for name, value in told.items())
    same = len(set(zip(*(v.ravel() for v in parts.values()), strict=True))) < len(
        list(np.ndindex(d.batch_shape))
    )
    return f"{text} [{place}]" if same else text


def _arguments(d: Any) -> dict[str, Array]:
    """Return the numeric arguments of the constructor; of alternatives, the first."""
    found: dict[str, Array] = {}
    alternatives = False
    for name, parameter in inspect.signature(type(d)).parameters.items():
        is_alternative = parameter.kind is parameter.KEYWORD_ONLY and parameter.default is None
        if is_alternative and alternatives:
            continue
        try:
            value = np.asarray(getattr(d, name), dtype=np.float64)
        except (AttributeError, TypeError, ValueError):
            continue
        if value.shape == d.batch_shape:
            found[name] = value
            alternatives |= is_alternative
    return found
