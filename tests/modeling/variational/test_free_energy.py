"""Free energies of given beliefs, against sums over all states, quadrature and the engine."""

import itertools
import math
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import optimize, stats

from posteriori import Bernoulli, Beta, Categorical, Gamma, MvNormal, Normal
from posteriori.distributions import LogNormal, PointMass, StudentT
from posteriori.modeling import Chain, Model, free_energy, free_energy_of, take
from tests.modeling.variational import models_of_numbers
from tests.modeling.variational.models import NAMES, by_name

X5 = np.array([1.2, 0.4, 2.3, 1.9, 0.7])

#: Models with members that the bound leaves out, because they have no data; a belief about them
#: costs free energy.
WITH_MEMBERS_WITHOUT_DATA = {"univariate_mixture", "scales_of_classes"}

#: Models in which full factorisation leaves members of one variable dependent: for these the
#: product of the marginals is another belief, with a higher free energy.
DEPENDENT = {
    "ard_regression",
    "parts_of_vectors_missing",
    "factor_analysis",
    "normal_hmm",
    "categorical_hmm",
    "poisson_hmm",
    "panel_hmm",
    "change_point",
    "linear_system",
    "walks_with_unknown_scales",
    "noisy_autoregression",
    "series_with_gaps",
    "second_order_autoregression",
    "chain_with_offset",
    "level_with_slope",
    "two_chains_and_groups",
    "panel_with_offsets",
    "panel_of_chains",
    "switching_system",
    "factorial_hmm",
}


def coin() -> Model:
    m = Model()
    m.p = Beta(1.0, 1.0)
    m.x = Bernoulli(m.p).iid("n")
    return m


def mean_and_precision() -> Model:
    """The prior of the mean scales with the precision, so the evidence is known exactly."""
    m = Model()
    m.tau = Gamma(shape=1.0, rate=1.0)
    m.mu = Normal(0.0, precision=m.tau)
    m.x = Normal(m.mu, precision=m.tau).iid("n")
    return m


def two_causes() -> Model:
    m = Model()
    m.rain = Bernoulli(0.2)
    m.sprinkler = Bernoulli(take([0.4, 0.05], m.rain))
    m.wet = Bernoulli(take(take([[0.01, 0.9], [0.85, 0.99]], m.rain), m.sprinkler))
    return m


def enumerated(m: Model, data: dict[str, Any], q: dict[str, np.ndarray]) -> dict[str, float]:
    """Return F and its parts as sums over all states of the unknown variables."""
    names = list(q)
    states = list(itertools.product(*(range(len(q[n])) for n in names)))
    log_joint = np.array(
        [m.log_joint({**data, **dict(zip(names, s, strict=True))}) for s in states]
    )
    belief = np.array([math.prod(q[n][i] for n, i in zip(names, s, strict=True)) for s in states])
    log_evidence = np.logaddexp.reduce(log_joint)
    return {
        "energy": -belief @ log_joint,
        "entropy": -belief @ np.log(belief),
        "divergence": belief @ (np.log(belief) - (log_joint - log_evidence)),
        "log_evidence": log_evidence,
    }


# -- discrete: sums over all states --------------------------------------------------------------


@pytest.mark.topic("004/9.9", "004/9.11", "004/9.13")
def test_three_decompositions_by_enumeration() -> None:
    m, data = two_causes(), {"wet": 1}
    f = free_energy(m, data, {"rain": Bernoulli(0.3), "sprinkler": Bernoulli(0.6)})
    sums = enumerated(m, data, {"rain": [0.7, 0.3], "sprinkler": [0.4, 0.6]})
    assert_allclose(f.energy, sums["energy"], rtol=1e-13)
    assert_allclose(f.entropy, sums["entropy"], rtol=1e-13)
    assert_allclose(float(f), sums["divergence"] - sums["log_evidence"], rtol=1e-13)
    exact = m.infer(data).log_evidence
    assert_allclose(f.divergence(exact), sums["divergence"], rtol=1e-12)
    assert_allclose(f.complexity - f.accuracy, float(f), rtol=1e-13)
    assert float(f) > -float(exact)


@pytest.mark.topic("004/9.13")
def test_accuracy_and_complexity_by_enumeration() -> None:
    m = two_causes()
    f = free_energy(m, {"wet": 1}, {"rain": Bernoulli(0.3), "sprinkler": Bernoulli(0.6)})
    q = np.outer([0.7, 0.3], [0.4, 0.6])
    prior = np.array([[0.8 * 0.6, 0.8 * 0.4], [0.2 * 0.95, 0.2 * 0.05]])
    assert_allclose(f.complexity, np.sum(q * np.log(q / prior)), rtol=1e-13)
    wet = np.array([[0.01, 0.9], [0.85, 0.99]])
    assert_allclose(f.accuracy, np.sum(q * np.log(wet)), rtol=1e-13)


