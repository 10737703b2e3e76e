"""The double-exponential rule against integrals known on paper."""

import numpy as np
import pytest
from scipy import special

from posteriori.numerics import integrate


@pytest.mark.parametrize(
    ("f", "lower", "upper", "exact"),
    [
        (lambda x: np.exp(-x * x), -np.inf, np.inf, np.sqrt(np.pi)),
        (lambda x: 1 / (1 + x * x), -np.inf, np.inf, np.pi),  # heavy tails
        (lambda x: np.exp(-x), 0.0, np.inf, 1.0),
        (lambda x: x**-0.7 * np.exp(-x), 0.0, np.inf, special.gamma(0.3)),  # singular at 0
        (lambda x: np.exp(x), -np.inf, 0.0, 1.0),
        (lambda x: np.log(x), 0.0, 1.0, -1.0),
        (lambda x: 1 / np.sqrt(x), 0.0, 4.0, 4.0),
        (lambda x: np.sin(x), 0.0, np.pi, 2.0),
        (lambda x: x**3, 2.0, 5.0, (5**4 - 2**4) / 4),
    ],
)
def test_known_integrals(f, lower, upper, exact):
    found = integrate(f, lower, upper)
    assert found.value == pytest.approx(exact, rel=1e-11)
    assert abs(found.value - exact) <= found.error + 1e-13 * abs(exact)


def test_a_narrow_peak_far_from_zero_needs_its_place():
    found = integrate(
        lambda x: np.exp(-0.5 * ((x - 1e4) / 1e-3) ** 2), -np.inf, np.inf, centre=1e4, scale=1e-3
    )
    assert found.value == pytest.approx(1e-3 * np.sqrt(2 * np.pi), rel=1e-9)


def test_the_error_shows_what_does_not_converge():
    assert integrate(lambda x: 1.0 / x, 1.0, np.inf).error > 1e-3  # infinite
    rough = integrate(lambda x: np.where(x < 0.3, 1.0, 0.0), 0.0, 1.0)  # a jump
    assert abs(rough.value - 0.3) <= 3 * rough.error
    with pytest.raises(ValueError, match="lower must be below upper"):
        integrate(np.exp, 1.0, 1.0)
