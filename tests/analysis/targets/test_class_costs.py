"""Costs are read as they are told, and what cannot be meant is refused by its name."""

import re
from typing import Any

import numpy as np
import pytest

from posteriori.analysis.targets.class_costs import (
    Stakes,
    cost_matrix,
    read_stakes,
    rule_in_words,
    say_classes,
    threshold_of,
)

TWO, THREE = ["no", "yes"], ["a", "b", "c"]


@pytest.mark.parametrize(
    ("costs", "classes", "matrix"),
    [
        ({"yes:no": 10}, TWO, [[0, 1], [10, 0]]),
        ({("yes", "no"): 10, ("no", "yes"): 2}, TWO, [[0, 2], [10, 0]]),
        ({"yes:yes": 0.5, "yes:no": "7"}, TWO, [[0, 1], [7, 0.5]]),
        ({(1, 0): 3}, [0, 1], [[0, 1], [3, 0]]),
        ({"True:False": 3}, [False, True], [[0, 1], [3, 0]]),
        ({"c:a": 5, "b : a": 2}, THREE, [[0, 1, 1], [2, 0, 1], [5, 1, 0]]),
        ({"x:y:z": 4}, ["x", "y:z"], [[0, 4], [1, 0]]),  # names with colons, as they fit
        ({"x:y:z": 4}, ["x:y", "z"], [[0, 4], [1, 0]]),
    ],
)
def test_costs(costs: Any, classes: Any, matrix: Any) -> None:
    assert cost_matrix(costs, classes).tolist() == matrix


@pytest.mark.parametrize(
    ("costs", "positive", "words"),
    [
        ({"yse:no": 10}, None, "costs: there is no class 'yse'; did you mean 'yes'?"),
        ({"yes:nO": 10}, None, "did you mean 'no'?"),
        ({"maybe:no": 10}, None, "there is no class 'maybe'; there are 'no', 'yes'"),
        ({"yes": 10}, None, "the true class and the one that is said, such as 'yes:no', got 'yes'"),
        ({("yes",): 10}, None, "such as 'yes:no'"),
        ({"yes:no": -1}, None, "the cost of 'yes:no' must be a number from 0 on, got -1"),
        (
            {("yes", "no"): "much"},
            None,
            "the cost of 'yes:no' must be a number from 0 on, got 'much'",
        ),
        ({"yes:no": np.inf}, None, "must be a number from 0 on"),
        ({"yes:no": np.nan}, None, "must be a number from 0 on"),
        ({"yes:no": 0}, None, "saying 'no' is never dearer than anything else"),
        ({"no:no": 5}, None, "saying 'yes' is never dearer than anything else"),
        ({}, "yess", "positive: there is no class 'yess'; did you mean 'yes'?"),
        ({}, "yes,no", "positive names one class, got 2: yes, no"),
        ({}, ["yes", "no"], "positive names one class, got 2: yes, no"),
    ],
)
def test_what_cannot_be_meant(costs: Any, positive: Any, words: str) -> None:
    with pytest.raises(ValueError, match=re.escape(words)):
        read_stakes("y", ["no", "yes", "no"], TWO, costs, positive)


def test_what_is_no_mapping_and_what_has_no_classes() -> None:
    with pytest.raises(TypeError, match="costs must be a mapping such as"):
        read_stakes("y", ["no", "yes"], TWO, ["yes:no=10"])  # type: ignore[arg-type]
    for asked in ({"costs": {"yes:no": 10}}, {"positive": "yes"}):
        with pytest.raises(ValueError, match="'y', which is predicted as a number"):
            read_stakes("y", [1.0, 2.0], None, **asked)  # type: ignore[arg-type]
    assert read_stakes("y", [1.0, 2.0], None) == Stakes()


@pytest.mark.parametrize(
    ("counts", "positive"),
    [
        ((81, 19), 1),
        ((80, 20), None),  # a fifth is not less than a fifth
        ((19, 81), 0),
        ((50, 50), None),
        ((50, 34, 16), 2),
        ((50, 33, 17), None),  # more than half of a third
        ((90, 5, 5), None),  # two are rare: neither stands apart
        ((10,) * 10, None),
        ((15, 15, 15, 15, 15, 15, 8, 2), 7),
    ],
)
def test_one_class_that_is_rare(counts: tuple[int, ...], positive: int | None) -> None:
    classes = np.arange(len(counts))
    assert read_stakes("y", np.repeat(classes, counts), classes).positive == positive


@pytest.mark.parametrize(
    ("costs", "named", "positive"),
    [
        ({"a:b": 3}, None, "a"),  # the dearest to miss
        ({"a:b": 3, "b:a": 3}, None, "b"),  # of these the rarer
        ({"a:b": 0.5}, None, "c"),  # all others are as dear, and it is the rarest
        ({"a:b": 3}, "c", "c"),
        ({}, "a", "a"),
    ],
)
def test_the_class_that_is_to_be_found(costs: Any, named: Any, positive: str) -> None:
    values = np.repeat(THREE, [50, 30, 20])
    assert read_stakes("y", values, THREE, costs, named).positive == THREE.index(positive)


def test_the_threshold_is_where_both_answers_cost_the_same() -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        rule = rng.uniform(0.0, 1.0, (2, 2)) + 3.0 * (1.0 - np.eye(2))
        for positive in (0, 1):
            t = threshold_of(rule, positive)
            p = np.array([1.0 - t, t])[:: 1 if positive else -1]
            assert p @ rule[:, 0] == pytest.approx(p @ rule[:, 1])
            sure = np.array([0.01, 0.99])[:: 1 if positive else -1]
            assert say_classes(sure[None], rule)[0] == positive


def test_what_is_said_costs_least_of_all_answers() -> None:
    rng = np.random.default_rng(1)
    rule = rng.uniform(1.0, 9.0, (3, 3)) * (1.0 - np.eye(3))
    p = rng.dirichlet(np.ones(3), 50)
    for row, said in zip(p, say_classes(p, rule), strict=True):
        costs = [sum(row[k] * rule[k, j] for k in range(3)) for j in range(3)]
        assert costs[said] == min(costs)
    assert (say_classes(p, None) == p.argmax(axis=1)).all()


def test_rules_in_words() -> None:
    several = cost_matrix({"c:a": 5, "b:b": 0.5}, THREE)
    assert rule_in_words(several, 2, THREE) == [
        "costs: “b” said rightly 0.5, “c” taken for “a” 5, other mistakes 1"
    ]
    both = cost_matrix({"yes:no": 10, "no:yes": 2}, TWO)
    assert rule_in_words(both, 0, TWO) == [
        "costs: “no” taken for “yes” 2, “yes” taken for “no” 10",
        "threshold: says “no” from a probability of 0.833 on",
    ]
