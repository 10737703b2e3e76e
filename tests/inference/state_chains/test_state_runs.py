"""Runs, surprises and densities of rows given those before, against enumeration and plain loops."""

from itertools import groupby, pairwise, product

import numpy as np

from posteriori.inference.state_chains.state_runs import (
    find_runs,
    find_surprises,
    predictive_log_prob,
)


def test_densities_given_earlier_rows_are_ratios_of_sums_over_paths():
    rng = np.random.default_rng(0)
    initial, transition = rng.dirichlet(np.ones(3)), rng.dirichlet(np.ones(3), size=3)
    scores, lengths = rng.normal(size=(7, 3)), np.array([4, 3])
    found = predictive_log_prob(initial, transition, scores, lengths)

    def probability(rows):
        """p(rows of one series), by all paths of states."""
        if not len(rows):
            return 1.0
        total = 0.0
        for path in product(range(3), repeat=len(rows)):
            p = initial[path[0]] * np.prod([transition[a, b] for a, b in pairwise(path)])
            total += p * np.exp(sum(row[k] for row, k in zip(rows, path, strict=True)))
        return total

    for part, told in ((scores[:4], found[:4]), (scores[4:], found[4:])):
        whole = np.log([probability(part[:t]) for t in range(len(part) + 1)])
        expected = np.diff(whole)
        np.testing.assert_allclose(told, expected, rtol=1e-12)


def test_runs_are_those_of_a_plain_loop():
    rng = np.random.default_rng(1)
    lengths = np.array([9, 1, 14])
    states = rng.integers(0, 2, lengths.sum())
    found = find_runs(np.eye(2)[states], lengths)
    expected = []
    for s, part in enumerate(np.split(states, np.cumsum(lengths)[:-1])):
        start = 0
        for state, steps in groupby(part.tolist()):
            length = len(list(steps))
            whole = start > 0 and start + length < len(part)
            expected.append((s, start, length, state, whole))
            start += length
    assert [tuple(run) for run in found] == expected


def test_stretches_are_joined_over_two_rows_and_end_with_their_series():
    own = -np.linspace(0.0, 1.0, 10_001)  # all but a thousandth lie above −0.999
    expected = np.zeros(20)
    expected[[2, 5, 9, 10]] = (
        -3.0,
        -2.0,
        -4.0,
        -5.0,
    )  # two rows between 2 and 5, three between 5 and 9
    found = find_surprises(expected, np.array([10, 10]), own)
    assert [(one.series, one.start, one.length) for one in found] == [
        (1, 0, 1),
        (0, 9, 1),
        (0, 2, 4),
    ]
    np.testing.assert_allclose([one.nats for one in found], [4.5, 3.5, 2.5])