@pytest.mark.topic("004/9.22")
def test_mean_field_is_a_sum_of_node_energies_and_edge_entropies() -> None:
    m = two_causes()
    f = free_energy(m, {"wet": 1}, {"rain": Bernoulli(0.3), "sprinkler": Bernoulli(0.6)})
    q = np.outer([0.7, 0.3], [0.4, 0.6])
    assert_allclose(f.energies["rain"], -np.log([0.8, 0.2]) @ [0.7, 0.3], rtol=1e-13)
    link = np.array([[0.6, 0.4], [0.95, 0.05]])
    assert_allclose(f.energies["sprinkler"], -np.sum(q * np.log(link)), rtol=1e-13)
    assert_allclose(f.entropies["rain"], stats.entropy([0.7, 0.3]), rtol=1e-13)
    total = sum(f.energies.values()) - sum(f.entropies.values())
    assert_allclose(float(f), total, rtol=1e-14)


@pytest.mark.topic("004/9.22", "004/9.23")
def test_the_local_part_is_all_that_a_belief_changes() -> None:
    m, data = two_causes(), {"wet": 1}
    one, other = (
        free_energy(m, data, {"rain": Bernoulli(p), "sprinkler": Bernoulli(0.6)})
        for p in (0.3, 0.7)
    )
    assert_allclose(one.local("rain") - other.local("rain"), float(one) - float(other), rtol=1e-12)
    assert one.scopes["sprinkler"] == ("rain", "sprinkler")


def test_impossible_beliefs_have_infinite_free_energy() -> None:
    m = Model()
    m.a = Bernoulli(0.5)
    m.b = Bernoulli(take([1.0, 0.5], m.a))
    m.y = Bernoulli(take([0.1, 0.9], m.b))
    assert float(free_energy(m, {"y": 1}, {"a": Bernoulli(0.5), "b": Bernoulli(0.5)})) == math.inf


# -- the coin ------------------------------------------------------------------------------------


@pytest.mark.topic("004/9.10", "004/9.13")
def test_the_posterior_of_a_coin_has_the_numbers_of_the_notes() -> None:
    x = [1] * 5 + [0] * 3
    m = coin()
    m9 = free_energy(m, {"x": x}, {"p": m.infer(x=x).p})
    assert_allclose(float(m9), -float(m.infer(x=x).log_evidence), rtol=1e-13)
    assert_allclose(m9.divergence(m.infer(x=x).log_evidence), 0.0, atol=1e-13)


@pytest.mark.topic("004/9.13")
def test_fit_and_complexity_of_a_coin() -> None:
    """log(1/280) = −5.1916667 − 0.4431229 for the notes' prior and data."""
    x = [1, 1, 1, 1, 0, 0, 0]
    f = free_energy_of(coin().infer(x=x))
    assert_allclose(-float(f), math.log(1 / 280), rtol=1e-13)
    assert_allclose(f.accuracy, -5.1916667, atol=5e-8)
    assert_allclose(f.complexity, 0.4431229, atol=5e-8)


@pytest.mark.topic("004/9.10")
def test_the_posterior_is_where_free_energy_is_smallest() -> None:
    """Any parameters of a Beta belief, by a plain minimiser: it finds Bayes' rule."""
    x = [1, 1, 1, 0, 1]
    m = coin()

    def f(logs: np.ndarray) -> float:
        return float(free_energy(m, {"x": x}, {"p": Beta(*np.exp(logs))}))

    found = optimize.minimize(f, [0.5, -0.5], options={"gtol": 1e-9})
    assert_allclose(np.exp(found.x), [5.0, 2.0], rtol=1e-5)
    assert_allclose(found.fun, -float(m.infer(x=x).log_evidence), rtol=1e-10)


# -- mean and precision --------------------------------------------------------------------------


@pytest.mark.topic("000/T2", "000/T4", "004/9.11", "004/9.15")
def test_mean_and_precision_have_the_fixed_point_of_the_notes() -> None:
    m = mean_and_precision()
    post = m.infer(x=X5, factorize=[("mu", "tau")], tol=1e-15)
    assert_allclose([post.tau.shape, post.tau.rate], [4.0, 3.39904762], rtol=1e-8)
    assert_allclose([post.mu.mean, 1.0 / post.mu.variance], [1.08333333, 7.06080134], rtol=1e-8)
    assert_allclose(float(post.log_evidence), -8.17419359, atol=5e-9)
    assert_allclose(float(m.infer(x=X5).log_evidence), -8.10447241, atol=5e-9)
    assert np.all(np.diff(post.free_energy) <= 1e-12)


