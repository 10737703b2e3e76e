"""Scores at origins: by hand, by quadrature, by brute force; and proof that the future is not seen."""

from collections.abc import Sequence

import numpy as np
import pytest
from scipy import integrate, stats

from posteriori.analysis.table.dated_column import read_dated_table
from posteriori.numerics.types import Array
from posteriori.selection.candidates import candidates_for
from posteriori.selection.origins.origin_averages import average_scores
from posteriori.selection.origins.origin_fits import score_from_origin, suited_series
from posteriori.selection.origins.origin_scores import (
    FEW_DRAWS,
    ForecastProblem,
    OriginScores,
    choose_origins,
    crps_of_draws,
    measure_scores,
    naive_forecasts,
    naive_scale,
    widening_of,
)
from posteriori.sequence import StructuralSeries
from tests.analysis.forecasts.dated_tables import monthly, yearly


def problem_of(
    y: Array, horizon: int, origins: Sequence[int], step: float = 0.0
) -> ForecastProblem:
    table = yearly(len(y)).assign(flow=y)
    dated = read_dated_table(table, "year", "flow")
    return ForecastProblem(dated.series[0].rows, (), horizon, tuple(origins), step)


def candidate(name: str) -> object:
    traits = ("regular", "positive", "seasonal", "counts", "without inputs")
    return candidates_for("series", [name], targets=traits)[0]


Y = yearly(40)["flow"].to_numpy()


def test_an_origin_says_what_its_own_model_says() -> None:
    """Density, median and level are those of a model fitted to the past by hand."""
    problem = problem_of(Y, 4, (25, 30))
    found = score_from_origin(problem, candidate("level"), 1)
    dist = StructuralSeries("level", draws=FEW_DRAWS).fit(Y[:30]).forecast(4)
    np.testing.assert_allclose(found.log_density, dist.log_prob(Y[30:34]), rtol=1e-12)
    np.testing.assert_allclose(found.median, dist.median, rtol=1e-9)
    np.testing.assert_allclose(found.level, dist.cdf(Y[30:34]), rtol=1e-9)
    past = StructuralSeries("level", draws=FEW_DRAWS).fit(Y[:30])
    assert found.known.shape == (30,)
    assert found.known.sum() == pytest.approx(float(past.log_evidence_))


@pytest.mark.parametrize("name", ["level", "walk", "autoregression", "log level"])
def test_origins_see_only_their_past(name: str) -> None:
    """Whatever comes after an origin, its forecast stays the same."""
    problem = problem_of(Y, 4, (25,))
    other = Y.copy()
    other[25:] = 1e3 + np.arange(len(Y) - 25)
    changed = problem_of(other, 4, (25,))
    one, two = (score_from_origin(p, candidate(name), 0) for p in (problem, changed))
    np.testing.assert_array_equal(one.median, two.median)
    np.testing.assert_array_equal(one.draws, two.draws)
    assert not np.array_equal(one.log_density, two.log_density)


def test_recorded_values_stand_for_their_step() -> None:
    whole = np.rint(Y)
    found = score_from_origin(problem_of(whole, 4, (30,), 1.0), candidate("level"), 0)
    dist = StructuralSeries("level", draws=FEW_DRAWS).fit(whole[:30]).forecast(4)
    mass = dist.cdf(whole[30:34] + 0.5) - dist.cdf(whole[30:34] - 0.5)
    np.testing.assert_allclose(found.log_density, np.log(mass), rtol=1e-9)


def test_values_that_are_missing_are_left_out() -> None:
    y = Y.copy()
    y[31] = np.nan
    problem = problem_of(y, 4, (25, 30))
    assert problem.sizes == [4, 3]
    assert problem.steps_ahead.tolist() == [1, 2, 3, 4, 1, 3, 4]
    found = score_from_origin(problem, candidate("level"), 1)
    dist = StructuralSeries("level", draws=FEW_DRAWS).fit(y[:30]).forecast(4)
    np.testing.assert_allclose(found.median, dist.median[[0, 2, 3]], rtol=1e-9)


