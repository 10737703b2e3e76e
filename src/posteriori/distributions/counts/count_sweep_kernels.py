"""Compiled sums over the counts of mixtures."""

from __future__ import annotations

from posteriori.numerics.compilation import kernel
from posteriori.numerics.types import Array

__all__ = ["sweep_counts"]


@kernel(sums="free")
def sweep_counts(
    levels: Array,
    rows: Array,
    start: Array,
    mass: Array,
    a: Array,
    b: Array,
    every: int,
    most: int,
    margin: float,
    found: Array,
) -> None:
    """Find the least counts whose cumulative probabilities reach levels, −1 where that is not sure.

    Parameters
    ----------
    levels : (R,)
        Cumulative probabilities.
    rows : (R,)
        Which mixture each is of.
    start, mass : (N, K)
        Multiples of ``every``, and the weighted probabilities of these counts in each component.
    a, b : (N, K)
        With p(x + 1)/p(x) = a + b/(x + 1).
    every, most : int
        Most steps are a multiple of the other.
    margin : float
        Cumulative probabilities that are nearer to a level do not decide.
    found : (R,)
        Filled with the counts.
    """
    size = mass.shape[1]
    now = mass[0].copy()
    for i in range(len(levels)):
        row, level = rows[i], levels[i]
        first = start[row, 0]
        for j in range(size):
            first = min(first, start[row, j])
            now[j] = 0.0
        total, found[i] = 0.0, -1.0
        for step in range(most):
            x = first + step
            if step % every == 0:
                for j in range(size):
                    if start[row, j] == x:
                        now[j] = mass[row, j]
            before, inverse = total, 1.0 / (x + 1.0)
            for j in range(size):
                total += now[j]
                now[j] *= a[row, j] + b[row, j] * inverse
            if total >= level:
                if total - level > margin and level - before > margin:
                    found[i] = x
                break
