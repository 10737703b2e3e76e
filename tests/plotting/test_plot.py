"""``plot`` chooses the picture; what it draws is the density."""

import subprocess
import sys

import numpy as np
import pytest
from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from posteriori import plot
from posteriori.distributions import (
    Bernoulli,
    Beta,
    Categorical,
    Cauchy,
    Dirichlet,
    Empirical,
    Exponential,
    Gamma,
    InverseGamma,
    Multinomial,
    MvNormal,
    MvStudentT,
    Normal,
    NormalGamma,
    PointMass,
    Poisson,
    StudentT,
    Uniform,
    Wishart,
    bayes,
)
from posteriori.numerics import LogEvidence
from posteriori.plotting.parts.members import Member
from posteriori.plotting.parts.part_names import number_text
from posteriori.plotting.pictures.contours import mass_levels
from tests.distributions.cases import CASES

NORMAL = Normal(0.3, variance=2.0)


def labels(ax):
    return ax.get_legend_handles_labels()[1]


def curve(ax, label):
    (line,) = [line for line in ax.lines if line.get_label() == label]
    return np.asarray(line.get_xdata(), float), np.asarray(line.get_ydata(), float)


def drawn(d, ax):
    """Draw and check what holds for every picture."""
    made = plot(d, ax=ax)
    assert made is ax
    assert np.all(np.isfinite([*ax.get_xlim(), *ax.get_ylim()]))
    ax.figure.canvas.draw()
    return ax


# -- every family --------------------------------------------------------------------------