@pytest.mark.topic("000/T2")
def test_half_a_count_less_is_no_optimum() -> None:
    """With shape a₀ + N/2, a slip in the notes, the bound is lower."""
    m = mean_and_precision()
    a = 1.0 + 5 / 2
    mu, rate = Normal(6.5 / 6, precision=1.0), 1.0
    for _ in range(60):
        mu = Normal(6.5 / 6, precision=6.0 * a / rate)
        rate = 1.0 + 0.5 * float(np.sum((X5 - mu.mean) ** 2) + mu.mean**2 + 6.0 * mu.variance)
    f = free_energy(m, {"x": X5}, {"mu": mu, "tau": Gamma(shape=a, rate=rate)})
    assert_allclose(float(f), 8.21880295, atol=5e-9)


@pytest.mark.topic("004/9.9")
def test_free_energy_by_quadrature() -> None:
    m = mean_and_precision()
    mu, tau = Normal(0.8, variance=0.3), Gamma(shape=2.0, rate=1.5)
    f = free_energy(m, {"x": X5}, {"mu": mu, "tau": tau})

    x, w = np.polynomial.legendre.leggauss(200)
    u, t = 0.8 + 6.0 * x[:, None], np.exp(10.0 * x - 6.6)  # ln τ in (−16.6, 3.4)
    log_q = stats.norm.logpdf(u, 0.8, math.sqrt(0.3)) + stats.gamma.logpdf(t, 2.0, scale=1 / 1.5)
    log_p = stats.gamma.logpdf(t, 1.0) + stats.norm.logpdf(u, 0.0, t**-0.5)
    log_p = log_p + sum(stats.norm.logpdf(one, u, t**-0.5) for one in X5)
    value = np.einsum("i,j,ij", 6.0 * w, 10.0 * w * t, np.exp(log_q) * (log_q - log_p))
    assert_allclose(float(f), value, rtol=1e-8)


@pytest.mark.parametrize("tau", [LogNormal(0.2, variance=0.5), PointMass(1.3)])
@pytest.mark.parametrize("mu", [StudentT(5.0, 0.8, scale=0.4), PointMass(0.8)])
def test_beliefs_of_any_family(mu: Any, tau: Any) -> None:
    """E[(x − μ)²] needs two moments, E[τ] and E[ln τ] an integral."""
    m = mean_and_precision()
    f = free_energy(m, {"x": X5}, {"mu": mu, "tau": tau})
    t, log_t = (1.3, math.log(1.3)) if isinstance(tau, PointMass) else (math.exp(0.45), 0.2)
    squares = np.sum((X5 - mu.mean) ** 2) + mu.mean**2 + 6.0 * mu.variance
    log_joint = -t + 3.0 * log_t - 3.0 * math.log(2.0 * math.pi) - 0.5 * t * squares
    entropy = sum(0.0 if isinstance(q, PointMass) else float(q.entropy()) for q in (mu, tau))
    assert_allclose(float(f), -log_joint - entropy, rtol=1e-9)


# -- the engine ----------------------------------------------------------------------------------


@pytest.mark.topic("000/T4", "004/9.11", "004/9.22")
@pytest.mark.parametrize("name", NAMES)
def test_beliefs_of_the_engine_have_its_free_energy(name: str) -> None:
    m, data = by_name(name)
    post = m.infer(data, factorize="full", tol=1e-2)
    whole = float(free_energy_of(post))
    assert_allclose(whole, -float(post.log_evidence), rtol=1e-10)
    product = float(free_energy(m, data, {n: post[n] for n in post._solved.by_name}))
    if name in DEPENDENT or name in WITH_MEMBERS_WITHOUT_DATA:
        assert product > whole - 1e-9 * abs(whole)
    elif name in [case.name for case in models_of_numbers.CASES]:  # densities have become tables
        assert_allclose(product, whole, rtol=1e-5)
    else:
        assert_allclose(product, whole, rtol=1e-9)


def test_the_bound_is_the_free_energy_of_members_with_data() -> None:
    m, data = by_name("univariate_mixture")
    there = ~np.isnan(data["x"])
    assert not there.all()
    post = m.infer(data, factorize="full")
    beliefs = {name: post[name] for name in ("pi", "mu", "tau")}
    beliefs["z"] = Categorical(post.z.probabilities[there])
    some = {"x": data["x"][there]}
    assert_allclose(float(free_energy(m, some, beliefs)), -float(post.log_evidence), rtol=1e-12)
    alone = m.infer(some, factorize="full")
    assert_allclose(float(alone.log_evidence), float(post.log_evidence), rtol=1e-12)
    for name in ("mu", "tau"):
        assert_allclose(post[name].mean, alone[name].mean, rtol=1e-10)
        assert_allclose(post[name].variance, alone[name].variance, rtol=1e-10)
    assert_allclose(post.pi.mean, alone.pi.mean, rtol=1e-10)


