from posteriori.analysis.analyzing import Analysis as Analysis, analyze as analyze
from posteriori.analysis.densities.describing import TableDensity as TableDensity
from posteriori.analysis.densities.odd_rows import OddEntry as OddEntry, OddRow as OddRow
from posteriori.analysis.fitting.cluster_model import ClusterModel as ClusterModel
from posteriori.analysis.fitting.density_model import DensityModel as DensityModel
from posteriori.analysis.fitting.model_files import (
    load_model as load_model,
    save_model as save_model,
)
from posteriori.analysis.fitting.segment_model import SegmentModel as SegmentModel
from posteriori.analysis.fitting.table_model import TableModel as TableModel
from posteriori.analysis.groups.cluster_profiles import (
    ClusterProfile as ClusterProfile,
    Trait as Trait,
)
from posteriori.analysis.groups.clustering import Clustering as Clustering, cluster as cluster
from posteriori.analysis.segments.regimes import Regime as Regime
from posteriori.analysis.segments.segmenting import (
    Segmentation as Segmentation,
    segment as segment,
)
from posteriori.analysis.table.columns import Column as Column
from posteriori.analysis.table.reading import TableFile as TableFile, read_table as read_table
