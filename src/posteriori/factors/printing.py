"""How tables print: one row per cell, columns aligned."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice, product

import numpy as np

from posteriori.numerics.types import Array

__all__ = ["format_table"]

#: Rows of a table that are printed.
_ROWS = 32


def format_table(
    names: Sequence[str], labels: Sequence[Sequence[object]], values: Array, title: str
) -> str:
    """Return a table with a column per axis and one for the value; long ones are cut."""
    cells = list(islice(zip(product(*labels), values.flat, strict=True), _ROWS))
    rows = [(*names, title)]
    rows += [(*map(str, where), _number(float(value))) for where, value in cells]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
    if values.size > _ROWS:
        lines.append(f"… {values.size - _ROWS} more rows")
    return "\n".join(lines)


def _number(x: float) -> str:
    if x == 0 or 1e-4 <= abs(x) < 1e16:
        return np.format_float_positional(x, precision=6, unique=True, trim="-")
    return np.format_float_scientific(x, precision=6, unique=True, trim="-")
