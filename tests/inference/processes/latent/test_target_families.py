"""Families of targets: slopes in their parameters, parameters by their names, predictions by quadrature."""

import numpy as np
import pytest
from scipy import stats

from posteriori.inference.processes.kernel_search import maximize_evidence
from posteriori.inference.processes.latent.latent_search import ShapedObjective, TargetModel
from posteriori.inference.processes.latent.target_families import (
    CountFamily,
    DispersedFamily,
    OrderedFamily,
    StudentFamily,
)
from posteriori.inference.processes.mean_effects import NO_MEAN, MeanEffects
from posteriori.kernels import RBF
from tests.inference.processes.latent.test_latent_process import slopes_of

X = np.array([[0.0], [0.7], [2.0], [2.5], [3.1]])
TIMES = np.array([1.0, 2.0, 1.0, 3.0, 1.0])
KERNEL = 0.7 * RBF(1.0)
COUNTS = np.array([1.0, 4.0, 0.0, 2.0, 9.0])
FAMILIES = {
    "poisson": CountFamily(COUNTS, TIMES),
    "negative binomial": DispersedFamily(COUNTS, TIMES),
    "student-t": StudentFamily(np.array([0.3, -0.2, 4.0, 0.1, 0.4]), TIMES),
    "ordinal": OrderedFamily(np.array([0, 2, 1, 3, 1]), TIMES),
}
GIVEN = {
    "poisson": {},
    "negative binomial": {"count": 2.0},
    "student-t": {"scale": 0.5, "dof": 5.0},
    "ordinal": {"thresholds": [-1.0, 0.2, 1.5]},
}


def model_of(name):
    family = FAMILIES[name]
    return TargetModel(KERNEL, family, family.read(GIVEN[name]))


