"""Compiled epochs of the perceptron and its kin."""

from posteriori.numerics.compilation import kernel

__all__ = ["run_dual_epoch", "run_epoch", "run_margin_epoch"]


@kernel
def run_epoch(x, codes, order, rate, weights):
    """Pass over the rows once; return the number of mistakes.

    At each, w_y += η (x, 1) and w_k −= η (x, 1), k being the best of the other classes.
    """
    size, d = weights.shape[0], x.shape[1]
    mistakes = 0
    for n in order:
        y, rival = codes[n], -1
        own = best = 0.0
        for k in range(size):
            total = weights[k, d]
            for j in range(d):
                total += weights[k, j] * x[n, j]
            if k == y:
                own = total
            elif rival < 0 or total > best:
                rival, best = k, total
        if own <= best:
            mistakes += 1
            for j in range(d):
                weights[y, j] += rate * x[n, j]
                weights[rival, j] -= rate * x[n, j]
            weights[y, d] += rate
            weights[rival, d] -= rate
    return mistakes


@kernel
def run_dual_epoch(gram, codes, order, counts, scores):
    """Pass over the rows once in feature space; return the number of mistakes.

    ``counts`` (N, K) and ``scores`` (N, K), the Gram matrix times them, are changed in place.
    """
    mistakes = 0
    for n in order:
        y, rival = codes[n], -1
        for k in range(scores.shape[1]):
            if k != y and (rival < 0 or scores[n, k] > scores[n, rival]):
                rival = k
        if scores[n, y] <= scores[n, rival]:
            mistakes += 1
            counts[n, y] += 1.0
            counts[n, rival] -= 1.0
            for m in range(len(gram)):
                scores[m, y] += gram[n, m]
                scores[m, rival] -= gram[n, m]
    return mistakes


@kernel
def run_margin_epoch(x, sign, order, penalty, before, state, weights, total):
    r"""Take a subgradient step of (1/N) Σ max(0, 1 − s(w·x + b)) + λ|w|² at each row.

    ``weights`` (D + 1,), the bias last, moves; ``total`` (D + 1,) is its mean, later steps weighing
    more; ``state`` (1,) counts steps. Steps have the length 1/(2λ(t + t₀)), with ``before`` for t₀ = R²/2λ, and
    the bias moves in units of R.
    """
    d = x.shape[1]
    square = 2.0 * penalty * before  # R²
    for n in order:
        state[0] += 1.0
        t = state[0]
        rate = 1.0 / (2.0 * penalty * (t + before))
        value = weights[d]
        for j in range(d):
            value += weights[j] * x[n, j]
        for j in range(d):
            weights[j] *= 1.0 - 2.0 * rate * penalty
        if sign[n] * value < 1.0:
            for j in range(d):
                weights[j] += rate * sign[n] * x[n, j]
            weights[d] += rate * square * sign[n]
        share = 2.0 / (t + 1.0)  # of the mean with weights 1, 2, …, t
        for j in range(d + 1):
            total[j] += share * (weights[j] - total[j])
