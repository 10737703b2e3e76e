"""Pictures of the posterior of a model show the marginals that it answers with."""

import numpy as np
import pytest
from matplotlib.figure import Figure

from posteriori import Categorical, Gamma, Model, MvNormal, Normal, PointMass, Wishart, plot, take

MANY = 12


def hierarchy(count):
    m = Model()
    m.mu = Normal(0.0, variance=9.0)
    m.theta = Normal(m.mu, variance=4.0).iid("g")
    m.y = Normal(m.theta, variance=1.0)
    return m.infer(y=np.linspace(-2.0, 5.0, count))


def switches(count, labels=None):
    m = Model()
    m.z = Categorical([0.7, 0.3], labels=labels).iid("n")
    m.y = Normal(take([0.0, 3.0], m.z), variance=1.0)
    return m.infer(y=np.linspace(-1.0, 4.0, count))


def axis_names(panels):
    return [axes.get_xlabel() for axes in panels]


def test_few_numbers_have_a_density_each():
    post = hierarchy(2)
    panels = plot(post)
    assert axis_names(panels) == ["mu", "theta[0]", "theta[1]"]
    beliefs = [post.mu, *(Normal(post.theta.mean[i], variance=post.theta.variance[i]) for i in (0, 1))]  # fmt: skip
    for axes, belief in zip(panels, beliefs, strict=True):
        x, p = axes.lines[0].get_data()
        np.testing.assert_allclose(p, np.exp(belief.log_prob(x)), rtol=1e-12)
        interval, mean = axes.get_legend_handles_labels()[1]
        assert interval.startswith("90%: ")
        assert mean.startswith("mean ")
        assert axes.lines[1].get_xdata()[0] == pytest.approx(float(belief.mean))


def test_members_of_a_plate_have_a_row_each():
    post = hierarchy(MANY)
    axes = plot(post, mass=0.8)[1]
    wide, half = (np.array(part.get_segments()) for part in axes.collections)
    for segments, mass in ((wide, 0.8), (half, 0.5)):
        np.testing.assert_allclose(segments[:, :, 0].T, post.theta.interval(mass), rtol=1e-12)
        np.testing.assert_array_equal(segments[:, 0, 1], np.arange(MANY))
    np.testing.assert_allclose(axes.lines[0].get_xdata(), post.theta.mean)
    assert [text.get_text() for text in axes.get_yticklabels()] == [f"theta[{i}]" for i in range(MANY)]  # fmt: skip
    assert axes.get_xlabel() == "mean, 50% and 80% intervals"
    low, high = sorted(axes.get_ylim())
    assert low < 0 < MANY - 1 < high


def test_of_very_many_rows_only_some_are_named():
    axes = plot(hierarchy(500), names="theta")[0]
    named = [text.get_text() for text in axes.get_yticklabels()]
    assert len(named) <= 40
    assert named[1] == f"theta[{int(axes.get_yticks()[1])}]"


def test_few_states_have_bars_with_their_labels():
    post = switches(2, ("low", "high"))
    panels = plot(post)
    assert axis_names(panels) == ["z[0]", "z[1]"]
    for axes, p in zip(panels, post.z.probabilities, strict=True):
        np.testing.assert_allclose([bar.get_height() for bar in axes.patches], p)
        assert [text.get_text() for text in axes.get_xticklabels()] == ["low", "high"]


def test_states_of_many_members_stand_on_each_other():
    post = switches(MANY, ("low", "high"))
    (axes,) = plot(post)
    low, high = (part.get_data() for part in axes.patches)
    np.testing.assert_allclose(low.values, post.z.probabilities[:, 0])
    np.testing.assert_allclose(high.baseline, post.z.probabilities[:, 0], atol=1e-12)
    np.testing.assert_allclose(high.values, 1.0)
    np.testing.assert_array_equal(low.edges, np.arange(MANY + 1) - 0.5)
    assert axes.get_legend_handles_labels()[1] == ["low", "high"]


def test_numbers_stand_above_tall_panels_and_empty_places_are_blank():
    panels = plot(hierarchy(50))
    assert panels[0].get_xlabel() == "mu"
    assert panels[0].get_position().y0 > panels[1].get_position().y1
    square = plot(hierarchy(3))
    assert [axes.axison for axes in square[0].figure.axes] == [True] * 4
    m = Model()
    m.a = Normal(0.0, variance=1.0).iid(2)
    m.b = Normal(0.0, variance=1.0).iid(3)
    m.x, m.y = Normal(m.a, variance=1.0), Normal(m.b, variance=1.0)
    five = plot(m.infer(x=[1.0, 2.0], y=[0.0, 1.0, 2.0]))
    assert len(five) == 5
    assert [axes.axison for axes in five[0].figure.axes] == [True] * 5 + [False]


def test_a_mixture_is_drawn_whole():
    m = Model()
    m.between = Gamma(shape=2.0, rate=2.0)
    m.mu = Normal(0.0, precision=m.between)
    m.y = Normal(m.mu, variance=1.0)
    (axes,) = plot(m.infer(y=1.0), names=["mu"])
    assert len(axes.lines) == 2  # the density and its mean


def test_entries_of_vectors_and_matrices_are_named_by_their_places():
    m = Model()
    m.precision = Wishart(4.0, scale=np.eye(2))
    m.x = MvNormal(np.zeros(2), precision=m.precision).iid("n")
    post = m.infer(x=[[1.0, 0.5], [-1.0, 0.0], [0.3, 2.0]])
    (axes,) = plot(post)
    named = [text.get_text() for text in axes.get_yticklabels()]
    assert named == [f"precision[{i}, {j}]" for i in (0, 1) for j in (0, 1)]
    np.testing.assert_allclose(axes.lines[0].get_xdata(), np.ravel(post.precision.mean), rtol=0.1)


@pytest.mark.parametrize("count", [2, MANY])
def test_what_is_certain_is_a_point(count):
    m = Model()
    m.known = PointMass(np.arange(float(count)), event_ndim=1)
    m.mu = Normal(0.0, variance=1.0)
    m.y = Normal(m.mu, variance=1.0)
    panels = plot(m.infer(y=1.0), names=["known"])
    at = np.concatenate([axes.lines[0].get_xdata() for axes in panels])
    np.testing.assert_array_equal(at, np.arange(count))


def test_given_axes_are_used(ax):
    (used,) = plot(hierarchy(2), names=["mu"], ax=ax)
    assert used is ax
    two = list(Figure().subplots(1, 2))
    assert list(plot(hierarchy(MANY), ax=two)) == two
    with pytest.raises(ValueError, match="ax must hold 3 Axes"):
        plot(hierarchy(2), ax=ax)


def test_unknown_names_and_masses_are_answered():
    with pytest.raises(KeyError, match="did you mean 'theta'"):
        plot(hierarchy(2), names=["thetas"])
    for count in (2, MANY):
        with pytest.raises(ValueError, match="mass"):
            plot(hierarchy(count), names="theta", mass=2.0)