def test_crps_is_the_integral_of_squared_differences() -> None:
    """∫ (F(x) − 1{x ≥ y})² dx of the empirical distribution, step by step, and of a normal one."""
    rng = np.random.default_rng(0)
    draws, y = np.sort(rng.normal(size=(3, 7)), axis=1), np.array([-3.0, 0.1, 2.0])
    for row, value, found in zip(draws, y, crps_of_draws(draws, y), strict=True):
        points = np.sort(np.append(row, value))
        gaps, left = np.diff(points), points[:-1]
        cdf = np.array([(row <= x).mean() for x in left])
        expected = (gaps * (cdf - (left >= value)) ** 2).sum()
        assert found == pytest.approx(expected, rel=1e-12)
    many = np.sort(rng.normal(size=(1, 200_000)), axis=1)
    exact = integrate.quad(lambda x: (stats.norm.cdf(x) - (x >= 0.7)) ** 2, -12, 12, points=[0.7])[
        0
    ]
    error = 5.0 * np.std(np.abs(many - 0.7)) / np.sqrt(many.size)
    assert abs(crps_of_draws(many, np.array([0.7]))[0] - exact) < error


def test_errors_are_in_units_of_the_seasonal_naive_one() -> None:
    table = monthly(48)
    dated = read_dated_table(table, "month", "sales")
    rows = dated.series[0].rows
    problem = ForecastProblem(rows, (12.0,), 6, (30, 42), 0.0)
    y = table["sales"].to_numpy()
    expected = [np.abs(y[12:n] - y[: n - 12]).mean() for n in (30, 42)]
    np.testing.assert_allclose(naive_scale(problem), np.repeat(expected, 6))
    middle = np.concatenate([y[30:36] + 1.0, y[42:48] - 2.0])
    level = np.concatenate([np.full(6, 0.05), np.full(6, 0.5)])
    draws = np.repeat(middle[:, None], 5, axis=1)
    scores = OriginScores(np.zeros(12), middle, level, draws, np.zeros(72))
    told = measure_scores(scores, problem)
    assert told["scaled error"] == pytest.approx(0.5 * (1.0 / expected[0] + 2.0 / expected[1]))
    assert told["CRPS"] == pytest.approx(1.5)
    assert told["inside 80 %"] == 0.5
    assert told["inside 95 %"] == 1.0


def _share(blocks: list[float], odds: float = 0.0) -> float:
    """Return E[1/(1 + exp(odds + Σ g_b d_b))] over g ~ B · Dirichlet(1, …, 1), from many draws, one by one."""
    rng, shares = np.random.default_rng(7), []
    for _ in range(8_000):
        waits = [rng.exponential() for _ in blocks]
        told = sum(w * d for w, d in zip(waits, blocks, strict=True)) * len(blocks) / sum(waits)
        shares.append(1.0 / (1.0 + np.exp(odds + told)))
    return float(np.mean(shares))


@pytest.mark.parametrize("odds", [0.0, -1.0])
def test_the_average_has_the_weights_of_what_is_known_at_each_origin(odds: float) -> None:
    """Two models, one doubted before; stretches of five values, and origins, whose five forecasts count for √5 values."""
    problem, rng = problem_of(Y, 5, (20, 25)), np.random.default_rng(0)
    logs, known = rng.normal(-1.0, 0.6, (2, 10)), rng.normal(-1.0, 0.2, (2, 45))
    whole = rng.normal(-1.0, 0.2, (2, 40))
    scores = [
        OriginScores(one, np.zeros(10), np.full(10, level), np.zeros((10, 50)), before)
        for one, level, before in zip(logs, (0.2, 0.6), known, strict=True)
    ]
    averaged, weights = average_scores(
        scores, list(whole), problem, np.random.default_rng(0), np.array([0.0, odds])
    )
    behind = logs[1] - logs[0]
    origins = [behind[:5].sum() / np.sqrt(5.0), behind[5:].sum() / np.sqrt(5.0)]

    def stretches(terms: Array, length: int) -> list[float]:
        gaps = terms[1] - terms[0]
        return [gaps[k : k + length].sum() for k in range(0, len(gaps), length)]

    first = _share(stretches(known[:, :20], 4), odds)
    second = _share([*stretches(known[:, 20:], 5), origins[0]], odds)
    last = _share([*stretches(whole, 5), *origins], odds)
    shares = np.repeat([first, second], 5)
    error = 5.0 * 0.5 / np.sqrt(1000)  # of a mean of 1000 numbers between 0 and 1
    np.testing.assert_allclose(averaged.level, 0.2 * shares + 0.6 * (1.0 - shares), atol=error)
    expected = np.log(shares * np.exp(logs[0]) + (1.0 - shares) * np.exp(logs[1]))
    np.testing.assert_allclose(averaged.log_density, expected, atol=2.0 * error)
    assert weights[0] == pytest.approx(last, abs=error)
    assert weights.sum() == pytest.approx(1.0)


