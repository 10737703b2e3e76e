"""The states behind the rows of a table: how many, which, and what they are like."""

import warnings
from dataclasses import replace
from itertools import groupby, product

import numpy as np
import pandas as pd
import pytest

from posteriori import segment
from posteriori.analysis.segments import state_search
from posteriori.analysis.segments.regimes import surprises_of
from posteriori.analysis.segments.segment_rows import read_series, with_min_length
from posteriori.inference.state_chains.state_runs import find_runs, predictive_log_prob
from tests.analysis.segments.segment_tables import mixed, regimes, segments_of


def test_states_are_found_and_ordered_by_the_first_column():
    found, (table, state) = segments_of("regimes"), regimes()
    assert found.n_states == 2
    assert found.number_probabilities[1] > 0.9
    # state 1 has the lower load, which the table's states have as number 1
    assert (found.states == 2 - state).mean() > 0.97
    means = [regime.traits[0].mean for regime in found.regimes]
    np.testing.assert_allclose(means, [10.0, 20.0], atol=0.6)  # three standard errors
    assert [trait.column for trait in found.regimes[0].traits] == ["load", "heat"]
    assert "The series has 2 states: state 1 (load low, about " in found.verdict
    assert found.notes[0] == "rows are ordered by 'day', the only column of dates"
    told = found.model.predict(table)
    np.testing.assert_array_equal(told["state"], found.states)
    np.testing.assert_allclose(told["state_probability"], found.probabilities.max(axis=1))


