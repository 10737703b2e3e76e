"""Features of columns: labels are responsibilities of 0 and 1, and densities are linear in them."""

import numpy as np
import pytest
from scipy.special import gammaln

from posteriori.estimators.labelled_rows import LabelledRows
from posteriori.inference.classes.column_features import column_features
from posteriori.inference.classes.column_models import KINDS

KIND_NAMES = sorted(KINDS)


def make_rows(kind, gaps=True, n=40, seed=0):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 3, n)
    x = {
        "normal": lambda: rng.normal(1e3 + codes[:, None], 2.0, (n, 2)),
        "bernoulli": lambda: rng.integers(0, 2, (n, 2)) * 1.0,
        "poisson": lambda: rng.poisson(1.0 + codes[:, None], (n, 2)) * 1.0,
        "categorical": lambda: rng.integers(0, (3, 4), (n, 2)) * 1.0,
        "table": lambda: rng.integers(0, (2, 3), (n, 2)) * 1.0,
    }[kind]()
    if gaps and kind != "table":
        x[rng.random(x.shape) < 0.2] = np.nan
    return LabelledRows(x, codes, np.arange(3), rng.uniform(0.5, 2.0, n))


def read(features, x):
    out = np.full((features.size, len(x)), np.nan)
    features.fill(x, out)
    return out


def learn(kind, rows, integrate=True):
    features = column_features(kind, rows.x, rows.frequency, None)
    t = read(features, rows.x)
    shares = (rows.codes == np.arange(3)[:, None]) * rows.frequency
    statistics = features.tally(shares @ t.T, shares.sum(axis=1))
    return features, t, KINDS[kind].learn(statistics, None, integrate, range(3)), statistics


@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("kind", KIND_NAMES)
def test_labels_are_responsibilities_of_0_and_1(kind, gaps):
    rows = make_rows(kind, gaps)
    *_, found = learn(kind, rows)
    counted = KINDS[kind].count(rows, None)
    for ours, theirs in zip(found, counted, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("kind", KIND_NAMES)
def test_scores_are_expected_log_densities(kind, gaps):
    rows = make_rows(kind, gaps)
    features, t, learned, _ = learn(kind, rows)
    offset, theta = features.scores(learned)
    scores = (theta @ t).T + offset
    carrier = 0.0
    if kind == "poisson":
        carrier = -np.where(np.isnan(rows.x), 0.0, gammaln(np.nan_to_num(rows.x) + 1)).sum(axis=1)
    for k in range(3):
        codes = np.full(len(rows.x), k)
        part, belief = rows.x, learned.posterior
        if kind == "table":
            part, belief = learned.densities.cells(rows.x)[:, None] * 1.0, [belief]
        expected = KINDS[kind].fit(belief, part, codes)
        np.testing.assert_allclose(scores[:, k] + carrier, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("kind", KIND_NAMES)
def test_scores_of_estimates_are_log_densities(kind):
    rows = make_rows(kind, gaps=kind != "table", n=200)
    features, t, learned, _ = learn(kind, rows, integrate=False)
    offset, theta = features.scores(learned)
    scores = (theta @ t).T + offset
    carrier = np.zeros(len(scores))
    if kind == "poisson":
        carrier = -np.where(np.isnan(rows.x), 0.0, gammaln(np.nan_to_num(rows.x) + 1)).sum(axis=1)
    expected = learned.densities.log_prob(rows.x)
    possible = np.isfinite(expected)
    assert possible.mean() > 0.5
    np.testing.assert_allclose((scores + carrier[:, None])[possible], expected[possible], rtol=1e-9)


def test_sums_that_no_rows_have_are_refused():
    rows = make_rows("bernoulli", gaps=False)
    features = column_features("bernoulli", rows.x, None, None)
    statistics = features.tally(np.array([[5.0, 1.0]]), np.array([4.0]))  # more ones than rows
    learned = KINDS["bernoulli"].learn(statistics, None, False, range(1))
    with pytest.raises(ValueError, match="not negative"):
        features.scores(learned)


def test_tables_of_too_many_cells_are_refused():
    x = np.full((2, 15), 1.0)
    with pytest.raises(ValueError, match='columns="categorical"'):
        column_features("table", x, None, None)
