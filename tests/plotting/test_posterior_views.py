"""Pictures of numbers two by two, and of data against what a posterior expects."""

import numpy as np
import pytest
from scipy import stats

from posteriori import (
    Categorical,
    Dirichlet,
    Gamma,
    Model,
    MvNormal,
    Normal,
    PointMass,
    Poisson,
    plot,
    take,
)
from posteriori.modeling import load_posterior

RNG = np.random.default_rng(0)
ROWS = np.column_stack([np.ones(60), RNG.normal(2.0, 1.0, 60)])
Y = ROWS @ [1.0, 2.0] + RNG.normal(size=60)


@pytest.fixture(scope="module")
def line():
    m = Model()
    m.w = MvNormal(np.zeros(2), cov=10.0 * np.eye(2))
    m.tau = Gamma(2.0, rate=1.0)
    m.y = Normal(ROWS @ m.w, precision=m.tau)
    return m.infer(y=Y)


@pytest.fixture(scope="module")
def rate():
    m = Model()
    m.rate = Gamma(2.0, rate=1.0)
    m.y = Poisson(m.rate).iid("n")
    return m.infer(y=np.arange(40) % 7)


# -- two by two ------------------------------------------------------------------------------


def test_two_numbers_share_a_panel_with_draws_and_contours(line):
    (axes,) = plot(line, pairs=["w[1]", "w[0]"], mass=[0.5, 0.9])
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("w[1]", "w[0]")
    points = np.array(axes.lines[0].get_data())
    exact = line.w.cov[::-1, ::-1]
    np.testing.assert_allclose(np.cov(points), exact, rtol=0.25)
    drawn = line.sample(4000, rng=1)["w"][:, ::-1]
    lines = [
        p for part in axes.collections if not part.get_facecolor().size for p in part.get_paths()
    ]
    assert sorted(p.contains_points(drawn).mean() for p in lines) == pytest.approx(
        [0.5, 0.9], abs=0.04
    )


def test_more_numbers_have_a_panel_for_each_two_and_for_each(line):
    panels = plot(line, pairs=["w", "tau"])
    assert len(panels) == 6
    assert [axes.get_ylabel() for axes in panels] == ["", "w[1]", "", "tau", "", ""]
    assert [axes.get_xlabel() for axes in panels] == [""] * 3 + ["w[0]", "w[1]", "tau"]
    x, p = panels[5].lines[0].get_data()
    np.testing.assert_allclose(p, np.exp(line.tau.log_prob(x)), rtol=1e-9)
    shown = [axes for axes in panels[0].figure.axes if axes.axison]
    assert len(shown) == 6


def test_panels_may_be_given(line, ax):
    assert list(plot(line, pairs=["w"], ax=ax)) == [ax]
    assert list(plot(line, ax, pairs=["w"])) == [ax]
    with pytest.raises(ValueError, match="ax must hold 6 Axes"):
        plot(line, ax=ax, pairs=["w", "tau"])


def test_what_is_known_has_no_contours():
    m = Model()
    m.known = PointMass(np.arange(2.0), event_ndim=1)
    m.mu = Normal(0.0, variance=1.0)
    m.y = Normal(m.mu, variance=1.0)
    (axes,) = plot(m.infer(y=1.0), pairs=["known[1]", "mu"])
    np.testing.assert_array_equal(axes.lines[0].get_xdata(), 1.0)
    assert not axes.collections


WRONG_PAIRS = {
    ("w", "ta"): (KeyError, "did you mean 'tau'"),
    ("w[7]", "tau"): (ValueError, r"w has no entry 'w\[7\]'; it has w\[0\] to w\[1\]"),
    ("tau",): (ValueError, "two to 6 numbers, got 1"),
    (): (ValueError, "two to 6 numbers, got 0"),
}


@pytest.mark.parametrize("pairs", WRONG_PAIRS)
def test_wrong_pairs_are_answered(line, pairs):
    error, words = WRONG_PAIRS[pairs]
    with pytest.raises(error, match=words):
        plot(line, pairs=list(pairs))


