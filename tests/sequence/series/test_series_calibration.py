"""Integrated scales are calibrated: simulated from their prior, found again at uniform ranks."""

import numpy as np
import pytest
from scipy.stats import chisquare

from posteriori.inference.series.series_paths import simulate_series
from posteriori.sequence.series.series_belief import believe
from posteriori.sequence.series.series_form import SeriesForm, SeriesUnits
from posteriori.sequence.series.series_problem import RATE, SHAPE, SeriesProblem

NONE = np.zeros(0)
UNITS = SeriesUnits(0.0, 1.0, 3.0, 0.5, 1.0, 40.0, 1.0, NONE, NONE)


def rank_of_truth(form, rng):
    """Draw scales and a series from the prior; return where the posterior puts the true ratios."""
    empty = SeriesProblem(form, np.full(40, np.nan), None, np.zeros((40, 0)))
    root = np.linalg.cholesky(np.linalg.inv(empty.prior.precision))
    theta = empty.prior.mean + root @ rng.standard_normal(len(root))
    scale = np.sqrt(RATE / rng.gamma(SHAPE))
    chain, variances = empty.chain(theta), empty.variances(theta)
    y = simulate_series(chain, variances, np.array([scale]), 40, rng)[0]
    problem = SeriesProblem(form, y, None, np.zeros((40, 0)))
    belief = believe(problem, 400).belief
    weights = np.exp(belief.log_weights)
    scale_rank = np.mean(
        [
            np.mean(belief.draw_scales(k, 200, rng) < scale) * w * len(weights)
            for k, w in enumerate(weights)
        ]
    )
    return [*(weights @ (belief.thetas < theta)), scale_rank]


@pytest.mark.slow
@pytest.mark.parametrize("trend", ["level", "trend"])
def test_ranks_of_true_ratios_and_scales_are_uniform(trend):
    form = SeriesForm(trend, (), False, 0, None, 0, False, UNITS)
    rng = np.random.default_rng(0)
    ranks = np.array([rank_of_truth(form, rng) for _ in range(200)])
    for column in ranks.T:
        counts = np.histogram(column, bins=8, range=(0, 1 + 1e-9))[0]
        assert chisquare(counts).pvalue > 1e-4
