"""Small joint tables, and questions answered by adding up their rows."""

import itertools
import math

import numpy as np
from hypothesis import strategies as st

from posteriori.tables.joint_table import JointTable

__all__ = ["brute", "rows", "tables", "weather"]

SIZES = {"A": 2, "B": 3, "C": 2, "D": 4}


@st.composite
def tables(draw, min_axes=1, zeros=True):
    names = tuple(draw(st.permutations(sorted(SIZES)))[: draw(st.integers(min_axes, 4))])
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    cells = rng.exponential(size=[SIZES[name] for name in names])
    if zeros and draw(st.booleans()):
        cells.flat[:: int(rng.integers(2, 5))] = 0.0
        cells.flat[-1] += 1.0
    return JointTable(names, cells / cells.sum())


def rows(table):
    """List every cell as (assignment, probability)."""
    labels = [table.labels[name] for name in table.names]
    cells = zip(itertools.product(*labels), table.probabilities.ravel(), strict=True)
    return [(dict(zip(table.names, where, strict=True)), float(p)) for where, p in cells]


def brute(table, holds, given=lambda row: True):
    known = math.fsum(p for row, p in rows(table) if given(row))
    return math.fsum(p for row, p in rows(table) if given(row) and holds(row)) / known


def weather():
    cells = np.arange(1.0, 13.0).reshape(2, 3, 2)
    return JointTable(
        ["rain", "wind", "x"],
        cells / cells.sum(),
        {"rain": ["no", "yes"], "wind": ["calm", "breeze", "storm"]},
    )
