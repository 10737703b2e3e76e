"""Read the attributes of a docstring as prose: described together, with types that link nowhere.

Of ``lower, upper : array`` Sphinx makes the attribute ``upper`` of type ``lower,``. A space of
no width hides the gap from it; the gap returns when the page has been read.
"""

import re

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.domains.python import PyObject

GAP = "\u200b"
FIELD = re.compile(r"^(\s*:(?:ivar|vartype) )([^:]*, [^:]*)(?=:)")


def hide_gaps(app, what, name, obj, options, lines: list[str]) -> None:
    """Close the gaps between names, in the lines that napoleon wrote."""
    for i, line in enumerate(lines):
        lines[i] = FIELD.sub(lambda m: m[1] + m[2].replace(", ", "," + GAP), line)


def show_gaps(app: Sphinx, doctree: nodes.document) -> None:
    """Open the gaps again."""
    for text in [t for t in doctree.findall(nodes.Text) if GAP in t]:
        text.parent.replace(text, nodes.Text(text.replace(GAP, " ")))


def setup(app: Sphinx) -> dict[str, bool]:
    for field in PyObject.doc_field_types:
        if field.name == "variable":
            field.typerolename = ""  # "Factor" is no cross-reference: several rooms have one
    app.connect("autodoc-process-docstring", hide_gaps, priority=900)
    app.connect("doctree-read", show_gaps)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
