"""Odd rows are found with the columns that make them odd; usual ones are not."""

import numpy as np
import pandas as pd
import pytest

from posteriori import compare
from posteriori.analysis import TableDensity
from tests.analysis.densities.described_tables import customers, people, with_gaps


def odd_numbers(found: TableDensity) -> list[int]:
    return [int(found.rows[one.row]) for one in found.odd_rows]


@pytest.mark.parametrize("model", ["normal", "normal mixture", "kernel density"])
def test_a_wrong_unit_is_found(model: str) -> None:
    table = people()
    table.loc[17, "height"] = 178.0  # in centimetres
    found = compare(table, task="density", models=[model])
    assert odd_numbers(found)[0] == 17
    (first, *_) = found.odd_rows
    assert first.entries[0].column == 0
    assert first.entries[0].value == 178.0
    assert first.expected < 0.1
    assert "row 18 (height 178, expected 1." in found.verdict


def test_a_combination_is_odd_that_no_column_shows() -> None:
    """A tall person of small weight: each is usual alone."""
    table = people(200)
    spread = table.std()
    table.loc[40, ["height", "weight"]] = [
        1.7 + 1.7 * spread["height"],
        70e3 - 1.7 * spread["weight"],
    ]
    found = compare(table, task="density", models=["normal"])
    assert odd_numbers(found) == [40]
    assert {entry.column for entry in found.odd_rows[0].entries} <= {0, 1}
    alone = compare(table[["height"]], task="density", models=["normal"])
    assert odd_numbers(alone) == []


def test_rows_with_gaps_are_judged_by_what_is_seen() -> None:
    table = with_gaps()
    table.loc[9, "height"] = 2.6  # its weight is missing
    found = compare(table, task="density", models=["normal"])
    assert odd_numbers(found)[0] == 9
    assert found.odd_rows[0].entries[0].column == 0


def test_odd_levels_are_blamed() -> None:
    """Three of six columns that always agree say something else: of one that might well be."""
    rng = np.random.default_rng(0)
    kind = rng.choice(["a", "b"], size=300)
    table = pd.DataFrame({f"c{k}": kind for k in range(6)})
    table["c0"] = np.where(
        rng.random(300) < 0.02, "b", kind
    )  # a column that repeats another is left out
    for k in range(1, 6):
        table.loc[k, f"c{k}"] = "b" if kind[k] == "a" else "a"
    table["size"] = rng.normal(9.0 * (kind == "a"), 1.0)
    table.loc[50, ["c3", "c4", "c5"]] = "b" if kind[50] == "a" else "a"
    found = compare(table, task="density", models=["latent classes"])
    assert odd_numbers(found)[0] == 50
    assert {entry.column for entry in found.odd_rows[0].entries} == {3, 4, 5}
    assert f", expected {kind[50]} (" in found.verdict


@pytest.mark.slow
def test_usual_tables_have_no_odd_rows() -> None:
    """Of 30 normal tables fewer than 0.1 odd rows are expected in each: seven or more are unlikely (3e-2)."""
    odd = 0
    for seed in range(30):
        rng = np.random.default_rng(seed)
        x = rng.normal(size=(60, 2)) @ rng.normal(size=(2, 2))
        table = {"a": x[:, 0], "b": x[:, 1]}
        odd += len(compare(table, task="density", models=["normal"], seed=seed).odd_rows)
    assert odd < 9  # p < 4e-3


def test_columns_of_all_kinds_are_judged() -> None:
    found = compare(customers(), task="density", models=["independent columns"])
    assert "odd" in found.verdict
