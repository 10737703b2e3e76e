"""Several chains that are seen together against one chain of all joint states in hmmlearn.

Equal answers, then ratios; also how time grows with the length and with the number of chains. What is
timed is the expectation step: from log-likelihoods to the probabilities of states, the expected moves of
each chain, and the log evidence.
"""

from __future__ import annotations

import statistics
import time
from functools import reduce

import numpy as np
from harness import compare, peak_memory, report
from hmmlearn import _hmmc

from posteriori.inference.factorial_chains.kronecker_passes import (
    Chains,
    Sequences,
    chain_indicators,
    most_likely_states,
    smooth_factorial,
)

N_STEPS = 10**4
N_CHAINS = 8


def random_case(n_chains: int, n_steps: int) -> tuple:
    """Return binary chains with effects 1, 2, 4, … and the log-likelihoods of all joint states."""
    rng = np.random.default_rng(0)
    chains = Chains(
        tuple(rng.dirichlet(np.full(2, 5.0)) for _ in range(n_chains)),
        tuple(rng.dirichlet(np.full(2, 5.0), 2) for _ in range(n_chains)),
    )
    means = chain_indicators(chains.sizes)[:, 1::2] @ 2.0 ** np.arange(n_chains)
    x = rng.choice(means, n_steps) + 3 * rng.normal(size=n_steps)
    return chains, -0.5 * ((x[:, None] - means) / 3) ** 2


def rows() -> list:
    chains, likelihood = random_case(N_CHAINS, N_STEPS)
    initial, transition = (reduce(np.kron, part) for part in chains)
    indicators = chain_indicators(chains.sizes)
    one = Sequences(np.array([N_STEPS]), np.ones(1))

    def ours() -> tuple:
        found = smooth_factorial(chains, lambda part: likelihood[part].copy(), one).chains
        return np.concatenate(found.probabilities, axis=1), found.pair_sums, found.log_evidence

    def hmmlearn() -> tuple:
        """What ``hmmlearn.base._fit_scaling`` calls for one sequence, read chain by chain."""
        weights = np.exp(likelihood)
        log_evidence, forward, scaling = _hmmc.forward_scaling(initial, transition, weights)
        backward = _hmmc.backward_scaling(initial, transition, weights, scaling)
        probabilities = forward * backward
        probabilities /= probabilities.sum(axis=1, keepdims=True)
        sums = _hmmc.compute_scaling_xi_sum(forward, transition, backward, weights)
        pairs = indicators.T @ sums @ indicators
        return probabilities @ indicators, pairs, log_evidence

    mine, theirs = ours(), hmmlearn()
    np.testing.assert_allclose(mine[0], theirs[0], rtol=1e-8, atol=1e-12)
    for m in range(N_CHAINS):
        place = slice(2 * m, 2 * m + 2)
        np.testing.assert_allclose(mine[1][m], theirs[1][place, place], rtol=1e-9)
    np.testing.assert_allclose(mine[2], theirs[2], rtol=1e-12)
    path = most_likely_states(chains, lambda part: likelihood[part].copy(), one)
    best = _hmmc.viterbi(initial, transition, likelihood)[1]
    np.testing.assert_array_equal(path, np.stack(np.unravel_index(best, chains.sizes), axis=1))
    return [
        compare(
            "expectations (hmmlearn, 256 states, scaling)", ours, hmmlearn, bar=10.0, faster=True
        ),
        compare(
            "Viterbi (hmmlearn, 256 states)",
            lambda: most_likely_states(chains, lambda part: likelihood[part].copy(), one),
            lambda: _hmmc.viterbi(initial, transition, likelihood),
            bar=3.0,
            faster=True,
        ),
    ]


def show_growth() -> None:
    print("\ntime per row and joint state, and peak memory over the log-likelihoods")
    for n_chains, n_steps in ((4, 10**4), (8, 10**4), (8, 10**5), (12, 10**3), (12, 10**4)):
        chains, likelihood = random_case(n_chains, n_steps)
        one = Sequences(np.array([n_steps]), np.ones(1))

        def run(chains=chains, likelihood=likelihood, one=one) -> object:
            return smooth_factorial(chains, lambda part: likelihood[part].copy(), one)

        times = []
        for _ in range(3):
            start = time.perf_counter()
            run()
            times.append(time.perf_counter() - start)
        each = statistics.median(times) / likelihood.size * 1e9
        memory = peak_memory(run) / likelihood.nbytes
        print(f"  {n_chains:2} chains, T={n_steps:<7} {each:6.1f} ns {memory:6.2f} x", flush=True)


def main() -> None:
    report(f"{N_CHAINS} binary chains, T={N_STEPS}", rows())
    show_growth()


if __name__ == "__main__":
    main()
