"""Discrete models: special cases that agree, predictions and labels."""

import pickle

import numpy as np
import pytest

from posteriori import (
    Bernoulli,
    Categorical,
    Normal,
)
from posteriori.distributions import Mixture
from posteriori.modeling import Chain, Model, take
from posteriori.tables import JointTable
from tests.modeling.discrete_cases import shares
from tests.modeling.discrete_models import (
    MU,
    PI,
    RNG,
    A,
    Y,
    hidden_markov,
    mixture,
    mixture_of_vectors,
    sprinkler,
)
from tests.modeling.enumeration import Unknown, enumerate_model

# -- special cases agree ---------------------------------------------------------------------


def test_a_chain_of_one_is_a_mixture() -> None:
    post = hidden_markov().infer(y=Y[:1])
    expected = Mixture(PI, Normal(MU, variance=1.0))
    np.testing.assert_allclose(post.z.probabilities, expected.responsibilities(Y[:1]))
    assert float(post.log_evidence) == pytest.approx(float(expected.log_prob(Y[0])))


def test_a_mixture_has_the_responsibilities_of_its_family() -> None:
    y = np.random.default_rng(0).normal(size=1000)
    post = mixture().infer(y=y)
    family = Mixture(PI, Normal(MU, variance=1.0))
    np.testing.assert_allclose(post.z.probabilities, family.responsibilities(y), atol=1e-13)
    assert float(post.log_evidence) == pytest.approx(float(family.log_prob(y).sum()))


def test_a_loop_of_scalars_is_a_chain() -> None:
    y = np.random.default_rng(1).normal(size=300)
    loop = Model()
    loop.z0 = Categorical(PI)
    for t in range(1, len(y)):
        loop[f"z{t}"] = Categorical(take(A, loop[f"z{t - 1}"]))
    for t in range(len(y)):
        loop[f"y{t}"] = Normal(take(MU, loop[f"z{t}"]), variance=1.0)
    one = loop.infer({f"y{t}": value for t, value in enumerate(y)})
    other = hidden_markov().infer(y=y)
    assert float(one.log_evidence) == pytest.approx(float(other.log_evidence), abs=1e-9)
    found = np.array([one[f"z{t}"].probabilities for t in range(len(y))])
    np.testing.assert_allclose(found, other.z.probabilities, atol=1e-12)
    best = one.most_likely()
    np.testing.assert_array_equal([best[f"z{t}"] for t in range(len(y))], other.most_likely()["z"])


def test_a_posterior_survives_pickling() -> None:
    post = hidden_markov().infer(y=Y)
    again = pickle.loads(pickle.dumps(post))
    assert float(again.log_evidence) == float(post.log_evidence)
    np.testing.assert_array_equal(again.z.probabilities, post.z.probabilities)
    np.testing.assert_array_equal(again.most_likely()["z"], post.most_likely()["z"])


def test_joint_tables_of_large_models() -> None:
    m = Model()
    m.a = Bernoulli(0.4)
    m.b = Bernoulli(take([0.3, 0.6], m.a))
    m.z = Bernoulli(take(take([[0.2, 0.5], [0.4, 0.9]], m.a), m.b)).iid("n")
    m.y = Normal(take([0.0, 1.0], m.z), variance=1.0)
    post = m.infer(y=np.random.default_rng(0).normal(size=50_000))
    table = post.joint("a", "b")
    np.testing.assert_allclose(table.probabilities.sum(axis=1)[1], post.a.probability)
    with pytest.raises(MemoryError, match="joint table of z"):
        post.joint("z")
    with pytest.raises(MemoryError, match="joint table of z"):
        hidden_markov().infer(y=np.zeros(900)).joint("z")


def test_explaining_away() -> None:
    m = sprinkler()
    alone = m.infer(wet=1).sprinkler.probability
    with_rain = m.infer(wet=1, rain=1).sprinkler.probability
    assert with_rain < alone
    joint = JointTable.from_factor(m.infer(wet=1).joint("rain", "sprinkler").factor)
    assert joint.query("sprinkler=1 | rain=1") == pytest.approx(float(with_rain))


