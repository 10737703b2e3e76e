"""What solving a block costs, estimated before it runs, and the words of plans for amounts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from posteriori.inference.gaussian.equations import Equation, Latent
from posteriori.inference.gaussian.ordering import is_dense, is_sparse

__all__ = ["Cost", "counted", "elimination_cost", "members_and_states", "vectors_and_numbers"]

#: Bytes of a float64.
_WORD = 8


class Cost(NamedTuple):
    """Estimated arithmetic operations, and bytes of the arrays that are held at once."""

    operations: float
    bytes: float

    def __str__(self) -> str:
        unit = "operation" if round(self.operations) == 1 else "operations"
        return f"about {_scaled(self.operations)} {unit}, {_scaled(self.bytes, 'B')}"


def elimination_cost(shapes: Sequence[Latent], equations: Sequence[Equation]) -> Cost:
    """Return the cost of gathering equations and eliminating latents in the given order.

    A latent of s numbers that meets n numbers of later ones costs s³/3 + s² n + s n².
    """
    if is_dense(shapes) and not is_sparse(shapes, equations):
        return _dense_cost(shapes, equations)
    sizes = {v.name: v.size for v in shapes}
    rank = {v.name: i for i, v in enumerate(shapes)}
    meets: dict[str, set[str]] = {v.name: set() for v in shapes}
    operations, words = 0.0, 0.0
    for equation in equations:
        names = {link.name for link in equation.links}
        width = sum(sizes[name] for name in names)
        rows = len(equation.constant)
        operations += rows * width * (width + 1.0)
        words += rows * (width + 1.0)
        for name in names:
            meets[name] |= {other for other in names if rank[other] > rank[name]}
    for latent in shapes:
        later = meets[latent.name]
        for other in later:  # eliminating a latent joins those that it met
            meets[other] |= {third for third in later if rank[third] > rank[other]}
        s, n = latent.size, sum(sizes[other] for other in later)
        operations += latent.count * (s**3 / 3.0 + s * s * n + s * n * n)
        words += latent.count * s * (2.0 * s + 2.0 * n + 1.0)
    return Cost(operations, _WORD * words)


def _dense_cost(shapes: Sequence[Latent], equations: Sequence[Equation]) -> Cost:
    """Return the cost of one Cholesky factor, its inverse, and the rows that make the matrix."""
    sizes = {v.name: v.size for v in shapes}
    widths = [(len(e.constant), sum(sizes[link.name] for link in e.links)) for e in equations]
    numbers = float(sum(sizes.values()))
    operations = numbers**3 + sum(rows * width * (width + 1.0) for rows, width in widths)
    words = 3.0 * numbers**2 + sum(rows * (width + 1.0) for rows, width in widths)
    return Cost(operations, _WORD * words)


def counted(number: int, noun: str) -> str:
    """Write an amount: 1 row, 3 rows."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def vectors_and_numbers(count: int, size: int) -> str:
    """Write the amount of what is unknown: 1 number, 4 numbers, 1 vector of 3, 6 vectors of 2."""
    return counted(count, "number") if size == 1 else f"{counted(count, 'vector')} of {size}"


def members_and_states(count: int, states: int) -> str:
    """Write the amount of discrete variables: 2 states, 8 members of 3 states."""
    return f"{states} states" if count == 1 else f"{counted(count, 'member')} of {states} states"


def _scaled(value: float, unit: str = "") -> str:
    """Write a number with a prefix of the thousands: 1.2 k, 3.4 M."""
    power = min(int(math.log10(value) / 3.0 + 1e-12), 5) if value >= 1.0 else 0
    prefix = ("", "k", "M", "G", "T", "P")[power]
    tail = f" {prefix}{unit}" if prefix or unit else ""
    shown = f"{value / 1000.0**power:.3g}" if power else f"{round(value)}"
    return f"{shown}{tail}"
