"""Data to learn from: public data sets that ship with the package, and generators with known truth.

Everything here returns a :class:`Dataset`. A ``load_…`` function reads numbers that stand in the
package, without a network; its docstring says where they come from. A ``make_…`` function draws
from a stated model: the same ``rng`` seed gives the same data, and ``truth`` holds the parameters.
"""

from posteriori.datasets.catalogue import (
    list_datasets,
    load_air_passengers,
    load_coal_disasters,
    load_dataset,
    load_galaxies,
    load_mauna_loa_co2,
    load_nile,
    load_old_faithful,
    load_sunspots,
)
from posteriori.datasets.dataset import Dataset
from posteriori.datasets.events import yearly_counts

__all__ = [
    "Dataset",
    "list_datasets",
    "load_air_passengers",
    "load_coal_disasters",
    "load_dataset",
    "load_galaxies",
    "load_mauna_loa_co2",
    "load_nile",
    "load_old_faithful",
    "load_sunspots",
    "yearly_counts",
]