@pytest.mark.topic("004/3.10", "004/3.12")
def test_seven_variables() -> None:
    """f_a(1) f_b(2) f_c(1,2,3) f_d(4) f_e(3,4,5) f_f(5,6,7) f_g(7): brackets against the engine."""
    rng = np.random.default_rng(7)
    a, b, d = rng.dirichlet(np.ones(2), size=3)
    c = rng.dirichlet(np.ones(3), size=(2, 2))
    e = rng.dirichlet(np.ones(2), size=(3, 2))
    f = rng.dirichlet(np.ones(3), size=(2, 2))
    g = rng.uniform(size=2)
    m = Model()
    m.x1, m.x2, m.x4 = Categorical(a), Categorical(b), Categorical(d)
    m.x3 = Categorical(take(take(c, m.x1), m.x2))
    m.x5 = Categorical(take(take(e, m.x3), m.x4))
    m.x7 = Categorical([0.5, 0.5])
    m.x6 = Categorical(take(take(f, m.x5), m.x7))
    m.g = Bernoulli(take(g, m.x7))
    m.h = Bernoulli(take([0.3, 0.6, 0.2], m.x6))
    right = np.einsum("uvw,v,w->u", f, 0.5 * g, [0.3, 0.6, 0.2])  # messages into x5
    back = np.einsum("rsu,s,u->r", e, d, right)
    forth = np.einsum("p,q,pqr->r", a, b, c)
    post = m.infer(g=1, h=1)
    product = forth * back
    np.testing.assert_allclose(post.x3.probabilities, product / product.sum())
    assert float(post.log_evidence) == pytest.approx(np.log(product.sum()))


def test_nothing_observed_gives_the_prior_and_no_evidence() -> None:
    post = sprinkler().infer()
    assert float(post.log_evidence) == 0.0
    assert float(post.rain.probability) == pytest.approx(0.5)
    truth = enumerate_model(
        sprinkler(), {}, {n: Unknown((), 2) for n in ("cloudy", "rain", "sprinkler", "wet")}
    )
    assert float(post.wet.probability) == pytest.approx(truth.marginals["wet"][1])


def test_a_gap_adds_nothing() -> None:
    y = Y.copy()
    y[2] = np.nan
    post = hidden_markov().infer(y=y)
    likelihood = Normal(MU, variance=1.0).log_prob(np.nan_to_num(y)[:, None])
    likelihood[2] = 0.0
    alpha = PI * np.exp(likelihood[0])
    for t in range(1, 4):
        alpha = (alpha @ A) * np.exp(likelihood[t])
    assert float(post.log_evidence) == pytest.approx(np.log(alpha.sum()))
    nothing = hidden_markov().infer(y=np.full(4, np.nan))
    assert float(nothing.log_evidence) == pytest.approx(0.0, abs=1e-14)
    np.testing.assert_allclose(nothing.z.probabilities[1], PI @ A)


def test_gaps_inside_vectors_are_integrated_out() -> None:
    y = RNG.normal(size=(3, 2))
    y[0, 1] = y[2, 0] = y[2, 1] = np.nan
    post = mixture_of_vectors().infer(y=y)
    first = Normal([0.0, 1.0], variance=[1.0, 2.0]).log_prob(y[0, 0])
    odds = np.log([0.7, 0.3]) + first
    np.testing.assert_allclose(shares(post.z)[0], np.exp(odds) / np.exp(odds).sum())
    np.testing.assert_allclose(shares(post.z)[2], [0.7, 0.3])


