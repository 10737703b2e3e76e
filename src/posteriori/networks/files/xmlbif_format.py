"""XMLBIF, version 0.3: the interchange format of Bayesian networks as XML.

A table has the states of its variable fastest, and of the first of its parents slowest. Files may
declare elements, as the format asks, but no entities: neither ones that grow when they are put in
nor ones that stand in other files.

References
----------
F. Cozman (1998), The interchange format for Bayesian networks, version 0.3.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any, NamedTuple, NoReturn
from xml.parsers import expat
from xml.sax.saxutils import escape

import numpy as np

from posteriori.networks.files.bif_blocks import shown, unknown
from posteriori.networks.files.conditional_rows import TableAxes, conditional_table
from posteriori.networks.files.file_text import malformed
from posteriori.networks.files.network_tables import NetworkTables
from posteriori.networks.files.table_limits import require_room
from posteriori.numerics.types import Array

__all__ = ["format_xmlbif", "parse_xmlbif"]

_HEAD = """\
<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE BIF [
  <!ELEMENT BIF ( NETWORK )*>
    <!ATTLIST BIF VERSION CDATA #REQUIRED>
  <!ELEMENT NETWORK ( NAME, ( PROPERTY | VARIABLE | DEFINITION )* )>
  <!ELEMENT NAME (#PCDATA)>
  <!ELEMENT VARIABLE ( NAME, ( OUTCOME | PROPERTY )* )>
    <!ATTLIST VARIABLE TYPE (nature|decision|utility) "nature">
  <!ELEMENT OUTCOME (#PCDATA)>
  <!ELEMENT DEFINITION ( FOR | GIVEN | TABLE | PROPERTY )*>
  <!ELEMENT FOR (#PCDATA)>
  <!ELEMENT GIVEN (#PCDATA)>
  <!ELEMENT TABLE (#PCDATA)>
  <!ELEMENT PROPERTY (#PCDATA)>
]>
<BIF VERSION="0.3">
<NETWORK>
<NAME>unknown</NAME>
"""

#: The elements that hold others, and those of them whose text counts.
_PARTS = {"VARIABLE": ("NAME", "OUTCOME"), "DEFINITION": ("FOR", "GIVEN", "TABLE")}

#: Encodings that the parser of XML reads by itself; others it would look for among Python's.
_ENCODINGS = ("utf-8", "utf-16", "iso-8859-1", "us-ascii")

#: Signs that XML can hold and that reading keeps: no control characters.
_SIGNS = re.compile("[ -~\u00a0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]*+")


class _Element(NamedTuple):
    """A variable or a definition: its line, and the texts of its parts by their tags."""

    kind: str
    line: int
    parts: dict[str, list[str]]


def parse_xmlbif(content: bytes, path: object, memory_limit: int | None) -> NetworkTables:
    """Return the network that a file in XMLBIF describes.

    Parameters
    ----------
    content : bytes
    path : object
        The file, for messages.
    memory_limit : int, optional
        Bytes that the tables may take; None is what fits into half of free memory when they are asked.

    Raises
    ------
    ValueError
        With the line at which the text is wrong, or entities are declared or used.
    MemoryError
        When the tables do not fit.
    """
    elements = _read_elements(content, path)
    states = _read_states([each for each in elements if each.kind == "VARIABLE"], path)
    definitions = [each for each in elements if each.kind == "DEFINITION"]
    scopes = _read_scopes(definitions, states, path)
    sizes = {name: len(labels) for name, labels in states.items()}
    require_room(path, scopes, sizes, memory_limit)
    tables: list[Array] = []
    notes: list[str] = []
    for scope, element in scopes.items():
        axes = TableAxes(scope, tuple(states[name] for name in scope))
        table, note = _read_table(axes, element, path)
        tables.append(table)
        notes.extend(note)
    parents = tuple(scope[:-1] for scope in scopes)
    return NetworkTables(
        tuple(states), tuple(states.values()), parents, tuple(tables), tuple(notes)
    )


def format_xmlbif(network: NetworkTables) -> str:
    """Return a network as text in XMLBIF, with its document type.

    Raises
    ------
    ValueError
        When a name has control characters in it, or blanks at its ends, which are lost on reading.
    """
    lines = []
    for name, states in zip(network.names, network.states, strict=True):
        lines += ['<VARIABLE TYPE="nature">', _element("NAME", name)]
        lines += [_element("OUTCOME", label) for label in states]
        lines.append("</VARIABLE>")
    for name, parents, table in zip(network.names, network.parents, network.tables, strict=True):
        lines += ["<DEFINITION>", _element("FOR", name)]
        lines += [_element("GIVEN", parent) for parent in parents]
        rows = table.reshape(-1, table.shape[-1]).tolist()
        numbers = "\n".join(" ".join(map(repr, row)) for row in rows)
        lines += [f"<TABLE>\n{numbers}\n</TABLE>", "</DEFINITION>"]
    return _HEAD + "\n".join([*lines, "</NETWORK>", "</BIF>", ""])


def _element(tag: str, text: str) -> str:
    if not _SIGNS.fullmatch(text) or text != text.strip():
        raise ValueError(
            f"XMLBIF has no way to write {text!r}: control characters and blanks at the ends are "
            "lost; rename it"
        )
    return f"<{tag}>{escape(text)}</{tag}>"


def _read_elements(content: bytes, path: object) -> list[_Element]:
    """Return all variables and definitions."""
    reader = _Reader(path)
    try:
        reader.parser.Parse(content, True)
    except expat.ExpatError as error:
        what = f"expected XML, got {expat.ErrorString(error.code)}"
        raise malformed(path, error.lineno, what) from None
    if reader.root != "BIF":
        raise malformed(path, 1, f"expected the element BIF, got {shown(str(reader.root))}")
    return reader.elements


class _Reader:
    """What the parser of XML tells, put together."""

    def __init__(self, path: object) -> None:
        self.path = path
        self.root: str | None = None
        self.elements: list[_Element] = []
        self.open: list[str] = []
        self.text: list[str] = []
        self.parser = expat.ParserCreate()
        self.parser.buffer_text = True
        self.parser.XmlDeclHandler = self._require_encoding
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self.text.append
        self.parser.EntityDeclHandler = self._refuse_entity
        self.parser.ExternalEntityRefHandler = self._refuse_entity
        self.parser.SkippedEntityHandler = self._refuse_entity

    def _start(self, tag: str, attributes: Mapping[str, str]) -> None:
        self.root = self.root or tag
        if tag in _PARTS:
            if attributes.get("TYPE", "nature") != "nature":
                raise self._error(f"expected TYPE nature, got {shown(attributes['TYPE'])}")
            self.elements.append(_Element(tag, self.parser.CurrentLineNumber, {}))
        self.open.append(tag)
        self.text.clear()

    def _end(self, tag: str) -> None:
        self.open.pop()
        holder = self.open[-1] if self.open else ""
        if tag in _PARTS.get(holder, ()):
            self.elements[-1].parts.setdefault(tag, []).append("".join(self.text).strip())
        self.text.clear()

    def _require_encoding(self, version: str, encoding: str | None, standalone: int) -> None:
        if encoding is not None and encoding.lower() not in _ENCODINGS:
            known = ", ".join(_ENCODINGS)
            raise self._error(f"expected one of the encodings {known}, got {shown(encoding)}")

    def _refuse_entity(self, *declared: Any) -> NoReturn:
        raise self._error("expected no entities, got one; write what it stands for in its place")

    def _error(self, what: str) -> ValueError:
        return malformed(self.path, self.parser.CurrentLineNumber, what)


def _read_states(elements: list[_Element], path: object) -> dict[str, tuple[str, ...]]:
    """Return the states of all variables."""
    states: dict[str, tuple[str, ...]] = {}
    for element in elements:
        name = _only(element, "NAME", path)
        labels = element.parts.get("OUTCOME", [])
        if name in states:
            raise malformed(path, element.line, f"variable {shown(name)} is declared twice")
        if not labels or len(set(labels)) < len(labels):
            what = f"expected different outcomes of {shown(name)}, at least one"
            raise malformed(path, element.line, what)
        states[name] = tuple(labels)
    return states


def _read_scopes(
    elements: list[_Element], states: Mapping[str, object], path: object
) -> dict[tuple[str, ...], _Element]:
    """Return the definition of each variable in their order, under its parents and its own name."""
    found: dict[str, tuple[tuple[str, ...], _Element]] = {}
    for element in elements:
        name = _only(element, "FOR", path)
        scope = (*element.parts.get("GIVEN", []), name)
        for each in scope:
            if each not in states:
                what = unknown(each, states, "a declared variable")
                raise malformed(path, element.line, what)
        if len(set(scope)) < len(scope) or name in found:
            what = f"expected one table of {shown(name)}, and each parent once"
            raise malformed(path, element.line, what)
        found[name] = scope, element
    for name in states:
        if name not in found:
            raise ValueError(f"{path}: expected a table of {shown(name)}; there is none")
    return dict(found[name] for name in states)


def _read_table(axes: TableAxes, element: _Element, path: object) -> tuple[Array, tuple[str, ...]]:
    """Return a table, and a note when rows were divided by their sum."""
    words = _only(element, "TABLE", path).split()
    count = math.prod(axes.shape)
    if len(words) != count:
        what = f"expected {count} numbers of {shown(axes.names[-1])}, got {len(words)}"
        raise malformed(path, element.line, what)
    try:
        values = np.fromiter(map(float, words), float, count)
    except ValueError as error:
        raise malformed(path, element.line, f"expected numbers: {str(error)[:80]}") from None
    rows = values.reshape(-1, axes.shape[-1])
    return conditional_table(axes, rows, lambda _, what: malformed(path, element.line, what))


def _only(element: _Element, tag: str, path: object) -> str:
    """Return the text of a part that there must be one of."""
    found = element.parts.get(tag, [])
    if len(found) != 1:
        what = f"expected one {tag} in {element.kind}, got {len(found)}"
        raise malformed(path, element.line, what)
    return found[0]
