"""From a table to its groups: how many there are, who belongs to which, and how sure that is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from posteriori.analysis.fitting.number_weights import Found
from posteriori.analysis.groups.cluster_profiles import ClusterProfile, make_profiles
from posteriori.analysis.groups.cluster_words import (
    TRAIT_HEADER,
    number_rows,
    profile_rows,
    verdict_in_words,
)
from posteriori.analysis.groups.number_search import Tried, search_numbers
from posteriori.analysis.groups.rows_to_group import ClusterRows, numbers_to_try, read_rows
from posteriori.analysis.report.counted_finding import CountedFinding
from posteriori.analysis.saved.cluster_model import ClusterModel
from posteriori.analysis.saved.column_reader import common_facts
from posteriori.analysis.table.columns import Column, describe_columns
from posteriori.analysis.table.reading import to_pandas
from posteriori.analysis.table.wording import counted
from posteriori.analysis.tasks.contract import Grid, Page, Part, Table, Words
from posteriori.numerics.types import Array

__all__ = ["Clustering", "cluster"]

#: Columns of each cluster that are printed, those that set it apart most.
_TRAITS = 5


@dataclass(frozen=True, repr=False, eq=False)
class Clustering(CountedFinding):
    """The groups of the rows of a table.

    Attributes
    ----------
    columns : tuple of Column
        All columns of the table.
    rows : ClusterRows
        What the mixtures were fitted to.
    found : Found
        All mixtures that were tried.
    probabilities : (N, K)
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
    """

    columns: tuple[Column, ...]
    rows: ClusterRows
    found: Found
    probabilities: Array
    profiles: tuple[ClusterProfile, ...]
    notes: tuple[str, ...]
    seed: int
    limit: int
    asked: bool
    model: ClusterModel

    @property
    def n_clusters(self) -> int:
        """The most probable number of clusters, or the one that was asked for."""
        return self.found.best.number

    @property
    def labels(self) -> Any:
        """The most probable cluster of each row, (N,); 1 is the largest."""
        return self.probabilities.argmax(axis=1) + 1

    @property
    def verdict(self) -> str:
        """How many groups there are, how surely, what sets them apart, and how many rows are in doubt."""
        chance = float(self.number_probabilities.max())
        return verdict_in_words(
            self.profiles,
            len(self.probabilities),
            None if self.asked else chance,
            most=self.n_clusters == self.numbers[-1],
        )

    def printed(self, *, details: bool = False) -> Iterator[Part]:
        limit = None if details else _TRAITS
        if not self.asked:
            yield Grid(*number_rows(self.found))
        for profile in self.profiles if self.n_clusters > 1 else ():
            doubt = f", {profile.in_doubt:,} in doubt" if profile.in_doubt else ""
            size = counted(profile.rows, "row")
            yield Words(f"group {profile.cluster}: {size}{doubt}", "bold")
            yield Grid(TRAIT_HEADER, profile_rows(profile, limit))

    def page(self, title: str) -> Page:
        from posteriori.analysis.groups.cluster_page import make_cluster_page

        return make_cluster_page(self, title)

    def code(self, loading: str = "") -> str:
        from posteriori.analysis.groups.cluster_page import clustering_code

        return clustering_code(self, loading)

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

    Mixtures of normals (where all columns are numbers or dates) and latent classes are fitted with 1, 2, …
    components, and weighed by their evidence. Gaps need not be filled. A number that is recorded to a step,
    such as whole ones, may lie anywhere within it.

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
    >>> found.n_clusters, [profile.rows for profile in found.profiles]
    (2, [175, 97])
    """
    frame = to_pandas(table)
    columns = describe_columns(frame, drop, day_first=day_first)
    rows = read_rows(frame, columns, seed)
    numbers, limited = numbers_to_try(rows, max_clusters, clusters)
    found = search_numbers(rows.x, rows.encoder.columns, numbers, seed, on_tried)
    model, shares = _model_of(found, columns, rows, seed)
    used = [column for column in columns if column.used]
    codes = rows.encoder.transform(rows.frame)
    notes = [f"{c.name!r}: {c.note}" for c in columns if c.note]
    return Clustering(
        tuple(columns),
        rows,
        found,
        shares,
        make_profiles(used, rows.encoder, codes, shares),
        (*notes, *([limited] if limited else ()), *found.notes),
        seed,
        max_clusters,
        clusters is not None,
        model,
    )


def _model_of(
    found: Found, columns: list[Column], rows: ClusterRows, seed: int
) -> tuple[ClusterModel, Array]:
    """Return the best mixture as a model of tables, the largest cluster first, and what it tells of these."""
    best = found.best
    facts = {
        **common_facts(len(rows.frame), seed),
        "clusters": best.number,
        "log_evidence": best.log_evidence,
        "kind": best.model.log_evidence_.kind,
    }
    pipeline = Pipeline([("columns", rows.encoder), ("model", best.model)])
    used = tuple(c for c in columns if c.used)
    model = ClusterModel(best.kind, pipeline, used, tuple(range(best.number)), facts)
    shares = model.probabilities(rows.frame)
    sizes = np.bincount(shares.argmax(axis=1), minlength=best.number)
    order = np.lexsort((-shares.sum(axis=0), -sizes))  # by rows, then by expected rows
    return replace(model, order=tuple(order.tolist())), shares[:, order]
