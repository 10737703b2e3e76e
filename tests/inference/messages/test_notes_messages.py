"""The notes' numbers, by the rules of single nodes."""

import numpy as np
import pytest

from posteriori import MvNormal
from posteriori.inference.messages.node_messages import message, scaled_message
from tests.inference.message_forms import FORMS, PAIRS

pytestmark = pytest.mark.blas


@pytest.mark.topic("004/3.27")
@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_addition_forward(first, second):
    z = message("addition", "z", x=FORMS[first](1.0, 1.0), y=FORMS[second](2.0, 1.0))
    np.testing.assert_allclose([z.mean, z.variance], [3.0, 2.0], rtol=1e-14)


@pytest.mark.topic("004/3.28")
@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_addition_backward(first, second):
    x = message("addition", "x", y=FORMS[first](2.0, 1.0), z=FORMS[second](3.0, 1.0))
    np.testing.assert_allclose([x.mean, x.variance], [1.0, 2.0], rtol=1e-14)


@pytest.mark.topic("004/3.29")
@pytest.mark.parametrize("form", FORMS)
def test_gain_forward(form):
    y = message("gain", "y", x=FORMS[form](1.0, 1.0), matrix=4.0)
    np.testing.assert_allclose([y.mean, y.variance], [4.0, 16.0], rtol=1e-14)


@pytest.mark.topic("004/3.30")
@pytest.mark.parametrize("form", FORMS)
def test_gain_backward(form):
    x = message("gain", "x", y=FORMS[form](2.0, 1.0), matrix=4.0)
    np.testing.assert_allclose(x.natural, [8.0, 16.0], rtol=1e-14)
    np.testing.assert_allclose([x.mean, x.variance], [0.5, 0.0625], rtol=1e-14)


@pytest.mark.topic("004/3.31", "004/3.19", "004/3.23")
def test_fusion_of_two_sensors_by_hand():
    prior = scaled_message("gaussian", "out", mean=0.0, variance=4.0)
    up1 = scaled_message("gaussian", "mean", out=1.0, variance=1.0)
    up2 = scaled_message("gaussian", "mean", out=2.0, variance=2.0)
    parts = {"a": prior, "b": up1, "c": up2}
    x = scaled_message("equality", "x", **{n: p.distribution for n, p in parts.items()})
    np.testing.assert_allclose(x.distribution.mean, 1.1428571428571428, rtol=1e-15)
    np.testing.assert_allclose(x.distribution.variance, 0.5714285714285714, rtol=1e-15)
    evidence = x.log_scale + sum(p.log_scale for p in parts.values())
    np.testing.assert_allclose(evidence, -3.514548588, atol=5e-10)


@pytest.mark.topic("004/3.32", "004/3.22")
def test_regression_by_messages():
    rng = np.random.default_rng(0)
    z = rng.uniform(0.0, 10.0, 30)
    features = np.stack([np.ones(30), z, z**2], axis=1)
    y = features @ [1.0, 2.0, 0.25] + rng.normal(0.0, np.sqrt(2.0), 30)
    total = MvNormal(np.zeros(3), cov=1e5 * np.eye(3))
    log_scale = 0.0
    for row, target in zip(features, y, strict=True):
        noisy = scaled_message("gaussian", "mean", out=target, variance=2.0)
        up = scaled_message("dot", "y", x=row, z=noisy.distribution)
        made = scaled_message("equality", "out", a=total, b=up.distribution)
        log_scale += noisy.log_scale + up.log_scale + made.log_scale
        total = made.distribution
    precision = features.T @ features / 2.0 + 1e-5 * np.eye(3)
    np.testing.assert_allclose(total.precision, precision, rtol=1e-12)
    np.testing.assert_allclose(total.precision[0, 0], 15.00001, rtol=1e-12)
    np.testing.assert_allclose(total.weighted_mean, features.T @ y / 2.0, rtol=1e-7)
    marginal = MvNormal(np.zeros(30), cov=2.0 * np.eye(30) + 1e5 * features @ features.T)
    np.testing.assert_allclose(log_scale, marginal.log_prob(y), rtol=1e-8)
