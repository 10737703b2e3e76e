"""scikit-learn's checks of every density."""

from posteriori.density import (
    AdaptiveHistogram,
    Histogram,
    KernelDensity,
    NearestNeighborDensity,
    StudentDensity,
    TargetHistogram,
    TargetKernelDensity,
)
from posteriori.estimators.estimator_rows import check_inputs
from tests.scikit_learn_checks import every_check


class OfFirstColumn:
    """The checks give several columns: a histogram is asked about the first."""

    def _check_column(self, X, *, reset=False):
        return check_inputs(self, X, reset=reset)[:, :1]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.one_d_array = False
        return tags


class FirstHistogram(OfFirstColumn, Histogram):
    pass


class FirstAdaptiveHistogram(OfFirstColumn, AdaptiveHistogram):
    pass


@every_check(
    [
        FirstHistogram(20),
        FirstAdaptiveHistogram(30),
        KernelDensity(),
        NearestNeighborDensity(3),
        StudentDensity(),
        TargetKernelDensity(),
        TargetHistogram(30),
        KernelDensity(0.7, kernel="cube"),
        KernelDensity("scott", kernel="epanechnikov", bounds=None),
        FirstAdaptiveHistogram(30, range=(-1e3, 1e3), max_segments=4),
    ]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)
