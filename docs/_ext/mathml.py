"""Write mathematics as MathML, which browsers draw by themselves: no script, no network."""

import re

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx
from sphinx.util.logging import getLogger

logger = getLogger(__name__)


def to_mathml(node: nodes.Element, display: str) -> str:
    try:
        return _space(convert(_as_environment(node.astext()), display=display))
    except Exception as error:
        logger.warning("cannot convert %r to MathML: %s", node.astext(), error, location=node)
        return f"<code>{nodes.unescape(node.astext())}</code>"


def _as_environment(latex: str) -> str:
    """Wrap several lines, which `split` would align, in the environment that aligns them."""
    if "\\\\" in latex and "\\begin" not in latex:
        return rf"\begin{{split}}{latex}\end{{split}}"
    return latex.replace("{aligned}", "{split}")  # the converter does not know the former


_FUNCTION = r"<mi>(?:ln|log|exp|det|dim|min|max|sin|cos|tan|tr)</mi>"
_OPENING = r'<mo stretchy="false">&#x000(?:28|5B|7B);</mo>'
_CLOSING = r'<mo stretchy="false">&#x000(?:29|5D|7D);</mo>'
_SPACE = '<mspace width="0.17em"/>'


def _space(mathml: str) -> str:
    """Set what TeX would set: thin spaces around named functions, tight signs, ∞ as a letter."""
    mathml = mathml.replace("<mo>&#x0221E;</mo>", "<mi>&#x0221E;</mi>")
    mathml = re.sub(rf"(</m(?:i|n|frac|su[bp])>|{_CLOSING})(?={_FUNCTION})", rf"\1{_SPACE}", mathml)
    mathml = mathml.replace('<mi mathvariant="script">N</mi>', "<mi>\U0001d4a9</mi>")
    mathml = re.sub(r'<mtd columnalign="(\w+)"', r'<mtd columnalign="\1" class="\1"', mathml)
    mathml = re.sub(rf"({_FUNCTION})(?=<m(?!o))", rf"\1{_SPACE}", mathml)
    return re.sub(rf"({_OPENING})<mo>&#x02212;", r'\1<mo form="prefix">&#x02212;', mathml)


def visit_inline(self, node: nodes.Element) -> None:
    self.body.append(to_mathml(node, "inline"))
    raise nodes.SkipNode


def visit_block(self, node: nodes.Element) -> None:
    self.body.append(self.starttag(node, "div", CLASS="math-block"))
    self.body.append(to_mathml(node, "block"))
    if node.get("number"):
        self.body.append(f'<span class="eqno">({node["number"]})</span>')
        self.add_permalink_ref(node, "Link to this equation")
    self.body.append("</div>\n")
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
