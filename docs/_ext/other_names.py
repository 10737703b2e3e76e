"""The ``other-names`` directive: words of the field, and the public names that do the job."""

from docutils import nodes
from families import Table
from sphinx.application import Sphinx

from posteriori.numerics.lazy import read_other_names


class OtherNames(Table):
    """A word a row, with links to what to use."""

    def run(self) -> list[nodes.Node]:
        rows = [
            [nodes.Text(word), self.links(here)]
            for word, here in sorted(read_other_names().items(), key=lambda item: item[0].lower())
        ]
        return [self.table([nodes.Text("elsewhere"), nodes.Text("here")], rows, "other-names")]

    def links(self, here: list[str]) -> nodes.inline:
        cell = nodes.inline()
        for place, name in enumerate(here):
            cell += [nodes.Text(", " if place else ""), self.link_to(name)]
        return cell


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("other-names", OtherNames)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
