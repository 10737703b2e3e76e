"""Entropy projections: nearest weights by a general solver, and rounds of AdaBoost."""

import numpy as np
import pytest
from scipy.optimize import minimize

from posteriori.ensemble import AdaBoostClassifier, entropy_projection
from tests.ensemble.vote_cases import noisy_rows


@pytest.mark.topic("002/L14")
@pytest.mark.parametrize("seed", range(3))
def test_no_weights_are_nearer(seed):
    rng = np.random.default_rng(seed)
    d, u = rng.dirichlet(np.ones(6)), rng.normal(size=6)
    found = entropy_projection(d, u)
    q = found.weights
    assert q @ u == pytest.approx(0.0, abs=1e-12)
    assert q.sum() == pytest.approx(1.0, rel=1e-12)
    assert found.divergence == pytest.approx((q * np.log(q / d)).sum(), rel=1e-9)
    nearest = minimize(
        lambda p: (p * np.log(p / d)).sum(),
        d,
        jac=lambda p: np.log(p / d) + 1,
        bounds=[(1e-12, 1)] * 6,
        constraints=[
            {"type": "eq", "fun": lambda p: p.sum() - 1},
            {"type": "eq", "fun": lambda p: p @ u},
        ],
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 500},
    )
    np.testing.assert_allclose(q, nearest.x, atol=1e-5)


@pytest.mark.topic("002/L14")
def test_rounds_of_adaboost_are_projections():
    x, y = noisy_rows(60)
    d = np.full(60, 1 / 60)
    for rounds in range(1, 6):
        model = AdaBoostClassifier(rounds).fit(x, y)
        *_, named = model.members_.name_classes(x)
        found = entropy_projection(d, y * model.classes_[named])
        assert found.step == pytest.approx(model.estimator_weights_[-1], rel=1e-9)
        np.testing.assert_allclose(found.weights, model.row_weights_, rtol=1e-9)
        fall = model.loss_trace_[-1] / (model.loss_trace_[-2] if rounds > 1 else 1.0)
        assert found.divergence == pytest.approx(-np.log(fall), rel=1e-9)  # KL = −ln Z
        d = model.row_weights_


@pytest.mark.parametrize("scale", [1e-200, 1.0, 1e200])
def test_units_of_u_only_scale_the_step(scale):
    d, u = np.array([0.2, 0.3, 0.5]), np.array([1.0, -0.5, 0.25])
    one, scaled = entropy_projection(d, u), entropy_projection(d, scale * u)
    np.testing.assert_allclose(scaled.weights, one.weights, rtol=1e-9)
    assert scaled.step * scale == pytest.approx(one.step, rel=1e-9)


def test_what_is_balanced_stays():
    found = entropy_projection([0.5, 0.5, 0.0], [1.0, -1.0, 7.0])
    assert found.weights.tolist() == [0.5, 0.5, 0.0]
    assert found.step == found.divergence == 0.0


@pytest.mark.parametrize(
    ("d", "u", "words"),
    [
        ([0.5, 0.5], [1, 1], "positive and negative"),
        ([0.5, 0.6], [1, -1], "sum to 1"),
        ([1.5, -0.5], [1, -1], "must not be negative"),
        ([0.5, 0.5], [1], "of one length"),
        ([0.5, 0.5], [1, np.inf], "finite"),
    ],
)
def test_impossible_constraints_are_refused(d, u, words):
    with pytest.raises(ValueError, match=words):
        entropy_projection(d, u)
