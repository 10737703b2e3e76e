"""A row surprises where the model expected fewer than 0.1 like it."""

import numpy as np
import pandas as pd
import pytest

from posteriori.analysis.comparisons.table_problem import Problem
from posteriori.analysis.report.insights import (
    expected_at_least,
    surprise_table,
    surprising_rows,
)
from posteriori.analysis.table.wording import entry_text
from posteriori.selection.cross_validation import Unseen


def numbers(level):
    level = np.asarray(level, dtype=float)
    return Unseen(np.log(np.minimum(level, 1 - level)), np.zeros(len(level)), level)


def classes(p, codes):
    p = np.asarray(p, dtype=float)
    return Unseen(np.log(p[np.arange(len(p)), codes]), p, np.full(len(p), np.nan))


def test_expected_numbers_by_hand():
    found = expected_at_least(numbers([0.5, 0.1, 0.999, 0.25]))
    np.testing.assert_allclose(found, [4.0, 0.8, 0.008, 2.0], rtol=1e-12)
    assert list(surprising_rows(numbers([0.5, 0.1, 0.999, 0.25]))) == [2]


def test_expected_classes_by_hand():
    p, codes = [[0.9, 0.1], [0.6, 0.4], [0.02, 0.98]], [1, 0, 0]
    found = expected_at_least(classes(p, codes), codes)
    # up to 0.1: 0.02 + 0.1; up to 0.6: 0.02 + 0.1 + 0.4 + 0.6; up to 0.02: itself
    np.testing.assert_allclose(found, [0.12, 1.12, 0.02], rtol=1e-12)
    assert list(surprising_rows(classes(p, codes), codes)) == [2]


@pytest.mark.parametrize("seed", range(3))
def test_a_calibrated_model_is_hardly_surprised(seed):
    """Of a thousand rows that follow the model, one is listed in about every tenth analysis."""
    rng = np.random.default_rng(seed)
    listed = [len(surprising_rows(numbers(rng.random(1000)))) for _ in range(1000)]
    assert abs(np.mean(listed) - 0.1) < 5 * np.sqrt(0.1 / 1000)
    p = rng.dirichlet(np.ones(3), size=1000)
    listed = []
    for _ in range(200):
        codes = (rng.random((1000, 1)) > np.cumsum(p, axis=1)[:, :2]).sum(axis=1)
        listed.append(len(surprising_rows(classes(p, codes), codes)))
    assert np.mean(listed) < 0.1 + 5 * np.sqrt(0.1 / 200)


def test_what_happens_to_every_tenth_row_does_not_surprise():
    p = np.tile([0.9, 0.1], (200, 1)) * (1.0 + 1e-14)
    codes = np.repeat([0, 1], [180, 20])
    assert list(surprising_rows(classes(p, codes), codes)) == []


def test_no_more_than_asked_for_are_listed():
    assert len(surprising_rows(numbers(np.full(50, 1e-6)), most=5)) == 5


def test_rows_are_told_with_some_of_their_entries():
    X = pd.DataFrame({"size": [1.5, 2.0, np.nan], "colour": ["<b>", "green", "red"]})
    problem = Problem(
        X, np.array([249_995.0, 5.0, 6.0]), {"size": "number", "colour": "category"}, None, []
    )
    unseen = numbers([0.001, 0.5, 0.9999])._replace(prediction=np.array([3.0, 5.0, 6.0]))
    header, rows = surprise_table(
        unseen, problem, [4, 7, 1233], {"colour": "category", "size": "number"}
    )
    assert header == ("row", "came", "predicted", "colour", "size", "such rows expected")
    assert rows == [
        ("1,234", "6", "6", "red", "missing", "0.0006"),
        ("5", "249,995", "3", "<b>", "1.5", "0.006"),
    ]


@pytest.mark.parametrize(
    ("value", "kind", "text"),
    [
        (1234567.0, "number", "1,234,567"),
        (1.0, "boolean", "yes"),
        (0.0, "boolean", "no"),
        (2024.0, "date", "2024-01-01"),
        (np.nan, "number", "missing"),
        (None, "category", "missing"),
        ("a" * 40, "category", "a" * 16 + "…" + "a" * 7),
    ],
)
def test_entries_are_written_as_people_do(value, kind, text):
    assert entry_text(value, kind) == text
