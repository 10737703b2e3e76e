"""Counts, outliers and ordered categories behind a process: quadrature, limits, calibration, refusals."""

import numpy as np
import pytest
from scipy import stats
from sklearn.base import is_classifier

from posteriori.gaussian_process import GaussianProcessRegressor
from posteriori.kernels import RBF, Linear, White
from posteriori.numerics import ConvergenceWarning
from posteriori.numerics.lazy import special
from tests.inference.processes.latent.test_latent_process import grid

POINTS = np.array([[0.0], [0.7], [2.0]])
NEW = np.array([[1.1]])
KERNEL = 0.7 * RBF(1.0)
ENDS = np.array([-np.inf, -0.5, 1.0, np.inf])


def categories(f, y):
    return special.expit(ENDS[y + 1] - f) - special.expit(ENDS[y] - f)


#: By likelihood: its parameters, targets of three rows, p(y | f), and values to predict.
CASES = {
    "poisson": ({}, [1, 4, 0], lambda f, y: stats.poisson.pmf(y, np.exp(f)), [0, 2]),
    "negative binomial": (
        {"count": 2.0},
        [1, 4, 0],
        lambda f, y: stats.nbinom.pmf(y, 2.0, 2.0 / (2.0 + np.exp(f))),
        [0, 2],
    ),
    "student-t": (
        {"scale": 0.8, "dof": 4.0},
        [0.3, 1.0, -0.5],
        lambda f, y: stats.t.pdf(y, 4.0, f, 0.8),
        [-1.0, 0.5],
    ),
    "ordinal": (
        {"thresholds": [-0.5, 1.0]},
        [0, 2, 1],
        lambda f, y: np.stack([categories(f[..., n], one) for n, one in enumerate(y)], axis=-1),
        [0, 1, 2],
    ),
}
LIKELIHOODS = list(CASES)
KINDS = {"poisson": "ep", "negative binomial": "ep", "student-t": "bound", "ordinal": "ep"}


def fixed(name, kernel=KERNEL, mean="zero", **more):
    return GaussianProcessRegressor(
        kernel,
        likelihood=name,
        likelihood_parameters=CASES[name][0] or None,
        hyperparameters="fixed",
        mean=mean,
        **more,
    )


def exact(name):
    """Return log evidence, mean and variance of f at a new point, and p of targets there."""
    _, y, p, asked = CASES[name]
    gram, cross = KERNEL(POINTS), KERNEL(POINTS, NEW)[:, 0]
    f, weights = grid(gram, 24)
    mass = weights * np.prod(p(f, y), axis=-1)
    total = mass.sum()
    gain = np.linalg.solve(gram, cross)
    mean, left = f @ gain, float(KERNEL.diagonal(NEW)[0] - cross @ gain)
    first = mass @ mean / total
    second = left + mass @ (mean - first) ** 2 / total
    z, w = np.polynomial.hermite_e.hermegauss(15)
    at = mean[:, None] + np.sqrt(left) * z
    told = [
        mass @ ((categories(at, one) if name == "ordinal" else p(at, one)) @ (w / w.sum())) / total
        for one in asked
    ]
    return float(np.log(total)), first, second, np.array(told)


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.uniform(0.0, 5.0, size=(25, 1))
    f = np.sin(1.5 * X[:, 0])
    y = {
        "poisson": rng.poisson(np.exp(1.0 + f)),
        "negative binomial": rng.poisson(np.exp(1.0 + f) * rng.gamma(2.0, 0.5, 25)),
        "student-t": 3.0 + f + 0.1 * rng.standard_t(3.0, 25),
        "ordinal": np.array(["a", "b", "c"])[
            np.digitize(f + rng.logistic(0, 0.2, 25), [-0.5, 0.5])
        ],
    }
    return X, y


@pytest.mark.parametrize("name", LIKELIHOODS)
def test_three_points_by_quadrature(name):
    """Evidence, moments of the function at a new point, and what is predicted there."""
    value, mean, variance, told = exact(name)
    model = fixed(name).fit(POINTS, CASES[name][1])
    assert model.log_evidence_.kind == KINDS[name]
    assert model.likelihood_parameters_.keys() == CASES[name][0].keys()
    found = model.predict_dist(NEW, noise=False)
    error = 0.03 if name == "student-t" else 3e-3  # a bound, and expectation propagation
    assert np.isclose(float(model.log_evidence_), value, atol=error)
    assert np.isclose(found.mean[0], mean, atol=2.0 * error)
    assert np.isclose(found.variance[0], variance, rtol=5.0 * error)
    predicted = model.predict_dist(NEW)
    p = [float(np.exp(predicted.log_prob(np.array([one])))[0]) for one in CASES[name][3]]
    assert np.allclose(p, told, rtol=max(error, 5e-3))
    if name == "student-t":
        assert float(model.log_evidence_) < value


