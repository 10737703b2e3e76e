"""Segments of series that were found in one table, told of the rows of others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from sklearn.pipeline import Pipeline

from posteriori.analysis.saved.column_reader import COMMON_FACTS, ColumnReader, is_order
from posteriori.analysis.table.columns import Column
from posteriori.analysis.table.reading import to_pandas
from posteriori.analysis.table.series import Arrangement, Series, arrange_rows
from posteriori.analysis.table.wording import counted
from posteriori.inference.state_chains.long_runs import smooth_long_runs
from posteriori.numerics.types import Array
from posteriori.sequence.hidden_markov_chain import HiddenMarkovChain

__all__ = ["MOST_LENGTH", "SEGMENT_LABELS", "SegmentModel", "recode"]

#: Rows that the shortest run of a state may be asked to have: the cost rises with their square.
MOST_LENGTH = 100

#: Columns that are told of each row.
SEGMENT_LABELS = ("state", "state_probability")


@dataclass(frozen=True)
class SegmentModel(ColumnReader):
    """A hidden chain with the columns that it needs.

    Attributes
    ----------
    name : str
        "independent columns" or "related columns".
    pipeline : Pipeline
        Codes of columns, then the chain.
    columns : tuple of Column
        What states are told by.
    order : tuple of K int
        Which state of the chain is called 1, 2, and so on.
    symbols : mapping from place of a column to a tuple of float
        Codes of categories that the chain knows; others are missing to it.
    time, by : Column or None
        What rows are ordered by, and whose levels are series.
    facts : dict
        Rows, number of states, evidence, seed and version.
    working : bool
        Whether its steps are business days, so that weekends are no gaps.
    min_length : int
        Rows that runs of a state last at least.
    """

    purpose: ClassVar[str] = "tells states by"
    told: ClassVar[str] = "states"
    own = ("order", "symbols", "time", "by", "working", "min_length")
    own_later = ("working", "min_length")
    fact_types = {**COMMON_FACTS, "states": (int,), "kind": (str,), "log_evidence": (float,)}
    command: ClassVar[str] = "segment"

    name: str
    pipeline: Pipeline
    columns: tuple[Column, ...]
    order: tuple[int, ...]
    symbols: Mapping[int, tuple[float, ...]]
    time: Column | None = None
    by: Column | None = None
    facts: dict[str, Any] = field(default_factory=dict)
    working: bool = False
    min_length: int = 1

    @property
    def title(self) -> str:
        """What it is and does, in a line."""
        return f"{self.name}: tells {counted(self.facts['states'], 'state')} of series"

    def own_lines(self) -> list[str]:
        told = (("rows are ordered by", self.time), ("series are told by", self.by))
        lines = [f"{words} {column.name!r}" for words, column in told if column is not None]
        lines += ["steps are business days"] if self.working else []
        least = f"a state lasts at least {self.min_length} rows"
        return [*lines, *([least] if self.min_length > 1 else [])]

    def require_sound(self) -> None:
        super().require_sound()
        self.require_last_step(lambda model: isinstance(model, HiddenMarkovChain), "hidden chain")
        if not is_order(self.order, len(self.pipeline[-1].initial)):
            raise ValueError("its states have no order")
        if not _are_symbols(self.symbols, len(self.columns)):
            raise ValueError("its symbols are no codes of columns")
        if not all(isinstance(column, Column | None) for column in (self.time, self.by)):
            raise ValueError("its rows are ordered by no column")
        whole = type(self.min_length) is int and 1 <= self.min_length <= MOST_LENGTH
        if type(self.working) is not bool or not whole:
            raise ValueError("its steps are not those of states")

    def predict(self, table: Any, mass: float = 0.9) -> pd.DataFrame:
        """Return the state of each row of a table, given all rows of its series.

        Parameters
        ----------
        table : DataFrame of pandas or polars, or a mapping of columns
        mass : float
            Without effect, as states have no intervals; all saved models take it.

        Returns
        -------
        DataFrame
            ``state`` (1 is the one of lowest mean of the first column), and ``state_probability``; both are
            missing for rows without a time or a level of the series.
        """
        del mass
        frame = to_pandas(table)
        inputs = self.read_some(frame)
        for column in (self.time, self.by):
            if column is not None and column.name not in frame.columns:
                raise ValueError(
                    f"the table lacks {column.name!r}, by which the model tells rows of a series"
                )
        return self._tell(inputs, arrange_rows(frame, self.time, self.by, self.working))

    def predict_inputs(self, inputs: pd.DataFrame, mass: float = 0.9) -> pd.DataFrame:
        """Return the same for columns that :meth:`read` has returned, taken for one series."""
        del mass
        return self._tell(inputs, Arrangement((Series("", np.arange(len(inputs))),), None, ()))

    def probabilities(self, inputs: pd.DataFrame, arrangement: Arrangement) -> Array:
        """Return p(state | all rows of the series) of every step, (ΣT, K)."""
        x = recode(self.pipeline[0].transform(inputs), self.symbols)
        chain = self.pipeline[-1]
        scores = chain.densities.log_prob(arrangement.spread(x))
        found = smooth_long_runs(
            chain.initial, chain.transition, scores, self.min_length, arrangement.lengths
        )
        return found.probabilities[:, list(self.order)]

    def _tell(self, inputs: pd.DataFrame, arrangement: Arrangement) -> pd.DataFrame:
        shares = arrangement.gather(self.probabilities(inputs, arrangement), len(inputs))
        known = ~np.isnan(shares[:, 0])
        state = np.where(known, shares.argmax(axis=1) + 1.0, np.nan)
        sure = np.minimum(shares.max(axis=1), 1.0)  # but for rounding
        told = (pd.array(state, dtype="Int64"), sure)
        return pd.DataFrame(dict(zip(SEGMENT_LABELS, told, strict=True)), index=inputs.index)


def recode(codes: Array, symbols: Mapping[int, tuple[float, ...]]) -> Array:
    """Return rows with the codes of categories numbered by those that are known; others are NaN.

    Examples
    --------
    >>> recode(np.array([[1.5, 2.0], [2.5, 0.0]]), {1: (1.0, 2.0)})
    array([[1.5, 1. ],
           [2.5, nan]])
    """
    x = codes.copy()
    for place, known in symbols.items():
        x[:, place] = np.nan
        for number, code in enumerate(known):
            x[codes[:, place] == code, place] = number
    return x


def _are_symbols(symbols: Any, width: int) -> bool:
    return isinstance(symbols, dict) and all(
        type(place) is int
        and 0 <= place < width
        and isinstance(known, tuple)
        and all(type(code) is float for code in known)
        for place, known in symbols.items()
    )
