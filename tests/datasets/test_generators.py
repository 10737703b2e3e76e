"""Generated data: reproducible, and distributed as their stated truth.

A mean of N draws must lie within five standard errors of what it estimates.
"""

import itertools
import pickle

import numpy as np
import pytest
from scipy import optimize, stats
from sklearn.cluster import KMeans
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import GaussianMixture

from posteriori import datasets
from posteriori.datasets import (
    make_blobs_unequal,
    make_coin_flips,
    make_constant_signal,
    make_contaminated_normal,
    make_correlated_pair,
    make_curve,
    make_die_rolls,
    make_elongated,
    make_fish,
    make_fruit,
    make_heteroscedastic_line,
    make_line_with_outliers,
    make_masked_classes,
    make_mixed_sources,
    make_mouse,
    make_noisy_line,
    make_polynomial,
    make_rings,
    make_separable,
    make_sinusoid,
    make_three_class_unequal,
    make_two_class_hard,
    make_two_class_outliers,
    make_xor,
)

MANY = 40_000

# generator: arguments that it needs, rows by default, columns, classes
CASES = {
    "make_blobs_unequal": ((), 300, 3, 3),
    "make_coin_flips": ((), 192, 1, 0),
    "make_constant_signal": ((), 50, 1, 0),
    "make_contaminated_normal": ((), 33, 1, 0),
    "make_correlated_pair": ((), 100, 2, 0),
    "make_curve": (("sine",), 50, 2, 0),
    "make_die_rolls": ((), 100, 1, 0),
    "make_elongated": ((), 200, 3, 2),
    "make_fish": ((), 200, 3, 2),
    "make_fruit": ((), 250, 3, 2),
    "make_heteroscedastic_line": ((), 50, 2, 0),
    "make_line_with_outliers": ((), 33, 2, 0),
    "make_masked_classes": ((), 30, 2, 3),
    "make_mixed_sources": ((), 5000, 2, 0),
    "make_mouse": ((), 500, 3, 3),
    "make_noisy_line": ((), 20, 2, 0),
    "make_polynomial": ((), 30, 2, 0),
    "make_rings": ((), 300, 3, 2),
    "make_separable": ((), 40, 3, 2),
    "make_sinusoid": ((), 25, 2, 0),
    "make_three_class_unequal": ((), 300, 3, 3),
    "make_two_class_hard": ((), 200, 3, 2),
    "make_two_class_outliers": ((), 110, 3, 2),
    "make_xor": ((), 200, 3, 2),
}
every_generator = pytest.mark.parametrize("name", CASES)


def make(name, **options):
    return getattr(datasets, name)(*CASES[name][0], **options)


def assert_mean(draws, expected):
    """Check that the mean of the rows is what is expected, up to five standard errors."""
    draws = np.asarray(draws, dtype=float)
    error = draws.std(axis=0) / np.sqrt(len(draws))
    assert np.all(np.abs(draws.mean(axis=0) - expected) <= 5 * error + 1e-12)


def assert_normal(draws, mean, cov):
    """Check the first two moments of rows (N, D) and their kurtosis, 3 for every direction."""
    centred = draws - mean
    assert_mean(centred, np.zeros(draws.shape[1]))
    assert_mean(centred[:, :, None] * centred[:, None, :], cov)
    assert_mean(centred**4 / np.diag(cov) ** 2, 3.0)


def assert_shares(labels, probabilities):
    assert_mean(labels[:, None] == np.arange(len(probabilities)), probabilities)


