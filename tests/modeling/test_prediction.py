"""Predictions of new members, against ratios of evidences and models with more rows."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import pytest

from posteriori.distributions import (
    Bernoulli,
    Beta,
    Categorical,
    Dirichlet,
    Gamma,
    InverseGamma,
    InverseWishart,
    MvNormal,
    MvStudentT,
    NegativeBinomial,
    Normal,
    Poisson,
    StudentT,
    Wishart,
)
from posteriori.modeling import Chain, Input, Model, dot, take

RNG = np.random.default_rng(3)
Y = RNG.normal(1.0, 2.0, size=7)
VECTORS = RNG.normal(size=(6, 2))
GRID = RNG.normal(size=(4, 3)) + np.arange(4)[:, None]
LETTERS = [0, 2, 1, 1, 2, 2]
COV = np.array([[2.0, 0.5], [0.5, 1.0]])


class Case(NamedTuple):
    """A model, its data, a plate, and values that one new member of ``y`` might have."""

    build: Callable[[], Model]
    data: Mapping[str, Any]
    plate: str
    points: Any
    family: Any = None


def mean() -> Model:
    m = Model()
    m.mu = Normal(0.0, variance=9.0)
    m.y = Normal(m.mu, variance=1.0).iid("n")
    return m


def groups() -> Model:
    m = Model()
    m.mu = Normal(0.0, variance=9.0)
    m.theta = Normal(m.mu, variance=4.0).iid("n")
    m.y = Normal(m.theta, variance=0.5)
    return m


def shared_twice() -> Model:
    """What is new depends on the rest by several ways at once."""
    m = Model()
    m.mu = Normal(0.0, variance=9.0)
    m.a = Normal(2.0 * m.mu + 1.0, variance=0.7).iid("n")
    m.b = Normal(m.a - m.mu, precision=3.0)
    m.y = Normal(m.a + 0.5 * m.b - m.mu, scale=0.4)
    return m


def repeats_in_groups() -> Model:
    m = Model()
    m.mu = Normal(0.0, variance=9.0)
    m.theta = Normal(m.mu, variance=4.0).iid("n")
    m.y = Normal(m.theta, variance=0.5).iid(3)
    return m


def vectors() -> Model:
    m = Model()
    m.mu = MvNormal(np.zeros(2), cov=9.0 * np.eye(2))
    m.theta = MvNormal(m.mu, cov=COV).iid("n")
    m.y = MvNormal(COV @ m.theta, cov=0.3 * np.eye(2))
    return m


def several_added() -> Model:
    """Each row adds up new members of an axis."""
    m = Model()
    m.mu = Normal(0.0, variance=9.0)
    m.theta = Normal(m.mu, variance=4.0).iid("n").iid(3)
    m.y = Normal(np.array([1.0, -2.0, 0.5]) @ m.theta, variance=0.5)
    return m


def common_precision() -> Model:
    m = Model()
    m.tau = Gamma(2.0, 1.5)
    m.mu = Normal(0.0, precision=0.2 * m.tau)
    m.y = Normal(m.mu, precision=m.tau).iid("n")
    return m


def groups_of_common_variance() -> Model:
    m = Model()
    m.v = InverseGamma(3.0, 1.5)
    m.mu = Normal(0.0, variance=4.0 * m.v)
    m.theta = Normal(m.mu, variance=2.0 * m.v).iid("n")
    m.y = Normal(m.theta, variance=m.v)
    return m


def precision_of_each() -> Model:
    m = Model()
    m.tau = Gamma(2.0, 1.5).iid("n")
    m.mu = Normal(1.0, precision=0.2 * m.tau)
    m.y = Normal(m.mu, precision=m.tau).iid(2)
    return m


def coin() -> Model:
    m = Model()
    m.p = Beta(2.0, 3.0)
    m.y = Bernoulli(m.p).iid("n")
    return m


def coins() -> Model:
    m = Model()
    m.p = Beta(2.0, 3.0).iid("n")
    m.y = Bernoulli(m.p).iid(2)
    return m


def counts() -> Model:
    m = Model()
    m.rate = Gamma(2.0, 1.0)
    m.y = Poisson(m.rate).iid("n")
    return m


def letters() -> Model:
    m = Model()
    m.p = Dirichlet([1.0, 2.0, 0.5])
    m.y = Categorical(m.p).iid("n")
    return m


def known_mean() -> Model:
    m = Model()
    m.tau = Gamma(2.0, 1.5)
    m.y = Normal(0.5, precision=m.tau).iid("n")
    return m


def matrix_precision() -> Model:
    m = Model()
    m.precision = Wishart(dof=4.0, scale=COV)
    m.y = MvNormal(np.ones(2), precision=m.precision).iid("n")
    return m


def matrix_covariance() -> Model:
    m = Model()
    m.cov = InverseWishart(dof=5.0, scale=COV)
    m.y = MvNormal(np.ones(2), cov=m.cov).iid("n")
    return m


def common_matrix() -> Model:
    m = Model()
    m.precision = Wishart(dof=4.0, scale=COV)
    m.mu = MvNormal(np.ones(2), precision=0.2 * m.precision)
    m.y = MvNormal(m.mu, precision=m.precision).iid("n")
    return m


def groups_of_common_matrix() -> Model:
    m = Model()
    m.cov = InverseWishart(dof=5.0, scale=COV)
    m.mu = MvNormal(np.ones(2), cov=4.0 * m.cov)
    m.theta = MvNormal(m.mu, cov=2.0 * m.cov).iid("n")
    m.y = MvNormal(m.theta, cov=m.cov)
    return m


def mixture() -> Model:
    m = Model()
    m.z = Categorical([0.6, 0.3, 0.1]).iid("n")
    m.y = Normal(take([0.0, 3.0, 5.0], m.z), variance=1.0)
    return m


def mixture_of_unknown_kind() -> Model:
    m = Model()
    m.kind = Bernoulli(0.4)
    m.z = Categorical(take([[0.9, 0.1], [0.2, 0.8]], m.kind)).iid("n")
    m.y = Normal(take([0.0, 3.0], m.z), variance=take([1.0, 2.0], m.kind))
    return m


def noisy_letters() -> Model:
    m = Model()
    m.kind = Bernoulli(0.4)
    m.z = Categorical(take([[0.9, 0.1], [0.2, 0.8]], m.kind)).iid("n")
    m.y = Categorical(take([[0.7, 0.2, 0.1], [0.1, 0.3, 0.6]], m.z))
    return m


CASES = {
    "mean": Case(mean, {"y": Y}, "n", [-1.0, 2.5], Normal),
    "groups": Case(groups, {"y": Y}, "n", [-1.0, 2.5], Normal),
    "shared twice": Case(shared_twice, {"y": Y}, "n", [-1.0, 2.5], Normal),
    "repeats": Case(repeats_in_groups, {"y": GRID}, "n", None, Normal),
    "vectors": Case(vectors, {"y": VECTORS}, "n", [[0.3, -1.0], [2.0, 1.0]], MvNormal),
    "several added": Case(several_added, {"y": Y}, "n", [-1.0, 2.5], Normal),
    "common precision": Case(common_precision, {"y": Y}, "n", [-1.0, 2.5], StudentT),
    "common variance": Case(groups_of_common_variance, {"y": Y}, "n", [-1.0, 2.5], StudentT),
    "precision of each": Case(precision_of_each, {"y": GRID[:, :2]}, "n", None, StudentT),
    "coin": Case(coin, {"y": [1, 0, 1, 1]}, "n", [0, 1], Bernoulli),
    "coins": Case(coins, {"y": [[1, 0], [1, 1], [0, 0]]}, "n", None, Bernoulli),
    "counts": Case(counts, {"y": [3, 0, 5]}, "n", [0, 4], NegativeBinomial),
    "letters": Case(letters, {"y": LETTERS}, "n", [0, 1, 2], Categorical),
    "known mean": Case(known_mean, {"y": Y}, "n", [-1.0, 2.5], StudentT),
    "Wishart": Case(matrix_precision, {"y": VECTORS}, "n", [[0.3, -1.0], [2.0, 1.0]], MvStudentT),
    "inverse Wishart": Case(
        matrix_covariance, {"y": VECTORS}, "n", [[0.3, -1.0], [2.0, 1.0]], MvStudentT
    ),
    "common matrix": Case(
        common_matrix, {"y": VECTORS}, "n", [[0.3, -1.0], [2.0, 1.0]], MvStudentT
    ),
    "groups of common matrix": Case(
        groups_of_common_matrix, {"y": VECTORS}, "n", [[0.3, -1.0], [2.0, 1.0]], MvStudentT
    ),
    "mixture": Case(mixture, {"y": Y}, "n", [-1.0, 2.5]),
    "unknown kind": Case(mixture_of_unknown_kind, {"y": Y}, "n", [-1.0, 2.5]),
    "noisy letters": Case(noisy_letters, {"y": LETTERS}, "n", [0, 1, 2], Categorical),
}


def log_ratio(case: Case, point: Any) -> float:
    """ln p(point | data), from the evidence with and without one more row."""
    y = np.asarray(case.data["y"], dtype=float)
    more = np.concatenate([y, np.asarray(point, dtype=float)[None]])
    whole = case.build().infer({**case.data, "y": more})
    return float(whole.log_evidence) - float(case.build().infer(case.data).log_evidence)


@pytest.mark.parametrize("name", CASES)
def test_a_new_member_is_a_ratio_of_evidences(name: str) -> None:
    case = CASES[name]
    post = case.build().infer(case.data)
    new = post.predict("y", **{case.plate: 2})
    if case.family is not None:
        assert isinstance(new, case.family)
    row = np.shape(case.data["y"])[1:]
    assert new.batch_shape + new.event_shape == (2, *row)
    if case.points is not None:
        for point in case.points:
            expected = log_ratio(case, point)
            np.testing.assert_allclose(new.log_prob([point, point]), expected, atol=1e-9)
        return
    for k in range(row[0]):  # one number of the row at a time, the others missing
        for point in (0.0, 1.0):
            values = np.full(row, np.nan)
            values[k] = point
            expected = log_ratio(case, values)
            filled = np.full((2, *row), point)
            np.testing.assert_allclose(new.log_prob(filled)[:, k], expected, atol=1e-9)


# -- which members are new -------------------------------------------------------------------


def test_new_groups_are_those_of_a_longer_plate() -> None:
    post = groups().infer(y=Y)
    longer = groups().infer(y=np.append(Y, [np.nan, np.nan]))
    new = post.predict("theta", n=2)
    np.testing.assert_allclose(new.mean, longer.theta.mean[-2:], rtol=1e-12)
    np.testing.assert_allclose(new.variance, longer.theta.variance[-2:], rtol=1e-12)


def test_unknowns_are_those_of_the_data_when_nothing_is_new() -> None:
    post = groups().infer(y=Y)
    assert post.predict("theta") == post.theta
    assert post.predict("mu") == post.mu
    again = post.predict("y")
    np.testing.assert_allclose(again.mean, post.theta.mean)
    np.testing.assert_allclose(again.variance, post.theta.variance + 0.5)


def test_new_states_follow_what_was_learnt_of_their_kind() -> None:
    post = mixture_of_unknown_kind().infer(y=Y)
    kind = float(post.kind.probability)
    expected = (1.0 - kind) * np.array([0.9, 0.1]) + kind * np.array([0.2, 0.8])
    np.testing.assert_allclose(post.predict("z", n=2).probabilities, [expected] * 2)


def test_labels_are_kept() -> None:
    m = Model()
    m.z = Categorical([0.3, 0.7], labels=("rain", "sun")).iid("n")
    m.y = Normal(take([0.0, 1.0], m.z), variance=1.0)
    assert m.infer(y=Y).predict("z", n=2).labels == ("rain", "sun")


def regression() -> Model:
    m = Model()
    m.X = Input()
    m.w = MvNormal(np.zeros(3), cov=4.0 * np.eye(3))
    m.y = Normal(m.X @ m.w, variance=0.5)
    return m


def test_a_single_row_is_a_single_prediction() -> None:
    rng = np.random.default_rng(0)
    X, row = rng.normal(size=(7, 3)), rng.normal(size=3)
    post = regression().infer(X=X, y=Y)
    one = post.predict("y", X=row)
    assert one.batch_shape == ()
    assert float(one.mean) == pytest.approx(row @ post.w.mean)
    assert float(one.variance) == pytest.approx(0.5 + row @ post.w.cov @ row)


def noisy_regression(*plates: str) -> Model:
    """The line itself is uncertain at each row."""
    m = Model()
    m.x = Input(*plates)
    m.w = Normal(0.0, variance=4.0)
    m.line = Normal(m.w * m.x, variance=0.7)
    m.y = Normal(m.line, variance=0.5)
    return m


@pytest.mark.parametrize("plates", [(), ("n",)])
@pytest.mark.parametrize("new", [[2.0], [1.0, -1.0, 3.0], np.arange(7.0) + 1.0])
def test_unknowns_under_new_inputs_are_new(plates: tuple[str, ...], new: Any) -> None:
    x = np.arange(7.0)
    post = noisy_regression(*plates).infer(x=x, y=Y)
    for name, noise in (("line", 0.7), ("y", 1.2)):
        found = post.predict(name, x=new)
        np.testing.assert_allclose(found.mean, post.w.mean * np.asarray(new))
        np.testing.assert_allclose(found.variance, post.w.variance * np.square(new) + noise)


def test_inputs_of_the_data_change_nothing() -> None:
    x = np.arange(7.0)
    post = noisy_regression("n").infer(x=x, y=Y)
    assert post.predict("line", x=list(x)) == post.line
    np.testing.assert_allclose(post.predict("y", x=x).mean, post.line.mean)


def by_index() -> Model:
    m = Model()
    m.g = Input("n")
    m.mu = Normal(0.0, variance=9.0)
    m.theta = Normal(m.mu, variance=4.0).iid(3)
    m.y = Normal(m.theta[m.g], variance=0.5)
    return m


def test_a_known_index_selects_groups_of_the_data() -> None:
    post = by_index().infer(g=[0, 0, 1, 1, 2, 2, 2], y=Y)
    new = post.predict("y", g=[2, 0])
    np.testing.assert_allclose(new.mean, post.theta.mean[[2, 0]])
    np.testing.assert_allclose(new.variance, post.theta.variance[[2, 0]] + 0.5)


def test_new_inputs_keep_what_was_learnt_of_states() -> None:
    m = Model()
    m.x = Input("n")
    m.up = Bernoulli(0.5)
    m.y = Normal(take([-1.0, 1.0], m.up) * m.x, variance=1.0)
    x = np.arange(1.0, 4.0)
    post = m.infer(x=x, y=[0.4, -0.1, 0.6])
    p = float(post.up.probability)
    assert 0.6 < p < 0.99
    new = np.array([2.0, 5.0])
    np.testing.assert_allclose(post.predict("y", x=new).mean, (2.0 * p - 1.0) * new)


def test_observed_causes_may_be_given_anew() -> None:
    m = Model()
    m.x = Normal(0.0, variance=1.0).iid("n")
    m.w = Normal(0.0, variance=4.0)
    m.y = Normal(m.w * m.x, variance=0.5)
    post = m.infer(x=np.arange(7.0), y=Y)
    x = np.array([2.0, 3.0])
    new = post.predict("y", x=x)
    np.testing.assert_allclose(new.mean, post.w.mean * x)
    np.testing.assert_allclose(new.variance, post.w.variance * x**2 + 0.5)
    with pytest.raises(TypeError, match="y multiplies w and x, which are both unknown"):
        post.predict("y", n=2)
    with pytest.raises(TypeError, match="infer again with y among the data"):
        mean().infer(y=Y).predict("mu", y=[1.0])


def test_leaves_of_leaves_share_their_ancestors() -> None:
    m = Model()
    m.a = Normal(0.0, variance=1.0)
    m.y = Normal(m.a, variance=1.0)
    m.b = Normal(2.0 * m.a, variance=0.5).iid(3)
    m.c = Normal(dot([1.0, 1.0, 1.0], m.b) - m.a, variance=0.1)
    post = m.infer(y=1.0)  # a has mean 0.5 and variance 0.5
    assert float(post.c.mean) == pytest.approx(5.0 * 0.5)
    assert float(post.c.variance) == pytest.approx(25.0 * 0.5 + 3.0 * 0.5 + 0.1)


def test_rows_that_see_several_members_use_their_joint() -> None:
    m = Model()
    m.mu = Normal(0.0, variance=9.0)
    m.theta = Normal(m.mu, variance=4.0).iid(3)
    m.y = Normal(m.theta, variance=0.5)
    m.total = Normal(dot([1.0, 2.0, 3.0], m.theta) - m.mu, variance=0.1)
    m.pair = Normal(dot([1.0, 2.0], m.theta[[2, 0]]), variance=0.1)
    m.vector = MvNormal(m.theta, cov=np.eye(3))
    post = m.infer(y=[1.0, 2.0, 4.0])
    joint = post.joint("theta", "mu")
    for name, k in (("total", [1.0, 2.0, 3.0, -1.0]), ("pair", [2.0, 0.0, 1.0, 0.0])):
        assert float(post[name].mean) == pytest.approx(np.dot(k, joint.mean))
        assert float(post[name].variance) == pytest.approx(np.dot(k, joint.cov @ k) + 0.1)
    np.testing.assert_allclose(post.vector.mean, post.theta.mean)
    np.testing.assert_allclose(post.vector.cov, joint.cov[:3, :3] + np.eye(3))


# -- refusals --------------------------------------------------------------------------------


def plated_regression() -> Model:
    m = Model()
    m.x = Input("n")
    m.z = Input("n")
    m.w = Normal(0.0, variance=4.0)
    m.y = Normal(m.w * m.x + m.z, variance=0.5)
    return m


LINE = {"x": np.arange(7.0), "z": np.ones(7), "y": Y}
INDEX = {"g": [0, 0, 1, 1, 2, 2, 2], "y": Y}


@pytest.mark.parametrize(
    ("build", "data", "name", "keywords", "message"),
    [
        (mean, {"y": Y}, "yy", {}, "no variable 'yy' to predict; did you mean 'y'"),
        (mean, {"y": Y}, "speed", {}, "it has mu, y"),
        (plated_regression, LINE, "x", {}, "x is an input"),
        (mean, {"y": Y}, "y", {"m": 3}, "no input or plate 'm'; it has n"),
        (plated_regression, LINE, "y", {"xx": [1.0]}, "did you mean 'x'"),
        (by_index, INDEX, "y", {"members": 3}, "theta repeats a fixed number of times"),
        (mean, {"y": Y}, "y", {"n": 0}, "n must be at least 1 new member, got 0"),
        (mean, {"y": Y}, "y", {"n": -2}, "n must be at least 1 new member, got -2"),
        (groups, {"y": Y}, "mu", {"n": 2}, "mu does not lie on plate 'n'"),
        (plated_regression, LINE, "y", {"n": 2}, "x lies on plate 'n': give it for the 2 new"),
        (plated_regression, LINE, "y", {"x": [1.0]}, "z lies on plate 'n': give it for the 1 new"),
        (plated_regression, LINE, "y", {"x": [1.0], "z": [1.0, 2.0]}, "z has 2 on it; give as"),
        (plated_regression, LINE, "y", {"n": 3, "x": [1.0], "z": [1.0]}, "gets 3 new members but"),
        (plated_regression, LINE, "y", {"x": [], "z": []}, "x has no members on plate 'n'"),
        (plated_regression, LINE, "y", {"x": 1.0, "z": 1.0}, "x has plates n but"),
    ],
)
def test_questions_without_sense_are_answered_with_a_remedy(
    build: Any, data: Any, name: str, keywords: Any, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        build().infer(data).predict(name, **keywords)


@pytest.mark.parametrize("count", [2.0, "two", [1, 2], None])
def test_members_are_counted_by_whole_numbers(count: Any) -> None:
    with pytest.raises(TypeError, match="n is a plate: give the number of its new members"):
        mean().infer(y=Y).predict("y", n=count)


def test_the_rows_of_an_input_must_fit() -> None:
    post = regression().infer(X=np.ones((7, 3)), y=Y)
    with pytest.raises(ValueError, match="@ cannot join axes of length 2 and 3"):
        post.predict("y", X=np.ones((4, 2)))


def panel() -> Model:
    m = Model()
    m.s = Chain(Normal(1.0, variance=2.0).iid("n"), lambda s: Normal(0.5 * s, variance=1.0), "t")
    m.y = Normal(m.s + 3.0, variance=0.1)
    return m


def test_new_chains_follow_their_prior() -> None:
    post = panel().infer(y=np.ones((3, 2)))
    variance = np.array([2.0, 1.5, 1.375])
    for name, shift, noise in (("s", 0.0, 0.0), ("y", 3.0, 0.1)):
        new = post.predict(name, n=4)
        assert new.batch_shape == (3, 4)
        np.testing.assert_allclose(new.mean, np.tile([[1.0], [0.5], [0.25]], 4) + shift)
        np.testing.assert_allclose(new.variance, np.tile(variance[:, None], 4) + noise)


def test_chains_without_data_are_predicted() -> None:
    m = Model()
    m.a = Normal(0.0, variance=1.0)
    m.y = Normal(m.a, variance=1.0)
    m.b = Normal(0.0, variance=1.0)
    m.s = Chain(Normal(m.b, variance=1.0), lambda s: Normal(s, variance=1.0), length=3)
    m.leaf = Normal(m.s + m.b, variance=0.5)
    m.other = Chain(Normal(m.a, variance=1.0), lambda s: Normal(s, variance=1.0), length=3)
    post = m.infer(y=1.0)
    np.testing.assert_allclose(post.s.variance, [2.0, 3.0, 4.0])
    np.testing.assert_allclose(post.leaf.variance, 4.0 + np.array([1.0, 2.0, 3.0]) + 0.5)
    with pytest.raises(TypeError, match="other is a new chain, together with a"):
        _ = post.other


def test_a_variable_is_asked_for_by_its_name() -> None:
    m = mean()
    with pytest.raises(TypeError, match=r'as in predict\("y"\), got y'):
        m.infer(y=Y).predict(m.y)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["self", "name", "inputs"])
def test_inputs_and_plates_may_have_any_name(name: str) -> None:
    m = Model()
    m[name] = Input("n")
    m.w = Normal(0.0, variance=1.0)
    m.y = Normal(m.w * m[name], variance=1.0)
    new = m.infer({name: [1.0, 2.0], "y": [1.0, 2.0]}).predict("y", **{name: [3.0]})
    np.testing.assert_allclose(new.mean, [2.5])


def test_other_questions_without_sense() -> None:
    post = mean().infer(y=Y)
    with pytest.raises(ValueError, match="joint needs the names"):
        post.joint()
    with pytest.raises(ValueError, match="size must be at least 1 draw, got 0"):
        post.sample(0)
    with pytest.raises(KeyError, match="no variable 'speed'; it has mu, y"):
        post["speed"]


# -- reading a posterior ---------------------------------------------------------------------


def test_a_posterior_shows_means_and_deviations() -> None:
    m = groups()
    m.leaf = Normal(m.mu, variance=1.0)
    post = m.infer(y=[1.0, 2.0])
    first, mu, theta, leaf = repr(post).split("\n")
    assert first == f"Posterior: log_evidence = {float(post.log_evidence):.6g} (exact)"
    assert mu.split() == [
        "mu", "Normal", f"{float(post.mu.mean):.4g}", "±", f"{float(post.mu.variance) ** 0.5:.4g}"
    ]  # fmt: skip
    assert theta.startswith("  theta  Normal (2,)  ")
    assert leaf.split(maxsplit=1) == ["leaf", "predicted: nothing below is observed"]
    assert {"mu", "theta", "leaf"} <= set(dir(post))
    assert "float64" not in repr(post)


def test_long_batches_are_cut() -> None:
    line = repr(groups().infer(y=Y)).split("\n")[2]
    assert line.count("±") == 4
    assert line.endswith(", …")


def test_states_are_shown_by_their_probabilities() -> None:
    post = mixture_of_unknown_kind().infer(y=Y[:2])
    text = repr(post)
    assert f"P(1) = {float(post.kind.probability):.4g}" in text
    best = post.z.probabilities[0].argmax()
    assert f"P({best}) = {float(post.z.probabilities[0, best]):.4g}" in text


def test_the_most_likely_point_has_the_highest_density() -> None:
    m = groups()
    m.p = Beta(2.0, 3.0)
    m.flips = Bernoulli(m.p).iid("k")
    m.s = Chain(Normal(0.0, variance=1.0), lambda s: Normal(s, variance=0.5), length="t")
    m.x = Normal(m.s, variance=1.0)
    data = {"y": Y, "flips": [1, 0, 1], "x": [1.0, 2.0, 0.5]}
    best = m.infer(data).most_likely()
    assert isinstance(best["mu"], float)
    assert isinstance(best["p"], float)
    top = m.log_joint({**data, **best})
    for name, value in best.items():
        for step in (-1e-3, 1e-3):
            assert m.log_joint({**data, **best, name: value + step}) < top
