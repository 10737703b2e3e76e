"""Write each page of the gallery as a notebook, too, beside its HTML, and link to it below its title."""

import json
from pathlib import Path

from docutils import nodes
from page_notebook import notebook_of
from sphinx.application import Sphinx


def is_taken(docname: str) -> bool:
    return docname.startswith("gallery/") and docname != "gallery/index"


def link_to_notebook(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Put the link below the title."""
    if app.builder.format != "html" or not is_taken(docname):
        return
    name = docname.rpartition("/")[2]
    link = nodes.reference(
        "", "Take this page as a notebook", refuri=f"{name}.ipynb", internal=True
    )
    title = next(doctree.findall(nodes.title))
    title.parent.insert(1, nodes.paragraph("", "", link, classes=["notebook"]))


def write_notebooks(app: Sphinx, failed: Exception | None) -> None:
    if failed is not None or app.builder.format != "html":
        return
    for docname in filter(is_taken, sorted(app.env.found_docs)):
        page = Path(app.env.doc2path(docname)).read_text(encoding="utf-8")
        made = Path(app.outdir) / f"{docname}.ipynb"
        made.write_text(json.dumps(notebook_of(page), ensure_ascii=False, indent=1) + "\n", "utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("doctree-resolved", link_to_notebook)
    app.connect("build-finished", write_notebooks)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
