"""A task of its own, as docs/howto/add_a_task.md shows it: are the values of two columns different?"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from sklearn.pipeline import Pipeline

from posteriori import Normal, NormalInverseGamma, StudentT, bayes
from posteriori.analysis.fitting.preparation import NoColumns
from posteriori.analysis.saved.column_reader import ColumnReader, common_facts, saved_as
from posteriori.analysis.table.columns import Column, describe_columns
from posteriori.analysis.table.reading import to_pandas
from posteriori.analysis.tasks.contract import Table, TaskResult
from posteriori.analysis.tasks.listed import Task
from posteriori.analysis.tasks.sections import Finding, Grid

TASK = Task("differ", "tests.cli.two_samples:differ", "tries", "comparing two columns")


@saved_as("two samples")
@dataclass(frozen=True)
class TwoSamples(ColumnReader):
    """Predictive distributions of two columns: by which of them is a value rather drawn?"""

    purpose: ClassVar[str] = "tells samples by"
    told: ClassVar[str] = "log ratios"
    own = ("predictives",)

    name: str
    pipeline: Pipeline
    columns: tuple[Column, ...]
    predictives: tuple[StudentT, StudentT]
    facts: dict[str, Any] = field(default_factory=dict)

    def predict(self, table: Any, mass: float = 0.9) -> pd.DataFrame:
        return self.predict_inputs(self.read_some(table), mass)

    def predict_inputs(self, inputs: pd.DataFrame, mass: float = 0.9) -> pd.DataFrame:
        del mass
        values = inputs[self.columns[0].name].to_numpy(np.float64)
        known = np.nan_to_num(values)
        first, second = (np.asarray(one.log_prob(known)) for one in self.predictives)
        ratio = np.where(np.isnan(values), np.nan, first - second)
        return pd.DataFrame({"log_ratio": ratio}, index=inputs.index)

    def require_sound(self) -> None:
        super().require_sound()
        both = self.predictives
        if not (isinstance(both, tuple) and [type(one) for one in both] == [StudentT] * 2):
            raise ValueError("it holds no two distributions")


@dataclass(frozen=True, repr=False, eq=False)
class Difference(TaskResult):
    """Whether two columns have one mean and spread, or two."""

    names: tuple[str, str]
    log_evidences: tuple[float, float]
    means: tuple[float, float]
    model: TwoSamples
    seed: int
    notes: tuple[str, ...] = ()

    @property
    def probability(self) -> float:
        """That they are different, both equally probable before."""
        one, two = self.log_evidences
        return float(1.0 / (1.0 + np.exp(one - two)))

    @property
    def verdict(self) -> str:
        """The answer in words."""
        differ = "different" if self.probability > 0.5 else "alike"
        sure = max(self.probability, 1.0 - self.probability)
        return f"“{self.names[0]}” and “{self.names[1]}” are {differ} (probability {sure:.2f})."

    def heading(self, data: str) -> tuple[str, str]:
        return f"Two columns of {data}", "Are they different?"

    def findings(self) -> Iterator[Finding]:
        means = ("column", "mean"), self.names, self.means
        yield Finding("The two columns", lambda: [_grid(*means)], "both")
        evidences = ("populations", "evidence"), ("one", "two"), self.log_evidences
        yield Finding("Evidences", lambda: [_grid(*evidences)], "details")

    def code(self, loading: str = "") -> str:
        first, second = self.names
        return f"{loading}\n\ndiffer(table, first={first!r}, second={second!r})\n"

    def data(self) -> dict[str, Any]:
        return {
            "probability": self.probability,
            "means": dict(zip(self.names, self.means, strict=True)),
        }


def _grid(header: tuple[str, str], names: Sequence[str], values: Sequence[float]) -> Grid:
    return Grid(header, [(n, f"{v:.3g}") for n, v in zip(names, values, strict=True)])


def differ(
    table: Table,
    *,
    first: str,
    second: str,
    seed: int = 0,
    on_tried: Callable[[Any], None] | None = None,
) -> Difference:
    """Say whether two columns are different.

    Parameters
    ----------
    table : DataFrame of pandas or polars, or a mapping of columns
    first : str
        One column of numbers.
    second : str
        The other one.
    seed : int
        Without effect: nothing is drawn.
    on_tried : callable, optional
        Is not called: there is nothing to wait for.
    """
    frame = to_pandas(table)
    for name in (first, second):
        if name not in frame.columns:
            raise ValueError(f"there is no column {name!r}; there are {list(frame.columns)}")
    samples = [pd.to_numeric(frame[name]).dropna().to_numpy() for name in (first, second)]
    both = np.concatenate(samples)
    centre, spread = both.mean(), both.var()
    prior = NormalInverseGamma(centre, mean_strength=0.1, shape=2.0, scale=2.0 * spread)

    together, *apart = (bayes(prior, Normal, values) for values in (both, *samples))
    evidences = (float(together.log_evidence), sum(float(one.log_evidence) for one in apart))
    means = (float(samples[0].mean()), float(samples[1].mean()))
    model = TwoSamples(
        "two samples",
        Pipeline([("columns", NoColumns())]),
        tuple(column for column in describe_columns(frame) if column.name == first),
        (apart[0].predictive, apart[1].predictive),
        common_facts(len(frame), seed),
    )
    return Difference((first, second), evidences, means, model, seed)
