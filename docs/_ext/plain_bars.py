"""Let docstrings write |x| and (N, *event) as they are read, not as substitution and emphasis."""

import re

from sphinx.application import Sphinx

# What keeps its bars and stars: a directive with its body, a doctest, a literal or a role.
_KEPT = r"""
    ^(?P<indent>[ ]*)\.\.[ ][\w-]+::[^\n]*(?:\n(?:(?P=indent)[ ]+[^\n]*|[ ]*(?=\n|\Z)))*
  | ^[ ]*>>>[^\n]*(?:\n(?![ ]*(?:\n|\Z))[^\n]*)*
  | `+[^`]*`+
"""
# A bar, or the star of a shape that goes on.
_MARK = re.compile(rf"(?P<kept>{_KEPT})|\||(?<=,[ ])\*(?=\w+[,)])", re.MULTILINE | re.VERBOSE)


def escape_marks(app, what, name, obj, options, lines: list[str]) -> None:
    text = "\n".join(lines)
    lines[:] = _MARK.sub(lambda match: match["kept"] or "\\" + match[0], text).split("\n")


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("autodoc-process-docstring", escape_marks)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
