"""Plots of learning, of likelihoods, of decisions and of evidence show the right numbers."""

import numpy as np
import pytest
from matplotlib import pyplot
from matplotlib.figure import Figure
from scipy import stats
from scipy.integrate import trapezoid

from posteriori import plot
from posteriori.distributions import (
    Bernoulli,
    Beta,
    Categorical,
    Dirichlet,
    Gamma,
    MvNormal,
    Normal,
    NormalGamma,
    Poisson,
    bayes,
)
from posteriori.numerics import LogEvidence
from posteriori.plotting import (
    STYLE,
    plot_decision,
    plot_evidence,
    plot_gallery,
    plot_likelihood,
    plot_predictive,
    plot_sequence,
    plot_update,
)
from posteriori.plotting.parts.style import COLORS, INK

TOSSES = [1, 0, 1, 1, 0, 0, 1]
COINS = Bernoulli(0.4).sample(192, rng=1)


def labels(ax):
    return ax.get_legend_handles_labels()[1]


def curve(ax, label):
    (line,) = [line for line in ax.lines if line.get_label() == label]
    return np.asarray(line.get_xdata(), float), np.asarray(line.get_ydata(), float)


# -- an update -----------------------------------------------------------------------------


def test_an_update_draws_prior_likelihood_and_posterior(ax):
    made = plot_update(bayes(Beta(2, 2), Bernoulli, TOSSES), ax=ax)
    assert made is ax
    assert labels(ax) == [
        "prior Beta(2, 2)",
        "likelihood of 7 data, scaled",
        "posterior Beta(6, 5)",
    ]
    x, p = curve(ax, "posterior Beta(6, 5)")
    np.testing.assert_allclose(p, np.exp(Beta(6, 5).log_prob(x)))
    x, p = curve(ax, "likelihood of 7 data, scaled")  # θ⁴(1 − θ)³, normalised: Beta(5, 4)
    np.testing.assert_allclose(p, np.exp(Beta(5, 4).log_prob(x)), rtol=1e-3, atol=1e-4)
    assert ax.get_xlabel() == "probability"


def test_plot_draws_a_result_as_an_update(ax):
    plot(bayes(Beta(2, 2), Bernoulli, TOSSES), ax=ax, between=(0, 1))
    assert len(labels(ax)) == 3
    assert ax.get_xlim() == (0, 1)


def test_a_wide_prior_does_not_hide_the_posterior(ax):
    result = bayes(Normal(0, variance=1e8), lambda m: Normal(m, variance=1.0), [1.0, 2.0, 3.0])
    plot_update(result, ax=ax)
    low, high = ax.get_xlim()
    start, end = result.posterior.interval(0.95)
    assert low < start < end < high
    assert (end - start) / (high - low) > 0.08


def test_an_improper_prior_is_left_out(ax):
    flat = Normal.from_natural(0.0, 0.0)
    plot_update(bayes(flat, lambda m: Normal(m, variance=1.0), [1.0, 2.0]), ax=ax)
    assert [label.split()[0] for label in labels(ax)] == ["likelihood", "posterior"]


@pytest.mark.parametrize(
    "result",
    [
        bayes(NormalGamma(0.0, 1.0, 2.0, 1.0), Normal, [0.1, 1.0, 0.7]),
        bayes(Dirichlet([1.0, 2.0, 1.0]), Categorical, [0, 1, 1, 2]),
        bayes(
            MvNormal(np.zeros(4), cov=np.eye(4)),
            lambda m: MvNormal(m, cov=np.eye(4)),
            np.ones((3, 4)),
        ),
    ],
    ids=["two numbers", "simplex", "vector"],
)
def test_an_update_of_more_than_one_number_draws_both_beliefs(result, ax):
    plot_update(result, ax=ax)
    assert [label.split()[0] for label in labels(ax)] == ["posterior", "prior"]


