"""Constants of densities by draws of them and of a proposal, against the known constant."""

import numpy as np
import pytest
from scipy import stats

from posteriori.inference.sequences.draws.bridging import bridge

LOG_CONSTANT = -3.7
TARGET = stats.norm(0.5, 1.0)


def log_ratio(theta, proposal):
    """Return ln of c times the target over the proposal."""
    return LOG_CONSTANT + TARGET.logpdf(theta) - proposal.logpdf(theta)


def estimate(proposal, rng, groups=20, size=40):
    proposed = log_ratio(proposal.rvs(groups * size, random_state=rng), proposal)
    held = [log_ratio(TARGET.rvs(size, random_state=rng), proposal) for _ in range(groups)]
    return bridge(proposed, held)


@pytest.mark.parametrize("width", [0.3, 1.0, 4.0])
def test_the_constant_is_found_with_its_error(width):
    """Also by a proposal that is too narrow for importance sampling."""
    rng = np.random.default_rng(int(10 * width))
    found = [estimate(stats.norm(0.0, width), rng) for _ in range(60)]
    off = np.array([(one.value - LOG_CONSTANT) / one.error for one in found])
    assert abs(off.mean()) < 5.0 / np.sqrt(60)
    assert 0.6 < off.std() < 1.5


def test_equal_densities_have_no_error():
    found = estimate(TARGET, np.random.default_rng(0))
    assert found.value == pytest.approx(LOG_CONSTANT, abs=1e-12)
    assert found.error < 1e-12
    assert found.effective == pytest.approx(800)


def test_without_draws_of_the_target_it_is_importance_sampling():
    proposal = stats.norm(0.0, 2.0)
    logs = log_ratio(proposal.rvs(500, random_state=1), proposal)
    found = bridge(logs, [])
    weights = np.exp(logs)
    assert found.value == pytest.approx(np.log(weights.mean()))
    assert found.error == pytest.approx(weights.std(ddof=1) / weights.mean() / np.sqrt(500))
    assert found.effective == pytest.approx(weights.sum() ** 2 / (weights**2).sum())


def test_draws_that_depend_on_one_another_count_as_one_group():
    proposal = stats.norm(0.0, 2.0)
    rng = np.random.default_rng(2)
    proposed = log_ratio(proposal.rvs(4000, random_state=rng), proposal)
    centres = TARGET.rvs(20, random_state=rng)
    groups = [log_ratio(centre + 0.01 * rng.normal(size=200), proposal) for centre in centres]
    scattered = np.split(rng.permutation(np.concatenate(groups)), 20)
    assert bridge(proposed, groups).error > 1.5 * bridge(proposed, scattered).error
