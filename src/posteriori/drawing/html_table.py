"""Tables for notebooks: titles, rows of texts or small pictures, and remarks below."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

__all__ = ["Picture", "html_table", "interval_picture"]

#: Size of the picture of an interval, in pixels.
_WIDTH, _HEIGHT = 140, 14


class Picture(str):
    """SVG that stands in a cell as it is."""

    __slots__ = ()


def html_table(
    titles: Sequence[str], rows: Iterable[Sequence[str]], notes: Iterable[str] = ()
) -> str:
    """Return a table as HTML; all texts but pictures are escaped.

    Examples
    --------
    >>> html_table(["a"], [["<1>"]], ["few rows"])
    '<table><thead><tr><th>a</th></tr></thead><tbody><tr><td>&lt;1&gt;</td></tr></tbody></table><p>few rows</p>'
    """
    head = "".join(f"<th>{escape(title)}</th>" for title in titles)
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows)
    below = "".join(f"<p>{escape(note)}</p>" for note in notes)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{below}"


def _cell(text: str) -> str:
    return f"<td>{text if isinstance(text, Picture) else escape(text)}</td>"


def interval_picture(lower: float, middle: float, upper: float, low: float, high: float) -> Picture:
    """Return a bar from lower to upper with a dot in the middle, on an axis from low to high.

    Zero is marked where it lies on the axis.
    """
    span = high - low or 1.0
    at = [4 + (_WIDTH - 8) * (x - low) / span for x in (lower, middle, upper, 0.0)]
    mid = _HEIGHT / 2
    zero = f'<path d="M{at[3]:.1f} 0V{_HEIGHT}" stroke="#999"/>' if low < 0.0 < high else ""
    return Picture(
        f'<svg width="{_WIDTH}" height="{_HEIGHT}" role="img" aria-label="{lower:.4g} to {upper:.4g}">{zero}'
        f'<path d="M{at[0]:.1f} {mid}H{at[2]:.1f}" stroke="#4477aa" stroke-width="3"/>'
        f'<circle cx="{at[1]:.1f}" cy="{mid}" r="4" fill="#4477aa"/></svg>'
    )
