"""From a table to its groups: how many there are, who belongs to which, and how sure that is."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from posteriori.analysis.counted.counted_finding import CountedFinding
from posteriori.analysis.counted.drawn_intervals import with_drawn_intervals
from posteriori.analysis.counted.profiles import IN_DOUBT, ClusterProfile, make_profiles
from posteriori.analysis.fitting.coded_rows import CodedRows, read_rows
from posteriori.analysis.groups.cluster_page import cluster_findings, cluster_heading, map_rows
from posteriori.analysis.groups.cluster_words import GroupWords, overlap_words
from posteriori.analysis.groups.group_search import Grouping, Tried, find_groups
from posteriori.analysis.saved.cluster_model import ClusterModel
from posteriori.analysis.saved.column_reader import common_facts
from posteriori.analysis.table.columns import Column, describe_columns
from posteriori.analysis.table.reading import to_pandas
from posteriori.analysis.table.wording import counted
from posteriori.analysis.tasks.contract import Table
from posteriori.analysis.tasks.sections import CodeAgain, Figure
from posteriori.inference.weighing.number_weights import WeighedNumbers
from posteriori.mixture.groups.drawn_groups import DrawnGroups
from posteriori.numerics.types import Array, IntArray

__all__ = ["Clustering", "cluster"]

_AGAIN = CodeAgain(
    "cluster",
    "found",
    "grouped",
    (
        "found.labels, found.probabilities  # of each row",
        "found.profiles  # what sets each group apart",
        "found.model.predict(table.head())  # of new rows as well",
    ),
)


@dataclass(frozen=True, repr=False, eq=False)
class Clustering(CountedFinding):
    """The groups of the rows of a table.

    Attributes
    ----------
    columns : tuple of Column
        All columns of the table.
    rows : CodedRows
        What the mixtures were fitted to.
    found : WeighedNumbers
        How probable each number of groups is, and the mixtures that were fitted.
    probabilities : (N, G)
        p(cluster | row); the first cluster is the largest.
    profiles : tuple of ClusterProfile
        Size of every cluster, and what sets it apart.
    notes : tuple of str
        What was guessed and done.
    seed : int
    limit : int
        The largest number that was to be tried.
    asked : bool
        Whether the number of clusters was given.
    model : ClusterModel
        Tells the clusters of other tables, and can be saved.
    drawn : DrawnGroups or None
        Partitions from their posterior; None where these were not drawn.
    """

    columns: tuple[Column, ...]
    rows: CodedRows
    found: WeighedNumbers
    probabilities: Array
    profiles: tuple[ClusterProfile, ...]
    notes: tuple[str, ...]
    seed: int
    limit: int
    asked: bool
    model: ClusterModel
    drawn: DrawnGroups | None = None

    @property
    def n_clusters(self) -> int:
        """The most probable number of clusters, or the one that was asked for."""
        return len(self.profiles)

    @property
    def n_components(self) -> tuple[int, ...]:
        """How many components of the mixture each cluster has."""
        return self.model.members

    @property
    def labels(self) -> Any:
        """The most probable cluster of each row, (N,); 1 is the largest."""
        return self.probabilities.argmax(axis=1) + 1

    @property
    def larger(self) -> str:
        most = min(2 * self.numbers[-1], _most_groups(len(self.rows.x)))
        if most <= self.numbers[-1]:
            return ""
        return f"--max-clusters {most} (max_clusters={most})"

    @property
    def verdict(self) -> str:
        return self.words.verdict()

    @property
    def reasons(self) -> list[str]:
        return self.words.reasons()

    @cached_property
    def words(self) -> GroupWords:
        """What is said of the groups."""
        return GroupWords(
            self.number_words("group"),
            self.profiles,
            len(self.probabilities),
            [self._example(g) for g in range(self.n_clusters)],
            self.n_components,
        )

    @cached_property
    def picture(self) -> Figure | None:
        return map_rows(self)

    @cached_property
    def _densities(self) -> Array:
        """Return ln p(row), (N,)."""
        return self.model.log_density(self.rows.frame)

    def _example(self, group: int) -> str:
        """Name the row that is most typical of a group: that of the highest density among its rows."""
        mine = np.flatnonzero(self.labels == group + 1)
        if not len(mine) or self.n_clusters == 1:
            return ""
        return f"row {mine[self._densities[mine].argmax()] + 1}"

    heading = cluster_heading
    findings = cluster_findings

    def code(self, loading: str = "") -> str:
        asked = {
            "clusters": self.n_clusters if self.asked else None,
            "max_clusters": None if self.asked else self.limit,
            "drop": [column.name for column in self.columns if column.kind == "dropped"],
            "seed": self.seed,
        }
        return _AGAIN.code(asked, loading)

    def data(self) -> dict[str, Any]:
        return {"clusters": self.n_clusters, **self.number_data(), "groups": self.profiles}


def cluster(
    table: Table,
    *,
    max_clusters: int = 10,
    clusters: int | None = None,
    drop: Iterable[str] = (),
    seed: int = 0,
    day_first: bool | None = None,
    on_tried: Callable[[Tried], None] | None = None,
) -> Clustering:
    """Find out how many groups the rows of a table form, and what sets them apart.

    Partitions are drawn from the posterior of a mixture with an unknown number of components: normal vectors
    where all columns are numbers or dates, else latent classes. Components between which the density has no
    dip are one group, and the number of groups has the frequencies of the draws. In tables without a column of
    numbers every class is a group. In large tables mixtures are fitted in the place of draws, and weighed by
    bounds of their evidence. Gaps need not be filled. A number that is recorded to a step, such as whole ones,
    may lie anywhere within it.

    Parameters
    ----------
    table : DataFrame of pandas or polars, or a mapping of columns
    max_clusters : int
        The largest number of clusters that is tried.
    clusters : int, optional
        The number of clusters, if it is known.
    drop : iterable of str
        Columns to leave out.
    seed : int
        Of where the search begins.
    day_first : bool, optional
        The order of dates such as 01/02/2020; where it is not told and both would fit, a note says which was taken.
    on_tried : callable, optional
        Called after every fit, with its kind, number and evidence.

    Returns
    -------
    Clustering

    Raises
    ------
    ValueError
        When no groups can be told in this table, with the reason and the remedy.

    Examples
    --------
    >>> from posteriori.datasets import load_old_faithful
    >>> found = cluster(load_old_faithful().frame, max_clusters=3)
    >>> found.n_clusters, [round(profile.rows, -2) for profile in found.profiles]
    (2, [200, 100])
    """
    frame = to_pandas(table)
    if frame.empty:
        raise ValueError("the table has no rows")
    columns = describe_columns(frame, drop, day_first=day_first)
    rows = read_rows(frame, columns, seed)
    numbers, limited = _numbers_to_try(rows, max_clusters, clusters)
    told = find_groups(rows.x, rows.encoder.columns, numbers, clusters is not None, seed, on_tried)
    model, shares, names = _model_of(told, columns, rows, seed)
    used = [column for column in columns if column.used]
    codes = rows.encoder.transform(rows.frame)
    profiles = make_profiles(used, rows.encoder, codes, shares)
    if told.matched is not None:
        seen = ~np.isnan(codes).all(axis=1)
        labels = names[told.matched.labels]
        profiles = with_drawn_intervals(profiles, used, rows.encoder, codes[seen], labels, seed)
    notes = [f"{c.name!r}: {c.note}" for c in columns if c.note]
    drawn = shares if told.matched is None else told.matched.shares
    overlap = overlap_words(float((drawn.max(axis=1) < IN_DOUBT).mean()))
    return Clustering(
        tuple(columns),
        rows,
        told.found,
        shares,
        profiles,
        tuple(said for said in (*notes, overlap, limited, *told.found.notes) if said),
        seed,
        max_clusters,
        clusters is not None,
        model,
        told.drawn,
    )


def _numbers_to_try(rows: CodedRows, most: int, asked: int | None) -> tuple[range, str]:
    """Return the numbers of groups to try, and a note if these are fewer than wanted."""
    if asked is not None:
        distinct = len(rows.frame.drop_duplicates())
        if not 1 <= asked <= distinct:
            raise ValueError(
                f"clusters must be from 1 to {distinct}, the different rows; got {asked}"
            )
        return range(asked, asked + 1), ""
    if most < 1:
        raise ValueError(f"max_clusters must be at least 1, got {most}")
    sensible = _most_groups(len(rows.x))
    if most <= sensible:
        return range(1, most + 1), ""
    note = f"{counted(len(rows.x), 'row')} can tell at most {sensible} groups apart: no more were tried"
    return range(1, sensible + 1), note


def _most_groups(rows: int) -> int:
    r"""Return how many groups so many rows can tell apart.

    A component without rows changes the evidence by :math:`K(K-1)/(N+K-1)`, which is a loss only while
    :math:`(K-1)^2 < N`: beyond, more components are always better.
    """
    return int(np.ceil(np.sqrt(rows)))


def _model_of(
    told: Grouping, columns: list[Column], rows: CodedRows, seed: int
) -> tuple[ClusterModel, Array, IntArray]:
    """Return the mixture as a model of tables, the largest cluster first, what it tells of these, and the place
    of each group in that order.
    """
    best, groups = told.found.best, np.array(told.groups)
    number = int(groups.max()) + 1
    facts = {
        **common_facts(len(rows.frame), seed),
        "clusters": number,
        "log_evidence": best.log_evidence,
        "kind": best.model.log_evidence_.kind,
    }
    pipeline = Pipeline([("columns", rows.encoder), ("model", best.model)])
    used = tuple(c for c in columns if c.used)
    members = tuple(np.bincount(groups).tolist())
    order = tuple(np.argsort(groups, kind="stable").tolist())
    model = ClusterModel(best.kind, pipeline, used, order, facts, members)
    shares = model.probabilities(rows.frame)
    sizes = np.bincount(shares.argmax(axis=1), minlength=number)
    by_size = np.lexsort((-shares.sum(axis=0), -sizes))  # by rows, then by expected rows
    order = tuple(k for g in by_size for k in np.flatnonzero(groups == g).tolist())
    model = replace(model, order=order, members=tuple(members[g] for g in by_size))
    return model, shares[:, by_size], np.argsort(by_size)
