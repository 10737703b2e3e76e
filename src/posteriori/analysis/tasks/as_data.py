"""Results of tasks as plain data, for JSON: numbers, texts, lists and mappings, null for what is not known."""

from __future__ import annotations

import math
from collections.abc import Mapping
from importlib.metadata import version
from typing import Any, Protocol, runtime_checkable

import numpy as np
import pandas as pd

from posteriori.analysis.tasks.contract import TaskResult

__all__ = ["SCHEMA", "as_data", "plain_value"]

#: Raised when a name changes or goes; names that are added leave it as it is.
SCHEMA = 1


@runtime_checkable
class _Record(Protocol):
    """A named tuple."""

    def _asdict(self) -> dict[str, Any]: ...


def as_data(task: str, found: TaskResult) -> dict[str, Any]:
    """Return what a task has found: what all tasks tell, and under ``answer`` what this one does."""
    return {
        "schema": SCHEMA,
        "task": task,
        "version": version("posteriori"),
        "verdict": found.verdict,
        "reasons": list(found.reasons),
        "notes": list(found.notes),
        "interrupted": bool(found.interrupted),
        "failure": found.failure or None,
        "answer": plain_value(found.data()),
    }


def plain_value(value: Any) -> Any:
    """Return a value as JSON holds it.

    Examples
    --------
    >>> plain_value({"a": np.array([1.0, np.nan]), "b": np.int64(2)})
    {'a': [1.0, None], 'b': 2}
    """
    if isinstance(value, pd.DataFrame):
        return [plain_value(row) for row in value.to_dict("records")]
    if isinstance(value, Mapping):
        return {str(name): plain_value(entry) for name, entry in value.items()}
    if isinstance(value, tuple) and isinstance(value, _Record):
        return plain_value(value._asdict())
    if isinstance(value, np.ndarray | list | tuple):
        return [plain_value(entry) for entry in value]
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or value is pd.NaT or (isinstance(value, float) and not math.isfinite(value)):
        return None
    return value if isinstance(value, bool | int | float | str) else str(value)
