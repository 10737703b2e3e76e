r"""Sum–product on forests whose nodes come in batches.

.. math:: \mu_{f\to x}(x) = \int f(x, u_1, \dots)\,\prod_j \mu_{u_j\to f}(u_j)\,du, \qquad
          \mu_{x\to f}(x) = \prod_{g\ne f} \mu_{g\to x}(x).

A variable is an array of ``count`` members, a factor an array of ``rows``, and each row sees one
member of each of its variables, chosen by an index. Messages are tuples of arrays that add up where
densities multiply: weighted means and precisions, natural parameters, logarithms of tables. All
rows at the same distance from the root are handled at once: a plate is one step, a chain is as many
as it is long.

Reference: F. R. Kschischang, B. J. Frey & H.-A. Loeliger, "Factor graphs and the sum–product
algorithm", IEEE Trans. Inf. Theory 47(2), 2001.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from posteriori.inference.messages.forest_order import Batch, Parts, Paths, RowFactor, find_order
from posteriori.numerics.blocks.block_sizes import IN_MEMORY, rows_per_block

__all__ = ["ForestMessages", "pass_messages"]


class ForestMessages:
    """All messages of a forest.

    Those of factors that see one variable are made when they are asked for: of a million rows only
    the sums are held.
    """

    def __init__(self, variables: Mapping[str, Batch], factors: Sequence[RowFactor]) -> None:
        self.variables = variables
        self.factors = tuple(factors)
        self._slots: dict[str, list[tuple[int, int]]] = {name: [] for name in variables}
        self._received: dict[tuple[int, int], Parts] = {}
        self._sent: dict[tuple[int, int], Parts] = {}
        for f, factor in enumerate(self.factors):
            for slot, view in enumerate(factor.views):
                batch = variables[view.variable]
                self._slots[view.variable].append((f, slot))
                self._received[f, slot] = _zeros(batch.count, batch)
                if len(factor.views) > 1:
                    self._sent[f, slot] = _zeros(factor.rows, batch)

    def to_variable(self, f: int, slot: int) -> Parts:
        """Return the message of every row of factor ``f`` to the member that it sees."""
        if (f, slot) in self._sent:
            return self._sent[f, slot]
        factor = self.factors[f]
        return factor.send(np.arange(factor.rows), slot, [])

    def to_factor(self, f: int, slot: int) -> Parts:
        """Return the message that every row of factor ``f`` gets from the member that it sees."""
        rows = np.arange(self.factors[f].rows)
        return self._without(f, slot, rows, self.to_variable(f, slot))

    def product(self, variable: str) -> Parts:
        """Return the product of all messages to each member: its marginal."""
        total = _zeros(self.variables[variable].count, self.variables[variable])
        for key in self._slots[variable]:
            total = _add(total, self._received[key])
        return total

    def _without(self, f: int, slot: int, rows: Any, own: Parts) -> Parts:
        """Multiply what the members seen by some rows got, apart from these rows' own messages.

        What other rows of the same factor sent is the sum of all less the own: exactly nothing
        where there are no others.
        """
        view = self.factors[f].views[slot]
        members = view.at(rows)
        total = tuple(
            got[members] - mine for got, mine in zip(self._received[f, slot], own, strict=True)
        )
        for key in self._slots[view.variable]:
            if key != (f, slot):
                total = _add(total, tuple(got[members] for got in self._received[key]))
        return total

    def _gather_leaves(self) -> None:
        """Add up the messages of factors that see one variable."""
        for f, factor in enumerate(self.factors):
            if len(factor.views) > 1:
                continue
            batch = self.variables[factor.views[0].variable]
            if factor.sums is not None:
                self._received[f, 0] = factor.sums()
                continue
            for rows in _chunks(factor, batch):
                self._receive(f, 0, rows, factor.send(rows, 0, []))

    def _send(self, f: int, slot: int, rows: Any) -> None:
        factor = self.factors[f]
        others = [other for other in range(len(factor.views)) if other != slot]
        incoming = [
            self._without(f, j, rows, tuple(part[rows] for part in self._sent[f, j]))
            for j in others
        ]
        made = factor.send(rows, slot, incoming)
        for part, new in zip(self._sent[f, slot], made, strict=True):
            part[rows] = new
        self._receive(f, slot, rows, made)

    def _sweep(self, f: int, slot: int, paths: Any) -> None:
        """Send along paths (L, B), where each row sees what the row before it sent to."""
        factor = self.factors[f]
        assert factor.sweep is not None
        rows = paths.ravel()
        own = tuple(part[rows] for part in self._sent[f, 1 - slot])
        base = self._without(f, 1 - slot, rows, own)
        made = factor.sweep(
            paths, slot, tuple(part.reshape(*paths.shape, *part.shape[1:]) for part in base)
        )
        for part, new in zip(self._sent[f, slot], made, strict=True):
            part[paths] = new
        self._receive(f, slot, rows, tuple(p.reshape(len(rows), *p.shape[2:]) for p in made))

    def _receive(self, f: int, slot: int, rows: Any, made: Parts) -> None:
        view = self.factors[f].views[slot]
        for total, new in zip(self._received[f, slot], made, strict=True):
            if len(total) == 1:
                total += new.sum(axis=0)
            else:
                np.add.at(total, view.at(rows), new)


def pass_messages(variables: Mapping[str, Batch], factors: Sequence[RowFactor]) -> ForestMessages:
    """Pass messages from the leaves to the roots and back.

    Parameters
    ----------
    variables : mapping of str to Batch
    factors : sequence of RowFactor

    Raises
    ------
    ValueError
        When rows and members form a loop; the message names who takes part.

    Notes
    -----
    Linear in the number of rows; one step of array operations for each distance from the root.
    """
    messages = ForestMessages(variables, factors)
    messages._gather_leaves()
    pieces = find_order(variables, messages.factors)
    for piece in reversed(pieces):
        if isinstance(piece, Paths):
            messages._sweep(piece.factor, piece.slot, piece.rows[::-1])
        else:
            for f, slot, rows in piece:
                messages._send(f, slot, rows)
    for piece in pieces:
        if isinstance(piece, Paths):
            messages._sweep(piece.factor, 1 - piece.slot, piece.rows)
        else:
            for f, slot, rows in piece:
                for other in range(len(messages.factors[f].views)):
                    if other != slot:
                        messages._send(f, other, rows)
    return messages


# -- helpers ---------------------------------------------------------------------------------


def _zeros(count: int, batch: Batch) -> Parts:
    return tuple(np.zeros((count, *shape)) for shape in batch.shapes)


def _add(a: Parts, b: Parts) -> Parts:
    return tuple(p + q for p, q in zip(a, b, strict=True))


def _chunks(factor: RowFactor, batch: Batch) -> Iterator[Any]:
    numbers = sum(int(np.prod(shape)) for shape in batch.shapes)
    step = rows_per_block(numbers, IN_MEMORY)
    for start in range(0, factor.rows, step):
        yield np.arange(start, min(start + step, factor.rows))