def test_an_update_refuses_options_that_it_does_not_have(ax):
    with pytest.raises(TypeError, match="names is no option of an update"):
        plot_update(bayes(Beta(2, 2), Bernoulli, TOSSES), ax=ax, names=["a"])


# -- a sequence ----------------------------------------------------------------------------


@pytest.mark.topic("004/2.12")
def test_n_tosses_are_n_tosses_and_the_priors_lose_their_influence():
    panels = plot_sequence([Beta(1, 1), Beta(5, 5)], Bernoulli, COINS, truth=0.4)
    assert [panel.get_title() for panel in panels] == [f"after {n} data" for n in (3, 10, 50, 150)]
    for panel, n in zip(panels, (3, 10, 50, 150), strict=True):
        heads = int(np.sum(COINS[:n]))
        means = []
        for a in (1, 5):
            x, p = curve(panel, f"prior Beta({a}, {a})")
            np.testing.assert_allclose(p, stats.beta(a + heads, a + n - heads).pdf(x), rtol=1e-9)
            means.append(trapezoid(x * p, x) / trapezoid(p, x))
        # (5 + h)/(10 + n) − (1 + h)/(2 + n) = 8 (1/2 − (1 + h)/(2 + n))/(10 + n)
        gap = 8.0 * (0.5 - (1 + heads) / (2 + n)) / (10 + n)
        assert means[1] - means[0] == pytest.approx(gap, abs=1e-3)
        assert abs(means[1] - means[0]) < 4.0 / (10 + n)


def test_a_sequence_on_one_axes_holds_every_step(ax):
    made = plot_sequence(Beta(5, 5), Bernoulli, COINS, at=(0, 3, 192), ax=ax)
    assert made is ax
    assert labels(ax) == ["after 0", "after 3", "after 192"]
    x, p = curve(ax, "after 0")
    np.testing.assert_allclose(p, np.exp(Beta(5, 5).log_prob(x)))


def test_a_sequence_on_given_panels_opens_no_figure():
    panels = Figure().subplots(1, 2)
    made = plot_sequence(Beta(1, 1), Bernoulli, COINS, at=(1, 2), ax=panels)
    assert list(made) == list(panels)
    assert panels[0].get_title() == "after 1 datum"
    assert not pyplot.get_fignums()


@pytest.mark.parametrize("at", [(-1,), (193,), (2.5,)])
def test_counts_beyond_the_data_are_named(at):
    with pytest.raises(ValueError, match="at must hold whole numbers from 0 to 192, got"):
        plot_sequence(Beta(1, 1), Bernoulli, COINS, at=at)


def test_a_sequence_needs_counts_panels_and_a_prior_of_one_number():
    with pytest.raises(ValueError, match="at is empty"):
        plot_sequence(Beta(1, 1), Bernoulli, COINS, at=())
    with pytest.raises(ValueError, match="ax must hold 4 Axes, one for each panel, got 2"):
        plot_sequence(Beta(1, 1), Bernoulli, COINS, ax=Figure().subplots(1, 2))
    with pytest.raises(TypeError, match="prior must be a distribution of one number"):
        plot_sequence(Dirichlet([1.0, 1.0]), Categorical, [0, 1], at=(1,))


# -- predictions ---------------------------------------------------------------------------


def test_predictions_before_and_after_stand_beside_the_frequencies(ax):
    counts = [4, 5, 4, 1, 0, 4]
    plot_predictive(bayes(Gamma(2.0, 1.0), Poisson, counts), ax=ax, data=counts)
    assert labels(ax) == ["after 6 data", "before the data", "frequencies of 6 data"]
    x, p = curve(ax, "after 6 data")
    x = np.round(x)
    np.testing.assert_allclose(p, stats.nbinom(20, 7 / 8).pmf(x), rtol=1e-9)
    heights = {round(bar.get_x() + 0.4): bar.get_height() for bar in ax.patches}
    assert heights == pytest.approx({0: 1 / 6, 1: 1 / 6, 4: 1 / 2, 5: 1 / 6})


