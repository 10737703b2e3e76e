"""Pieces of HTML: sections, tables, lists and figures; texts are escaped here."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

__all__ = ["bullet_list", "figure", "section", "side_by_side", "table"]


def section(title: str, body: str) -> str:
    """Return a section; the body is HTML."""
    return f"<section>\n<h2>{escape(title)}</h2>\n{body}\n</section>"


def figure(svg: str, caption: str = "", *, broad: bool = False) -> str:
    """Return a figure that scrolls where the window is narrower than its texts need."""
    words = f"<figcaption>{escape(caption)}</figcaption>" if caption else ""
    return f'<figure{" class=broad" if broad else ""}><div class="wide">{svg}</div>{words}</figure>'


def side_by_side(drawn: Iterable[str]) -> str:
    """Return figures side by side."""
    return f'<div class="figures">{"".join(drawn)}</div>'


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