def test_states_have_no_pairs():
    m = Model()
    m.z = Categorical([0.5, 0.5]).iid(2)
    m.y = Normal(take([0.0, 2.0], m.z), variance=1.0)
    with pytest.raises(TypeError, match="z has states"):
        plot(m.infer(y=[0.0, 1.0]), pairs=["z"])


def test_saved_posteriors_are_drawn_too(rate, tmp_path):
    rate.save(tmp_path / "post")
    (axes,) = plot(load_posterior(tmp_path / "post"))
    np.testing.assert_array_equal(axes.lines[0].get_data(), plot(rate)[0].lines[0].get_data())


# -- data against what is expected -----------------------------------------------------------


def test_shares_of_counts_stand_before_those_of_tables_drawn_anew(rate):
    data = np.arange(40) % 7
    (axes,) = plot(rate, "predictive", y=data, mass=0.8)
    band, mean, seen = (part.get_data() for part in axes.patches)
    at = (0.5 * (seen.edges[1:] + seen.edges[:-1])).astype(int)
    np.testing.assert_allclose(seen.values, [np.mean(data == k) for k in at])
    expected = rate.predict("y", n=1)
    p = np.array([float(np.exp(expected.log_prob(k))[0]) for k in at])
    np.testing.assert_allclose(mean.values, p, atol=5 * np.sqrt(0.25 / 40 / 400))
    # the number of rows with a value is binomial, given the rate, which 40 rows tell well
    low, high = stats.binom.ppf([[0.1], [0.9]], 40, p) / 40
    np.testing.assert_allclose(band.baseline, low, atol=0.03)
    np.testing.assert_allclose(band.values, high, atol=0.05)
    assert axes.get_legend_handles_labels()[1] == ["80% of tables drawn anew", "their mean", "40 data"]  # fmt: skip


def test_densities_of_numbers_are_those_of_histograms(line):
    (axes,) = plot(line, "predictive", y=Y)
    seen = axes.patches[-1].get_data()
    found, _ = np.histogram(Y, seen.edges, density=True)
    np.testing.assert_allclose(seen.values, found)
    assert axes.get_ylabel() == "density"


def test_vectors_have_a_panel_for_each_coordinate_and_gaps_are_left_out():
    m = Model()
    m.mu = MvNormal(np.zeros(2), cov=np.eye(2))
    m.x = MvNormal(m.mu, cov=np.eye(2)).iid("n")
    x = np.random.default_rng(1).normal(size=(20, 2))
    x[3] = np.nan
    panels = plot(m.infer(x=x), "predictive", x=x)
    assert [axes.get_xlabel() for axes in panels] == ["x[0]", "x[1]"]
    assert panels[0].get_legend_handles_labels()[1][-1] == "19 data"


def test_states_are_called_by_their_labels():
    m = Model()
    m.p = Dirichlet([1.0, 1.0, 1.0])
    m.z = Categorical(m.p, labels=("low", "mid", "high")).iid("n")
    z = ["low", "high", "high", "mid"]
    (axes,) = plot(m.infer(z=z), "predictive", z=z)
    assert [text.get_text() for text in axes.get_xticklabels()] == ["low", "mid", "high"]
    np.testing.assert_allclose(axes.patches[-1].get_data().values, [0.25, 0.25, 0.5])
    with pytest.raises(ValueError, match="z has no state 'big'"):
        plot(m.infer(z=z), "predictive", z=["big", *z[1:]])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, r'as in plot\(post, "predictive", y=y\)'),
        ({"y": Y, "x": Y}, "data of one observed variable"),
        ({"Y": Y}, "'Y' was not observed; what was: y"),
        ({"w": Y}, "'w' was not observed"),
        ({"y": Y[:3]}, r"of shape \(60,\), got \(3,\)"),
        ({"y": Y, "mass": 1.5}, "mass must be a number between 0 and 1"),
    ],
)
def test_wrong_data_are_answered(line, options, words):
    with pytest.raises(ValueError, match=words):
        plot(line, "predictive", **options)


def test_other_views_are_named(line):
    with pytest.raises(ValueError, match='"marginals" or "predictive", got \'joint\''):
        plot(line, "joint")
    with pytest.raises(TypeError, match="view"):
        plot(Normal(0.0, scale=1.0), "predictive")
