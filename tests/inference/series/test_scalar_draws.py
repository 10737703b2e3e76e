"""Many chains side by side against one at a time, over series long enough for rounding to show."""

import numpy as np
import pytest

from posteriori.inference.series.scalar_chain import filter_scalar
from posteriori.inference.series.scalar_draws import filter_draws, plan_moves
from posteriori.sequence.series.series_form import SeriesForm, SeriesUnits
from posteriori.sequence.series.series_problem import SeriesProblem

UNITS = SeriesUnits(0.0, 1.0, 3.0, 0.1, 2.0, 400.0, 1.0, np.zeros(0), np.ones(0))
#: Trend, seasons, cycle, autoregression, Matérn.
FORMS = {
    "season and autoregression": ("constant", ((12.0, 0),), False, 2, None),
    "two seasons": ("trend", ((7.0, 0), (30.5, 3)), False, 0, None),
    "damped, with a cycle": ("damped", (), True, 0, None),
    "process": ("level", (), False, 0, 1.5),
}


@pytest.mark.parametrize("name", FORMS)
def test_chains_side_by_side_are_each_filtered_as_alone(name: str) -> None:
    """More draws than lanes, gaps, and 400 steps: a covariance that loses its symmetry would explode."""
    rng = np.random.default_rng(1)
    y = rng.normal(size=400).cumsum()
    y[50:60] = np.nan
    problem = SeriesProblem(SeriesForm(*FORMS[name], 0, False, UNITS), y, None, np.zeros((400, 0)))
    thetas = problem.prior.mean + rng.normal(size=(11, len(problem.prior.mean)))
    chains, variances = problem.chains(thetas), problem.variances(thetas)
    done = filter_draws(chains, variances, y, *chains.first_states(variances))
    for k, theta in enumerate(thetas):
        alone = filter_scalar(problem.chain(theta), variances[k], y)
        np.testing.assert_allclose(done.spreads[k], alone.spreads, rtol=1e-8)
        np.testing.assert_allclose(done.innovations[k], alone.innovations, atol=1e-7)
        np.testing.assert_allclose(done.covs[k], alone.cov, atol=1e-7)
        assert done.quadratics[k] == pytest.approx(alone.quadratic)
    np.testing.assert_allclose(
        problem.log_likelihoods(thetas)[:2],
        [problem.log_likelihoods(t[None])[0] for t in thetas[:2]],
    )


def test_states_that_only_move_are_no_sums() -> None:
    """Of twelve effects of a season one is a sum; a level stays; two lags of three move."""
    form = SeriesForm("level", ((12.0, 0),), False, 3, None, 0, False, UNITS)
    problem = SeriesProblem(form, np.zeros(9), None, np.zeros((9, 0)))
    chains = problem.chains(np.random.default_rng(0).normal(size=(2, len(problem.prior.mean))))
    assert chains.moves.heads.tolist() == [1, 12]
    assert chains.moves.sources.tolist() == [0, 11, *range(1, 11), 14, 12, 13]
    assert chains.moves.shared.tolist() == [True] * 11 + [False] * 3
    # one that two states take over moves to the first of them
    twice = problem.chain(problem.prior.mean)
    twice = twice._replace(
        transition=twice.transition._replace(columns=twice.transition.columns * 0)
    )
    moves = plan_moves(twice, twice.transition.weights[None])
    assert sorted(moves.sources.tolist()) == list(range(15))
