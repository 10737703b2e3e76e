"""Classes by a function that is not seen."""

import numpy as np
import pytest
from scipy import stats
from sklearn.gaussian_process import GaussianProcessClassifier as Peer, kernels as peer_kernels

from posteriori.gaussian_process import GaussianProcessClassifier
from posteriori.kernels import RBF, Linear
from posteriori.numerics.lazy import special
from tests.scikit_learn_checks import every_check

KERNEL = 2.0 * RBF(1.0)
FIXED = {"hyperparameters": "fixed"}


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    return X, np.where(X[:, 0] + X[:, 1] ** 2 + 0.5 * rng.normal(size=40) > 1.0, "yes", "no")


@every_check(
    [
        GaussianProcessClassifier(1.0 * RBF(2.0), **FIXED),
        GaussianProcessClassifier(1.0 * RBF(2.0), link="probit", method="ep", **FIXED),
        GaussianProcessClassifier(1.0 * RBF(2.0)),
    ]
)
def test_scikit_learn(estimator, check):
    check(estimator)


class TestAnswers:
    def test_laplace_is_that_of_scikit_learn(self, rows):
        X, y = rows
        model = GaussianProcessClassifier(KERNEL, mean="zero", **FIXED).fit(X, y)
        kernel = peer_kernels.ConstantKernel(2.0) * peer_kernels.RBF(1.0)
        peer = Peer(kernel, optimizer=None).fit(X, y)
        assert np.isclose(float(model.log_evidence_), peer.log_marginal_likelihood(), atol=1e-6)
        # its means of the link are approximate
        assert np.allclose(model.predict_proba(X), peer.predict_proba(X), atol=0.02)

    @pytest.mark.topic("000/J16")
    @pytest.mark.parametrize("approximation", ["laplace", "ep", "variational"])
    def test_kinds_and_probabilities(self, rows, approximation):
        X, y = rows
        model = GaussianProcessClassifier(KERNEL, method=approximation, **FIXED).fit(X, y)
        kind = {"laplace": "laplace", "ep": "ep", "variational": "bound"}[approximation]
        assert model.log_evidence_.kind == kind
        p = model.predict_proba(X)
        assert np.allclose(p.sum(axis=1), 1.0)
        assert model.score(X, y) > 0.8
        eta = model.predictor(X)
        assert np.array_equal(eta.mean > 0, p[:, 1] > 0.5)

    def test_far_away_only_the_level_is_known(self, rows):
        X, y = rows
        model = GaussianProcessClassifier(KERNEL, mean="zero", **FIXED).fit(X, y)
        assert np.allclose(model.predict_proba([[1e3, 1e3]]), 0.5)

    def test_several_classes(self, rows):
        X, _ = rows
        y = np.digitize(X[:, 0], [-0.5, 0.5])
        model = GaussianProcessClassifier(KERNEL, **FIXED).fit(X, y)
        assert model.predict_proba(X).shape == (40, 3)
        assert model.score(X, y) > 0.9
        with pytest.raises(ValueError, match="several functions"):
            model.predictor(X)

    def test_learning_raises_the_evidence(self, rows):
        X, y = rows
        start = GaussianProcessClassifier(KERNEL, **FIXED).fit(X, y)
        learned = GaussianProcessClassifier(KERNEL).fit(X, y)
        assert learned.log_evidence_ > start.log_evidence_
        assert learned.log_evidence_.kind == "type-II"

    def test_weights_are_repeated_rows(self, rows):
        X, y = rows
        times = np.random.default_rng(1).integers(0, 3, 40)
        weighted = GaussianProcessClassifier(KERNEL, **FIXED).fit(X, y, sample_weight=times)
        repeated = GaussianProcessClassifier(KERNEL, **FIXED).fit(
            np.repeat(X, times, axis=0), np.repeat(y, times)
        )
        assert np.isclose(weighted.log_evidence_ - repeated.log_evidence_, 0.0, atol=1e-4)
        assert np.allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-4)


