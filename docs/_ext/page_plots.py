"""Draw the figures of a page with the names that the examples above them have defined.

For this the examples run once more, in the order of the page; what they print is compared by the
``doctest`` builder, which draws nothing. A plot gets a copy of the names: what it assigns does not
reach the examples below, for they are tested without it.

Figures are numbered through the page, so that each gets a file of its own: matplotlib counts them
per document, but every ``eval-rst`` block of a Markdown page is a document of its own.
"""

import doctest
import traceback
from collections import deque
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.statemachine import StringList
from matplotlib.sphinxext import plot_directive
from page_examples import examples_of
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment


class Page:
    """The examples of a page, and the names defined by those that have run so far."""

    def __init__(self, path: Path, setup: str) -> None:
        examples = examples_of(path.read_text(encoding="utf-8"))
        self.path = path
        self.waiting = deque(filter(defines_names, examples))
        self.names: dict[str, Any] = {}
        self.n_figures = 0
        exec(setup, self.names)

    def names_above(self, line: int) -> dict[str, Any]:
        """Run the examples above a line that have not run yet; return a copy of all names."""
        with redirect_stdout(StringIO()):
            while self.waiting and self.waiting[0].lineno < line:
                example = self.waiting.popleft()
                padded = "\n" * example.lineno + example.source  # errors name the line of the page
                exec(compile(padded, self.path, "exec"), self.names)
        return dict(self.names)


def defines_names(example: doctest.Example) -> bool:
    """Leave out what is skipped when tested, and what is there to fail."""
    return example.exc_msg is None and not example.options.get(doctest.SKIP)


class PagePlot(plot_directive.PlotDirective):
    """The ``plot`` directive, with the names and the counter of its page."""

    draws = True

    def run(self) -> list[nodes.Node]:
        if not self.draws:
            return []
        document = self.state_machine.document
        page = current_page(document.settings.env, Path(document["source"]))
        plot_directive.plot_context.clear()
        plot_directive.plot_context.update(self.names_of(page))
        self.options["context"] = "close-figs"  # those that the examples have drawn
        self.content = StringList([""] * self.content_offset) + self.content  # lines of the page
        document["_plot_counter"] = page.n_figures
        made = super().run()
        page.n_figures = document["_plot_counter"]
        return made

    def names_of(self, page: Page) -> dict[str, Any]:
        try:
            return page.names_above(self.lineno)
        except Exception:
            failed = traceback.format_exc()
            raise self.error(f"an example above this plot fails:\n{failed}") from None


def current_page(env: BuildEnvironment, path: Path) -> Page:
    """Return the page that is being read; it lasts until the next one is."""
    if "page_of_plots" not in env.temp_data:
        env.temp_data["page_of_plots"] = Page(path, env.config.plot_pre_code)
    return env.temp_data["page_of_plots"]


def draw_nothing_in_tests(app: Sphinx) -> None:
    PagePlot.draws = app.builder.name != "doctest"


def setup(app: Sphinx) -> dict[str, bool]:
    app.setup_extension("matplotlib.sphinxext.plot_directive")
    app.add_directive("plot", PagePlot, override=True)
    app.connect("builder-inited", draw_nothing_in_tests)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