class TestEveryGenerator:
    def test_has_a_row_in_the_table(self):
        assert {name for name in datasets.__all__ if name.startswith("make_")} == set(CASES)

    @every_generator
    def test_has_the_stated_shape(self, name):
        _, rows, columns, classes = CASES[name]
        table = make(name, rng=0)
        assert table.data.shape == (rows, columns)
        assert np.all(np.isfinite(table.data))
        assert len(table.classes) == classes
        assert table.truth
        if classes:
            assert set(table.y) == set(range(classes))

    @every_generator
    def test_repeats_itself_for_the_same_seed_only(self, name):
        first = make(name, rng=1).data
        np.testing.assert_array_equal(make(name, rng=1).data, first)
        np.testing.assert_array_equal(make(name, rng=np.random.default_rng(1)).data, first)
        assert not np.array_equal(make(name, rng=2).data, first)
        assert not np.array_equal(make(name).data, make(name).data)

    @every_generator
    def test_moves_a_generator_on(self, name):
        generator = np.random.default_rng(1)
        assert not np.array_equal(make(name, rng=generator).data, make(name, rng=generator).data)

    @every_generator
    def test_leaves_the_global_stream_alone(self, name):
        before = np.random.get_state()[1].copy()  # noqa: NPY002
        make(name)
        np.testing.assert_array_equal(np.random.get_state()[1], before)  # noqa: NPY002

    @every_generator
    def test_makes_as_many_as_asked_for(self, name):
        extra = {"n_outliers": 0} if "outlier" in name or "contaminated" in name else {}
        for size in (1, 7, np.int64(7)):
            assert len(make(name, n_samples=size, rng=0, **extra)) == size

    @every_generator
    def test_is_locked_and_survives_a_pickle(self, name):
        table = make(name, rng=0)
        twin = pickle.loads(pickle.dumps(table))
        np.testing.assert_array_equal(twin.data, table.data)
        for key, value in table.truth.items():
            np.testing.assert_array_equal(twin.truth[key], value)
            if isinstance(value, np.ndarray):
                assert not value.flags.writeable

    @every_generator
    @pytest.mark.parametrize(
        ("size", "error", "message"),
        [
            (0, ValueError, "n_samples must be at least 1, got 0"),
            (-3, ValueError, "n_samples must be at least 1, got -3"),
            (2.5, TypeError, "n_samples must be an integer, got 2.5"),
            (True, TypeError, "n_samples must be an integer, got True"),
            ("10", TypeError, "n_samples must be an integer, got '10'"),
        ],
    )
    def test_refuses_a_size_that_is_none(self, name, size, error, message):
        with pytest.raises(error, match=message):
            make(name, n_samples=size)

    @every_generator
    def test_refuses_a_seed_that_is_none(self, name):
        with pytest.raises(TypeError, match="rng must be None, an integer seed or a numpy Gen"):
            make(name, rng="seed")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: make_noisy_line(slope=[1, 2]), r"slope must be one number, got shape \(2,\)"),
        (lambda: make_noisy_line(intercept=np.nan), "intercept must be finite, got nan"),
        (lambda: make_noisy_line(noise_variance=-1), "noise_variance must not be negative, got -1"),
        (lambda: make_noisy_line(low=2, high=2), "low must be below high, got low=2 and high=2"),
        (lambda: make_sinusoid(low=1, high=0), "low must be below high, got low=1 and high=0"),
        (lambda: make_sinusoid(frequency=np.inf), "frequency must be finite, got inf"),
        (lambda: make_polynomial(weights=[]), r"weights must be a list of numbers, got shape"),
        (lambda: make_polynomial(weights=np.eye(2)), r"weights must be a list .* \(2, 2\)"),
        (lambda: make_polynomial(weights=3.0), "weights must be a vector"),
        (lambda: make_curve("cube"), "one of square, sine, absolute, step; got 'cube'"),
        (lambda: make_line_with_outliers(n_outliers=-1), "n_outliers must be at least 0, got -1"),
        (lambda: make_contaminated_normal(variance=0), "variance must be positive, got 0"),
        (lambda: make_fruit(apple_probability=1.2), "apple_probability must lie between 0 and 1"),
        (lambda: make_fish(sea_bass_probability=-0.1), "sea_bass_probability must lie between"),
        (lambda: make_xor(noise_variance=-1), "noise_variance must not be negative"),
        (lambda: make_rings(radii=[1, 0]), "radii must be positive, got 0"),
        (lambda: make_rings(radii=[]), "radii must be a list of numbers"),
        (lambda: make_separable(margin=0), "margin must be positive, got 0"),
        (
            lambda: make_separable(5, n_mislabelled=6),
            "n_mislabelled must not exceed n_samples=5, got 6",
        ),
        (lambda: make_coin_flips(probability=2), "probability must lie between 0 and 1, got 2"),
        (lambda: make_die_rolls(probabilities=[0.5, 0.6]), "probabilities must sum to 1"),
        (lambda: make_constant_signal(noise_variance=-1), "noise_variance must not be negative"),
        (lambda: make_mixed_sources(mixing=[[1, 2], [2, 4]]), "invertible square matrix"),
        (lambda: make_mixed_sources(mixing=[[1, 2, 3], [2, 4, 5]]), "invertible square matrix"),
        (lambda: make_mixed_sources(mixing=3.0), "invertible square matrix"),
    ],
)
def test_arguments_out_of_range_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


