"""Pieces of a page. Texts are escaped here; bodies are HTML already."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape

__all__ = [
    "bullet_list",
    "figure",
    "folded",
    "framed",
    "links",
    "pair",
    "paragraph",
    "section",
    "side_by_side",
    "table",
]


def section(title: str, body: str) -> str:
    """Return a section that links can lead to."""
    return f'<section id="{_anchor(title)}">\n<h2>{escape(title)}</h2>\n{body}\n</section>'


def links(sections: Iterable[str]) -> str:
    """Return links to sections."""
    titles = re.findall(r"<h2>(.*?)</h2>", "".join(sections))
    return "".join(f'<a href="#{_anchor(title)}">{title}</a>' for title in titles)


def _anchor(title: str) -> str:
    return re.sub(r"[^a-z]+", "-", title.lower()).strip("-")


def paragraph(text: str) -> str:
    """Return a paragraph of plain text."""
    return f"<p>{escape(text)}</p>"


def figure(svg: str, caption: str = "", *, long: bool = False) -> str:
    """Return a figure that scrolls where the window is narrower than its texts need.

    A long one takes the whole width of the page.
    """
    words = f"<figcaption>{escape(caption)}</figcaption>" if caption else ""
    kind = ' class="long"' if long else ""
    return f'<figure{kind}><div class="wide">{svg}</div>{words}</figure>'


def side_by_side(drawn: Iterable[str]) -> str:
    """Return small figures side by side."""
    return f'<div class="figures">{"".join(drawn)}</div>'


def pair(parts: Iterable[str]) -> str:
    """Return two parts side by side where the page is wide enough."""
    return f'<div class="pair">{"".join(f"<div>{part}</div>" for part in parts)}</div>'


def folded(title: str, body: str) -> str:
    """Return a part that opens when it is asked for."""
    return f"<details><summary>{escape(title)}</summary>{body}</details>"


def framed(page: str) -> str:
    """Return a whole page as a frame of another one, such as a notebook."""
    held = escape(page, quote=True)
    return f'<iframe srcdoc="{held}" style="width:100%;height:40rem;border:0"></iframe>'


def bullet_list(items: Sequence[str]) -> str:
    """Return a list of texts; nothing if there are none."""
    if not items:
        return ""
    return "<ul>" + "".join(f"<li>{escape(item)}</li>" for item in items) + "</ul>"


def table(header: Sequence[str], rows: Iterable[Sequence[str]], name: str = "plain") -> str:
    """Return a table whose rows begin with their names; it scrolls beside these."""
    head = "".join(f'<th scope="col">{escape(cell)}</th>' for cell in header)
    body = "\n".join(
        f'<tr><th scope="row">{escape(row[0])}</th>'
        + "".join(f"<td>{escape(cell)}</td>" for cell in row[1:])
        + "</tr>"
        for row in rows
    )
    return (
        f'<div class="wide"><table class="{name}"><thead><tr>{head}</tr></thead>\n'
        f"<tbody>\n{body}\n</tbody></table></div>"
    )