def test_a_model_is_out_that_thought_impossible_what_came() -> None:
    """Values that no model thought possible say nothing, and no density is above that of certainty."""
    problem = problem_of(Y, 5, (20, 25), step=0.5)
    none = np.full(10, -1.0)
    none[3] = -np.inf
    other = none.copy()
    other[7] = -np.inf
    known, sure = np.full(45, 1.0), np.full(45, 9.0)  # both beyond certainty: ln 2
    scores = [
        OriginScores(logs, np.zeros(10), np.zeros(10), np.zeros((10, 50)), before)
        for logs, before in ((none, known), (other, sure))
    ]
    whole = [known[:40], sure[:40]]
    averaged, weights = average_scores(scores, whole, problem, np.random.default_rng(0))
    assert weights.tolist() == [1.0, 0.0]
    assert np.isneginf(averaged.log_density).tolist() == [k == 3 for k in range(10)]
    same = [one._replace(log_density=none) for one in scores]
    _, weights = average_scores(same, whole, problem, np.random.default_rng(0))
    np.testing.assert_allclose(weights, 0.5)


def test_origins_are_a_horizon_apart_where_there_is_room() -> None:
    rows = problem_of(Y, 4, ()).rows
    assert choose_origins(rows, (), 4, 5) == (20, 24, 28, 32, 36)
    assert choose_origins(rows, (), 6, 5) == (10, 16, 22, 28, 34)
    assert choose_origins(rows, (12.0,), 4, 5) == (24, 27, 30, 33, 36)
    assert choose_origins(rows, (), 4, 0) == ()
    assert choose_origins(rows, (), 35, 5) == ()


def test_candidates_suit_their_series() -> None:
    names = {c.name for c in suited_series(problem_of(Y - 100.0, 4, ()), ())}
    assert "level" in names
    assert not names & {"log level", "counts", "level + season"}
    assert "counts" in {c.name for c in suited_series(problem_of(np.rint(np.abs(Y)), 4, ()), ())}
    seasonal = problem_of(Y, 4, ())._replace(periods=(12.0,))
    assert len(suited_series(seasonal, ())) == 25
    for period, repeated in ((144.0, True), (10_000.0, False)):
        names = {c.name for c in suited_series(seasonal._replace(periods=(period,)), ())}
        assert ("seasonal walk" in names) is repeated
        assert "level + season" in names
    assert [c.name for c in suited_series(problem_of(np.full(20, 3.0), 4, ()), ())] == ["constant"]
    with pytest.raises(
        ValueError, match="'counts' is for counts, which the series is not; leave it out of models"
    ):
        suited_series(problem_of(Y, 4, ()), ["counts"])
    with pytest.raises(ValueError, match="'log level' is for positive"):
        suited_series(problem_of(Y - 100.0, 4, ()), ["log level"])


def test_repeating_the_last_value_and_the_last_season() -> None:
    y = np.array([1.0, 5.0, 3.0, 2.0, 6.0, np.nan, 9.0, np.nan, 4.0, 7.0, 8.0, 0.0])
    problem = problem_of(y, 4, (5, 8))._replace(periods=(3.0,))
    found = naive_forecasts(problem)
    # of the steps 6, 8 and 9 after 5, and 9 to 12 after 8; step 6 has no value, and stands for the last one
    assert found["the last value"].tolist() == [6.0] * 2 + [9.0] * 4
    assert found["the last season"].tolist() == [2.0, 3.0, 9.0, 9.0, 9.0, 9.0]
    assert list(naive_forecasts(problem._replace(periods=()))) == ["the last value"]


def test_intervals_are_widened_by_what_they_lacked() -> None:
    """Levels of forecasts that are half as wide as they should be ask for 2, of which few values give a part."""
    rng = np.random.default_rng(0)
    problem = problem_of(rng.standard_normal(3000), 4, tuple(range(40, 2990, 4)))
    some = problem._replace(origins=problem.origins[:5])

    def scores(p: ForecastProblem, spread: float) -> OriginScores:
        level = stats.norm.cdf(
            spread * stats.norm.ppf((np.arange(len(p.values)) + 0.5) / len(p.values))
        )
        nothing = np.zeros(len(level))
        return OriginScores(nothing, nothing, level, nothing[:, None], nothing)

    assert widening_of(scores(problem, 2.0), problem) == pytest.approx(2.0, rel=0.02)
    assert 1.1 < widening_of(scores(some, 2.0), some) < 1.4
    assert widening_of(scores(problem, 1.0), problem) == 1.0
    assert widening_of(scores(problem, 0.5), problem) == 1.0