def test_months_as_numbers_are_dates_where_rows_are_asked_to_be_ordered_by_them():
    months = pd.period_range("1949-01", periods=40, freq="M").strftime("%Y%m").astype(int)
    table = pd.DataFrame({"month": months, "heat": np.arange(40) // 20 * 3.0 + np.arange(40) % 3})
    asked = read_series(table, None, "month", None, seed=0)
    assert asked.time.kind == "date"
    assert asked.notes[0] == "'month': dates are read as months; '194901' is 1949-01"
    unasked = read_series(table, None, None, None, seed=0)
    assert unasked.time is None
    assert "numbers such as 194901 could be dates: if they are, write 1949-01" in unasked.notes[0]


def test_numbers_that_count_the_rows_are_times_and_tell_no_states():
    """A counter beside noise looked like states that follow one another."""
    noise = np.random.default_rng(0).normal(size=40)
    for first in (0, 1, 17):
        table = pd.DataFrame({"t": first + np.arange(40), "a": noise})
        rows = read_series(table, None, None, None, seed=0)
        assert rows.time.name == "t"
        assert [column.name for column in rows.used] == ["a"]
        assert "rows are ordered by 't', which counts the rows" in rows.notes
    few = pd.DataFrame({"t": np.arange(9), "a": noise[:9]})
    assert read_series(few, None, None, None, seed=0).time is None


def test_years_that_rise_are_times_unless_they_are_asked_for_or_repeat():
    heat = np.arange(40) // 20 * 3.0 + np.arange(40) % 3
    table = pd.DataFrame({"year": np.arange(1900, 1940), "heat": heat})
    rows = read_series(table, None, None, None, seed=0)
    assert rows.time.name == "year"
    assert [column.name for column in rows.used] == ["heat"]
    assert "rows are ordered by 'year', whose years follow one another" in rows.notes
    asked = read_series(table, iter(["year", "heat"]), None, None, seed=0)
    assert asked.time is None
    assert [column.name for column in asked.used] == ["year", "heat"]
    for years in (np.arange(1940, 1900, -1), np.r_[1900, np.arange(1900, 1939)], 2 * np.arange(40)):
        assert read_series(table.assign(year=years), None, None, None, seed=0).time is None
    two = pd.concat([table.assign(where=name) for name in "ab"])
    assert read_series(two, None, None, "where", seed=0).time is None


def test_the_order_of_rows_does_not_matter_where_times_are_known():
    """Rows of both states are alike: only their neighbours tell which they are of."""
    days = pd.date_range("2024-01-01", periods=90).astype(str)
    heat = 2.0 * (np.arange(90) // 15 % 2) + np.random.default_rng(0).normal(size=90)
    table = pd.DataFrame({"day": days, "heat": heat})
    mixed_up = table.sample(frac=1.0, random_state=1)
    found = segment(mixed_up, states=2)
    assert found.asked
    again = segment(table, states=2)
    back = pd.Series(found.states, index=mixed_up.index).sort_index()
    np.testing.assert_array_equal(back, again.states)


def test_kinds_gaps_and_series():
    found, (_, state) = segments_of("mixed"), mixed()
    assert found.n_states == 2
    assert (found.states == state + 1).mean() > 0.9
    assert [one.name for one in found.rows.arrangement.series] == ["north", "south"]
    assert "The 2 series share 2 states" in found.verdict
    notes = " ".join(found.notes)
    assert "'same': always 1.0: left out" in notes
    assert "'never': every entry is missing: left out" in notes
    high = {trait.column: trait for trait in found.regimes[1].traits}
    assert high["load"].mean == pytest.approx(6.0, abs=0.5)
    assert high["alarm"].mean == pytest.approx(0.4, abs=0.2)


def test_steps_that_are_missing_are_bridged():
    table, state = regimes()
    kept = np.r_[0:60, 75:240]
    found = segment(table.iloc[kept].reset_index(drop=True), states=2)
    assert "15 steps without a row, taken as missing" in found.notes
    assert (found.states == 2 - state[kept]).mean() > 0.97
    assert len(found.rows.x) == 240


def test_runs_and_successors_are_those_of_the_states():
    found = segments_of("regimes")
    shares = found.model.probabilities(found.rows.frame, found.rows.arrangement)
    runs = find_runs(shares, found.rows.arrangement.lengths)
    assert sum(run.length for run in runs) == 240
    assert [run.state + 1 for run in runs] == [
        int(s) for s in found.states[np.r_[True, np.diff(found.states) != 0]]
    ]
    assert sum(regime.runs for regime in found.regimes) == len(runs)
    assert [regime.successors for regime in found.regimes] == [((2, 1.0),), ((1, 1.0),)]
    assert sum(regime.share for regime in found.regimes) == pytest.approx(1.0)


def test_runs_are_as_long_as_the_chain_says():
    """The table leaves its states with a probability of 0.03."""
    chain = segments_of("regimes").model
    stay = np.sort(np.diag(chain.pipeline[-1].transition))
    found = sorted(regime.mean_run for regime in segments_of("regimes").regimes)
    np.testing.assert_allclose(found, 1.0 / (1.0 - stay), rtol=1e-12)
    assert 10.0 < found[0] < found[1] < 100.0


def test_surprising_rows_are_found():
    table, _ = regimes()
    table.loc[100, "load"] = 60.0
    table.loc[101, "heat"] = -30.0
    found = segment(table, states=2)
    first = surprises_of(found.rows, found.model, 0)[0]
    assert first.series == 0
    assert first.start in (100, 101)
    assert first.start + first.length - 1 in (100, 101)


def test_predictive_densities_add_up_to_the_evidence():
    found = segments_of("mixed")
    chain, lengths = found.model.pipeline[-1], found.rows.arrangement.lengths
    scores = chain.densities.log_prob(found.rows.x)
    each = predictive_log_prob(chain.initial, chain.transition, scores, lengths)
    parts = np.split(found.rows.x, np.cumsum(lengths)[:-1])
    total = sum(float(chain.log_prob(part)) for part in parts)
    np.testing.assert_allclose(each.sum(), total, rtol=1e-10)


def test_the_last_fifth_is_predicted_from_the_rest():
    table, _ = regimes()
    rows = read_series(table, ["load"], "day", None, 0)
    one = state_search._fit(rows, _independent(), 2, 0)
    head = state_search._chain(rows, _independent(), 2, 0).fit(rows.x[:192])
    expected = head.log_prob(rows.x) - head.log_prob(rows.x[:192])
    np.testing.assert_allclose(one.held_out, expected, rtol=1e-8)


def test_deviations_and_correlations_are_those_of_the_rows_of_a_state():
    """States of one mean: all that tells them apart is how much their rows vary, and together."""
    rng = np.random.default_rng(2)
    state = np.arange(400) // 100 % 2
    x = rng.normal(size=(400, 3)) * np.array([0.5, 3.0])[state][:, None]
    x[:, 1] = np.where(state == 1, 0.8 * x[:, 0] + 0.6 * x[:, 1], x[:, 1])
    x[7, 1] = np.nan
    found = segment(pd.DataFrame(x, columns=["a", "b", "c"]), states=2)
    assert ((found.states == found.states[0]) == (state == 0)).mean() > 0.97
    shares = found.probabilities
    for k, regime in enumerate(found.regimes):
        known = np.repeat(found.rows.encoder.transform(found.rows.frame)[:, :2], 1, axis=0)
        both = ~np.isnan(known).any(axis=1)
        cov = np.cov(known[both].T, aweights=shares[both, k], ddof=0)
        told = {(first, second): r for first, second, r in regime.correlations}
        assert told["a", "b"] == pytest.approx(cov[0, 1] / np.sqrt(cov[0, 0] * cov[1, 1]))
        assert regime.traits[1].deviation == pytest.approx(np.sqrt(cov[1, 1]))
        assert regime.traits[1].strength > 0.3 > abs(regime.traits[1].distance)
    assert next(iter(found.regimes[0].correlations))[:2] == ("a", "b")  # they differ most
    assert {"calm", "wild"} < set(found.verdict.replace(",", "").split())
    assert "a with b, correlation" in found.html()


def test_steps_of_business_days_are_told_and_saved():
    days = pd.bdate_range("2024-01-01", periods=60).astype(str)
    heat = 5.0 * (np.arange(60) // 20 % 2) + np.random.default_rng(0).normal(size=60)
    found = segment({"day": days, "heat": heat}, states=2)
    assert "steps are business days: weekends are no gaps" in found.notes
    assert "business days)" in found.verdict
    assert "It ends in state 1, from 2024-02-26 on." in found.verdict
    assert len(found.step_shares) == 60
    few = {"day": days[3:8], "heat": heat[3:8]}  # too few for it to be seen
    told = found.model.predict(few)["state_probability"]
    straight = replace(found.model, time=None).predict(few)["state_probability"]
    np.testing.assert_allclose(told, straight)


def test_evidence_of_states_that_last_is_that_of_all_paths_with_long_runs():
    """ln of Σ p(x, path) over Σ p(path), both over paths without a short run between two others."""
    rows = read_series(regimes()[0].iloc[:9], ["load"], "day", None, 0)
    chain = state_search._fit(rows, _independent(), 2, 0).model
    scores = chain.model_.densities.log_prob(rows.x)
    paths = list(product(range(2), repeat=9))
    before = np.array([_weight(chain.model_, p) for p in paths])
    seen = before * [np.exp(scores[range(9), p].sum()) for p in paths]
    for least in (2, 3):
        kept = np.array([_is_long(p, least) for p in paths])
        gain = state_search._log_lasting(with_min_length(rows, least), chain)
        expected = np.log(seen[kept].sum() / before[kept].sum() / seen.sum())
        np.testing.assert_allclose(gain, expected, rtol=1e-9)
    assert state_search._log_lasting(rows, chain) == 0.0


def _is_long(path, least):
    lengths = [len(list(run)) for _, run in groupby(path)]
    return all(length >= least for length in lengths[1:-1])


def _weight(chain, path):
    moves = chain.transition[list(path[:-1]), list(path[1:])]
    return float(chain.initial[path[0]] * moves.prod())


def test_states_last_as_long_as_asked():
    rng = np.random.default_rng(6)
    state = np.cumsum(rng.random(300) < 0.2) % 2
    table = {"x": 1.5 * state + rng.normal(size=300)}
    short, long = (segment(table, states=2, min_length=least) for least in (1, 10))

    def inner(found):
        return [run.length for run in find_runs(found.step_shares, np.array([300]))][1:-1]

    # runs of the most probable states of rows may be shorter than those of every path
    assert np.median(inner(short)) < 8 < np.median(inner(long))
    stay = np.diag(long.model.pipeline[-1].transition)[list(long.model.order)]
    means = [regime.mean_run for regime in long.regimes]
    np.testing.assert_allclose(means, 9.0 + 1.0 / (1.0 - stay))
    np.testing.assert_array_equal(long.model.predict(table)["state"], long.states)
    assert "min_length=10" in long.code()
    assert "min_length" not in short.code()


@pytest.mark.parametrize("least", [0, -3, 2.5, True, "9", 101])
def test_lengths_that_are_none_are_refused(least):
    with pytest.raises(ValueError, match="min_length must be a whole number of rows from 1 to 100"):
        segment(regimes()[0], min_length=least)


def test_lengths_beyond_the_series_are_refused():
    with pytest.raises(ValueError, match=r"from 1 to 20 for series of up to 20 steps; got 21"):
        segment({"x": np.arange(20.0) % 7}, min_length=21)


def test_where_most_rows_are_in_doubt_longer_and_fewer_states_are_named():
    """Whatever the number: what the verdict says of it is what asking for it gives."""
    rng = np.random.default_rng(1)
    found = segment({"x": rng.normal(size=80)}, states=(2, 3))
    doubtful = sum(regime.in_doubt for regime in found.regimes)
    assert doubtful >= 40
    assert "--min-length" in found.verdict


def test_what_was_tried_before_ctrl_c_is_kept(monkeypatch):
    fit = state_search._fit

    def interrupted(rows, candidate, number, seed, start=None):
        if number == 3:
            raise KeyboardInterrupt
        return fit(rows, candidate, number, seed, start)

    monkeypatch.setattr(state_search, "_fit", interrupted)
    found = segment(regimes()[0], columns=["load"])
    assert (found.interrupted, found.numbers, found.n_states) == (True, (1, 2), 2)
    assert "The search was stopped: larger numbers were not tried" in found.verdict


def _independent():
    return next(c for c in state_search.candidates_for("segments"))


def test_noise_is_one_state():
    x = np.random.default_rng(3).normal(size=120)
    found = segment({"x": x}, states=(1, 2))
    assert found.n_states == 1
    assert "one state throughout" in found.verdict
    assert found.regimes[0].successors == ()


@pytest.mark.parametrize(
    ("n", "larger"), [(9, "--states 1-3 (states=(1, 3))"), (100, "--states 1-4 (states=(1, 4))")]
)
def test_larger_numbers_are_asked_for_as_far_as_the_rows_can_tell_them_apart(n, larger):
    x = np.repeat([0.0, 9.0], [4, n - 4]) + np.random.default_rng(0).normal(size=n)
    found = segment({"x": x}, states=(1, 2))
    assert found.larger == larger
    assert found.n_states == 2
    assert f"there may be more states: ask for {larger}" in found.verdict


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("table", "states"),
    [
        ({"x": [1, 1, 1, 1, 1, 2, 2, 2, 2, 2]}, (1, 8)),
        ({"x": [1, None, 2, 2, 9, 9.5, None, 8, 9.1, 9.2], "k": list("aabbaabbab")}, (1, 2)),
        ({"x": [0.0] * 8 + [1e6] * 2}, (2, 2)),
        ({"k": list("aaaabbbbab")}, (1, 2)),
    ],
)
def test_ten_rows_are_enough(table, states):
    found = segment(table, states=states)
    assert np.isfinite(found.number_probabilities).all()
    assert found.numbers[-1] == min(4, states[1])  # more than √10 states cannot be told apart
    assert found.states.min() >= 1


@pytest.mark.parametrize(
    ("table", "options", "words"),
    [
        ({"x": [1.0] * 20}, {}, "no column is left to tell states by .*'x': always 1.0"),
        ({"x": [None] * 20}, {}, "no column is left to tell states by .*every entry is missing"),
        ({"x": []}, {}, "the table has no rows"),
        ({"x": [1.0, 2.0, 3.0]}, {}, "3 rows with an entry; at least 5 are needed"),
        ({"x": range(20)}, {"columns": ["y"]}, "columns names 'y', which is no column"),
        ({"x": range(20), "c": 1}, {"columns": ["c"]}, "cannot tell states: always 1"),
        ({"x": range(20)}, {"time": "y"}, "time names 'y', which is no column"),
        ({"x": range(20)}, {"by": "y"}, "by names 'y', which is no column"),
        ({"x": range(20), "k": ["a", "b"] * 10}, {"time": "k"}, "neither numbers nor dates"),
        ({"x": range(20), "k": ["yes", "no"] * 10}, {"time": "k"}, "neither numbers nor dates"),
        ({"x": range(20), "k": [f"a{i}" for i in range(20)]}, {"columns": ["k"]}, "holds texts"),
        ({"x": range(20)}, {"columns": ["x"], "time": "x"}, "the time or the series already"),
        ({"x": np.arange(20) ** 2}, {"states": 0}, "states must be a number >= 1"),
        ({"x": np.arange(20) ** 2}, {"states": (3, 2)}, "states must be a number >= 1"),
        ({"x": np.arange(20) ** 2}, {"states": 21}, "20 rows cannot show 21 states"),
    ],
)
def test_what_cannot_be_segmented_is_refused(table, options, words):
    with pytest.raises(ValueError, match=words):
        segment(pd.DataFrame(table), **options)


def test_named_columns_are_taken_even_if_they_count_rows():
    found = segment({"index": range(40)}, columns=["index"], states=2)
    assert found.regimes[0].traits[0].mean < found.regimes[1].traits[0].mean


def test_columns_that_repeat_others_can_be_named():
    rng = np.random.default_rng(0)
    x = np.repeat([0.0, 9.0], 20) + rng.normal(size=40)
    table = {"x": x, "again": x, "t": range(40), "s": range(40)}
    assert [c.name for c in segment(table, states=2, time="t").rows.used] == ["x"]
    found = segment(table, columns=["again"], time="s", states=2)
    assert found.rows.time.name == "s"
    np.testing.assert_array_equal(found.states, np.repeat([1, 2], 20))


def test_ctrl_c_is_heard(monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(state_search, "_fit", interrupt)
    with pytest.raises(KeyboardInterrupt), warnings.catch_warnings():
        segment(regimes()[0], states=2)


def test_states_without_rows_lead_to_the_chain_of_the_others():
    """A chain of which some states are empty is a start for one of those that are not."""
    rows = read_series(regimes()[0], ["load"], "day", None, 0)
    wide = state_search._fit(rows, _independent(), 7, 0).model
    fewer = state_search._states_with_rows(rows, wide)
    used = np.unique(wide.predict_proba(rows.x).argmax(axis=1))
    assert fewer.n_states == len(used) < 7
    there = wide.model_.densities.log_prob(rows.x[:5])
    np.testing.assert_array_equal(fewer.densities.log_prob(rows.x[:5]), there[:, used])
    again = state_search._fit(rows, _independent(), len(used), 0, fewer)
    assert again.whole
    assert state_search._without_empty(rows, _independent(), again, range(1, 9), 0) is None


def test_runs_are_those_of_rows():
    """Steps that the table lacks may have states of their own, but are no rows."""
    frame, _ = regimes()
    frame = frame.drop(index=range(100, 112))
    found = segment(frame, time="day", states=2)
    assert all(regime.runs <= regime.rows for regime in found.regimes)
