"""Normal models of every shape against the dense oracle."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from posteriori import MvNormal, Normal
from posteriori.modeling import Chain, Input, Model, dot
from tests.modeling.oracles import assert_dense, dense_answer

pytestmark = pytest.mark.blas

RNG = np.random.default_rng(11)
X = RNG.normal(size=(9, 2))
GROUP = np.array([0, 1, 1, 2, 0, 2, 2, 1, 0])
SCHOOL = np.array([0, 1, 0])
SIDE = np.array([0, 0, 1, 1, 1, 0, 1, 0, 1])
Y = RNG.normal(size=9)
GAPS = np.where(np.arange(9) % 4 == 1, np.nan, Y)
A = np.array([[1.0, 0.5], [-0.2, 0.9]])
C = np.array([[1.0, 0.3], [0.0, 1.0], [2.0, -1.0]])
Q = np.array([[0.5, 0.1], [0.1, 0.4]])
R = np.array([[0.6, 0.1, 0.0], [0.1, 0.5, 0.2], [0.0, 0.2, 0.9]])
SERIES = RNG.normal(size=(6, 3))
HOLES = SERIES.copy()
HOLES[1, 0] = HOLES[3, 1] = HOLES[3, 2] = np.nan
HOLES[4] = np.nan


class Case(NamedTuple):
    build: Callable[[], Model]
    data: dict[str, Any]
    shapes: dict[str, tuple[int, ...]]


def fusion() -> Model:
    m = Model()
    m.x = Normal(0.3, variance=4.0)
    m.y1 = Normal(m.x, variance=1.0)
    m.y2 = Normal(2.0 * m.x - 1.0, scale=1.5)
    return m


def regression() -> Model:
    m = Model()
    m.X = Input()
    m.w = MvNormal([0.1, -0.2], cov=[[2.0, 0.3], [0.3, 1.0]])
    m.b = Normal(0.0, variance=3.0)
    m.y = Normal(m.X @ m.w + m.b, variance=np.linspace(0.5, 1.5, 9))
    return m


def weights_one_by_one() -> Model:
    m = Model()
    m.w = Normal([0.5, -0.5], precision=2.0)
    m.y = Normal(sparse.csr_matrix(X) @ m.w, variance=0.7)
    return m


def hierarchy() -> Model:
    m = Model()
    m.g = Input()
    m.mu = Normal(0.0, variance=10.0)
    m.theta = Normal(m.mu, variance=2.0).iid(3)
    m.y = Normal(m.theta[m.g], variance=0.5)
    return m


def nested() -> Model:
    m = Model()
    m.g = Input()
    m.mu = Normal(0.0, variance=10.0)
    m.school = Normal(m.mu, variance=1.0).iid(2)
    m.group = Normal(m.school[SCHOOL], variance=0.5)
    m.slope = Normal(0.0, variance=1.0)
    m.y = Normal(m.group[m.g] + X[:, 0] * m.slope, variance=0.5)
    return m


def crossed() -> Model:
    m = Model()
    m.a = Normal(0.0, variance=1.0).iid(3)
    m.b = Normal(0.0, variance=2.0).iid(2)
    m.y = Normal(m.a[GROUP] + m.b[SIDE], variance=0.5)
    return m


def local_vectors() -> Model:
    m = Model()
    m.c = Normal(0.0, variance=1.0)
    m.z = MvNormal(np.zeros(2), cov=Q).iid("n")
    m.x = MvNormal(C @ m.z + np.ones(3) * m.c, cov=R)
    return m


def local_level() -> Model:
    m = Model()
    m.s = Chain(Normal(0.0, variance=4.0), lambda s: Normal(0.9 * s, variance=0.3), length="t")
    m.y = Normal(m.s, variance=0.5)
    return m


def tracking() -> Model:
    m = Model()
    m.u = Input("t")
    m.drift = MvNormal(np.zeros(2), cov=np.eye(2))
    m.s = Chain(
        MvNormal(np.zeros(2), cov=np.eye(2)),
        lambda s: MvNormal(A @ s + m.u + m.drift, precision=np.linalg.inv(Q)),
        length="t",
    )
    m.y = MvNormal(C @ m.s, cov=R)
    return m


def loop() -> Model:
    m = Model()
    m.a = Normal(0.0, variance=1.0)
    m.b = Normal(m.a, variance=0.5)
    m.c = Normal(m.a - m.b, variance=0.7)
    m.d = Normal(m.a + m.b + m.c, variance=0.2)
    m.y = Normal(m.d, variance=0.1)
    return m


def scalar_products() -> Model:
    m = Model()
    m.w = MvNormal(np.zeros(2), cov=Q)
    m.y1 = Normal(dot([1.0, 2.0], m.w), variance=1.0)
    m.y2 = Normal(m.w[1], variance=1.0)
    m.y3 = MvNormal(m.w[::-1], cov=Q)
    return m


def two_plates() -> Model:
    m = Model()
    m.row = Normal(0.0, variance=1.0).iid("i")
    m.column = Normal(0.0, variance=1.0).iid("j")
    m.y = Normal(m.row + m.column, variance=0.5)
    return m


def several_outputs() -> Model:
    m = Model()
    m.X = Input()
    m.W = Normal([[0.5, 0.0, -0.5], [1.0, 0.0, 0.2]], variance=2.0)
    m.Y = MvNormal(m.X @ m.W, cov=R)
    return m


def known_times_known() -> Model:
    m = Model()
    m.X = Input()
    m.w = Normal(0.0, variance=1.0).iid(2)
    m.y = Normal((m.X @ A) @ m.w + dot(m.X, [1.0, 2.0]), variance=0.3)
    return m


U = RNG.normal(size=(6, 2))
CASES = {
    "several outputs": Case(several_outputs, {"X": U, "Y": SERIES}, {"W": (2, 3)}),
    "known times known": Case(known_times_known, {"X": X, "y": Y}, {"w": (2,)}),
    "fusion": Case(fusion, {"y1": 1.0, "y2": 2.0}, {"x": ()}),
    "regression": Case(regression, {"X": X, "y": Y}, {"w": (2,), "b": ()}),
    "weights one by one": Case(weights_one_by_one, {"y": Y}, {"w": (2,)}),
    "hierarchy": Case(hierarchy, {"g": GROUP, "y": Y}, {"mu": (), "theta": (3,)}),
    "nested": Case(
        nested, {"g": GROUP, "y": Y}, {"mu": (), "school": (2,), "group": (3,), "slope": ()}
    ),
    "crossed": Case(crossed, {"y": Y}, {"a": (3,), "b": (2,)}),
    "local vectors": Case(local_vectors, {"x": SERIES}, {"c": (), "z": (6, 2)}),
    "local level": Case(local_level, {"y": Y[:6]}, {"s": (6,)}),
    "tracking": Case(tracking, {"u": U, "y": SERIES}, {"drift": (2,), "s": (6, 2)}),
    "loop": Case(loop, {"y": 0.7}, {"a": (), "b": (), "c": (), "d": ()}),
    "scalar products": Case(
        scalar_products, {"y1": 1.0, "y2": -0.3, "y3": [0.2, 0.1]}, {"w": (2,)}
    ),
    "two plates": Case(
        two_plates, {"y": np.outer([1.0, 2.0, -1.0], [0.5, 1.0])}, {"row": (3,), "column": (2,)}
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_posterior_and_evidence_are_those_of_the_dense_joint(name: str) -> None:
    case = CASES[name]
    assert_dense(case.build(), case.data, case.shapes)


@pytest.mark.parametrize(
    ("build", "data", "observed", "kept"),
    [
        (regression, {"X": X, "y": GAPS}, "y", ~np.isnan(GAPS)),
        (hierarchy, {"g": GROUP, "y": GAPS}, "y", ~np.isnan(GAPS)),
    ],
)
def test_missing_rows_are_rows_left_out(build: Any, data: Any, observed: str, kept: Any) -> None:
    gaps = build().infer(data)
    shorter = {k: np.asarray(v)[kept] if np.shape(v)[:1] == (9,) else v for k, v in data.items()}
    if build is regression:
        m = Model()
        m.X = Input()
        m.w = MvNormal([0.1, -0.2], cov=[[2.0, 0.3], [0.3, 1.0]])
        m.b = Normal(0.0, variance=3.0)
        m.y = Normal(m.X @ m.w + m.b, variance=np.linspace(0.5, 1.5, 9)[kept])
    else:
        m = build()
    assert float(gaps.log_evidence) == pytest.approx(
        float(m.infer(shorter).log_evidence), abs=1e-10
    )


def test_missing_entries_of_vectors_are_marginalised() -> None:
    post = local_vectors().infer(x=HOLES)
    c_part = np.ones(18)[:, None] @ np.ones(18)[None]
    whole = np.kron(np.eye(6), C @ Q @ C.T + R) + c_part
    there = ~np.isnan(HOLES.ravel())
    exact = MvNormal(np.zeros(there.sum()), cov=whole[np.ix_(there, there)])
    assert float(post.log_evidence) == pytest.approx(exact.log_prob(HOLES.ravel()[there]), abs=1e-9)


@pytest.mark.topic("004/3.31")
def test_two_sensors_of_the_notes() -> None:
    m = Model()
    m.x = Normal(0, variance=4)
    m.y1 = Normal(m.x, variance=1)
    m.y2 = Normal(m.x, variance=2)
    post = m.infer(y1=1.0, y2=2.0)
    assert post.x.mean == pytest.approx(1.1428571428571428, rel=1e-15)
    assert post.x.variance == pytest.approx(0.5714285714285714, rel=1e-15)
    assert float(post.log_evidence) == pytest.approx(-3.514548588, abs=5e-10)


@pytest.mark.topic("004/3.32")
def test_regression_of_the_notes() -> None:
    rng = np.random.default_rng(0)
    z = rng.uniform(0, 10, 30)
    design = np.column_stack([np.ones(30), z, z**2])
    y = design @ [1.0, 2.0, 0.25] + rng.normal(scale=np.sqrt(2.0), size=30)
    m = Model()
    m.X = Input()
    m.w = MvNormal(np.zeros(3), cov=1e5 * np.eye(3))
    m.y = Normal(m.X @ m.w, variance=2.0)
    post = m.infer(X=design, y=y)
    precision = np.linalg.inv(post.w.cov)
    assert precision[0, 0] == pytest.approx(30 / 2 + 1e-5, rel=1e-6)
    assert precision[0, 2] == pytest.approx(precision[1, 1], rel=1e-5)
    np.testing.assert_allclose(precision @ post.w.mean, design.T @ y / 2.0, rtol=1e-6)
    new = np.column_stack([np.ones(4), [1.0, 2.0, 3.0, 4.0], [1.0, 4.0, 9.0, 16.0]])
    predicted = post.predict("y", X=new)
    np.testing.assert_allclose(predicted.mean, new @ post.w.mean, rtol=1e-12)
    np.testing.assert_allclose(
        predicted.variance, 2.0 + np.einsum("ni,ij,nj->n", new, post.w.cov, new), rtol=1e-10
    )


def test_predictions_see_the_covariances_between_variables() -> None:
    post = nested().infer(g=GROUP, y=Y)
    exact = dense_answer(nested(), CASES["nested"].data, CASES["nested"].shapes)
    m = nested()
    again = m.infer(g=GROUP, y=Y).predict("y", g=GROUP)
    design = np.zeros((9, 7))
    design[np.arange(9), 3 + GROUP] = 1.0
    design[:, 6] = X[:, 0]
    np.testing.assert_allclose(again.mean, design @ exact.mean, atol=1e-9)
    np.testing.assert_allclose(
        again.variance, 0.5 + np.einsum("ni,ij,nj->n", design, exact.cov, design), atol=1e-9
    )
    assert post.mu.variance > 0


def test_a_matrix_product_is_that_of_numpy() -> None:
    rng = np.random.default_rng(2)
    inputs, weights = rng.normal(size=(200, 2)), np.array([[1.0, 2.0], [3.0, 4.0]])
    outputs = inputs @ weights + 0.01 * rng.normal(size=(200, 2))
    for x in (Input(), Input("n")):
        m = Model()
        m.X = x
        m.W = Normal(np.zeros((2, 2)), variance=100.0)
        m.Y = MvNormal(m.X @ m.W, cov=1e-4 * np.eye(2))
        np.testing.assert_allclose(m.infer(X=inputs, Y=outputs).W.mean, weights, atol=0.01)


def test_nothing_observed_gives_the_prior_and_evidence_1() -> None:
    m = fusion()
    post = m.infer()
    assert float(post.log_evidence) == 0.0
    assert post.x == Normal(0.3, variance=4.0)


def test_barren_leaves_do_not_hurt_when_scales_differ() -> None:
    m = Model()
    m.x = Normal(0.0, variance=1e8)
    m.y = Normal(m.x, variance=1.0)
    m.leaf = Normal(m.x, variance=1e-12)
    post = m.infer(y=3.0)
    assert post.leaf.mean == pytest.approx(3.0, rel=1e-7)
    assert post.leaf.variance == pytest.approx(1.0, rel=1e-7)


def test_targets_far_from_zero_keep_their_evidence() -> None:
    rng = np.random.default_rng(5)
    design = np.column_stack([np.ones(500), rng.normal(size=500)])
    y = design @ [0.0, 2.0] + rng.normal(size=500)
    results = []
    for offset in (0.0, 1e8):
        m = Model()
        m.w = MvNormal([offset, 0.0], cov=1e4 * np.eye(2))
        m.y = Normal(design @ m.w, variance=1.0)
        results.append(float(m.infer(y=(y + offset) - offset + offset).log_evidence))
    assert results[1] == pytest.approx(results[0], abs=1e-4)


def test_a_loop_of_scalars_equals_the_chain() -> None:
    y = RNG.normal(size=40)
    chain = local_level().infer(y=y)
    m = Model()
    m.s0 = Normal(0.0, variance=4.0)
    for i in range(1, 40):
        m[f"s{i}"] = Normal(0.9 * m[f"s{i - 1}"], variance=0.3)
    for i in range(40):
        m[f"y{i}"] = Normal(m[f"s{i}"], variance=0.5)
    loops = m.infer({f"y{i}": y[i] for i in range(40)})
    assert float(loops.log_evidence) == pytest.approx(float(chain.log_evidence), abs=1e-9)
    assert loops.s17.mean == pytest.approx(chain.s.mean[17], abs=1e-9)


def test_a_long_sum_does_not_recurse() -> None:
    m = Model()
    m.x = Normal(0.0, variance=1.0)
    total = m.x
    for _ in range(3000):
        total = total + 0.001
    m.y = Normal(total, variance=1.0)
    assert m.infer(y=4.0).x.mean == pytest.approx(0.5)


def test_simulation_has_the_moments_of_the_model() -> None:
    m = hierarchy()
    draws = [m.simulate(g=GROUP, rng=seed)["y"] for seed in range(1000)]
    variance = np.var(draws, axis=0)
    assert np.all(np.abs(variance - 12.5) < 5 * 12.5 * np.sqrt(2 / 1000))
    with pytest.raises(ValueError, match="plate 't'"):
        local_level().simulate(rng=0)
    assert local_level().simulate(plates={"t": 7}, rng=0)["y"].shape == (7,)


def test_rows_that_see_one_member_meet_rows_that_see_their_own() -> None:
    def model() -> Model:
        m = Model()
        m.s = Input("p")
        m.a = Normal([0.3, -0.2], variance=m.s)
        m.b = Normal(-0.5, variance=m.s)
        m.c = Normal(-1.2 * m.a[0], variance=m.s)
        m.y = Normal(-0.5 * m.c - 0.7 * m.b, variance=m.s)
        return m

    data = {"s": np.array([0.5, 2.0]), "y": np.array([0.4, -1.0])}
    post = model().infer(data)
    truth = dense_answer(model(), data, {"a": (2, 2), "b": (2,), "c": (2,)})
    assert_allclose(float(post.log_evidence), truth.log_evidence, rtol=1e-12)
    for name, place in truth.places.items():
        assert_allclose(post[name].mean.ravel(), truth.mean[place], rtol=1e-10, atol=1e-12)
        assert_allclose(post[name].variance.ravel(), np.diag(truth.cov)[place], rtol=1e-10)