class TestWhatIsKnown:
    def test_draws_have_the_joint_covariance(self, rows):
        X, y = rows
        model = GaussianProcessClassifier(KERNEL, **FIXED).fit(X, y)
        new = X[:3]
        joint = model.predict_dist(new, joint=True, noise=False)
        assert np.allclose(np.diagonal(joint.cov), model.predictor(new).variance)
        drawn = model.sample_functions(new, 4000, rng=0)
        error = 5.0 * np.sqrt(2.0 / 4000) * joint.cov.max()
        assert np.allclose(np.cov(drawn.T), joint.cov, atol=error)
        p = 1.0 / (1.0 + np.exp(-drawn))
        error = 5.0 * p.std(axis=0) / np.sqrt(4000)
        assert (np.abs(p.mean(axis=0) - model.predict_proba(new)[:, 1]) < error).all()

    def test_draws_of_several_classes_average_to_probabilities(self, rows):
        X, _ = rows
        y = np.digitize(X[:, 0], [-0.5, 0.5])
        model = GaussianProcessClassifier(KERNEL, **FIXED).fit(X, y)
        drawn = model.sample_functions(X[:2], 4000, rng=0)
        assert drawn.shape == (4000, 2, 3)
        assert np.allclose(drawn.sum(axis=2), 0.0)
        p = special.softmax(drawn, axis=2)
        error = 5.0 * p.std(axis=0) / np.sqrt(4000) + 1e-3
        assert (np.abs(p.mean(axis=0) - model.predict_proba(X[:2])) < error).all()

    def test_effects_add_up(self, rows):
        X, y = rows
        model = GaussianProcessClassifier(KERNEL + 0.5 * Linear(), **FIXED).fit(X, y)
        effects = model.effects(X)
        assert [one.kernel for one in effects] == [None, KERNEL, 0.5 * Linear()]
        total = sum(np.asarray(one.belief.mean) for one in effects)
        assert np.allclose(total, model.predictor(X).mean)

    @pytest.mark.parametrize("hyperparameters", ["fixed", "integrated"])
    def test_effects_of_several_classes(self, rows, hyperparameters):
        """Means add up to those of drawn functions, and so do the deviations of a single summand."""
        X, _ = rows
        y = np.digitize(X[:, 0], [-0.5, 0.5])
        options = {"hyperparameters": hyperparameters, "fixed": ["RBF.scale"]}
        model = GaussianProcessClassifier(KERNEL, mean="zero", **options).fit(X, y)
        (whole,) = model.effects(X[:3])
        drawn = model.sample_functions(X[:3], 4000, rng=0)
        error = 5.0 * drawn.std(axis=0) / np.sqrt(4000)
        assert (np.abs(drawn.mean(axis=0) - whole.belief.mean) < error).all()
        assert np.allclose(drawn.std(axis=0), whole.belief.std, rtol=0.1)
        assert np.allclose(np.sum(whole.belief.mean, axis=1), 0.0)
        parts = GaussianProcessClassifier(KERNEL + 0.5 * Linear(), **FIXED).fit(X, y).effects(X)
        assert [one.kernel for one in parts] == [None, KERNEL, 0.5 * Linear()]
        assert all(np.shape(one.belief.mean) == (40, 3) for one in parts)

    def test_rows_left_out_are_those_of_a_fit_without_them(self, rows):
        X, y = rows
        options = {"mean": "zero", "method": "ep", **FIXED}
        model = GaussianProcessClassifier(KERNEL, **options).fit(X, y)
        found = model.leave_one_out_log_density(X, y)
        for n in (0, 11):
            keep = np.arange(40) != n
            without = GaussianProcessClassifier(KERNEL, **options).fit(X[keep], y[keep])
            p = without.predict_proba(X[n : n + 1])[0, np.searchsorted(model.classes_, y[n])]
            assert np.isclose(found[n], np.log(p), atol=0.01)
        assert not hasattr(GaussianProcessClassifier(), "leave_one_out_log_density")
        with pytest.raises(ValueError, match="rows that the model was fitted to"):
            model.leave_one_out_log_density(X[1:], y[1:])

    def test_parameters_are_integrated(self, rows):
        """Over the size of the function: a sum by its definition."""
        X, y = rows
        options = {"fixed": ["RBF.scale"], "hyperparameters": "integrated"}
        model = GaussianProcessClassifier(KERNEL, **options).fit(X, y)
        assert model.log_evidence_.kind == "laplace"
        assert "central composite design of 3 points" in model.account_[-1]
        at = np.log(4.0) + 1.5 * np.linspace(-4.0, 4.0, 33)  # usual: functions of variance 2²
        made = [GaussianProcessClassifier(np.exp(s) * RBF(1.0), **FIXED).fit(X, y) for s in at]
        logs = np.array([float(one.log_evidence_) for one in made])
        logs += stats.norm.logpdf(at, np.log(4.0), 1.5) + np.log(at[1] - at[0])
        assert np.isclose(float(model.log_evidence_), np.logaddexp.reduce(logs), atol=0.05)
        weights = np.exp(logs - np.logaddexp.reduce(logs))
        expected = np.tensordot(weights, [one.predict_proba(X) for one in made], axes=1)
        assert np.allclose(model.predict_proba(X), expected, atol=0.02)

    def test_labels_have_no_joint_family(self, rows):
        model = GaussianProcessClassifier(KERNEL, **FIXED).fit(*rows)
        assert model.account_ == ("Laplace's method over 40 rows, O(N³) a step",)
        with pytest.raises(ValueError, match="add noise=False"):
            model.predict_dist(rows[0], joint=True)


