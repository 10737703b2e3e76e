"""Splines of many rows: compiled values, products without them, and models that never hold them."""

import tracemalloc

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import SplineTransformer

from posteriori.analysis.fitting.preparation import NumberColumns
from posteriori.classification import BayesianLogisticRegression
from posteriori.numerics.blocks.row_blocks import RowBlocks
from posteriori.regression import BayesianLinearRegressor, SplineBasis
from posteriori.selection.cross_validation import fit_in_parts

ROWS, COLUMNS = 33_000, 4  # so many numbers that values are compiled
BASES = {
    "cubic": {"n_knots": 5},
    "quadratic at quantiles": {"n_knots": 7, "degree": 2, "knots": "quantile"},
    "broken lines": {"n_knots": 4, "degree": 1},
}


@pytest.fixture(scope="module")
def inputs() -> np.ndarray:
    return np.random.default_rng(0).normal(size=(ROWS, COLUMNS))


@pytest.fixture(params=BASES)
def basis(request, inputs) -> SplineBasis:
    return SplineBasis(**BASES[request.param]).fit(inputs)


def test_values_are_those_of_scikit_learn(basis, inputs):
    plain = SplineTransformer(
        basis.n_knots, basis.degree, knots=basis.knots, extrapolation="constant"
    )
    new = 1.5 * inputs[::50]  # some lie beyond the ends
    new[0], new[1] = inputs.min(axis=0), inputs.max(axis=0)
    expected = plain.fit(inputs).transform(new)
    np.testing.assert_allclose(basis.transform(new), expected, atol=1e-13)


def test_products_are_those_with_the_values(basis, inputs):
    found, values = basis.transform_blocks(inputs), basis.transform(inputs)
    rng = np.random.default_rng(1)
    right, left = rng.normal(size=(values.shape[1], 3)), rng.normal(size=ROWS)
    assert found.shape == values.shape
    np.testing.assert_allclose(found @ right, values @ right, atol=1e-12)
    np.testing.assert_allclose(found @ right[:, 0], values @ right[:, 0], atol=1e-12)
    np.testing.assert_allclose(left @ found, left @ values, atol=1e-9)
    np.testing.assert_array_equal(found[100:200], values[100:200])


def test_few_rows_have_blocks_too():
    x = np.linspace(0.0, 1.0, 30)[:, None]
    few = SplineBasis(4).fit(x)
    np.testing.assert_allclose(
        few.transform_blocks(x) @ np.arange(6.0), few.transform(x) @ np.arange(6.0), atol=1e-14
    )


def table(rows: int, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.normal(size=(rows, 3)), columns=["a", "b", "c"])
    frame.loc[::9, "b"] = np.nan
    frame["g"] = pd.Categorical(rng.choice(["u", "v", "w"], rows))
    return frame


KINDS = {"a": "number", "b": "number", "c": "number", "g": "category"}


@pytest.mark.parametrize("grouped", [True, False])
@pytest.mark.parametrize("task", ["two classes", "three classes", "numbers"])
def test_a_pipeline_learns_the_same_from_rows_made_when_read(task, grouped):
    frame, rng = table(5000), np.random.default_rng(1)
    latent = frame["a"] ** 2 + (frame["g"] == "u") + rng.logistic(size=len(frame))
    number = task == "numbers"
    y = latent.to_numpy() if number else np.digitize(latent, [1.0, 2.5][: 1 + (task[1] == "h")])
    model = (
        BayesianLinearRegressor(hyperparameters="learned")
        if number
        else BayesianLogisticRegression()
    )
    model.set_params(groups=[-1] if grouped else None)
    columns = NumberColumns(KINDS, basis=SplineBasis(5), grouped=grouped)
    whole = Pipeline([("columns", columns), ("model", model)])
    whole.fit(frame, y)
    coefficients, evidence = whole[-1].coef_.copy(), float(whole[-1].log_evidence_)
    read = fit_in_parts(clone(whole), frame, y)
    # splines of a column sum to 1: weights hang on the prior alone along these directions
    np.testing.assert_allclose(read[-1].coef_, coefficients, rtol=1e-5, atol=1e-6)
    assert float(read[-1].log_evidence_) == pytest.approx(evidence, rel=1e-8)


def test_inputs_are_prepared_alike_block_by_block():
    frame = table(500)
    for columns in (
        NumberColumns(KINDS, basis=SplineBasis(5), grouped=True),
        NumberColumns(KINDS, basis=SplineBasis(5)),
        NumberColumns(KINDS),
    ):
        found = columns.fit(frame).transform_blocks(frame)
        assert isinstance(found, RowBlocks)
        np.testing.assert_allclose(found[:], columns.transform(frame), atol=1e-14)


def test_no_matrix_of_all_curves_is_held():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(20_000, 10))
    y = x[:, 0] ** 2 + rng.logistic(size=len(x)) > 1.0
    basis = SplineBasis(9).fit(x)
    blocks = basis.transform_blocks(x)
    BayesianLogisticRegression().fit_blocks(RowBlocks(lambda rows: x[rows], x.shape), y)  # loads
    _ = blocks @ np.zeros(110), np.zeros(len(x)) @ blocks
    tracemalloc.start()
    BayesianLogisticRegression(tol=1e-4).fit_blocks(blocks, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.7 * 8 * len(x) * blocks.shape[1]