@pytest.mark.parametrize("approximation", ["laplace", "ep", "variational"])
@pytest.mark.parametrize("name", FAMILIES)
def test_slopes_in_all_parameters(name, approximation):
    if name == "student-t" and approximation == "ep":
        pytest.skip("not log-concave")
    model, mean = model_of(name), MeanEffects(0.2, 1.0)

    def evidence(v):
        limits = {"tol": 1e-10, "max_iter": 500}
        objective = ShapedObjective(X, FAMILIES[name], mean, approximation, **limits)
        return objective(model.with_log_parameters(v))

    _, gradient = evidence(model.log_parameters)
    assert len(gradient) == 2 + len(FAMILIES[name].names)
    expected = slopes_of(lambda v: evidence(v)[0], model.log_parameters)
    assert np.allclose(gradient, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", FAMILIES)
def test_parameters_come_back_by_their_names(name):
    family = FAMILIES[name]
    told = family.parameters(family.read(GIVEN[name]))
    assert told.keys() == GIVEN[name].keys()
    for key, value in GIVEN[name].items():
        assert np.allclose(told[key], value)
    usual = family.read(None)
    assert np.allclose(usual, family.bounds.center)
    with pytest.raises(ValueError, match="likelihood_parameters names 'width'"):
        family.read({"width": 1.0})


@pytest.mark.parametrize(
    ("name", "given", "what"),
    [
        ("negative binomial", {"count": 0.0}, "count of likelihood_parameters must be positive"),
        ("student-t", {"scale": -1.0}, "scale of likelihood_parameters must be positive"),
        ("student-t", {"dof": 2.0}, "dof must be above 2"),
        ("ordinal", {"thresholds": [0.0, -1.0, 2.0]}, "3 numbers that rise"),
        ("ordinal", {"thresholds": [0.0]}, "3 numbers that rise"),
    ],
)
def test_impossible_parameters_are_refused(name, given, what):
    with pytest.raises(ValueError, match=what):
        FAMILIES[name].read(given)


def test_a_search_finds_the_parameters_of_the_family():
    """The count of a negative binomial is where a scan of the evidence is highest."""
    rng = np.random.default_rng(0)
    x = rng.uniform(0.0, 4.0, size=(60, 1))
    y = rng.poisson(np.exp(1.5 + np.sin(x[:, 0])) * rng.gamma(3.0, 1.0 / 3.0, 60)).astype(float)
    family = DispersedFamily(y)
    objective = ShapedObjective(
        x, family, MeanEffects(family.level, 1.0), "laplace", tol=1e-8, max_iter=200
    )
    model = TargetModel(KERNEL, family, family.read(None))
    found = maximize_evidence(
        objective, model, bounds=model.bounds(x), fixed=KERNEL.parameter_names
    )
    scan = np.linspace(-1.0, 4.0, 21)
    values = [objective(model._replace(phi=np.array([one])))[0] for one in scan]
    assert found.kernel.kernel == KERNEL
    assert found.log_evidence >= max(values)
    assert abs(found.kernel.phi[0] - scan[np.argmax(values)]) < 0.25


# -- predictions ---------------------------------------------------------------------------------


def averaged(p, mean, std):
    """Return ∫ p(η) N(η | mean, std²) dη by a fine sum."""
    z = np.linspace(-9.0, 9.0, 4001)
    return stats.norm.pdf(z) @ p(mean + std * z) * (z[1] - z[0])


def levelled(eta, top):
    """Return means e^η up to the top, T (2 − T/e^η) beyond."""
    mean = np.exp(eta)
    return np.where(mean > top, top * (2.0 - top / mean), mean)


@pytest.mark.parametrize(("mean", "std"), [(0.5, 0.1), (1.0, 0.7), (2.0, 1.2)])
class TestPredictions:
    @pytest.mark.parametrize("count", [None, 2.0])
    def test_counts(self, mean, std, count):
        family = FAMILIES["poisson" if count is None else "negative binomial"]
        phi = family.read(None if count is None else {"count": count})
        m, v = np.array([mean]), np.array([std**2])
        found = family.predict([(m, v, phi)], np.ones(1))
        for y in (0.0, 3.0, 9.0):
            if count is None:
                exact = averaged(lambda e, y=y: stats.poisson.pmf(y, levelled(e, 9.0)), mean, std)
            else:
                exact = averaged(
                    lambda e, y=y: stats.nbinom.pmf(y, count, count / (count + levelled(e, 9.0))),
                    mean,
                    std,
                )
            assert np.isclose(np.exp(found.log_prob(np.array([y])))[0], exact, rtol=1e-3)
        expected = averaged(lambda e: levelled(e, 9.0), mean, std)
        assert np.isclose(family.expect([(m, v, phi)], np.ones(1))[0], expected, rtol=1e-5)
        assert np.isclose(found.mean[0], expected, rtol=1e-3)

    def test_student(self, mean, std):
        family = FAMILIES["student-t"]
        phi = family.read({"scale": 0.5, "dof": 5.0})
        found = family.predict([(np.array([mean]), np.array([std**2]), phi)], np.ones(1))
        for y in (0.0, 1.0, 6.0):
            exact = averaged(lambda e, y=y: stats.t.pdf(y, 5.0, e, 0.5), mean, std)
            assert np.isclose(np.exp(found.log_prob(np.array([y])))[0], exact, rtol=1e-3)

    def test_categories(self, mean, std):
        family = FAMILIES["ordinal"]
        phi = family.read({"thresholds": [-1.0, 0.2, 1.5]})
        found = family.predict([(np.array([mean]), np.array([std**2]), phi)], np.ones(1))
        ends = np.array([-np.inf, -1.0, 0.2, 1.5, np.inf])
        exact = averaged(lambda e: np.diff(stats.logistic.cdf(ends - e[:, None])), mean, std)
        assert np.allclose(found.probabilities[0], exact, atol=1e-6)


def test_mixtures_of_parameters_are_averages():
    """Of two sets of parameters a prediction is the weighed mean of both."""
    parts = [(np.array([0.3]), np.array([0.2])), (np.array([1.0]), np.array([2.0]))]
    y = np.array([2.0])
    for name in ("negative binomial", "student-t"):
        family = FAMILIES[name]
        phis = [family.read(GIVEN[name]), family.read(None)]
        both = family.predict([(*p, phi) for p, phi in zip(parts, phis, strict=True)], [0.3, 0.7])
        each = [
            np.exp(family.predict([(*p, phi)], np.ones(1)).log_prob(y))
            for p, phi in zip(parts, phis, strict=True)
        ]
        assert np.allclose(np.exp(both.log_prob(y)), 0.3 * each[0] + 0.7 * each[1])


def test_no_mean_has_no_level():
    """Around 0 counts have the mean 1 where the function is 0."""
    family = FAMILIES["poisson"]
    objective = ShapedObjective(X, family, NO_MEAN, "laplace", tol=1e-8, max_iter=100)
    curve = objective.engine.likelihood.curve(np.zeros(5), 0.0, slice(None))
    assert np.allclose(curve.value, stats.poisson.logpmf(COUNTS, 1.0))
