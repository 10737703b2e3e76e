"""Hidden chains by enumeration: every path, one after another."""

from itertools import product

import numpy as np
from scipy.special import gammaln, logsumexp


def all_paths(n_states, length):
    return np.array(list(product(range(n_states), repeat=length)))


def path_log_joints(initial, transition, scores):
    """ln p(x, z) of every path of one sequence; scores (T, K) are ln p(x_t | z_t)."""
    length, k = scores.shape
    paths = all_paths(k, length)
    with np.errstate(divide="ignore"):
        logs = np.log(initial)[paths[:, 0]] + scores[0, paths[:, 0]]
        for t in range(1, length):
            logs = logs + np.log(transition)[paths[:, t - 1], paths[:, t]] + scores[t, paths[:, t]]
    return paths, logs


def log_likelihood(initial, transition, sequences):
    """Σ ln p(x) of sequences given as scores (T, K)."""
    return sum(logsumexp(path_log_joints(initial, transition, s)[1]) for s in sequences)


def expected_counts(initial, transition, sequences):
    """Σ P(z_1), Σ P(z_t, z_{t+1}) and P(z_t) of each sequence, summed over all paths."""
    k = len(initial)
    first, pairs, marginals = np.zeros(k), np.zeros((k, k)), []
    for scores in sequences:
        paths, logs = path_log_joints(initial, transition, scores)
        weights = np.exp(logs - logsumexp(logs))
        shares = np.zeros(scores.shape)
        for path, w in zip(paths, weights, strict=True):
            first[path[0]] += w
            for t in range(len(path)):
                shares[t, path[t]] += w
                if t:
                    pairs[path[t - 1], path[t]] += w
        marginals.append(shares)
    return first, pairs, marginals


def log_dirichlet_multinomial(counts, alpha):
    """ln ∫ Π p^n Dir(p | α) dp of each row, over what is possible."""
    inside = alpha > 0
    a, n = np.where(inside, alpha, 0.0), np.where(inside, counts, 0.0)
    rows = gammaln(a.sum(-1)) - gammaln((a + n).sum(-1))
    rows = rows + np.where(inside, gammaln(np.where(inside, a + n, 1.0)), 0.0).sum(-1)
    return rows - np.where(inside, gammaln(np.where(inside, a, 1.0)), 0.0).sum(-1)


def exact_symbol_evidence(sequences, n_symbols, first, moves, symbols):
    """ln p(X) of a hidden chain of symbols, parameters integrated out path by path.

    ``first`` (K,), ``moves`` (K, K) and ``symbols`` (L,) are concentrations; 0 is impossible.
    """
    k, total = len(first), []
    for joint in product(*(all_paths(k, len(s)) for s in sequences)):
        n_first, n_moves, n_symbols_ = np.zeros(k), np.zeros((k, k)), np.zeros((k, n_symbols))
        for path, x in zip(joint, sequences, strict=True):
            n_first[path[0]] += 1
            np.add.at(n_moves, (path[:-1], path[1:]), 1)
            np.add.at(n_symbols_, (path, np.asarray(x)), 1)
        if (n_moves[moves == 0] > 0).any():
            continue
        total.append(
            log_dirichlet_multinomial(n_first, first)
            + log_dirichlet_multinomial(n_moves, moves).sum()
            + log_dirichlet_multinomial(n_symbols_, np.broadcast_to(symbols, (k, n_symbols))).sum()
        )
    return logsumexp(total)
