"""What a file of a network holds: names, states and tables, before anything is asked of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from posteriori.numerics.types import Array

__all__ = ["FactorTables", "NetworkTables", "require_matching"]


class NetworkTables(NamedTuple):
    """A Bayesian network as its tables: p(x) = Π_i p(x_i | parents of x_i).

    Attributes
    ----------
    names : tuple of str, length N
        The variables, in the order of the file.
    states : tuple of tuple of str, length N
        The labels of each variable.
    parents : tuple of tuple of str, length N
        The names that each variable is conditioned on, in the order of the axes of its table.
    tables : tuple of ndarray, length N
        p(x_i | parents), shape (sizes of the parents…, own size): the last axis sums to 1.
    notes : tuple of str
        What was changed on reading: rows that were divided by their sum.
    """

    names: tuple[str, ...]
    states: tuple[tuple[str, ...], ...]
    parents: tuple[tuple[str, ...], ...]
    tables: tuple[Array, ...]
    notes: tuple[str, ...] = ()

    @property
    def scopes(self) -> tuple[tuple[str, ...], ...]:
        """The axes of each table, by name: the parents, then the variable itself."""
        pairs = zip(self.names, self.parents, strict=True)
        return tuple((*parents, name) for name, parents in pairs)


class FactorTables(NamedTuple):
    """A Markov network as its tables: p(x) ∝ Π_s f_s(x_s).

    Attributes
    ----------
    names : tuple of str, length N
    states : tuple of tuple of str, length N
        The labels of each variable.
    scopes : tuple of tuple of str, length M
        The axes of each table, by name.
    tables : tuple of ndarray, length M
        f_s, finite and not negative, one axis for each name of its scope.
    notes : tuple of str
    """

    names: tuple[str, ...]
    states: tuple[tuple[str, ...], ...]
    scopes: tuple[tuple[str, ...], ...]
    tables: tuple[Array, ...]
    notes: tuple[str, ...] = ()


def require_matching(network: NetworkTables | FactorTables) -> None:
    """Refuse tables whose axes have other sizes than the variables that they are named after.

    Raises
    ------
    ValueError
        Also where the fields have different lengths, or a scope has a name that is not there.
    """
    counts = {len(network.names), len(network.states)}
    if len(counts) > 1 or len(network.scopes) != len(network.tables):
        raise ValueError("a network needs states for each name, and a scope for each table")
    sizes = dict(zip(network.names, map(len, network.states), strict=True))
    for scope, table in zip(network.scopes, network.tables, strict=True):
        _require_shape(scope, table, sizes)


def _require_shape(scope: Sequence[str], table: Array, sizes: dict[str, int]) -> None:
    strangers = [name for name in scope if name not in sizes]
    if strangers:
        raise ValueError(f"the table of {', '.join(scope)} names {strangers[0]!r}, no variable")
    expected = tuple(sizes[name] for name in scope)
    if table.shape != expected:
        raise ValueError(
            f"the table of {', '.join(scope)} has shape {table.shape}; its states ask for {expected}"
        )
