"""Exponentials that level off, and their means, against quadrature in many digits."""

import mpmath
import numpy as np
import pytest

from posteriori.numerics.calculus.level_off import level_off, levelled_mean


def levelled(eta, top):
    """The definition, in mpmath's numbers."""
    mean = mpmath.exp(eta)
    return mean if mean <= top else top * (2 - top / mean)


def test_means_are_as_they_are_up_to_the_top_and_go_on_with_the_slope_there():
    top, step = np.log(7.0), 1e-6
    below = np.array([-700.0, -1.0, 0.0, top])
    assert np.array_equal(level_off(below, top), below)
    beyond = top + step
    assert (level_off(np.array([beyond]), top)[0] - top) / step == pytest.approx(1.0, abs=1e-5)
    far = level_off(np.linspace(top, top + 30.0, 1000), top)
    assert np.all(np.diff(far) >= 0)
    assert np.all(far <= top + np.log(2.0))


@pytest.mark.parametrize("gap", [-30.0, -2.0, -0.1, 0.0, 0.7, 5.0, 40.0])
@pytest.mark.parametrize("std", [1e-3, 0.2, 1.0, 4.0, 12.0])
def test_means_of_uncertain_predictors_against_quadrature(gap, std):
    top = 5.0
    m = float(np.log(top)) + gap
    marks = sorted({m + k * std for k in (-12, -4, 0, 4, 12)} | {m + std**2, np.log(top)})
    spread = [marks[0] - 12 * std, *marks, marks[-1] + 12 * std]
    with mpmath.workdps(30):
        expected = mpmath.quad(
            lambda eta: levelled(eta, top) * mpmath.npdf(eta, m, std),
            [mpmath.mpf(x) for x in spread],
        )
    found = levelled_mean(np.array([m]), np.array([std**2]), np.log(top))[0]
    assert found == pytest.approx(float(expected), rel=1e-9)


@pytest.mark.parametrize("std", [1e-150, 1e3, 1e10, 1e150])
@pytest.mark.parametrize("mean", [-1e200, -1e6, 0.0, 1e6, 1e200])
def test_no_predictor_is_so_uncertain_that_its_mean_is_lost(mean, std):
    found = levelled_mean(np.array([mean]), np.array([std]) ** 2, 0.0)[0]
    assert 0.0 <= found <= 2.0
    if std > 1e6 and abs(mean) < 1e7:  # half of it is 0, half of it 2
        assert found == pytest.approx(1.0, abs=1e-3)
