"""Groups of tables are found where they are, and only there; p(number) comes from the evidences."""

import re
import signal
import tracemalloc
from contextlib import suppress
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.special import logsumexp

from posteriori.analysis import cluster
from posteriori.analysis.fitting.coded_rows import read_rows
from posteriori.analysis.groups import group_search
from posteriori.analysis.groups.clustering import _numbers_to_try
from posteriori.analysis.groups.group_search import Tried, search_numbers
from posteriori.analysis.table.columns import describe_columns
from posteriori.estimators.component_choice import choose_components
from posteriori.mixture import BayesianGaussianMixture, LatentClasses
from tests.analysis.groups.grouped_tables import blobs, groups_of, mixed


def test_groups_are_recovered() -> None:
    found, truth = groups_of("blobs"), blobs()[1]
    assert found.n_clusters == 3
    assert (found.labels == truth + 1).all()  # sizes fall from the first group on
    assert found.probabilities.shape == (120, 3)
    np.testing.assert_allclose(found.probabilities.sum(axis=1), 1.0)
    assert found.number_probabilities.sum() == pytest.approx(1.0)
    assert found.verdict.startswith("These 120 rows form 3 groups: group 1 (60 rows such as row ")


def test_one_cloud_is_one_group() -> None:
    x = np.random.default_rng(1).normal(size=(150, 2)) @ np.array([[1.0, 2.0], [0.0, 1.0]])
    found = cluster({"a": x[:, 0], "b": x[:, 1]}, max_clusters=3)
    assert found.n_clusters == 1
    assert found.verdict.startswith("These 150 rows form one group")
    assert (found.labels == 1).all()


def test_mixed_columns_with_gaps_are_grouped() -> None:
    found, truth = groups_of("mixed"), mixed()[1]
    assert found.n_clusters == 2
    assert (found.labels - 1 == truth).mean() > 0.97
    assert found.model.name == "latent classes"
    assert "'always': always 3: left out" in " ".join(found.notes).replace("3.0", "3")
    assert "'never': every entry is missing: left out" in found.notes
    assert [c.name for c in found.model.columns] == ["plan", "paid", "spent", "since"]


def test_bounds_give_the_probabilities_of_the_evidences() -> None:
    x, numbers = groups_of("blobs").rows.x, (1, 2, 3, 4)
    found = search_numbers(x, ["normal", "normal"], numbers)
    assert found.numbers == numbers
    kinds = (
        BayesianGaussianMixture(tol=1e-3, random_state=0),
        LatentClasses(tol=1e-3, n_init=4, random_state=0),
    )
    scores = np.stack([choose_components(kind, x, numbers, "evidence").scores for kind in kinds])
    each = logsumexp(scores, axis=0)
    np.testing.assert_allclose(found.probabilities, np.exp(each - logsumexp(each)), atol=1e-6)


@pytest.mark.parametrize(("apart", "said"), [(2.5, True), (7.0, False)])
def test_intervals_of_groups_that_overlap_are_said_to_be_too_narrow(
    apart: float, said: bool
) -> None:
    rng = np.random.default_rng(3)
    x = rng.normal(size=(100, 2))
    x[:50, 0] += apart
    found = cluster(pd.DataFrame(x, columns=["a", "b"]), clusters=2)
    assert any("groups overlap" in note and "too narrow" in note for note in found.notes) == said


def test_probabilities_are_the_shares_of_the_draws() -> None:
    found = groups_of("mixed")
    assert found.drawn is not None
    counts = np.bincount(found.drawn.n_groups, minlength=5)[1:]
    np.testing.assert_allclose(
        found.number_probabilities, (counts + 0.25) / (counts.sum() + 1.0), atol=1e-12
    )
    assert found.numbers == (1, 2, 3, 4)


def skewed(groups: int) -> pd.DataFrame:
    rng = np.random.default_rng(7)
    x = np.exp(0.7 * rng.normal(size=(240, 2)))
    x[:, 0] += 12.0 * (np.arange(240) % groups)
    return pd.DataFrame(x, columns=["a", "b"])


def test_one_skewed_population_is_one_group_of_several_components() -> None:
    found = cluster(skewed(1), max_clusters=4)
    assert found.n_clusters == 1
    assert found.n_components[0] > 1
    assert "rows form one group" in found.verdict
    takes = f"the shape of group 1 takes {found.n_components[0]} components"
    assert any(takes in reason for reason in found.reasons)
    assert takes in found.html()
    np.testing.assert_allclose(found.probabilities, np.ones((240, 1)))


