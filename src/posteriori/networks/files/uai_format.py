"""The format of the UAI competitions: networks as numbers alone.

    BAYES  2  2 3  2  1 0  2 0 1  2 .4 .6  6 .1 .2 .7 .3 .3 .4

is the kind, the number of variables, their sizes, the number of tables, the variables of each (in a
Bayesian network the last is the one whose table it is), and for each how many numbers it has, with
the last variable fastest. There are no names: variables are called x0, x1, …, their states 0, 1, …

References
----------
https://www.ics.uci.edu/~dechter/softwares/benchmarks/Uai12/ReadMe
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence

import numpy as np

from posteriori.networks.files.bif_blocks import shown
from posteriori.networks.files.conditional_rows import (
    TableAxes,
    conditional_table,
    require_weights,
)
from posteriori.networks.files.file_text import malformed
from posteriori.networks.files.network_tables import FactorTables, NetworkTables
from posteriori.networks.files.table_limits import require_room
from posteriori.numerics.types import Array

__all__ = ["UaiText", "format_uai", "parse_uai"]

#: A whole number that is no more than fits into 64 bits.
_WHOLE = re.compile(r"[0-9]{1,18}+")

_WORD = re.compile(r"\S++")

#: Numbers of 8 bytes that the label of a state takes, about.
_LABEL = 8


class UaiText:
    """The words of a text, and how many have been read.

    Parameters
    ----------
    text : str
    path : object
        The file, for messages.
    """

    def __init__(self, text: str, path: object) -> None:
        self.text, self.path = text, path
        self.words = text.split()
        self.place = 0

    @property
    def left(self) -> int:
        """How many words are left."""
        return len(self.words) - self.place

    def word(self, expected: str) -> str:
        """Return the next word."""
        if not self.left:
            raise self.error(self.place, f"expected {expected}, got the end of the file")
        self.place += 1
        return self.words[self.place - 1]

    def whole(self, expected: str, below: int | None = None) -> int:
        """Return the next word as a whole number."""
        word = self.word(expected)
        if not _WHOLE.fullmatch(word) or (below is not None and int(word) >= below):
            raise self.error(self.place - 1, f"expected {expected}, got {shown(word)}")
        return int(word)

    def count(self, expected: str) -> int:
        """Return the next word as a number of things, of which each has a word at least."""
        number = self.whole(expected)
        if number > self.left:
            what = f"expected {number} entries for {expected}, got {self.left}"
            raise self.error(self.place - 1, what)
        return number

    def numbers(self, count: int) -> Array:
        """Return the next words as numbers."""
        words = self.words[self.place : self.place + count]
        try:
            values = np.fromiter(map(float, words), float, len(words))
        except ValueError as error:
            raise self.error(self.place, f"expected numbers: {str(error)[:80]}") from None
        self.place += count
        return values

    def error(self, place: int, what: str) -> ValueError:
        """Return the error for a word."""
        end = len(self.text)
        for k, match in enumerate(_WORD.finditer(self.text)):
            if k == place:
                end = match.start()
                break
        return malformed(self.path, self.text.count("\n", 0, end) + 1, what)


def parse_uai(text: str, path: object, memory_limit: int | None) -> NetworkTables | FactorTables:
    """Return the network that a text in the format of UAI describes.

    Parameters
    ----------
    text : str
    path : object
        The file, for messages.
    memory_limit : int, optional
        Bytes that the tables may take; None is what fits into half of free memory when they are asked.

    Returns
    -------
    NetworkTables or FactorTables
        Of a file that begins with BAYES or MARKOV.

    Raises
    ------
    ValueError
        With the line at which the text is wrong.
    MemoryError
        When the tables do not fit.
    """
    uai = UaiText(text, path)
    kind = uai.word("BAYES or MARKOV")
    if kind not in ("BAYES", "MARKOV"):
        raise uai.error(0, f"expected BAYES or MARKOV, got {shown(kind)}")
    names = tuple(f"x{k}" for k in range(uai.count("the number of variables")))
    sizes = {name: _read_size(uai) for name in names}
    scopes = [_read_scope(uai, names) for _ in range(uai.count("the number of tables"))]
    labels = {"labels of states": max(_LABEL * sum(sizes.values()), 1)}
    require_room(path, [tuple(labels)], labels, memory_limit)
    require_room(path, scopes, sizes, memory_limit)
    states = tuple(tuple(map(str, range(size))) for size in sizes.values())
    read = _read_conditionals if kind == "BAYES" else _read_factors
    network = read(uai, names, states, scopes)
    if uai.left:
        raise uai.error(uai.place, f"expected the end of the file, got {shown(uai.word('it'))}")
    return network


def format_uai(network: NetworkTables | FactorTables) -> str:
    """Return a network as text in the format of UAI; names and labels are not kept."""
    places = {name: str(k) for k, name in enumerate(network.names)}
    lines = ["BAYES" if isinstance(network, NetworkTables) else "MARKOV", str(len(places))]
    lines += [" ".join(str(len(labels)) for labels in network.states), str(len(network.scopes))]
    lines += [" ".join([str(len(s)), *(places[name] for name in s)]) for s in network.scopes]
    for table in network.tables:
        rows = table.reshape(-1, table.shape[-1] if table.ndim else 1).tolist()
        lines += ["", str(table.size), *(" ".join(map(repr, row)) for row in rows)]
    return "\n".join(lines) + "\n"


def _read_size(uai: UaiText) -> int:
    size = uai.whole("a number of states")
    if not size:
        raise uai.error(uai.place - 1, "expected at least one state, got 0")
    return size


def _read_scope(uai: UaiText, names: Sequence[str]) -> tuple[str, ...]:
    count = uai.count("the variables of a table")
    start = uai.place
    scope = [uai.whole(f"a variable below {len(names)}", below=len(names)) for _ in range(count)]
    if len(set(scope)) < count:
        raise uai.error(start, "expected each variable of a table once")
    return tuple(names[k] for k in scope)


def _read_conditionals(
    uai: UaiText,
    names: tuple[str, ...],
    states: tuple[tuple[str, ...], ...],
    scopes: Sequence[tuple[str, ...]],
) -> NetworkTables:
    """Read tables of which each is of the last of its variables."""
    _require_targets(uai, names, scopes)
    labels = dict(zip(names, states, strict=True))
    parents: dict[str, tuple[str, ...]] = {}
    tables: dict[str, Array] = {}
    notes: list[str] = []
    for *given, name in scopes:
        axes = TableAxes((*given, name), tuple(labels[each] for each in (*given, name)))
        parents[name] = tuple(given)
        tables[name], note = _read_conditional(uai, axes)
        notes.extend(note)
    return NetworkTables(
        names,
        states,
        tuple(parents[name] for name in names),
        tuple(tables[name] for name in names),
        tuple(notes),
    )


def _require_targets(uai: UaiText, names: Sequence[str], scopes: Sequence[tuple[str, ...]]) -> None:
    """Refuse tables that are not one for each variable."""
    targets = Counter(scope[-1] for scope in scopes if scope)
    wrong = next((name for name in names if targets[name] != 1), None)
    if wrong is not None or len(scopes) != len(names):
        found = f"{targets[wrong]} of {wrong}" if wrong is not None else f"{len(scopes)} tables"
        raise uai.error(uai.place, f"expected one table whose last variable is each; got {found}")


def _read_conditional(uai: UaiText, axes: TableAxes) -> tuple[Array, tuple[str, ...]]:
    """Read a table, and divide its rows by their sums where digits were cut."""
    start, own = uai.place + 1, axes.shape[-1]
    rows = _read_values(uai, axes.shape).reshape(-1, own)
    return conditional_table(axes, rows, lambda row, what: uai.error(start + row * own, what))


def _read_factors(
    uai: UaiText,
    names: tuple[str, ...],
    states: tuple[tuple[str, ...], ...],
    scopes: Sequence[tuple[str, ...]],
) -> FactorTables:
    """Read tables of which nothing is asked but that they are not negative."""
    sizes = {name: len(labels) for name, labels in zip(names, states, strict=True)}
    tables = []
    for scope in scopes:
        tables.append(_read_factor(uai, tuple(sizes[name] for name in scope)))
    return FactorTables(names, states, tuple(scopes), tuple(tables))


def _read_factor(uai: UaiText, shape: tuple[int, ...]) -> Array:
    start = uai.place + 1
    table = _read_values(uai, shape)
    require_weights(
        table.reshape(-1, 1), lambda cell, what: uai.error(start + cell, f"the table {what}")
    )
    return table


def _read_values(uai: UaiText, shape: tuple[int, ...]) -> Array:
    """Read how many numbers there are, and the numbers."""
    cells = math.prod(shape)
    count = uai.count(f"a table of {cells} numbers")
    if count != cells:
        raise uai.error(uai.place - 1, f"expected a table of {cells} numbers, got {count}")
    return uai.numbers(count).reshape(shape)
