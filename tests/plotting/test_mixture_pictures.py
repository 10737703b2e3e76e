"""Pictures of mixtures, of choices among them and of partitions show what these say."""

import numpy as np
import pytest
from matplotlib.colors import to_rgb

from posteriori import plot
from posteriori.distributions import Gamma, Mixture, MvNormal, Normal, NormalWishart, Poisson
from posteriori.mixture import (
    BayesianGaussianMixture,
    FamilyMixture,
    GaussianMixture,
    choose_components,
)
from posteriori.plotting.parts.style import COLORS

WISHART = NormalWishart(np.zeros(2), 0.1, 4.0, np.eye(2) / 4)


def two_groups(seed=0):
    rng = np.random.default_rng(seed)
    return np.concatenate([rng.normal(size=(60, 2)) - 4.0, rng.normal(size=(40, 2)) + 4.0])


def lines(axes, start):
    return [line for line in axes.lines if str(line.get_label()).startswith(start)]


def test_components_of_one_column_add_up_to_the_density(ax):
    mixture = Mixture([0.3, 0.7], Normal([-1.0, 2.0], variance=[1.0, 0.25]))
    plot(mixture, ax=ax)
    curve, *parts = [line.get_xydata() for line in ax.lines[:3]]
    assert [line.get_label() for line in ax.lines[1:3]] == ["component 0: 0.3", "component 1: 0.7"]
    np.testing.assert_allclose(curve[:, 1], np.exp(mixture.log_prob(curve[:, 0])), rtol=1e-12)
    np.testing.assert_allclose(parts[0][:, 1] + parts[1][:, 1], curve[:, 1], rtol=1e-12)


def test_a_fit_of_one_column_is_drawn_over_its_rows(ax):
    x = two_groups()[:, :1]
    model = GaussianMixture(2, random_state=0).fit(x)
    plot(model, X=x, ax=ax)
    (density,) = lines(ax, "mixture")
    grid, height = np.asarray(density.get_xydata()).T
    np.testing.assert_allclose(height, np.exp(model.score_samples(grid[:, None])), rtol=1e-9)
    assert np.trapezoid(height, grid) > 0.97
    bars = np.array([(bar.get_width(), bar.get_height()) for bar in ax.patches])
    assert np.prod(bars, axis=1).sum() == pytest.approx(1.0)
    assert len(lines(ax, "component")) == 2


def test_counts_are_drawn_where_they_may_be(ax):
    rng = np.random.default_rng(1)
    counts = np.concatenate([rng.poisson(2.0, 60), rng.poisson(12.0, 40)])[:, None]
    model = FamilyMixture(Poisson, 2, prior=Gamma(1.0, 0.2), random_state=0).fit(counts)
    plot(model, X=counts, ax=ax)
    (mass,) = lines(ax, "mixture")
    x, p = np.asarray(mass.get_xydata()).T
    np.testing.assert_array_equal(x, np.arange(len(x)))
    assert 0.97 < p.sum() <= 1.0 + 1e-12
    assert ax.get_ylabel() == "probability"


def test_ellipses_are_one_and_two_standard_deviations_away(ax):
    cov = np.array([[2.0, 0.8], [0.8, 1.0]])
    mixture = Mixture(
        [0.25, 0.75], MvNormal([[0.0, 1.0], [6.0, 5.0]], cov=np.stack([cov, np.eye(2)]))
    )
    plot(mixture, X=two_groups(), ax=ax)
    for k, weight in enumerate(mixture.probabilities):
        first, second, centre = ax.lines[3 * k : 3 * k + 3]
        assert first.get_label() == f"component {k}: {weight}"
        np.testing.assert_allclose(centre.get_xydata()[0], mixture.components.mean[k])
        for line, distance in ((first, 1.0), (second, 2.0)):
            away = np.asarray(line.get_xydata()) - mixture.components.mean[k]
            squared = np.einsum(
                "ni,ni->n", away, np.linalg.solve(mixture.components.cov[k], away.T).T
            )
            np.testing.assert_allclose(squared, distance**2, rtol=1e-10)


