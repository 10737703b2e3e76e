"""Small public data sets that ship with the package and are read without a network.

Each loader returns a :class:`Dataset`; the docstring of the loader says where the data come from.
"""

from posteriori.datasets.coal import load_coal_disasters, yearly_counts
from posteriori.datasets.dataset import Dataset

__all__ = ["Dataset", "load_coal_disasters", "yearly_counts"]
