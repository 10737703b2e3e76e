"""The ``house-map`` and ``house-parts`` directives: a package by layers, drawn from its sources."""

from docutils import nodes
from families import Table
from house import House, read_house
from house_drawing import draw
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective


class HouseMap(SphinxDirective):
    """Draw the map of the package that the argument names."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        self.env.note_reread()
        (package,) = self.arguments
        svg = draw(read_house(package), f"The parts of {package} and what they import")
        return [nodes.raw("", f'<div class="house-map">{svg}</div>', format="html")]


class HouseParts(Table):
    """List the parts of the package that the argument names, from the top: what each imports."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        self.env.note_reread()
        house = read_house(*self.arguments)
        head = [nodes.Text(text) for text in ("part", "what it is", "what it imports")]
        rows = [
            [
                nodes.literal(text=part),
                nodes.Text(house.summaries[part]),
                nodes.Text(_used(house, part)),
            ]
            for layer in house.layers
            for part in layer
        ]
        return [self.table(head, rows, "house-parts")]


def _used(house: House, part: str) -> str:
    """Return the parts that one imports, those that it imports most often first."""
    found = {end: count for (start, end), count in house.imports.items() if start == part}
    return ", ".join(sorted(found, key=lambda end: (-found[end], end))) or "nothing"


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("house-map", HouseMap)
    app.add_directive("house-parts", HouseParts)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
