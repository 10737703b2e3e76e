"""The picture of a comparison places models by the numbers of its rows."""

import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from posteriori import plot
from posteriori.plotting.parts.style import COLORS
from posteriori.selection.comparison import Comparison, Row

BEST = Row(
    "steady", of="y|X", probability=0.9, log_bayes_factor=0.0, elpd_difference=0.0, measure="density"
)  # fmt: skip
SECOND = Row(
    "loose", of="y|X", probability=0.1, log_bayes_factor=-2.2, elpd_difference=-6.04, elpd_difference_se=4.123, measure="density"
)  # fmt: skip
OTHER = Row("counts", elpd_difference=0.0, measure="probability")
FAILED = Row("broken", failure="ValueError")


def placed(axes):
    """Return where the discs of the rows are, NaN where there is none, by row."""
    discs = [line.get_xydata() for line in axes.lines if line.get_marker() == "o"]
    return {int(row): x for x, row in np.concatenate(discs)}


def texts(axes):
    return [text.get_text() for text in axes.texts]


def test_rows_stand_at_their_differences():
    held, evidence = plot(Comparison([BEST, SECOND]))
    assert placed(held) == {0: 0.0, 1: -6.04}
    assert texts(held) == ["best", "−6.04 ± 4.1"]
    assert placed(evidence) == {0: 0.0, 1: -2.2}
    assert texts(evidence) == ["90.0%", "10.0%"]
    assert [name.get_text() for name in held.get_yticklabels()] == ["steady", "loose"]
    assert held.get_ylim()[0] > held.get_ylim()[1]  # the first one at the top


def test_errors_reach_as_far_as_they_say():
    held, _ = plot(Comparison([BEST, SECOND]))
    bars = held.containers[0].lines[2][0].get_segments()
    assert len(bars) == 1
    np.testing.assert_allclose(bars[0][:, 0], [-6.04 - 4.123, -6.04 + 4.123])
    low, high = held.get_xlim()
    assert low < -6.04 - 4.123 < 0.0 < high


def test_models_that_do_not_compare_have_colours_of_their_own():
    held, evidence = plot(Comparison([BEST, OTHER, SECOND]))
    colors = [to_hex(color) for color in held.collections[0].get_colors()]
    assert colors == [COLORS[0], COLORS[1], COLORS[0]]
    assert held.get_legend_handles_labels()[1] == ["of density", "of probability"]
    assert evidence.get_legend() is None
    assert np.isnan(placed(evidence)[1])


def test_failures_are_named():
    held, _ = plot(Comparison([BEST, SECOND, FAILED]))
    assert held.get_yticklabels()[2].get_text() == "broken (failed)"
    assert texts(held)[2] == ""
    assert held.get_legend() is None


def test_only_what_there_is_has_a_panel(ax):
    (held,) = plot(Comparison([OTHER]), ax=ax)
    assert held is ax
    with pytest.raises(ValueError, match="nothing to plot"):
        plot(Comparison([FAILED]))
    with pytest.raises(ValueError, match="ax must hold 2 Axes"):
        plot(Comparison([BEST]), ax=Figure().subplots())
