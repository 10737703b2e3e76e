"""Margins of votes: their distribution, soft margins, Arc-GV and linear programs."""

import numpy as np
import pytest
from scipy.optimize import linprog
from sklearn.linear_model import LogisticRegression

from posteriori.ensemble import (
    AdaBoostClassifier,
    LPBoostClassifier,
    guaranteed_margin,
    margin_bound,
    margins,
)
from posteriori.ensemble.votes.rounds import step_of
from posteriori.ensemble.votes.weak_learners import WeakTrees
from posteriori.numerics.warnings import ConvergenceWarning
from tests.ensemble.vote_cases import LINE, all_stumps, diagonal_rows, noisy_rows, plain_adaboost
from tests.scikit_learn_checks import every_check


@every_check([LPBoostClassifier(nu=0.3), LPBoostClassifier(nu=0.8, max_bins=None)])
def test_scikit_learn_contract(estimator, check):
    check(estimator)


# -- the distribution of margins ----------------------------------------------------------------


@pytest.mark.topic("002/L8")
def test_margins_are_normalised_votes():
    x, y = noisy_rows(60)
    steps, _, said, _ = plain_adaboost(x, y, 9)
    model = AdaBoostClassifier(9).fit(x, y)
    for rounds in (1, 4, 9):
        direct = y * (steps[:rounds] @ said[:rounds]) / steps[:rounds].sum()
        found = margins(model, x, y, rounds=rounds)
        np.testing.assert_allclose(found.values, direct, atol=1e-9)
        assert found.minimum == pytest.approx(direct.min(), abs=1e-9)
        assert model.margin_trace_[rounds - 1] == pytest.approx(direct.min(), abs=1e-9)
        for theta in (-0.5, 0.0, 0.3, 1.0):
            assert found.cdf(theta) == (found.values <= theta).mean()
    np.testing.assert_array_equal(margins(model, x, y).values, found.values)


@pytest.mark.topic("002/L8")
def test_rounds_raise_small_margins_and_lower_large_ones():
    x, y = noisy_rows(noise=0.0)
    model = AdaBoostClassifier(500).fit(x, y)
    early, late = margins(model, x, y, rounds=5), margins(model, x, y)
    assert early.minimum < 0 < late.minimum
    assert early.values.max() > late.values.max()
    assert late.cdf(0.0) == 0 == 1 - model.score(x, y)


@pytest.mark.topic("002/L8")
def test_margins_of_three_classes_tell_right_from_wrong():
    x, _ = noisy_rows(300)
    y = np.digitize(x[:, 0] + x[:, 1], [-1, 1])
    model = AdaBoostClassifier(10).fit(x, y)
    found = margins(model, x, y).values
    right = model.predict(x) == y
    assert (found[~right] <= 0).all()
    assert (found[right] >= 0).all()
    assert (np.abs(found) <= 1).all()


@pytest.mark.topic("002/L9")
@pytest.mark.parametrize("theta", [-0.2, 0.0, 0.05, 0.1, 0.2])
def test_the_share_of_small_margins_stays_below_its_bound(theta):
    x, y = noisy_rows(150)
    model = AdaBoostClassifier(120).fit(x, y)
    for rounds in range(1, 121, 7):
        share = margins(model, x, y, rounds=rounds).cdf(theta)
        assert share <= margin_bound(model.estimator_errors_[:rounds], theta) + 1e-12


@pytest.mark.topic("002/L9")
def test_the_least_margin_comes_to_what_is_guaranteed():
    x, y = noisy_rows(60, noise=0.0, seed=2)
    model = AdaBoostClassifier(3000).fit(x, y)
    gamma = 1 - 2 * model.estimator_errors_.max()
    assert gamma > 0.05
    assert model.margin_trace_[-1] > guaranteed_margin(gamma) >= gamma / 2


def test_margins_refuse_what_they_do_not_know():
    x, y = LINE
    model = AdaBoostClassifier(3).fit(x, y)
    with pytest.raises(TypeError, match="model must be an AdaBoostClassifier or LPBoostClassifier"):
        margins(LogisticRegression().fit(x, y), x, y)
    with pytest.raises(ValueError, match="rounds must be from 1 to 3, got 4"):
        margins(model, x, y, rounds=4)
    with pytest.raises(ValueError, match="y holds 2, which is none of the classes"):
        margins(model, x, np.where(y > 0, 2, -1))


# -- the largest margin -------------------------------------------------------------------------


def largest_margin(x, y, cap=np.inf):
    """Return max ρ − Σ D ξ over the votes of all stumps: the program as it is printed."""
    products = all_stumps(x) * y
    j, n = products.shape
    cost = np.concatenate([np.zeros(j), [-1.0], np.full(n, cap if np.isfinite(cap) else 0.0)])
    left = np.hstack([-products.T, np.ones((n, 1)), -np.eye(n)])
    total = np.concatenate([np.ones(j), np.zeros(n + 1)])[None, :]
    most = None if np.isfinite(cap) else 0.0
    bounds = [(0, None)] * j + [(None, None)] + [(0, most)] * n
    return -linprog(cost, left, np.zeros(n), total, [1.0], bounds).fun


