"""A task of its own, as docs/howto/add_a_task.md shows it: are the values of two columns different?"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.pipeline import Pipeline

from posteriori import Normal, NormalInverseGamma, bayes
from posteriori.analysis.report.html_pieces import section, table as html_table
from posteriori.analysis.table.reading import to_pandas
from posteriori.analysis.tasks.contract import Grid, Page, Part, Table, TaskResult
from posteriori.analysis.tasks.listed import Task

TASK = Task("differ", "tests.cli.two_samples:differ", "tries", "comparing two columns")


@dataclass(frozen=True, repr=False, eq=False)
class Difference(TaskResult):
    """Whether two columns have one mean and spread, or two."""

    names: tuple[str, str]
    log_evidences: tuple[float, float]
    means: tuple[float, float]
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

    @property
    def model(self) -> Any:
        """Nothing to keep but the numbers."""
        return Pipeline([])

    def _rows(self) -> Grid:
        rows = [(n, f"{m:.3g}") for n, m in zip(self.names, self.means, strict=True)]
        return Grid(("column", "mean"), rows)

    def printed(self, *, details: bool = False) -> Iterator[Part]:
        yield self._rows()
        if details:
            rows = [
                (n, f"{e:.2f}") for n, e in zip(("one", "two"), self.log_evidences, strict=True)
            ]
            yield Grid(("populations", "evidence"), rows)

    def page(self, title: str) -> Page:
        sections = [section("The two columns", html_table(*self._rows()[:2]))]
        return Page(f"Two columns of {title}", "Are they different?", sections, self.seed)

    def code(self, loading: str = "") -> str:
        first, second = self.names
        return f"{loading}\n\ndiffer(table, first={first!r}, second={second!r})\n"

    def data(self) -> dict[str, Any]:
        return {
            "probability": self.probability,
            "means": dict(zip(self.names, self.means, strict=True)),
        }


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

    def evidence(values: np.ndarray) -> float:
        return float(bayes(prior, Normal, values).log_evidence)

    evidences = (evidence(both), evidence(samples[0]) + evidence(samples[1]))
    means = (float(samples[0].mean()), float(samples[1].mean()))
    return Difference((first, second), evidences, means, seed)