class TestCurves:
    @pytest.mark.parametrize(
        ("table", "curve", "variance", "limits"),
        [
            (make_noisy_line(MANY, rng=0), lambda x: -0.3 + 0.5 * x, 0.04, (-1, 1)),
            (make_polynomial(MANY, rng=0), lambda z: 1 + 2 * z + 0.25 * z**2, 2.0, (0, 10)),
            (make_sinusoid(MANY, rng=0), lambda x: np.sin(2 * np.pi * x), 0.04, (0, 1)),
            (
                make_sinusoid(MANY, frequency=0.5, amplitude=3, low=-1, high=1, rng=0),
                lambda x: 3 * np.sin(np.pi * x),
                0.04,
                (-1, 1),
            ),
            (make_curve("square", MANY, noise_variance=1, rng=0), np.square, 1.0, (-1, 1)),
        ],
        ids=["line", "polynomial", "sinusoid", "slow sinusoid", "square"],
    )
    def test_inputs_are_uniform_and_noise_is_normal_about_the_curve(
        self, table, curve, variance, limits
    ):
        low, high = limits
        x = table.X[:, 0]
        assert low <= x.min() < x.max() <= high
        assert_mean(x, (low + high) / 2)
        assert_mean((x - (low + high) / 2) ** 2, (high - low) ** 2 / 12)
        np.testing.assert_allclose(table.truth["mean"], curve(x), rtol=1e-12, atol=1e-12)
        assert table.truth["noise_variance"] == variance
        assert_normal(table.y[:, None] - curve(x)[:, None], 0.0, np.array([[variance]]))
        assert_mean((table.y - curve(x)) * (x - (low + high) / 2), 0.0)

    @pytest.mark.parametrize(
        ("curve", "at"),
        [
            ("square", lambda x: x * x),
            ("sine", np.sin),
            ("absolute", lambda x: max(x, -x)),
            ("step", lambda x: float(x > 0)),
        ],
    )
    def test_the_curves_of_the_network_lesson_have_no_noise(self, curve, at):
        table = make_curve(curve, rng=0)
        assert table.y.tolist() == [at(x) for x in table.X[:, 0]]

    def test_weights_of_the_lines_are_the_truth(self):
        assert make_noisy_line(rng=0).truth["weights"].tolist() == [-0.3, 0.5]
        assert make_polynomial(rng=0).truth["weights"].tolist() == [1.0, 2.0, 0.25]
        assert make_heteroscedastic_line(rng=0).truth["weights"].tolist() == [-2.0, 5.0]

    def test_noise_that_grows(self):
        line = make_heteroscedastic_line(MANY, rng=0)
        x, variance = line.X[:, 0], line.truth["noise_variance"]
        assert_mean(x, 0.5)
        np.testing.assert_allclose(line.truth["mean"], 5 * x - 2, rtol=0, atol=1e-12)
        np.testing.assert_allclose(
            np.interp([0, 0.5, 1], np.sort(x), np.sort(variance)),
            [0.5, 6.98721, 64.39056],
            rtol=1e-2,
        )
        np.testing.assert_allclose(variance, 10 * np.exp(2 * x**2) - 9.5, rtol=1e-12)
        standard = (line.y - 5 * x + 2) / np.sqrt(variance)
        assert_normal(standard[:, None], 0.0, np.eye(1))
        assert_mean((standard**2 - 1) * (x - 0.5), 0.0)

    def test_outliers_are_the_last_rows_and_lifted(self):
        line = make_line_with_outliers(MANY, n_outliers=1000, shift=3.0, rng=0)
        residual = line.y - line.truth["mean"]
        outlier = line.truth["outlier"]
        assert np.flatnonzero(outlier).tolist() == list(range(MANY, MANY + 1000))
        assert_mean(residual[~outlier], 0.0)
        assert_mean(residual[outlier], 3.0)
        assert_mean((residual - 3.0 * outlier) ** 2, 0.04)
        np.testing.assert_array_equal(line.truth["mean"], -0.3 + 0.5 * line.X[:, 0])


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


