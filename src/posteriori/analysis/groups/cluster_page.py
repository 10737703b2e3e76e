"""The report of groups: its sections."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
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
from posteriori.analysis.report.figures import draw_effects
from posteriori.analysis.report.what_if import Effects
from posteriori.analysis.table.wording import counted, entry_words, short_number
from posteriori.analysis.tasks.sections import (
    AT_A_GLANCE,
    Beside,
    Figure,
    Grid,
    Page,
    Part,
    Section,
    Words,
    at_a_glance,
)
from posteriori.inference.mixtures.partitions.partition_center import count_together
from posteriori.mixture.groups.group_map import map_groups
from posteriori.numerics.types import Array

if TYPE_CHECKING:
    from posteriori.analysis.groups.clustering import Clustering

__all__ = ["make_cluster_page"]

#: Rows up to which partitions are drawn: the matrix of similarities has as many cells as their square.
_MOST_SIMILAR = 2000

#: Partitions that are drawn, and sweeps before the first.
_DRAWS, _WARM_UP = 200, 50

#: Traits of a group that are listed, groups that are drawn, rows in between, and their columns.
_TRAITS, _GROUPS, _BETWEEN, _TOLD = 10, 10, 15, 4


#: What a group is, and where its probability comes from.
_BY_DRAWS = (
    "A group is a summit of the density of the rows, with fewer rows between it and all others. Partitions of the "
    "rows into components (normal ones, or classes in which columns are independent) were drawn from their "
    "posterior, their number unknown. Components are joined into one group unless the density between them falls "
    "below a part of the lower summit. What part makes a gap is a matter of taste: it differs from draw to draw, from "
    "0.3 to 0.75. The probability of a number of groups is its share among the draws. Columns of codes have no "
    "summits: in a table without numbers every class is a group."
)
_BY_BOUNDS = (
    "The evidence is the log probability of the table under a mixture with so many components, their "
    "parameters integrated out (a bound of it for more than one). All numbers and kinds were equally "
    "probable before. Components are joined into one group where the density does not dip between them. A normal "
    "mixture has components whose columns may depend on one another; in latent classes columns are independent."
)
_ASKED = "The number was asked for. Of more components, those with the shallowest dips between them are one group."


def make_cluster_page(found: Clustering, title: str) -> Page:
    """Return the report; the title is what the data are called."""
    codes = found.rows.encoder.transform(found.rows.frame)
    frame = found.rows.frame
    columns = [(column, frame.get(column.name)) for column in found.columns]
    parts = [
        Section("How many groups", _numbers(found)),
        Section("A map of the rows", _map(found, codes)),
        Section("What sets the groups apart", _profiles(found)),
        Section("Who belongs together", _together(found)),
        Section("Rows in between", _between(found)),
        Section(AT_A_GLANCE, at_a_glance(found.notes, columns, len(frame))),
    ]
    return Page(f"Groups in {title}", _lede(found), parts, found.seed)


def _lede(found: Clustering) -> str:
    rows, columns = found.rows.frame.shape
    how = (
        f"{counted(len(found.found.tried), 'mixture')} compared by evidence"
        if found.drawn is None
        else f"{counted(len(found.drawn.groups), 'partition')} drawn from their posterior"
    )
    return f"Groups of {counted(rows, 'row')}, told by {counted(columns, 'column')}; {how}."


def _numbers(found: Clustering) -> list[Part]:
    header, rows = number_rows(found.found, found.drawn)
    listed = Grid(header, rows)
    if len(found.numbers) == 1:
        return [listed, Words(_ASKED)]
    said = Words(_BY_DRAWS if found.drawn is not None else _BY_BOUNDS)
    shown = len(rows)
    drawn = Figure(draw_numbers(found.numbers[:shown], found.number_probabilities[:shown]))
    return [Beside([drawn, said], [listed])]


def _map(found: Clustering, codes: Array) -> list[Part]:
    encoder = found.rows.encoder
    levels = {
        name: (OTHER, *encoder.levels_[name]) if kind == "category" else ()
        for name, kind in encoder.kinds.items()
    }
    numbers = set(encoder.kinds.values()) <= {"number", "date"}
    made = map_groups(levels, codes, found.probabilities, numbers=numbers)
    drawn = Figure(
        draw_map(made, found.probabilities),
        "Rows in the colours of their groups, with ellipses of two standard deviations; rings are rows in "
        f"doubt, whose largest probability is below {IN_DOUBT}.",
    )
    if made.names[0] in levels:
        return [drawn]
    said = Words(
        "The two directions are those in which the groups lie farthest apart, of columns in units of "
        "their standard deviations; named are the columns that count most in them."
    )
    return [Beside([drawn], [said])]


def _profiles(found: Clustering) -> list[Part]:
    if found.n_clusters == 1:
        return []
    told = zip(found.profiles[:_GROUPS], found.n_components, strict=False)
    drawn = [part for profile, components in told for part in _profile(profile, components)]
    more = len(found.profiles) - _GROUPS
    rest = [Words(f"And {counted(more, 'smaller group')}.")] if more > 0 else []
    said = Words(
        "Means and shares with their 90% intervals; of a category, the level whose share differs most. "
        "The last column is the difference from all rows, in their standard deviations."
    )
    return [said, *drawn, *rest]


def _profile(profile: ClusterProfile, components: int) -> list[Part]:
    doubt = f", {profile.in_doubt:,} of them in doubt" if profile.in_doubt else ""
    head = (
        f"Group {profile.cluster}: {counted(profile.rows, 'row')}{doubt} "
        f"(expected {short_number(profile.expected_rows)})"
    )
    head += f"; its shape takes {components} components" if components > 1 else ""
    if not profile.rows:
        return [Words(f"Group {profile.cluster} holds no row.")]
    listed = profile_rows(profile, _TRAITS)
    effects = Effects([row[0] for row in listed], *_in_deviations(profile.traits[:_TRAITS]))
    svg = draw_effects(
        effects, f"group {profile.cluster}: apart from all rows, in their deviations"
    )
    return [Words(head, "bold"), Beside([Figure(svg)], [Grid(TRAIT_HEADER, listed)])]


def _in_deviations(traits: Sequence[Trait]) -> Array:
    """Return means and ends of intervals, (3, D), as standard deviations from all rows."""
    ends = np.array([(t.mean, t.low, t.high) for t in traits]).T
    return (ends - [t.overall for t in traits]) / [t.spread for t in traits]


def _together(found: Clustering) -> list[Part]:
    if found.n_clusters == 1 or len(found.rows.x) > _MOST_SIMILAR:
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
    with warnings.catch_warnings():  # few draws suffice for a picture
        warnings.simplefilter("ignore")
        drawn = mixture.sample_partitions(x, _DRAWS, found.seed, warm_up=_WARM_UP, progress=False)
    return drawn.similarity


def _between(found: Clustering) -> list[Part]:
    if found.n_clusters == 1:
        return []
    p = found.probabilities
    doubtful = np.flatnonzero(p.max(axis=1) < IN_DOUBT)
    if not len(doubtful):
        return [Words("None: every row has a group of probability 0.9.")]
    worst = doubtful[np.argsort(p[doubtful].max(axis=1), kind="stable")][:_BETWEEN]
    names = [trait.column for trait in found.profiles[0].traits[:_TOLD]]
    kinds = found.rows.encoder.kinds
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
