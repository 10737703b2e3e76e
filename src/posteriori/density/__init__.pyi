from posteriori.density.adaptive_bins import AdaptiveHistogram as AdaptiveHistogram
from posteriori.density.equal_bins import Histogram as Histogram
from posteriori.density.kernel_density import KernelDensity as KernelDensity
from posteriori.density.local_balls import (
    ball_volume as ball_volume,
    local_density as local_density,
)
from posteriori.density.neighbor_density import NearestNeighborDensity as NearestNeighborDensity
from posteriori.density.student_density import StudentDensity as StudentDensity
from posteriori.density.target_density import (
    TargetHistogram as TargetHistogram,
    TargetKernelDensity as TargetKernelDensity,
)
