"""Sums for linear regression: chunks and merges against one dense factor of all rows."""

import numpy as np
import pytest

from posteriori.numerics.least_squares.regression_statistics import SafeGram, regression_statistics

pytestmark = pytest.mark.blas

ROWS, COLUMNS = 3000, 12


def table(seed=0, rows=ROWS):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(rows, COLUMNS)) + 3.0
    return x, x @ rng.normal(size=(COLUMNS, 1)) + rng.normal(size=(rows, 1))


def dense_factor(x, y):
    """R of the centred rows by one QR decomposition, with a positive diagonal."""
    z = np.column_stack([x, y])
    r = np.linalg.qr(z - z.mean(axis=0), mode="r")
    return r * np.sign(np.diagonal(r))[:, None]


def stream(x, y, n_chunks):
    known = None
    for rows in np.array_split(np.arange(len(x)), n_chunks):
        known = regression_statistics(x[rows], y[rows], earlier=known)
    return known


def assert_same_factor(found, x, y, rtol=1e-9):
    r = found.factor * np.sign(np.diagonal(found.factor))[:, None]
    expected = dense_factor(x, y)
    scale = np.sqrt((expected**2).sum(axis=0))
    np.testing.assert_allclose(r / scale, expected / scale, rtol=rtol, atol=1e-12)
    np.testing.assert_allclose(found.mean, np.column_stack([x, y]).mean(axis=0), rtol=1e-12)


@pytest.mark.parametrize("n_chunks", [1, 2, 30, 1000])
def test_chunks_give_the_factor_of_all_rows(n_chunks):
    x, y = table()
    found = stream(x, y, n_chunks)
    assert isinstance(found.squared, SafeGram)
    assert_same_factor(found, x, y)


def test_merging_gives_the_factor_of_all_rows():
    x, y = table()
    parts = [regression_statistics(x[rows], y[rows]) for rows in (slice(0, 7), slice(7, ROWS))]
    assert_same_factor(parts[0].merge(parts[1]), x, y)


def test_what_is_said_to_be_left_of_a_column_is_left():
    """Rows only add to R_jj², so that the bound of the first chunk holds for all."""
    rng = np.random.default_rng(1)
    x, y = table()
    x *= np.geomspace(1.0, 20.0, ROWS)[:, None] * rng.uniform(0.5, 2.0, size=COLUMNS)
    found = stream(x, y, 20)
    assert isinstance(found.squared, SafeGram)
    assert np.all(found.squared.left <= np.diagonal(found.factor) ** 2 * (1 + 1e-9))
    assert np.all(found.squared.left > 0)


def test_chunks_that_drift_together_are_triangularised():
    """Means that move by far more than the spread make all columns one: squares would not do."""
    x, y = table()
    x += 1e5 * np.repeat(np.arange(10.0), ROWS // 10)[:, None]
    found = stream(x, y, 10)
    assert not isinstance(found.squared, SafeGram)
    expected = np.linalg.lstsq(x - x.mean(axis=0), y - y.mean(), rcond=None)[0][:, 0]
    r = found.factor
    weights = np.linalg.solve(r[:COLUMNS, :COLUMNS], r[:COLUMNS, COLUMNS])
    np.testing.assert_allclose(weights, expected, atol=1e-8)


def test_chunks_of_nearly_dependent_columns_keep_their_digits():
    x, y = table()
    x[:, 1] = x[:, 0] + 1e-7 * x[:, 1]
    y = x.sum(axis=1, keepdims=True)
    r = stream(x, y, 10).factor
    weights = np.linalg.solve(r[:COLUMNS, :COLUMNS], r[:COLUMNS, COLUMNS])
    np.testing.assert_allclose(weights, 1.0, atol=1e-6)


def test_a_column_that_never_varies_has_no_spread():
    x, y = table()
    x[:, 3] = 0.1
    assert stream(x, y, 10).scales[3] == 0.0


def test_weights_of_chunks_are_those_of_all_rows():
    x, y = table()
    rng = np.random.default_rng(2)
    times, variance = rng.integers(1, 4, size=ROWS).astype(float), rng.uniform(0.5, 2.0, size=ROWS)
    parts = slice(0, 1000), slice(1000, ROWS)
    known = None
    for rows in parts:
        known = regression_statistics(
            x[rows], y[rows], frequency=times[rows], variance=variance[rows], earlier=known
        )
    w = (times / variance)[:, None]
    z = np.column_stack([x, y])
    centred = z - (w * z).sum(axis=0) / w.sum()
    gram = known.factor.T @ known.factor
    np.testing.assert_allclose(gram, (w * centred).T @ centred, rtol=1e-9)
    assert known.rows == times.sum()
    assert known.weight == pytest.approx(w.sum(), rel=1e-12)
    assert known.log_variance == pytest.approx(times @ np.log(variance), rel=1e-12)
