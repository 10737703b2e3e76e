"""Draws of the posterior of hidden Markov models, against sums over all paths and by repeated series."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy.special import gammaln

from posteriori.distributions import NormalInverseGamma
from posteriori.sequence import HiddenMarkovModel
from tests.sequence.exact_evidence import log_normal_block

PRIOR = (0.0, 0.5, 2.0, 1.0)
FIRST = np.array([3.0, 1.0])  # tells the states apart


def _expected_moves(x: np.ndarray) -> np.ndarray:
    """Return E[A | x] of two states, by all paths."""
    total, moved = 0.0, np.zeros((2, 2))
    for path in product(range(2), repeat=len(x)):
        states, counts = np.array(path), np.zeros((2, 2))
        np.add.at(counts, (states[:-1], states[1:]), 1.0)
        log = np.log(FIRST[states[0]]) + gammaln(1.0 + counts).sum()
        log -= gammaln(2.0 + counts.sum(axis=1)).sum()
        log += sum(log_normal_block(x[states == k], PRIOR) for k in range(2))
        weight = np.exp(log)
        total += weight
        moved += weight * (1.0 + counts) / (2.0 + counts.sum(axis=1, keepdims=True))
    return moved / total


def test_draws_have_the_moments_of_the_posterior():
    x = np.array([0.1, -0.4, 2.2, 1.7, 2.6, 0.3])
    prior = NormalInverseGamma(*PRIOR)
    m = HiddenMarkovModel(
        2, emission_prior=prior, initial_concentration=FIRST, n_init=1, random_state=0
    ).fit(x[:, None])
    chains = m._approximate_belief().draw_posterior(400, np.random.default_rng(0))
    each = chains.values["transition"].mean(axis=1)
    error = each.std(axis=0, ddof=1) / np.sqrt(len(each))
    assert (np.abs(each.mean(axis=0) - _expected_moves(x)) < 5 * error).all()


def test_states_keep_the_names_of_those_that_were_learned():
    rng = np.random.default_rng(0)
    x = (4.0 * np.repeat([0, 1, 0], 20) + rng.normal(size=60))[:, None]
    m = HiddenMarkovModel(2, n_init=1, random_state=0).fit(x)
    drawn = m.draw_posterior(100, rng=0)
    order = np.argsort(m.model_.emission.mean)
    assert (np.diff(drawn["mean"][:, order], axis=1) > 0).all()


def test_what_is_too_narrow_is_said():
    rng = np.random.default_rng(0)
    x = (2.0 * np.repeat([0, 1, 0], 20) + rng.normal(size=60))[:, None]
    assert HiddenMarkovModel(2, n_init=1, random_state=0).fit(x).cautions
    apart = (20.0 * np.repeat([0, 1, 0], 20) + rng.normal(size=60))[:, None]
    assert not HiddenMarkovModel(2, n_init=1, random_state=0).fit(apart).cautions


@pytest.mark.slow  # two dozen series, a thousand turns each
def test_intervals_of_states_that_overlap_hold():
    """Of 90 % intervals of means and moves of states two deviations apart."""
    moves, held = np.array([[0.9, 0.1], [0.1, 0.9]]), {"mean": [], "transition": []}
    for seed in range(24):
        rng = np.random.default_rng(seed)
        z = np.zeros(200, dtype=int)
        for t in range(1, 200):
            z[t] = rng.choice(2, p=moves[z[t - 1]])
        m = HiddenMarkovModel(2, n_init=2, random_state=0)
        m.fit((2.0 * z + rng.normal(size=200))[:, None])
        order = np.argsort(m.model_.emission.mean)
        found = m.parameter_intervals(0.9, draws=320, rng=seed)
        for name, truth in (("mean", np.array([0.0, 2.0])), ("transition", moves)):
            place = order if name == "mean" else np.ix_(order, order)
            inside = (found.lower[name][place] <= truth) & (truth <= found.upper[name][place])
            held[name].extend(inside.ravel())
    assert np.mean(held["mean"]) > 0.77  # 48 intervals, three standard errors below 0.9
    assert np.mean(held["transition"]) > 0.77
