"""A model that takes tables as they come: what its columns must hold, and what it predicts."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from sklearn.pipeline import Pipeline

from posteriori.analysis.saved.column_reader import COMMON_FACTS, ColumnReader, has_types
from posteriori.analysis.table.columns import Column, numbers_in
from posteriori.analysis.table.reading import to_pandas
from posteriori.analysis.table.values import dates_of
from posteriori.analysis.targets.class_costs import rule_in_words, say_classes
from posteriori.estimators.contract import AddsUp, offers, predictive_of
from posteriori.numerics.types import Array
from posteriori.selection.cross_validation import point_prediction

__all__ = ["TARGET_KINDS", "TableModel"]

TARGET_KINDS = ("number", "date", "time")


@dataclass(frozen=True)
class TableModel(ColumnReader):
    """A fitted pipeline with the columns that it needs.

    Attributes
    ----------
    name : str
        Of the candidate.
    target : str
    pipeline : Pipeline, ModelAverage or ClassifierAverage
        Of an average, its members are pipelines.
    columns : tuple of Column
        What it predicts from.
    classes : (K,) or None
        Labels, for classification.
    facts : dict
        What else is worth knowing: rows, evidence, errors of unseen rows, versions, seed.
    target_kind : {"number", "date", "time"}
        Whether predicted numbers are decimal years, which stand for days or for moments.
    costs : (K, K) or None
        What it costs to say a class (second index) where another is true: what is predicted costs least. None
        predicts the most probable class.
    positive : int or None
        Code of the class that is to be found.
    """

    own = ("target", "classes", "target_kind", "costs", "positive")
    own_later = ("costs", "positive")
    tried_within_limits: ClassVar[bool] = False
    fact_types = {
        **COMMON_FACTS,
        **dict.fromkeys(("task", "prior", "kind", "loss"), (str,)),
        "log_evidence": (float, type(None)),
        "held_out": (float,),
        "metrics": (dict,),
    }

    name: str
    target: str
    pipeline: Any
    columns: tuple[Column, ...]
    classes: Any = None
    facts: dict[str, Any] = field(default_factory=dict)
    target_kind: str = "number"
    costs: Any = None
    positive: Any = None

    @property
    def purpose(self) -> str:
        """What it does with a table."""
        return f"predicts {self.target!r} from"

    @property
    def told(self) -> str:
        """What it tells of rows."""
        return self.target

    def own_lines(self) -> list[str]:
        labels = () if self.classes is None else self.classes[:20]
        listed = [f"classes: {', '.join(map(str, labels))}"] if len(labels) else []
        if self.costs is None or self.positive is None:
            return listed
        return [*listed, *rule_in_words(self.costs, self.positive, self.classes)]

    def require_sound(self) -> None:
        super().require_sound()
        if not isinstance(self.target, str):
            raise ValueError("its target is no text")
        if not has_types(self.facts["metrics"], {}):
            raise ValueError("its errors are no numbers")
        classes = self.classes
        if not (classes is None or (isinstance(classes, np.ndarray) and classes.ndim == 1)):
            raise ValueError("its classes are no list of labels")
        if not self._costs_are_sound():
            raise ValueError("its costs are no numbers for its classes")
        if self.target_kind not in TARGET_KINDS:
            raise ValueError("its target is of no known kind")

    def _costs_are_sound(self) -> bool:
        if self.costs is None:
            return self.positive is None
        if self.classes is None or not isinstance(self.costs, np.ndarray):
            return False
        square = self.costs.shape == (len(self.classes),) * 2 and self.costs.dtype == np.float64
        known = type(self.positive) is int and 0 <= self.positive < len(self.classes)
        return bool(square and known and np.isfinite(self.costs).all())

    def predict(self, table: Any, mass: float = 0.9) -> pd.DataFrame:
        """Return predictions, a row for each row of the table.

        Parameters
        ----------
        table : DataFrame of pandas or polars, or a mapping of columns
        mass : float
            Probability of the interval between ``low`` and ``high``.

        Returns
        -------
        DataFrame
            Mean and interval of numbers, or of dates; the most probable class, or the one that costs least
            where mistakes have costs, and the probability of each.
        """
        if not 0.0 < mass < 1.0:
            raise ValueError(f"mass must lie between 0 and 1, got {mass!r}")
        predictions = self.predict_inputs(self.read_some(table), mass)
        if self.target_kind == "number" or self.classes is not None:
            return predictions
        days = self.target_kind == "date"
        dates = {c: dates_of(predictions[c].to_numpy(), whole_days=days) for c in predictions}
        return pd.DataFrame(dates, index=predictions.index)

    def updated(self, table: Any) -> TableModel:
        """Return the model that has learned from the rows of a table as well, those whose target is known."""
        frame, learned = to_pandas(table), self.pipelines[0][-1]
        adds_up = isinstance(self.pipeline, Pipeline) and offers(learned, AddsUp)
        if not adds_up or self.classes is not None or self.target_kind != "number":
            return super().updated(table)
        inputs = self.read_some(frame)
        if self.target not in frame.columns:
            raise ValueError(f"the table lacks {self.target!r}, from which the model learns")
        y = numbers_in(Column(self.target, "number"), frame[self.target])
        known = ~np.isnan(y)
        if not known.any():
            raise ValueError(
                f"every entry of {self.target!r} is missing: there is nothing to learn"
            )
        x = self.pipeline[:-1].transform(inputs[known])
        return self.gone_on(deepcopy(learned).partial_fit(x, y[known]), int(known.sum()))

    @property
    def pipelines(self) -> list[Pipeline]:
        """The pipeline, or those of an average, the one of largest weight first."""
        if isinstance(self.pipeline, Pipeline):
            return [self.pipeline]
        shares = self.pipeline.weights_
        return [self.pipeline.models_[name] for name in sorted(shares, key=lambda n: -shares[n])]

    @property
    def loss(self) -> str:
        """For which numbers are predicted."""
        return str(self.facts.get("loss", "squared"))

    def predict_inputs(self, inputs: pd.DataFrame, mass: float = 0.9) -> pd.DataFrame:
        """Return predictions for columns that :meth:`read` has returned; of dates, decimal years."""
        columns = self._classes(inputs) if self.classes is not None else self._numbers(inputs, mass)
        return pd.DataFrame(columns, index=inputs.index)

    def _classes(self, inputs: pd.DataFrame) -> dict[str, Any]:
        p = np.asarray(self.pipeline.predict_proba(inputs))
        labels = self.pipeline.classes_
        predicted = {f"{self.target}_predicted": labels[say_classes(p, self.costs)]}
        shares = {f"P({self.target}={label})": p[:, k] for k, label in enumerate(labels)}
        return predicted | shares

    def _numbers(self, inputs: pd.DataFrame, mass: float) -> dict[str, Array]:
        predictive = predictive_of(self.pipeline, inputs)
        low, high = (np.asarray(predictive.quantile(q)) for q in (0.5 - mass / 2, 0.5 + mass / 2))
        point = point_prediction(self.pipeline, inputs, predictive, self.loss)
        return {
            f"{self.target}_{'mean' if self.loss == 'squared' else 'median'}": point,
            f"{self.target}_low": low,
            f"{self.target}_high": high,
        }
