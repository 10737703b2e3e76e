"""scikit-learn's contract for mixtures of any family and for latent classes."""

import pytest

from posteriori.distributions import Laplace, Normal, NormalInverseGamma
from posteriori.mixture import FamilyMixture, LatentClasses
from tests.scikit_learn_checks import every_check

ESTIMATORS = [
    LatentClasses(2, n_init=2),
    LatentClasses(2),
    LatentClasses(2, method="ml"),
    FamilyMixture(Normal, 2, n_init=2),
    FamilyMixture(Normal, 2, prior=NormalInverseGamma(0.0, 0.1, 1.5, 1.0)),
    FamilyMixture(Laplace, 2, n_init=2),
]


def one_column(estimator):
    """Families of numbers take numbers."""
    if isinstance(estimator, FamilyMixture):
        return {"check_fit1d": "numbers (N,) are one column for a family of numbers"}
    return {}


@pytest.mark.filterwarnings("ignore::posteriori.numerics.warnings.ConvergenceWarning")
@every_check(ESTIMATORS, one_column)
def test_scikit_learn_checks(estimator, check):
    check(estimator)
