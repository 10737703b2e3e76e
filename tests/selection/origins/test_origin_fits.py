"""What is learned at the first origin: who goes on, and where the search begins at later ones."""

import numpy as np
import pytest

from posteriori import forecast
from posteriori.selection.candidates import candidates_for
from posteriori.selection.origins.origin_fits import (
    before_first_origin,
    near_best,
    score_from_origin,
)
from posteriori.sequence import StructuralSeries
from tests.analysis.forecasts.dated_tables import monthly, yearly
from tests.selection.origins.test_origin_scores import Y, candidate, problem_of


class _Told:
    """A model of which only what it said is known."""

    def __init__(self, *logs: float) -> None:
        self.log_predictive_ = np.array(logs)


def _names(begun: dict[str, _Told], step: float = 0.0) -> list[str]:
    traits = ("regular", "positive", "without inputs")
    names = ["constant", "walk", "level", "trend"]
    candidates = candidates_for("series", names, targets=traits)
    return [c.name for c in near_best(candidates, problem_of(Y, 4, (25,), step), begun)]


def test_those_far_behind_go_no_further() -> None:
    """More than 15 nats behind is too far, but for what repeats values, and what failed will say so itself."""
    begun = {"constant": _Told(-55.0, -3.5), "walk": _Told(-900.0), "level": _Told(-40.0, -3.0)}
    assert _names(begun) == ["walk", "level", "trend"]
    begun["constant"] = _Told(-54.0, -3.0)
    assert _names(begun) == ["constant", "walk", "level", "trend"]


def test_no_value_is_more_than_certain() -> None:
    """Of values recorded to 0.5 no density is above 2."""
    begun = {"constant": _Told(-10.0, -10.0), "level": _Told(9.0, 9.0)}
    assert "constant" not in _names(begun)
    assert "constant" not in _names(begun, 0.5)
    begun["constant"] = _Told(-6.0, -6.0)
    assert "constant" not in _names(begun)
    assert "constant" in _names(begun, 0.5)


def test_the_first_origin_is_fitted_once() -> None:
    """What is begun there says what a fit of its own would say."""
    problem = problem_of(Y, 4, (25, 30))
    first = before_first_origin(problem)
    assert first.rows.y.tolist() == Y[:25].tolist()
    assert first.origins == ()
    model = score_from_origin(first, candidate("level"), None)[-1]
    begun = problem._replace(begun={"level": model})
    one, two = (score_from_origin(p, candidate("level"), 0) for p in (problem, begun))
    for mine, other in zip(one, two, strict=True):
        np.testing.assert_array_equal(mine, other)


@pytest.mark.parametrize("name", ["level", "damped"])
def test_where_the_search_begins_changes_next_to_nothing(name: str) -> None:
    """Evidence and forecast from a start elsewhere agree within the errors of the draws."""
    far = StructuralSeries(name).fit(np.cumsum(np.cumsum(Y)))
    usual, begun = StructuralSeries(name).fit(Y), StructuralSeries(name).begin_near(far).fit(Y)
    evidences = usual.log_evidence_, begun.log_evidence_
    error = 5.0 * np.hypot(*(one.error for one in evidences))
    assert abs(float(evidences[0]) - float(evidences[1])) < error
    ahead = usual.forecast(4), begun.forecast(4)
    np.testing.assert_allclose(ahead[0].median, ahead[1].median, atol=0.05 * ahead[0].std.max())


def test_a_start_of_another_form_is_none() -> None:
    usual = StructuralSeries("trend").fit(Y)
    other = StructuralSeries("trend").begin_near(StructuralSeries("level").fit(Y)).fit(Y)
    assert float(other.log_evidence_) == float(usual.log_evidence_)


def test_what_goes_no_further_is_said() -> None:
    """A clear season leaves no room for models without one; those that are asked for are tried all the same."""
    table = monthly(60)
    f = forecast(table, time="month", value="sales", horizon=6, origins=2)
    assert {"walk", "seasonal walk", "level + season"} <= set(f.outcomes)
    assert "constant" not in f.outcomes
    assert any("far behind at the first origin: " in n and "constant" in n for n in f.notes)
    asked = forecast(
        table, time="month", value="sales", models=["constant", "level + season"], origins=2
    )
    assert "constant" in asked.outcomes
    short = forecast(yearly(20), time="year", value="flow", horizon=3, origins=2)
    assert not any("far behind" in n for n in short.notes)


def test_odds_are_against_what_claims_much() -> None:
    """Each claim about all the future costs as much: a level to return to, growth in proportion."""
    traits = ("regular", "positive", "seasonal", "short season", "counts", "without inputs")
    odds = {c.name: c.log_odds for c in candidates_for("series", targets=traits)}
    claim = odds["constant"]
    assert claim < 0.0
    free = {"walk", "seasonal walk", "level", "drift + season", "damped trend", "counts"}
    free |= {"walk + season + autoregression", "trend + season"}
    assert {odds[name] for name in free} == {0.0}
    once = (
        "autoregression",
        "constant",
        "log level",
        "log walk + season",
    )
    assert {odds[name] for name in once} == {claim}
    assert odds["log constant"] == odds["log autoregression"] == 2.0 * claim