class TestClusters:
    @pytest.mark.parametrize("maker", [make_blobs_unequal, make_elongated])
    def test_components_have_the_stated_moments(self, maker):
        assert_mixture(maker(MANY, rng=0))

    @pytest.mark.parametrize("maker", [make_blobs_unequal, make_elongated, make_mouse])
    def test_a_mixture_finds_what_k_means_does_not(self, maker):
        table = maker(rng=0)
        n_clusters = len(table.classes)
        hard = KMeans(n_clusters, n_init=3, random_state=0).fit_predict(table.X)
        soft = GaussianMixture(n_clusters, n_init=3, random_state=0).fit_predict(table.X)
        by_means, by_mixture = (adjusted_rand_score(table.y, found) for found in (hard, soft))
        assert by_mixture > 0.9
        assert by_means < by_mixture - 0.1

    def test_the_mouse_is_three_even_discs(self):
        mouse = make_mouse(MANY, rng=0)
        truth = mouse.truth
        assert_shares(mouse.y, [0.6, 0.2, 0.2])
        for k, (center, radius) in enumerate(zip(truth["centers"], truth["radii"], strict=True)):
            offset = mouse.X[mouse.y == k] - center
            assert_mean(offset, [0.0, 0.0])
            assert_mean(offset**2, radius**2 / 4)
            distance = np.hypot(*offset.T)
            assert distance.max() <= radius + 1e-12
            assert_mean(distance < radius / 2, 0.25)
        for a, b in itertools.combinations(range(3), 2):
            gap = np.linalg.norm(truth["centers"][a] - truth["centers"][b])
            assert gap > truth["radii"][a] + truth["radii"][b]

    def test_rings_have_the_stated_radii(self):
        rings = make_rings(MANY, radii=[2.0, 5.0, 9.0], noise_variance=0.01, rng=0)
        assert_shares(rings.y, np.full(3, 1 / 3))
        distance = np.hypot(*rings.X.T)
        assert_normal((distance - rings.truth["radii"][rings.y])[:, None], 0.0, np.array([[0.01]]))
        assert_mean(rings.X / distance[:, None], [0.0, 0.0])
        assert_mean(rings.X[:, 0] * rings.X[:, 1] / distance**2, 0.0)

    def test_no_line_separates_rings(self):
        assert not is_separable(make_rings(rng=0))

    def test_contaminated_normal_has_a_bulk_and_a_tail(self):
        data = make_contaminated_normal(
            MANY, n_outliers=MANY, mean=3.0, variance=4.0, shift=50.0, rng=0
        )
        outlier = data.truth["outlier"]
        assert outlier.tolist() == [False] * MANY + [True] * MANY
        assert_normal(data.data[~outlier], np.array([3.0]), np.array([[4.0]]))
        assert_normal(data.data[outlier], np.array([53.0]), np.array([[4.0]]))


