"""What all saved models have in common: the columns that they need, how these are read, and what files hold."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import replace
from importlib.metadata import version
from typing import Any, ClassVar, Self, TypeVar, cast

import pandas as pd
from sklearn.pipeline import Pipeline

from posteriori.analysis.fitting.new_rows import notes_on_new_rows
from posteriori.analysis.table.columns import Column, convert_column
from posteriori.analysis.table.reading import to_pandas
from posteriori.analysis.table.wording import counted, fixed_number, short_number
from posteriori.estimators.contract import GoesOn, HasEvidence, offers

__all__ = [
    "COMMON_FACTS",
    "SAVED",
    "ColumnReader",
    "common_facts",
    "has_types",
    "is_order",
    "place_of",
    "saved_as",
]

#: What every saved model says about itself.
COMMON_FACTS: dict[str, tuple[type, ...]] = {"rows": (int,), "seed": (int,), "version": (str,)}

#: Where the classes are that files may hold, by the word that tells them; they are loaded when they are met.
SAVED = {
    "table": "posteriori.analysis.saved.table_model:TableModel",
    "density": "posteriori.analysis.saved.density_model:DensityModel",
    "clusters": "posteriori.analysis.saved.cluster_model:ClusterModel",
    "segments": "posteriori.analysis.saved.segment_model:SegmentModel",
    "forecasts": "posteriori.analysis.saved.forecast_model:ForecastModel",
}

Kind = TypeVar("Kind", bound="type[ColumnReader]")


def saved_as(kind: str) -> Callable[[Kind], Kind]:
    """Let models of a further class be saved, under a word that tells them from others."""

    def register(model: Kind) -> Kind:
        SAVED[kind] = place_of(model)
        return model

    return register


def place_of(model: type[ColumnReader]) -> str:
    """Return where a class is: "package.module:name"."""
    return f"{model.__module__}:{model.__qualname__}"


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
    own : tuple of str
        Names of further fields, which files hold as well.
    own_later : tuple of str
        Those of them that files of earlier versions lack.
    fact_types : mapping of tuple of type
        Of facts, by name; others are numbers.
    command : str
        Which command learns it.
    tried_within_limits : bool
        Whether it is tried on entries from the middle of what it has seen, rather than on the usual ones.
    """

    own: ClassVar[tuple[str, ...]] = ()
    own_later: ClassVar[tuple[str, ...]] = ()
    fact_types: ClassVar[Mapping[str, tuple[type, ...]]] = COMMON_FACTS
    command: ClassVar[str] = "compare"
    tried_within_limits: ClassVar[bool] = True

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
    def title(self) -> str:
        """What it is and does, in a line."""
        return f"{self.name}: predicts {self.told}"

    def describe(self) -> list[str]:
        """Say in lines what is known about it."""
        facts, added = self.facts, int(self.facts.get("added", 0))
        more = f", and {added:,} more since" if added else ""
        learned = f"learned from {counted(facts['rows'], 'row')}{more}"
        lines = [f"{learned} with posteriori {facts['version']}"]
        lines += self.own_lines()
        if facts.get("prior"):
            lines.append(f"prior: {facts['prior']}")
        if facts.get("log_evidence") is not None:
            evidence = fixed_number(facts["log_evidence"], 2)
            lines.append(f"log evidence: {evidence} ({facts.get('kind')})")
        errors = [f"{name} {short_number(x)}" for name, x in facts.get("metrics", {}).items()]
        return [*lines, *([f"on unseen rows: {', '.join(errors)}"] if errors else [])]

    def own_lines(self) -> list[str]:
        """Say what only models of its kind have."""
        return []

    def require_sound(self) -> None:
        """Refuse what only a forged file can hold.

        Raises
        ------
        ValueError
            When fields are not of their types, or do not belong together.
        """
        if not isinstance(self.name, str):
            raise ValueError("its name is no text")
        if not has_types(self.facts, self.fact_types):
            raise ValueError(f"what it says about itself is not what a {type(self).__name__} says")

    def require_last_step(self, suits: Callable[[Any], bool], what: str) -> None:
        """Refuse a pipeline that does not end in what suits, and a model without columns."""
        if not (isinstance(self.pipeline, Pipeline) and suits(self.pipeline[-1])):
            raise ValueError(f"it holds no {what}")
        if not self.columns:
            raise ValueError("it has no columns")

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

    def updated(self, table: Any) -> Self:
        """Return the model that has learned from the rows of a table as well.

        Raises
        ------
        ValueError
            When it can only learn from all rows at once.
        """
        learned = self.pipeline[-1] if isinstance(self.pipeline, Pipeline) else None
        if not offers(learned, GoesOn):
            raise ValueError(
                f"“{self.name}” learns from all rows at once and cannot go on: add the new rows to the table that it "
                f"has learned from, and run posteriori {self.command} again"
            )
        inputs = self.read_some(table)
        further = deepcopy(learned).update(self.pipeline[:-1].transform(inputs))
        return self.gone_on(further, len(inputs))

    def gone_on(self, learned: Any, rows: int) -> Self:
        """Return the model with another last step, which has learned from so many rows more."""
        (name, _), added = self.pipeline.steps[-1], float(self.facts.get("added", 0)) + rows
        pipeline = Pipeline([*self.pipeline.steps[:-1], (name, learned)])
        known: Any = self
        evidence = float(learned.log_evidence_) if offers(learned, HasEvidence) else None
        facts = {**self.facts, "added": added, "log_evidence": evidence}
        return cast(Self, replace(known, pipeline=pipeline, facts=facts))

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


def common_facts(rows: int, seed: int) -> dict[str, Any]:
    """Return what every saved model says about itself."""
    return {"rows": rows, "seed": seed, "version": version("posteriori")}


def has_types(values: Any, types: Mapping[str, tuple[type, ...]]) -> bool:
    """Tell whether values are of the given types, by name; other names have numbers."""
    return (
        isinstance(values, dict)
        and types.keys() <= values.keys()
        and all(type(value) in types.get(name, (float,)) for name, value in values.items())
    )


def is_order(order: Any, count: int) -> bool:
    """Tell whether something names each of so many places once."""
    whole = isinstance(order, tuple) and all(type(k) is int for k in order)
    return whole and sorted(order) == list(range(count))
