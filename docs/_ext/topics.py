"""The ``topics`` directive: a table from the topics of docs/coverage.csv to public names."""

import csv
import re
from pathlib import Path

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

COLUMNS = ("id", "title", "names")


class Topics(SphinxDirective):
    """Read the CSV file named by the argument; each public name links to its reference page."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        relative, path = self.env.relfn2path(self.arguments[0])
        self.env.note_dependency(relative)
        rows = read_topics(Path(path))
        if not rows:
            return [nodes.paragraph(text="No topic is listed yet.")]
        return [self.table(rows)]

    def table(self, rows: list[dict[str, str]]) -> nodes.table:
        group = nodes.tgroup("", *(nodes.colspec(colwidth=w) for w in (12, 48, 40)), cols=3)
        header = [nodes.paragraph(text=text) for text in ("topic", "what it is", "where it is")]
        group += nodes.thead("", self.row(header))
        group += nodes.tbody("", *(self.row(self.cells(row)) for row in rows))
        return nodes.table("", group, classes=["topics"])

    def row(self, cells: list[nodes.Node]) -> nodes.row:
        return nodes.row("", *(nodes.entry("", cell) for cell in cells))

    def cells(self, row: dict[str, str]) -> list[nodes.Node]:
        names = nodes.paragraph()
        for position, name in enumerate(filter(None, map(str.strip, row["names"].split(";")))):
            if position:
                names += nodes.Text(", ")
            names += self.link(name)
        return [nodes.paragraph(text=row["id"]), nodes.paragraph(text=row["title"]), names]

    def link(self, name: str) -> addnodes.pending_xref:
        return addnodes.pending_xref(
            "",
            nodes.literal(text=name.removeprefix("posteriori.")),
            refdomain="py",
            reftype="obj",
            reftarget=name,
            refexplicit=True,
            refwarn=False,
            refdoc=self.env.docname,
        )


def read_topics(path: Path) -> list[dict[str, str]]:
    """Read the rows in the natural order of their ids: 004/2.9 before 004/2.10."""
    with path.open(encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file)
        if tuple(reader.fieldnames or ()) != COLUMNS:
            raise ValueError(f"{path.name} must have the columns {','.join(COLUMNS)}")
        return sorted(reader, key=lambda row: _natural_order(row["id"]))


def _natural_order(text: str) -> list[tuple[bool, int, str]]:
    parts = re.split(r"(\d+)", text)
    return [(part.isdigit(), int(part) if part.isdigit() else 0, part) for part in parts]


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("topics", Topics)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
