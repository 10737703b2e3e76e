"""Plots of classifiers show the boundaries, shares and counts that the numbers have."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.tree import DecisionTreeClassifier

from posteriori import plot
from posteriori.classification import (
    GaussianDiscriminant,
    LeastSquaresClassifier,
    LogisticRegression,
)
from posteriori.decision import confusion, reliability
from posteriori.plotting import plot_boundary, plot_confusion, plot_reliability


def rows(classes=2, n=90):
    rng = np.random.default_rng(0)
    y = np.arange(n) % classes
    return rng.normal(size=(n, 2)) + np.array([[0.0, 0.0], [3.0, 1.0], [0.0, 4.0]])[y], y


def labels(ax):
    return ax.get_legend_handles_labels()[1]


def lines(ax):
    """Return the points of all contour lines, with the widths of the lines."""
    found = [c for c in ax.collections if hasattr(c, "levels") and not c.filled]
    return [(np.concatenate(c.allsegs[0]), float(np.ravel(c.get_linewidths())[0])) for c in found]


# -- boundaries ----------------------------------------------------------------------------


@pytest.mark.parametrize("covariance", ["shared", "full"])
def test_the_line_is_where_two_classes_are_equally_probable(ax, covariance):
    X, y = rows()
    model = GaussianDiscriminant(covariance, method="ml").fit(X, y)
    assert plot_boundary(model, X, y, ax=ax) is ax
    points, width = lines(ax)[0]
    assert width > 1
    inside = np.abs(points - points.mean(axis=0)).max(axis=0) > 0
    assert inside.all()
    np.testing.assert_allclose(model.boundary(0, 1).value(points), 0.0, atol=2e-3)
    second = next(c for c in ax.collections if hasattr(c, "levels") and len(c.levels) > 1)
    np.testing.assert_allclose(1 / (1 + np.exp(-second.levels)), [0.1, 0.25, 0.75, 0.9])
    assert labels(ax) == ["0", "1"]


@pytest.mark.parametrize(
    "model", [LogisticRegression(ridge=0.1), LeastSquaresClassifier(), DecisionTreeClassifier()]
)
def test_several_classes_have_a_line_around_each_and_their_colours(ax, model):
    X, y = rows(3)
    model.fit(X, y)
    plot_boundary(model, X, y, ax=ax)
    assert len(lines(ax)) == 3
    (image,) = ax.images
    left, right, bottom, top = image.get_extent()
    picture = image.get_array()
    x = np.linspace(left, right, picture.shape[1])
    below = np.linspace(bottom, top, picture.shape[0])
    at = np.random.default_rng(1).integers(0, len(x), (50, 2))
    chosen = model.predict(np.stack([x[at[:, 1]], below[at[:, 0]]], axis=1))
    colors = picture[at[:, 0], at[:, 1], :3]
    for k in range(3):
        assert len(np.unique(colors[chosen == k], axis=0)) == 1
    assert len(np.unique(colors, axis=0)) == 3


def test_colour_is_stronger_where_the_class_is_surer(ax):
    X, y = rows()
    model = GaussianDiscriminant().fit(X, y)
    plot_boundary(model, X, between=((-3, 6), (-3, 4)), ax=ax)
    alpha = ax.images[0].get_array()[..., 3]
    grid = np.stack(np.meshgrid(np.linspace(-3, 6, 240), np.linspace(-3, 4, 240)), axis=-1)
    p = model.predict_proba(grid.reshape(-1, 2)).max(axis=1)
    assert stats.spearmanr(alpha.ravel(), p).statistic > 0.9999
    assert ax.get_xlim() == (-3, 6)
    assert labels(ax) == []


def test_the_reject_region_is_hatched_where_no_class_is_sure(ax):
    X, y = rows()
    model = GaussianDiscriminant(method="ml").fit(X, y)
    plot_boundary(model, X, y, ax=ax, reject_loss=0.2)
    (area,) = [c for c in ax.collections if getattr(c, "filled", False)]
    edge = np.concatenate(area.allsegs[0])
    inside = (edge > [ax.get_xlim()[0], ax.get_ylim()[0]]) & (
        edge < [ax.get_xlim()[1], ax.get_ylim()[1]]
    )
    best = model.predict_proba(edge[inside.all(axis=1)]).max(axis=1)
    np.testing.assert_allclose(best, 0.8, atol=2e-3)
    assert labels(ax)[-1] == "no class reaches 0.8"


def test_a_class_that_is_never_chosen_has_no_line(ax):
    X = np.column_stack([np.repeat([-2.0, 0.0, 2.0], 10), np.tile([-1.0, 1.0], 15)])
    y = np.repeat([0, 1, 2], 10)
    plot_boundary(LeastSquaresClassifier().fit(X, y), X, y, ax=ax)
    assert len(lines(ax)) == 2  # the class in the middle is never chosen


def test_frames_give_their_names_and_plot_finds_the_picture(ax):
    X, y = rows()
    frame = pd.DataFrame(X, columns=["length", "weight"])
    model = GaussianDiscriminant().fit(frame, y)
    assert plot(model, ax=ax, X=frame, y=y) is ax
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("length", "weight")
    assert plot(model, X=frame).figure.get_figwidth() < 5


def test_what_cannot_be_drawn_is_refused():
    X, y = rows()
    with pytest.raises(TypeError, match="model must be a fitted classifier"):
        plot_boundary(GaussianDiscriminant(), X)
    with pytest.raises(ValueError, match=r"two columns, got shape \(90, 1\)"):
        plot_boundary(GaussianDiscriminant().fit(X, y), X[:, :1])
    with pytest.raises(ValueError, match="y must hold one class for each of 90 rows"):
        plot_boundary(GaussianDiscriminant().fit(X, y), X, y[:3])
    with pytest.raises(TypeError, match="reject_loss needs probabilities"):
        plot_boundary(LeastSquaresClassifier().fit(X, y), X, reject_loss=0.1)
    with pytest.raises(ValueError, match=r"between must be \(\(low, high\)"):
        plot_boundary(GaussianDiscriminant().fit(X, y), X, between=(0, 1))


# -- reliability ---------------------------------------------------------------------------


def a_curve(share=0.3):
    p1 = np.array([0.2] * 10 + [0.9] * 40)
    hits = round(10 * share)
    y = np.array([1] * hits + [0] * (10 - hits) + [1] * 32 + [0] * 8)
    return reliability(y, np.stack([1 - p1, p1], axis=1), label=1)


def test_shares_stand_over_probabilities_with_their_intervals(ax):
    plot_reliability(a_curve(), ax=ax, mass=0.8)
    curve = ax.lines[1]
    np.testing.assert_allclose(curve.get_xdata(), [0.2, 0.9])
    np.testing.assert_allclose(curve.get_ydata(), [0.3, 0.8])
    bars = ax.collections[0].get_segments()
    for bar, (hits, misses) in zip(bars, [(3, 7), (32, 8)], strict=True):
        expected = stats.beta(1 + hits, 1 + misses).ppf([0.1, 0.9])
        np.testing.assert_allclose(bar[:, 1], expected, rtol=1e-9)
    heights = [bar.get_height() for bar in ax.patches]
    assert heights[1] == pytest.approx(4 * heights[0])
    assert labels(ax)[:2] == ["calibrated", "average error 0.1"]


def test_several_curves_share_one_picture_beside_each_other(ax):
    plot_reliability({"a": a_curve(), "b": a_curve(0.5)}, ax=ax)
    assert labels(ax)[1:3] == ["a: average error 0.1", "b: average error 0.14"]
    assert ax.lines[1].get_xdata()[0] < ax.lines[2].get_xdata()[0]
    assert not ax.patches


def test_plot_finds_records_of_decisions(ax):
    assert plot(a_curve(), ax=ax) is ax
    assert ax.get_ylabel() == "share that occurred"
    with pytest.raises(ValueError, match="mass must lie between 0 and 1"):
        plot(a_curve(), mass=1.5)


# -- confusion -----------------------------------------------------------------------------


def test_a_confusion_shows_every_count_and_shades_by_class(ax):
    table = np.array([[6, 1, 0], [4, 2, 3], [1, 0, 5]])
    y = np.repeat([0, 1, 2], table.sum(axis=1))
    chosen = np.concatenate([np.repeat([0, 1, 2], row) for row in table])
    assert plot(confusion(y, chosen), ax=ax) is ax
    shown = {t.get_position(): int(t.get_text()) for t in ax.texts}
    assert shown == {(j, i): int(table[i, j]) for i in range(3) for j in range(3)}
    np.testing.assert_allclose(ax.images[0].get_array(), table / table.sum(axis=1, keepdims=True))
    assert ax.get_title() == "59.09% right"
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("chosen", "true")


def test_long_names_are_turned(ax):
    plot_confusion(confusion(["versicolor", "setosa"], ["setosa", "setosa"]), ax=ax)
    assert [t.get_text() for t in ax.get_xticklabels()] == ["setosa", "versicolor"]
    assert ax.get_xticklabels()[0].get_rotation() == 45.0