def test_groups_of_several_components_are_told_as_groups() -> None:
    """p(group | row) is the sum over the components of the group, of rows of other tables as well."""
    found = cluster(skewed(2), max_clusters=5)
    assert found.n_clusters == 2
    assert sum(found.n_components) > 2
    assert any("components" in reason for reason in found.reasons)
    truth = np.arange(240) % 2
    assert max((found.labels - 1 == truth).mean(), (found.labels - 1 == 1 - truth).mean()) > 0.98
    shares = found.model.pipeline.predict_proba(found.rows.frame)
    first = list(found.model.order[: found.model.members[0]])
    np.testing.assert_allclose(found.probabilities[:, 0], shares[:, first].sum(axis=1))
    assert found.model.facts["clusters"] == 2


def test_large_tables_are_grouped_by_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """And their components are joined all the same."""
    monkeypatch.setattr(group_search, "can_be_drawn", lambda *_: False)
    found = cluster(skewed(2), max_clusters=5)
    assert found.n_clusters == 2
    assert found.drawn is None
    assert "bounds of the evidence" in found.notes[-1]
    assert sum(found.n_components) == found.found.best.number > 2
    assert "evidence, normal mixture" in found.html()
    mixed_found = cluster(mixed()[0], max_clusters=3)
    assert mixed_found.n_clusters == 2


def test_classes_of_codes_are_groups() -> None:
    """Codes have no places in between: two classes of answers are two groups."""
    rng = np.random.default_rng(5)
    truth = np.arange(200) % 2
    table = pd.DataFrame(
        {f"q{j}": np.where(rng.random(200) < 0.15 + 0.7 * truth, "yes", "no") for j in range(6)}
    )
    found = cluster(table, max_clusters=4)
    assert found.n_clusters == 2
    assert found.number_probabilities[1] > 0.5


@pytest.mark.parametrize("kind", ["normal mixture", "latent classes"])
def test_evidences_are_of_the_table_in_its_units(kind: str) -> None:
    x = blobs()[0].to_numpy()

    def evidences(unit: float) -> np.ndarray:
        tried = search_numbers(x * [unit, 1.0], ["normal", "normal"], (1, 2)).tried
        return np.array([one.log_evidence for one in tried if one.kind == kind])

    moved = evidences(1000.0) - evidences(1.0)
    np.testing.assert_allclose(moved, -len(x) * np.log(1000.0), rtol=1e-6)


def test_rounded_numbers_are_no_groups() -> None:
    x = np.round(np.random.default_rng(2).normal(0.0, 1.0, size=(250, 2)))
    assert cluster({"a": x[:, 0], "b": x[:, 1]}, max_clusters=3).n_clusters == 1


def test_the_search_ends_where_evidence_has_fallen(monkeypatch: pytest.MonkeyPatch) -> None:
    values = dict(enumerate([-100.0, -50.0, -71.0, -75.0, -80.0, -10.0], start=1))

    def fit(mixture: Any, kind: str, x: Any) -> Tried:
        number = mixture.n_components
        return Tried(kind, number, values[number], mixture)

    monkeypatch.setattr(group_search, "_fit", fit)
    monkeypatch.setattr(group_search, "_without_empty", lambda *_: None)
    found = search_numbers(np.zeros((9, 1)), ["categorical"], range(1, 7))
    assert found.numbers == (1, 2, 3, 4, 5)
    assert found.best.number == 2
    assert found.notes == (
        "latent classes: more than 5 were not tried, as their evidence is far below the best",
    )


def test_a_kind_that_cannot_catch_up_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    def fit(mixture: Any, kind: str, x: Any) -> Tried:
        number = mixture.n_components
        rise = {"normal mixture": 0.0, "latent classes": -1e4 + 30.0 * number}[kind]
        return Tried(kind, number, rise, mixture)

    monkeypatch.setattr(group_search, "_fit", fit)
    monkeypatch.setattr(group_search, "_without_empty", lambda *_: None)
    found = search_numbers(np.zeros((9, 1)), ["normal"], range(1, 9))
    last = max(one.number for one in found.tried if one.kind == "latent classes")
    assert last == 3


@pytest.mark.parametrize("rows", [5, 10])
def test_tiny_tables_have_few_groups(rows: int) -> None:
    found = cluster(blobs()[0].head(rows))
    assert max(found.numbers) == {5: 3, 10: 4}[rows]
    assert f"{rows} rows can tell at most" in found.notes[-1]


def test_more_groups_than_rows_can_tell_would_be_free() -> None:
    """An empty component multiplies the evidence by K(K−1)/(N+K−1): below 1 up to the limit, not beyond."""
    for n in (5, 10, 37, 100):
        frame = pd.DataFrame({"a": np.random.default_rng(n).normal(size=n)})
        rows = read_rows(frame, describe_columns(frame), 0)
        most = _numbers_to_try(rows, 1000, None)[0][-1]
        assert most * (most - 1) < n + most - 1
        assert (most + 1) * most >= n + most


