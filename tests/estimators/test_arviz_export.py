"""What estimators hand to ArviZ: joint draws of their parameters, log likelihoods of rows, and the evidence."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest

from posteriori.classification import BayesianLogisticRegression
from posteriori.gaussian_process import GaussianProcessRegressor
from posteriori.mixture import BayesianGaussianMixture
from posteriori.regression import BayesianLinearRegressor, LogLinearRegressor, PoissonRegressor
from posteriori.sequence import HiddenMarkovModel

RNG = np.random.default_rng(0)
X = RNG.normal([3.0, 0.0], 1.0, (60, 2))  # a weight and the intercept depend on each other
Y = X @ [1.0, -0.5] + 0.5 * RNG.normal(size=60)


@pytest.fixture
def handed(monkeypatch):
    """Stand in for ArviZ: what is handed over is what comes back."""
    monkeypatch.setitem(sys.modules, "arviz", SimpleNamespace(from_dict=SimpleNamespace))


CASES = {
    "linear": (BayesianLinearRegressor(), Y, {"coef": (2,), "intercept": (), "noise_variance": ()}),
    "log": (LogLinearRegressor(), np.exp(Y), {"coef": (2,), "intercept": (), "noise_variance": ()}),
    "counts": (PoissonRegressor(), np.round(np.exp(Y / 3)), {"coef": (2,), "intercept": ()}),
    "classes": (BayesianLogisticRegression(), Y > 2.5, {"coef": (1, 2), "intercept": (1,)}),
    "mixture": (
        BayesianGaussianMixture(2, random_state=0),
        None,
        {"weights": (2,), "means": (2, 2)},
    ),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.usefixtures("handed")
def test_parameters_have_their_shapes_and_the_moments_of_the_summary(name):
    model, y, shapes = CASES[name]
    model.fit(X, y)
    found = model.to_arviz(draws=2000, rng=0)
    assert shapes.items() <= {k: v.shape[2:] for k, v in found.posterior.items()}.items()
    assert all(v.shape[:2] == (1, 2000) for v in found.posterior.values())
    assert found.attrs["log_evidence"] == float(model.log_evidence_)
    assert found.attrs["log_evidence_kind"] == model.log_evidence_.kind
    assert found.log_likelihood is None
    table = model.summary()
    for entry in next(iter(shapes)), list(shapes)[1]:
        rows = table[[row.split("[")[0] == entry for row in table.index]]
        means = found.posterior[entry][0].mean(axis=0).ravel()
        close = 0.25 * rows["sd"].to_numpy() + 1e-12
        assert np.all(np.abs(means - rows["mean"]) < close)


@pytest.mark.usefixtures("handed")
def test_draws_are_joint():
    model = BayesianLinearRegressor().fit(X, Y)
    drawn = model.to_arviz(draws=4000, rng=0).posterior
    expected = model.posterior_.marginal_mean().cov
    seen = np.cov(np.column_stack([drawn["coef"][0], drawn["intercept"][0]]).T)
    assert expected[0, 2] < 0.0
    np.testing.assert_allclose(seen, expected, atol=5.0 * np.diag(expected).max() / np.sqrt(2000))


@pytest.mark.parametrize("name", ["linear", "log", "counts", "classes"])
@pytest.mark.usefixtures("handed")
def test_rows_have_their_log_likelihoods(name):
    model, y, _ = CASES[name]
    model.fit(X, y)
    logs = model.to_arviz(X, y, draws=500, rng=0).log_likelihood["y"]
    assert logs.shape == (1, 500, 60)
    again = model.log_likelihood_draws(X, y, 500, np.random.default_rng(1))
    error = np.hypot(logs[0].std(axis=0), again.std(axis=0)) / np.sqrt(500)
    assert np.all(np.abs(logs[0].mean(axis=0) - again.mean(axis=0)) < 5.0 * error)


@pytest.mark.usefixtures("handed")
def test_sequences_hand_over_their_draws():
    rows = np.concatenate([X[:30, :1], 6.0 + X[:30, :1]])
    found = HiddenMarkovModel(2, random_state=0).fit(rows).to_arviz(draws=200, rng=0)
    assert {"transition"} <= found.posterior.keys()


@pytest.mark.usefixtures("handed")
def test_what_draws_no_parameters_says_so():
    with pytest.raises(TypeError, match="parameters of GaussianProcessRegressor are not drawn"):
        GaussianProcessRegressor().fit(X[:20], Y[:20]).to_arviz()
    with pytest.raises(ValueError, match="draws"):
        BayesianLinearRegressor().fit(X, Y).to_arviz(draws=1)


def test_without_arviz_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "arviz", None)
    with pytest.raises(ImportError, match=r"pip install 'posteriori\[arviz\]'"):
        BayesianLinearRegressor().fit(X, Y).to_arviz()


@pytest.mark.filterwarnings("ignore")  # of ArviZ and what it imports
def test_arviz_reads_it():
    arviz = pytest.importorskip("arviz")
    model = BayesianLinearRegressor().fit(X, Y)
    table = arviz.summary(model.to_arviz(X, Y, draws=2000, rng=0), kind="stats")
    assert table.loc["coef[0]", "mean"] == pytest.approx(model.coef_[0], abs=0.02)
