"""The text of a BIF file taken apart: states of variables, and rows of tables that are still text.

Every pattern begins where the last one ended and gives nothing back (``*+``), so that the time is
linear in the length of the text, whatever stands in it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple, TypeAlias

from posteriori.networks.files.file_text import malformed
from posteriori.numerics.validation import hint

__all__ = ["BifText", "Block", "Row", "read_blocks", "shown", "unknown"]

#: Comments, also one without an end, and quoted text, in which there are none.
_COMMENT = re.compile(r'"[^"\n]*+"|//[^\n]*+|/\*(?:[^*]++|\*(?!/))*+(?:\*/)?+')
_QUOTED = re.compile(r'"([^"\n]*+)"')

#: A word; of quoted text its number in quotes is left while a file is read.
_WORD = re.compile(r'"\d+"|[^\s,"]++')

_SPACE = re.compile(r"\s*+")
_KIND = re.compile(r"\s*+(network|variable|probability)\b")
_NAME = re.compile(r"([^{}();]*+)\{")
_PROPERTY = re.compile(r"\s*+property\b[^;]*+;")
_TYPE = re.compile(r"\s*+type\s++discrete\s*+\[\s*+(\d{1,18}+)\s*+\]\s*+\{([^{};]*+)\}\s*+;")
_HEAD = re.compile(r"\s*+\(([^(){};]*+)\)\s*+\{")
_ROW = re.compile(r"\s*+(?:\(([^(){};]*+)\)|(table|default)\b)([^(){};]*+);")
_CLOSE = re.compile(r"\s*+\}(?:\s*+;)?+")

#: Characters of a file that a message shows.
_SHOWN = 40

#: Where a row stands; the states of the parents, or None; "table", "default" or None; numbers.
Row: TypeAlias = tuple[int, str | None, str | None, str]


class Block(NamedTuple):
    """A table as text: where it stands, what stands in its parentheses, and its rows."""

    place: int
    head: str
    rows: list[Row]


class BifText:
    """A text without comments and quotes, and how far it has been read.

    Parameters
    ----------
    text : str
    path : object
        The file, for messages.
    """

    def __init__(self, text: str, path: object) -> None:
        self.path = path
        self.quoted: list[str] = []
        if "//" in text or "/*" in text:
            text = _COMMENT.sub(self._without_comment, text)
        self.text = _QUOTED.sub(self._keep_apart, text) if '"' in text else text
        self.place = 0

    def take(self, pattern: re.Pattern[str], expected: str) -> re.Match[str]:
        """Return what a pattern matches here, and go on behind it."""
        match = pattern.match(self.text, self.place)
        if match is None:
            raise self.error(self.place, f"expected {expected}, got {self._here()}")
        self.place = match.end()
        return match

    def skip(self, pattern: re.Pattern[str]) -> bool:
        """Go on behind all that a pattern matches here, and tell whether there was any."""
        start = self.place
        while match := pattern.match(self.text, self.place):
            self.place = match.end()
        return self.place > start

    def at_end(self) -> bool:
        """Tell whether only blanks are left."""
        return self._next(self.place) == len(self.text)

    def plain(self, text: str) -> str:
        """Return a name or state without the blanks around it, and with what stood in quotes."""
        word = text.strip()
        if len(word) > 2 and word[0] == word[-1] == '"' and word[1:-1].isdecimal():
            return self.quoted[int(word[1:-1])]
        return word

    def words(self, text: str) -> list[str]:
        """Return what blanks, commas and quotes separate."""
        return [self.plain(word) for word in _WORD.findall(text)]

    def labels(self, text: str, count: int) -> list[str]:
        """Return a list: between commas, where there are as many as are expected, or words."""
        parts = text.split(",")
        return [self.plain(part) for part in parts] if len(parts) == count else self.words(text)

    def variables(self, text: str, known: Iterable[str], place: int) -> list[str]:
        """Return names of variables: between commas, where these are known, or words."""
        names = [self.plain(part) for part in text.split(",")]
        if not all(name in known for name in names):
            names = self.words(text)
        for name in names:
            if name not in known:
                raise self.error(place, unknown(name, known, "a declared variable"))
        return names

    def error(self, place: int, what: str) -> ValueError:
        """Return the error for what stands behind a place."""
        return malformed(self.path, self.text.count("\n", 0, self._next(place)) + 1, what)

    def _next(self, place: int) -> int:
        match = _SPACE.match(self.text, place)
        return place if match is None else match.end()

    def _here(self) -> str:
        start = self._next(self.place)
        found = self.text[start : start + _SHOWN].split("\n")[0]
        return repr(found) if found else "the end of the file"

    def _without_comment(self, match: re.Match[str]) -> str:
        """Keep quoted text, and of comments the ends of lines, so that lines can be counted."""
        found = match[0]
        if found[0] == '"':
            return found
        if found[1] == "*" and (len(found) < 4 or not found.endswith("*/")):
            line = match.string.count("\n", 0, match.start()) + 1
            raise malformed(self.path, line, "expected */ after /*, got the end of the file")
        return " " + "\n" * found.count("\n")

    def _keep_apart(self, match: re.Match[str]) -> str:
        self.quoted.append(match.group(1))
        return f'"{len(self.quoted) - 1}"'


def read_blocks(bif: BifText) -> tuple[dict[str, tuple[str, ...]], list[Block]]:
    """Return the states of all variables, and the blocks of all tables.

    Raises
    ------
    ValueError
        With the line at which another thing was expected, or something is declared twice.
    """
    states: dict[str, tuple[str, ...]] = {}
    blocks = []
    while not bif.at_end():
        start = bif.place
        kind = bif.take(_KIND, "network, variable or probability")[1]
        if kind == "probability":
            head = bif.take(_HEAD, "( variable | parents ) {")[1]
            blocks.append(Block(start, head, _read_rows(bif)))
        else:
            name = bif.plain(bif.take(_NAME, "a name and {")[1])
            bif.skip(_PROPERTY)
            if kind == "variable":
                if name in states:
                    raise bif.error(start, f"variable {shown(name)} is declared twice")
                states[name] = _read_states(bif)
        bif.take(_CLOSE, "}")
    return states, blocks


def shown(text: str) -> str:
    """Return a name for a message, cut off where it is very long."""
    return repr(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…")


def unknown(name: str, known: Iterable[str], expected: str) -> str:
    """Return what to say of a name that is none of those known, with the nearest of these."""
    short = [each for each in known if max(len(each), len(name)) <= _SHOWN]  # others take too long
    return f"expected {expected}, got {shown(name)}{hint(name, short)}"


def _read_states(bif: BifText) -> tuple[str, ...]:
    """Read ``type discrete [ 2 ] { no, yes };`` and the properties behind it."""
    start = bif.place
    declared = bif.take(_TYPE, "type discrete [ number ] { states };")
    count = int(declared[1])
    labels = bif.labels(declared[2], count)
    if len(labels) != count or not count:
        what = (
            f"expected as many states as are declared, {count}, and at least one; got {len(labels)}"
        )
        raise bif.error(start, what)
    if len(set(labels)) < count:
        twice = next(label for k, label in enumerate(labels) if label in labels[:k])
        raise bif.error(start, f"the state {shown(twice)} is declared twice")
    bif.skip(_PROPERTY)
    return tuple(labels)


def _read_rows(bif: BifText) -> list[Row]:
    """Read the rows of a block up to its closing brace."""
    rows: list[Row] = []
    text, match, place = bif.text, _ROW.match, bif.place
    while True:
        while row := match(text, place):
            rows.append((place, row[1], row[2], row[3]))
            place = row.end()
        bif.place = place
        if not bif.skip(_PROPERTY):
            break
        place = bif.place
    if _CLOSE.match(text, place) is None:
        bif.take(_CLOSE, "( states ) numbers; or table numbers; or default numbers; or }")
    return rows
