"""Pictures of regressions of one column show the distributions that the model predicts."""

import numpy as np
import pandas as pd
import pytest

from posteriori import plot
from posteriori.gaussian_process import (
    AdditiveGaussianProcessRegressor,
    GaussianProcessRegressor,
    SparseGaussianProcessRegressor,
)
from posteriori.kernels import RBF, White
from posteriori.regression import BayesianLinearRegressor

x = np.linspace(0.0, 6.0, 30)
y = np.sin(x) + 0.1 * np.cos(17.0 * x)
KERNEL = RBF() + White(0.01)


def process(**options):
    return GaussianProcessRegressor(KERNEL, hyperparameters="fixed", **options)


MODELS = [
    process(),
    SparseGaussianProcessRegressor(KERNEL, inducing=8, hyperparameters="fixed"),
    AdditiveGaussianProcessRegressor(),
    BayesianLinearRegressor(),
]


def drawn_at(ax, place):
    """Return the ends of the bands, wide ones first, and the mean at a point of the curve."""
    curve = ax.lines[0]
    at = curve.get_xdata()[place]
    ends = []
    for band in ax.collections:
        corners = band.get_paths()[0].vertices
        there = corners[np.isclose(corners[:, 0], at), 1]
        ends.append((there.min(), there.max()))
    return at, ends, curve.get_ydata()[place]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_bands_hold_the_shares_that_they_name(model):
    """The predictive distribution has what it should below either end of each band."""
    model.fit(x[:, None], y)
    ax = plot(model, X=x, y=y)
    assert ax.get_legend_handles_labels()[1] == ["90%", "50%", "mean", "rows"]
    for place in (7, 200, 390):
        at, ends, mean = drawn_at(ax, place)
        predicted = model.predict_dist([[at]])
        assert mean == pytest.approx(float(predicted.mean[0]), rel=1e-9)
        for (low, high), mass in zip(ends, (0.9, 0.5), strict=True):
            below = np.ravel([predicted.cdf(low), predicted.cdf(high)])
            np.testing.assert_allclose(below, [(1 - mass) / 2, (1 + mass) / 2], atol=1e-6)


def test_rows_set_the_range_and_are_drawn(ax):
    frame = pd.DataFrame({"time": x})
    model = process().fit(frame, y)
    assert plot(model, X=frame, y=y, ax=ax) is ax
    rows = ax.lines[1]
    np.testing.assert_array_equal(rows.get_xdata(), x)
    np.testing.assert_array_equal(rows.get_ydata(), y)
    low, high = ax.get_xlim()
    assert low < x.min() < x.max() < high
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("time", "y")


@pytest.mark.parametrize("likelihood", ["normal", "student-t"])
def test_a_process_is_drawn_over_the_rows_that_it_has_seen(likelihood):
    kernel = KERNEL if likelihood == "normal" else RBF()
    model = GaussianProcessRegressor(kernel, hyperparameters="fixed", likelihood=likelihood)
    model.fit(x[:, None], y)
    shown, asked = plot(model), plot(model, X=x)
    assert shown.get_xlim() == asked.get_xlim()
    np.testing.assert_array_equal(shown.lines[0].get_xydata(), asked.lines[0].get_xydata())
    assert shown.get_legend_handles_labels()[1] == ["90%", "50%", "mean"]


def test_range_names_and_masses_can_be_given():
    ax = plot(process().fit(x[:, None], y), between=(-2, 9), names=["hour", "height"], mass=0.8)
    assert ax.get_xlim() == (-2.0, 9.0)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("hour", "height")
    assert ax.get_legend_handles_labels()[1] == ["80%", "mean"]


def test_what_cannot_be_drawn_is_refused():
    model = process().fit(x[:, None], y)
    with pytest.raises(TypeError, match="GaussianProcessRegressor is not fitted yet"):
        plot(process())
    with pytest.raises(ValueError, match="say where to draw: X= gives the rows"):
        plot(BayesianLinearRegressor().fit(x[:, None], y))
    with pytest.raises(ValueError, match="between must be two finite numbers in order"):
        plot(model, between=(3, 1))
    with pytest.raises(ValueError, match=r"rows of one column, got shape \(30, 2\)"):
        plot(model, X=np.column_stack([x, x]))
    with pytest.raises(ValueError, match="y needs X"):
        plot(model, y=y, between=(0, 1))
    with pytest.raises(ValueError, match=r"a target for each of 30 rows, got \(29,\)"):
        plot(model, X=x, y=y[:-1])
    two = np.column_stack([x, np.cos(x)])
    with pytest.raises(TypeError, match="a regression of 2 columns has no plot"):
        plot(process().fit(two, y), X=x)
    with pytest.raises(TypeError, match="a regression of several outputs has no plot"):
        plot(process().fit(x[:, None], two), X=x)
