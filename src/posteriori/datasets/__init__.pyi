from posteriori.datasets.catalogue import (
    list_datasets as list_datasets,
    load_air_passengers as load_air_passengers,
    load_coal_disasters as load_coal_disasters,
    load_dataset as load_dataset,
    load_galaxies as load_galaxies,
    load_mauna_loa_co2 as load_mauna_loa_co2,
    load_nile as load_nile,
    load_old_faithful as load_old_faithful,
    load_radon as load_radon,
    load_sunspots as load_sunspots,
    yearly_counts as yearly_counts,
)
from posteriori.datasets.classes import (
    make_fish as make_fish,
    make_fruit as make_fruit,
    make_masked_classes as make_masked_classes,
    make_three_class_unequal as make_three_class_unequal,
    make_two_class_hard as make_two_class_hard,
    make_xor as make_xor,
)
from posteriori.datasets.clusters import (
    make_blobs_unequal as make_blobs_unequal,
    make_elongated as make_elongated,
    make_mouse as make_mouse,
    make_rings as make_rings,
)
from posteriori.datasets.dataset import Dataset as Dataset
from posteriori.datasets.draws import (
    make_coin_flips as make_coin_flips,
    make_constant_signal as make_constant_signal,
    make_correlated_pair as make_correlated_pair,
    make_die_rolls as make_die_rolls,
    make_mixed_sources as make_mixed_sources,
)
from posteriori.datasets.network_catalogue import (
    list_networks as list_networks,
    network_path as network_path,
)
from posteriori.datasets.noisy_curves import (
    make_curve as make_curve,
    make_heteroscedastic_line as make_heteroscedastic_line,
    make_noisy_line as make_noisy_line,
    make_polynomial as make_polynomial,
    make_sinusoid as make_sinusoid,
)
from posteriori.datasets.outliers import (
    make_contaminated_normal as make_contaminated_normal,
    make_line_with_outliers as make_line_with_outliers,
    make_separable as make_separable,
    make_two_class_outliers as make_two_class_outliers,
)
