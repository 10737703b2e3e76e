from posteriori.sequence.series.autoregressive_series import (
    AutoregressiveSeries as AutoregressiveSeries,
)
from posteriori.sequence.series.count_series import CountSeries as CountSeries
from posteriori.sequence.series.structural_series import StructuralSeries as StructuralSeries