def test_predictions_of_numbers_stand_beside_a_histogram(ax):
    data = Normal(1.0, variance=1.0).sample(60, rng=0)
    plot_predictive(bayes(NormalGamma(0.0, 1.0, 2.0, 1.0), Normal, data), ax=ax, data=data)
    (bars,) = ax.patches
    shares, edges, _ = bars.get_data()
    assert np.sum(shares * np.diff(edges)) == pytest.approx(1.0)
    assert ax.get_xlabel() == "next datum"


# -- galleries -----------------------------------------------------------------------------


@pytest.mark.topic("004/2.10b")
def test_the_gallery_of_beta_densities(ax):
    # C. Bishop, "Pattern Recognition and Machine Learning", fig. 2.2
    choices = [(0.1, 0.1), (1, 1), (2, 3), (8, 4)]
    plot_gallery(Beta, choices, ax=ax)
    assert labels(ax) == ["Beta(0.1, 0.1)", "Beta(1, 1)", "Beta(2, 3)", "Beta(8, 4)"]
    for (a, b), label in zip(choices, labels(ax), strict=True):
        x, p = curve(ax, label)
        np.testing.assert_allclose(p, stats.beta(a, b).pdf(x), rtol=1e-9)
    flat = curve(ax, "Beta(1, 1)")
    assert np.all(flat[1][(flat[0] >= 0) & (flat[0] <= 1)] == 1.0)  # a = b = 1 is uniform
    assert ax.get_ylim()[1] < 10  # the unbounded one does not set the scale


@pytest.mark.topic("004/2.10b")
def test_the_gallery_of_gamma_densities(ax):
    # the same, fig. 2.13
    choices = [(0.1, 0.1), (1, 1), (4, 6)]
    plot_gallery(Gamma, choices, ax=ax, between=(0, 2))
    for (a, b), label in zip(choices, labels(ax), strict=True):
        x, p = curve(ax, label)
        np.testing.assert_allclose(p, stats.gamma(a, scale=1 / b).pdf(x), rtol=1e-9)
    assert ax.get_xlim() == (0, 2)


def test_a_gallery_takes_names_numbers_and_functions(ax):
    plot_gallery(Normal, [{"mean": 0, "variance": 1}, {"mean": 1, "scale": 2}], ax=ax)
    assert labels(ax) == ["Normal(0, variance=1)", "Normal(1, variance=4)"]
    other = Figure().add_subplot()
    plot_gallery(lambda v: Normal(0, variance=v), [1.0, 2.0], ax=other)
    assert labels(other) == ["Normal(0, variance=1)", "Normal(0, variance=2)"]
    with pytest.raises(ValueError, match="parameters is empty"):
        plot_gallery(Beta, [])


# -- two views of one formula --------------------------------------------------------------


@pytest.mark.topic("004/1.6")
@pytest.mark.parametrize(("theta", "y"), [(0.5, 1), (0.8, 0)])
def test_the_sampling_distribution_sums_to_one_and_the_likelihood_does_not(theta, y):
    sampling, function = plot_likelihood(Bernoulli, theta, y)
    x, p = curve(sampling, f"p(y | θ = {theta})")
    assert list(x) == [0, 1]
    np.testing.assert_allclose(p, [1 - theta, theta])
    assert p.sum() == pytest.approx(1.0)
    grid, values = curve(function, "L(θ), area 0.5")
    np.testing.assert_allclose(values, grid if y else 1 - grid, atol=1e-12)
    assert (grid[0], grid[-1]) == pytest.approx((0, 1), abs=1e-12)
    assert trapezoid(values, grid) == pytest.approx(0.5, abs=1e-12)  # ∫ L dθ = 1/2, not 1


