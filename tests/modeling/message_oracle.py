"""The slow and obvious messages: everything behind a factor, summed or integrated at once."""

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

__all__ = ["Piece", "cavity", "normal_message", "table_message"]


class Piece(NamedTuple):
    """One row of one factor: the scalars it sees, and its log density at their values."""

    sees: tuple[Any, ...]
    log: Callable[..., float]


def behind(pieces: Sequence[Piece], start: Piece, x: Any) -> list[Piece]:
    """Return a piece and all that hangs on it when ``x`` is cut."""
    kept, cut = [start], {x}
    grown = True
    while grown:
        seen = {u for piece in kept for u in piece.sees} - cut
        more = [p for p in pieces if p not in kept and seen & set(p.sees)]
        kept += more
        grown = bool(more)
    return kept


def cavity(pieces: Sequence[Piece], start: Piece, x: Any) -> list[Piece]:
    """Return all that hangs on ``x`` when ``start`` is cut."""
    found = [
        p
        for other in pieces
        if other is not start and x in other.sees
        for p in behind(pieces, other, x)
    ]
    return list({id(p): p for p in found}.values())


def normal_message(pieces: Sequence[Piece], x: Sequence[Any]) -> tuple[np.ndarray, np.ndarray]:
    """Return ξ and W of the integral of all pieces over everything but the scalars ``x``.

    Second differences of a quadratic are exact; what is flat is left flat by the pseudo-inverse.
    """
    names = list(dict.fromkeys([*x, *(u for p in pieces for u in p.sees)]))
    n = len(names)

    def value(at: np.ndarray) -> float:
        where = dict(zip(names, at, strict=True))
        return sum(p.log(*(where[u] for u in p.sees)) for p in pieces)

    unit, base = np.eye(n), value(np.zeros(n))
    plus = np.array([value(e) for e in unit])
    minus = np.array([value(-e) for e in unit])
    h = 0.5 * (plus - minus)
    w = np.diag(2.0 * base - plus - minus)
    for i in range(n):
        for j in range(i):
            w[i, j] = w[j, i] = -(value(unit[i] + unit[j]) - plus[i] - plus[j] + base)
    k = len(x)
    solved = np.linalg.pinv(w[k:, k:], rcond=1e-12, hermitian=True)
    return h[:k] - w[:k, k:] @ solved @ h[k:], w[:k, :k] - w[:k, k:] @ solved @ w[k:, :k]


def table_message(pieces: Sequence[Piece], x: Any, states: Mapping[Any, int]) -> np.ndarray:
    """Return the normalised sum of all pieces over everything but ``x``."""
    names = list(dict.fromkeys([x, *(u for p in pieces for u in p.sees)]))
    total = np.zeros(states[x])
    for at in itertools.product(*(range(states[u]) for u in names)):
        where = dict(zip(names, at, strict=True))
        total[at[0]] += np.exp(sum(p.log(*(where[u] for u in p.sees)) for p in pieces))
    return total / total.sum()
