"""Hidden Markov chains against hmmlearn's compiled kernels and dynamax: equal answers, then ratios.

Forward–backward with sums of pairs, filter and Viterbi of one long sequence; many short sequences
beside one long; run lengths beside the plain chain of as many states as a run can have rows. Also how
time grows with the length, and how much memory a call holds.

    python bench/bench_hidden_markov.py [--large]

``--large`` goes on to T = 10⁷.
"""

from __future__ import annotations

import argparse

import dynamax_peer
import numpy as np
from harness import compare, peak_memory, report, take_turns
from hmmlearn import _hmmc

from posteriori.inference import filter_states, forward_backward, most_likely_path, smooth_runs

N_ROWS = 10**5
N_STATES = 8
LONGEST = 100


def long_chain(n_rows: int = N_ROWS, n_states: int = N_STATES) -> tuple:
    """π, A and ln ℓ of states on a line that are hard to tell apart."""
    rng = np.random.default_rng(0)
    initial = rng.dirichlet(np.ones(n_states))
    transition = rng.dirichlet(np.ones(n_states), n_states)
    y = 3.0 * rng.normal(size=n_rows)
    return initial, transition, -0.5 * (y[:, None] - np.linspace(-4, 4, n_states)) ** 2


def logs(initial: np.ndarray, transition: np.ndarray, likelihood: np.ndarray) -> tuple:
    with np.errstate(divide="ignore"):
        return np.log(initial), np.log(transition), likelihood


def scaling_kernels(initial: np.ndarray, transition: np.ndarray, likelihood: np.ndarray) -> tuple:
    """What ``hmmlearn.base._fit_scaling`` calls for one sequence."""
    weights = np.exp(likelihood)
    log_evidence, forward, scaling = _hmmc.forward_scaling(initial, transition, weights)
    backward = _hmmc.backward_scaling(initial, transition, weights, scaling)
    probabilities = forward * backward
    probabilities /= probabilities.sum(axis=1, keepdims=True)
    sums = _hmmc.compute_scaling_xi_sum(forward, transition, backward, weights)
    return probabilities, sums, log_evidence


