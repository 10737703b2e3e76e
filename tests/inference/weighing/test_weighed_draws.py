"""Beliefs weighed by densities that are known, and intervals by weighted draws."""

from typing import NamedTuple

import numpy as np
import pytest
from scipy.stats import norm

from posteriori.inference import BeliefDraws, PosteriorDraws, weigh_belief
from posteriori.inference.weighing.approximate_beliefs import WeighedDraws
from posteriori.inference.weighing.parameter_intervals import intervals_by_draws
from posteriori.inference.weighing.reliability import Reliability


class Normals(NamedTuple):
    """A normal belief about a standard normal unknown."""

    mean: float
    spread: float

    def draw_belief(self, size, rng):
        x = rng.normal(self.mean, self.spread, size)
        return BeliefDraws({"x": x}, norm.logpdf(x, self.mean, self.spread))

    def log_joint(self, drawn):
        return norm.logpdf(drawn.values["x"])

    def too_narrow(self):
        return ()


class Drawn(Normals):
    """The same, with draws of the posterior."""

    def draw_posterior(self, size, rng):
        return PosteriorDraws({"x": rng.standard_normal((20, size // 20))}, ("noted",))


class Stuck(Normals):
    """Chains that stay where they began."""

    def draw_posterior(self, size, rng):
        starts = rng.standard_normal((20, 1))
        return PosteriorDraws({"x": starts + 0.01 * rng.standard_normal((20, size // 20))})


@pytest.mark.parametrize("kind", [Normals, Drawn])
@pytest.mark.parametrize(("mean", "spread", "narrow"), [(0.0, 1.0, ()), (0.0, 0.8, ("x",))])
def test_narrow_beliefs_are_found(kind, mean, spread, narrow):
    found = weigh_belief(kind(mean, spread), 2000, np.random.default_rng(0)).reliability
    assert found.too_narrow == narrow
    assert found.unknowns["x"].ratio == pytest.approx(spread, abs=0.08)


@pytest.mark.parametrize("kind", [Normals, Drawn])
def test_intervals_are_those_of_the_posterior(kind):
    drawn = weigh_belief(kind(0.3, 0.8), 4000, np.random.default_rng(0))
    found = intervals_by_draws(drawn, 0.8)
    assert found.lower["x"] == pytest.approx(norm.ppf(0.1), abs=0.12)
    assert found.upper["x"] == pytest.approx(norm.ppf(0.9), abs=0.12)
    assert found.cautions == (("noted",) if kind is Drawn else ())


def test_beliefs_too_far_off_say_so():
    drawn = weigh_belief(Normals(0.0, 0.2), 1000, np.random.default_rng(0))
    assert drawn.reliability.khat > 0.7
    assert "too far from the posterior" in " ".join(drawn.cautions)
    assert np.ptp(drawn.weights) == 0.0


def test_chains_that_have_not_met_say_so():
    drawn = weigh_belief(Stuck(0.0, 1.0), 1000, np.random.default_rng(0))
    assert drawn.cautions[0].startswith("draws of x have not met")
    assert drawn.reliability.effective_size < 40


def test_weighted_quantiles_are_those_of_repeated_draws():
    rng = np.random.default_rng(0)
    x, times = rng.normal(size=(40, 3)), rng.integers(1, 5, 40)
    weights = times / times.sum()
    some = WeighedDraws({"x": x}, weights, Reliability(), ())
    found = intervals_by_draws(some, 0.9)
    ordered = np.sort(np.repeat(x, times, axis=0), axis=0)
    for end, at in ((found.lower, 0.05), (found.median, 0.5), (found.upper, 0.95)):
        place = int(at * len(ordered))  # both lie between neighbours of this one
        assert (end["x"] >= np.unique(ordered)[0]).all()
        low, high = ordered[max(place - 4, 0)], ordered[min(place + 4, len(ordered) - 1)]
        assert ((low <= end["x"]) & (end["x"] <= high)).all()


@pytest.mark.parametrize("mass", [0.0, 1.0, -1.0])
def test_masses_are_checked(mass):
    some = WeighedDraws({"x": np.zeros(3)}, np.full(3, 1 / 3), Reliability(), ())
    with pytest.raises(ValueError, match="mass must be a number between 0 and 1"):
        intervals_by_draws(some, mass)


def test_the_print_names_places_and_cautions():
    some = WeighedDraws(
        {"x": np.arange(20.0).reshape(2, 10)}, np.full(2, 0.5), Reliability(), ("!",)
    )
    said = repr(intervals_by_draws(some, 0.5))
    assert "x[7]" in said
    assert "x: 2 more" in said
    assert said.endswith("!")
