"""Entries of vectors and matrices one by one, and beliefs as tables."""

import numpy as np
import pytest

from posteriori import Categorical, Dirichlet, Gamma, MvNormal, Normal, Wishart
from posteriori.distributions import (
    Bernoulli,
    Cauchy,
    Empirical,
    MatrixNormal,
    Mixture,
    Multinomial,
    MvStudentT,
    PointMass,
)
from posteriori.distributions.entries import entries_of, summarize

RNG = np.random.default_rng(0)
COV = np.array([[2.0, 0.7], [0.7, 1.0]])
VECTORS = {
    "normal": MvNormal([0.0, 1.0], cov=COV),
    "batch of normals": MvNormal([[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]], cov=COV),
    "student": MvStudentT(5.0, [0.0, 1.0], scale=COV),
    "students": MvStudentT([5.0, 6.0], [0.0, 1.0], scale=COV),
    "mixture": Mixture([0.4, 0.6], MvNormal([[0.0, 1.0], [3.0, 1.0]], cov=COV)),
    "mixtures": Mixture(
        [[0.4, 0.6], [0.1, 0.9]],
        MvStudentT(5.0, RNG.normal(size=(2, 2, 3)), scale=np.eye(3)),
    ),
    "dirichlet": Dirichlet([1.0, 2.0, 3.0]),
    "multinomial": Multinomial([3, 9], [0.2, 0.3, 0.5]),
    "matrix": MatrixNormal(np.arange(6.0).reshape(3, 2), np.diag([1.0, 2.0, 3.0]), COV),
}
#: Families without a closed form for their entries: draws stand for them.
DRAWN = {"wishart": Wishart(4.0, COV)}


@pytest.mark.parametrize("name", VECTORS)
def test_entries_have_the_moments_and_quantiles_of_draws(name):
    d = VECTORS[name]
    entries = entries_of(d)
    assert entries.batch_shape == d.batch_shape + d.event_shape
    assert entries.event_shape == ()
    np.testing.assert_allclose(entries.mean, d.mean, atol=1e-12)
    np.testing.assert_allclose(entries.variance, d.variance, atol=1e-12)
    x = np.asarray(d.sample(40_000, rng=1), dtype=float)
    below = (x <= entries.quantile(0.8)).mean(axis=0)
    exact = entries.cdf(entries.quantile(0.8))  # above 0.8 where values are whole numbers
    np.testing.assert_allclose(below, exact, atol=5 * np.sqrt(0.16 / 40_000))


@pytest.mark.parametrize("name", DRAWN)
def test_entries_without_a_closed_form_are_draws(name):
    d = DRAWN[name]
    table = summarize({"x": d})
    assert len(table) == np.prod(d.event_shape)
    np.testing.assert_allclose(table["mean"], np.ravel(d.mean))
    np.testing.assert_allclose(table["sd"], np.sqrt(np.ravel(d.variance)))
    x = np.reshape(np.asarray(d.sample(40_000, rng=1)), (40_000, -1))
    inside = (x >= table["lower"].to_numpy()) & (x <= table["upper"].to_numpy())
    # the ends are quantiles of 4000 draws, the share of 40,000
    np.testing.assert_allclose(
        inside.mean(axis=0), 0.9, atol=5 * np.sqrt(0.09 * (1 / 4e3 + 1 / 4e4))
    )


def test_draws_are_weighed_entry_by_entry():
    points = np.array([[0.0, 5.0], [1.0, 4.0], [2.0, 3.0]])
    entries = entries_of(Empirical(points, weights=[0.5, 0.25, 0.25]))
    np.testing.assert_allclose(entries.mean, [0.75, 4.25])
    np.testing.assert_allclose(entries.cdf(np.array([0.5, 4.5])), [0.5, 0.5])


def test_a_table_has_a_row_for_each_number():
    table = summarize({"w": VECTORS["normal"], "tau": Gamma(2.0, 1.0), "c": Cauchy(0.0, 1.0)}, 0.5)
    assert list(table.index) == ["w[0]", "w[1]", "tau", "c"]
    assert list(table.columns) == ["mean", "sd", "lower", "upper"]
    assert table.loc["w[1]", "sd"] == 1.0
    assert np.isnan(table.loc["c", "mean"])  # it has none
    np.testing.assert_allclose(table.loc["c", ["lower", "upper"]].astype(float), [-1.0, 1.0])
    lower, upper = Gamma(2.0, 1.0).interval(0.5)
    assert (table.loc["tau", "lower"], table.loc["tau", "upper"]) == (lower, upper)


def test_states_are_told_by_name_and_probability():
    z = Categorical([[0.2, 0.8], [0.6, 0.4]], labels=["red", "green"])
    table = summarize({"z": z, "plain": Categorical([0.1, 0.9]), "b": Bernoulli(0.25)})
    assert list(table["state"][:3]) == ["green", "red", 1]
    np.testing.assert_allclose(table["probability"][:3], [0.8, 0.6, 0.9])
    assert table.loc["b", "mean"] == 0.25


def test_what_is_known_has_no_spread():
    table = summarize({"x": PointMass([1.0, 2.0])})
    np.testing.assert_array_equal(table["sd"], 0.0)
    np.testing.assert_array_equal(table["lower"], [1.0, 2.0])
    np.testing.assert_array_equal(table["upper"], [1.0, 2.0])


def test_draws_tell_how_many_they_are_worth():
    table = summarize({"x": Empirical([0.0, 1.0, 2.0], weights=[0.5, 0.25, 0.25])})
    np.testing.assert_allclose(table["ess"], 1 / (0.25 + 2 * 0.0625))


def test_nothing_makes_an_empty_table():
    assert list(summarize({}).columns) == ["mean", "sd", "lower", "upper"]


@pytest.mark.parametrize("mass", [0.0, 1.0, 90, np.nan])
def test_a_mass_is_a_probability(mass):
    with pytest.raises(ValueError, match="mass must be a number between 0 and 1"):
        summarize({"x": Normal(0.0, variance=1.0)}, mass)


def test_places_have_the_names_they_are_given():
    table = summarize(
        {"w": VECTORS["batch of normals"], "b": Normal([0.0], variance=1.0)},
        labels={"w": [None, ["x", "y"]], "b": [[""]]},
        signs=True,
    )
    assert list(table.index) == [
        "w[0, x]",
        "w[0, y]",
        "w[1, x]",
        "w[1, y]",
        "w[2, x]",
        "w[2, y]",
        "b",
    ]
    assert table.loc["b", "positive"] == 0.5
    np.testing.assert_allclose(
        table.loc["w[1, x]", "positive"], 1 - Normal(2.0, variance=2.0).cdf(0.0)
    )
