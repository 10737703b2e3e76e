"""What all saved models have in common: the columns that they need, and how these are read from tables."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import pandas as pd
from sklearn.pipeline import Pipeline

from posteriori.analysis.fitting.new_rows import notes_on_new_rows
from posteriori.analysis.table.columns import Column, convert_column
from posteriori.analysis.table.reading import to_pandas

__all__ = ["ColumnReader"]


class ColumnReader(ABC):
    """A model that takes tables as they come.

    Attributes
    ----------
    name : str
        Of the model.
    pipeline : Pipeline, or an average of several
        Its first step prepares columns.
    columns : tuple of Column
        What it needs.
    facts : dict
        What else is worth knowing.
    """

    name: str
    pipeline: Any
    columns: tuple[Column, ...]
    facts: dict[str, Any]

    @property
    @abstractmethod
    def purpose(self) -> str:
        """What it does with a table, after "the model"."""

    @property
    @abstractmethod
    def told(self) -> str:
        """What it tells of rows."""

    @property
    def pipelines(self) -> list[Pipeline]:
        """All pipelines, the most important first."""
        return [self.pipeline]

    @abstractmethod
    def predict(self, table: Any, mass: float = 0.9) -> pd.DataFrame:
        """Return what it tells of the rows of a table."""

    @abstractmethod
    def predict_inputs(self, inputs: pd.DataFrame, mass: float = 0.9) -> pd.DataFrame:
        """Return the same for columns that :meth:`read` has returned."""

    def read(self, table: Any) -> pd.DataFrame:
        """Return the columns of a table as the pipeline takes them.

        Raises
        ------
        ValueError
            When columns are missing, or hold something else than they did.
        """
        frame = to_pandas(table)
        absent = [c.name for c in self.columns if c.name not in frame.columns]
        if absent:
            raise ValueError(
                f"the table lacks {', '.join(map(repr, absent[:8]))}"
                f"{f' and {len(absent) - 8} more columns' if len(absent) > 8 else ''}; "
                f"the model {self.purpose} "
                f"{', '.join(repr(c.name) for c in self.columns[:12])}"
                f"{', …' if len(self.columns) > 12 else ''}"
            )
        return pd.DataFrame(
            {c.name: convert_column(c, frame[c.name]) for c in self.columns}, index=frame.index
        )

    def read_some(self, table: Any) -> pd.DataFrame:
        """Return the columns of a table that has rows."""
        inputs = self.read(table)
        if not len(inputs):
            raise ValueError("the table has no rows")
        return inputs

    def notes_on(self, table: Any) -> list[str]:
        """Return what a table holds that the model has not seen: levels, ranges, unreadable texts.

        Predictions are made all the same.
        """
        frame = to_pandas(table)
        return notes_on_new_rows(self.columns, self.pipelines[0][0], frame, self.read(frame))