def test_independent_members_of_a_chain_by_the_dense_joint() -> None:
    """F of a product belief about a Gaussian vector: E of a quadratic form, with all covariances."""
    m = Model()
    m.s = Chain(Normal(0.5, variance=4.0), lambda s: Normal(0.9 * s, variance=0.5), length="t")
    m.y = Normal(m.s, variance=1.0)
    y = np.array([1.0, 0.2, -0.4, 0.9])
    q = Normal([0.3, 0.1, -0.2, 0.5], variance=[0.4, 0.3, 0.2, 0.6])
    exact = m.infer(y=y)
    joint = exact.joint("s")
    dense = MvNormal(q.mean, cov=np.diag(q.variance))
    want = float(dense.kl(joint)) - float(exact.log_evidence)
    assert_allclose(float(free_energy(m, {"y": y}, {"s": q})), want, rtol=1e-12)


def test_one_belief_stands_for_all_members_of_a_plate() -> None:
    m = Model()
    m.z = Categorical([0.5, 0.3, 0.2]).iid("n")
    m.y = Normal(take([-1.0, 0.0, 2.0], m.z), variance=1.0)
    data = {"y": [0.3, 1.0]}
    one = free_energy(m, data, {"z": Categorical([0.2, 0.3, 0.5])})
    two = free_energy(m, data, {"z": Categorical([[0.2, 0.3, 0.5]] * 2)})
    assert_allclose(float(one), float(two), rtol=1e-14)


def test_members_with_data_keep_their_data() -> None:
    m = Model()
    m.z = Categorical([0.5, 0.3, 0.2]).iid("n")
    m.y = Normal(take([-1.0, 0.0, 2.0], m.z), variance=1.0)
    data = {"y": [0.3, 1.0, -0.4], "z": [np.nan, 2, np.nan]}
    post = m.infer(data)
    any_belief = post.z.probabilities.copy()
    any_belief[1] = [0.2, 0.3, 0.5]  # of no effect: it is known to be 2
    f = free_energy(m, data, {"z": Categorical(any_belief)})
    assert_allclose(float(f), -float(post.log_evidence), rtol=1e-13)


def test_far_from_zero_no_digits_are_lost() -> None:
    def f(shift: float) -> float:
        m = Model()
        m.mu = Normal(shift, variance=4.0)
        m.tau = Gamma(2.0, rate=1.5)
        m.x = Normal(m.mu, precision=m.tau).iid("n")
        beliefs = {"mu": Normal(shift + 1.0, variance=0.25), "tau": Gamma(4.0, rate=3.0)}
        return float(free_energy(m, {"x": shift + np.array([0.5, 1.0, 2.0])}, beliefs))

    assert_allclose(f(2.0**27), f(0.0), rtol=1e-12)


# -- refusals ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("beliefs", "message"),
    [
        ({"mu": Normal(0.0, variance=1.0)}, r"there is none about \['tau'\]"),
        ({"x": Normal(0.0, variance=1.0)}, "which was observed"),
        ({"nu": Normal(0.0, variance=1.0)}, "no variable of the model"),
        (
            {"mu": Normal([0.0, 1.0], variance=1.0), "tau": Gamma(1.0, rate=1.0)},
            r"mu has members of shape \(\) on axes \(\)",
        ),
    ],
)
def test_what_does_not_fit_is_named(beliefs: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        free_energy(mean_and_precision(), {"x": X5}, beliefs)


def test_states_and_families_that_do_not_fit_are_named() -> None:
    m = two_causes()
    good = {"sprinkler": Bernoulli(0.5)}
    with pytest.raises(ValueError, match="rain has 2 states, its belief has 3"):
        free_energy(m, {"wet": 1}, {**good, "rain": Categorical([0.2, 0.3, 0.5])})
    with pytest.raises(ValueError, match=r"rain has axes \(\); its belief is a batch \(2,\)"):
        free_energy(m, {"wet": 1}, {**good, "rain": Bernoulli([0.5, 0.5])})
    with pytest.raises(TypeError, match="must be Bernoulli, Categorical or a PointMass"):
        free_energy(m, {"wet": 1}, {**good, "rain": Normal(0.0, variance=1.0)})
    f = free_energy(m, {"wet": 1}, {**good, "rain": Bernoulli(0.2)})
    with pytest.raises(KeyError, match="no belief about 'wet'"):
        f.local("wet")
