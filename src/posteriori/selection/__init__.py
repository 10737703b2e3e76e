"""Comparing models: evidence, held-out predictive density, averages and checks.

Every name is loaded on first use.
"""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from posteriori.numerics.lazy import load_on_use as _load_on_use

#: Which file defines which public names.
_FILES = {
    "compare": ("compare",),
    "comparison": ("Comparison", "Row"),
    "held_out": ("HeldOut", "held_out_density"),
    "psis": ("LeaveOneOut", "leave_one_out", "waic"),
}

__all__, __getattr__, __dir__ = _load_on_use(__name__, _FILES)

if _TYPE_CHECKING:  # what type checkers and editors see; a test keeps it equal to the table
    from posteriori.selection.compare import compare as compare
    from posteriori.selection.comparison import Comparison as Comparison
    from posteriori.selection.comparison import Row as Row
    from posteriori.selection.held_out import HeldOut as HeldOut
    from posteriori.selection.held_out import held_out_density as held_out_density
    from posteriori.selection.psis import LeaveOneOut as LeaveOneOut
    from posteriori.selection.psis import leave_one_out as leave_one_out
    from posteriori.selection.psis import waic as waic
