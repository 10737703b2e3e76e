"""What a user may choose: points instead of beliefs, independence, starts and when to stop."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import optimize
from scipy.special import gammaln, logsumexp

from posteriori import Categorical, Dirichlet, Gamma, MvNormal, Normal, Poisson
from posteriori.distributions import PointMass
from posteriori.modeling import Chain, Model
from posteriori.numerics.warnings import ConvergenceWarning
from tests.modeling.variational.cases import clusters, noise
from tests.modeling.variational.models import NAMES, by_name, variational

# -- points ------------------------------------------------------------------------------------


def test_expectation_maximisation_of_a_mixture() -> None:
    """With points for all parameters the bound is the log likelihood and prior, and the ascent EM."""
    x = np.array([0.0, 9.0, 1.0, 12.0, 3.0, 8.0, 0.0])
    m = Model()
    m.pi = Dirichlet(2.0 * np.ones(2))
    m.rate = Gamma(2.0, rate=0.5).iid(2)
    m.z = Categorical(m.pi).iid("n")
    m.x = Poisson(m.rate[m.z])
    start = np.array([0, 1, 0, 1, 0, 1, 0])
    post = m.infer(
        x=x, init={"z": start}, form={"pi": "point", "rate": "point"}, tol=1e-12, max_iter=5000
    )
    r = 0.9 * np.eye(2)[start] + 0.05
    for _ in range(300):
        pi = (1.0 + r.sum(axis=0)) / (2.0 + len(x))  # mode of Dirichlet(2 + n)
        rate = (1.0 + r.T @ x) / (0.5 + r.sum(axis=0))
        logits = np.log(pi) + x[:, None] * np.log(rate) - rate - gammaln(x + 1.0)[:, None]
        r = np.exp(logits - logsumexp(logits, axis=1, keepdims=True))
    assert isinstance(post.pi, PointMass)
    assert_allclose(post.pi.mean, pi, rtol=1e-5)
    assert_allclose(post.rate.mean, rate, rtol=1e-5)
    assert_allclose(post.z.probabilities, r, atol=1e-6)
    prior = gammaln(4.0) + np.log(pi).sum()
    prior += (2.0 * np.log(0.5) + np.log(rate) - 0.5 * rate).sum()
    assert post.log_evidence.kind == "type-II"
    assert_allclose(float(post.log_evidence), logsumexp(logits, axis=1).sum() + prior, rtol=1e-8)


def test_all_points_are_a_mode_of_the_joint_density() -> None:
    m, data = by_name("ragged_groups")
    names = ["mu", "between", "within", "theta"]
    post = m.infer(data, form=dict.fromkeys(names, "point"), tol=1e-13, max_iter=20000)
    point = {name: np.asarray(post[name].mean) for name in names}
    assert_allclose(float(post.log_evidence), m.log_joint({**data, **point}), rtol=1e-10)
    height = m.log_joint({**data, **point})
    for name in names:
        for step in (1e-3, -1e-3):
            moved = {**point, name: point[name] + step * np.ones(point[name].shape)}
            assert m.log_joint({**data, **moved}) < height + 1e-12


def test_a_point_alone_is_the_mode_at_its_height() -> None:
    y = 2.0 + noise(6)
    m = Model()
    m.mu = Normal(1.0, variance=4.0)
    m.y = Normal(m.mu, variance=0.5).iid("n")
    post = m.infer(y=y, method="vmp", form={"mu": "point"})
    mode = (1.0 / 4.0 + y.sum() / 0.5) / (1.0 / 4.0 + len(y) / 0.5)
    assert_allclose(post.mu.mean, mode, rtol=1e-12)
    assert_allclose(float(post.log_evidence), m.log_joint(mu=mode, y=y), rtol=1e-12)


def test_points_for_variances_are_the_best_evidence() -> None:
    """A point for τ with everything else exact: the maximum of evidence times prior."""
    m, data = by_name("eight_schools")
    post = m.infer(data, form={"tau": "point"}, tol=1e-13, max_iter=20000)
    cov = np.diag(data["noise"])

    def negative(log_tau: float) -> float:
        tau = np.exp(log_tau)
        total = 400.0 + cov + np.eye(8) / tau
        _, logs = np.linalg.slogdet(2.0 * np.pi * total)
        fit = data["y"] @ np.linalg.solve(total, data["y"])
        prior = 2.0 * np.log(20.0) + np.log(tau) - 20.0 * tau  # Gamma(2, 20), ln Γ(2) = 0
        return 0.5 * (logs + fit) - prior

    best = optimize.minimize_scalar(negative, bounds=(-6.0, 3.0), options={"xatol": 1e-10})
    assert_allclose(float(post.log_evidence), -best.fun, rtol=1e-9)
    assert_allclose(post.tau.mean, np.exp(best.x), rtol=1e-3)


POINTS = {
    "mean_and_precision": "tau",
    "univariate_mixture": "tau",
    "rates_of_rates": "b",
    "principal_components": "W",
    "noisy_autoregression": "a",
    "linear_system": "A",
    "unknown_covariance": "S",
    "two_gates": "mu",
    "panel_hmm": "mu",
    "wishart_mixture": "z",
}


@pytest.mark.parametrize("name", POINTS)
def test_points_climb_and_both_routes_agree(name: str) -> None:
    m, data = by_name(name)
    post = m.infer(data, form={POINTS[name]: "point"}, callback=lambda i, _: i >= 20)
    result = variational(post)
    trace = np.array(result.ascent.trace)
    assert np.all(np.diff(trace) > -1e-10 * np.abs(trace[1:]))
    assert_allclose(result.informed.problem.slow_bound()[0], result.log_evidence, rtol=1e-11)


def test_refusals() -> None:
    m, data = by_name("mean_and_precision")
    cases = [
        ({"form": {"nu": "point"}}, ValueError, "form names 'nu'"),
        ({"form": {"tau": "line"}}, ValueError, 'must be "point"'),
        ({"init": {"nu": 1.0}}, ValueError, "init names 'nu'"),
        ({"init": {"mu": [1.0, 2.0]}}, ValueError, "init of mu must have shape"),
        ({"init": {"tau": 1.0}}, TypeError, "init of tau must be a Gamma"),
        ({"factorize": "half"}, ValueError, "factorize takes groups"),
        ({"tol": 0.0}, ValueError, "tol must be positive"),
        ({"tol": "small"}, ValueError, "tol must be positive"),
        ({"n_init": 0}, ValueError, "n_init must be a whole number"),
        ({"n_init": True}, ValueError, "n_init must be a whole number"),
        ({"n_inti": 2}, ValueError, "did you mean 'n_init'"),
        ({"callback": 3}, TypeError, "callback must be a function"),
        ({"progress": "yes"}, TypeError, "progress must be True, False, or None .* got 'yes'"),
        ({"init": 3}, TypeError, "init must map names"),
        ({"init": {"mu": np.nan}}, ValueError, "init of mu must be finite"),
        ({"init": {"mu": "k-means"}}, TypeError, "init of mu must hold numbers"),
        ({"form": "point"}, TypeError, "form must map names"),
        ({"factorize": ["mu", "tau"]}, ValueError, "factorize takes groups"),
        ({"factorize": [("mu", "nu")]}, ValueError, "factorize names 'nu'"),
        ({"max_iter": 1.5}, ValueError, "max_iter must be a whole number"),
    ]
    for options, error, words in cases:
        with pytest.raises(error, match=words):
            m.infer(data, **options)


def test_a_density_that_is_highest_at_the_border_has_no_best_point() -> None:
    m = Model()
    m.b = Gamma(0.5, rate=1.0)
    m.rate = Gamma(0.3, rate=m.b)
    m.x = Poisson(m.rate)
    with pytest.raises(ValueError, match="highest at the border"):
        m.infer(x=0.0, form={"b": "point"})


# -- independence ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_full_factorisation_has_two_equal_routes(name: str) -> None:
    m, data = by_name(name)
    post = m.infer(data, factorize="full", callback=lambda i, _: i >= 8, n_init=1)
    result = variational(post)
    assert all(len(node.names) == 1 for node in result.problem.nodes)
    assert_allclose(result.informed.problem.slow_bound()[0], result.log_evidence, rtol=1e-11)
    trace = np.array(result.ascent.trace)
    assert np.all(np.diff(trace) > -1e-10 * np.abs(trace[1:]))


def test_only_what_is_named_is_kept_apart() -> None:
    m = Model()
    m.a, m.b, m.c = (Normal(0.0, variance=1.0) for _ in range(3))
    m.y = Normal(m.a + m.b + m.c, variance=0.1)
    groups = m.plan(y=1.0, factorize=[["a", "b"]]).blocks[0].approximation.structure.groups
    assert not any({"a", "b"} <= set(group) for group in groups)
    assert sorted(len(group) for group in groups) == [1, 2]
    bounds = [
        float(m.infer(y=1.0, factorize=f, tol=1e-12).log_evidence)
        for f in ("full", [["a", "b"]], [["a"]])
    ]
    assert bounds[0] < bounds[1] < bounds[2]
    assert_allclose(bounds[2], float(m.infer(y=1.0).log_evidence), rtol=1e-12)


# -- starts ------------------------------------------------------------------------------------


def three_classes() -> tuple[Model, np.ndarray]:
    m = Model()
    m.pi = Dirichlet(np.ones(3))
    m.mu = Normal(0.0, variance=25.0).iid(3)
    m.tau = Gamma(2.0, rate=2.0).iid(3)
    m.z = Categorical(m.pi).iid("n")
    m.x = Normal(m.mu[m.z], precision=m.tau[m.z])
    return m, noise(60) + 4.0 * (np.arange(60) % 3 - 1)


@pytest.mark.parametrize("order", [[0, 1, 2], [2, 0, 1], [1, 2, 0]])
def test_means_given_as_start_are_kept_in_order(order: list[int]) -> None:
    m, x = three_classes()
    centers = np.array([-4.0, 0.0, 4.0])[order]
    post = m.infer(x=x, init={"mu": centers})
    assert_allclose(post.mu.mean, centers, atol=0.7)


@pytest.mark.parametrize("order", [[0, 1, 2], [2, 0, 1]])
def test_codes_given_as_start_are_kept_in_order(order: list[int]) -> None:
    m, x = three_classes()
    codes = np.array(order)[np.arange(60) % 3]
    post = m.infer(x=x, init={"z": codes})
    assert_allclose(post.mu.mean[order], [-4.0, 0.0, 4.0], atol=0.7)


def test_a_belief_may_be_a_start() -> None:
    m, data = by_name("mean_and_precision")
    post = m.infer(data, tol=1e-13)
    again = m.infer(data, init={"tau": post.tau, "mu": post.mu.mean}, tol=1e-9)
    assert len(again.free_energy) <= 3
    assert_allclose(float(again.log_evidence), float(post.log_evidence), rtol=1e-10)


def test_more_starts_are_never_worse_here_and_repeat() -> None:
    m, x = three_classes()
    one, five, again = (m.infer(x=x, n_init=r, rng=4) for r in (1, 5, 5))
    assert float(five.log_evidence) >= float(one.log_evidence) - 1e-5
    assert float(five.log_evidence) == float(again.log_evidence)


# -- the end -----------------------------------------------------------------------------------


def test_a_callback_sees_the_bound_and_may_stop() -> None:
    m, data = by_name("linear_system")
    seen: list[float] = []

    def stop(i: int, bound: float) -> bool:
        seen.append(bound)
        return len(seen) == 4

    post = m.infer(data, n_init=1, callback=stop)
    assert_allclose(-post.free_energy, seen)
    assert len(seen) == 4


def test_too_few_sweeps_are_told() -> None:
    m, data = by_name("linear_system")
    with pytest.warns(ConvergenceWarning, match="stopped after 2 sweeps"):
        post = m.infer(data, n_init=1, max_iter=2)
    assert not variational(post).ascent.converged
    with pytest.warns(ConvergenceWarning, match="stopped after 1 sweep;"):
        m.infer(data, n_init=1, max_iter=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert variational(m.infer(data, tol=1e-2)).ascent.converged


# -- models that are solved apart --------------------------------------------------------------


def test_parts_that_share_nothing_add_up() -> None:
    """Two models in one have the sum of both bounds, exact or not."""
    x, y = clusters(6), noise(5)

    def put(m: Model, first: bool, second: bool) -> Model:
        if first:
            m.mu, m.tau = Normal(0.0, variance=4.0), Gamma(2.0, rate=1.0)
            m.x = Normal(m.mu, precision=m.tau).iid("n")
        if second:
            m.q = Gamma(3.0, rate=1.0)
            m.s = Chain(
                MvNormal(np.zeros(1), cov=np.eye(1)), lambda s: MvNormal(s, cov=np.eye(1)), 5
            )
            m.y = Normal(m.s[:, 0], precision=m.q)
        return m

    both = put(Model(), True, True).infer(x=x, y=y, tol=1e-10)
    a = put(Model(), True, False).infer(x=x, tol=1e-10)
    b = put(Model(), False, True).infer(y=y, tol=1e-10)
    assert_allclose(float(both.log_evidence), float(a.log_evidence) + float(b.log_evidence))


# -- data that cannot be -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("poisson_mixture", -1.0),
        ("poisson_mixture", 0.5),
        ("latent_class", 3.0),
        ("latent_class", -1.0),
        ("latent_class", 1.5),
        ("bernoulli_mixture", 2.0),
        ("binomial_mixture", 50.0),
        ("exponential_mixture", -1.0),
        ("poisson_hmm", -1.0),
    ],
)
def test_data_off_the_support_are_refused(name: str, wrong: float) -> None:
    m, data = by_name(name)
    x = np.array(data["x"])
    x.flat[2] = wrong
    with pytest.raises(ValueError, match=f"x: data must lie in the support of .* holds {wrong}"):
        m.infer({**data, "x": x})
