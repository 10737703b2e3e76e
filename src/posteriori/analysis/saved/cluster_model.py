"""Groups of rows that were found in one table, told of the rows of others."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from sklearn.pipeline import Pipeline

from posteriori.analysis.saved.column_reader import COMMON_FACTS, ColumnReader, is_order
from posteriori.analysis.table.columns import Column
from posteriori.analysis.table.wording import counted
from posteriori.mixture.latent_classes import LatentClasses
from posteriori.mixture.normal.bayesian_gaussian_mixture import BayesianGaussianMixture
from posteriori.numerics.blocks.block_sizes import rows_per_block
from posteriori.numerics.types import Array

__all__ = ["LABELS", "ClusterModel"]

#: Mixtures that tell clusters.
_MIXTURES = (BayesianGaussianMixture, LatentClasses)

#: Columns that are told of each row.
LABELS = ("cluster", "cluster_probability", "log_density")


@dataclass(frozen=True)
class ClusterModel(ColumnReader):
    """A fitted mixture with the columns that it needs.

    Attributes
    ----------
    name : str
        "normal mixture" or "latent classes".
    pipeline : Pipeline
        Codes of columns, then the mixture.
    columns : tuple of Column
        What clusters are told by.
    order : tuple of K int
        Components of the largest cluster, of the next, and so on.
    facts : dict
        Rows, number of clusters, evidence, seed and version.
    members : tuple of G int
        How many components each cluster has; by default one.
    """

    purpose: ClassVar[str] = "tells clusters by"
    told: ClassVar[str] = "clusters"
    own = ("order", "members")
    own_later = ("members",)
    fact_types = {
        **COMMON_FACTS,
        "clusters": (int,),
        "kind": (str,),
        "log_evidence": (float, type(None)),
    }
    command: ClassVar[str] = "cluster"

    name: str
    pipeline: Pipeline
    columns: tuple[Column, ...]
    order: tuple[int, ...]
    facts: dict[str, Any] = field(default_factory=dict)
    members: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if not self.members:
            object.__setattr__(self, "members", (1,) * len(self.order))

    @property
    def title(self) -> str:
        """What it is and does, in a line."""
        return f"{self.name}: tells {counted(self.facts['clusters'], 'cluster')} apart"

    def require_sound(self) -> None:
        super().require_sound()
        self.require_last_step(lambda model: isinstance(model, _MIXTURES), "mixture")
        if not is_order(self.order, len(self.pipeline[-1].weights_)):
            raise ValueError("its clusters have no order")
        counts = self.members
        whole = isinstance(counts, tuple) and all(type(n) is int and n > 0 for n in counts)
        if not whole or sum(counts) != len(self.order) or self.facts["clusters"] != len(counts):
            raise ValueError("its clusters do not have the components")

    def predict(self, table: Any, mass: float = 0.9) -> pd.DataFrame:
        """Return the cluster of each row of a table.

        Parameters
        ----------
        table : DataFrame of pandas or polars, or a mapping of columns
        mass : float
            Without effect, as clusters have no intervals; all saved models take it.

        Returns
        -------
        DataFrame
            ``cluster`` (1 is the largest), ``cluster_probability``, and ``log_density`` of what is seen
            of the row, in the units of the table.
        """
        return self.predict_inputs(self.read_some(table), mass)

    def predict_inputs(self, inputs: pd.DataFrame, mass: float = 0.9) -> pd.DataFrame:
        """Return the same for columns that :meth:`read` has returned."""
        del mass
        shares = self.probabilities(inputs)
        cluster = shares.argmax(axis=1)
        told = (cluster + 1, shares[np.arange(len(cluster)), cluster], self.log_density(inputs))
        return pd.DataFrame(dict(zip(LABELS, told, strict=True)), index=inputs.index)

    def probabilities(self, inputs: pd.DataFrame) -> Array:
        """Return p(cluster | row), (N, G): the sum over the components of the cluster."""
        shares = [self.pipeline.predict_proba(part) for part in _parts(inputs)]
        first = np.concatenate([[0], np.cumsum(self.members[:-1])]).astype(np.int64)
        return np.add.reduceat(np.concatenate(shares)[:, list(self.order)], first, axis=1)

    def log_density(self, inputs: pd.DataFrame) -> Array:
        """Return ln p(row), (N,)."""
        return np.concatenate([self.pipeline.score_samples(part) for part in _parts(inputs)])


def _parts(inputs: pd.DataFrame) -> list[pd.DataFrame]:
    """Return blocks of rows, so that no second copy of all inputs is made."""
    step = rows_per_block(inputs.shape[1])
    return [inputs.iloc[start : start + step] for start in range(0, len(inputs), step)]