class TestBadInput:
    def test_one_class(self, rows):
        with pytest.raises(ValueError, match="one class"):
            GaussianProcessClassifier(KERNEL).fit(rows[0], np.zeros(40))

    def test_probit_of_several_classes(self, rows):
        with pytest.raises(ValueError, match="link='logistic'"):
            GaussianProcessClassifier(KERNEL, link="probit").fit(rows[0], np.arange(40) % 3)

    def test_what_is_no_kernel(self, rows):
        with pytest.raises(TypeError, match="kernel must be one of"):
            GaussianProcessClassifier(1.0).fit(*rows)


@pytest.mark.slow
def test_probabilities_are_calibrated():
    """Functions of the prior: classes come as often as their probabilities say."""
    rng, gaps = np.random.default_rng(2), []
    for _ in range(30):
        X = rng.uniform(-3.0, 3.0, size=(120, 1))
        f = np.linalg.cholesky(KERNEL(X) + 1e-10 * np.eye(120)) @ rng.standard_normal(120)
        y = rng.random(120) < 1.0 / (1.0 + np.exp(-f))
        model = GaussianProcessClassifier(KERNEL, mean="zero", method="ep", **FIXED)
        p = model.fit(X[:80], y[:80]).predict_proba(X[80:])[:, 1]
        # a proper score against its own expectation
        sure = np.where(p > 0.5, p, 1.0 - p)
        gaps.append(np.mean((p > 0.5) == y[80:]) - sure.mean())
    assert abs(np.mean(gaps)) < 5.0 * np.std(gaps) / np.sqrt(len(gaps))


@pytest.mark.parametrize("classes", [2, 3])
def test_a_search_on_some_rows_leaves_no_class_out_and_all_rows_are_learned_from(classes):
    rng = np.random.default_rng(5)
    X = np.sort(rng.normal(size=(60, 1)), axis=0)
    y = np.digitize(X[:, 0], np.linspace(-1.0, 1.0, classes + 1)[1:-1])
    model = GaussianProcessClassifier(search_rows=20).fit(X, y)
    fixed = GaussianProcessClassifier(model.kernel_, hyperparameters="fixed").fit(X, y)
    assert float(model.log_evidence_) == pytest.approx(float(fixed.log_evidence_), abs=1e-6)
    assert np.allclose(model.predict_proba(X), fixed.predict_proba(X), atol=1e-5)
    assert model.score(X, y) > 0.9
