r"""What draws of the posterior, or weighted draws of a belief, find about the belief.

With weights w of draws of the belief, the posterior has the mean m = Σ w x and the variance
v = Σ w (x − m)². An unknown has shifted by (m − mean believed)/√v, and its spread is believed in at
the ratio (standard deviation believed)/√v: below 1, intervals are too narrow.

Reference: Y. Yao, A. Vehtari, D. Simpson & A. Gelman, "Yes, but did it work? Evaluating variational
inference", 2018.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from posteriori.numerics.types import Array

__all__ = [
    "LARGEST_SHAPE",
    "NARROW",
    "OVERLAP",
    "Deviation",
    "Reliability",
    "deviation_of_numbers",
    "deviation_of_states",
    "in_words",
    "join_reliabilities",
    "judge_deviations",
    "read_draws",
]

#: Above this k̂ weighted means do not settle, however many draws there are.
LARGEST_SHAPE = 0.7

#: Mean probability that a member is not in its most probable class, from which on classes overlap, and what is
#: learned of them as if all were in theirs is too sure.
OVERLAP = 0.004

#: Draws below which the tail of the weights is too short to tell anything.
_FEWEST = 100

#: Ratios of spreads below, and shifts above, which an unknown is named: intervals of 90 % hold 86 % there.
NARROW, _SHIFTED = 0.9, 0.3


class Deviation(NamedTuple):
    """How far the weighted draws lie from the belief about an unknown, number by number.

    Attributes
    ----------
    shifts : array
        (mean found − mean believed) / standard deviation found; of discrete unknowns the largest
        change of a probability, for each member.
    ratios : array or None
        Standard deviation believed / found; None of discrete unknowns.
    """

    shifts: Array
    ratios: Array | None = None

    @property
    def shift(self) -> float:
        """Of the number that shifted most."""
        return float(self.shifts[np.argmax(np.abs(self.shifts))])

    @property
    def ratio(self) -> float:
        """Of the number whose spread is furthest off; NaN of discrete unknowns."""
        if self.ratios is None:
            return math.nan
        return float(self.ratios[np.argmax(np.abs(np.log(self.ratios)))])

    @property
    def typical_shift(self) -> float:
        """Median size of the shifts."""
        return float(np.median(np.abs(self.shifts)))

    @property
    def typical_ratio(self) -> float:
        """Median of the ratios; NaN of discrete unknowns."""
        return math.nan if self.ratios is None else float(np.median(self.ratios))


@dataclass(frozen=True, repr=False)
class Reliability:
    """What weighing the draws of a posterior has found.

    Attributes
    ----------
    khat : float
        Pareto k̂ of the weights: below 0.7 they can be trusted. -inf where all are equal, and where
        draws are those of the posterior itself.
    effective_size : float
        1/Σ w²: how many draws of the posterior the weighted ones are worth.
    draws : int
    unknowns : mapping to Deviation
    weighed : tuple of str
        The unknowns that were drawn and weighed; all others are exact given these.
    held : tuple of str
        Unknowns of which only the best value was sought: they keep it.
    too_narrow, shifted : tuple of str
        Unknowns whose intervals are too narrow, and whose locations are off.
    unchecked : str
        Why nothing could be weighed, if so.
    """

    khat: float = -math.inf
    effective_size: float = math.inf
    draws: int = 0
    unknowns: Mapping[str, Deviation] = field(default_factory=dict)
    weighed: tuple[str, ...] = ()
    held: tuple[str, ...] = ()
    too_narrow: tuple[str, ...] = ()
    shifted: tuple[str, ...] = ()
    unchecked: str = ""

    @property
    def verdict(self) -> str:
        """The finding in words."""
        if self.unchecked:
            return f"not checked: {self.unchecked}"
        if not self.draws:
            return "exact: nothing to check"
        words = in_words(self.too_narrow, self.shifted)
        if self.khat > LARGEST_SHAPE:
            how_far = "the belief is too far from the posterior for its draws to tell how far"
            return "; ".join([*words, how_far])
        return "; ".join(words) or "the belief agrees with the posterior"

    def __repr__(self) -> str:
        if not self.draws:
            return f"Reliability: {self.verdict}"
        inner = [name for name in self.unknowns if name not in self.weighed]
        drawn = f"effective size {self.effective_size:.0f} of {self.draws} draws"
        lines = [
            f"Reliability: {self.verdict}",
            f"  k̂ = {self.khat:.2f}, {drawn}" if self.weighed else f"  {drawn} of the posterior",
            *([_weighed_words(self.weighed, inner)] if self.weighed else []),
            *([f"  held at their best values: {', '.join(self.held)}"] if self.held else []),
            *_table(self.unknowns),
        ]
        return "\n".join(lines)


def in_words(too_narrow: Iterable[str], shifted: Iterable[str] = ()) -> list[str]:
    """Return what is wrong with which unknowns."""
    narrow, moved = ", ".join(too_narrow), ", ".join(shifted)
    found = [f"intervals of {narrow} are too narrow"] if narrow else []
    return [*found, *([f"locations of {moved} are off"] if moved else [])]


def read_draws(draws: Any) -> int:
    """Return a number of draws that can be weighed."""
    try:
        size = operator.index(draws)
    except TypeError:
        raise TypeError(f"draws must be a whole number, got {draws!r}") from None
    if isinstance(draws, bool) or size < _FEWEST:
        raise ValueError(f"draws must be at least {_FEWEST}, got {draws!r}")
    return size


def judge_deviations(
    unknowns: Mapping[str, Deviation],
    *,
    khat: float,
    effective_size: float,
    draws: int,
    weighed: tuple[str, ...] = (),
    held: tuple[str, ...] = (),
) -> Reliability:
    """Name the unknowns that are off by more than the noise of the draws.

    Parameters
    ----------
    unknowns : mapping to Deviation
    khat, effective_size, draws
        Of the weights: k̂, 1/Σ w², and how many there are.
    weighed, held : tuple of str
        As of :class:`Reliability`. Nothing is weighed where draws are those of the posterior.
    """
    noise = max(1.0 / effective_size - (1.0 / draws if weighed else 0.0), 0.0) ** 0.5
    noise = noise if khat <= LARGEST_SHAPE else 0.0  # weights that miss the tails find too little
    narrow = [name for name, d in unknowns.items() if _is_narrow(d, noise)]
    if khat > LARGEST_SHAPE and not narrow:
        narrow = [name for name in unknowns if name in weighed]
    moved = [name for name, d in unknowns.items() if _is_shifted(d, noise)]
    return Reliability(
        khat, effective_size, draws, unknowns, weighed, held, tuple(narrow), tuple(moved)
    )


def join_reliabilities(found: list[Reliability]) -> Reliability:
    """Return the worst of several parts, which are independent of one another."""
    if not found:
        return Reliability()
    unknowns: dict[str, Deviation] = {}
    for one in found:
        unknowns |= one.unknowns
    return Reliability(
        max(one.khat for one in found),
        min(one.effective_size for one in found),
        min(one.draws for one in found),
        unknowns,
        weighed=tuple(name for one in found for name in one.weighed),
        held=tuple(name for one in found for name in one.held),
        too_narrow=tuple(name for one in found for name in one.too_narrow),
        shifted=tuple(name for one in found for name in one.shifted),
    )


def deviation_of_states(believed: Array, found: Array) -> Deviation:
    """Compare probabilities (M, K) of discrete members."""
    return Deviation(np.abs(found - believed).max(axis=-1))


def deviation_of_numbers(believed: tuple[Array, Array], found: tuple[Array, Array]) -> Deviation:
    """Compare means and variances (M,); what has no width, or does not tell it, agrees."""
    width = np.sqrt(found[1])
    told = np.isfinite(believed[1]) & np.isfinite(width) & (width > 0.0) & (believed[1] > 0.0)
    scale = np.where(told, width, 1.0)
    shifts = np.where(told, (found[0] - believed[0]) / scale, 0.0)
    ratios = np.where(told, np.sqrt(np.where(told, believed[1], 1.0)) / scale, 1.0)
    return Deviation(shifts, ratios)


def _is_narrow(deviation: Deviation, noise: float) -> bool:
    """Tell whether a typical ratio is small, or the smallest of M is, beyond what noise makes of it."""
    if deviation.ratios is None:
        return False
    margin = math.log(len(deviation.ratios)) ** 0.5 * noise  # √(2 ln M) errors of noise/√2
    smallest = float(deviation.ratios.min())
    return deviation.typical_ratio < NARROW or smallest < NARROW - margin


def _is_shifted(deviation: Deviation, noise: float) -> bool:
    margin = (2.0 * math.log(len(deviation.shifts))) ** 0.5 * noise
    return abs(deviation.shift) > _SHIFTED + margin


def _weighed_words(weighed: tuple[str, ...], inner: list[str]) -> str:
    exact = f"; exact given these: {', '.join(inner)}" if inner else ""
    return f"  weighed: {', '.join(weighed)}{exact}"


def _table(unknowns: Mapping[str, Deviation]) -> list[str]:
    """Return a line for each unknown: the worst of its numbers, and a typical one."""
    width = max((len(name) for name in unknowns), default=0)
    lines = [f"  {'':{width}}  shift  typical  ratio  typical"]
    for name, d in unknowns.items():
        several = len(d.shifts) > 1
        cells = [
            f"{d.shift:5.2f}",
            f"{d.typical_shift:7.2f}" if several else " " * 7,
            "     " if d.ratios is None else f"{d.ratio:5.2f}",
            f"{d.typical_ratio:7.2f}" if several and d.ratios is not None else "",
        ]
        lines.append(f"  {name:<{width}}  {'  '.join(cells)}".rstrip())
    return lines
