"""Data that come one part after another, against all of them at once."""

import numpy as np
import pytest

from posteriori import (
    Bernoulli,
    Beta,
    Categorical,
    Chain,
    Dirichlet,
    Gamma,
    Input,
    InverseGamma,
    Model,
    MvNormal,
    Normal,
    Poisson,
    Wishart,
)
from posteriori.modeling import merge, take
from tests.modeling.variational.small_models import CASES

rng = np.random.default_rng(0)
X = rng.normal(size=(12, 3))


def coins():
    m = Model()
    m.p = Beta(2, 3)
    m.x = Bernoulli(m.p).iid("n")
    return m, {"x": np.array([0, 1, 1, 0, 1, 1, 1, 0, 1, 1, 0, 1])}


def rates():
    m = Model()
    m.g = Input("n")
    m.rate = Gamma(2, rate=1).iid(3)
    m.x = Poisson(m.rate[m.g])
    return m, {"g": np.arange(12) % 3, "x": np.arange(12) % 5}


def wishart():
    m = Model()
    m.precision = Wishart(4, np.eye(2))
    m.x = MvNormal(np.zeros(2), precision=m.precision).iid("n")
    return m, {"x": np.random.default_rng(1).normal(size=(12, 2))}


def hierarchy():
    m = Model()
    m.mu = Normal(1, variance=9)
    m.nu = Normal(m.mu, variance=4).iid(2)
    m.y = Normal(m.nu[0] + 2 * m.nu[1] - m.mu, variance=1).iid("n")
    return m, {"y": np.linspace(-1, 3, 12)}


def linear():
    m = Model()
    m.X = Input("n")
    m.w = MvNormal(np.ones(3), cov=np.eye(3) + 0.5)
    m.y = Normal(m.X @ m.w, variance=0.5)
    return m, {"X": X, "y": X @ [1.0, -2.0, 0.5] + 0.3}


def groups():
    """Groups are new members: of them only mu is carried over."""
    m = Model()
    m.mu = Normal(0, variance=100)
    m.theta = Normal(m.mu, variance=4).iid("g")
    m.y = Normal(m.theta, variance=1)
    return m, {"y": np.linspace(-3, 9, 12) ** 2}


def far_away():
    m = Model()
    m.mu = Normal(1e8, variance=100)
    m.y = Normal(m.mu, variance=1).iid("n")
    return m, {"y": 1e8 + np.linspace(-3, 9, 12)}


def learned_noise():
    m = Model()
    m.X = Input("n")
    m.tau = Gamma(2, rate=1)
    m.w = Normal(0, precision=0.1 * m.tau).iid(3)
    m.y = Normal(m.X @ m.w, precision=m.tau)
    return m, {"X": X, "y": X @ [1.0, -2.0, 0.5] + 0.3}


def learned_variance():
    m = Model()
    m.v = InverseGamma(2, scale=1)
    m.a = Normal(0, variance=m.v)
    m.b = Normal(m.a, variance=2 * m.v)
    m.y = Normal(m.a + m.b, variance=m.v).iid("n")
    return m, {"y": np.linspace(-1, 3, 12)}


def normal_wishart():
    m = Model()
    m.precision = Wishart(4, np.eye(2))
    m.mu = MvNormal([1.0, 0.0], precision=0.5 * m.precision)
    m.x = MvNormal(m.mu, precision=m.precision).iid("n")
    return m, {"x": np.random.default_rng(1).normal(size=(12, 2))}


def states():
    m = Model()
    m.a = Categorical([0.2, 0.5, 0.3])
    m.b = Bernoulli(take([0.1, 0.5, 0.8], m.a))
    m.z = Categorical(take([[0.5, 0.5], [0.9, 0.1]], m.b)).iid("n")
    m.x = Normal(take([0.0, 1.0, 2.0], m.a) + take([0.0, 3.0], m.z), variance=1)
    return m, {"x": np.linspace(-1, 5, 12)}


EXACT = [
    coins,
    rates,
    wishart,
    hierarchy,
    linear,
    groups,
    far_away,
    learned_noise,
    learned_variance,
    normal_wishart,
    states,
]


def parts(data, *cuts):
    """Split the rows of all arrays."""
    rows = np.split(np.arange(12), cuts)
    return [{name: np.asarray(values)[r] for name, values in data.items()} for r in rows]


def assert_same(a, b, name, rtol):
    for p, q in zip(_numbers(a[name]), _numbers(b[name]), strict=True):
        assert np.allclose(p, q, rtol=rtol, atol=rtol)


def _numbers(d):
    if hasattr(d, "mean_params"):
        return d.mean_params
    return tuple(getattr(d, key.rstrip("=")) for key in d._shown)


