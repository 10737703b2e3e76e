"""Compiled epochs of the perceptron."""

from posteriori.numerics.compilation import compiled

__all__ = ["run_epoch"]


@compiled
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
