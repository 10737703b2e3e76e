r"""What sets each cluster apart: means and shares of its rows, with intervals, beside those of all rows.

Rows count by their probability :math:`r_n` of being in the cluster,

.. math:: \bar x = \frac{\sum_n r_n x_n}{\sum_n r_n}, \qquad
   \text{distance} = \frac{\bar x - \bar x_{\text{all}}}{s_{\text{all}}},

and a level of a category is a column of zeros and ones.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import beta, t as student_t

from posteriori.analysis.fitting.preparation import OTHER, CodeColumns
from posteriori.analysis.table.columns import Column
from posteriori.analysis.table.wording import date_words, entry_words, number_within, short_number
from posteriori.drawing.measures import short_text
from posteriori.numerics.types import Array

__all__ = [
    "IN_DOUBT",
    "TAIL",
    "ClusterProfile",
    "Trait",
    "level_names",
    "make_profiles",
    "one_line",
    "sort_traits",
    "trait_name",
    "trait_numbers",
    "trait_words",
]

#: Rows whose largest probability is below this are in doubt.
IN_DOUBT = 0.9

#: Probability outside an interval, on each side of it.
TAIL = 0.05

#: Standard deviations between means up to which deviations are compared: of means that differ they all are smaller.
_STILL = 0.25

#: Letters of a name or a level that are told.
_LONGEST = 40

#: Jeffreys' prior of a share.
_HALF = 0.5


class Trait(NamedTuple):
    """One column of one cluster.

    Attributes
    ----------
    column : str
    kind : {"number", "date", "boolean", "category"}
    level : str
        Whose share differs most; empty for numbers and dates.
    mean, low, high : float
        Mean, or share of the level, with its 90 % interval.
    overall : float
        That of all rows.
    spread : float
        Standard deviation of all rows.
    deviation : float
        That of its own rows, of a number or a date.
    """

    column: str
    kind: str
    level: str
    mean: float
    low: float
    high: float
    overall: float
    spread: float
    deviation: float = math.nan

    @property
    def distance(self) -> float:
        """Difference from all rows, in their standard deviations."""
        return (self.mean - self.overall) / self.spread

    @property
    def widening(self) -> float:
        """Logarithm of its own deviation in those of all rows: below 0 where rows about the same mean vary less."""
        compared = (
            self.kind in ("number", "code") and abs(self.distance) < _STILL and self.deviation > 0.0
        )
        return math.log(self.deviation / self.spread) if compared else 0.0

    @property
    def strength(self) -> float:
        """How far it sets its rows apart, by where they lie or by how much they vary."""
        return max(abs(self.distance), abs(self.widening))


class ClusterProfile(NamedTuple):
    """One cluster.

    Attributes
    ----------
    cluster : int
        1 is the largest.
    rows : int
        That are most probably in it.
    expected_rows : float
        Sum of the probabilities of all rows.
    in_doubt : int
        Of its rows those whose probability is below 0.9.
    traits : tuple of Trait
        Of every column, what sets it apart most first.
    """

    cluster: int
    rows: int
    expected_rows: float
    in_doubt: int
    traits: tuple[Trait, ...]


def make_profiles(
    columns: Sequence[Column],
    encoder: CodeColumns,
    codes: Array,
    shares: Array,
    *,
    one_level: bool = False,
) -> tuple[ClusterProfile, ...]:
    """Describe all clusters.

    Parameters
    ----------
    columns : sequence of D Column
    encoder : CodeColumns
    codes : (N, D)
        What it made of the rows.
    shares : (N, K)
        p(cluster | row).
    one_level : bool
        Whether all clusters tell the share of one level of a category, which differs most among them: then
        their traits stand in one table.
    """
    traits: list[list[Trait]] = [[] for _ in range(shares.shape[1])]
    for place, column in enumerate(columns):
        known = ~np.isnan(codes[:, place])
        seen, weights = codes[known, place], shares[known]
        told = (
            _number_traits(column, seen, weights)
            if column.kind in ("number", "date")
            else _level_traits(column, level_names(column, encoder), seen, weights, one_level)
        )
        for mine, trait in zip(traits, told, strict=True):
            mine.append(trait)
    cluster, sure = shares.argmax(axis=1), shares.max(axis=1) >= IN_DOUBT
    return tuple(
        ClusterProfile(
            k + 1,
            int((cluster == k).sum()),
            float(shares[:, k].sum()),
            int(((cluster == k) & ~sure).sum()),
            sort_traits(mine),
        )
        for k, mine in enumerate(traits)
    )


def sort_traits(traits: Sequence[Trait]) -> tuple[Trait, ...]:
    """Return traits, what sets a cluster apart most first."""
    return tuple(sorted(traits, key=lambda trait: -abs(trait.distance)))


def _number_traits(column: Column, x: Array, weights: Array) -> list[Trait]:
    """Return means with intervals of Student's t, as of as many rows as the weights sum to."""
    overall, spread = float(x.mean()), float(x.std()) or 1.0
    z = (x - overall) / spread
    total = np.maximum(weights.sum(axis=0), np.finfo(float).tiny)
    mean = weights.T @ z / total
    second = weights.T @ z**2 / total
    dof = np.maximum(total - 1.0, 1e-9)  # a cluster of one row says nothing of its spread
    variance = np.maximum(second - mean**2, 0.0)
    error = np.sqrt(variance / dof)
    reach = np.where(total > 1.0, student_t.ppf(1.0 - TAIL, np.maximum(dof, 1.0)) * error, np.nan)
    name, kind = column.name, column.written
    return [
        Trait(name, kind, "", middle, middle - half, middle + half, overall, spread, deviation)
        for middle, half, deviation in zip(
            *((overall + spread * mean).tolist(), (spread * reach).tolist()),
            (spread * np.sqrt(variance)).tolist(),
            strict=True,
        )
    ]