@pytest.mark.slow
def test_a_long_chain_agrees_with_its_halves() -> None:
    """Compiled loops from a thousand steps on: a certain state in the middle cuts the chain."""
    rng = np.random.default_rng(2)
    y = rng.normal(size=2401)
    m = Model()
    m.z = Chain(Categorical(PI), lambda z: Categorical(take(A, z)), length="t")
    m.y = Normal(take(MU, m.z), variance=1.0)
    m.seen = Bernoulli(take([0.0, 1.0, 0.0], m.z))
    seen = np.full(2401, np.nan)
    seen[800] = seen[1600] = 1.0
    whole = m.infer(y=y, seen=seen)
    cut = Model()
    cut.z = Chain(Categorical([0.0, 1.0, 0.0]), lambda z: Categorical(take(A, z)), length="t")
    cut.y = Normal(take(MU, cut.z), variance=1.0)
    cut.seen = Bernoulli(take([0.0, 1.0, 0.0], cut.z))
    middle = cut.infer(y=y[800:1601], seen=seen[800:1601])
    np.testing.assert_allclose(whole.z.probabilities[800:1601], middle.z.probabilities, atol=1e-10)


def test_a_regime_of_a_long_chain_is_known_from_its_own_chains() -> None:
    rng = np.random.default_rng(3)
    moves = rng.dirichlet(np.ones(3), size=(2, 3))
    m = Model()
    m.g = Categorical([0.3, 0.7])
    m.z = Chain(Categorical(PI), lambda z: Categorical(take(take(moves, m.g), z)), length="t")
    m.y = Normal(take(take(np.array([MU, MU + 0.05]), m.g), m.z), variance=1.0)
    y = (MU + 0.025)[_path(moves[1], 30_000, rng)] + rng.normal(size=30_000)
    evidences, beliefs = [], []
    for g in range(2):
        one = Model()
        one.z = Chain(Categorical(PI), lambda z, g=g: Categorical(take(moves[g], z)), length="t")
        one.y = Normal(take(MU + 0.05 * g, one.z), variance=1.0)
        alone = one.infer(y=y)
        evidences.append(float(alone.log_evidence))
        beliefs.append(alone.z.probabilities)
    logs = np.log([0.3, 0.7]) + evidences
    p = np.exp(logs - logs.max())
    post = m.infer(y=y)
    assert float(post.log_evidence) == pytest.approx(logs.max() + np.log(p.sum()), rel=1e-13)
    p /= p.sum()
    np.testing.assert_allclose(post.g.probabilities, p, atol=1e-9)
    np.testing.assert_allclose(post.joint("g").probabilities, p, atol=1e-9)
    mixed = p[0] * beliefs[0] + p[1] * beliefs[1]
    np.testing.assert_allclose(post.z.probabilities, mixed, atol=1e-9)
    np.testing.assert_allclose(post.predict("y").mean[:3], _means_of(p, beliefs)[:3])


def _path(moves: np.ndarray, length: int, rng: np.random.Generator) -> list[int]:
    """Draw states one after another; the first is 0."""
    ends, path = moves.cumsum(axis=1)[:, :-1].tolist(), [0]
    for u in rng.random(length - 1):
        path.append(sum(u > end for end in ends[path[-1]]))
    return path


def _means_of(p: np.ndarray, beliefs: list[np.ndarray]) -> np.ndarray:
    return p[0] * beliefs[0] @ MU + p[1] * beliefs[1] @ (MU + 0.05)


