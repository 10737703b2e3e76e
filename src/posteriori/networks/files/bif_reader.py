"""The Bayesian interchange format (BIF): blocks of variables and of their tables.

    variable rain { type discrete [ 2 ] { no, yes }; }
    probability ( wet | rain ) { (no) 0.9, 0.1; (yes) 0.2, 0.8; }

A block may have ``table`` in place of rows, with the variable's own state slowest and the last
parent fastest, or ``default`` for the rows that are not listed.

References
----------
F. Cozman (1996), The interchange format for Bayesian networks, version 0.15.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain

import numpy as np

from posteriori.networks.files.bif_blocks import BifText, Block, Row, read_blocks, shown, unknown
from posteriori.networks.files.conditional_rows import TableAxes, conditional_table
from posteriori.networks.files.network_tables import NetworkTables
from posteriori.networks.files.table_limits import require_room
from posteriori.numerics.types import Array, IntArray

__all__ = ["parse_bif"]


def parse_bif(text: str, path: object, memory_limit: int | None) -> NetworkTables:
    """Return the network that a text in BIF describes.

    Parameters
    ----------
    text : str
    path : object
        The file, for messages.
    memory_limit : int, optional
        Bytes that the tables may take; None is what fits into half of free memory when they are asked.

    Raises
    ------
    ValueError
        With the line at which the text is wrong.
    MemoryError
        When the tables do not fit.
    """
    bif = BifText(text, path)
    states, found = read_blocks(bif)
    blocks = _blocks_by_scope(bif, found, states)
    sizes = {name: len(labels) for name, labels in states.items()}
    require_room(path, blocks, sizes, memory_limit)
    codes = {name: {label: k for k, label in enumerate(s)} for name, s in states.items()}
    tables: list[Array] = []
    notes: list[str] = []
    for scope, block in blocks.items():
        axes = TableAxes(scope, tuple(states[name] for name in scope))
        table, note = _read_table(bif, axes, block.rows or [(block.place, None, "", "")], codes)
        tables.append(table)
        notes.extend(note)
    parents = tuple(scope[:-1] for scope in blocks)
    return NetworkTables(
        tuple(states), tuple(states.values()), parents, tuple(tables), tuple(notes)
    )


def _blocks_by_scope(
    bif: BifText, blocks: Iterable[Block], states: Mapping[str, object]
) -> dict[tuple[str, ...], Block]:
    """Return the block of each variable in their order, under the names of its parents and its own."""
    found: dict[str, tuple[tuple[str, ...], Block]] = {}
    for block in blocks:
        target, bar, given = block.head.partition("|")
        names = bif.variables(target, states, block.place)  # older files have no bar
        if not names or (bar and len(names) > 1):
            raise bif.error(block.place, f"expected one variable, got {shown(target.strip())}")
        if bar:
            names += bif.variables(given, states, block.place)
        name, *parents = names
        if len(set(names)) < len(names):
            raise bif.error(block.place, f"{shown(block.head.strip())} names a variable twice")
        if name in found:
            raise bif.error(block.place, f"expected one table of {shown(name)}, got another")
        found[name] = (*parents, name), block
    for name in states:
        if name not in found:
            raise bif.error(len(bif.text), f"expected a table of {shown(name)}; there is none")
    return dict(found[name] for name in states)


def _read_table(
    bif: BifText, axes: TableAxes, rows: Sequence[Row], codes: Mapping[str, Mapping[str, int]]
) -> tuple[Array, tuple[str, ...]]:
    """Return the table of one block, and a note when rows were divided by their sum."""
    first = rows[0]
    if len(rows) == 1 and first[2] == "table":
        values = _read_numbers(bif, rows, math.prod(axes.shape))
        by_row = np.ascontiguousarray(values.reshape(axes.shape[-1], -1).T)
        return conditional_table(axes, by_row, lambda _, what: bif.error(first[0], what))
    listed = [row for row in rows if row[2] is None]
    default = [row for row in rows if row[2] == "default"]
    if len(listed) + len(default) < len(rows) or len(default) > 1:
        raise bif.error(first[0], "expected one table, or rows and at most one default")
    places = _row_places(bif, axes, listed, codes)
    _require_rows(bif, axes, rows, places, complete=not default)
    values = np.empty((axes.n_rows, axes.shape[-1]))
    if default:
        values[:] = _read_numbers(bif, default, axes.shape[-1])
    values[places] = _read_numbers(bif, listed, axes.shape[-1])

    def refuse(row: int, what: str) -> ValueError:
        own = np.flatnonzero(places == row)
        return bif.error((listed[own[0]] if own.size else default[0])[0], what)

    return conditional_table(axes, values, refuse)


def _read_numbers(bif: BifText, rows: Sequence[Row], count: int) -> Array:
    """Return the numbers of rows, shape (rows, count)."""
    fields = [row[3].replace(",", " ").split() for row in rows]
    for row, field in zip(rows, fields, strict=True):
        if len(field) != count:
            raise bif.error(row[0], f"expected {count} numbers, got {len(field)}")
    try:
        flat = np.fromiter(map(float, chain.from_iterable(fields)), float, count * len(rows))
    except ValueError:
        row, word = next(
            (row, word)
            for row, field in zip(rows, fields, strict=True)
            for word in field
            if not _is_number(word)
        )
        raise bif.error(row[0], f"expected a number, got {shown(word)}") from None
    return flat.reshape(len(rows), count)


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


def _row_places(
    bif: BifText, axes: TableAxes, rows: Sequence[Row], codes: Mapping[str, Mapping[str, int]]
) -> IntArray:
    """Return which row of the table each row of the file is."""
    parents = axes.names[:-1]
    cells = [list(map(str.strip, (row[1] or "").split(","))) for row in rows]
    if bif.quoted or any(len(cell) != len(parents) for cell in cells):
        cells = [bif.labels(row[1] or "", len(parents)) for row in rows]
    places = np.zeros(len(rows), np.int64)
    for row, cell in zip(rows, cells, strict=True):
        if len(cell) != len(parents):
            raise bif.error(row[0], f"expected states of {len(parents)} parents, got {len(cell)}")
    for parent, size, column in zip(parents, axes.shape, zip(*cells, strict=True), strict=False):
        code = codes[parent]
        try:
            own = np.fromiter(map(code.__getitem__, column), np.int64, len(rows))
        except KeyError:
            row, wrong = next(
                pair for pair in zip(rows, column, strict=True) if pair[1] not in code
            )
            raise bif.error(row[0], unknown(wrong, code, f"a state of {shown(parent)}")) from None
        places = places * size + own  # the last parent is the fastest
    return places


def _require_rows(
    bif: BifText, axes: TableAxes, rows: Sequence[Row], places: IntArray, complete: bool
) -> None:
    """Refuse rows that are listed twice or, where all are needed, missing."""
    seen: set[int] = set()
    for row, place in zip((row for row in rows if row[2] is None), places.tolist(), strict=True):
        if place in seen:
            raise bif.error(row[0], f"expected {axes.describe(place)} once, got it twice")
        seen.add(place)
    if complete and len(seen) < axes.n_rows:
        missing = next(place for place in range(axes.n_rows) if place not in seen)
        what = (
            f"expected {axes.n_rows} rows or a default, got {len(seen)}; {axes.describe(missing)}"
        )
        raise bif.error(rows[0][0], f"{what} is missing")