def _level_traits(
    column: Column, names: list[str], codes: Array, weights: Array, one_level: bool
) -> list[Trait]:
    """Return the share of the level that differs most, with the interval of its Beta posterior."""
    levels = codes.astype(np.int64)
    counts = np.stack(
        [np.bincount(levels, weights=w, minlength=len(names)) for w in weights.T], axis=1
    )  # (L, K)
    total = np.maximum(counts.sum(axis=0), np.finfo(float).tiny)
    overall = np.bincount(levels, minlength=len(names)) / len(levels)
    spread = np.sqrt(overall * (1.0 - overall))
    spread[spread == 0.0] = 1.0
    distance = (counts / total - overall[:, None]) / spread[:, None]
    traits = []
    if one_level:
        distance[:] = np.abs(distance).max(axis=1, keepdims=True)
    for k, level in enumerate(np.abs(distance).argmax(axis=0).tolist()):
        level = 1 if column.kind == "boolean" else level
        inside, outside = counts[level, k], total[k] - counts[level, k]
        ends: Any = beta.ppf([TAIL, 1.0 - TAIL], _HALF + inside, _HALF + max(outside, 0.0))
        low, high = ends.tolist()
        share, all_share = float(inside / total[k]), float(overall[level])
        traits.append(
            Trait(
                column.name,
                column.written,
                names[level],
                share,
                low,
                high,
                all_share,
                float(spread[level]),
            )
        )
    return traits


def level_names(column: Column, encoder: CodeColumns) -> list[str]:
    """Return the levels of a column of codes, in the order of these."""
    if column.kind == "boolean":
        return ["", column.style or "true"]
    return [OTHER, *encoder.levels_[column.name]]


# -- in words --------------------------------------------------------------------------------


def trait_words(trait: Trait) -> str:
    """Say how a column of a group is: where its rows lie, or how much they vary, whichever sets it apart more.

    Examples
    --------
    >>> trait_words(Trait("age", "number", "", 61.2, 60.1, 62.3, 48.0, 12.0, 10.0))
    'age high, about 61.2'
    >>> trait_words(
    ...     Trait("pressure", "number", "", 101_387.2, 101_350.0, 101_420.0, 101_325.0, 40.0, 30.0)
    ... )
    'pressure high, about 101,387'
    >>> trait_words(Trait("gain", "number", "", 0.1, 0.0, 0.2, 0.0, 1.2, 2.5))
    'gain wild, sd 2.5'
    >>> trait_words(Trait("plan", "category", "year", 0.9, 0.85, 0.94, 0.5, 0.5))
    'plan is year in 90%'
    """
    if trait.level:
        often = "in" if trait.distance > 0.0 or trait.mean >= 0.5 else "only in"
        return f"{trait_name(trait, ' is {}')} {often} {trait.mean:.0%}"
    name = one_line(trait.column)
    if abs(trait.widening) > abs(trait.distance):
        return f"{name} {'wild' if trait.widening > 0.0 else 'calm'}, sd {short_number(trait.deviation, 3)}"
    if trait.kind == "date":
        return (
            f"{name} {'late' if trait.distance > 0.0 else 'early'}, about {date_words(trait.mean)}"
        )
    where = "high" if trait.distance > 0.0 else "low"
    code = trait.kind == "code"
    about = entry_words("code", trait.mean) if code else number_within(trait.mean, trait.spread)
    return f"{name} {where}, about {about}"


def trait_name(trait: Trait, level: str) -> str:
    """Name a column, followed by its level in such words."""
    return one_line(trait.column) + (level.format(one_line(trait.level)) if trait.level else "")


def one_line(name: str) -> str:
    """Return a name of a column or a level, whatever it holds, as one line; of a long one both ends."""
    return short_text(name, _LONGEST)


def trait_numbers(trait: Trait) -> tuple[str, ...]:
    """Return mean, lower and upper end of the interval, and what all rows have, as texts."""
    values = (trait.mean, trait.low, trait.high, trait.overall)
    if trait.level:
        return tuple(f"{value:.0%}" for value in values)
    if trait.kind == "number":
        return tuple(number_within(v, trait.high - trait.low, digits=4) for v in values)
    return tuple(entry_words(trait.kind, value) for value in values)