@pytest.mark.topic("002/L12", "002/L14", "002/L16")
@pytest.mark.parametrize("nu", [None, 0.1, 0.3, 0.7])
@pytest.mark.parametrize("max_bins", [None, 255])
def test_the_program_over_all_stumps_has_the_value_of_its_dual(nu, max_bins):
    x, y = noisy_rows(60, 3, seed=4, noise=0.2)
    model = LPBoostClassifier(nu, max_bins=max_bins).fit(x, y)
    cap = np.inf if nu is None else 1 / (nu * len(y))
    value = largest_margin(x, y, cap)
    assert model.objective_ == pytest.approx(value, abs=1e-6)
    d = model.row_weights_
    assert d.sum() == pytest.approx(1.0, abs=1e-9)
    assert d.min() >= 0
    assert d.max() <= cap + 1e-9
    edges = (all_stumps(x) * y) @ d  # of the dual: the largest edge under d
    assert edges.max() == pytest.approx(value, abs=1e-6)
    assert model.duality_gap_ <= 1e-6
    rho = margins(model, x, y).values
    shortfall = 0.0 if nu is None else cap * np.maximum(model.margin_ - rho, 0.0).sum()
    assert model.margin_ - shortfall == pytest.approx(value, abs=1e-6)
    if nu is None:
        assert rho.min() == pytest.approx(model.margin_, abs=1e-6)
        np.testing.assert_allclose(rho[model.support_], model.margin_, atol=1e-6)
    else:
        assert (rho < model.margin_ - 1e-6).mean() <= nu <= (rho < model.margin_ + 1e-6).mean()


@pytest.mark.topic("002/L14")
def test_columns_bring_the_bounds_together():
    x, y = noisy_rows(80, noise=0.0)
    model = LPBoostClassifier().fit(x, y)
    assert (np.diff(model.objective_trace_) >= -1e-9).all()
    assert (np.diff(model.bound_trace_) <= 0).all()
    assert (model.bound_trace_ >= model.objective_trace_ - 1e-9).all()
    assert model.estimator_weights_.sum() == pytest.approx(1.0, rel=1e-12)


@pytest.mark.topic("002/L13")
def test_arc_gv_comes_to_the_margin_of_the_program():
    x, y = noisy_rows(30, 2, seed=5, noise=0.0)
    best = LPBoostClassifier(max_bins=None).fit(x, y).margin_
    arc = AdaBoostClassifier(4000, step="arc-gv", max_bins=None).fit(x, y)
    assert best > 0.01
    assert arc.margin_trace_[-1] == pytest.approx(best, rel=0.03)
    assert arc.margin_trace_.max() <= best + 1e-6
    assert (arc.margin_trace_[[9, 99, 999]] < arc.margin_trace_[-1]).all()


@pytest.mark.topic("002/L13")
def test_steps_of_arc_gv_are_shortened_by_the_margin():
    edge, rho = 0.3, 0.1
    printed = 0.5 * np.log((1 + edge) / (1 - edge)) - 0.5 * np.log((1 + rho) / (1 - rho))
    assert step_of((1 - edge) / 2, 2, rho) == pytest.approx(printed, rel=1e-12)


def test_a_draw_and_a_gap_are_told():
    corners, y = np.array([[0.0, 0], [0, 1], [1, 0], [1, 1]]), [0, 1, 1, 0]
    with pytest.warns(ConvergenceWarning, match="found no margin"):
        LPBoostClassifier().fit(corners, y)
    with pytest.warns(ConvergenceWarning, match="ended after 2 iterations with a duality gap"):
        model = LPBoostClassifier(max_iter=2).fit(*noisy_rows(60, noise=0.0))
    assert model.duality_gap_ > 1e-6


@pytest.mark.parametrize("nu", [0.0, -1, 1.5, "half"])
def test_shares_are_refused_in_words(nu):
    with pytest.raises(ValueError, match="nu must be None or above 0 and at most 1, got"):
        LPBoostClassifier(nu).fit(*LINE)


def test_three_classes_are_refused_with_a_remedy():
    with pytest.raises(ValueError, match="got 3 classes; AdaBoostClassifier takes more"):
        LPBoostClassifier().fit(np.arange(6.0)[:, None], [0, 0, 1, 1, 2, 2])


@pytest.mark.parametrize("nu", [None, 0.25])
def test_frequencies_are_repeated_rows(nu):
    x, y = noisy_rows(40, 2, noise=0.1)
    times = np.random.default_rng(1).integers(0, 3, size=40)
    model = LPBoostClassifier(nu, max_bins=None).fit(x, y, sample_weight=times)
    repeated = LPBoostClassifier(nu, max_bins=None).fit(
        np.repeat(x, times, axis=0), np.repeat(y, times)
    )
    assert model.objective_ == pytest.approx(repeated.objective_, abs=1e-6)
    assert (model.row_weights_[times == 0] == 0).all()


