"""The density of a whole table, told of the rows of others: how usual they are, what belongs into their gaps."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from sklearn.pipeline import Pipeline

from posteriori.analysis.fitting.preparation import OTHER, CodeColumns
from posteriori.analysis.saved.column_reader import COMMON_FACTS, ColumnReader
from posteriori.analysis.table.columns import Column
from posteriori.analysis.table.values import dates_of
from posteriori.analysis.table.wording import counted, fixed_number
from posteriori.estimators.contract import FillsGaps, offers
from posteriori.inference.gaps.gap_beliefs import CodeGaps, GapBelief
from posteriori.numerics.blocks.block_sizes import rows_per_block
from posteriori.numerics.types import Array

__all__ = ["DensityModel", "log_density_of"]

#: Days of a year, in which dates are counted.
_YEAR = 365.25


@dataclass(frozen=True)
class DensityModel(ColumnReader):
    """A fitted density with the columns that it needs.

    Attributes
    ----------
    name : str
        Of the candidate.
    pipeline : Pipeline
        Codes of columns, then the density.
    columns : tuple of Column
        What it describes.
    facts : dict
        Rows, prior, evidence, log density of unseen rows, seed and version.
    """

    purpose: ClassVar[str] = "describes"
    told: ClassVar[str] = "the log density"
    fact_types = {
        **COMMON_FACTS,
        **dict.fromkeys(("prior", "kind"), (str,)),
        "log_evidence": (float, type(None)),
        "held_out": (float,),
    }

    name: str
    pipeline: Pipeline
    columns: tuple[Column, ...]
    facts: dict[str, Any] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """What it is and does, in a line."""
        return f"{self.name}: describes {counted(len(self.columns), 'column')} together"

    def own_lines(self) -> list[str]:
        each = fixed_number(self.facts["held_out"] / self.facts["rows"], 2)
        return [f"log density of an unseen row: {each} on average"]

    def require_sound(self) -> None:
        super().require_sound()
        self.require_last_step(lambda model: offers(model, FillsGaps), "density")

    def predict(self, table: Any, mass: float = 0.9) -> pd.DataFrame:
        """Return how probable each row of a table is, and what belongs into its gaps.

        Parameters
        ----------
        table : DataFrame of pandas or polars, or a mapping of columns
        mass : float
            Without effect, as spreads are standard deviations; all saved models take it.

        Returns
        -------
        DataFrame
            ``log_density`` of what is seen of the row, in the units of the table. For each column with
            gaps ``<column>_filled``, which is the entry where there is one and its expectation elsewhere,
            and ``<column>_sd``, its standard deviation (of a date in days). Of a category or a truth value
            the most probable level and its probability.
        """
        told = self.predict_inputs(self.read_some(table), mass)
        dates = [f"{c.name}_filled" for c in self.columns if c.kind == "date"]
        for name in set(dates) & set(told.columns):
            told[name] = dates_of(told[name].to_numpy(), whole_days=True)
        return told

    def predict_inputs(self, inputs: pd.DataFrame, mass: float = 0.9) -> pd.DataFrame:
        """Return the same for columns that :meth:`read` has returned; of dates, decimal years."""
        del mass
        codes = self.encoder.transform(inputs)
        told: dict[str, Any] = {"log_density": log_density_of(self.pipeline[-1], codes)}
        gaps = np.flatnonzero(np.isnan(codes).any(axis=1))
        for belief in self.pipeline[-1].gap_beliefs(codes[gaps]) if len(gaps) else ():
            told |= self._filled(belief, gaps[belief.rows], inputs)
        return pd.DataFrame(told, index=inputs.index)

    @property
    def encoder(self) -> CodeColumns:
        """Makes numbers of columns."""
        encoder: CodeColumns = self.pipeline[0]
        return encoder

    def _filled(self, belief: GapBelief, rows: Any, inputs: pd.DataFrame) -> dict[str, Any]:
        """Return a column with its gaps filled in, and how sure that is."""
        column = self.columns[belief.column]
        name = column.name
        if isinstance(belief, CodeGaps):
            best = belief.probabilities.argmax(axis=1)
            sure = np.ones(len(inputs))
            sure[rows] = belief.probabilities.max(axis=1)
            return {f"{name}_filled": self._levels(column, inputs, rows, best), f"{name}_sd": sure}
        filled = inputs[name].to_numpy(np.float64, copy=True)
        filled[rows] = belief.mean
        spread = np.zeros(len(inputs))
        spread[rows] = np.sqrt(belief.variance)
        unit = _YEAR if column.kind == "date" else 1.0
        return {f"{name}_filled": filled, f"{name}_sd": unit * spread}

    def _levels(self, column: Column, inputs: pd.DataFrame, rows: Any, best: Any) -> Any:
        """Return levels of a category, or 0 and 1, with the most probable ones in gaps."""
        if column.kind == "boolean":
            values = inputs[column.name].to_numpy(np.float64, copy=True)
            values[rows] = best
            return values
        names = np.array([OTHER, *self.encoder.levels_[column.name]], dtype=object)
        levels = inputs[column.name].astype(object).to_numpy(copy=True)
        levels[rows] = names[best]
        return levels


def log_density_of(model: Any, codes: Array) -> Array:
    """Return ln p of what is seen of rows, (N,), a block of rows at a time."""
    step = rows_per_block(codes.shape[1])
    starts = range(0, len(codes), step)
    return np.concatenate([model.score_samples(codes[k : k + step]) for k in starts])
