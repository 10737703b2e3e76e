"""The ``families``, ``pairs`` and ``parameters`` directives: what each family is and can do, read from the code."""

from docutils import nodes
from family_words import ELSEWHERE, list_families, list_parameters
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from posteriori.distributions import CAPABILITIES, Distribution
from posteriori.distributions.conjugate.pair import list_pairs


class Table(SphinxDirective):
    """A table whose cells are lists of nodes."""

    def table(self, head: list[nodes.Node], rows: list[list[nodes.Node]], name: str) -> nodes.table:
        group = nodes.tgroup("", *(nodes.colspec(colwidth=1) for _ in head), cols=len(head))
        group += nodes.thead("", self.row(head))
        group += nodes.tbody("", *map(self.row, rows))
        return nodes.table("", group, classes=[name])

    def row(self, cells: list[nodes.Node]) -> nodes.row:
        return nodes.row("", *(nodes.entry("", nodes.paragraph("", "", cell)) for cell in cells))

    def link(self, family: type) -> addnodes.pending_xref:
        return self.link_to(f"distributions.{family.__name__}")

    def link_to(self, name: str) -> addnodes.pending_xref:
        """Link to a public name of a room, which is shown without it."""
        return addnodes.pending_xref(
            "",
            nodes.literal(text=name.rpartition(".")[2]),
            refdomain="py",
            reftype="obj",
            reftarget=f"posteriori.{name}",
            refexplicit=True,
            refwarn=False,
            refdoc=self.env.docname,
        )


class Families(Table):
    """Families down, capabilities across; capabilities that go together share a column."""

    def run(self) -> list[nodes.Node]:
        families = list_families()
        columns: dict[tuple[bool, ...], list[str]] = {}
        for name in CAPABILITIES:
            pattern = tuple(has(family, name) for family in families)
            if not all(pattern):
                columns.setdefault(pattern, []).append(name)
        head = [nodes.Text("family"), *(stack(names) for names in columns.values())]
        rows = [
            [self.link(family), *(nodes.Text("●" if p[i] else "") for p in columns)]
            for i, family in enumerate(families)
        ]
        return [self.table(head, rows, "families")]


class Pairs(Table):
    """Priors beside the likelihoods to which they are conjugate, and what is unknown in these."""

    def run(self) -> list[nodes.Node]:
        found: dict[type, dict[type, list[str]]] = {}
        for pair in list_pairs():
            likelihoods = found.setdefault(pair.prior_family, {})
            unknown = likelihoods.setdefault(pair.likelihood_family, [])
            if ", ".join(pair.unknown) not in unknown:
                unknown.append(", ".join(pair.unknown))
        head: list[nodes.Node] = [nodes.Text("prior"), nodes.Text("likelihood (what is unknown)")]
        rows = [[self.link(prior), self.likelihoods(found[prior])] for prior in found]
        return [self.table(head, rows, "pairs")]

    def likelihoods(self, unknown: dict[type, list[str]]) -> nodes.inline:
        line = nodes.inline()
        for position, (family, names) in enumerate(unknown.items()):
            line += nodes.Text(" · " if position else "")
            line += self.link(family)
            line += nodes.Text(f" ({'; '.join(names)})")
        return line


class Parameters(Table):
    """Families down; their parameters, and the same distribution in SciPy and PyMC, across."""

    def run(self) -> list[nodes.Node]:
        head = [nodes.Text(text) for text in ("family", "parameters", "scipy.stats", "PyMC")]
        rows = [
            [
                self.link(family),
                code(", ".join(list_parameters(family))),
                *map(code, ELSEWHERE[family.__name__]),
            ]
            for family in list_families()
        ]
        return [self.table(head, rows, "parameters")]


def has(family: type[Distribution], name: str) -> bool:
    """Tell whether members of a family have a capability."""
    if name == "std" and not hasattr(family, "variance"):
        return False
    if name == "product" and not getattr(family, "constant_carrier", True):
        return False
    return hasattr(family, name)


def code(text: str) -> nodes.Node:
    """Write code, or nothing."""
    return nodes.literal(text=text) if text else nodes.Text("")


def stack(names: list[str]) -> nodes.Node:
    """Write names under each other."""
    return nodes.inline("", "", *(nodes.literal(text=name) for name in names))


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("families", Families)
    app.add_directive("pairs", Pairs)
    app.add_directive("parameters", Parameters)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
