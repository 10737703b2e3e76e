"""The compiled pass against the joint normal distribution, its limit, and finite differences."""

import numpy as np
import pytest

from posteriori.datasets import load_nile
from posteriori.inference.series.scalar_chain import (
    NO_ENTRIES,
    Entries,
    ScalarChain,
    filter_scalar,
    score_scalar,
    smooth_scalar,
)
from tests.inference.series.dense_series import random_chain, write_out

STEPS = 12
CASES = [(varying, diffuse) for varying in (False, True) for diffuse in (0, 1, 3)]


def make(varying, diffuse, size=4):
    return random_chain(np.random.default_rng(size + diffuse), size, STEPS, varying, diffuse)


@pytest.mark.parametrize(("varying", "diffuse"), CASES)
def test_log_likelihood_is_that_of_the_joint_distribution_or_its_limit(varying, diffuse):
    chain, variances, y = make(varying, diffuse)
    ours = filter_scalar(chain, variances, y).log_likelihood
    kappa = 1e7 if diffuse else 0.0
    limit = write_out(chain, variances, STEPS, kappa).log_prob(y)
    limit += 0.5 * diffuse * np.log(kappa) if diffuse else 0.0
    # what is left of the limit is of the order 1/kappa times what the start values are known by
    assert ours == pytest.approx(limit, abs=1e-10 if not diffuse else 1e-4)


@pytest.mark.parametrize(("varying", "diffuse"), CASES)
def test_states_are_those_of_the_joint_distribution(varying, diffuse):
    chain, variances, y = make(varying, diffuse)
    size = len(chain.initial_mean)
    smoothed = smooth_scalar(chain, variances, y, np.eye(size)[None])
    mean, cov = write_out(chain, variances, STEPS, 1e7 if diffuse else 0.0).states(y)
    close = {"rtol": 1e-4, "atol": 1e-4} if diffuse else {"rtol": 1e-9, "atol": 1e-10}
    np.testing.assert_allclose(smoothed.means.ravel(), mean, **close)
    np.testing.assert_allclose(smoothed.variances.ravel(), np.diag(cov), **close)
    np.testing.assert_allclose(smoothed.filtered.mean, mean[-size:], **close)
    np.testing.assert_allclose(smoothed.filtered.cov, cov[-size:, -size:], **close)


def test_views_may_change_from_step_to_step():
    chain, variances, y = make(True, 0)
    views = np.random.default_rng(0).normal(size=(STEPS, 2, 4))
    smoothed = smooth_scalar(chain, variances, y, views)
    mean, cov = write_out(chain, variances, STEPS).states(y)
    for t in range(STEPS):
        here = slice(4 * t, 4 * t + 4)
        np.testing.assert_allclose(smoothed.means[t], views[t] @ mean[here], atol=1e-10)
        expected = np.diag(views[t] @ cov[here, here] @ views[t].T)
        np.testing.assert_allclose(smoothed.variances[t], expected, atol=1e-10)


@pytest.mark.parametrize(("varying", "diffuse"), CASES)
def test_slopes_are_those_of_finite_differences(varying, diffuse):
    chain, variances, y = make(varying, diffuse)
    score = score_scalar(chain, variances, y)
    for part in range(len(variances)):
        step = np.zeros(len(variances))
        step[part] = 1e-5
        up, down = (filter_scalar(chain, variances + s, y) for s in (step, -step))
        assert score.fit[part] == pytest.approx(
            -(up.quadratic - down.quadratic) / 2e-5, rel=1e-6, abs=1e-7
        )
        assert score.complexity[part] == pytest.approx(
            (up.log_volume - down.log_volume) / 2e-5, rel=1e-6, abs=1e-7
        )


