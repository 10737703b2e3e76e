"""Predictions at the times of a chain, against the dense joint distribution."""

import numpy as np
import pytest

from posteriori import MvNormal, Normal, StudentT
from posteriori.modeling import Chain, Model
from tests.modeling import scaled_models as scaled
from tests.modeling.exact import test_gaussian as gaussian


@pytest.mark.parametrize("y", [gaussian.SERIES, gaussian.HOLES])
def test_vectors_are_smoothed_and_noisy(y: np.ndarray) -> None:
    post = gaussian.tracking().infer(u=gaussian.U, y=y)
    new = post.predict("y")
    assert isinstance(new, MvNormal)
    joint = post.joint("s")
    c = np.kron(np.eye(6), gaussian.C)
    cov = c @ joint.cov @ c.T
    np.testing.assert_allclose(np.ravel(new.mean), c @ joint.mean, atol=1e-9)
    for t in range(6):
        block = slice(3 * t, 3 * t + 3)
        np.testing.assert_allclose(new.cov[t], cov[block, block] + gaussian.R, atol=1e-9)


def offset_sensor() -> Model:
    m = Model()
    m.offset = Normal(0.0, variance=9.0)
    m.s = Chain(Normal(0.0, variance=4.0), lambda s: Normal(0.9 * s, variance=0.3), length="t")
    m.y = Normal(m.s + m.offset, variance=0.5)
    m.leaf = Normal(2.0 * m.s - m.offset, variance=0.1)
    return m


def test_constants_and_states_are_correlated() -> None:
    post = offset_sensor().infer(y=gaussian.Y[:6])
    joint = post.joint("s", "offset")
    for name, a, b, noise in (
        ("y", 1.0, 1.0, 0.5),
        ("leaf", 2.0, -1.0, 0.1),
    ):
        design = np.column_stack([a * np.eye(6), np.full(6, b)])
        new = post.predict(name)
        np.testing.assert_allclose(new.mean, design @ joint.mean, atol=1e-9)
        expected = np.diag(design @ joint.cov @ design.T) + noise
        np.testing.assert_allclose(new.variance, expected, atol=1e-9)
    np.testing.assert_array_equal(post.leaf.mean, post.predict("leaf").mean)


def test_a_common_precision_makes_student_t() -> None:
    post = scaled.local_level().infer(y=scaled.Y)
    new = post.predict("y")
    assert isinstance(new, StudentT)
    unit = float(post.tau.rate / post.tau.shape)
    np.testing.assert_allclose(new.mean, post.s.mean)
    np.testing.assert_allclose(new.scale**2, post.s.scale**2 + unit)


def test_a_gap_is_filled() -> None:
    """Leaving one datum out, the prediction of it is the ratio of evidences."""
    y = gaussian.Y[:6].copy()
    whole = float(gaussian.local_level().infer(y=y).log_evidence)
    gap = y.copy()
    gap[2] = np.nan
    post = gaussian.local_level().infer(y=gap)
    ratio = whole - float(post.log_evidence)
    assert post.predict("y").log_prob(y)[2] == pytest.approx(ratio, abs=1e-9)
