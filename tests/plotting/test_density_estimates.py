"""Pictures of histograms and kernel densities show the density that the model states."""

import numpy as np
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


def test_several_columns_are_refused():
    with pytest.raises(TypeError, match="a density of 2 columns has no plot"):
        plot(KernelDensity(0.3).fit(np.eye(2)))
