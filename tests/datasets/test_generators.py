"""Every generator: reproducible, of the stated shape, and strict with its arguments."""

import inspect
import pickle
import re

import numpy as np
import pytest

from posteriori import datasets
from posteriori.datasets import (
    make_coin_flips,
    make_constant_signal,
    make_contaminated_normal,
    make_curve,
    make_die_rolls,
    make_fish,
    make_fruit,
    make_line_with_outliers,
    make_mixed_sources,
    make_noisy_line,
    make_polynomial,
    make_rings,
    make_separable,
    make_sinusoid,
    make_xor,
)

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


class TestEveryGenerator:
    def test_has_a_row_in_the_table(self):
        assert {name for name in datasets.__all__ if name.startswith("make_")} == set(CASES)

    @every_generator
    def test_documents_every_argument_and_what_it_returns_and_raises(self, name):
        function = getattr(datasets, name)
        text = inspect.getdoc(function)
        titles = re.findall(r"^(\w+)\n-+$", text, re.MULTILINE)
        assert [t for t in titles if t != "References"] == [
            "Parameters",
            "Returns",
            "Raises",
            "Examples",
        ]
        parameters = text.split("Parameters\n----------\n")[1].split("\n\n")[0]
        described = [
            argument
            for entry in re.findall(r"^(\S.*) : \S.*\n    \S", parameters, re.MULTILINE)
            for argument in entry.split(", ")
        ]
        assert described == list(inspect.signature(function).parameters)
        assert {"n_samples", "rng"} <= set(described)
        assert re.search(r"^Returns\n-------\nDataset\n    \S.*``truth``", text, re.M | re.S)
        assert "ValueError, TypeError\n    If an argument" in text
        assert f">>> from posteriori.datasets import {name}\n" in text

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
