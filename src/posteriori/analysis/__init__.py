"""From a table to a verdict: which model the data support, how surely, and what it predicts.

Every name is loaded on first use.
"""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from posteriori.numerics.lazy import load_on_use as _load_on_use

#: Which file defines which public names.
_FILES = {
    "analyzing": ("Analysis", "analyze"),
    "columns": ("Column",),
    "model_files": ("load_model", "save_model"),
    "reading": ("TableFile", "read_table"),
    "table_model": ("TableModel",),
}

__all__, __getattr__, __dir__ = _load_on_use(__name__, _FILES)

if _TYPE_CHECKING:  # what type checkers and editors see; a test keeps it equal to the table
    from posteriori.analysis.analyzing import Analysis as Analysis
    from posteriori.analysis.analyzing import analyze as analyze
    from posteriori.analysis.columns import Column as Column
    from posteriori.analysis.model_files import load_model as load_model
    from posteriori.analysis.model_files import save_model as save_model
    from posteriori.analysis.reading import TableFile as TableFile
    from posteriori.analysis.reading import read_table as read_table
    from posteriori.analysis.table_model import TableModel as TableModel
