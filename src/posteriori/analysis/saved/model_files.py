"""Saved models: arrays and plain text with a checksum, tried out before they are believed."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from sklearn.pipeline import Pipeline

from posteriori.analysis.fitting.preparation import NoColumns, NumberColumns
from posteriori.analysis.saved.cluster_model import ClusterModel
from posteriori.analysis.saved.column_reader import ColumnReader
from posteriori.analysis.saved.density_model import DensityModel
from posteriori.analysis.saved.forecast_model import ForecastModel, SavedSeries, SeriesShelf
from posteriori.analysis.saved.object_tree import from_tree, to_tree
from posteriori.analysis.saved.segment_model import SegmentModel
from posteriori.analysis.saved.table_model import TARGET_KINDS, TableModel
from posteriori.analysis.table.columns import Column
from posteriori.estimators.contract import FillsGaps, offers
from posteriori.mixture.latent_classes import LatentClasses
from posteriori.mixture.normal.bayesian_gaussian_mixture import BayesianGaussianMixture
from posteriori.numerics.record_files import Format, read_record, write_record
from posteriori.selection.averaging import ClassifierAverage, ModelAverage
from posteriori.sequence.hidden_markov_chain import HiddenMarkovChain

__all__ = ["load_model", "save_model"]

_FORMAT = Format("posteriori model", 4, "model")
_MIXTURES = (BayesianGaussianMixture, LatentClasses)
_COLUMN_TYPES: dict[str, tuple[type, ...]] = {
    **dict.fromkeys(("name", "kind", "style", "note"), (str,)),
    **dict.fromkeys(("missing", "distinct"), (int,)),
    **dict.fromkeys(("limits", "levels", "remarks"), (tuple,)),
}
_FACT_TYPES: dict[str, tuple[type, ...]] = {
    **dict.fromkeys(("task", "prior", "kind", "version", "loss"), (str,)),
    **dict.fromkeys(("rows", "seed"), (int,)),
    "log_evidence": (float, type(None)),
    "held_out": (float,),
    "metrics": (dict,),
}
_DENSITY_FACT_TYPES = {
    name: types for name, types in _FACT_TYPES.items() if name not in ("task", "loss", "metrics")
}
_CLUSTER_FACT_TYPES: dict[str, tuple[type, ...]] = {
    **dict.fromkeys(("kind", "version"), (str,)),
    **dict.fromkeys(("rows", "clusters", "seed"), (int,)),
    "log_evidence": (float,),
}
_SEGMENT_FACT_TYPES: dict[str, tuple[type, ...]] = {
    "states" if name == "clusters" else name: types for name, types in _CLUSTER_FACT_TYPES.items()
}

_FORECAST_FACT_TYPES: dict[str, tuple[type, ...]] = {
    **dict.fromkeys(("kind", "prior", "version"), (str,)),
    **dict.fromkeys(("rows", "series", "seed"), (int,)),
    "log_evidence": (float, type(None)),
}

#: All models that can be saved.
SavedModel = TableModel | ClusterModel | SegmentModel | DensityModel | ForecastModel

#: What each kind of them has beside name, pipeline, columns and facts.
_OWN: dict[type, tuple[str, ...]] = {
    TableModel: ("target", "classes", "target_kind"),
    ClusterModel: ("order", "members"),
    SegmentModel: ("order", "symbols", "time", "by"),
    DensityModel: (),
    ForecastModel: ("value", "by", "holidays"),
}


def save_model(model: SavedModel, path: str | os.PathLike[str]) -> None:
    """Write a model, whole or not at all.

    Two rows with usual values and what is predicted for them are written with it, so that who
    reads the file can see that the model still answers as it did.
    """
    trial = _usual_rows(model)
    answers = _answers(model, trial)
    content = {
        "name": model.name,
        "pipeline": model.pipeline,
        "columns": [_plain(c) for c in model.columns],
        "facts": model.facts,
        "trial": trial,
        "answers": answers,
    }
    content |= {name: _plain(getattr(model, name)) for name in _OWN[type(model)]}
    tree, numbers = to_tree(content)
    write_record(path, _FORMAT, tree, numbers)


def load_model(path: str | os.PathLike[str]) -> SavedModel:
    """Read what :func:`save_model` wrote.

    Raises
    ------
    ValueError
        When the file is no saved model, of another version, damaged, or does not add up.
    """
    tree, numbers = read_record(path, _FORMAT)
    try:
        model, rows, answers = _read_content(from_tree(tree, numbers))
        _require_same_answers(model, rows, answers)
    except Exception as error:  # whatever a forged file leads to is its fault
        reason = " ".join(str(error).split())[:200]
        raise ValueError(f"{path} does not hold a usable model: {reason}") from None
    return model


def _read_content(content: dict[str, Any]) -> tuple[SavedModel, Any, Any]:
    """Return the model, the rows it was tried on and what it said, all of the right types."""
    columns = tuple(Column(*fields) for fields in content["columns"])
    if not _is_model(content["pipeline"]):
        raise ValueError("it holds no model")
    if not all(_is_usable(c) for c in columns):
        raise ValueError("its columns are not described as columns are")
    readers: dict[str, Callable[..., SavedModel]] = {
        "holidays": _read_forecasts,
        "target": _read_predictions,
        "symbols": _read_segments,
        "order": _read_clusters,
        "name": _read_density,
    }
    read = next(read for key, read in readers.items() if key in content)
    return read(content, columns), content["trial"], content["answers"]


def _read_density(content: dict[str, Any], columns: tuple[Column, ...]) -> DensityModel:
    name, pipeline, facts = content["name"], content["pipeline"], content["facts"]
    if not isinstance(name, str):
        raise ValueError("its name is no text")
    if not (isinstance(pipeline, Pipeline) and offers(pipeline[-1], FillsGaps)):
        raise ValueError("it holds no density")
    if not (columns and _has_types(facts, _DENSITY_FACT_TYPES)):
        raise ValueError("what it says about itself is not what densities say")
    return DensityModel(name, pipeline, columns, facts)


def _read_clusters(content: dict[str, Any], columns: tuple[Column, ...]) -> ClusterModel:
    name, pipeline, facts = content["name"], content["pipeline"], content["facts"]
    if not isinstance(name, str):
        raise ValueError("its name is no text")
    if not (isinstance(pipeline, Pipeline) and isinstance(pipeline[-1], _MIXTURES)):
        raise ValueError("it holds no mixture")
    if not (columns and _has_types(facts, _CLUSTER_FACT_TYPES)):
        raise ValueError("what it says about itself is not what models of clusters say")
    order = content["order"]
    if not _is_order(order, len(pipeline[-1].weights_)):
        raise ValueError("its clusters have no order")
    members = content.get("members", (1,) * len(order))  # earlier files have one component each
    if not _are_counts(members, len(order)) or facts["clusters"] != len(members):
        raise ValueError("its clusters do not have the components")
    return ClusterModel(name, pipeline, columns, order, facts, members)


def _read_segments(content: dict[str, Any], columns: tuple[Column, ...]) -> SegmentModel:
    name, pipeline, facts = content["name"], content["pipeline"], content["facts"]
    if not isinstance(name, str):
        raise ValueError("its name is no text")
    if not (isinstance(pipeline, Pipeline) and isinstance(pipeline[-1], HiddenMarkovChain)):
        raise ValueError("it holds no hidden chain")
    if not (columns and _has_types(facts, _SEGMENT_FACT_TYPES)):
        raise ValueError("what it says about itself is not what models of segments say")
    if not _is_order(content["order"], len(pipeline[-1].initial)):
        raise ValueError("its states have no order")
    if not _are_symbols(content["symbols"], len(columns)):
        raise ValueError("its symbols are no codes of columns")
    others = [None if c is None else Column(*c) for c in (content["time"], content["by"])]
    if not all(c is None or _is_described(c) for c in others):
        raise ValueError("its times and series are not described as columns are")
    order, symbols = content["order"], content["symbols"]
    return SegmentModel(name, pipeline, columns, order, symbols, others[0], others[1], facts)


def _read_forecasts(content: dict[str, Any], columns: tuple[Column, ...]) -> ForecastModel:
    name, pipeline, facts = content["name"], content["pipeline"], content["facts"]
    if not (isinstance(name, str) and isinstance(content["holidays"], str)):
        raise ValueError("its names are no texts")
    if not (isinstance(pipeline[-1], SeriesShelf) and _are_series(pipeline[-1].series)):
        raise ValueError("it holds no series")
    if not (columns and _has_types(facts, _FORECAST_FACT_TYPES)):
        raise ValueError("what it says about itself is not what models of series say")
    value = Column(*content["value"])
    by = None if content["by"] is None else Column(*content["by"])
    if not all(c is None or _is_described(c) for c in (value, by)):
        raise ValueError("its values and series are not described as columns are")
    return ForecastModel(name, pipeline, columns, value, by, content["holidays"], facts)


def _are_series(series: Any) -> bool:
    return (
        isinstance(series, dict)
        and bool(series)
        and all(
            isinstance(name, str)
            and isinstance(one, SavedSeries)
            and isinstance(one.kind, str)
            and isinstance(one.origin, str if one.dated else float)
            and type(one.dated) is bool
            and all(type(x) is float for x in (one.step, one.last))
            and isinstance(one.inputs, tuple)
            for name, one in series.items()
        )
    )


def _is_order(order: Any, count: int) -> bool:
    whole = isinstance(order, tuple) and all(type(k) is int for k in order)
    return whole and sorted(order) == list(range(count))


def _are_counts(members: Any, total: int) -> bool:
    whole = isinstance(members, tuple) and all(type(n) is int and n > 0 for n in members)
    return whole and sum(members) == total


def _are_symbols(symbols: Any, width: int) -> bool:
    return isinstance(symbols, dict) and all(
        type(place) is int
        and 0 <= place < width
        and isinstance(known, tuple)
        and all(type(code) is float for code in known)
        for place, known in symbols.items()
    )


def _plain(value: Any) -> Any:
    """Return a column as the list of its fields; files hold all else as it is."""
    return list(vars(value).values()) if isinstance(value, Column) else value


def _read_predictions(content: dict[str, Any], columns: tuple[Column, ...]) -> TableModel:
    names, facts = (content["name"], content["target"]), content["facts"]
    if not all(isinstance(name, str) for name in names):
        raise ValueError("its names are no texts")
    if not (_has_types(facts, _FACT_TYPES) and _has_types(facts["metrics"], {})):
        raise ValueError("what it says about itself is not what models say")
    if not _are_classes(content["classes"]):
        raise ValueError("its classes are no list of labels")
    if content["target_kind"] not in TARGET_KINDS:
        raise ValueError("its target is of no known kind")
    return TableModel(
        *names, content["pipeline"], columns, content["classes"], facts, content["target_kind"]
    )


def _is_model(found: Any) -> bool:
    """Tell whether something is a pipeline, or an average of pipelines."""
    if isinstance(found, (ModelAverage, ClassifierAverage)):
        models, weights = found.models_, found.weights_
        alike = isinstance(models, dict) and isinstance(weights, dict) and bool(models)
        return alike and all(isinstance(m, Pipeline) for m in models.values())
    return isinstance(found, Pipeline)


def _are_classes(found: Any) -> bool:
    return found is None or (isinstance(found, np.ndarray) and found.ndim == 1)


def _is_usable(column: Column) -> bool:
    return column.used and _is_described(column)


def _is_described(column: Column) -> bool:
    return (
        _has_types(vars(column), _COLUMN_TYPES)
        and len(column.limits) in (0, 2)
        and all(type(limit) is float for limit in column.limits)
        and all(type(text) is str for text in (*column.levels, *column.remarks))
    )


def _has_types(values: dict[str, Any], types: dict[str, tuple[type, ...]]) -> bool:
    """Tell whether values are of the given types, by name; other names have numbers."""
    return types.keys() <= values.keys() and all(
        type(value) in types.get(name, (float,)) for name, value in values.items()
    )


def _usual_rows(model: ColumnReader) -> dict[str, list[Any]]:
    """Return a row of usual values, one standard deviation above the mean, and one of missing ones.

    The weights of columns at their mean would not be felt.
    """
    encoders = [pipeline[0] for pipeline in model.pipelines]
    scales = [s for e in encoders if isinstance(e, NumberColumns) for s in e.scales_]
    usual = {scale.name: scale.mean + scale.std for scale in scales}
    usual |= {
        column.name: 0.5 * (column.limits[0] + column.limits[1])
        for column in model.columns
        if column.limits and not isinstance(model, TableModel)
    }
    usual |= {column.name: 1.0 for column in model.columns if column.kind == "boolean"}
    return {
        column.name: [_first_level(encoders, column.name), None]
        if column.kind == "category"
        else [float(usual.get(column.name, 1.0)), None]
        for column in model.columns
    }


def _first_level(encoders: list[Any], name: str) -> str:
    """Return a level that is known to some of the models."""
    for known in (encoder.levels_ for encoder in encoders if not isinstance(encoder, NoColumns)):
        levels = known.get(name, ()) if isinstance(known, dict) else dict(known).get(name, ())
        if levels:
            return str(levels[0])
    return "other"


def _as_inputs(model: ColumnReader, rows: dict[str, list[Any]]) -> pd.DataFrame:
    """Return two rows as the pipeline takes them, which a model of no columns needs too."""
    values = {
        column.name: pd.Categorical(rows[column.name])
        if column.kind == "category"
        else np.array(rows[column.name], dtype=np.float64)
        for column in model.columns
    }
    return pd.DataFrame(values, index=[0, 1])


def _answers(model: ColumnReader, rows: dict[str, list[Any]]) -> dict[str, Any]:
    with warnings.catch_warnings():  # a column far from 1 may lead to numbers beyond the largest
        warnings.simplefilter("ignore")
        predictions = model.predict_inputs(_as_inputs(model, rows))
    return {name: predictions[name].to_numpy() for name in predictions}


def _require_same_answers(model: ColumnReader, rows: Any, answers: Any) -> None:
    found = _answers(model, rows)
    if list(found) != list(answers):
        raise ValueError("it predicts other columns than when it was saved")
    for name, now in found.items():
        given = np.asarray(answers[name])
        same = (
            np.allclose(given, now, rtol=1e-9, atol=1e-12, equal_nan=True)
            if given.dtype.kind == "f"
            else np.array_equal(given, now)
        )
        if not same:
            raise ValueError("it gives other answers than when it was saved")