@pytest.mark.parametrize("name", LIKELIHOODS)
def test_rows_left_out_by_quadrature(name):
    """ln p(y₁ | y₂, y₃) is the difference of two evidences.

    What is known from others has been found with the row among them: no row is to surprise much.
    """
    _, y, p, _ = CASES[name]
    y = [1, 2, 0] if max(y) == 4 else y
    f, weights = grid(KERNEL(POINTS), 24)
    each = p(f, y)
    whole = weights @ np.prod(each, axis=-1)
    expected = [
        np.log(whole / (weights @ np.prod(np.delete(each, n, 1), axis=1))) for n in range(3)
    ]
    left_out = fixed(name).fit(POINTS, y).leave_one_out_log_density(POINTS, y)
    assert np.allclose(left_out, expected, atol=0.03 if name == "student-t" else 0.01)


class TestLimits:
    @pytest.mark.parametrize("approximation", ["variational", "laplace"])
    def test_many_degrees_of_freedom_are_normal_noise(self, rows, approximation):
        X, y = rows[0], rows[1]["student-t"]
        plain = GaussianProcessRegressor(
            KERNEL + White(0.3**2), hyperparameters="fixed", mean="zero"
        ).fit(X, y)
        model = GaussianProcessRegressor(
            KERNEL,
            likelihood="student-t",
            likelihood_parameters={"scale": 0.3, "dof": 1e9},
            method=approximation,
            hyperparameters="fixed",
            mean="zero",
        ).fit(X, y)
        assert np.isclose(float(model.log_evidence_), float(plain.log_evidence_), atol=1e-4)
        new = np.array([[0.5], [7.0]])
        a, b = model.predict_dist(new, noise=False), plain.predict_dist(new, noise=False)
        assert np.allclose(a.mean, b.mean, atol=1e-5)
        assert np.allclose(a.variance, b.variance, atol=1e-5)
        joint = [m.predict_dist(new, noise=False, joint=True).cov for m in (model, plain)]
        assert np.allclose(*joint, atol=1e-5)
        assert np.allclose(model.predict_dist(new).variance, plain.predict_dist(new).variance, 1e-4)

    def test_large_negative_binomial_counts_are_poisson(self, rows):
        X, y = rows[0], rows[1]["poisson"]
        a = fixed("poisson").fit(X, y)
        b = fixed("negative binomial").set_params(likelihood_parameters={"count": 1e8}).fit(X, y)
        assert np.isclose(float(a.log_evidence_), float(b.log_evidence_), atol=1e-4)
        assert np.allclose(a.predict(X), b.predict(X), rtol=1e-4)

    def test_an_outlier_counts_little(self):
        x = np.linspace(0.0, 4.0, 20)[:, None]
        y = np.sin(x[:, 0])
        y[7] += 20.0
        model = GaussianProcessRegressor(
            1.0 * RBF(),
            likelihood="student-t",
            likelihood_parameters={"scale": 0.05},
            hyperparameters="fixed",
        ).fit(x, y)
        keep = np.arange(20) != 7
        assert np.allclose(model.predict(x)[keep], np.sin(x[keep, 0]), atol=0.1)
        plain = GaussianProcessRegressor(1.0 * RBF() + White()).fit(x, y)
        assert model.log_evidence_ > plain.log_evidence_


