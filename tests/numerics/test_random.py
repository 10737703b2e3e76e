"""Random streams."""

import numpy as np
import pytest

from posteriori.numerics import as_generator, spawn_generators


def test_a_generator_is_used_as_it_is():
    rng = np.random.default_rng(1)
    assert as_generator(rng) is rng


@pytest.mark.parametrize("seed", [0, 7, np.int64(7), 2**70])
def test_a_seed_fixes_the_stream(seed):
    np.testing.assert_array_equal(
        as_generator(seed).normal(size=3), as_generator(seed).normal(size=3)
    )


def test_a_seed_is_that_of_numpy():
    assert as_generator(5).random() == np.random.default_rng(5).random()


def test_none_is_fresh_entropy():
    assert as_generator().random() != as_generator().random()


@pytest.mark.parametrize("wrong", [1.5, "seed", True, np.random.RandomState(0), [1]])
def test_other_things_are_no_seeds(wrong):
    with pytest.raises(TypeError, match=r"rng must be None, an integer seed or a numpy Generator"):
        as_generator(wrong)


def test_negative_seeds_are_refused():
    with pytest.raises(ValueError, match="rng must be a non-negative seed, got -3"):
        as_generator(-3)


def test_spawned_streams_differ_and_repeat():
    first = [rng.random() for rng in spawn_generators(3, 4)]
    assert len(set(first)) == 4
    assert first == [rng.random() for rng in spawn_generators(3, 4)]