@pytest.mark.parametrize("which", ["one", "batch"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_every_family_is_drawn_in_finite_limits_or_refused_in_words(case, which, ax):
    d = getattr(case, which)()
    shapes = case.event_shapes(d)
    if any(len(shape) > 1 for shape in shapes) or shapes == [(2,), ()]:
        with pytest.raises(TypeError, match=f"{type(d).__name__} of event shape .* has no plot"):
            plot(d, ax=ax)
        return
    drawn(d, ax)
    assert ax.has_data()
    for line in ax.lines:
        assert np.all(np.isfinite(np.asarray(line.get_ydata(), float)))


# -- densities -----------------------------------------------------------------------------

CONTINUOUS = [
    NORMAL,
    Beta(0.5, 0.5),
    Beta(1, 1),
    Beta(0.5, 3.0),
    Beta(400, 700),
    Gamma(0.1, 1.0),
    Gamma(2.0, 3.0),
    Exponential(2.0),
    InverseGamma(0.6, 1.0),
    StudentT(0.5, 0.0, scale=1.0),
    Cauchy(1.0, 2.0),
    Uniform(-1.0, 2.0),
    Normal(1e6, variance=1e-4),
]


@pytest.mark.parametrize("d", CONTINUOUS, ids=repr)
def test_the_curve_is_the_density(d, ax):
    drawn(d, ax)
    x, p = curve(ax, labels(ax)[0])
    assert len(x) > 300
    assert np.all(np.diff(x) > 0)
    np.testing.assert_allclose(p, np.exp(d.log_prob(x)), rtol=1e-12)


@pytest.mark.parametrize("d", CONTINUOUS, ids=repr)
def test_the_range_shows_the_middle_half_and_most_of_the_height(d, ax):
    drawn(d, ax)
    low, high = ax.get_xlim()
    assert low <= d.quantile(0.25) < d.quantile(0.75) <= high
    assert (d.quantile(0.75) - d.quantile(0.25)) / (high - low) > 0.04
    middle = d.quantile(np.linspace(0.25, 0.75, 11))
    assert np.exp(d.log_prob(middle)).max() < ax.get_ylim()[1] or d.log_prob(0.0) == np.inf
    assert ax.get_ylim()[0] == 0


def test_an_unbounded_density_is_cut_at_a_height_that_shows_the_rest(ax):
    drawn(Beta(0.5, 0.5), ax)
    assert 1.5 < ax.get_ylim()[1] < 10
    assert curve(ax, "Beta(0.5, 0.5)")[1].max() > ax.get_ylim()[1]  # it leaves through the top


def test_the_edge_of_a_support_is_upright(ax):
    drawn(Uniform(-1.0, 2.0), ax)
    x, p = curve(ax, "Uniform(−1, 2)")
    assert set(np.unique(p)) == {0.0, np.exp(Uniform(-1.0, 2.0).log_prob(0.0))}
    edge = np.flatnonzero(np.diff(p) != 0)
    np.testing.assert_allclose(x[edge], [-1.0, 2.0], atol=1e-12)


def test_interval_and_mean_are_marked_and_named(ax):
    drawn(NORMAL, ax)
    low, high = NORMAL.interval(0.95)
    assert labels(ax) == [
        "Normal(0.3, variance=2)",
        f"95%: {number_text(low)} to {number_text(high)}",
        "mean 0.3",
    ]
    shaded = ax.collections[0].get_paths()[0].vertices
    np.testing.assert_allclose([shaded[:, 0].min(), shaded[:, 0].max()], [low, high])
    assert set(curve(ax, "mean 0.3")[0]) == {0.3}


def test_without_a_mean_the_median_is_marked(ax):
    assert "median 1" in labels(drawn(Cauchy(1.0, 2.0), ax))


def test_mass_between_color_and_label_are_heeded(ax):
    plot(NORMAL, ax=ax, mass=0.5, between=(-1, 2), color="#ff0000", label="mine")
    assert ax.get_xlim() == (-1, 2)
    assert labels(ax)[0] == "mine"
    assert labels(ax)[1].startswith("50%: ")
    assert ax.lines[0].get_color() == "#ff0000"


@pytest.mark.parametrize("between", [(2, 1), (0, np.inf), 3.0, (1, 2, 3), (np.nan, 1)])
def test_a_bad_range_is_named(between, ax):
    with pytest.raises(ValueError, match="between must be two finite numbers in order, got"):
        plot(NORMAL, ax=ax, between=between)


@pytest.mark.parametrize("mass", [0.0, 1.0, 95])
def test_a_bad_mass_is_named(mass, ax):
    with pytest.raises(ValueError, match="mass must lie strictly between 0 and 1"):
        plot(NORMAL, ax=ax, mass=mass)


# -- masses --------------------------------------------------------------------------------


def test_stems_stand_on_the_whole_numbers_with_their_probabilities(ax):
    d = Poisson(3.5)
    drawn(d, ax)
    x, p = curve(ax, "Poisson(3.5)")
    np.testing.assert_array_equal(x, np.arange(len(x)))
    np.testing.assert_allclose(p, np.exp(d.log_prob(x)), rtol=1e-12)
    assert p.sum() > 0.999
    assert labels(ax)[1:] == ["95%: 0 to 8", "mean 3.5"]


def test_bernoulli_has_two_stems(ax):
    x, p = curve(drawn(Bernoulli(0.3), ax), "Bernoulli(0.3)")
    np.testing.assert_array_equal(x, [0, 1])
    np.testing.assert_allclose(p, [0.7, 0.3])


def test_wide_counts_become_a_line(ax):
    d = Poisson(1e6)
    x, p = curve(drawn(d, ax), "Poisson(1000000)")
    assert 200 < len(x) < 2000
    np.testing.assert_allclose(p, np.exp(d.log_prob(x)), rtol=1e-10)


def test_weighted_points_keep_their_places_and_many_become_a_histogram(ax):
    few = Empirical([0.5, 2.0, 3.25], weights=[1.0, 2.0, 1.0])
    drawn(few, ax)
    x, p = curve(ax, labels(ax)[0])
    np.testing.assert_allclose(x, [0.5, 2.0, 3.25])
    np.testing.assert_allclose(p, [0.25, 0.5, 0.25])
    other = Figure().add_subplot()
    plot(Empirical(Normal(0.0, variance=1.0).sample(3000, rng=0)), ax=other)
    (bars,) = other.patches
    shares, edges, _ = bars.get_data()
    middle = 0.5 * (edges[1:] + edges[:-1])
    expected = np.exp(Normal(0.0, variance=1.0).log_prob(middle))
    assert np.abs(shares - expected).max() < 0.1


def test_a_predictive_without_quantiles_is_tabulated(ax):
    d = bayes(Gamma(2.0, 1.0), Exponential, [1.0, 2.0, 3.0]).predictive
    drawn(d, ax)
    x, p = curve(ax, labels(ax)[0])
    np.testing.assert_allclose(p, np.exp(d.log_prob(x)), rtol=1e-12)
    # Lomax with shape 5 and scale 7: quantile(q) = 7 ((1 − q)^(−1/5) − 1)
    ends = 7.0 * ((1.0 - np.array([0.025, 0.975])) ** (-1 / 5) - 1.0)
    np.testing.assert_allclose(Member(d).interval(0.95), ends, rtol=1e-4)
    assert Member(d).support[0] == pytest.approx(0.0, abs=1e-6)


def test_a_spike_is_all_there_is_to_certainty(ax):
    drawn(PointMass(1.5), ax)
    x, p = curve(ax, "PointMass(1.5)")
    assert (x, p) == (1.5, 1.0)


# -- several -------------------------------------------------------------------------------


def test_a_batch_is_told_apart_by_the_parameters_that_differ(ax):
    d = Gamma([1.0, 2.0, 4.0], 1.5)
    drawn(d, ax)
    assert labels(ax) == ["shape 1", "shape 2", "shape 4"]
    for i, label in enumerate(labels(ax)):
        x, p = curve(ax, label)
        np.testing.assert_allclose(p, np.exp(Gamma(d.shape[i], 1.5).log_prob(x)), rtol=1e-12)


def test_members_that_do_not_differ_are_numbered(ax):
    assert labels(drawn(Normal([0.0, 0.0], variance=1.0), ax)) == ["[0]", "[1]"]
    other = Figure().add_subplot()
    drawn(Normal([[0.0, 0.0], [1.0, 1.0]], variance=1.0), other)
    assert labels(other) == ["mean 0 [0, 0]", "mean 0 [0, 1]", "mean 1 [1, 0]", "mean 1 [1, 1]"]


def test_curves_of_a_batch_differ_in_colour_and_dashes(ax):
    lines = drawn(Beta([1, 2, 3, 4], 3), ax).lines
    assert len({line.get_color() for line in lines}) == 4
    dashes = {str(line._dash_pattern) for line in lines}
    assert len(dashes) == 4


def test_of_many_curves_only_some_are_named(ax):
    drawn(Beta(np.arange(1, 31), 5), ax)
    assert len(ax.lines) == 30
    assert 3 <= len(labels(ax)) <= 9


def test_lists_and_mappings_draw_together(ax):
    plot([NORMAL, StudentT(3, 0.0, scale=1.0), NORMAL], ax=ax)
    assert labels(ax)[0] == "Normal(0.3, variance=2)"
    assert labels(ax)[2] == "Normal(0.3, variance=2) (2)"
    other = Figure().add_subplot()
    plot({"belief": NORMAL, "known": PointMass(1.2)}, ax=other)
    assert labels(other) == ["belief", "known"]
    assert set(curve(other, "known")[0]) == {1.2}


def test_a_second_plot_on_the_same_axes_widens_the_limits(ax):
    plot(Normal(0.0, variance=1.0), ax=ax)
    first = ax.get_xlim()
    plot(Normal(20.0, variance=0.01), ax=ax)
    assert ax.get_xlim()[0] == first[0]
    assert ax.get_xlim()[1] > 20


def test_what_cannot_share_axes_is_refused(ax):
    with pytest.raises(TypeError, match="Normal and Categorical cannot share one pair of axes"):
        plot([NORMAL, Categorical([0.5, 0.5])], ax=ax)
    with pytest.raises(TypeError, match="distributions and evidences cannot share"):
        plot([NORMAL, LogEvidence(-1.0, kind="exact")], ax=ax)
    with pytest.raises(TypeError, match="sizes 2, 3 cannot share"):
        plot([Categorical([0.5, 0.5]), Categorical([0.5, 0.25, 0.25])], ax=ax)


@pytest.mark.parametrize(("thing", "label"), [([NORMAL, NORMAL], ["a"]), (Beta([1, 2], 3), ["a"])])
def test_labels_that_do_not_count_are_named(thing, label, ax):
    with pytest.raises(ValueError, match="label has 1 entries for 2 distributions"):
        plot(thing, ax=ax, label=label)


# -- two numbers and more ------------------------------------------------------------------


@pytest.mark.parametrize("mass", [0.3, 0.5, 0.95])
def test_contours_hold_their_mass(mass, ax):
    cov = np.array([[1.0, 0.8], [0.8, 2.0]])
    d = MvNormal([1.0, 2.0], cov=cov)
    plot(d, ax=ax, mass=mass)
    contour = ax.collections[-1]
    points = np.concatenate([path.vertices for path in contour.get_paths()])
    gap = points - [1.0, 2.0]
    squared = np.einsum("ni,ij,nj->n", gap, np.linalg.inv(cov), gap)
    # of two numbers the squared distance is exponential: P(r² <= s) = 1 − exp(−s/2)
    np.testing.assert_allclose(squared, -2.0 * np.log1p(-mass), rtol=0.03)


def test_mass_levels_leave_out_what_the_grid_does_not_reach():
    p = np.array([[4.0, 3.0], [2.0, 1.0]])
    assert mass_levels(p, 0.05, np.array([0.2, 0.35, 0.9])) == {3.0: 0.35, 4.0: 0.2}


def test_contours_name_their_axes_and_shares(ax):
    drawn(NormalGamma(0.0, 1.0, 2.0, 1.0), ax)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("mean", "precision")
    assert {text.get_text() for text in ax.texts} == {"50%", "80%", "95%"}
    other = Figure().add_subplot()
    plot(MvNormal([0, 0], cov=np.eye(2)), ax=other, names=("a", "b"), between=((-1, 1), (-2, 2)))
    assert (other.get_xlabel(), other.get_ylabel()) == ("a", "b")
    assert (other.get_xlim(), other.get_ylim()) == ((-1, 1), (-2, 2))


def test_a_bad_box_is_named(ax):
    with pytest.raises(ValueError, match=r"between must be \(\(low, high\), \(low, high\)\)"):
        plot(MvNormal([0, 0], cov=np.eye(2)), ax=ax, between=(0, 1))


def test_the_simplex_has_its_corners_and_the_mean(ax):
    d = Dirichlet([2.0, 3.0, 5.0])
    drawn(d, ax)
    assert [text.get_text() for text in ax.texts] == ["x₀ = 1", "x₁ = 1", "x₂ = 1"]
    corners = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, np.sqrt(0.75)]])
    mark = ax.lines[-1].get_xydata()[0]
    np.testing.assert_allclose(mark, d.mean @ corners)


