"""Which candidates a table is tried with: not those that would take too long or promise too much."""

import pytest

from posteriori.selection import candidates
from posteriori.selection.candidates import CANDIDATES, Candidate, candidates_for

PROCESS, SPARSE, CURVES = "Gaussian process", "Gaussian process (sparse)", "additive curves"


def tried(task="regression", **size):
    found = candidates_for(task, thorough=True, **size)
    return {c.name for c in found} & {PROCESS, SPARSE, CURVES}


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        (20, {PROCESS}),
        (60, {PROCESS, CURVES}),
        (1_000, {PROCESS, CURVES}),
        (1_001, {SPARSE, CURVES}),
        (20_000, {SPARSE, CURVES}),
        (20_001, {CURVES}),
        (50_001, set()),
    ],
)
def test_functions_of_numbers_by_rows(rows, expected):
    assert tried(rows=rows, inputs=5) == expected


def test_wide_tables_have_none():
    assert tried(rows=500, inputs=20) == {PROCESS, CURVES}
    assert tried(rows=500, inputs=40) == {PROCESS}
    assert tried(rows=5_000, inputs=40) == {SPARSE}
    assert tried(rows=500, inputs=41) == set()


def test_several_classes_have_a_function_each():
    for rows, classes in ((1_000, 2), (500, 3), (111, 10)):
        assert tried("classification", rows=rows, inputs=5, classes=classes) == {PROCESS}
        assert tried("classification", rows=rows + 1, inputs=5, classes=classes) == set()


def test_what_is_asked_for_is_tried_in_any_case():
    (found,) = candidates_for("regression", [SPARSE], rows=10, inputs=1_000)
    assert found.name == SPARSE


def test_names_and_titles_are_told_apart():
    for task in {c.task for c in CANDIDATES}:
        called = [name for c in CANDIDATES if c.task == task for name in {c.name, c.words}]
        assert len(called) == len(set(called))


def test_what_seldom_wins_waits_for_a_thorough_comparison(monkeypatch):
    dear = Candidate("dear", "regression", "nowhere.Dear", thorough=True)
    monkeypatch.setattr(candidates, "CANDIDATES", (*CANDIDATES, dear))
    assert dear not in candidates_for("regression", rows=100, inputs=3)
    assert dear in candidates_for("regression", rows=100, inputs=3, thorough=True)
    assert candidates_for("regression", ["dear"]) == [dear]


def test_what_suits_some_targets_only_is_tried_of_others_if_asked_for():
    name, positive = "boosted logarithms", ("positive",)
    skewed = {c.name for c in candidates_for("regression", targets=(*positive, "skewed"))}
    usual = {c.name for c in candidates_for("regression", targets=positive)}
    assert skewed - usual == {name}
    (found,) = candidates_for("regression", [name], targets=positive)
    assert found.name == name
    with pytest.raises(ValueError, match="is for positive, which the target is not"):
        candidates_for("regression", [name])


@pytest.mark.parametrize(
    ("task", "rows", "dear"),
    [
        ("regression", 500, set()),
        ("regression", 5_000, set()),
        ("classification", 500, {PROCESS}),
    ],
)
def test_costly_models_that_never_won_are_asked_for(task, rows, dear):
    """None of them was first on a public table, and each took more than a twentieth of the time."""
    size = {"rows": rows, "inputs": 5, "targets": ("counts",) if task == "regression" else ()}
    few, all_of_them = (candidates_for(task, thorough=t, **size) for t in (False, True))
    assert {c.name for c in all_of_them} - {c.name for c in few} == dear


@pytest.mark.parametrize("task", ["regression", "classification", "joint"])
def test_quick_models_come_first(task):
    found = [c.quick for c in candidates_for(task, rows=500, inputs=5)]
    assert found[0]
    assert not found[-1]
    assert found == sorted(found, reverse=True)
