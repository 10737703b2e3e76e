"""Networks as text in BIF, with all digits: what is written is read as the same numbers."""

from __future__ import annotations

import re
import unicodedata
from itertools import product

from posteriori.networks.files.network_tables import NetworkTables

__all__ = ["format_bif"]

#: Names that need no quotes.
_PLAIN = re.compile(r'[^\s,;|(){}\[\]"]++')


def format_bif(network: NetworkTables) -> str:
    """Return a network as text in BIF.

    Names and states with blanks or signs of the format in them are quoted.

    Raises
    ------
    ValueError
        When a name has a quote or a control character in it, which BIF cannot hold.
    """
    names = {name: _quoted(name) for name in network.names}
    labels = {
        name: [_quoted(label) for label in states]
        for name, states in zip(network.names, network.states, strict=True)
    }
    lines = ["network unknown {", "}"]
    for name, states in labels.items():
        lines.append(f"variable {names[name]} {{")
        lines.append(f"  type discrete [ {len(states)} ] {{ {', '.join(states)} }};")
        lines.append("}")
    for name, parents, table in zip(network.names, network.parents, network.tables, strict=True):
        given = f" | {', '.join(names[parent] for parent in parents)}" if parents else ""
        lines.append(f"probability ( {names[name]}{given} ) {{")
        numbers = [", ".join(map(repr, row)) for row in table.reshape(-1, table.shape[-1]).tolist()]
        combinations = product(*(labels[parent] for parent in parents))
        heads = (f"({', '.join(states)})" if parents else "table" for states in combinations)
        lines += [f"  {head} {row};" for head, row in zip(heads, numbers, strict=True)]
        lines.append("}")
    return "\n".join(lines) + "\n"


def _quoted(name: str) -> str:
    """Return a name as BIF writes it."""
    if '"' in name or any(unicodedata.category(sign) in ("Cc", "Cs") for sign in name):
        raise ValueError(
            f"BIF has no way to write {name!r}: quotes and control characters end a name; rename it"
        )
    if _PLAIN.fullmatch(name) and "//" not in name and "/*" not in name:
        return name
    return f'"{name}"'
