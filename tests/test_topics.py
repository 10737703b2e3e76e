"""The table from topics to public names (docs/coverage.csv) says only what is true."""

import csv
import importlib
import inspect
from pathlib import Path

import pytest

TABLE = Path(__file__).parents[1] / "docs" / "coverage.csv"


def read_rows():
    with TABLE.open(encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file)
        assert reader.fieldnames == ["id", "title", "names"]
        return list(reader)


def resolve(name):
    """Import the longest prefix that is a module, then follow the attributes."""
    parts = name.split(".")
    for cut in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:cut]))
        except ModuleNotFoundError:
            continue
        for attribute in parts[cut:]:
            found = getattr(found, attribute)
        return found
    raise ModuleNotFoundError(name)


def test_every_topic_is_listed_once_and_whole():
    rows = read_rows()
    ids = [row["id"] for row in rows]
    assert len(ids) == len(set(ids))
    assert all(row["id"] and row["title"] and row["names"] for row in rows)


def test_every_name_is_a_public_object():
    names = {name.strip() for row in read_rows() for name in row["names"].split(";")}
    for name in sorted(names):
        assert name.startswith("posteriori."), name
        assert not any(part.startswith("_") for part in name.split(".")), name
        assert not inspect.ismodule(resolve(name)), name


def test_resolving_a_name_that_does_not_exist_fails():
    with pytest.raises(AttributeError):
        resolve("posteriori.numerics.no_such_name")
