"""Compiled moves of weight between points on the way to the smallest ball."""

from posteriori.numerics.compilation import kernel

__all__ = ["move_weights"]


@kernel
def move_weights(gram, own, a, squares, most, tol):
    """Move weight to the farthest point, at most so often; return how often.

    ``a`` (N,) and the squared distances to the center ``squares`` (N,) are changed in place.
    """
    n = len(a)
    for move in range(most):
        to, mean = 0, 0.0
        for i in range(n):
            mean += a[i] * squares[i]
            if squares[i] > squares[to]:
                to = i
        if squares[to] - mean <= tol * squares[to]:
            return move
        away, best = -1, 0.0
        for i in range(n):
            if a[i] > 0.0:
                lead = squares[to] - squares[i]
                apart = own[to] - 2.0 * gram[to, i] + own[i]
                if apart > 0.0 and lead * lead / apart > best:
                    away, best = i, lead * lead / apart
        if away < 0:
            return move
        lead = squares[to] - squares[away]
        apart = own[to] - 2.0 * gram[to, away] + own[away]
        step = 0.5 * lead / apart  # where the dual is highest
        if step >= a[away]:
            step = a[away]
            a[away] = 0.0
        else:
            a[away] -= step
        a[to] += step
        shift = step * (own[to] - own[away] - lead + step * apart)  # of aᵀKa
        for i in range(n):
            squares[i] += shift - 2.0 * step * (gram[to, i] - gram[away, i])
    return most
