"""Pictures of histograms and kernel densities show the density that the model states."""

import numpy as np
import pandas as pd
import pytest

from posteriori import plot
from posteriori.density import AdaptiveHistogram, Histogram, KernelDensity

X = np.concatenate([np.linspace(0.1, 1.0, 40), np.linspace(3.0, 3.2, 40)])


def labels_of(ax):
    return ax.get_legend_handles_labels()[1]


@pytest.mark.parametrize("model", [Histogram(12), AdaptiveHistogram(31)])
def test_steps_have_the_heights_of_the_density(model):
    model.fit(X)
    ax = plot(model, X=X, names=["minutes"])
    steps = ax.patches[0].get_data()
    middles = 0.5 * (steps.edges[1:] + steps.edges[:-1])
    np.testing.assert_allclose(steps.values, np.exp(model.score_samples(middles)), rtol=1e-12)
    assert ax.get_xlabel() == "minutes"
    assert labels_of(ax)[:2] == ["rows", "averaged histogram"]
    edges = [line for line in ax.lines if line.get_linestyle() == ":"]
    expected = (getattr(model, "edge_probabilities_", np.zeros(1)) > 0.5).sum()
    assert len(edges) == expected
    assert (expected > 0) == isinstance(model, AdaptiveHistogram)


@pytest.mark.parametrize("bounds", [None, (0, None), (0, 4)])
def test_the_curve_is_the_density_within_bounds(bounds):
    model = KernelDensity([[0.04]], bounds=bounds).fit(X[:, None])
    curve = plot(model).lines[0]
    x, y = curve.get_data()
    np.testing.assert_allclose(y, np.exp(model.score_samples(x[:, None])), rtol=1e-12)
    assert np.trapezoid(y, x) == pytest.approx(1.0, abs=1e-3)
    assert (x[0] == 0.0) == (bounds is not None)


def test_the_range_can_be_given_and_many_rows_are_bars():
    rows = np.random.default_rng(0).normal(size=(500, 1))
    ax = plot(KernelDensity(0.3).fit(rows), X=rows, between=(-1, 1))
    assert ax.get_xlim() == (-1.0, 1.0)
    assert len(ax.patches) == 60


@pytest.mark.parametrize("bounds", [None, [(0, None), None]])
def test_contours_of_two_columns_hold_their_masses(bounds):
    """Draws from the density lie inside of a contour as often as it says."""
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"wait": rng.exponential(size=300), "size": rng.normal(2.0, 1.0, 300)})
    model = KernelDensity(bounds=bounds).fit(rows)
    ax = plot(model, X=rows, mass=[0.5, 0.9])
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("wait", "size")
    assert labels_of(ax) == ["rows", "kernel density"]
    assert (ax.get_xlim()[0] == 0.0) == (bounds is not None)
    drawn = pd.DataFrame(model.sample(4000, rng=1), columns=rows.columns)
    log_density = model.score_samples(drawn)
    lines = next(c for c in ax.collections if len(c.levels) == 2 and not c.filled)
    for level, mass in zip(np.sort(lines.levels), [0.9, 0.5], strict=True):
        inside = np.mean(np.exp(log_density) > level)
        # five standard errors, and what 180 cells leave open
        assert inside == pytest.approx(mass, abs=5.0 * np.sqrt(0.25 / 4000) + 0.01)


def test_of_many_rows_some_are_drawn():
    rows = np.random.default_rng(0).normal(size=(9000, 2))
    ax = plot(KernelDensity(0.3).fit(rows), X=rows, between=((-1, 1), (-2, 2)))
    assert (ax.get_xlim(), ax.get_ylim()) == ((-1.0, 1.0), (-2.0, 2.0))
    assert labels_of(ax)[0] == "3000 of 9000 rows"


def test_other_shapes_are_refused():
    with pytest.raises(TypeError, match="a density of 3 columns has no plot"):
        plot(KernelDensity(0.3).fit(np.eye(3)))
    with pytest.raises(ValueError, match=r"X must hold rows of 2 columns, got shape \(5,\)"):
        plot(KernelDensity(0.3).fit(np.eye(2)), X=np.arange(5.0))
