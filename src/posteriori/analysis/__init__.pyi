from posteriori.analysis.comparisons.comparing import compare as compare
from posteriori.analysis.comparisons.conclusions import Analysis as Analysis
from posteriori.analysis.counted.profiles import (
    ClusterProfile as ClusterProfile,
    Trait as Trait,
)
from posteriori.analysis.densities.describing import TableDensity as TableDensity
from posteriori.analysis.densities.odd_rows import OddEntry as OddEntry, OddRow as OddRow
from posteriori.analysis.forecasts.forecast_result import (
    EventEffect as EventEffect,
    Forecast as Forecast,
    Forecasts as Forecasts,
)
from posteriori.analysis.forecasts.forecasting import forecast as forecast
from posteriori.analysis.groups.clustering import Clustering as Clustering, cluster as cluster
from posteriori.analysis.saved.cluster_model import ClusterModel as ClusterModel
from posteriori.analysis.saved.density_model import DensityModel as DensityModel
from posteriori.analysis.saved.forecast_model import ForecastModel as ForecastModel
from posteriori.analysis.saved.model_files import (
    load_model as load_model,
    save_model as save_model,
)
from posteriori.analysis.saved.segment_model import SegmentModel as SegmentModel
from posteriori.analysis.saved.table_model import TableModel as TableModel
from posteriori.analysis.segments.regimes import Regime as Regime
from posteriori.analysis.segments.segmenting import (
    Segmentation as Segmentation,
    segment as segment,
)
from posteriori.analysis.table.columns import Column as Column
from posteriori.analysis.table.reading import TableFile as TableFile, read_table as read_table
