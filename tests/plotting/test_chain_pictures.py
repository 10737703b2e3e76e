"""Pictures of chains show what is probable, and what follows what."""

import numpy as np
import pytest

from posteriori import Normal, plot
from posteriori.inference import forward_backward
from posteriori.plotting.parts.style import axes_for
from posteriori.plotting.pictures.chain_pictures import paint_ribbons
from posteriori.sequence import (
    FactorialHiddenMarkovModel,
    HiddenMarkovChain,
    HiddenMarkovModel,
    MarkovChain,
)

MOVES = np.array([[0.9, 0.08, 0.02], [0.1, 0.9, 0.0], [0.3, 0.2, 0.5]])
CHAIN = HiddenMarkovChain([0.5, 0.3, 0.2], MOVES, Normal([0.0, 3.0, 6.0], variance=1.0))


def heights(ax, k):
    """Return the lower and the upper edge of the ribbon of a state, step by step."""
    points = ax.collections[k].get_paths()[0].vertices
    x = np.unique(points[:, 0])
    return np.array([[f(points[points[:, 0] == one, 1]) for f in (np.min, np.max)] for one in x])


def test_ribbons_are_as_high_as_states_are_probable():
    found = CHAIN.smooth(np.array([0.0, 0.4, 2.0, 3.1, 6.0, 5.0]))
    ax = plot(found)
    assert len(ax.collections) == 3
    for k in range(3):
        low, high = heights(ax, k).T
        np.testing.assert_allclose(high - low, found.probabilities[:, k], atol=1e-9)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["0", "1", "2"]


def test_one_step_has_a_width():
    with axes_for(None) as ax:
        paint_ribbons(ax, np.array([[0.25, 0.75]]), (0.0, 1.0))
    assert ax.get_xlim() == (-0.5, 0.5)


def test_long_series_are_averaged():
    p = np.zeros((5000, 2))
    p[:, 0] = np.linspace(0.0, 1.0, 5000)
    p[:, 1] = 1.0 - p[:, 0]
    with axes_for(None) as ax:
        paint_ribbons(ax, p, (0.0, 1.0))
    edges = heights(ax, 0)
    assert len(edges) < 1000
    np.testing.assert_allclose(edges[:, 1].mean(), 0.5, atol=1e-3)


@pytest.mark.parametrize("chain", [CHAIN, MarkovChain([0.5, 0.3, 0.2], MOVES)])
def test_arrows_are_the_moves(chain):
    ax = plot(chain)
    texts = {text.get_text() for text in ax.texts}
    assert {"0", "1", "2", "stays 90%", "stays 50%", "8.0%", "30%", "20%"} <= texts
    assert "0.0%" not in texts  # what cannot be is not drawn
    assert len(ax.patches) == 3


def test_names_of_states_are_shown():
    ax = plot(MarkovChain([0.5, 0.5], [[0.7, 0.3], [0.4, 0.6]], states=("dry", "wet")))
    assert {"dry", "wet"} <= {text.get_text() for text in ax.texts}


def test_a_fitted_model_shows_moves_or_a_series():
    rng = np.random.default_rng(0)
    x = np.repeat([[0.0, 0.0], [4.0, 1.0]], 30, axis=0) + rng.normal(size=(60, 2))
    x[10] = x[12] = np.nan
    model = HiddenMarkovModel(2, n_init=1, random_state=0).fit(x)
    assert len(plot(model).patches) == 2
    ax = plot(model, X=x, column=1)
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), x[:, 1])
    np.testing.assert_array_equal(ax.lines[1].get_xdata(), [11])  # alone between two gaps
    assert ax.get_ylabel() == "column 1"


def test_every_chain_of_a_factorial_model_has_a_panel():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(40, 1))
    model = FactorialHiddenMarkovModel((2, 3), n_init=1, random_state=0).fit(x)
    panels = plot(model, X=x)
    assert [len(ax.collections) for ax in panels] == [2, 3]
    low, high = heights(panels[1], 2).T
    np.testing.assert_allclose(high - low, model.predict_proba(x)[1][:, 2], atol=1e-9)


def test_what_has_no_picture_is_refused():
    many = forward_backward(np.zeros(2), np.zeros((2, 2)), np.zeros((3, 4, 2)))
    with pytest.raises(TypeError, match="the posterior of one series"):
        plot(many)
