"""Impurities and what divisions gain, by their definitions and by the numbers of the notes."""

import itertools

import numpy as np
import pytest

from posteriori.tree import impurity, split_gain


def entropy(labels):
    share = np.unique(labels, return_counts=True)[1] / len(labels)
    return -(share * np.log2(share)).sum()


@pytest.mark.topic("002/K3")
def test_two_equal_classes_have_one_bit_and_pure_ones_none():
    assert impurity(["a", "b"], "entropy") == 1.0
    assert impurity([1] * 5, "entropy") == 0.0
    assert impurity(list("abcd"), "entropy") == pytest.approx(2.0)


@pytest.mark.topic("002/K3")
@pytest.mark.parametrize("seed", range(5))
def test_information_gain_is_entropy_less_conditional_entropy(seed):
    rng = np.random.default_rng(seed)
    y, left = rng.integers(0, 3, 30), rng.random(30) < 0.3
    inside = left.mean() * entropy(y[left]) + (~left).mean() * entropy(y[~left])
    assert split_gain(y, left, "entropy") == pytest.approx(entropy(y) - inside, abs=1e-12)
    joint = entropy(3 * left + y)  # the same as mutual information
    assert split_gain(y, left, "entropy") == pytest.approx(entropy(y) + entropy(left) - joint)


@pytest.mark.topic("002/K4")
def test_gini_is_the_chance_that_two_draws_differ():
    assert impurity([0, 1], "gini") == 0.5
    assert impurity(["x", "x"], "gini") == 0.0
    y = np.random.default_rng(0).integers(0, 4, 25)
    differ = np.mean([a != b for a, b in itertools.product(y, y)])
    assert impurity(y, "gini") == pytest.approx(differ)


@pytest.mark.topic("002/K5")
def test_variance_is_half_the_mean_square_of_all_pairs():
    y = np.random.default_rng(0).normal(size=20)
    pairs = np.mean([0.5 * (a - b) ** 2 for a, b in itertools.product(y, y)])
    assert impurity(y, "variance") == pytest.approx(pairs)


@pytest.mark.topic("002/K5")
def test_parts_count_by_their_share():
    """Without shares this division would lose: the whole has less variance than the two parts."""
    y, left = np.array([0.0, 2.0, 0.0, 2.0]), np.array([True, True, False, False])
    parts = impurity(y[left], "variance") + impurity(y[~left], "variance")
    assert impurity(y, "variance") - parts == -1.0
    assert split_gain(y, left, "variance") == 0.0
    y = np.array([0.0, 0.0, 4.0, 6.0])
    assert split_gain(y, left, "variance") == pytest.approx(6.75 - 0.5 * 1.0)


def test_error_is_the_share_outside_the_largest_class():
    assert impurity(list("aab"), "error") == pytest.approx(1 / 3)
    assert split_gain(list("aabb"), [True, True, False, False], "error") == 0.5


def test_deviance_of_counts():
    y = np.array([0.0, 1.0, 3.0, 8.0])
    expected = 2 * np.mean([t * np.log(t / y.mean()) if t else 0.0 for t in y])
    assert impurity(y, "poisson") == pytest.approx(expected)
    assert impurity([0, 0], "poisson") == 0.0


CRITERIA = ["entropy", "gini", "error", "variance", "poisson"]


@pytest.mark.parametrize("criterion", CRITERIA)
def test_gains_are_never_negative_and_weights_are_repeated_rows(criterion):
    for seed in range(20):
        rng = np.random.default_rng(seed)
        y, times = rng.integers(0, 3, 12), rng.integers(1, 4, 12)
        left = rng.random(12) < 0.5
        gain = split_gain(y, left, criterion, times)
        again = split_gain(np.repeat(y, times), np.repeat(left, times), criterion)
        assert 0.0 <= gain == pytest.approx(again, abs=1e-12)


@pytest.mark.parametrize("criterion", CRITERIA)
def test_variances_far_from_zero_keep_their_digits(criterion):
    if criterion == "variance":
        assert impurity([1e9, 1e9 + 1.0], criterion) == 0.25
    assert split_gain([1, 1, 2, 2], [False] * 4, criterion) == 0.0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (([], "gini"), "y is empty"),
        (([1, 2], "ginny"), "criterion must be one of entropy, gini, .*, got 'ginny'"),
        (([1, 2], ["gini"]), "criterion must be one of"),
        (([1.0, np.nan], "variance"), "y must be finite"),
        (([1.0, np.nan], "gini"), "y holds NaN or infinity, which is no class"),
        (([1e200, -1e200], "variance"), "y must lie within"),
        (([1, -1], "poisson"), "counts >= 0 for 'poisson', got -1"),
        (([1, 2], "gini", [1, -1]), "sample_weight must hold numbers >= 0.*, got -1"),
        (([1, 2], "gini", [1, np.inf]), "sample_weight must hold numbers >= 0.*, got inf"),
        (([1, 2], "gini", [0, 0]), "not all of them 0, got 0 everywhere"),
        (([1, 2], "gini", [1]), "inconsistent numbers"),
    ],
)
def test_bad_input_is_refused_in_words(arguments, words):
    with pytest.raises(ValueError, match=words):
        impurity(*arguments)


def test_sides_are_true_or_false():
    with pytest.raises(ValueError, match=r"goes_left must hold True and False, got 0\.5"):
        split_gain([1, 2], [0.5, 1.0], "gini")
    with pytest.raises(ValueError, match="inconsistent numbers"):
        split_gain([1, 2], [True], "gini")
