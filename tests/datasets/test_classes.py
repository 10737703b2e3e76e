"""Generated classes are distributed as their stated truth."""

import numpy as np
import pytest
from scipy import stats
from sklearn.linear_model import LogisticRegression

from posteriori.datasets import (
    make_fish,
    make_fruit,
    make_masked_classes,
    make_separable,
    make_three_class_unequal,
    make_two_class_hard,
    make_two_class_outliers,
    make_xor,
)
from tests.datasets.sample_checks import (
    MANY,
    assert_mean,
    assert_mixture,
    assert_normal,
    assert_shares,
    is_separable,
)


class TestClasses:
    def test_fruit_are_those_of_the_lesson(self):
        fruit = make_fruit(MANY, rng=0)
        assert fruit.classes == ("peach", "apple")
        assert_mean(fruit.y, 0.7)
        cov = np.array([[0.2, 0.1], [0.1, 0.3]])
        assert_normal(fruit.X[fruit.y == 1], np.array([1.0, 1.0]), cov)
        assert_normal(fruit.X[fruit.y == 0], np.array([1.7, 2.5]), cov)

    def test_the_new_fruit_is_an_apple_with_the_probability_of_the_true_parameters(self):
        truth = make_fruit(rng=0).truth
        joint = [
            p * stats.multivariate_normal(mean, truth["cov"]).pdf(truth["new_point"])
            for p, mean in zip(truth["probabilities"], truth["means"], strict=True)
        ]
        assert joint[1] / sum(joint) == pytest.approx(0.70209579, abs=5e-9)

    @pytest.mark.parametrize("share", [0.0, 1.0])
    def test_only_one_kind_of_fruit(self, share):
        assert set(make_fruit(apple_probability=share, rng=0).y) == {int(share)}

    def test_hard_classes_are_those_of_the_lesson(self):
        hard = make_two_class_hard(MANY, rng=0)
        assert_mean(hard.y, 0.4)
        assert_normal(hard.X[hard.y == 0], np.array([1.0, 4.0]), np.eye(2))
        one = hard.X[hard.y == 1]
        # The ball around (5.5, 0) ends six standard deviations below the box.
        boxed = one[:, 1] > 5
        assert_mean(boxed, 0.5)
        assert_normal(one[~boxed], np.array([5.5, 0.0]), 0.5 * np.eye(2))
        box = one[boxed]
        assert box.min(axis=0) == pytest.approx([3, 6], abs=0.01)
        assert box.max(axis=0) == pytest.approx([9, 6.5], abs=0.01)
        assert np.all((box >= [3, 6]) & (box <= [9, 6.5]))
        assert_mean(box, [6.0, 6.25])
        assert_mean((box - [6.0, 6.25]) ** 2, [36 / 12, 0.25 / 12])
        assert hard.truth["new_point"].tolist() == [3.75, 1.0]

    def test_two_hard_sets_in_five_are_separable(self):
        assert_mean([is_separable(make_two_class_hard(rng=seed)) for seed in range(150)], 0.4)

    def test_exclusive_or(self):
        xor = make_xor(MANY, rng=0)
        signs = np.sign(xor.X)
        near = np.all(np.abs(xor.X - signs) < 0.9, axis=1)
        assert near.mean() > 0.999
        np.testing.assert_array_equal((signs.prod(axis=1) < 0)[near], xor.y[near] == 1)
        corner = np.arange(MANY) % 4
        assert_normal(xor.X - xor.truth["centers"][corner], 0.0, 0.04 * np.eye(2))
        assert not is_separable(make_xor(4, noise_variance=0))

    def test_clean_separable_data_keep_the_margin(self):
        clean = make_separable(400, margin=0.5, rng=0)
        assert np.all(signed_distance(clean) >= 0.5)
        assert is_separable(clean)
        assert not clean.truth["outlier"].any()
        assert not clean.truth["mislabelled"].any()

    def test_outliers_come_close_on_their_own_side(self):
        data = make_separable(40, n_outliers=3, rng=0)
        np.testing.assert_allclose(signed_distance(data)[-3:], 0.1, atol=1e-12)
        assert np.all(signed_distance(data)[:-3] >= 1)
        assert data.truth["outlier"].tolist() == [False] * 40 + [True] * 3

    def test_mislabelled_points_lie_on_the_wrong_side(self):
        data = make_separable(40, n_mislabelled=4, rng=0)
        assert data.truth["mislabelled"].sum() == 4
        np.testing.assert_array_equal(signed_distance(data) < 0, data.truth["mislabelled"])
        assert not is_separable(data)

    def test_outliers_on_the_right_side_turn_least_squares_only(self):
        clean = make_two_class_outliers(400, n_outliers=0, rng=0)
        spoilt = make_two_class_outliers(400, n_outliers=40, rng=0)
        regular = ~spoilt.truth["outlier"]
        assert spoilt.truth["outlier"].sum() == 40
        np.testing.assert_array_equal(spoilt.y[regular], clean.y)
        errors = {
            (fit, table): np.mean(fit(table)(spoilt.X[regular]) != clean.y)
            for fit in (least_squares_classifier, logistic_classifier)
            for table in (clean, spoilt)
        }
        assert errors[least_squares_classifier, clean] < 0.01
        assert errors[least_squares_classifier, spoilt] > 0.05
        assert errors[logistic_classifier, spoilt] < 0.01

    def test_two_class_outliers_have_the_stated_moments(self):
        table = make_two_class_outliers(MANY, n_outliers=MANY, rng=0)
        group = np.where(table.truth["outlier"], 2, table.y)
        for k, mean in enumerate(table.truth["means"]):
            assert_normal(table.X[group == k], mean, table.truth["cov"])

    def test_three_classes_with_their_own_covariances(self):
        table = make_three_class_unequal(MANY, rng=0)
        assert_mixture(table)
        pooled = table.truth["covs"].mean(axis=0)
        assert abs(pooled[0, 1]) < abs(table.truth["covs"][:, 0, 1]).min() / 2

    def test_the_class_in_the_middle_is_masked_for_least_squares(self):
        table = make_masked_classes(rng=0)
        assert np.bincount(table.y).tolist() == [10, 10, 10]
        assert set(least_squares_classifier(table)(table.X)) == {0, 2}
        assert set(logistic_classifier(table)(table.X)) == {0, 1, 2}
        many = make_masked_classes(MANY, rng=0)
        assert_normal(many.X - 2.0 * (many.y[:, None] - 1), 0.0, np.array([[0.04]]))

    def test_fish_have_the_stated_moments(self):
        fish = make_fish(MANY, sea_bass_probability=0.3, rng=0)
        assert_shares(fish.y, [0.7, 0.3])
        assert_mean(fish["length"][fish.y == 0], 11.5)
        assert_mean(fish["length"][fish.y == 1], 13.5)
        for k in (0, 1):
            assert_normal(fish.X[fish.y == k], fish.truth["means"][k], np.eye(2))


def signed_distance(table):
    return (2 * table.y - 1) * (table.X @ table.truth["weights"])


def least_squares_classifier(table):
    weights, *_ = np.linalg.lstsq(
        with_bias(table.X), np.eye(len(table.classes))[table.y], rcond=None
    )
    return lambda X: np.argmax(with_bias(X) @ weights, axis=1)


def logistic_classifier(table):
    return LogisticRegression(C=100.0).fit(table.X, table.y).predict


def with_bias(X):
    return np.column_stack([X, np.ones(len(X))])