def test_rows_have_the_colours_of_their_components_and_empty_ones_are_left_out(ax):
    x = two_groups()
    model = BayesianGaussianMixture(5, prior=WISHART, random_state=0).fit(x)
    plot(model, X=x, ax=ax)
    assert len(lines(ax, "component")) == 2
    colours = ax.collections[0].get_facecolors()[:, :3]
    of_components = np.array([to_rgb(color) for color in COLORS[:5]])
    np.testing.assert_allclose(colours, model.predict_proba(x) @ of_components, atol=1e-12)
    assert np.abs(colours[0] - colours[-1]).max() > 0.2


def test_a_row_between_two_components_has_both_colours(ax):
    mixture = Mixture([0.5, 0.5], MvNormal([[-1.0, 0.0], [1.0, 0.0]], cov=np.eye(2)))
    plot(mixture, X=[[-30.0, 0.0], [0.0, 0.0], [30.0, 0.0], [np.nan, 1.0]], ax=ax)
    left, middle, right = ax.collections[0].get_facecolors()[:, :3]
    np.testing.assert_allclose(middle, 0.5 * (left + right), atol=1e-12)


def test_independent_columns_have_upright_ellipses(ax):
    x = two_groups()
    model = FamilyMixture(Normal, 2, random_state=0).fit(x)
    plot(model, X=x, ax=ax)
    first = np.asarray(ax.lines[0].get_xydata())
    half = 0.5 * np.ptp(first, axis=0)
    group = x[model.predict(x) == 0]
    np.testing.assert_allclose(half, group.std(axis=0), rtol=0.02)


def test_more_columns_are_refused_in_words():
    wide = Mixture([0.5, 0.5], MvNormal(np.zeros((2, 3)), cov=np.eye(3)))
    with pytest.raises(
        TypeError, match=r"shape \(3,\) has no plot; plot takes those of one or two"
    ):
        plot(wide, X=np.zeros((4, 3)))
    flat = Mixture([0.5, 0.5], MvNormal(np.zeros((2, 2)), cov=np.eye(2)))
    with pytest.raises(ValueError, match="X must hold rows of 2 columns"):
        plot(flat, X=np.zeros((4, 3)))


def test_a_choice_marks_its_best_number_and_writes_probabilities(ax):
    x = two_groups()
    found = choose_components(BayesianGaussianMixture(prior=WISHART, random_state=0), x, [3, 1, 2])
    plot(found, ax=ax)
    numbers, behind = np.asarray(ax.lines[0].get_xydata()).T
    np.testing.assert_array_equal(numbers, [1, 2, 3])
    np.testing.assert_allclose(behind, (found.scores - found.scores.max())[[1, 2, 0]])
    assert tuple(ax.lines[1].get_xydata()[0]) == (found.best, 0.0)
    assert ax.lines[1].get_label() == f"best: {found.best}"
    written = [text.get_text() for text in ax.texts]
    assert written == [f"{p:.2f}" for p in found.probabilities[[1, 2, 0]] if p >= 0.005]


def test_a_partition_is_shown_in_the_order_of_its_clusters():
    rng = np.random.default_rng(2)
    x = rng.permutation(np.concatenate([rng.normal(size=(4, 2)) - 3, rng.normal(size=(4, 2)) + 3]))
    found = BayesianGaussianMixture(3, prior=WISHART).enumerate_partitions(x)
    left, right = plot(found)
    order = np.argsort(found.representative(), kind="stable")
    shown = np.asarray(left.images[0].get_array())
    np.testing.assert_allclose(shown, found.similarity[np.ix_(order, order)])
    heights = [bar.get_height() for bar in right.patches]
    np.testing.assert_allclose(heights, found.n_clusters.probabilities)
    frames = [np.ptp(line.get_xdata()) for line in left.lines]
    assert frames == list(np.bincount(found.representative()))