@pytest.mark.parametrize("make", EXACT)
def test_one_part_after_another_is_all_at_once(make):
    model, data = make()
    first, *more = parts(data, 5, 9)
    whole = model.infer(data)
    post = model.infer(first)
    evidence = post.log_evidence
    for part in more:
        post = post.update(**part)
        evidence = evidence + post.log_evidence
    assert post.log_evidence.kind == "exact"
    assert float(evidence) == pytest.approx(float(whole.log_evidence), rel=1e-9)
    assert abs(evidence - whole.log_evidence) < 1e-6 * abs(float(whole.log_evidence))
    shared = [n for n in model._variables if n in post._solved.by_name and n not in ("theta", "z")]
    assert shared
    for name in shared:
        assert_same(post, whole, name, 1e-8)


@pytest.mark.parametrize("make", [groups, states])
def test_new_members_get_their_own_posteriors(make):
    model, data = make()
    first, second = parts(data, 7)
    post, whole = model.infer(first).update(**second), model.infer(data)
    name = "theta" if make is groups else "z"
    assert np.allclose(post[name].mean_params[0], whole[name].mean_params[0][7:], rtol=1e-8)


def test_variables_without_new_data_keep_what_was_learnt():
    m = Model()
    m.p = Beta(2, 3)
    m.q = Beta(1, 1)
    m.x = Bernoulli(m.p).iid("n")
    m.y = Bernoulli(m.q).iid("k")
    first = m.infer(x=[1, 1, 0], y=[0, 0, 1, 0])
    post = first.update(x=[1, 1])
    assert np.allclose(post.q.mean, first.q.mean)
    assert np.allclose(post.p.mean, (2 + 4) / (2 + 3 + 5))
    again = post.update(y=[1, 1, 1])
    assert np.allclose(again.q.mean, (1 + 4) / (2 + 7))
    assert np.allclose(again.p.mean, post.p.mean)


def test_predictions_after_an_update_know_all_data():
    model, data = linear()
    first, second = parts(data, 7)
    post, whole = model.infer(first).update(**second), model.infer(data)
    new = np.ones((2, 3))
    a, b = post.predict("y", X=new), whole.predict("y", X=new)
    assert np.allclose(a.mean, b.mean)
    assert np.allclose(a.variance, b.variance)


# -- approximate -----------------------------------------------------------------------------


