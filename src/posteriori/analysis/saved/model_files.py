"""Saved models: arrays and plain text with a checksum, tried out before they are believed."""

from __future__ import annotations

import os
import warnings
from pkgutil import resolve_name
from typing import Any

import numpy as np
import pandas as pd
from sklearn.pipeline import Pipeline

from posteriori.analysis.fitting.preparation import NoColumns, NumberColumns
from posteriori.analysis.saved.column_reader import SAVED, ColumnReader, has_types, place_of
from posteriori.analysis.saved.object_tree import from_tree, to_tree
from posteriori.analysis.table.columns import Column
from posteriori.numerics.record_files import Format, read_record, write_record
from posteriori.selection.averaging import ClassifierAverage, ModelAverage

__all__ = ["load_model", "save_model"]

_FORMAT = Format("posteriori model", 4, "model")
_COLUMN_TYPES: dict[str, tuple[type, ...]] = {
    **dict.fromkeys(("name", "kind", "style", "note"), (str,)),
    **dict.fromkeys(("missing", "distinct"), (int,)),
    **dict.fromkeys(("limits", "levels", "remarks"), (tuple,)),
}
#: What files of all kinds hold.
_COMMON = {"saved", "name", "pipeline", "columns", "facts", "trial", "answers"}

#: What only models of a kind have in files that do not name it, as those of earlier versions.
_TOLD_BY = {"holidays": "forecasts", "target": "table", "symbols": "segments", "order": "clusters"}


def save_model(model: ColumnReader, path: str | os.PathLike[str]) -> None:
    """Write a model, whole or not at all.

    Two rows with usual values and what is predicted for them are written with it, so that who
    reads the file can see that the model still answers as it did.
    """
    trial = _usual_rows(model)
    answers = _answers(model, trial)
    content = {
        "saved": _kind_of(model),
        "name": model.name,
        "pipeline": model.pipeline,
        "columns": [_plain(c) for c in model.columns],
        "facts": model.facts,
        "trial": trial,
        "answers": answers,
    }
    content |= {name: _plain(getattr(model, name)) for name in model.own}
    tree, numbers = to_tree(content)
    write_record(path, _FORMAT, tree, numbers)


def load_model(path: str | os.PathLike[str]) -> ColumnReader:
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


def _read_content(content: dict[str, Any]) -> tuple[ColumnReader, Any, Any]:
    """Return the model, the rows it was tried on and what it said, all of the right types."""
    columns = tuple(Column(*fields) for fields in content["columns"])
    if not _is_model(content["pipeline"]):
        raise ValueError("it holds no model")
    if not all(_is_usable(c) for c in columns):
        raise ValueError("its columns are not described as columns are")
    kind = content.get("saved") or next((k for n, k in _TOLD_BY.items() if n in content), "density")
    if kind not in SAVED:
        raise ValueError(
            f"it holds a model of the kind {kind!r}, which no module that is loaded has"
        )
    made: Any = resolve_name(SAVED[kind])
    strange = content.keys() - _COMMON - set(made.own)
    if strange:
        raise ValueError(f"it holds {sorted(strange)[0]!r}, which models of its kind have not")
    common = {"name": content["name"], "pipeline": content["pipeline"], "facts": content["facts"]}
    held = (name for name in made.own if name in content or name not in made.own_later)
    own = {name: _read_own(content[name]) for name in held}
    model: ColumnReader = made(columns=columns, **common, **own)
    model.require_sound()
    return model, content["trial"], content["answers"]


def _kind_of(model: ColumnReader) -> str:
    found = [kind for kind, place in SAVED.items() if place == place_of(type(model))]
    if not found:
        raise TypeError(f"model must be of a kind that can be saved, got {type(model).__name__}")
    return found[0]


def _read_own(value: Any) -> Any:
    """Return a field of a model; a column is held as the list of its fields."""
    if not isinstance(value, list):
        return value
    column = Column(*value)
    if not _is_described(column):
        raise ValueError("its further columns are not described as columns are")
    return column


def _plain(value: Any) -> Any:
    """Return a column as the list of its fields; files hold all else as it is."""
    return list(vars(value).values()) if isinstance(value, Column) else value


def _is_model(found: Any) -> bool:
    """Tell whether something is a pipeline, or an average of pipelines."""
    if isinstance(found, (ModelAverage, ClassifierAverage)):
        models, weights = found.models_, found.weights_
        alike = isinstance(models, dict) and isinstance(weights, dict) and bool(models)
        return alike and all(isinstance(m, Pipeline) for m in models.values())
    return isinstance(found, Pipeline)


def _is_usable(column: Column) -> bool:
    return column.used and _is_described(column)


def _is_described(column: Column) -> bool:
    return (
        has_types(vars(column), _COLUMN_TYPES)
        and len(column.limits) in (0, 2)
        and all(type(limit) is float for limit in column.limits)
        and all(type(text) is str for text in (*column.levels, *column.remarks))
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
        if column.limits and model.tried_within_limits
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
    # a column far from 1 may lead to numbers beyond the largest
    with warnings.catch_warnings(action="ignore"):
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