def test_the_likelihood_of_several_data_is_their_product():
    data = np.array([0.7, 1.4, 3.0])
    _, function = plot_likelihood(lambda m: Normal(m, variance=1.0), 2.0, data)
    theta, values = function.lines[0].get_xdata(), function.lines[0].get_ydata()
    expected = np.prod([stats.norm(theta, 1.0).pdf(y) for y in data], axis=0)
    np.testing.assert_allclose(values, expected, rtol=1e-10)
    assert theta[0] < data.mean() - 2 / np.sqrt(3)
    assert theta[-1] > data.mean() + 2 / np.sqrt(3)


def test_the_range_of_a_likelihood_ends_where_the_parameter_does():
    _, function = plot_likelihood(Poisson, 2.5, [3, 1, 4])
    low, high = function.get_xlim()
    assert low == pytest.approx(0.0, abs=1e-9)
    assert 6 < high < 15


def test_a_likelihood_can_be_drawn_on_given_axes_and_range():
    panels = Figure().subplots(1, 2)
    made = plot_likelihood(Poisson, 2.5, 3, ax=panels, between=(1, 2))
    assert list(made) == list(panels)
    assert panels[1].get_xlim() == (1, 2)
    with pytest.raises(ValueError, match="likelihood 0 for every θ from -2 to -1"):
        plot_likelihood(Poisson, 2.5, 3, between=(-2, -1))
    with pytest.raises(ValueError, match="no parameter explains the observation"):
        plot_likelihood(Poisson, 2.5, 2.5)


# -- decisions -----------------------------------------------------------------------------


def line_places(ax):
    return sorted(
        float(line.get_xdata()[0])
        for line in ax.lines
        if line.get_color() == INK and len(set(line.get_xdata())) == 1
    )


@pytest.mark.parametrize("priors", [(0.5, 0.5), (0.8, 0.2)])
def test_two_normals_of_equal_spread_part_at_one_line(priors, ax):
    classes = [Normal(0.0, variance=1.5), Normal(3.0, variance=1.5)]
    plot_decision(classes, priors, ax=ax)
    # ln p₀ − x²/2v = ln p₁ − (x − m)²/2v
    expected = 1.5 + 1.5 / 3.0 * np.log(priors[0] / priors[1])
    assert line_places(ax) == pytest.approx([expected], abs=1e-9)
    wrong = priors[0] * (1 - classes[0].cdf(expected)) + priors[1] * classes[1].cdf(expected)
    assert labels(ax)[-1].startswith(f"error {100 * wrong:.4g}%")


def test_unequal_spreads_have_two_lines(ax):
    plot_decision(Normal([0.0, 0.0], variance=[1.0, 4.0]), ax=ax)
    # x² (1 − 1/4) = 2 ln 2
    edge = np.sqrt(2.0 * np.log(2.0) / 0.75)
    assert line_places(ax) == pytest.approx([-edge, edge], abs=1e-9)


def test_a_costly_error_moves_the_line(ax):
    plot_decision(
        [Normal(0.0, variance=1.0), Normal(2.0, variance=1.0)], ax=ax, loss=[[0, 1], [5, 0]]
    )
    # choose 1 where 5 p₁ > p₀
    assert line_places(ax) == pytest.approx([1.0 - 0.5 * np.log(5.0)], abs=1e-9)


def test_the_curves_of_a_decision_are_densities_times_priors(ax):
    plot_decision({"a": Normal(0.0, variance=1.0), "b": Gamma(9.0, 1.5)}, [0.7, 0.3], ax=ax)
    x, p = curve(ax, "b, p = 0.3")
    np.testing.assert_allclose(p, 0.3 * np.exp(Gamma(9.0, 1.5).log_prob(x)))


@pytest.mark.parametrize(
    ("classes", "options", "error", "message"),
    [
        ([Normal(0, variance=1)], {}, ValueError, "at least two"),
        ([Poisson(1.0), Poisson(2.0)], {}, TypeError, "must be a continuous distribution"),
        (Normal([0, 1], variance=1), {"priors": [0.5, 0.6]}, ValueError, "priors must be 2"),
        (Normal([0, 1], variance=1), {"loss": np.eye(3)}, ValueError, "loss must be a finite"),
    ],
)
def test_decisions_refuse_what_they_cannot_draw(classes, options, error, message):
    with pytest.raises(error, match=message):
        plot_decision(classes, **options)
    assert not pyplot.get_fignums()


