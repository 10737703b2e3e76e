"""Joint distributions of normal variables and their precision, by Bayes' rule at points.

p(x, τ | y) p(y) = p(x, τ, y) for all x and τ; the right side is the model's own density.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

from posteriori import Gamma, InverseGamma, MvNormal, MvStudentT, Normal, NormalGamma
from posteriori.distributions import (
    InverseWishart,
    MatrixNormalWishart,
    NormalInverseGamma,
    NormalInverseWishart,
    NormalWishart,
    VectorNormalGamma,
    VectorNormalInverseGamma,
    Wishart,
)
from posteriori.modeling import Chain, Input, Model
from tests.modeling import scaled_models as scaled

RNG = np.random.default_rng(5)
V = np.array([[0.6, 0.1], [0.1, 0.4]])
GROUP = np.array([0, 1, 1, 2, 0, 2, 1])
VECTORS = RNG.normal(size=(7, 2))
GAPS = VECTORS.copy()
GAPS[[1, 4]] = np.nan


@pytest.mark.parametrize("name", scaled.CASES)
def test_numbers_and_their_precision(name: str) -> None:
    case = scaled.CASES[name]
    model = case.build()
    post = model.infer(case.data)
    joint = post.joint(*case.shapes, "tau")
    inverse = isinstance(post.tau, InverseGamma)
    if list(case.shapes.values()) == [()]:
        assert type(joint) is (NormalInverseGamma if inverse else NormalGamma)
    else:
        assert type(joint) is (VectorNormalInverseGamma if inverse else VectorNormalGamma)
    for tau in (0.4, 1.7):
        flat = RNG.normal(size=sum(int(np.prod(s)) for s in case.shapes.values()))
        parts, start = {}, 0
        for variable, shape in case.shapes.items():
            size = int(np.prod(shape))
            parts[variable] = flat[start : start + size].reshape(shape)
            start += size
        x = flat[0] if joint.event_shape[0] == () else flat
        assert joint.log_prob((x, tau)) + float(post.log_evidence) == pytest.approx(
            model.log_joint({**case.data, **parts, "tau": tau}), abs=1e-8
        )


def test_the_order_of_names_is_the_order_of_the_numbers() -> None:
    case = scaled.CASES["hierarchy"]
    post = case.build().infer(case.data)
    one, two = post.joint("mu", "theta"), post.joint("tau", "theta", "mu")
    np.testing.assert_allclose(np.roll(one.mean, -1), two.location, rtol=1e-12)
    np.testing.assert_allclose(
        np.roll(one.scale, (-1, -1), axis=(0, 1)), two.marginal_mean().scale, rtol=1e-12
    )
    assert post.joint("tau") == post.tau


def test_one_joint_for_each_member_of_the_precision() -> None:
    model = scaled.groups()
    data = {"g": scaled.GROUP, "y": scaled.Y}
    post = model.infer(data)
    joint = post.joint("mu", "tau")
    assert type(joint) is NormalGamma
    assert joint.batch_shape == (3,)
    mu, tau = np.array([0.3, -1.0, 2.0]), np.array([0.5, 1.0, 2.0])
    assert np.sum(joint.log_prob((mu, tau))) + float(post.log_evidence) == pytest.approx(
        model.log_joint({**data, "mu": mu, "tau": tau}), abs=1e-9
    )
    alone = post.joint("mu")
    assert type(alone) is MvStudentT
    np.testing.assert_allclose(alone.log_prob(mu[:, None]), post.mu.log_prob(mu), rtol=1e-12)


def test_several_variables_of_each_member() -> None:
    x = RNG.normal(size=7)
    m = Model()
    m.tau = Gamma(2.0, 1.5).iid(3)
    m.a = Normal(0.5, precision=0.5 * m.tau)
    m.b = Normal(0.3 * m.a, precision=2.0 * m.tau)
    m.y = Normal(m.a[GROUP] + x * m.b[GROUP], precision=m.tau[GROUP])
    data = {"y": scaled.Y}
    post = m.infer(data)
    joint = post.joint("b", "a", "tau")
    assert type(joint) is VectorNormalGamma
    a, b, tau = RNG.normal(size=3), RNG.normal(size=3), np.array([0.5, 1.0, 2.0])
    value = joint.log_prob((np.stack([b, a], axis=1), tau))
    assert np.sum(value) + float(post.log_evidence) == pytest.approx(
        m.log_joint({**data, "a": a, "b": b, "tau": tau}), abs=1e-9
    )
    both = post.joint("b", "a")
    assert type(both) is MvStudentT
    np.testing.assert_allclose(both.scale, joint.marginal_mean().scale, rtol=1e-10)


def test_members_that_own_different_numbers_have_no_batch() -> None:
    owner = np.array([0, 0, 1])
    m = Model()
    m.tau = Gamma(2.0, 1.5).iid(2)
    m.mu = Normal(0.0, precision=m.tau[owner])
    m.y = Normal(m.mu, precision=m.tau[owner])
    with pytest.raises(TypeError, match="members own from 1 to 2 vectors of mu"):
        m.infer(y=[1.0, 2.0, 3.0]).joint("mu", "tau")


@pytest.mark.parametrize("name", scaled.CASES)
def test_no_neighbour_is_more_likely_than_the_most_likely(name: str) -> None:
    case = scaled.CASES[name]
    model = case.build()
    best = model.infer(case.data).most_likely()
    assert best.keys() == {"tau", *case.shapes}
    top = model.log_joint({**case.data, **best})
    for variable, value in best.items():
        for step in (-1e-3, 1e-3):
            moved = {**best, variable: value * (1.0 + step) + step * (variable != "tau")}
            assert model.log_joint({**case.data, **moved}) < top


# -- matrices --------------------------------------------------------------------------------


def mean_and_matrix() -> Model:
    m = Model()
    m.L = Wishart(dof=4.0, scale=V)
    m.mu = MvNormal([0.1, 0.2], precision=0.5 * m.L)
    m.y = MvNormal(2.0 * m.mu + np.array([1.0, -1.0]), precision=3.0 * m.L).iid("n")
    return m


def mean_and_covariance() -> Model:
    m = Model()
    m.L = InverseWishart(dof=4.0, scale=V)
    m.mu = MvNormal([0.1, 0.2], cov=2.0 * m.L)
    m.y = MvNormal(m.mu, cov=m.L).iid("n")
    return m


def hierarchy_of_vectors() -> Model:
    m = Model()
    m.g = Input()
    m.L = Wishart(dof=5.0, scale=V)
    m.mu = MvNormal([0.1, 0.2], precision=0.5 * m.L)
    m.theta = MvNormal(m.mu, precision=2.0 * m.L).iid(3)
    m.y = MvNormal(m.theta[m.g], precision=m.L)
    return m


def matrix_for_each_group() -> Model:
    m = Model()
    m.g = Input()
    m.L = Wishart(dof=[4.0, 5.0, 6.0], scale=V)
    m.mu = MvNormal([0.1, 0.2], precision=0.5 * m.L)
    m.y = MvNormal(m.mu[m.g], precision=m.L[m.g])
    return m


class MatrixCase(NamedTuple):
    build: Callable[[], Model]
    data: dict[str, Any]
    shapes: dict[str, tuple[int, ...]]
    members: tuple[int, ...]
    family: Any


MATRIX_CASES = {
    "precision": MatrixCase(mean_and_matrix, {}, {"mu": (2,)}, (), NormalWishart),
    "covariance": MatrixCase(mean_and_covariance, {}, {"mu": (2,)}, (), NormalInverseWishart),
    "hierarchy": MatrixCase(
        hierarchy_of_vectors, {"g": GROUP}, {"mu": (2,), "theta": (3, 2)}, (), MatrixNormalWishart
    ),
    "groups": MatrixCase(matrix_for_each_group, {"g": GROUP}, {"mu": (3, 2)}, (3,), NormalWishart),
}


def random_point(case: MatrixCase) -> dict[str, Any]:
    root = np.eye(2) + 0.3 * RNG.normal(size=(*case.members, 2, 2))
    return {
        "L": root @ np.swapaxes(root, -1, -2),
        **{n: RNG.normal(size=shape) for n, shape in case.shapes.items()},
    }


@pytest.mark.parametrize("name", MATRIX_CASES)
def test_vectors_and_their_matrix(name: str) -> None:
    case = MATRIX_CASES[name]
    model = case.build()
    data = {**case.data, "y": VECTORS}
    post = model.infer(data)
    joint = post.joint(*case.shapes, "L")
    assert type(joint) is case.family
    assert joint.batch_shape == case.members
    for _ in range(2):
        point = random_point(case)
        x = point["mu"]
        if case.family is MatrixNormalWishart:
            x = np.concatenate([point["mu"][None], point["theta"]])
        assert np.sum(joint.log_prob((x, point["L"]))) + float(post.log_evidence) == pytest.approx(
            model.log_joint({**data, **point}), abs=1e-9
        )


@pytest.mark.parametrize("name", MATRIX_CASES)
def test_missing_vectors_are_rows_left_out(name: str) -> None:
    case = MATRIX_CASES[name]
    kept = ~np.isnan(GAPS[:, 0])
    one = case.build().infer(case.data, y=GAPS)
    two = case.build().infer({k: v[kept] for k, v in case.data.items()}, y=VECTORS[kept])
    assert float(one.log_evidence) == pytest.approx(float(two.log_evidence), rel=1e-12)
    np.testing.assert_allclose(one.L.mean, two.L.mean, rtol=1e-11)
    np.testing.assert_allclose(one.mu.scale, two.mu.scale, rtol=1e-11)


@pytest.mark.parametrize("name", MATRIX_CASES)
def test_marginals_under_a_matrix_are_those_of_the_joint(name: str) -> None:
    case = MATRIX_CASES[name]
    post = case.build().infer(case.data, y=VECTORS)
    draws = post.sample(20_000, rng=3)
    for variable, shape in case.shapes.items():
        d = post[variable]
        assert type(d) is MvStudentT
        assert d.mean.shape == shape
        spread = draws[variable] - d.mean
        error = np.std(spread, axis=0) / np.sqrt(20_000)
        assert np.all(np.abs(spread.mean(axis=0)) <= 5 * error)
        outer = spread[..., :, None] * spread[..., None, :]
        error = np.std(outer, axis=0) / np.sqrt(20_000)
        assert np.all(np.abs(outer.mean(axis=0) - d.cov) <= 5 * error)
    if case.family in (NormalWishart, NormalInverseWishart):
        exact = post.joint("mu", "L").marginal_mean()
        np.testing.assert_allclose(post.mu.scale, exact.scale, rtol=1e-12)
        np.testing.assert_allclose(post.mu.dof, exact.dof)
        np.testing.assert_allclose(
            np.squeeze(post.joint("mu").scale), np.squeeze(exact.scale), rtol=1e-12
        )


@pytest.mark.parametrize("name", MATRIX_CASES)
def test_no_neighbouring_matrix_is_more_likely(name: str) -> None:
    case = MATRIX_CASES[name]
    model = case.build()
    data = {**case.data, "y": VECTORS}
    best = model.infer(data).most_likely()
    top = model.log_joint({**data, **best})
    for variable, value in best.items():
        for _ in range(4):
            step = 1e-3 * RNG.normal(size=value.shape)
            if variable == "L":
                step = step + np.swapaxes(step, -1, -2)
            assert model.log_joint({**data, **best, variable: value + step}) < top


@pytest.mark.parametrize("name", MATRIX_CASES)
def test_energies_under_a_matrix_sum_to_the_evidence(name: str) -> None:
    case = MATRIX_CASES[name]
    post = case.build().infer(case.data, y=GAPS)
    assert post.explain().log_evidence == pytest.approx(float(post.log_evidence), rel=1e-10)


def test_a_chain_of_vectors_under_a_matrix() -> None:
    m = Model()
    m.L = Wishart(dof=5.0, scale=V)
    m.s = Chain(
        MvNormal(np.zeros(2), precision=0.1 * m.L),
        lambda s: MvNormal(0.9 * s, precision=2.0 * m.L),
        length="t",
    )
    m.y = MvNormal(m.s, precision=m.L)
    post = m.infer(y=GAPS)
    for _ in range(2):
        root = np.eye(2) + 0.3 * RNG.normal(size=(2, 2))
        matrix = root @ root.T
        known = m.infer(y=GAPS, L=matrix)  # p(y, Λ): the density of Λ is part of it
        assert post.L.log_prob(matrix) + float(post.log_evidence) == pytest.approx(
            float(known.log_evidence), rel=1e-11
        )
        np.testing.assert_allclose(post.s.mean, known.s.mean, rtol=1e-9)


def test_predictions_under_a_matrix_are_ratios_of_evidence() -> None:
    new = np.array([0.3, -0.4])
    post = mean_and_matrix().infer(y=VECTORS)
    more = mean_and_matrix().infer(y=np.vstack([VECTORS, new]))
    gain = float(more.log_evidence) - float(post.log_evidence)
    np.testing.assert_allclose(post.predict("y").log_prob(new), gain, rtol=1e-10)


def test_a_matrix_of_one_entry_is_a_number() -> None:
    m = Model()
    m.L = Wishart(dof=4.0, scale=[[0.6]])
    m.mu = MvNormal([0.3], precision=0.5 * m.L)
    m.y = MvNormal(m.mu, precision=m.L).iid("n")
    one = m.infer(y=scaled.Y[:, None])
    m = Model()
    m.tau = Gamma(2.0, 1.0 / 1.2)
    m.mu = Normal(0.3, precision=0.5 * m.tau)
    m.y = Normal(m.mu, precision=m.tau).iid("n")
    two = m.infer(y=scaled.Y)
    assert float(one.log_evidence) == pytest.approx(float(two.log_evidence), rel=1e-12)
    assert one.mu.scale[0, 0] == pytest.approx(two.mu.scale**2, rel=1e-12)


def test_vectors_that_are_no_row_of_a_known_family_are_refused() -> None:
    post = hierarchy_of_vectors().infer(g=GROUP, y=VECTORS)
    with pytest.raises(TypeError, match="4 vectors of mu and theta has no family"):
        post.joint("mu", "theta")
    partly = VECTORS.copy()
    partly[2, 0] = np.nan
    data = {"g": GROUP, "y": partly}
    assert scaled.common_precision_of(hierarchy_of_vectors(), data) is None


@pytest.mark.parametrize(
    "mean", [lambda mu: V @ mu, lambda mu: np.array([1.0, 2.0]) * mu], ids=["mixed", "scaled"]
)
def test_entries_that_a_mean_treats_differently_share_no_matrix(mean: Any) -> None:
    m = Model()
    m.L = Wishart(dof=4.0, scale=V)
    m.mu = MvNormal([0.1, 0.2], precision=m.L)
    m.y = MvNormal(mean(m.mu), precision=m.L).iid("n")
    assert scaled.common_precision_of(m, {"y": VECTORS}) is None
    assert scaled.common_precision_of(mean_and_matrix(), {"y": VECTORS}) == "L"