@pytest.mark.parametrize("case", ["location and precision", "regression", "mixture", "counts"])
def test_beliefs_take_the_place_of_priors(case):
    """The bound of an update is that of a model whose priors are the beliefs."""
    model, data = CASES[case]()
    n = len(next(iter(data.values())))
    order = np.random.default_rng(1).permutation(n)
    halves = np.split(order, [n // 2])
    first, second = ({k: np.asarray(v)[r] for k, v in data.items()} for r in halves)
    old = model.infer(first, tol=1e-9)
    post = old.update(**second, tol=1e-9)
    m = Model()
    if case == "location and precision":
        m.mu = Normal(old.mu.mean, variance=old.mu.variance)
        m.tau = Gamma(old.tau.shape, rate=old.tau.rate)
        m.x = Normal(m.mu, precision=m.tau).iid("n")
    elif case == "regression":
        joint = old.joint("w")
        m.X = Input("n")
        m.w = MvNormal(joint.mean, cov=joint.cov)
        m.tau = Gamma(old.tau.shape, rate=old.tau.rate)
        m.y = Normal(m.X @ m.w, precision=m.tau)
    elif case == "mixture":
        m.pi = Dirichlet(old.pi.concentration)
        m.mu = MvNormal(old.mu.mean, cov=old.mu.cov)
        m.precision = Wishart(old.precision.dof, old.precision.scale)
        m.z = Categorical(m.pi).iid("n")
        m.x = MvNormal(m.mu[m.z], precision=m.precision[m.z])
    else:
        m.pi = Dirichlet(old.pi.concentration)
        m.rate = Gamma(old.rate.shape, rate=old.rate.rate)
        m.z = Categorical(m.pi).iid("n")
        m.x = Poisson(m.rate[m.z])
    again = m.infer(second, init={"z": post.z.probabilities} if "z" in m else {}, tol=1e-9)
    assert float(post.log_evidence) == pytest.approx(float(again.log_evidence), abs=1e-6)
    assert post.log_evidence.kind == "bound"
    if "tau" in m:
        assert np.allclose(post.tau.mean, again.tau.mean, rtol=1e-5)


def test_classes_keep_their_numbers():
    model, data = CASES["mixture"]()
    x = data["x"][np.random.default_rng(2).permutation(40)]
    old = model.infer(x=x[:25], method="vmp")  # what is updated are the beliefs of the ascent
    post = old.update(x=x[25:], method="vmp")
    used = old.pi.mean > 0.1
    assert np.allclose(post.mu.mean[used], old.mu.mean[used], atol=1.0)
    total = post.pi.concentration.sum() - old.pi.concentration.sum()
    assert total == pytest.approx(15.0)


def test_factors_keep_their_directions():
    model, data = CASES["factors"]()
    old = model.infer(y=data["y"][:20])
    post = old.update(y=data["y"][20:])
    assert np.all(np.abs(post.W.mean - old.W.mean) < 6 * np.sqrt(old.W.variance))
    assert np.all(post.W.variance < old.W.variance)
    assert np.all(post.b.variance < old.b.variance)


# -- refusals --------------------------------------------------------------------------------


def test_chains_are_refused_in_words():
    m = Model()
    m.s = Chain(Normal(0, variance=1), lambda s: Normal(s, variance=1), length="t")
    m.y = Normal(m.s, variance=1)
    with pytest.raises(TypeError, match="may go on with the chain s or be another series"):
        m.infer(y=[1.0, 2.0]).update(y=[3.0])


def test_points_are_refused_in_words():
    model, data = CASES["location and precision"]()
    post = model.infer(data, form={"tau": "point"})
    with pytest.raises(TypeError, match="tau, a point, cannot be carried over"):
        post.update(x=[1.0])


def test_wrong_names_are_named():
    m, data = coins()
    post = m.infer(data)
    with pytest.raises(ValueError, match="no variable or input 'xx'; did you mean 'x'"):
        post.update(xx=[1])
    with pytest.raises(ValueError, match="update needs data"):
        post.update()


# -- shards ----------------------------------------------------------------------------------


MERGED = [make for make in EXACT if make not in (states, far_away)]


@pytest.mark.parametrize("make", MERGED)
def test_merged_parts_are_all_at_once(make):
    model, data = make()
    whole = model.infer(data)
    post = merge(*(model.infer(part) for part in parts(data, 4, 9)))
    assert post.log_evidence.kind == "exact"
    assert float(post.log_evidence) == pytest.approx(float(whole.log_evidence), rel=1e-9)
    assert abs(post.log_evidence - whole.log_evidence) < 1e-6 * abs(float(whole.log_evidence))
    for name in (n for n in model._variables if n in whole._solved.by_name and n != "theta"):
        assert_same(post, whole, name, 1e-8)


def test_merged_parts_far_from_zero():
    """Means near 1e8 are known to 1.5e-8, times precisions of 12 and gaps of 10."""
    model, data = far_away()
    whole = model.infer(data)
    post = merge(*(model.infer(part) for part in parts(data, 4, 9)))
    assert float(post.log_evidence) == pytest.approx(float(whole.log_evidence), abs=2e-6)
    assert post.mu.mean == pytest.approx(whole.mu.mean, abs=1e-7)
    assert post.mu.variance == pytest.approx(whole.mu.variance, rel=1e-12)


def test_merged_posteriors_predict():
    model, data = learned_noise()
    whole = model.infer(data)
    post = merge(*(model.infer(part) for part in parts(data, 5)))
    new = np.ones((2, 3))
    a, b = post.predict("y", X=new), whole.predict("y", X=new)
    assert np.allclose(a.mean, b.mean)
    assert np.allclose(a.variance, b.variance)
    with pytest.raises(TypeError, match="explain those that were merged"):
        post.explain()


def test_merged_beliefs_are_products_of_beliefs():
    """Of independent beliefs: q_1 q_2 / p for each, by hand."""
    model, data = CASES["location and precision"]()
    a, b = (model.infer(x=x) for x in np.split(data["x"], [5]))
    post = merge(a, b)
    assert post.log_evidence.kind == "estimate"
    precision = 1 / a.mu.variance + 1 / b.mu.variance - 1 / 100
    assert post.mu.variance == pytest.approx(1 / precision)
    weighted = a.mu.mean / a.mu.variance + b.mu.mean / b.mu.variance
    assert post.mu.mean == pytest.approx(weighted / precision)
    assert post.tau.shape == pytest.approx(a.tau.shape + b.tau.shape - 1)
    assert post.tau.rate == pytest.approx(a.tau.rate + b.tau.rate - 1)


def test_what_cannot_be_merged_is_said():
    model, data = CASES["mixture"]()
    halves = [model.infer(x=x) for x in np.split(data["x"], 2)]
    with pytest.raises(TypeError, match="numbered differently"):
        merge(*halves)
    model, data = CASES["groups"]()
    halves = [
        model.infer(y=y, noise=v)
        for y, v in zip(np.split(np.array(data["y"]), 2), np.split(data["noise"], 2), strict=True)
    ]
    assert merge(*halves).mu.variance < halves[0].mu.variance
    with pytest.raises(ValueError, match="of one model"):
        merge(halves[0], coins()[0].infer(x=[1]))
    with pytest.raises(ValueError, match="merge needs posteriors"):
        merge()
