"""Effects that add up: densities with gaps, and an ascent that rises to where nothing rises."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from scipy.stats import multivariate_normal

from posteriori.inference.factorial_chains.additive_normal import (
    joint_log_densities,
    make_factorial_rows,
)
from posteriori.inference.factorial_chains.factorial_learning import (
    FLOOR,
    FactorialParameters,
    learn_factorial,
    smooth_rows,
)
from posteriori.inference.factorial_chains.kronecker_passes import Sequences

SIZES = (2, 3)


def simulated(seed=0, n=60, gaps=0.15):
    """Return rows of two chains in units of their columns, in two sequences of different weights."""
    rng = np.random.default_rng(seed)
    effects = [np.array([[-2.0, 0.0], [2.0, 1.0]]), np.array([[0.0, -3.0], [0.5, 0.0], [1.0, 3.0]])]
    x = 0.5 * rng.normal(size=(n, 2))
    for effect in effects:
        states = np.cumsum(rng.random(n) < 0.2) % len(effect)
        x += effect[states]
    x[rng.random(x.shape) < gaps] = np.nan
    x = (x - np.nanmean(x, axis=0)) / np.nanstd(x, axis=0)
    return x, Sequences(np.array([n - 20, 20]), np.array([1.0, 2.0]))


def test_densities_of_what_is_seen():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(6, 3))
    x[1, 0] = x[2, :] = x[3, 1:] = x[5, 0] = np.nan
    means, cov = rng.normal(size=(4, 3)), np.cov(rng.normal(size=(3, 9)))
    rows = make_factorial_rows(x, Sequences(np.array([6]), np.ones(1)))
    densities = joint_log_densities(rows, means, cov)
    for t in range(6):
        o = ~np.isnan(x[t])
        expected = np.zeros(4)
        if o.any():
            expected = [multivariate_normal(m[o], cov[np.ix_(o, o)]).logpdf(x[t, o]) for m in means]
        np.testing.assert_allclose(densities(slice(0, 6))[t], expected, rtol=1e-10)
        np.testing.assert_allclose(densities(slice(t, t + 1))[0], expected, rtol=1e-10)


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("gaps", [0.0, 0.15])
def test_the_objective_never_falls(exact, gaps):
    x, sequences = simulated(gaps=gaps)
    rows = make_factorial_rows(x, sequences)
    rng = np.random.default_rng(0)
    found = learn_factorial(rows, SIZES, rng, exact=exact, n_init=1, tol=1e-6, max_iter=2000)
    assert found.converged
    assert np.all(np.diff(found.trace) >= -1e-10 * np.abs(found.trace[0]))


@pytest.mark.parametrize("gaps", [0.0, 0.15])
def test_nothing_rises_where_the_ascent_ends(gaps):
    """Finite differences of the penalised log likelihood in all free parameters."""
    x, sequences = simulated(gaps=gaps)
    rows = make_factorial_rows(x, sequences)
    found = learn_factorial(
        rows, SIZES, np.random.default_rng(0), exact=True, n_init=3, tol=1e-10, max_iter=5000
    ).parameters
    total = sequences.row_weights.sum()

    def objective(free):
        effects, factor = free[:10].reshape(5, 2), np.zeros((2, 2))
        factor[np.tril_indices(2)] = free[10:13]
        cov = factor @ factor.T
        moved = found._replace(effects=effects, cov=cov)
        moved = moved._replace(transition=_shifted(found.transition, free[13:]))
        value = sequences.weights @ smooth_rows(rows, SIZES, moved, exact=True).log_evidence
        return value - 0.5 * total * FLOOR * np.trace(np.linalg.inv(cov))

    lower = np.linalg.cholesky(found.cov)[np.tril_indices(2)]
    free = np.concatenate([found.effects.ravel(), lower, np.zeros(13)])
    # tol stops the ascent at gradients of √(tol · curvature), curvatures being some hundreds
    np.testing.assert_allclose(approx_fprime(free, objective, 1e-6), 0.0, atol=5e-3)


def _shifted(transition, logits):
    """Return transitions with their logs moved, rows of probability 1."""
    parts = transition[:4].reshape(2, 2), transition[4:].reshape(3, 3)
    steps = logits[:4].reshape(2, 2), logits[4:].reshape(3, 3)
    moved = [a * np.exp(b) for a, b in zip(parts, steps, strict=True)]
    return np.concatenate([(a / a.sum(axis=1, keepdims=True)).ravel() for a in moved])


@pytest.mark.parametrize("exact", [True, False])
def test_weights_are_repetitions(exact):
    x, sequences = simulated()
    twice = np.concatenate([x, x[-20:]])
    options = {"exact": exact, "n_init": 2, "tol": 1e-8, "max_iter": 500}
    answers = [
        learn_factorial(rows, SIZES, np.random.default_rng(0), **options)
        for rows in (
            make_factorial_rows(x, sequences),
            make_factorial_rows(twice, Sequences(np.array([40, 20, 20]), np.ones(3))),
        )
    ]
    # both end within some tol of the same summit, whose curvatures are some hundreds
    np.testing.assert_allclose(answers[0].trace[-1], answers[1].trace[-1], rtol=1e-6)
    ours, repeated = (found.parameters.effects for found in answers)
    np.testing.assert_allclose(ours, repeated, atol=1e-3)


def test_many_rows_are_learned_from_their_first_ones(monkeypatch):
    """Starts are tried on a part; the answer is as good as that of all rows."""
    from posteriori.inference.factorial_chains import factorial_learning

    x, sequences = simulated(n=300)
    rows = make_factorial_rows(x, sequences)
    options = {"exact": True, "n_init": 3, "tol": 1e-6, "max_iter": 500}
    whole = learn_factorial(rows, SIZES, np.random.default_rng(0), **options)
    monkeypatch.setattr(factorial_learning, "_FIRST_ROWS", 290)
    part = learn_factorial(rows, SIZES, np.random.default_rng(0), **options)
    assert part.trace[-1] > whole.trace[-1] - 1.0
    assert isinstance(part.parameters, FactorialParameters)
