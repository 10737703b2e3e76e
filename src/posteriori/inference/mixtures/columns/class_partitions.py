"""Clusters of rows whose columns are of several kinds, with parameters integrated out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from posteriori.distributions.counts.bernoulli import Bernoulli
from posteriori.distributions.counts.categorical import Categorical
from posteriori.distributions.counts.poisson import Poisson
from posteriori.distributions.numbers.normal import Normal
from posteriori.inference.classes.column_checks import take_columns
from posteriori.inference.classes.joint_tables import table_cells, table_sizes
from posteriori.inference.mixtures.columns.class_model import class_model
from posteriori.inference.mixtures.partitions.cluster_kernels import ClusterModel
from posteriori.inference.mixtures.partitions.conjugate_clusters import (
    ClusterPart,
    cluster_parts,
    join_parts,
)
from posteriori.numerics.types import Array

__all__ = ["class_clusters"]

#: What a column of each kind is, given its parameters; combinations of categories are one column.
_FAMILIES = {"normal": Normal, "bernoulli": Bernoulli, "poisson": Poisson}


def class_clusters(places: Mapping[str, Any], x: Array, priors: Mapping[str, Any]) -> ClusterModel:
    """Return the model of clusters of a table, its default priors set by all rows.

    Parameters
    ----------
    places : mapping
        Columns of each kind.
    x : (N, D)
    priors : mapping
        By kind; default ones are added.
    """
    parts: list[ClusterPart] = []
    for kind, part in class_model(places, x, None, priors, integrate=True).parts.items():
        columns = take_columns(x, part.at)
        if kind in _FAMILIES:
            parts += cluster_parts(part.prior, _FAMILIES[kind], columns)
            continue
        codes, beliefs = columns.T, part.prior
        if kind == "table":
            cells = table_cells(columns, table_sizes(columns))
            codes, beliefs = cells[None].astype(np.float64), [part.prior]
        for column, prior in zip(codes, beliefs, strict=True):
            parts += cluster_parts(prior, Categorical, column[:, None])
    return join_parts(parts)
