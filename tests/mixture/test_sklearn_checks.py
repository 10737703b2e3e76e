"""scikit-learn's checks of every clustering."""

from posteriori.mixture import KMeans, KMedians, KMedoids
from tests.scikit_learn_checks import every_check


@every_check(
    [
        KMeans(3, random_state=0),
        KMedians(3, random_state=0),
        KMedoids(3),
        KMeans(2, init="random", n_init=2, split_merge=False, keep_path=True, random_state=0),
        KMedoids(3, metric="manhattan"),
        KMedoids(3, metric="nan_euclidean"),
    ]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)
