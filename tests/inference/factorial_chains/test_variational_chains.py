"""Variational chains: below the exact answer, equal to it where chains do not interact."""

import numpy as np
import pytest

from posteriori.inference.factorial_chains.additive_normal import make_factorial_rows
from posteriori.inference.factorial_chains.factorial_learning import (
    FactorialParameters,
    decode_rows,
    smooth_rows,
)
from posteriori.inference.factorial_chains.kronecker_passes import Sequences
from posteriori.inference.factorial_chains.variational_chains import (
    approximate_chains,
    mean_field,
)


def random_case(seed, sizes, *, n_columns=2, gaps=0.2):
    rng = np.random.default_rng(seed)
    factor = rng.normal(size=(n_columns, n_columns))
    parameters = FactorialParameters(
        np.concatenate([rng.dirichlet(np.ones(k)) for k in sizes]),
        np.concatenate([rng.dirichlet(np.ones(k), k).ravel() for k in sizes]),
        rng.normal(size=(sum(sizes), n_columns)),
        factor @ factor.T + np.eye(n_columns),
    )
    x = 2 * rng.normal(size=(12, n_columns))
    x[rng.random(x.shape) < gaps] = np.nan
    return make_factorial_rows(x, Sequences(np.array([7, 5]), np.array([1.0, 3.0]))), parameters


@pytest.mark.topic("003/H.15")
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("sizes", [(2, 2), (3, 2), (2, 2, 2), (4,)])
def test_bound_is_below_the_exact_likelihood(seed, sizes):
    rows, parameters = random_case(seed, sizes)
    exact = smooth_rows(rows, sizes, parameters, exact=True).log_evidence
    bound = smooth_rows(rows, sizes, parameters, exact=False).log_evidence
    assert np.all(bound <= exact + 1e-9)
    assert np.all(bound > exact - 20.0)  # and not by nonsense


@pytest.mark.parametrize("seed", range(3))
def test_one_chain_needs_no_approximation(seed):
    rows, parameters = random_case(seed, (3,))
    exact = smooth_rows(rows, (3,), parameters, exact=True)
    found = smooth_rows(rows, (3,), parameters, exact=False)
    np.testing.assert_allclose(found.log_evidence, exact.log_evidence, rtol=1e-10)
    np.testing.assert_allclose(found.probabilities[0], exact.probabilities[0], atol=1e-10)
    np.testing.assert_allclose(found.pair_sums[0], exact.pair_sums[0], atol=1e-10)


def test_chains_in_columns_of_their_own_need_no_approximation():
    """With independent noise and effects on different columns the posterior factorises."""
    sizes = (2, 3)
    rows, parameters = random_case(0, sizes)
    effects = parameters.effects.copy()
    effects[:2, 1] = effects[2:, 0] = 0.0
    parameters = parameters._replace(effects=effects, cov=np.diag([0.5, 2.0]))
    exact = smooth_rows(rows, sizes, parameters, exact=True)
    found = smooth_rows(rows, sizes, parameters, exact=False)
    np.testing.assert_allclose(found.log_evidence, exact.log_evidence, rtol=1e-10)
    for ours, expected in zip(found.probabilities, exact.probabilities, strict=True):
        np.testing.assert_allclose(ours, expected, atol=1e-10)
    np.testing.assert_array_equal(
        decode_rows(rows, sizes, parameters, exact=False),
        decode_rows(rows, sizes, parameters, exact=True),
    )


def test_more_sweeps_never_lower_the_bound():
    sizes = (2, 2, 2)
    rows, parameters = random_case(1, sizes)
    field = mean_field(rows, parameters.effects, parameters.cov)
    start, values = None, []
    for _ in range(20):
        found = approximate_chains(rows, parameters.chains(sizes), field, start, tol=np.inf)
        values.append(rows.sequences.weights @ found.log_evidence)
        start = found.probabilities
    assert np.all(np.diff(values) >= -1e-10 * np.abs(values[0]))
    settled = approximate_chains(rows, parameters.chains(sizes), field, tol=1e-10)
    np.testing.assert_allclose(rows.sequences.weights @ settled.log_evidence, values[-1], rtol=1e-6)
