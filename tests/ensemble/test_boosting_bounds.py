"""Bounds of boosting: the numbers of the notes, hand arithmetic, and fits that keep to them."""

import math
from itertools import product

import numpy as np
import pytest

from posteriori.ensemble import (
    AdaBoostClassifier,
    ensemble_vc_bound,
    guaranteed_margin,
    margin_bound,
    margin_risk_bound,
    margins,
    rounds_to_separate,
    svm_risk_bound,
    training_error_bound,
)
from tests.ensemble.vote_cases import noisy_rows


@pytest.mark.topic("002/L5")
def test_rounds_that_separate_are_those_of_the_notes():
    assert [rounds_to_separate(n, 0.2) for n in (100, 1000, 10000)] == [231, 346, 461]
    assert math.exp(-231 * 0.2**2 / 2) < 1 / 100 <= math.exp(-230 * 0.2**2 / 2)


@pytest.mark.topic("002/L5")
def test_the_share_of_wrong_rows_stays_below_its_bound():
    x, y = noisy_rows(150)
    model = AdaBoostClassifier(150).fit(x, y)
    bounds = [training_error_bound(model.estimator_errors_[:t]) for t in range(1, 151)]
    wrong = [(predicted != y).mean() for predicted in model.staged_predict(x)]
    assert (np.array(wrong) <= np.array(bounds) + 1e-12).all()
    assert training_error_bound([0.1, 0.4]) == pytest.approx(
        4 * math.sqrt(0.1 * 0.9) * math.sqrt(0.4 * 0.6)
    )
    assert training_error_bound([0.5, 0.5]) == 1.0
    assert training_error_bound([0.0, 0.3]) == 0.0


@pytest.mark.topic("002/L7")
def test_a_weak_learner_becomes_a_strong_one():
    """An edge in each round is enough: no row is wrong after the rounds that the theorem asks for."""
    x, y = noisy_rows(100, noise=0.0)
    new_x, new_y = noisy_rows(2000, noise=0.0, seed=7)
    weak = AdaBoostClassifier(1).fit(x, y)
    model = AdaBoostClassifier(2000).fit(x, y)
    needed = [
        rounds_to_separate(100, 1 - 2 * errors.max())
        for errors in (model.estimator_errors_[:t] for t in range(1, 2001))
    ]
    enough = next(t for t, rounds in enumerate(needed, 1) if rounds <= t)
    wrong = [(predicted != y).sum() for predicted in model.staged_predict(x)]
    assert wrong[0] > 10
    assert not any(wrong[enough - 1 :])
    assert model.score(new_x, new_y) > weak.score(new_x, new_y) + 0.1


def most_shattered(rounds):
    """Return how many points of a line votes of so many stumps can label in every way, by trying all."""
    size = 0
    while True:
        points = np.arange(size + 1.0)
        stumps = [s * np.where(points > cut, 1, -1) for cut in points - 0.5 for s in (1, -1)]
        weighted = [w * h for h in stumps for w in (1, 2, 4)]
        said = {tuple(sum(chosen) > 0) for chosen in product(weighted, repeat=rounds)}
        if len(said) < 2 ** (size + 1):
            return size
        size += 1


@pytest.mark.topic("002/L6")
def test_the_vc_bound_holds_for_votes_of_stumps_on_a_line():
    found = [most_shattered(rounds) for rounds in (1, 2, 3)]
    assert found[0] == 2  # the VC dimension of stumps, in one column
    assert found == sorted(found)
    assert found[2] > found[0]
    assert all(size <= ensemble_vc_bound(2, t) for t, size in enumerate(found, 1))
    by_hand = 2 * 3 * 11 * (1 + math.log(11)) / math.log(2)
    assert ensemble_vc_bound(2, 10) == pytest.approx(by_hand, rel=1e-12)


@pytest.mark.topic("002/L9")
def test_margins_that_are_guaranteed_are_those_of_the_notes():
    assert guaranteed_margin(0.2) == pytest.approx(0.100679, abs=5e-7)
    for gamma in (0.01, 0.2, 0.5, 0.9):
        theta = guaranteed_margin(gamma)
        assert gamma / 2 <= theta <= gamma
        errors = [0.5 - 0.5 * gamma] * 50
        assert margin_bound(errors, theta) == pytest.approx(1.0, rel=1e-9)  # it falls below θ
        assert margin_bound(errors, 0.9 * theta) < 1 < margin_bound(errors, 1.1 * theta)
    assert margin_bound([0.3], 0.2) == pytest.approx(2 * math.sqrt(0.3**0.8 * 0.7**1.2))


@pytest.mark.topic("002/L10")
def test_risk_bounds_by_hand():
    boosting = 0.05 + 2 / 0.25 * math.sqrt(2 * 3 * (1 + math.log(500 / 3)) / 500)
    boosting += math.sqrt(math.log(20) / 1000)
    assert margin_risk_bound(0.05, 0.25, 500, 3, 0.05) == pytest.approx(boosting, rel=1e-12)
    machine = 0.1 + 2 * 3.0 * 2.0 / (0.5 * math.sqrt(400)) + math.sqrt(math.log(10) / 800)
    assert svm_risk_bound(0.1, 0.5, 400, 3.0, 2.0, 0.1) == pytest.approx(machine, rel=1e-12)


@pytest.mark.topic("002/L10")
def test_the_risk_of_a_vote_stays_below_its_bound():
    x, y = noisy_rows(20000, 1, noise=0.0)  # one column: stumps have VC dimension 2
    y = np.where(np.abs(x[:, 0]) > 0.7, 1, -1)
    new_x = np.linspace(-4, 4, 20001)[:, None]
    density = np.exp(-0.5 * new_x[:, 0] ** 2)
    model = AdaBoostClassifier(30).fit(x, y)
    wrong = model.predict(new_x) != np.where(np.abs(new_x[:, 0]) > 0.7, 1, -1)
    risk = density[wrong].sum() / density.sum()
    bounds = [
        margin_risk_bound(float(margins(model, x, y).cdf(theta)), theta, 20000, 2, 0.05)
        for theta in (0.1, 0.2, 0.3, 0.5)
    ]
    assert risk <= min(bounds) < 1.0


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: training_error_bound([0.2, 1.2]), "errors must be numbers from 0 to 1"),
        (lambda: margin_bound([0.2], 2.0), "theta must be a margin from -1 to 1, got 2.0"),
        (lambda: guaranteed_margin(0.0), "gamma must be an edge above 0 and below 1, got 0.0"),
        (lambda: rounds_to_separate(0, 0.2), "n must be at least 1, got 0"),
        (lambda: ensemble_vc_bound(2, 0), "rounds must be at least 1, got 0"),
        (lambda: margin_risk_bound(0.1, 0.1, 10, 20, 0.1), "vc must be at most n"),
        (lambda: margin_risk_bound(0.1, 1.5, 10, 2, 0.1), "theta must be at most 1"),
        (lambda: margin_risk_bound(0.1, 0.5, 10, 2, 0.0), "delta must be a probability"),
        (lambda: svm_risk_bound(-0.1, 0.5, 10, 1, 1, 0.1), "margin_error must be a share"),
        (lambda: svm_risk_bound(0.1, 0.5, 10, 0, 1, 0.1), "radius must be a positive number"),
    ],
)
def test_what_no_theorem_covers_is_refused(call, words):
    with pytest.raises(ValueError, match=words):
        call()
