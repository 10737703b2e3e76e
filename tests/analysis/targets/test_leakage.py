"""Columns that give the target away."""

import numpy as np
import pandas as pd
import pytest

from posteriori.analysis.comparisons.table_problem import Problem
from posteriori.analysis.targets.cautions import revealing_columns

N = 60
LABELS = np.array(["no", "yes"])[np.arange(N) % 2]
NUMBERS = np.random.default_rng(0).normal(size=N)


def revealed(column, y, classes=None):
    X = pd.DataFrame({"x": column})
    return revealing_columns(Problem(X, y, {"x": "number"}, classes, [])) == {"x": "values"}


def gaps(values, share):
    return np.where(np.arange(N) < share * N, np.nan, values)


@pytest.mark.parametrize(
    ("column", "answer"),
    [
        (np.where(LABELS == "yes", 7.0, 3.0), True),
        (np.where(LABELS == "yes", 1.0, -1.0) * (1 + np.arange(N)), True),
        (gaps(np.where(LABELS == "yes", 7.0, 3.0), 0.4), True),
        (gaps(np.where(LABELS == "yes", 7.0, 3.0), 0.8), False),  # known of too few rows
        (np.append(np.where(LABELS == "yes", 7.0, 3.0)[1:], 3.0), True),  # the other way round
        (np.append(np.where(LABELS == "yes", 7.0, 3.0)[:-1], 3.0), False),  # one exception
        (np.where(LABELS == "yes", 2.0, np.arange(N) % 4.0), False),  # a value of both classes
        (pd.Categorical(np.where(LABELS == "yes", "a", np.array(["b", "c"])[np.arange(N) // 30])), True),
        (pd.Categorical(["a"] * 30 + ["b"] * 30), False),
        (pd.Categorical([f"level {k}" for k in range(N)]), False),  # every row has its own
    ],
)  # fmt: skip
def test_of_classes(column, answer):
    assert revealed(column, LABELS, np.array(["no", "yes"])) is answer


@pytest.mark.parametrize(
    ("column", "answer"),
    [
        (1.2 * NUMBERS + 3.0, True),
        (np.exp(-NUMBERS), True),
        (gaps(NUMBERS, 0.3), True),
        (NUMBERS + 0.3 * np.random.default_rng(1).normal(size=N), False),
        (pd.Categorical(["a", "b"] * 30), False),
    ],
)
def test_of_numbers(column, answer):
    assert revealed(column, NUMBERS) is answer


def test_few_rows_reveal_nothing():
    X = pd.DataFrame({"x": np.arange(10.0)})
    assert revealing_columns(Problem(X, np.arange(10.0), {"x": "number"}, None, [])) == {}


def told(column, y, classes=None):
    return revealing_columns(Problem(pd.DataFrame({"x": column}), y, {}, classes, []))


@pytest.mark.parametrize(
    ("missing", "answer"),
    [
        (LABELS == "no", True),
        (LABELS == "yes", True),
        ((LABELS == "no") & (np.arange(N) > 1), False),  # one exception
        (np.arange(N) < 30, False),
        (np.zeros(N, dtype=bool), False),
    ],
)
@pytest.mark.parametrize("noise", [NUMBERS, pd.Categorical(["a", "b", "b", "a"] * 15)])
def test_gaps_that_tell_classes(missing, answer, noise):
    column = pd.Series(noise).where(~missing)
    assert told(column, LABELS, np.array(["no", "yes"])) == ({"x": "gaps"} if answer else {})


@pytest.mark.parametrize(
    ("missing", "answer"),
    [(NUMBERS > 0.5, True), (NUMBERS < 0.5, True), (NUMBERS > 9.0, False), (LABELS == "no", False)],
)
def test_gaps_that_tell_numbers(missing, answer):
    noise = np.random.default_rng(5).normal(size=N)
    assert told(np.where(missing, np.nan, noise), NUMBERS) == ({"x": "gaps"} if answer else {})


def test_few_gaps_reveal_nothing():
    column = np.where(np.sort(NUMBERS)[-4] <= NUMBERS, np.nan, NUMBERS[::-1])
    assert told(column, NUMBERS) == {}
