"""Let docstrings write |x| and |Σ| as they are read: a bar is a bar, not a substitution."""

import re

from sphinx.application import Sphinx

# What keeps its bars: a directive with its body, a doctest, a literal or a role.
_KEPT = r"""
    ^(?P<indent>[ ]*)\.\.[ ][\w-]+::[^\n]*(?:\n(?:(?P=indent)[ ]+[^\n]*|[ ]*(?=\n|\Z)))*
  | ^[ ]*>>>[^\n]*(?:\n(?![ ]*(?:\n|\Z))[^\n]*)*
  | `+[^`]*`+
"""
_BAR = re.compile(rf"(?P<kept>{_KEPT})|\|", re.MULTILINE | re.VERBOSE)


def escape_bars(app, what, name, obj, options, lines: list[str]) -> None:
    text = "\n".join(lines)
    lines[:] = _BAR.sub(lambda match: match["kept"] or r"\|", text).split("\n")


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("autodoc-process-docstring", escape_bars)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