@pytest.mark.parametrize("name", LIKELIHOODS)
class TestEstimator:
    def test_parameters_are_learned(self, rows, name):
        X, y = rows[0], rows[1][name]
        kernel = 1.0 * RBF(1.0)
        start = GaussianProcessRegressor(
            kernel, likelihood=name, hyperparameters="fixed", method="laplace"
        ).fit(X, y)
        learned = GaussianProcessRegressor(
            kernel,
            likelihood=name,
            hyperparameters="type-II",
            method="laplace",
            fixed=["RBF.scale"],
        ).fit(X, y)
        assert start.log_evidence_.kind == "laplace"
        assert learned.log_evidence_.kind == "type-II"
        assert learned.log_evidence_ > start.log_evidence_
        assert learned.account_[-1].startswith("parameters of highest evidence")
        for key, value in start.likelihood_parameters_.items():
            assert not np.allclose(learned.likelihood_parameters_[key], value)
        kept = GaussianProcessRegressor(
            kernel,
            likelihood=name,
            hyperparameters="type-II",
            method="laplace",
            fixed=[*start.likelihood_parameters_, "RBF.scale"],
        ).fit(X, y)
        for key, value in start.likelihood_parameters_.items():
            assert np.allclose(kept.likelihood_parameters_[key], value)

    def test_weights_are_repeated_rows(self, rows, name):
        X, y = rows[0], rows[1][name]
        times = np.random.default_rng(1).integers(0, 3, len(y))
        times[:6] = 1  # all categories stay
        weighted = fixed(name, mean="constant").fit(X, y, sample_weight=times)
        again = np.repeat(np.arange(len(y)), times)
        repeated = fixed(name, mean="constant").fit(X[again], y[again])
        assert np.isclose(weighted.log_evidence_ - repeated.log_evidence_, 0.0, atol=1e-4)
        a, b = weighted.predict_dist(X, noise=False), repeated.predict_dist(X, noise=False)
        assert np.allclose(a.mean, b.mean, atol=1e-4)

    def test_draws_are_those_of_the_predictions(self, rows, name):
        X, y = rows[0], rows[1][name]
        model = fixed(name, mean="constant").fit(X, y)
        new = np.array([[0.5], [2.0], [8.0]])
        joint = model.predict_dist(new, noise=False, joint=True)
        drawn = model.sample_functions(new, 4000, rng=0)
        assert np.array_equal(drawn, model.sample_functions(new, 4000, rng=0))
        assert np.allclose(
            np.cov(drawn.T), joint.cov, atol=5.0 * np.sqrt(2.0 / 4000) * joint.cov.max()
        )
        targets = model.sample_targets(new, 4000, rng=0)
        predicted = model.predict_dist(new)
        if name == "ordinal":
            share = (targets[..., None] == model.classes_).mean(axis=0)
            assert np.allclose(share, predicted.probabilities, atol=5.0 * 0.5 / np.sqrt(4000))
            return
        below = (targets <= np.asarray(predicted.median)).mean(axis=0)
        expected = predicted.cdf(np.asarray(predicted.median))
        assert np.allclose(below, expected, atol=5.0 * 0.5 / np.sqrt(4000))

    def test_effects_add_up(self, rows, name):
        X, y = rows[0], rows[1][name]
        model = fixed(name, KERNEL + 0.2 * Linear(), "constant").fit(X, y)
        effects = model.effects(X)
        assert len(effects) == 3
        total = sum(np.asarray(one.belief.mean) for one in effects)
        assert np.allclose(total, model.predict_dist(X, noise=False).mean)


def test_parameters_are_integrated(rows):
    """A mixture over kernels and counts, wider than at the best of them."""
    X, y = rows[0][:12], rows[1]["negative binomial"][:12]
    options = {
        "likelihood": "negative binomial",
        "method": "laplace",
        "fixed": ["RBF.scale"],
    }
    model = GaussianProcessRegressor(1.0 * RBF(1.0), hyperparameters="integrated", **options).fit(
        X, y
    )
    assert model.log_evidence_.kind == "laplace"
    assert "central composite design of 9 points" in model.account_[-1]
    predicted = model.predict_dist(X)
    assert np.allclose(predicted.mean, model.predict(X), rtol=2e-3)
    assert np.allclose(predicted.cdf(np.full(len(X), 1e6)), 1.0)
    assert model.sample_targets(X, 7, rng=0).shape == (7, 12)
    # a scan of both parameters, by its definition
    bounds = {"Constant.value": np.linspace(-4.0, 4.0, 9), "count": np.linspace(-3.0, 4.0, 8)}
    logs = []
    for size in bounds["Constant.value"]:
        for count in bounds["count"]:
            one = GaussianProcessRegressor(
                np.exp(size) * RBF(1.0),
                likelihood_parameters={"count": np.exp(count)},
                hyperparameters="fixed",
                **{**options, "fixed": ()},
            ).fit(X, y)
            prior = stats.norm.logpdf(size, 0.0, 1.5) + stats.norm.logpdf(count, 0.0, 1.0)
            logs.append(float(one.log_evidence_) + prior)
    whole = np.logaddexp.reduce(logs)  # steps of 1 in both
    assert np.isclose(float(model.log_evidence_), whole, atol=0.1)


class TestCategories:
    def test_labels_and_probabilities(self, rows):
        X, y = rows[0], rows[1]["ordinal"]
        model = GaussianProcessRegressor(KERNEL, likelihood="ordinal", hyperparameters="fixed").fit(
            X, y
        )
        assert is_classifier(model)
        assert model.classes_.tolist() == ["a", "b", "c"]
        p = model.predict_proba(X)
        assert np.allclose(p.sum(axis=1), 1.0)
        assert np.array_equal(model.predict(X), model.classes_[p.argmax(axis=1)])
        assert model.score(X, y) == np.mean(model.predict(X) == y)
        with pytest.raises(ValueError, match="no standard deviation"):
            model.predict(X, return_std=True)

    def test_others_have_no_classes(self, rows):
        model = fixed("poisson").fit(rows[0], rows[1]["poisson"])
        assert not hasattr(model, "classes_")
        assert not hasattr(model, "predict_proba")
        assert not is_classifier(model)


