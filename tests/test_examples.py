"""Cheap laws are tried on many examples, dear ones on few, and a broken one on as many as it takes to show it."""

import time

import pytest
from hypothesis import given, strategies as st

from tests import examples


def spend(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass


def tried_examples(monkeypatch, cost):
    """Return how many examples a law of that cost sees in a run of the quick tests."""
    monkeypatch.setattr(examples, "_CHOSEN", "posteriori")
    seen = []

    @given(st.integers())
    def law(number):
        seen.append(number)
        spend(cost)

    law.hypothesis.inner_test = examples.until_enough(law.hypothesis.inner_test)
    law()
    return len(seen)


def test_dear_laws_are_tried_on_few_examples(monkeypatch):
    assert tried_examples(monkeypatch, 0.02) == examples.LEAST
    assert tried_examples(monkeypatch, 0.0) > examples.LEAST


def test_a_law_that_draws_within_itself_sees_all():
    seen = []

    @given(st.data())
    def law(data):
        seen.append(data.draw(st.integers()))
        spend(0.02)

    law.hypothesis.inner_test = examples.until_enough(law.hypothesis.inner_test)
    law()
    assert len(seen) > examples.LEAST


def test_a_law_that_breaks_is_told_with_its_smallest_example():
    @given(st.integers(0, 10_000))
    def law(number):
        spend(0.02 if number < 50 else 0.0)
        assert number < 50

    law.hypothesis.inner_test = examples.until_enough(law.hypothesis.inner_test)
    with pytest.raises(AssertionError) as told:
        law()
    assert "number=50" in "".join(told.value.__notes__)
