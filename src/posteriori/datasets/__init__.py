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
from posteriori.datasets.classes import (
    make_fish,
    make_fruit,
    make_masked_classes,
    make_three_class_unequal,
    make_two_class_hard,
    make_xor,
)
from posteriori.datasets.clusters import (
    make_blobs_unequal,
    make_elongated,
    make_mouse,
    make_rings,
)
from posteriori.datasets.curves import (
    make_curve,
    make_heteroscedastic_line,
    make_noisy_line,
    make_polynomial,
    make_sinusoid,
)
from posteriori.datasets.dataset import Dataset
from posteriori.datasets.draws import (
    make_coin_flips,
    make_constant_signal,
    make_correlated_pair,
    make_die_rolls,
    make_mixed_sources,
)
from posteriori.datasets.events import yearly_counts
from posteriori.datasets.outliers import (
    make_contaminated_normal,
    make_line_with_outliers,
    make_separable,
    make_two_class_outliers,
)

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
    "make_blobs_unequal",
    "make_coin_flips",
    "make_constant_signal",
    "make_contaminated_normal",
    "make_correlated_pair",
    "make_curve",
    "make_die_rolls",
    "make_elongated",
    "make_fish",
    "make_fruit",
    "make_heteroscedastic_line",
    "make_line_with_outliers",
    "make_masked_classes",
    "make_mixed_sources",
    "make_mouse",
    "make_noisy_line",
    "make_polynomial",
    "make_rings",
    "make_separable",
    "make_sinusoid",
    "make_three_class_unequal",
    "make_two_class_hard",
    "make_two_class_outliers",
    "make_xor",
    "yearly_counts",
]
