"""Compiled epochs of the perceptron."""

from posteriori.numerics.compilation import compiled

__all__ = ["run_epoch"]


@compiled
def run_epoch(x, sign, order, rate, weights):
    """Pass over the rows once, w += η t (x, 1) at each mistake; return the number of mistakes."""
    d = x.shape[1]
    mistakes = 0
    for n in order:
        total = weights[d]
        for j in range(d):
            total += weights[j] * x[n, j]
        if total * sign[n] <= 0.0:
            mistakes += 1
            step = rate * sign[n]
            for j in range(d):
                weights[j] += step * x[n, j]
            weights[d] += step
    return mistakes
