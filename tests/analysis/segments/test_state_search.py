"""The number of states: which chains are estimated with more draws, and what is said of simulated series."""

from types import SimpleNamespace

import numpy as np
import pytest

from posteriori import segment
from posteriori.analysis.segments import state_search
from posteriori.analysis.segments.state_search import TriedStates
from posteriori.inference.weighing.number_weights import weigh_numbers


def tried(number, value, error=0.1, bound=0.0, told=None):
    model = SimpleNamespace(log_evidence_=bound, n_states=number)
    return TriedStates("independent columns", number, told or number, value, error, np.nan, model)


def test_of_several_starts_the_highest_bound_counts_not_the_highest_estimate():
    low, high = tried(2, -90.0, bound=-120.0), tried(2, -95.0, bound=-100.0)
    other = tried(3, -97.0, bound=-130.0)
    kept = state_search._best_beliefs([high, low, other])
    assert {one.log_evidence for one in kept} == {-95.0, -97.0}


def test_only_what_may_be_most_probable_is_estimated_anew(monkeypatch):
    """Once the lucky one has fallen, the next ones come near; what is sure or far behind is left alone."""
    anew = {2: (-103.0, 0.2), 3: (-101.0, 0.2)}
    asked = []

    def estimate(rows, model, times, seed):
        asked.append((model.n_states, seed))
        return anew[model.n_states]

    monkeypatch.setattr(state_search, "_estimate", estimate)
    first = [tried(1, -100.0, 0.0), tried(2, -98.0, 2.0), tried(3, -101.0, 0.5)]
    far = [tried(4, -104.0, 1.0), tried(5, -101.0, 0.2), tried(6, -99.0, 3.0, told=1)]
    found = {one.number: one for one in state_search._settle(None, [*first, *far], 7)}
    assert asked == [(2, 8), (3, 8)]
    assert {n: one.log_evidence for n, one in found.items()} == {
        1: -100.0,
        2: -103.0,
        3: -101.0,
        4: -104.0,
        5: -101.0,
        6: -99.0,
    }


def test_a_number_counts_only_by_a_chain_with_rows_in_all_states():
    chains = [tried(1, -100.0), tried(2, -101.0), tried(3, -99.0, told=2)]
    found = state_search._count_whole(weigh_numbers(chains, ()))
    odds = np.exp([0.0, -1.0])
    np.testing.assert_allclose(found.probabilities, [*(odds / odds.sum()), 0.0])
    assert found.best is chains[0]


def test_where_no_chain_has_rows_in_all_states_all_count():
    chains = [tried(2, -101.0, told=1), tried(3, -99.0, told=2)]
    found = state_search._count_whole(weigh_numbers(chains, ()))
    assert found.best is chains[1]
    assert found.probabilities.sum() == pytest.approx(1.0)


def test_the_first_two_are_estimated_once_more_where_errors_leave_them_open(monkeypatch):
    monkeypatch.setattr(state_search, "_estimate", lambda *_: (-101.5, 0.1))
    rows = SimpleNamespace(x=np.zeros((150, 1)))
    near = [tried(1, -100.0, 0.0), tried(2, -99.5, 0.6), tried(3, -103.0, 2.0)]
    found = {one.number: one.log_evidence for one in state_search._decide(rows, near, 0)}
    assert found == {1: -100.0, 2: -101.5, 3: -103.0}
    apart = [tried(1, -100.0, 0.0), tried(2, -97.0, 0.6)]
    assert state_search._decide(rows, apart, 0) == apart[::-1]
    rows = SimpleNamespace(x=np.zeros((1500, 1)))  # where that would take long
    assert state_search._decide(rows, near[:2], 0) == near[1::-1]


def test_a_number_that_was_asked_for_is_not_estimated_anew(monkeypatch):
    monkeypatch.setattr(state_search, "_estimate", None)
    only = tried(2, -98.0, 2.0)
    assert state_search._settle(None, [only], 0) == [only]


@pytest.mark.slow  # twenty searches
def test_noise_is_one_state_in_nearly_all_series():
    said = [
        segment({"x": np.random.default_rng([seed, 7]).normal(size=150)}).n_states
        for seed in range(20)
    ]
    assert said.count(1) >= 18


@pytest.mark.slow  # five searches
def test_one_change_is_two_states():
    for seed in range(5):
        rng = np.random.default_rng([seed, 8])
        level = np.repeat([0.0, 2.5], [(60, 140), (100, 100)][seed % 2])
        found = segment({"x": level + rng.normal(size=200)})
        assert found.n_states == 2