def test_many_variables_on_single_members_are_taken_one_by_one() -> None:
    """As many chains as joint states of twelve leaves would be much more work."""
    y = np.random.default_rng(4).normal(size=12)
    m = Model()
    m.z = Chain(Categorical(PI), lambda z: Categorical(take(A, z)), length=12)
    one = Model()
    one.z = Chain(Categorical(PI), lambda z: Categorical(take(A, z)), length="t")
    one.b = Bernoulli(take([0.1, 0.5, 0.7], one.z))
    one.y = Normal(take([0.0, 2.0], one.b), variance=1.0)
    for k in range(12):
        m[f"b{k}"] = Bernoulli(take([0.1, 0.5, 0.7], m.z[k]))
        m[f"y{k}"] = Normal(take([0.0, 2.0], m[f"b{k}"]), variance=1.0)
    data = {f"y{k}": value for k, value in enumerate(y)}
    assert "member by member" in repr(m.plan(data))
    post, other = m.infer(data), one.infer(y=y)
    assert float(post.log_evidence) == pytest.approx(float(other.log_evidence), abs=1e-11)
    np.testing.assert_allclose(post.z.probabilities, other.z.probabilities, atol=1e-12)
    found = [post[f"b{k}"].probability for k in range(12)]
    np.testing.assert_allclose(found, other.b.probability, atol=1e-12)


# -- prediction ------------------------------------------------------------------------------


def test_predictions_are_mixtures_over_states() -> None:
    post = hidden_markov().infer(y=Y)
    d = post.predict("y")
    np.testing.assert_allclose(d.mean, post.z.probabilities @ MU)
    np.testing.assert_allclose(d.probabilities, post.z.probabilities)


def test_prediction_from_two_parents_uses_their_joint() -> None:
    means = np.array([[0.0, 1.0, 3.0], [-2.0, 5.0, 0.5]])
    m = Model()
    m.a = Bernoulli(0.4)
    m.b = Categorical(PI)
    m.x = Normal(take(take(means, m.a), m.b), variance=1.0)
    m.y = Normal(take(take(means**2, m.a), m.b), variance=take([1.0, 2.0], m.a))
    post = m.infer(x=0.7)
    p = np.array([0.6, 0.4])[:, None] * PI * np.exp(Normal(means, variance=1.0).log_prob(0.7))
    expected = Mixture(
        (p / p.sum()).ravel(),
        Normal((means**2).ravel(), variance=np.repeat([1.0, 2.0], 3)),
    )
    for d in (post.y, post.predict("y")):
        np.testing.assert_allclose(d.log_prob([0.0, 4.0]), expected.log_prob([0.0, 4.0]))


def test_a_leaf_is_predicted() -> None:
    m = sprinkler()
    truth = enumerate_model(
        m, {"sprinkler": 1}, {n: Unknown((), 2) for n in ("cloudy", "rain", "wet")}
    )
    post = m.infer(sprinkler=1)
    assert float(post.wet.probability) == pytest.approx(truth.marginals["wet"][1])
    assert float(post.rain.probability) == pytest.approx(truth.marginals["rain"][1])


def test_states_of_new_data() -> None:
    m = mixture()
    post = m.infer(y=Y)
    new = post.predict("z", y=Y[:2] + 1.0)
    np.testing.assert_allclose(new.probabilities, m.infer(y=Y[:2] + 1.0).z.probabilities)


# -- labels ----------------------------------------------------------------------------------


def test_labels_go_in_and_come_out() -> None:
    m = Model()
    m.weather = Categorical([0.3, 0.7], labels=("rain", "sun")).iid("day")
    m.mood = Categorical(take([[0.8, 0.2], [0.1, 0.9]], m.weather), labels=("bad", "good"))
    post = m.infer(mood=["bad", "good"])
    assert post.weather.labels == ("rain", "sun")
    assert list(post.most_likely()["weather"]) == ["rain", "sun"]
    assert post.joint("weather").labels["weather[0]"] == ("rain", "sun")
    np.testing.assert_allclose(post.weather.probabilities[0], np.array([0.24, 0.07]) / 0.31)
    assert m.infer(weather=["sun", "rain"]).mood.labels == ("bad", "good")
    codes = m.log_joint(weather=[1, 0], mood=[0, 1])
    assert m.log_joint(weather=["sun", "rain"], mood=["bad", "good"]) == codes


def test_a_joint_density_needs_all_values() -> None:
    with pytest.raises(ValueError, match="z has some missing"):
        hidden_markov().log_joint(z=[0, np.nan], y=[0.0, 1.0])
