"""What is handed to ArviZ are the draws, their log likelihoods and the evidence."""

import sys

import numpy as np
import pytest

from posteriori import Model, Normal

Y = np.array([2.0, 3.0, 7.0])


def posterior():
    m = Model()
    m.mu = Normal(0.0, variance=9.0)
    m.theta = Normal(m.mu, variance=4.0).iid("g")
    m.y = Normal(m.theta, variance=1.0)
    return m.infer(y=Y)


def test_without_arviz_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "arviz", None)
    with pytest.raises(ImportError, match=r"pip install 'posteriori\[arviz\]'"):
        posterior().to_arviz()


def test_draws_must_be_some():
    with pytest.raises(ValueError, match="draws must be at least 1 draw, got 0"):
        posterior().to_arviz(0)


@pytest.mark.filterwarnings("ignore")  # of ArviZ and what it imports
def test_arviz_reads_what_was_drawn():
    pytest.importorskip("arviz")
    post = posterior()
    handed = post.to_arviz(4000, rng=0)
    mu, theta = handed.posterior["mu"].values, handed.posterior["theta"].values
    assert (mu.shape, theta.shape) == ((1, 4000), (1, 4000, 3))
    error = np.sqrt(post.theta.variance / 4000)
    assert np.all(np.abs(theta[0].mean(axis=0) - post.theta.mean) < 5.0 * error)
    expected = Normal(theta, variance=1.0).log_prob(Y)
    np.testing.assert_allclose(handed.log_likelihood["y"].values, expected, rtol=1e-12)
    assert handed.attrs["log_evidence"] == float(post.log_evidence)
    assert handed.attrs["log_evidence_kind"] == "exact"