def one_sequence() -> list:
    chain = long_chain()
    model = logs(*chain)
    ours, theirs = forward_backward(*model), scaling_kernels(*chain)
    np.testing.assert_allclose(ours.probabilities, theirs[0], rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(ours.pair_sums, theirs[1], rtol=1e-9)
    np.testing.assert_allclose(ours.log_evidence, theirs[2], rtol=1e-12)
    score, path = _hmmc.viterbi(*chain)
    best = most_likely_path(*model)
    np.testing.assert_allclose(best.log_joint, score, rtol=1e-12)
    np.testing.assert_array_equal(best.states, path)
    other = dynamax_peer.smoother(*chain)
    np.testing.assert_allclose(ours.probabilities, other.smoothed_probs, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(ours.pair_sums, other.trans_probs, rtol=1e-6)
    np.testing.assert_allclose(ours.log_evidence, other.marginal_loglik, rtol=1e-9)
    weights = np.exp(chain[2])
    filtered = _hmmc.forward_scaling(*chain[:2], weights)[1]
    np.testing.assert_allclose(filter_states(*model).probabilities, filtered, rtol=1e-9, atol=1e-14)
    rows = [
        ("forward-backward (scaling kernels)", forward_backward, scaling_kernels, 2.2),
        ("forward-backward (dynamax)", forward_backward, dynamax_peer.smoother, 2.2),
        ("Viterbi", most_likely_path, _hmmc.viterbi, 1.5),
        ("Viterbi (dynamax)", most_likely_path, dynamax_peer.most_probable_path, 1.5),
        (
            "filter (scaling kernel)",
            filter_states,
            lambda a, b, c: _hmmc.forward_scaling(a, b, np.exp(c)),
            1.0,
        ),
    ]
    return [
        compare(name, lambda f=f: f(*model), lambda g=g: g(*chain), bar=bar, faster=True)
        for name, f, g, bar in rows
    ]


def many_sequences() -> list:
    """10⁴ sequences of 50 rows, beside one of 5·10⁵: as fast by the row."""
    chain = long_chain(500_000)
    model, lengths = logs(*chain), [50] * 10_000
    ends = np.cumsum(lengths)
    ours = forward_backward(*model, lengths=lengths)
    for s in (0, 17, 9_999):
        part = slice(ends[s] - 50, ends[s])
        theirs = scaling_kernels(*chain[:2], chain[2][part])
        np.testing.assert_allclose(ours.probabilities[part], theirs[0], rtol=1e-8, atol=1e-12)
        np.testing.assert_allclose(ours.log_evidence[s], theirs[2], rtol=1e-12)

    def theirs_one_by_one() -> None:
        for end in ends:
            scaling_kernels(*chain[:2], chain[2][end - 50 : end])

    def ours_at_once() -> object:
        return forward_backward(*model, lengths=lengths)

    return [
        compare(
            "10^4 sequences of 50 (hmmlearn)", ours_at_once, theirs_one_by_one, bar=3.0, faster=True
        ),
        compare(
            "10^4 sequences of 50 (ours, one of 5*10^5)",
            ours_at_once,
            lambda: forward_backward(*model),
            bar=1.5,
            faster=False,
        ),
    ]


def run_lengths() -> list:
    """Runs of at most 100 rows, K = 5, T = 2000, beside a plain chain of 500 states.

    Its states also count the rows that are left of a run.
    """
    rng, n_states, n_rows = np.random.default_rng(1), 5, 2000
    moves = rng.dirichlet(np.ones(n_states), n_states) * (1 - np.eye(n_states))
    moves /= moves.sum(axis=1, keepdims=True)
    lengths = np.arange(1, LONGEST + 1)
    durations = np.exp(-0.5 * ((lengths - rng.uniform(10, 60, (n_states, 1))) / 10) ** 2)
    durations /= durations.sum(axis=1, keepdims=True)
    initial = rng.dirichlet(np.ones(n_states))
    states = np.repeat(rng.integers(0, n_states, n_rows // 20), 20)
    y = 2.0 * states + rng.normal(size=n_rows)
    likelihood = -0.5 * (y[:, None] - 2.0 * np.arange(n_states)) ** 2
    wide = np.zeros((n_states, LONGEST, n_states, LONGEST))
    for left in range(1, LONGEST):
        wide[np.arange(n_states), left, np.arange(n_states), left - 1] = 1.0
    wide[:, 0] = moves[:, :, None] * durations
    size = n_states * LONGEST
    plain = (
        (initial[:, None] * durations).ravel(),
        wide.reshape(size, size),
        np.repeat(likelihood, LONGEST, axis=1),
    )
    model = (*logs(initial, moves, durations)[:2], np.log(durations), likelihood)
    ours, theirs = smooth_runs(*model), scaling_kernels(*plain)
    probabilities = theirs[0].reshape(n_rows, n_states, LONGEST).sum(axis=2)
    np.testing.assert_allclose(ours.probabilities, probabilities, rtol=1e-7, atol=1e-11)
    np.testing.assert_allclose(ours.log_evidence, theirs[2], rtol=1e-11)
    return [
        compare(
            "runs of up to 100 rows (500 states)",
            lambda: smooth_runs(*model),
            lambda: scaling_kernels(*plain),
            bar=20.0,
            faster=True,
            rounds=3,
            warm=False,
        )
    ]


def show_growth(large: bool) -> None:
    print("\nforward-backward by length: time of a row, peak memory over the (T, K) result")
    for n_rows in (10**4, 10**5, 10**6, 10**7) if large else (10**4, 10**5, 10**6):
        model = logs(*long_chain(n_rows, 4))
        ((seconds, _),) = take_turns([lambda model=model: forward_backward(*model)], 3)
        memory = peak_memory(lambda model=model: forward_backward(*model)) / model[2].nbytes
        print(f"  T={n_rows:<9} {seconds / n_rows * 1e9:7.0f} ns {memory:6.1f} x (goal <= 3)")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--large", action="store_true", help="go on to T = 10^7")
    large = parser.parse_args().large
    report(f"one sequence, T={N_ROWS}, K={N_STATES}", one_sequence())
    report("many sequences, K=8", many_sequences())
    report("run lengths, K=5, T=2000", run_lengths())
    show_growth(large)


if __name__ == "__main__":
    main()
