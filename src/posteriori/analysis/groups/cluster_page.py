"""The report of groups: its sections."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from posteriori.analysis.counted.profiles import IN_DOUBT, ClusterProfile, Trait
from posteriori.analysis.fitting.preparation import OTHER
from posteriori.analysis.groups.cluster_figures import (
    draw_map,
    draw_numbers,
    draw_similarity,
)
from posteriori.analysis.groups.cluster_words import (
    TRAIT_HEADER,
    number_rows,
    profile_rows,
)
from posteriori.analysis.report.figures import at_a_glance, draw_effects
from posteriori.analysis.report.what_if import Effects
from posteriori.analysis.table.wording import counted, entry_words
from posteriori.analysis.tasks.sections import (
    Beside,
    Figure,
    Finding,
    Grid,
    Part,
    Words,
)
from posteriori.inference.mixtures.partitions.partition_center import count_together
from posteriori.mixture.groups.group_map import map_groups
from posteriori.numerics.types import Array

if TYPE_CHECKING:
    from posteriori.analysis.groups.clustering import Clustering

__all__ = ["cluster_findings", "cluster_heading", "map_rows"]

#: Rows up to which partitions are drawn: the matrix of similarities has as many cells as their square.
_MOST_SIMILAR = 2000

#: Partitions that are drawn, and sweeps before the first.
_DRAWS, _WARM_UP = 200, 50

#: Traits of a group that are listed, groups that are drawn, rows in between, and their columns.
_TRAITS, _GROUPS, _BETWEEN, _TOLD = 6, 10, 15, 4

_NUMBERS, _APART = "How many groups", "What sets the groups apart"

_PROFILES = (
    "Means and shares with their 90% intervals; of a category, the level whose share differs most. "
    "The last column is the difference from all rows, in their standard deviations."
)

#: What a group is, and where its probability comes from.
_BY_DRAWS = (
    "A group is a summit of the density of the rows, with fewer rows between it and all others. Partitions of the "
    "rows into components (normal ones, or classes in which columns are independent) were drawn from their "
    "posterior, their number unknown. Components are joined into one group unless the density between them falls "
    "below a part of the lower summit: a larger one, the more of its dips the rows show. What part makes a gap is a "
    "matter of taste: for a density all of whose dips are seen it differs from draw to draw, from 0.5 to 1. The "
    "probability of a number of groups is its share among the draws. Columns of codes have no summits: in a table "
    "without numbers every class is a group."
)
_BY_BOUNDS = (
    "The evidence is the log probability of the table under a mixture with so many components, their "
    "parameters integrated out (a bound of it for more than one). All numbers and kinds were equally "
    "probable before. Components are joined into one group where the density does not dip between them. A normal "
    "mixture has components whose columns may depend on one another; in latent classes columns are independent."
)
_ASKED = "The number was asked for. Of more components, those with the shallowest dips between them are one group."


def cluster_heading(found: Clustering, data: str) -> tuple[str, str]:
    """Name the data, and say how many rows were grouped, and how."""
    rows, columns = found.rows.frame.shape
    how = (
        f"{counted(len(found.found.tried), 'mixture')} compared by evidence"
        if found.drawn is None
        else f"{counted(len(found.drawn.groups), 'partition')} drawn from their posterior"
    )
    said = f"Groups of {counted(rows, 'row')}, told by {counted(columns, 'column')}; {how}."
    return f"Groups in {data}", said


def cluster_findings(found: Clustering) -> Iterator[Finding]:
    """Yield how many groups there are, what sets them apart, and who belongs together."""
    counts = Grid(*number_rows(found.found, found.drawn))
    yield Finding(_NUMBERS, lambda: [counts], "page" if found.asked else "both")
    yield Finding(_NUMBERS, partial(_numbers, found, len(counts.rows)))
    if found.n_clusters > 1:
        yield Finding(_APART, lambda: [Words(_PROFILES)])
        for profile in found.profiles[:_GROUPS]:
            yield Finding(_APART, partial(_profile, found, profile, _TRAITS), "both")
        yield Finding("All groups and columns", partial(_all_profiles, found), "details")
        yield Finding("Who belongs together", partial(_together, found))
        yield Finding("Rows in between", partial(_between, found))
    yield at_a_glance(found.notes, found.columns, found.rows.frame)


def _numbers(found: Clustering, shown: int) -> list[Part]:
    if len(found.numbers) == 1:
        return [Words(_ASKED)]
    drawn = Figure(draw_numbers(found.numbers[:shown], found.number_probabilities[:shown]))
    said = Words(_BY_DRAWS if found.drawn is not None else _BY_BOUNDS)
    return [Beside([drawn], [said])]


def map_rows(found: Clustering) -> Figure:
    """Draw the rows in the two directions in which their groups lie farthest apart."""
    encoder = found.rows.encoder
    codes = encoder.transform(found.rows.frame)
    levels = {
        name: (OTHER, *encoder.levels_[name]) if kind == "category" else ()
        for name, kind in encoder.kinds.items()
    }
    numbers = set(encoder.kinds.values()) <= {"number", "date"}
    made = map_groups(levels, codes, found.probabilities, numbers=numbers)
    said = (
        "Rows in the colours of their groups, with ellipses of two standard deviations; rings are rows in "
        f"doubt, whose largest probability is below {IN_DOUBT}."
    )
    if made.names[0] not in levels:
        said += (
            " The two directions are those in which the groups lie farthest apart, of columns in units of "
            "their standard deviations; named are the columns that count most in them."
        )
    return Figure(draw_map(made, found.probabilities), said)


def _profile(found: Clustering, profile: ClusterProfile, most: int | None) -> list[Part]:
    """Return the size of a group, and the columns that set it apart most."""
    components = found.n_components[profile.cluster - 1]
    if not profile.rows:
        return [Words(f"Group {profile.cluster} holds no row.")]
    head = f"Group {profile.cluster}: {counted(profile.rows, 'row')}"
    head += f", {profile.in_doubt:,} of them in doubt" if profile.in_doubt else ""
    head += f"; its shape takes {components} components" if components > 1 else ""
    listed = profile_rows(profile, most)
    if most is None:
        return [Words(head, "bold"), Grid(TRAIT_HEADER, listed)]
    effects = Effects([row[0] for row in listed], *_in_deviations(profile.traits[:most]))
    svg = draw_effects(effects, f"group {profile.cluster}: deviations from all rows")
    return [Words(head, "bold"), Beside([Figure(svg)], [Grid(TRAIT_HEADER, listed)])]


def _all_profiles(found: Clustering) -> list[Part]:
    """Return what was left out above."""
    long = len(found.rows.encoder.kinds) > _TRAITS
    left = found.profiles if long else found.profiles[_GROUPS:]
    return [part for profile in left for part in _profile(found, profile, None)]


def _in_deviations(traits: Sequence[Trait]) -> Array:
    """Return means and ends of intervals, (3, D), as standard deviations from all rows."""
    ends = np.array([(t.mean, t.low, t.high) for t in traits]).T
    return (ends - [t.overall for t in traits]) / [t.spread for t in traits]


def _together(found: Clustering) -> list[Part]:
    if len(found.rows.x) > _MOST_SIMILAR:
        return []
    seen = ~found.rows.frame.isna().all(axis=1).to_numpy()
    if found.drawn is not None:
        similarity, draws = count_together(found.drawn.groups), len(found.drawn.groups)
    else:
        similarity, draws = _sampled(found), _DRAWS
    caption = (
        f"How probably two rows share a group, from {counted(draws, 'partition')} drawn from their posterior, "
        "whatever their number of groups: the stronger, the more probable. Lines separate the groups."
    )
    return [Figure(draw_similarity(similarity, found.labels[seen]), caption)]


def _sampled(found: Clustering) -> Array:
    """Return how often rows share a component of the mixture, drawn anew."""
    x, mixture = found.rows.x, found.model.pipeline[-1]
    if np.isnan(x).any() and found.model.name == "normal mixture":
        x = mixture.impute(x)
    with warnings.catch_warnings(action="ignore"):  # few draws suffice for a picture
        drawn = mixture.sample_partitions(x, _DRAWS, found.seed, warm_up=_WARM_UP, progress=False)
    return drawn.similarity


def _between(found: Clustering) -> list[Part]:
    p = found.probabilities
    doubtful = np.flatnonzero(p.max(axis=1) < IN_DOUBT)
    if not len(doubtful):
        return [Words("None: every row has a group of probability 0.9.")]
    worst = doubtful[np.argsort(p[doubtful].max(axis=1), kind="stable")][:_BETWEEN]
    names = [trait.column for trait in found.profiles[0].traits[:_TOLD]]
    kinds = {column.name: column.written for column in found.columns}
    header = ("row", "group", "probability", "or group", "probability", *names)
    rows = []
    for n in worst.tolist():
        first, second = np.argsort(-p[n], kind="stable")[:2]
        cells = (str(first + 1), f"{p[n, first]:.2f}", str(second + 1), f"{p[n, second]:.2f}")
        entries = (entry_words(kinds[name], found.rows.frame[name].iloc[n]) for name in names)
        rows.append((str(n + 1), *cells, *entries))
    said = Words(
        f"{counted(len(doubtful), 'row')} with no group of probability {IN_DOUBT}, the most doubtful first. "
        "Row 1 is the first below the header."
    )
    return [said, Grid(header, rows)]
