"""The record that every loader returns, and the reading of the CSV files beside this module."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Dataset", "read_csv"]


@dataclass(frozen=True, eq=False)
class Dataset:
    """A table of numbers with named columns.

    Parameters
    ----------
    data : ndarray, shape (N, D)
        One row per data point; locked against writing.
    names : tuple of str, length D
        The names of the columns.
    description : str
        What was measured, in which unit, by whom.
    """

    data: np.ndarray
    names: tuple[str, ...]
    description: str

    @cached_property
    def frame(self) -> pd.DataFrame:
        """The same table as a pandas DataFrame, made on first use."""
        import pandas as pd

        return pd.DataFrame(self.data.copy(), columns=list(self.names))

    def __getitem__(self, name: str) -> np.ndarray:
        """One column by its name, shape (N,)."""
        if name not in self.names:
            raise KeyError(f"no column {name!r}; the columns are {', '.join(self.names)}")
        return self.data[:, self.names.index(name)]

    def __len__(self) -> int:
        return len(self.data)

    def __repr__(self) -> str:
        return f"Dataset({len(self)} rows; {', '.join(self.names)})"


def read_csv(file: str, description: str) -> Dataset:
    """Read a CSV file of this folder: one header line, then numbers.

    Parameters
    ----------
    file : str
        The file's name.
    description : str
        Kept on the data set.

    Returns
    -------
    Dataset
    """
    header, *lines = files(__package__).joinpath(file).read_text(encoding="utf-8").splitlines()
    data = np.array([[float(cell) for cell in line.split(",")] for line in lines])
    data.flags.writeable = False
    return Dataset(data, tuple(header.split(",")), description)