class TestRefusals:
    def test_counts_are_checked(self):
        with pytest.raises(ValueError, match=r"counts >= 0 as y, got -1 in row 1"):
            fixed("poisson").fit(POINTS, [1.0, -1.0, 2.0])
        with pytest.warns(UserWarning, match=r"model of counts, but y is 0.5"):
            fixed("negative binomial").fit(POINTS, [1.0, 0.5, 2.0])

    def test_one_category(self):
        with pytest.raises(ValueError, match="one class"):
            fixed("ordinal").fit(POINTS, [1, 1, 1])

    def test_noise_belongs_to_the_likelihood(self):
        with pytest.raises(ValueError, match=r"kernel holds White\(\).*leave White\(\) out"):
            fixed("poisson", RBF() + White()).fit(POINTS, [1, 2, 0])
        with pytest.raises(ValueError, match="noise_variance is of normal noise"):
            fixed("poisson").fit(POINTS, [1, 2, 0], noise_variance=[1.0, 1.0, 1.0])
        model = fixed("poisson").fit(POINTS, [1, 2, 0])
        with pytest.raises(ValueError, match="noise_variance is of normal noise"):
            model.predict_dist(POINTS, noise_variance=[1.0, 1.0, 1.0])

    def test_targets_have_no_joint_family(self):
        with pytest.raises(ValueError, match="add noise=False"):
            fixed("poisson").fit(POINTS, [1, 2, 0]).predict_dist(POINTS, joint=True)

    def test_streams_are_of_normal_targets(self):
        model = fixed("poisson").fit(POINTS, [1, 2, 0])
        with pytest.raises(AttributeError, match="partial_fit") as told:
            model.partial_fit(POINTS, [1, 2, 0])
        assert "fit all rows at once" in str(told.value.__cause__)

    def test_sites_need_log_concave_targets(self):
        with pytest.raises(ValueError, match="log-concave"):
            fixed("student-t", method="ep").fit(POINTS, [0.0, 1.0, 0.5])

    @pytest.mark.parametrize(
        ("name", "value"), [("method", "ep"), ("likelihood_parameters", {"count": 1.0})]
    )
    def test_normal_targets_have_no_such_options(self, name, value):
        with pytest.raises(ValueError, match=f"{name} is of other likelihoods"):
            GaussianProcessRegressor(**{name: value}).fit(POINTS, [0.0, 1.0, 0.5])

    def test_several_outputs(self):
        with pytest.raises(ValueError, match="1d array"):
            fixed("poisson").fit(POINTS, np.ones((3, 2)))

    def test_other_rows_cannot_be_left_out(self):
        model = fixed("poisson").fit(POINTS, [1, 2, 0])
        with pytest.raises(ValueError, match="rows that the model was fitted to"):
            model.leave_one_out_log_density(POINTS, [1, 2, 1])

    def test_too_few_steps_warn(self, rows):
        model = fixed("poisson", max_iter=1)
        with pytest.warns(ConvergenceWarning, match="raise max_iter"):
            model.fit(rows[0], rows[1]["poisson"])

    def test_missing_counts_say_nothing(self, rows):
        X, y = rows[0], rows[1]["poisson"].astype(float)
        gappy = np.where(np.arange(25) % 3 == 0, np.nan, y)
        a, b = fixed("poisson").fit(X, gappy), fixed("poisson").fit(X[gappy >= 0], y[gappy >= 0])
        assert np.allclose(a.predict(X), b.predict(X))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["poisson", "negative binomial"])
def test_counts_are_calibrated(name):
    """Functions of the prior: randomised ranks of new counts are uniform."""
    rng, ranks = np.random.default_rng(3), []
    kernel = 0.8 * RBF(1.0)
    for _ in range(40):
        X = rng.uniform(-3.0, 3.0, size=(60, 1))
        f = np.linalg.cholesky(kernel(X) + 1e-10 * np.eye(60)) @ rng.standard_normal(60)
        mean = np.exp(f) * (rng.gamma(2.0, 0.5, 60) if name == "negative binomial" else 1.0)
        y = rng.poisson(mean)
        model = fixed(name, kernel).fit(X[:40], y[:40])
        predicted = model.predict_dist(X[40:])
        u = predicted.cdf(y[40:]) - rng.random(20) * np.exp(predicted.log_prob(y[40:]))
        ranks.append(u)
    means = np.array(ranks).mean(axis=1)
    assert abs(means.mean() - 0.5) < 5.0 * means.std() / np.sqrt(len(means))
    inside = (np.abs(np.array(ranks) - 0.5) < 0.4).mean(axis=1)
    assert abs(inside.mean() - 0.8) < 5.0 * inside.std() / np.sqrt(len(inside))