def test_the_stumps_so_far_are_kept_when_it_is_stopped(monkeypatch):
    x, y = noisy_rows(60, noise=0.0)
    learn, asked = WeakTrees.learn_several, []

    def stopping(self, weight):
        asked.append(weight)
        if len(asked) > 4:
            raise KeyboardInterrupt
        return learn(self, weight)

    monkeypatch.setattr(WeakTrees, "learn_several", stopping)
    with pytest.warns(ConvergenceWarning, match="was stopped after 3 iterations .*; fit again"):
        model = LPBoostClassifier().fit(x, y)
    assert model.score(x, y) > 0.5


# -- noise --------------------------------------------------------------------------------------


def flipped_rows(seed):
    """Return rows, labels of which a tenth are wrong, and which."""
    x, y = diagonal_rows(200, seed)
    wrong = np.random.default_rng(seed).random(len(y)) < 0.1
    return x, np.where(wrong, -y, y), wrong


@pytest.mark.topic("002/L15")
def test_no_softness_is_adaboost_bit_by_bit():
    x, y, _ = flipped_rows(0)
    plain, soft = (
        AdaBoostClassifier(40).fit(x, y),
        AdaBoostClassifier(40, soft_margin=0.0).fit(x, y),
    )
    steps, _, _, weights = plain_adaboost(x, y, 40)
    np.testing.assert_allclose(soft.estimator_weights_, steps, rtol=1e-8)
    np.testing.assert_allclose(soft.row_weights_, weights[-1], rtol=1e-8)
    for name in ("estimator_weights_", "estimator_errors_", "row_weights_", "loss_trace_"):
        np.testing.assert_array_equal(getattr(plain, name), getattr(soft, name))
    nearly = AdaBoostClassifier(40, soft_margin=1e-9).fit(x, y)  # by line search
    np.testing.assert_allclose(nearly.estimator_weights_, steps, rtol=1e-7)


@pytest.mark.topic("002/L15")
def test_soft_margins_are_as_printed():
    """ρ̃ = ρ + Cμ², d ∝ exp(−‖α‖ρ̃), and α where Σ exp(−‖α‖ρ̃) is least."""
    x, y, _ = flipped_rows(1)
    c, n = 400.0, len(y)
    model = AdaBoostClassifier(6, soft_margin=c).fit(x, y)
    d, f, mean, norm = np.full(n, 1 / n), np.zeros(n), np.zeros(n), 0.0
    for step, named in zip(model.estimator_weights_, model.members_.name_classes(x), strict=True):
        h = model.classes_[named]

        def loss(a, f=f, h=h, d=d, mean=mean, norm=norm):
            rho, mu = y * (f + a * h) / (norm + a), (mean + a * d) / (norm + a)
            return np.exp(-(norm + a) * (rho + c * mu**2))

        below, at, above = (loss(a).sum() for a in (step - 1e-4, step, step + 1e-4))
        assert at < below
        assert at < above
        np.testing.assert_allclose(
            model.loss_trace_[np.flatnonzero(model.estimator_weights_ == step)[0]], at / n
        )
        d_new = loss(step) / at
        f, mean, norm = f + step * h, mean + step * d, norm + step
        d = d_new
    np.testing.assert_allclose(model.row_weights_, d, rtol=1e-9)


@pytest.mark.topic("002/L15")
@pytest.mark.parametrize("seed", range(4))
def test_softness_lets_go_of_wrong_labels(seed):
    x, y, wrong = flipped_rows(seed)
    new_x, new_y = diagonal_rows(5000, seed + 100)
    hard = AdaBoostClassifier(200).fit(x, y)
    soft = AdaBoostClassifier(200, soft_margin=0.03 * len(y) ** 2).fit(x, y)
    assert soft.row_weights_[wrong].sum() < hard.row_weights_[wrong].sum()
    assert soft.score(new_x, new_y) >= hard.score(new_x, new_y)


@pytest.mark.topic("002/L18", "002/L16")
@pytest.mark.parametrize("seed", range(4))
def test_one_wrong_label_spoils_a_hard_margin_and_not_a_soft_one(seed):
    x, y = diagonal_rows(100, seed)
    n, wrong = len(y), np.abs(x.sum(axis=1) + 0.9).argmin()  # deep among the first class
    spoilt = np.where(np.arange(n) == wrong, 1, y)
    there = x[[wrong]]
    clean = LPBoostClassifier(max_bins=None).fit(x, y)
    program = LPBoostClassifier(max_bins=None).fit(x, spoilt)
    assert program.margin_ < 0.8 * clean.margin_
    for hard in (program, AdaBoostClassifier(200, max_bins=None).fit(x, spoilt)):
        assert hard.predict(there) == 1  # it believes the label
        assert hard.row_weights_[wrong] == pytest.approx(hard.row_weights_.max(), rel=1e-9)
        assert hard.row_weights_[wrong] > 10 / n
    capped = LPBoostClassifier(nu=0.1, max_bins=None).fit(x, spoilt)
    soft = AdaBoostClassifier(200, max_bins=None, soft_margin=0.03 * n**2).fit(x, spoilt)
    assert capped.predict(there) == soft.predict(there) == -1
    assert capped.margin_ > program.margin_
    assert capped.row_weights_.max() <= 10 / n + 1e-9
