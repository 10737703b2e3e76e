"""Scales of weights are looked for where they, and what they divide, are numbers."""

import numpy as np
import pytest

from posteriori.regression import BayesianLinearRegressor

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(9, 2)), RNG.normal(size=9)


@pytest.mark.parametrize("how", ["learned", "type-II", "grid", "sparse"])
@pytest.mark.parametrize("unit", [1e-150, 1e-100, 1e100, 1e149, np.array([1e-150, 1e149])])
def test_columns_of_extreme_units_are_learned_without_a_warning(how, unit):
    model = BayesianLinearRegressor(hyperparameters=how, standardize=False).fit(X * unit, Y)
    assert np.all(np.isfinite(model.predict(X * unit)))
    assert np.isfinite(float(model.log_evidence_))


def test_the_chosen_scale_moves_with_the_unit():
    plain = BayesianLinearRegressor(hyperparameters="type-II", standardize=False).fit(
        X, X @ [1.0, 2.0] + 0.1 * Y
    )
    tiny = BayesianLinearRegressor(hyperparameters="type-II", standardize=False).fit(
        1e-140 * X, X @ [1.0, 2.0] + 0.1 * Y
    )
    np.testing.assert_allclose(tiny.predict(1e-140 * X), plain.predict(X), rtol=1e-6)
