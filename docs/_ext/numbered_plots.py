"""Number the figures of a page through, so that each gets a file of its own.

matplotlib counts figures per document, but every ``eval-rst`` block of a Markdown page is a
document of its own: without this all figures of a page would be its last one.
"""

from docutils import nodes
from matplotlib.sphinxext.plot_directive import PlotDirective
from sphinx.application import Sphinx


class NumberedPlot(PlotDirective):
    """The ``plot`` directive with a counter that belongs to the page."""

    def run(self) -> list[nodes.Node]:
        document = self.state_machine.document
        page = document.settings.env.temp_data
        document.attributes["_plot_counter"] = page.get("plot_counter", 0)
        made = super().run()
        page["plot_counter"] = document.attributes["_plot_counter"]
        return made


def setup(app: Sphinx) -> dict[str, bool]:
    app.setup_extension("matplotlib.sphinxext.plot_directive")
    app.add_directive("plot", NumberedPlot, override=True)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