# -- evidence ------------------------------------------------------------------------------


def test_models_stand_in_the_order_of_their_evidence(ax):
    priors = {"fair": Beta(1e6, 1e6), "open": Beta(1, 1), "wrong": Beta(100, 10)}
    found = {name: bayes(p, Bernoulli, COINS).log_evidence for name, p in priors.items()}
    plot(found, ax=ax)
    order = sorted(found, key=lambda name: -float(found[name]))
    assert [t.get_text() for t in ax.get_yticklabels()] == order
    best = max(map(float, found.values()))
    np.testing.assert_allclose(ax.lines[0].get_xdata(), [float(found[n]) - best for n in order])
    shares = np.exp([float(found[n]) - best for n in order])
    assert ax.texts[0].get_text() == f"{100 * shares[0] / shares.sum():.1f}%"


def test_a_batch_of_evidence_and_its_errors(ax):
    plot_evidence(
        LogEvidence([-3.0, -1.0], kind="estimate", error=[0.1, 0.2]), ax=ax, label=["a", "b"]
    )
    assert [t.get_text() for t in ax.get_yticklabels()] == ["b", "a"]
    assert ax.get_xlim()[1] > 0.2


def test_evidence_of_different_data_is_refused():
    one, two = (bayes(Beta(1, 1), Bernoulli, data).log_evidence for data in ([1], [0, 1]))
    with pytest.raises(ValueError, match="different data"):
        plot([one, two])
    assert not pyplot.get_fignums()


# -- style ---------------------------------------------------------------------------------


def luminance(color):
    channels = np.array([int(color[i : i + 2], 16) for i in (1, 3, 5)]) / 255.0
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


def contrast(one, two):
    low, high = sorted([luminance(one) + 0.05, luminance(two) + 0.05])
    return high / low


@pytest.mark.parametrize("background", ["#ffffff", "#131416"])
def test_colours_read_on_light_and_dark(background):
    # Web Content Accessibility Guidelines 2.2, 1.4.11: 3 for graphics
    assert all(contrast(color, background) >= 3.0 for color in COLORS)
    assert contrast(INK, background) >= 4.2


@pytest.mark.parametrize("text", ["axes.labelcolor", "text.color", "xtick.color", "ytick.color"])
def test_a_figure_of_its_own_is_transparent_with_ink_of_middle_lightness(text):
    figure = plot(Normal(0.0, variance=1.0)).figure
    assert figure.get_facecolor()[3] == 0
    assert STYLE[text] == INK


def test_given_axes_keep_their_own_style():
    with pyplot.style.context("dark_background"):
        figure = Figure()
        ax = figure.add_subplot()
    before = ax.xaxis.label.get_color(), ax.get_facecolor()
    plot(Normal(0.0, variance=1.0), ax=ax)
    assert (ax.xaxis.label.get_color(), ax.get_facecolor()) == before


@pytest.mark.parametrize(
    "thing",
    [Normal(0.0, variance=1.0), Beta(0.5, 0.5), Beta(5, 4), Poisson(3.0), Gamma([1, 2, 3], 2)],
    ids=repr,
)
def test_the_legend_covers_no_curve(thing):
    ax = plot(thing)
    figure = ax.figure
    figure.canvas.draw()
    box = ax.get_legend().get_window_extent()
    low, high = ax.get_xlim()
    for line in ax.lines:
        x, y = np.asarray(line.get_xdata(), float), np.asarray(line.get_ydata(), float)
        points = ax.transData.transform(np.stack([x, y], axis=-1)[(x >= low) & (x <= high)])
        inside = [box.contains(*point) for point in points]
        assert not any(inside), line.get_label()
