"""Inverses of increasing functions, against plain bisection, and how many values they take."""

import numpy as np
import pytest
from scipy import special

from posteriori.numerics.calculus.roots import invert_increasing, invert_smooth, least_whole


def halved(f, level: float, low: float, high: float) -> tuple[float, int]:
    """Return the least x with f(x) >= level by halving to the last bit, and the values it took."""
    if f(low) >= level:
        return low, 2
    taken = 2
    while low < (middle := low + 0.5 * (high - low)) < high:
        low, high = (low, middle) if f(middle) >= level else (middle, high)
        taken += 1
    return high, taken


class Counted:
    """A function that counts its calls."""

    def __init__(self, f):
        self.f, self.calls = f, 0

    def __call__(self, x):
        self.calls += 1
        return self.f(x)


LEVELS = np.random.default_rng(0).uniform(0.02, 0.98, 40)

STEPS = {
    "two steps": (lambda x: (x >= 2.0) * 0.5 + (x >= 3.0) * 0.5, 0.0, 10.0),
    "counts": (lambda x: special.pdtr(np.floor(x), 50.0), 0.0, 500.0),
    "a step and a slope": (lambda x: np.clip(0.4 * (x >= 0.3) + 0.6 * x, 0.0, 1.0), -1.0, 2.0),
}


@pytest.mark.parametrize("name", STEPS)
def test_at_jumps_the_least_point_is_found_to_the_last_bit(name):
    f, low, high = STEPS[name]
    counted = Counted(f)
    found = invert_increasing(counted, LEVELS, np.float64(low), np.float64(high))
    expected = [halved(f, level, low, high) for level in LEVELS]
    np.testing.assert_array_equal(found, [x for x, _ in expected])
    # the room that other steps are given is eight halvings, and two for the chord near the end
    assert counted.calls <= max(taken for _, taken in expected) + 10


SMOOTH = {
    "normal": (special.ndtr, special.ndtri, -3.0, 2.5),
    "Student t": (lambda x: special.stdtr(3.0, x), lambda q: special.stdtrit(3.0, q), -8.0, 9.0),
    "far from 0": (lambda x: special.ndtr(x - 1e6), lambda q: 1e6 + special.ndtri(q), 1e6 - 3, 1e6 + 4),
    "cube": (lambda x: x**3, np.cbrt, 0.0, 1.0),
}  # fmt: skip


@pytest.mark.parametrize("name", SMOOTH)
def test_smooth_functions_take_few_values(name):
    f, inverse, low, high = SMOOTH[name]
    counted = Counted(f)
    found = invert_increasing(counted, LEVELS, np.float64(low), np.float64(high), jumps=False)
    np.testing.assert_allclose(found, inverse(LEVELS), rtol=1e-13, atol=1e-13)
    assert counted.calls <= 20  # halving takes 53 and more


def test_infinite_ends_are_returned():
    low, high = np.array([-np.inf, -9.0]), np.array([np.inf, np.inf])
    found = invert_increasing(special.ndtr, np.array([0.0, 1.0]), low, high, jumps=False)
    np.testing.assert_array_equal(found, [-np.inf, np.inf])


def test_the_least_whole_number_that_reaches_a_level():
    level = np.array([-5.0, 0.0, 3.2, 7.0, 9.0])
    found = least_whole(np.floor, level, np.full(5, -3.0), np.full(5, 9.0))
    np.testing.assert_array_equal(found, [-3.0, 0.0, 4.0, 7.0, 9.0])


SLOPES = {
    "normal": lambda x: np.exp(-0.5 * x * x) / np.sqrt(2 * np.pi),
    "Student t": lambda x: 2.0 / (np.pi * np.sqrt(3.0)) / (1.0 + x * x / 3.0) ** 2,
    "far from 0": lambda x: np.exp(-0.5 * (x - 1e6) ** 2) / np.sqrt(2 * np.pi),
    "cube": lambda x: 3.0 * x * x,
}


@pytest.mark.parametrize("name", SMOOTH)
def test_known_slopes_take_fewer_values(name):
    f, inverse, low, high = SMOOTH[name]
    counted, start = Counted(f), 0.5 * (low + high)
    found = invert_smooth(counted, SLOPES[name], LEVELS, low, high, start)
    np.testing.assert_allclose(found, inverse(LEVELS), rtol=1e-13, atol=1e-13)
    assert counted.calls <= 12


def test_flat_and_steep_places_do_not_trap_newton():
    """Two narrow normals far apart, begun between them, and a root of an infinite slope."""

    def two(x):
        return 0.5 * special.ndtr(x / 0.1) + 0.5 * special.ndtr((x - 100.0) / 0.1)

    def slope(x):
        parts = np.exp(-50.0 * x * x) + np.exp(-50.0 * (x - 100.0) ** 2)
        return 0.5 * parts / (0.1 * np.sqrt(2 * np.pi))

    level = np.array([0.1, 0.3, 0.75, 0.9])
    found = invert_smooth(two, slope, level, -1.0, 101.0, 50.0)
    expected = 0.1 * special.ndtri(2.0 * level - (level > 0.5)) + 100.0 * (level > 0.5)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    with np.errstate(divide="ignore"):
        root = invert_smooth(
            np.sqrt, lambda x: 0.5 / np.sqrt(x), np.array([1e-3, 0.5]), 0.0, 1.0, 0.0
        )
    np.testing.assert_allclose(root, [1e-6, 0.25], rtol=1e-12)
