"""Sphinx settings. The build needs no network: mathematics becomes MathML, figures are drawn here."""

import sys
from pathlib import Path

from sphinx.ext.napoleon.docstring import NumpyDocstring

import posteriori
from posteriori.plotting import STYLE

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "posteriori"
author = "The posteriori developers"
copyright = "The posteriori developers"
version = release = posteriori.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.doctest",
    "sphinx.ext.napoleon",
    "matplotlib.sphinxext.plot_directive",
    "families",
    "house_map",
    "joint_attributes",
    "mathml",
    "notebooks",
    "other_names",
    "page_plots",
    "plain_bars",
    "topics",
]

exclude_patterns = ["_build", "_ext", "_templates"]
templates_path = ["_templates"]
default_role = "code"
nitpicky = False

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3

# Examples in pages are {doctest} blocks and run here; those in docstrings run with the test suite,
# where each sees the names of its module. Nothing is set up for a page: it runs as it is pasted.
doctest_test_doctest_blocks = ""

autosummary_generate = True
autosummary_imported_members = True
autosummary_ignore_module_all = False
autodoc_typehints = "none"
autodoc_member_order = "bysource"
napoleon_google_docstring = False
napoleon_use_ivar = True
napoleon_use_param = False  # types are prose ("array (N, D)"), not names to link
napoleon_use_rtype = False
napoleon_preprocess_types = False

plot_formats = [("svg", 100)]
plot_html_show_formats = False
plot_html_show_source_link = False
plot_include_source = False
plot_pre_code = "import numpy as np\nimport matplotlib.pyplot as plt\n"
plot_rcparams = {**STYLE, "savefig.transparent": True, "svg.hashsalt": "posteriori"}
plot_apply_rcparams = True

html_theme = "furo"
html_title = f"posteriori {version}"
html_static_path = ["_static"]
html_css_files = ["posteriori.css"]
html_math_renderer = "mathml"
html_copy_source = False
html_show_sphinx = False


def skip_tuple_field(app, what, name, member, skip, options):
    """Leave out what NamedTuple says of its own fields; the class docstring says it better."""
    return True if "Alias for field number" in str(getattr(member, "__doc__", "")) else None


def skip_inherited_from_scikit_learn(app, what, name, member, skip, options):
    """Leave out what scikit-learn documents itself, with references into its own manual."""
    routed = name == "get_metadata_routing" or (
        name.startswith("set_") and name.endswith("_request")
    )
    module = str(getattr(member, "__module__", ""))
    return True if routed or module.startswith("sklearn.") else None


# Without this, the docstring "Shape of the batch: () for one" of a property reads as "type: text".
NumpyDocstring._consume_inline_attribute = lambda self: ("", self._dedent(self._consume_to_end()))


def setup(app):
    app.connect("autodoc-skip-member", skip_tuple_field)
    app.connect("autodoc-skip-member", skip_inherited_from_scikit_learn)
