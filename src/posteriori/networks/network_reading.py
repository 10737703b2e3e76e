"""Networks and factor graphs from files, and into them."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from posteriori.factors import Factor, contract
from posteriori.factors.axes import Label
from posteriori.networks.conditionals import Conditional, factor_of, pieces_of
from posteriori.networks.files.network_files import (
    format_of,
    read_network_file,
    write_network_file,
)
from posteriori.networks.files.network_tables import FactorTables, NetworkTables
from posteriori.numerics.types import Array
from posteriori.tables import ConditionalTable

if TYPE_CHECKING:
    from posteriori.networks.factor_graph import FactorGraph
    from posteriori.networks.network_value import NetworkValue

__all__ = [
    "MOST_CELLS",
    "PathLike",
    "dense_table",
    "read_conditionals",
    "read_factors",
    "tables_of_graph",
    "write_tables",
]

#: A path to a file.
PathLike = str | os.PathLike[str]

#: More cells than this of one conditional are not written out.
MOST_CELLS = 1 << 26


def read_conditionals(path: PathLike) -> tuple[list[ConditionalTable], tuple[str, ...]]:
    """Return the conditionals in a file, and notes of what was mended in it."""
    found = read_network_file(path)
    if isinstance(found, FactorTables):
        raise ValueError(
            f"{str(path)!r} holds a Markov network, whose factors are not conditionals; read it with "
            "FactorGraph.read"
        )
    labels = dict(zip(found.names, map(_labels(path), found.states), strict=True))
    parts = zip(found.names, found.parents, found.tables, strict=True)
    made = [
        ConditionalTable(name, given, cells, [*(labels[p] for p in given), labels[name]])
        for name, given, cells in parts
    ]
    return made, found.notes


def read_factors(path: PathLike) -> dict[str, Factor]:
    """Return the factors in a file; conditionals bear the names of their variables."""
    found = read_network_file(path)
    labels = dict(zip(found.names, map(_labels(path), found.states), strict=True))
    names = (
        found.names
        if isinstance(found, NetworkTables)
        else map("f{}".format, range(len(found.tables)))
    )
    parts = zip(names, found.scopes, found.tables, strict=True)
    return {name: Factor(scope, cells, [labels[v] for v in scope]) for name, scope, cells in parts}


def _labels(path: PathLike) -> Any:
    """Return how states of a file are labelled: files of UAI number them."""
    is_numbered = format_of(path) == "UAI"
    return (lambda states: tuple(range(len(states)))) if is_numbered else tuple


def write_tables(path: PathLike, bn: NetworkValue) -> None:
    """Write a network to a file."""
    conditionals = bn.conditionals.items()
    network = NetworkTables(
        bn.names,
        tuple(tuple(map(str, bn.labels[name])) for name in bn.names),
        tuple(tuple(one.given) for _, one in conditionals),
        tuple(dense_table(one, bn.labels) for _, one in conditionals),
    )
    for name, states in zip(network.names, network.states, strict=True):
        if len(set(states)) < len(states):
            raise ValueError(
                f"labels of {name!r} are the same once they are written: {bn.labels[name]}"
            )
    write_network_file(path, network)


def tables_of_graph(graph: FactorGraph) -> FactorTables:
    """Return what a file of a factor graph holds."""
    return FactorTables(
        graph.variables,
        tuple(tuple(map(str, graph.labels[v])) for v in graph.variables),
        tuple(factor.names for factor in graph.factors.values()),
        tuple(np.asarray(factor.values) for factor in graph.factors.values()),
    )


def dense_table(
    conditional: Conditional | ConditionalTable, labels: Mapping[str, tuple[Label, ...]]
) -> Array:
    """Return the whole table of a conditional: axes of its parents, then its own.

    Raises
    ------
    MemoryError
        Where it has more cells than can be written out.
    """
    names = (*conditional.given, *conditional.target)
    cells = math.prod(float(len(labels[name])) for name in names)
    if cells > MOST_CELLS:
        raise MemoryError(
            f"the table of {conditional.target[0]!r} has {cells:.3g} cells, too many to write out"
        )
    if isinstance(conditional, ConditionalTable):
        return conditional.probabilities
    factors = [factor_of(piece, labels) for piece in pieces_of(conditional, labels)]
    return np.asarray(contract(factors, names).values)
