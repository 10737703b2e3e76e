"""What rows cannot tell is refused in words: names, numbers and a remedy."""

import numpy as np
import pytest

from posteriori.decomposition import (
    ICA,
    PCA,
    BayesianFactorAnalysis,
    BayesianPCA,
    FactorAnalysis,
    ProbabilisticPCA,
)

ALL = [
    PCA(1),
    ProbabilisticPCA(1),
    FactorAnalysis(1),
    ICA(1),
    BayesianPCA(1),
    BayesianFactorAnalysis(1),
]
NAMES = [type(model).__name__ for model in ALL]
X = np.random.default_rng(0).normal(size=(30, 4))
each = pytest.mark.parametrize("model", ALL, ids=NAMES)


@each
def test_one_row(model):
    with pytest.raises(ValueError, match=r"1 sample"):
        model.fit(X[:1])


@each
def test_infinities(model):
    x = X.copy()
    x[3, 2] = np.inf
    with pytest.raises(ValueError, match=r"infinity \(inf\) in column 2, row 3"):
        model.fit(x)


@pytest.mark.parametrize("model", [PCA(1), ICA(1)], ids=["PCA", "ICA"])
def test_gaps_are_sent_to_who_takes_them(model):
    x = X.copy()
    x[3, 2] = np.nan
    with pytest.raises(ValueError, match=r"NaN in column 2, row 3.*ProbabilisticPCA takes"):
        model.fit(x)


@each
def test_constant_rows(model):
    with pytest.raises(ValueError, match="constant"):
        model.fit(np.full((10, 3), 0.1))


def test_a_constant_column():
    x = np.c_[X, np.full(30, 1e8 / 3)]
    assert PCA().fit(x).n_components_ == 4
    heavy = np.c_[np.random.default_rng(0).laplace(size=(3000, 2)), np.full(3000, 1e8 / 3)]
    assert ICA().fit(heavy).components_.shape == (2, 3)
    assert ProbabilisticPCA(2).fit(x).components_[:, 4] == pytest.approx([0.0, 0.0], abs=1e-6)
    with pytest.raises(ValueError, match=r"^column 4 of X is constant"):
        FactorAnalysis(1).fit(x)


@pytest.mark.parametrize("kind", [ProbabilisticPCA, FactorAnalysis])
def test_an_empty_column(kind):
    x = X.copy()
    x[:, 1] = np.nan
    with pytest.raises(ValueError, match="column 1 of X has no entry: leave it out"):
        kind(1).fit(x)


@pytest.mark.parametrize("solver", ["covariance", "svd", "gram", "randomized", "power"])
@pytest.mark.blas
def test_more_components_than_rank(solver):
    flat = X[:, :2] @ np.random.default_rng(1).normal(size=(2, 5)) + 3.0
    with pytest.raises(
        ValueError, match=r"n_components=3, but rows of X vary in 2 directions only"
    ):
        PCA(3, solver=solver, random_state=0).fit(flat)
    assert PCA(solver=solver, random_state=0).fit(flat).n_components_ == 2


def test_more_factors_than_rank_or_columns():
    flat = X[:, :2] @ np.random.default_rng(1).normal(size=(2, 5))
    for model in (ProbabilisticPCA(3), ICA(3)):
        with pytest.raises(ValueError, match=r"n_components=3, but rows of X vary in 2 directions"):
            model.fit(flat)
    for model in (ProbabilisticPCA(4), FactorAnalysis(4)):
        with pytest.raises(ValueError, match="n_components=4 leaves no column for the noise"):
            model.fit(X)


def test_dependent_columns_have_factors_on_the_floor():
    flat = np.c_[X, X[:, 0] + X[:, 1]]
    f = FactorAnalysis(3).fit(flat)
    assert f.heywood_
    assert np.isfinite(f.log_likelihood_)


@pytest.mark.parametrize("value", [0, -1, 0.0, 1.5, "best", True, [2]])
def test_numbers_of_components(value):
    with pytest.raises(ValueError, match="n_components must be a whole number >= 1, a share"):
        PCA(value).fit(X)


def test_options_that_do_not_go_together():
    with pytest.raises(ValueError, match="evidence needs rows that vary in all 40 directions"):
        PCA("evidence").fit(np.random.default_rng(0).normal(size=(10, 40)))
    with pytest.raises(ValueError, match="drop them before partial_fit"):
        PCA(1, outliers="drop").partial_fit(X)
    with pytest.raises(ValueError, match="at least 9 rows"):
        PCA(1, outliers="drop").fit(X[:5])
    with pytest.raises(ValueError, match="begin with more rows"):
        PCA(1).partial_fit(X[:1])
    for model in (ProbabilisticPCA(1), FactorAnalysis(1)):
        with pytest.raises(ValueError, match="partial_fit takes rows without NaN"):
            model.partial_fit(np.where(X > 2, np.nan, X))
    with pytest.raises(ValueError, match="sources must be 'auto'"):
        ICA(sources="flat").fit(X)
    with pytest.raises(ValueError, match="rotation must be one of"):
        FactorAnalysis(1, rotation="oblimin").fit(X)


@each
def test_scores_of_other_width_are_refused(model):
    with pytest.raises(ValueError, match=r"[ZS] must have 1 columns, got 3"):
        model.fit(X).inverse_transform(np.ones((2, 3)))


@each
def test_numbers_whose_squares_overflow(model):
    with pytest.raises(
        ValueError, match=r"X must lie within ±1e\+150, got -?\d.*e\+(199|200) in column"
    ):
        model.fit(X * 1e200)


@pytest.mark.parametrize("solver", ["svd", "gram", "randomized", "power"])
def test_every_solver_names_numbers_whose_squares_overflow(solver):
    with pytest.raises(ValueError, match=r"X must lie within ±1e\+150"):
        PCA(1, solver=solver).fit(X * 1e200)