def test_predictions_are_those_of_earlier_values():
    chain, variances, y = make(True, 0)
    filtered = filter_scalar(chain, variances, y)
    joint = write_out(chain, variances, STEPS)
    for t in (1, 4, 9):
        past = y.copy()
        past[t:] = np.nan
        mean, cov = joint.states(past)
        z = joint.emission[t]
        value = 0.0 if np.isnan(y[t]) else y[t]
        assert filtered.innovations[t] == pytest.approx(value - z @ mean, abs=1e-10)
        assert filtered.spreads[t] == pytest.approx(z @ cov @ z + variances[0], abs=1e-10)


PAIRS = {  # rows and columns of a transition's entries
    "full": ([0, 0, 1, 1], [0, 1, 0, 1]),
    "slope": ([0, 0, 1], [0, 1, 1]),
    "out of order, twice": ([1, 0, 0, 1, 0], [1, 1, 0, 0, 0]),
}


@pytest.mark.parametrize("varying", [False, True])
@pytest.mark.parametrize("case", PAIRS)
def test_two_states_have_a_pass_of_their_own_with_the_same_answers(case, varying, monkeypatch):
    monkeypatch.setattr("posteriori.inference.series.scalar_chain._LONG", 1)
    rng = np.random.default_rng(3)
    rows, columns = (np.array(a) for a in PAIRS[case])
    length = STEPS if varying else 1
    noise = Entries(np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1]), np.empty((length, 4)))
    noise.weights[:] = [1.0, 0.3, 0.3, 2.0]
    noise.weights[:, 3] += rng.random(length)
    parts = np.array([1, 1, 1, 2 if case == "slope" else 1])
    chain = ScalarChain(
        emission=rng.normal(size=(length, 2)),
        transition=Entries(rows, columns, rng.normal(0.0, 0.6, (length, len(rows)))),
        noise=noise,
        parts=parts,
        initial_mean=rng.normal(size=2),
        initial_cov=np.array([[2.0, 0.4], [0.4, 1.0]]),
        start=NO_ENTRIES,
        start_parts=np.zeros(0, int),
        diffuse=np.zeros(2, bool),
    )
    y = np.where(np.isin(np.arange(STEPS), [0, 4, 5]), np.nan, rng.normal(size=STEPS))
    variances = np.array([0.5, 0.8, 1.7])
    done, dense = filter_scalar(chain, variances, y), write_out(chain, variances, STEPS)
    assert done.log_likelihood == pytest.approx(dense.log_prob(y), abs=1e-10)
    mean, cov = dense.states(y)
    np.testing.assert_allclose(done.mean, mean[-2:], atol=1e-10)
    np.testing.assert_allclose(done.cov, cov[-2:, -2:], atol=1e-10)
    pair = score_scalar(chain, variances, y)
    monkeypatch.setattr("posteriori.inference.series.scalar_chain._LONG", 10**9)
    entries = score_scalar(chain, variances, y)
    np.testing.assert_allclose(done.innovations, entries.filtered.innovations, atol=1e-12)
    np.testing.assert_allclose(done.spreads, entries.filtered.spreads, atol=1e-12)
    np.testing.assert_allclose(pair.gradient, entries.gradient, atol=1e-10)


def test_the_likelihood_of_nile_is_the_published_one():
    """Durbin & Koopman, 2012, table 2.1 and section 2.9: the diffuse log-likelihood of the local level."""
    one = Entries(np.zeros(1, int), np.zeros(1, int), np.ones((1, 1)))
    start = np.zeros(1), np.eye(1), NO_ENTRIES, np.zeros(0, int), np.ones(1, bool)
    level = ScalarChain(np.ones((1, 1)), one, one, np.ones(1, int), *start)
    y = np.asarray(load_nile()["flow"], dtype=float)
    done = filter_scalar(level, np.array([15098.5, 1469.2]), y)
    assert done.log_likelihood == pytest.approx(-633.46456, abs=5e-6)


def test_start_values_that_no_value_tells_are_refused():
    chain, variances, y = make(False, 3)
    y[2:] = np.nan
    with pytest.raises(ValueError, match="does not determine all 3 start values"):
        filter_scalar(chain, variances, y)