@pytest.mark.parametrize(
    ("d", "marginal"),
    [
        (MvNormal([1.0, -2.0, 3.0], cov=np.diag([1.0, 4.0, 9.0])), lambda d, i: Normal(d.mean[i], variance=d.variance[i])),
        (MvStudentT(3.0, [0.0, 1.0, 2.0], scale=np.diag([1.0, 2.0, 3.0])), lambda d, i: StudentT(3.0, float(i), scale=np.sqrt(i + 1.0))),
        (Dirichlet([1.0, 2.0, 3.0, 4.0]), lambda d, i: Beta(i + 1.0, 9.0 - i)),
    ],
    ids=["MvNormal", "MvStudentT", "Dirichlet"],
)  # fmt: skip
def test_a_forest_shows_the_interval_of_every_marginal(d, marginal, ax):
    drawn(d, ax)
    segments = ax.collections[0].get_segments()
    for i, segment in enumerate(segments):
        np.testing.assert_allclose(segment[:, 0], marginal(d, i).interval(0.95), rtol=1e-10)
    assert [t.get_text() for t in ax.get_yticklabels()][:3] == ["x₀", "x₁", "x₂"]


def test_counts_of_two_categories_are_no_plane(ax):
    drawn(Multinomial(5, [0.3, 0.7]), ax)
    assert [t.get_text() for t in ax.get_yticklabels()] == ["x₀", "x₁"]


