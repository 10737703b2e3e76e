"""Evidence knows what it is the probability of, and refuses comparisons that mean nothing."""

import copy
import pickle

import numpy as np
import pytest

from posteriori import LogEvidence
from posteriori.numerics import Fingerprint

DATA = np.array([1.5, -2.0, 0.0, 7.25])
HERE = Fingerprint().update(DATA)
THERE = Fingerprint().update(DATA + 1.0)


def evidence(value, **given):
    return LogEvidence(value, **{"kind": "exact", "of": "X", "fingerprint": HERE, **given})


def test_fingerprints_of_chunks_add_up_in_any_order():
    assert Fingerprint().update(DATA[2:]).update(DATA[:2]) == HERE
    assert Fingerprint().update(DATA[:1]).merge(Fingerprint().update(DATA[1:])) == HERE
    assert Fingerprint().update(DATA[::-1]) == HERE
    assert HERE.count == 4
    assert THERE != HERE
    assert Fingerprint().update(np.array([[1.0, 2.0], [3.0, 4.0]])).count == 2


def test_whole_frequencies_count_as_repeated_rows_and_others_as_data():
    times = np.arange(len(DATA)) + 1
    repeated = Fingerprint().update(np.repeat(DATA, times, axis=0))
    assert Fingerprint().update(DATA, times) == repeated
    assert Fingerprint().update(DATA, times * 1.0) == repeated
    halves = Fingerprint().update(DATA, times * 0.5)
    assert halves == Fingerprint().update(DATA[::-1], times[::-1] * 0.5)
    assert halves not in (repeated, HERE, Fingerprint().update(DATA, times * 0.25))


def test_difference_is_the_log_bayes_factor():
    a, b = evidence(-5.0), evidence(-7.0)
    assert a - b == 2.0
    assert a.bayes_factor(b) == pytest.approx(np.exp(2.0))
    assert a > b
    assert b < a
    assert not a < b
    assert float(a) == -5.0
    assert a < -4
    assert a > -6.0


def test_different_data_are_refused():
    other = evidence(-7.0, fingerprint=Fingerprint().update(DATA[:3]))
    for compare in (lambda: evidence(-5.0) - other, lambda: evidence(-5.0) > other):
        with pytest.raises(ValueError, match=r"different data \(4 and 3 observations\)"):
            compare()
    assert not evidence(-5.0).comparable(evidence(-5.0, fingerprint=THERE))


def test_different_questions_are_refused():
    with pytest.raises(ValueError, match=r"'X' and of 'y\|X' answer different questions"):
        evidence(-5.0) - evidence(-7.0, of="y|X")


def test_unknown_data_are_given_the_benefit_of_the_doubt():
    assert evidence(-5.0) - evidence(-7.0, fingerprint=None) == 2.0


def test_sum_is_the_evidence_of_both_sets():
    both = evidence(-5.0) + evidence(-7.0, fingerprint=THERE)
    assert float(both) == -12.0
    assert both.fingerprint == HERE.merge(THERE)
    assert both.kind == "exact"
    assert (evidence(-5.0) + evidence(-7.0, fingerprint=None)).fingerprint is None
    with pytest.raises(ValueError, match="cannot add evidence of kind 'exact'"):
        evidence(-5.0) + evidence(-7.0, kind="laplace")
    with pytest.raises(ValueError, match=r"'X'.*'X,y'"):
        evidence(-5.0) + evidence(-7.0, of="X,y")
    with pytest.raises(TypeError):
        evidence(-5.0) + 1.0
    with pytest.raises(TypeError):
        evidence(-5.0) - 1.0


def test_batches_of_models():
    many = evidence([-5.0, -6.0, -4.0])
    assert many.shape == (3,)
    np.testing.assert_array_equal(many - evidence(-5.0), [0.0, -1.0, 1.0])
    np.testing.assert_array_equal(np.asarray(many), [-5.0, -6.0, -4.0])
    np.testing.assert_array_equal(many > evidence(-5.5), [True, False, True])


def test_what_is_no_evidence_is_refused():
    with pytest.raises(ValueError, match="cannot be NaN"):
        evidence(np.nan)
    with pytest.raises(ValueError, match="cannot be NaN"):
        evidence([-1.0, np.nan])
    with pytest.raises(
        ValueError, match=r"kind must be one of exact, quadrature, bound.*got 'guess'"
    ):
        evidence(-1.0, kind="guess")
    assert float(evidence(-np.inf)) == -np.inf


def test_it_is_a_value():
    e = evidence([-5.0, -6.0])
    with pytest.raises(AttributeError, match="LogEvidence is a value"):
        e.value = 3.0
    with pytest.raises(ValueError, match="read-only"):
        e.value[0] = 3.0
    given = np.array([-1.0, -2.0])
    made = evidence(given)
    given[0] = 99.0
    assert made.value[0] == -1.0
    assert evidence(-5.0) == evidence(-5.0)
    assert hash(evidence(-5.0)) == hash(evidence(-5.0))
    assert evidence(-5.0) != evidence(-5.0, kind="bound")
    assert evidence(-5.0) != evidence(-5.0, fingerprint=THERE)
    assert evidence(-5.0) != -5.0


@pytest.mark.parametrize(
    "carry", [lambda e: pickle.loads(pickle.dumps(e)), copy.deepcopy, copy.copy]
)
def test_it_travels(carry):
    e = evidence(-5.25, kind="estimate", of="y|X", error=0.5)
    again = carry(e)
    assert again == e
    assert again.fingerprint == HERE
    assert again.error == 0.5


def test_how_it_prints():
    assert repr(evidence(-5.6347896)) == 'LogEvidence(-5.63479, kind="exact", of="X")'
    estimate = evidence(-5.5, kind="estimate", error=0.25)
    assert repr(estimate) == 'LogEvidence(-5.5, kind="estimate", of="X", error=0.25)'
    assert f"{evidence(-5.6347896):.2f}" == "-5.63"
    assert f"{evidence(-5.5)}" == repr(evidence(-5.5))


def test_what_counts_one_naming_compares_with_its_like_only():
    every, one = evidence(-5.0), evidence(-6.0, namings="one")
    with pytest.raises(ValueError, match="counts all namings of exchangeable parts"):
        _ = every - one
    assert not every.comparable(one)
    assert one - evidence(-7.0, namings="one") == 1.0
    assert (every + one).namings == "one"
    assert copy.deepcopy(one) == one
    assert pickle.loads(pickle.dumps(one)).namings == "one"
    assert repr(one) == 'LogEvidence(-6., kind="exact", of="X", namings="one")'
    with pytest.raises(ValueError, match="namings must be one of all, one; got 'two'"):
        evidence(0.0, namings="two")