def test_an_asked_number_is_kept() -> None:
    found = cluster(blobs()[0], clusters=2)
    assert (found.n_clusters, found.numbers) == (2, (2,))
    assert found.verdict.startswith("As asked, these 120 rows are told apart as 2 groups: ")


def test_the_largest_number_tried_is_no_answer() -> None:
    said = cluster(blobs()[0], max_clusters=2).verdict
    assert "there may be more groups: ask for --max-clusters 4 (max_clusters=4)" in said
    assert "there may be more groups" not in groups_of("blobs").verdict


def test_rows_without_entries_belong_by_size() -> None:
    table = blobs()[0]
    table.loc[3] = np.nan
    found = cluster(table, clusters=3)
    assert len(found.labels) == 120
    assert found.labels[3] == 1
    assert found.probabilities[3].max() == pytest.approx(0.5, abs=0.05)


@pytest.mark.parametrize(
    ("table", "options", "message"),
    [
        ({"a": [1.0] * 9}, {}, "no column is left to tell groups by ('a': always 1.0: left out)"),
        ({"a": [np.nan] * 9}, {}, "every entry is missing"),
        ({"a": [1.5, 2.5, 4.0]}, {}, "3 rows with an entry; at least 5 are needed"),
        ({"a": [1.0, 2.5] * 4}, {"clusters": 0}, "clusters must be from 1 to 2"),
        ({"a": [1.0, 2.5] * 4}, {"clusters": 3}, "clusters must be from 1 to 2"),
        ({"a": [1.0, 2.5] * 4}, {"max_clusters": 0}, "max_clusters must be at least 1, got 0"),
        ({"a": [1.0, 2.5] * 4}, {"drop": ["b"]}, "drop names 'b'"),
        ({"a": [1.0, 1e200] * 4}, {}, "the column 'a'"),
    ],
)
def test_refusals_name_the_reason(table: Any, options: Any, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        cluster(table, **options)


def test_interrupts_that_an_ascent_takes_for_its_end_are_heard(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fit(mixture: Any, kind: str, x: Any) -> Tried:
        with suppress(KeyboardInterrupt):  # as an ascent does, which ends with what it has
            signal.raise_signal(signal.SIGINT)
        return Tried(kind, 1, 0.0, mixture)

    monkeypatch.setattr(group_search, "_fit", fit)
    monkeypatch.setattr(group_search, "_without_empty", lambda *_: None)
    before = signal.getsignal(signal.SIGINT)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            search_numbers(np.zeros((9, 1)), ["categorical"], range(1, 3))
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.slow
@pytest.mark.parametrize("texts", [False, True], ids=["numbers", "mixed"])
def test_a_long_table_is_held_a_few_times(texts: bool) -> None:
    """20,000 x 30: copies of the table and features of a sample, nothing of every row and component."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(20_000, 30)) + 3.0 * (rng.random((20_000, 1)) < 0.4)
    table = pd.DataFrame(x, columns=[f"c{d}" for d in range(30)])
    for name in table.columns[::2] if texts else ():
        table[name] = pd.cut(table[name], 4, labels=list("abcd")).astype(str)
    cluster(table.iloc[:200], max_clusters=2).html()  # what libraries keep is there before
    tracemalloc.start()
    try:
        assert cluster(table, clusters=3).html()
        assert tracemalloc.get_traced_memory()[1] < 6.0 * x.nbytes
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_no_group_of_the_answer_is_empty(seed):
    """Seeds may miss the best five groups, to which six with an empty one lead."""
    found = cluster(five_blocks(), seed=seed)
    assert found.n_clusters == 5
    assert sorted(np.bincount(found.labels)[1:]) == [60] * 5


def five_blocks():
    """Return dates, two columns of numbers and two categories, in five blocks of 60 rows."""
    rng = np.random.default_rng(3)
    block = np.repeat(np.arange(5), 60)
    temp = np.array([10.0, 20.0, 10.0, 30.0, 20.0])[block] + 2 * rng.normal(size=300)
    temp[rng.random(300) < 0.1] = np.nan
    mode = np.where(block == 3, "hot", rng.choice(["std", "eco"], 300)).astype(object)
    mode[rng.random(300) < 0.05] = None
    return pd.DataFrame(
        {
            "date": pd.date_range("2021-01-01", periods=300).astype(str),
            "temp": temp.round(2),
            "mode": mode,
            "site": np.where(np.arange(300) % 2, "A", "B"),
            "load": (np.array([1.0, 5.0, 1.0, 3.0, 5.0])[block] + 0.5 * rng.normal(size=300)).round(
                2
            ),
        }
    )