def test_names_of_coordinates_must_count(ax):
    with pytest.raises(ValueError, match="names has 1 entries for 3 coordinates"):
        plot(MvNormal(np.zeros(3), cov=np.eye(3)), ax=ax, names=["a"])


def test_bars_carry_labels_and_probabilities(ax):
    drawn(Categorical([0.2, 0.5, 0.3], labels=("rain", "sun", "snow")), ax)
    assert [t.get_text() for t in ax.get_xticklabels()] == ["rain", "sun", "snow"]
    np.testing.assert_allclose([bar.get_height() for bar in ax.patches], [0.2, 0.5, 0.3])
    assert [t.get_text() for t in ax.texts] == ["0.2", "0.5", "0.3"]


# -- what is refused, and what is left alone -----------------------------------------------


@pytest.mark.parametrize("thing", [3.0, "Normal", None, [], {}, np.zeros(3), [1.0, 2.0], object()])
def test_unknown_things_are_answered_with_what_can_be_plotted(thing):
    with pytest.raises(TypeError, match="plot takes a distribution of one number"):
        plot(thing)
    assert not pyplot.get_fignums()


def test_matrices_are_refused():
    with pytest.raises(TypeError, match="Wishart of event shape"):
        plot(Wishart(5.0, np.eye(2)))
    assert not pyplot.get_fignums()


def test_an_option_that_does_not_apply_is_named(ax):
    with pytest.raises(TypeError, match="between is no option of a plot of bars; it takes label"):
        plot(Categorical([0.5, 0.5]), ax=ax, between=(0, 1))


@pytest.mark.parametrize("wrong", ["ax", 3, Figure()])
def test_ax_must_be_axes(wrong):
    with pytest.raises(TypeError, match="ax must be matplotlib Axes or None"):
        plot(NORMAL, ax=wrong)


def test_on_its_own_it_makes_one_figure_and_changes_no_setting():
    before = dict(pyplot.rcParams)
    made = plot(NORMAL)
    assert isinstance(made, Axes)
    assert pyplot.get_fignums() == [made.figure.number]
    assert dict(pyplot.rcParams) == before


def test_on_given_axes_it_opens_no_figure_and_leaves_the_current_one(ax):
    figure, current = pyplot.subplots()
    plot(NORMAL, ax=ax)
    assert pyplot.get_fignums() == [figure.number]
    assert pyplot.gca() is current
    assert not current.has_data()


@pytest.mark.parametrize("form", ["svg", "png"])
def test_figures_are_written(form, tmp_path):
    path = tmp_path / f"plot.{form}"
    plot(NORMAL).figure.savefig(path)
    assert path.stat().st_size > 5000


@pytest.mark.parametrize("code", ["import posteriori", "from posteriori import plot"])
def test_matplotlib_waits_for_the_first_plot(code):
    check = f"import sys; {code}; print('matplotlib' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
