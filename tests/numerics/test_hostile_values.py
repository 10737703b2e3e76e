"""What users hand in by mistake: masked entries, numbers beyond all size, sizes that are none."""

import numpy as np
import pytest

from posteriori import Model, Normal, bayes
from posteriori.classification import ClassFrequencies, NaiveBayes
from posteriori.distributions import Gamma, MvNormal, StudentT
from posteriori.numerics.random import as_size
from posteriori.numerics.validation import as_observation, require_moderate, unmasked
from posteriori.regression import BayesianLinearRegressor, LinearRegressor, RobustRegressor

MASKED = np.ma.array([1.0, 2.0, 1e6], mask=[False, False, True])


def test_masked_numbers_are_missing_ones():
    np.testing.assert_array_equal(unmasked("x", MASKED), [1.0, 2.0, np.nan])
    np.testing.assert_array_equal(as_observation(MASKED), [1.0, 2.0, np.nan])
    whole = np.ma.array([1, 2], mask=[False, False])
    assert unmasked("x", whole).dtype == whole.dtype
    with pytest.raises(ValueError, match="y holds masked entries"):
        unmasked("y", np.ma.array(["a", "b"], mask=[True, False]))


@pytest.mark.parametrize(
    "use",
    [
        lambda: Normal.fit(MASKED),
        lambda: Gamma.fit(MASKED),
        lambda: StudentT.fit(MASKED),
        lambda: bayes(Normal(0.0, variance=1.0), lambda m: Normal(m, variance=1.0), MASKED),
        lambda: Normal(MASKED, variance=1.0),
        lambda: Normal(0.0, variance=1.0).log_prob(MASKED),
        lambda: Normal(0.0, variance=1.0).cdf(MASKED),
        lambda: LinearRegressor().fit(MASKED[:, None], [1.0, 2.0, 3.0]),
        lambda: LinearRegressor().fit([[1.0], [2.0], [4.0]], MASKED),
        lambda: LinearRegressor().fit([[1.0], [2.0], [4.0]], [1.0, 2.0, 3.0], sample_weight=MASKED),
        lambda: ClassFrequencies().fit([[1.0], [2.0], [4.0]], MASKED),
        lambda: ClassFrequencies().fit(MASKED[:, None], [0, 1, 1]),
    ],
)
def test_masked_entries_are_refused_where_nan_is(use):
    with pytest.raises(ValueError, match=r"NaN|nan"):
        use()


def test_masked_entries_are_missing_where_nan_is():
    x = np.array([[0.0, 1.0], [1.0, 0.0], [4.0, 1e9], [5.0, 2.0], [0.5, 0.1], [4.5, 2.2]])
    y = [0, 0, 1, 1, 0, 1]
    masked = np.ma.array(x, mask=x > 1e8)
    gappy = np.where(x > 1e8, np.nan, x)
    found = [NaiveBayes().fit(data, y).log_evidence_ for data in (masked, gappy)]
    assert float(found[0]) == float(found[1])
    x1, y1 = [[1.0], [2.0], [4.0]], np.array([1.0, 2.0, np.nan])
    fits = [BayesianLinearRegressor(missing="drop").fit(x1, data) for data in (MASKED, y1)]
    np.testing.assert_array_equal(fits[0].predict(x1), fits[1].predict(x1))
    m = Model()
    m.mu = Normal(0.0, variance=1.0)
    m.y = Normal(m.mu, variance=1.0).iid("n")
    assert m.infer(y=MASKED).mu == m.infer(y=y1).mu


def test_numbers_beyond_all_size():
    with pytest.raises(ValueError, match="mean must be finite, got a whole number beyond 1e308"):
        Normal([10**309, 1], variance=1.0)
    with pytest.raises(ValueError, match="x must be finite"):
        Normal(0.0, variance=1.0).log_prob(10**309)
    require_moderate("y", np.array([-1e150, 0.0]))
    with pytest.raises(ValueError, match="y must lie within"):
        require_moderate("y", np.array([-1e160, 0.0]))
    with pytest.raises(ValueError, match="y has no number beyond"):
        require_moderate("y", np.array([-1e-160, 0.0]))


@pytest.mark.parametrize("estimator", [RobustRegressor, LinearRegressor, BayesianLinearRegressor])
def test_targets_whose_squares_overflow_or_vanish_are_refused(estimator):
    x = np.random.default_rng(0).normal(size=(30, 2))
    for scale in (1e160, 1e300, 1e-160, 1e-300):
        with pytest.raises(ValueError, match="unit of its size"):
            estimator().fit(x, scale * x[:, 0])


def test_huge_columns_are_refused_where_predictors_are_climbed_to():
    x = np.random.default_rng(0).normal(size=(30, 2))
    with pytest.raises(ValueError, match="X must lie within"):
        RobustRegressor().fit(1e200 * x, x[:, 0])


def test_sizes_of_draws():
    assert as_size([2, np.int32(3)]) == (2, 3)
    assert Normal(0.0, variance=1.0).sample(np.int64(3), rng=0).shape == (3,)
    for wrong in (2.5, True, "3", (2, 0.5)):
        with pytest.raises(TypeError, match="size must be a whole number"):
            Normal(0.0, variance=1.0).sample(wrong)
    with pytest.raises(ValueError, match="size must not be negative"):
        Normal(0.0, variance=1.0).sample(-1)


def test_images_under_what_is_no_matrix():
    for matrix, name in ((np.full((2, 2), np.nan), "matrix"), ([[1.0, np.inf]], "matrix")):
        with pytest.raises(ValueError, match=f"{name} must be finite"):
            MvNormal([0.0, 0.0], cov=np.eye(2)).affine(matrix)
    with pytest.raises(ValueError, match="offset must be finite"):
        MvNormal([0.0, 0.0], cov=np.eye(2)).affine(np.eye(2), np.nan)
