"""What solving a block costs: arithmetic operations and memory, estimated before it runs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from posteriori.inference.gaussian_equations import Equation, Latent

__all__ = ["Cost", "elimination_cost"]

_WORD = 8


class Cost(NamedTuple):
    """Estimated arithmetic operations, and bytes of the arrays that are held at once."""

    operations: float
    bytes: float

    def __str__(self) -> str:
        return f"about {_scaled(self.operations)} operations, {_scaled(self.bytes, 'B')}"


def elimination_cost(shapes: Sequence[Latent], equations: Sequence[Equation]) -> Cost:
    """Return the cost of gathering equations and eliminating latents in the given order.

    A latent of s numbers that meets n numbers of later ones costs s³/3 + s² n + s n².
    """
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


def _scaled(value: float, unit: str = "") -> str:
    """Write a number with a prefix of the thousands: 1.2 k, 3.4 M."""
    power = min(int(math.log10(value) / 3.0 + 1e-12), 5) if value >= 1.0 else 0
    prefix = ("", "k", "M", "G", "T", "P")[power]
    tail = f" {prefix}{unit}" if prefix or unit else ""
    return f"{value / 1000.0**power:.3g}{tail}"