class TestDraws:
    def test_coin_of_the_lesson(self):
        assert len(make_coin_flips(rng=0)) == 192
        heads = make_coin_flips(MANY, rng=0)["head"]
        assert set(heads) == {0.0, 1.0}
        assert_mean(heads, 0.4)
        assert_mean((heads[1:] - 0.4) * (heads[:-1] - 0.4), 0.0)

    @pytest.mark.parametrize("probability", [0, 1])
    def test_a_coin_that_always_falls_the_same(self, probability):
        assert set(make_coin_flips(probability=probability, rng=0)["head"]) == {probability}

    def test_jaynes_die_has_mean_4_5_and_the_largest_entropy(self):
        die = make_die_rolls(MANY, rng=0)
        p = die.truth["probabilities"]
        np.testing.assert_allclose(
            p, [0.05435, 0.07877, 0.11416, 0.16545, 0.23977, 0.34749], rtol=0, atol=5e-6
        )
        assert p @ np.arange(1, 7) == pytest.approx(4.5, abs=1e-8)
        np.testing.assert_allclose(np.diff(np.log(p)), np.log(p[1] / p[0]), rtol=1e-12)
        assert_mean(die["face"], 4.5)
        assert_shares(die["face"] - 1, p)

    def test_a_die_of_ones_own(self):
        die = make_die_rolls(MANY, probabilities=[0.2, 0.0, 0.8], rng=0)
        assert set(die["face"]) == {1.0, 3.0}
        assert_mean(die["face"], 0.2 + 2.4)

    def test_constant_of_the_lesson(self):
        signal = make_constant_signal(rng=0)
        assert signal["t"].tolist() == list(range(1, 51))
        many = make_constant_signal(MANY, rng=0)
        assert_normal(many.data, np.array([2.0]), np.array([[0.25]]))

    def test_pair_of_the_lesson(self):
        pair = make_correlated_pair(MANY, rng=0)
        mean, cov = np.array([0.0, 1.0]), np.array([[0.8, 0.5], [0.5, 1.0]])
        assert_normal(pair.data, mean, cov)
        low, high = pair.truth["rectangle_low"], pair.truth["rectangle_high"]
        inside = np.all((pair.data >= low) & (pair.data <= high), axis=1)
        assert_mean(inside, 0.20823322)
        law = stats.multivariate_normal(pair.truth["mean"], pair.truth["cov"])
        assert law.cdf(high, lower_limit=low) == pytest.approx(0.20823322, abs=1e-6)

    def test_sources_are_independent_laplace_and_mixed(self):
        heard = make_mixed_sources(MANY, rng=0)
        sources, mixing = heard.truth["sources"], heard.truth["mixing"]
        assert mixing.tolist() == [[1.0, 0.5], [0.3, 1.0]]
        np.testing.assert_allclose(heard.data, sources @ mixing.T, rtol=1e-12)
        assert_mean(sources, [0.0, 0.0])
        assert_mean(np.abs(sources), 1.0)
        assert_mean(sources**2, 2.0)
        assert_mean(sources[:, 0] * sources[:, 1], 0.0)
        assert_mean((np.abs(sources[:, 0]) - 1) * (np.abs(sources[:, 1]) - 1), 0.0)

    def test_three_sensors(self):
        mixing = np.array([[1.0, 0.2, 0.0], [0.0, 1.0, 0.3], [0.5, 0.0, 1.0]])
        heard = make_mixed_sources(10, mixing=mixing, rng=0)
        assert heard.names == ("x1", "x2", "x3")


def assert_mixture(table):
    truth = table.truth
    assert_shares(table.y, truth["probabilities"])
    for k, (mean, cov) in enumerate(zip(truth["means"], truth["covs"], strict=True)):
        assert_normal(table.X[table.y == k], mean, cov)


def signed_distance(table):
    return (2 * table.y - 1) * (table.X @ table.truth["weights"])


def is_separable(table):
    """Ask a linear program for a line with t (wᵀx + b) >= 1 at every point."""
    t = 2 * table.y - 1
    rows = -t[:, None] * np.column_stack([table.X, np.ones(len(t))])
    answer = optimize.linprog(
        np.zeros(rows.shape[1]), A_ub=rows, b_ub=-np.ones(len(t)), bounds=(None, None)
    )
    return answer.status == 0


def least_squares_classifier(table):
    weights, *_ = np.linalg.lstsq(
        with_bias(table.X), np.eye(len(table.classes))[table.y], rcond=None
    )
    return lambda X: np.argmax(with_bias(X) @ weights, axis=1)


def logistic_classifier(table):
    return LogisticRegression(C=100.0).fit(table.X, table.y).predict


def with_bias(X):
    return np.column_stack([X, np.ones(len(X))])
