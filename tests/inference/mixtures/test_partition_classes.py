"""Classes that are drawn given a partition have the laws of conjugate learning from the rows of each class."""

import numpy as np
import pytest
from scipy.stats import kstest

from posteriori import Beta, Dirichlet, Normal, NormalInverseGamma, bayes
from posteriori.inference.classes.column_checks import places_of
from posteriori.inference.mixtures.columns.partition_classes import draw_classes

PRIORS = {
    "normal": NormalInverseGamma([100.0, 0.0], 0.3, 2.0, [1.5, 4.0]),
    "bernoulli": Beta([1.0], [2.0]),
    "categorical": [Dirichlet([0.5, 1.0, 1.5])],
}


@pytest.mark.parametrize("k", [0, 1])
def test_draws_have_the_laws_of_the_beliefs(k: int) -> None:
    rng = np.random.default_rng(k)
    n = 24
    x = np.column_stack(
        [
            rng.normal(100.0, 1.0, n),
            rng.normal(0.0, 3.0, n),
            rng.integers(2, size=n),
            rng.integers(3, size=n),
        ]
    ).astype(float)
    x[::5, 0] = x[3::7, 2] = x[4::9, 3] = np.nan
    labels = np.arange(n) % 2
    places = places_of(("normal", "normal", "bernoulli", "categorical"))
    drawn = [draw_classes(places, x, PRIORS, labels, 1.0, rng) for _ in range(500)]
    mine = x[labels == k]
    seen = mine[~np.isnan(mine[:, 0]), 0]
    belief = bayes(NormalInverseGamma(100.0, 0.3, 2.0, 1.5), Normal, seen).posterior
    mean = belief.marginal_mean()
    laws = [
        ([one.means[k, 0] for one in drawn], mean.cdf),
        ([1.0 / one.precisions[k, 0, 0] for one in drawn], belief.marginal_variance().cdf),
        ([one.tables[0][k, 1] for one in drawn], _beta(mine[:, 2], 1, [2.0, 1.0])),
        ([one.tables[1][k, 2] for one in drawn], _beta(mine[:, 3], 2, [0.5, 1.0, 1.5])),
        ([np.exp(one.log_weights[k]) for one in drawn], Beta(13.0, 13.0).cdf),
    ]
    for values, cdf in laws:
        assert kstest(np.array(values), cdf).pvalue > 1e-3
    assert drawn[0].precisions[k, 0, 1] == 0.0


def _beta(codes: np.ndarray, level: int, alpha: list[float]):
    inside = (codes == level).sum() + alpha[level]
    outside = (~np.isnan(codes)).sum() + sum(alpha) - inside
    return Beta(inside, outside).cdf
