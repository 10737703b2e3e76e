"""Points at which densities are infinite, and members whose moments are."""

import mpmath
import numpy as np
import pytest

from posteriori import Model, take
from posteriori.decision import class_posterior
from posteriori.distributions import (
    Bernoulli,
    Beta,
    Cauchy,
    Gamma,
    InverseGamma,
    Mixture,
    Normal,
    PointMass,
    PolyaGamma,
)
from posteriori.distributions.poles import log_prob_beside_poles


def test_the_stronger_pole_wins_and_equal_ones_share():
    assert Mixture([0.5, 0.5], Gamma([0.5, 0.6], [1.0, 2.0])).responsibilities(0.0)[0] > 1 - 1e-9
    equal = Mixture([0.5, 0.5], Gamma([0.5, 0.5], [1.0, 4.0]))
    # the ratio of the densities is √(1/4) in the limit
    np.testing.assert_allclose(equal.responsibilities(0.0), [1 / 3, 2 / 3], rtol=1e-9)
    np.testing.assert_allclose(equal.responsibilities(1e-300), [1 / 3, 2 / 3], rtol=1e-9)
    assert equal.log_prob(0.0) == np.inf
    mixed = class_posterior([Beta(0.5, 1.0), Beta(2.0, 2.0)], [0.0, 1.0, 0.5])
    np.testing.assert_allclose(mixed[:2], [[1.0, 0.0], [1.0, 0.0]], atol=1e-9)
    with mpmath.workdps(30):
        half = [mpmath.mpf("0.5") * mpmath.mpf("0.5") ** mpmath.mpf("-0.5"), mpmath.mpf("1.5")]
    np.testing.assert_allclose(mixed[2], [float(p / sum(half)) for p in half], rtol=1e-12)


def test_log_densities_elsewhere_are_as_they_are():
    d = Gamma([0.5, 2.0], [1.0, 1.0])
    x = np.array([[0.0], [1.0]])
    found = log_prob_beside_poles(d, x)
    np.testing.assert_array_equal(found[1], d.log_prob(1.0))
    assert found[0, 1] == -np.inf
    assert np.isfinite(found[0, 0])


def test_data_at_a_pole_are_refused_by_models():
    m = Model()
    m.p = Beta(0.5, 0.5)
    with pytest.raises(ValueError, match="p is observed where the density of Beta is infinite"):
        m.infer(p=0.0)
    m = Model()
    m.z = Bernoulli(0.5)
    m.x = Gamma(take([0.5, 0.6], m.z), take([1.0, 2.0], m.z))
    with pytest.raises(ValueError, match="x is observed where the density of Gamma is infinite"):
        m.infer(x=0.0)
    assert np.isfinite(float(m.infer(x=1e-12).log_evidence))


def test_mixtures_of_infinite_moments():
    heavy = Mixture([0.5, 0.5], InverseGamma([0.1, 5.0], [1.0, 2.0]))
    assert heavy.mean == np.inf
    assert heavy.variance == np.inf
    never = Mixture([0.0, 1.0], InverseGamma([0.1, 5.0], [1.0, 2.0]))
    assert never.mean == pytest.approx(0.5)
    assert never.variance == pytest.approx(0.25 / 3)


def test_missing_points_have_no_cumulative_probability():
    for x in ([1, None], np.nan):
        with pytest.raises(ValueError, match="x must not hold NaN"):
            Normal(0.0, variance=1.0).cdf(x)


def test_polya_gamma_draws_of_extreme_members():
    assert PolyaGamma(2.0**62).sample(2, rng=0) == pytest.approx(2.0**60, rel=1e-6)
    assert PolyaGamma(1.0, 1e300).sample(2, rng=0) == pytest.approx(5e-301)
    assert PolyaGamma(1e300, 1e300).sample(rng=0) == pytest.approx(0.5)
    assert PolyaGamma(1.0, 1e300).variance == 0.0
    for d in (PolyaGamma(3.0, 100.0), PolyaGamma(0.7, -90.0), PolyaGamma(2000.0, 3.0)):
        x = d.sample(30_000, rng=1)
        assert abs(x.mean() - d.mean) < 5 * d.std / np.sqrt(x.size)
        spread = (x - d.mean) ** 2
        assert abs(spread.mean() - d.variance) < 5 * spread.std() / np.sqrt(x.size)


def test_known_values_on_a_plate():
    conditional = PointMass(1.0).iid("n")
    assert conditional.plates == ("n",)


def test_cauchy_fits_data_of_any_size():
    x = np.random.default_rng(0).standard_cauchy(200)
    unit = Cauchy.fit(x)
    for size in (1e200, 1e-200):
        scaled = Cauchy.fit(size * x)
        assert scaled.location == pytest.approx(size * unit.location, rel=1e-9)
        assert scaled.scale == pytest.approx(size * unit.scale, rel=1e-9)
    with pytest.raises(ValueError, match="too many data coincide"):
        Cauchy.fit([1.0, 2.0, 1e300])
