"""Two classes by hand, against a general solver of the primal, and what their certificates say."""

import numpy as np
import pytest
from scipy.optimize import minimize

from posteriori.classification import Hyperplane, linear_separability
from posteriori.kernels import RBF, Features, Linear, Polynomial
from posteriori.mathematics import kkt_residuals, slater_point
from posteriori.svm import InseparableError, SupportVectorClassifier

CORNERS = np.array([[-1.0, -1.0], [-1.0, 1.0], [1.0, -1.0], [1.0, 1.0]])
XOR = np.array([0, 1, 1, 0])


def overlapping(count=60, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.random(count) < 0.4
    return rng.normal(size=(count, 2)) + 1.2 * y[:, None], y


def apart(count=40, seed=3):
    x, y = overlapping(count, seed)
    return x + 4.0 * y[:, None], y


def signs(y):
    return np.where(y, 1.0, -1.0)


@pytest.mark.topic("000/J9", "002/F8", "002/F2")
@pytest.mark.parametrize("C", [np.inf, 1e6, 0.5])
def test_two_points_on_a_line(C):
    machine = SupportVectorClassifier(Linear(), C=C, tol=1e-10).fit([[-1.0], [1.0]], [0, 1])
    np.testing.assert_allclose(machine.coef_, [[1.0]], atol=1e-9)
    np.testing.assert_allclose(machine.intercept_, [0.0], atol=1e-9)
    np.testing.assert_allclose(machine.dual_, [0.5, 0.5], atol=1e-9)
    np.testing.assert_allclose(machine.margin_, 1.0, atol=1e-9)
    assert machine.role_.tolist() == ["on", "on"]


@pytest.mark.topic("000/J9", "002/F4")
@pytest.mark.parametrize("C", [np.inf, 1e6])
def test_exclusive_or_with_squares_has_four_equal_multipliers(C):
    machine = SupportVectorClassifier(Polynomial(2, 1.0), C=C, tol=1e-10).fit(CORNERS, XOR)
    np.testing.assert_allclose(machine.dual_, 0.125, atol=1e-9)
    # the plane is −x₁x₂ = 0
    points = np.random.default_rng(0).normal(size=(20, 2))
    expected = -points[:, 0] * points[:, 1]
    np.testing.assert_allclose(machine.decision_function(points), expected, atol=1e-8)


@pytest.mark.topic("002/F16")
def test_a_map_to_squares_and_products_is_as_good_as_a_kernel():
    def phi(x):
        return np.column_stack([x, x**2, x[:, :1] * x[:, 1:]])

    mapped = SupportVectorClassifier(Linear(), C=np.inf).fit(phi(CORNERS), XOR)
    kernel = SupportVectorClassifier(Features(phi), C=np.inf).fit(CORNERS, XOR)
    assert mapped.coef_.shape == (1, 5)
    np.testing.assert_allclose(mapped.coef_, [[0, 0, 0, 0, -1.0]], atol=1e-9)
    np.testing.assert_allclose(kernel.dual_, mapped.dual_, atol=1e-9)
    assert not linear_separability(CORNERS, XOR).separable
    assert linear_separability(phi(CORNERS), XOR).separable


@pytest.mark.topic("000/J10", "002/F3")
@pytest.mark.parametrize("C", [0.1, 1.0, 10.0])
def test_the_soft_margin_is_the_optimum_of_its_primal(C):
    x, y = overlapping()
    t = signs(y)
    machine = SupportVectorClassifier(Linear(), C=C, tol=1e-9).fit(x, y)

    def objective(v):
        return 0.5 * v[:2] @ v[:2] + C * v[3:].sum()

    found = minimize(
        objective,
        np.concatenate([np.zeros(3), np.ones(len(t))]),
        jac=lambda v: np.concatenate([v[:2], [0.0], np.full(len(t), C)]),
        constraints={
            "type": "ineq",
            "fun": lambda v: np.concatenate([t * (x @ v[:2] + v[2]) - 1 + v[3:], v[3:]]),
            "jac": lambda v: np.block(
                [[t[:, None] * x, t[:, None], np.eye(len(t))], [np.zeros((len(t), 3)), np.eye(len(t))]]
            ),
        },
        method="SLSQP",
        options={"ftol": 1e-12, "maxiter": 500},
    )  # fmt: skip
    assert found.status in (0, 8)
    np.testing.assert_allclose(machine.primal_objective_, found.fun, rtol=1e-6)
    np.testing.assert_allclose(machine.dual_objective_, machine.primal_objective_, rtol=1e-6)
    assert machine.dual_objective_ <= machine.primal_objective_
    np.testing.assert_allclose(np.append(machine.coef_, machine.intercept_), found.x[:3], atol=1e-4)
    scores = machine.decision_function(x)
    np.testing.assert_allclose(machine.slack_, np.maximum(0, 1 - t * scores), atol=1e-9)


@pytest.mark.topic("000/J11", "002/F6")
@pytest.mark.parametrize("C", [1.0, np.inf])
def test_the_certificate_is_that_of_the_general_checker(C):
    x, y = apart(16) if np.isinf(C) else overlapping(16)
    t = signs(y)
    machine = SupportVectorClassifier(RBF(2.0), C=C, tol=1e-8).fit(x, y)
    Q = t[:, None] * RBF(2.0)(x) * t

    def inequalities(a):
        return a if np.isinf(C) else np.concatenate([a, C - a])

    ours = machine.certificate_
    checked = kkt_residuals(
        lambda a: 0.5 * a @ Q @ a - a.sum(),
        machine.dual_,
        equalities=lambda a: t @ a,
        inequalities=inequalities,
        equality_multipliers=ours.equality_multipliers,
        inequality_multipliers=ours.inequality_multipliers,
    )
    assert ours.ok(1e-6)
    assert checked.ok(1e-5)
    np.testing.assert_allclose(ours.value, checked.value, rtol=1e-9)
    np.testing.assert_allclose(-ours.equality_multipliers, machine.intercept_)


def test_a_certificate_tells_a_bad_solution():
    x, y = overlapping()
    rough = SupportVectorClassifier(tol=1.0).fit(x, y)
    assert not rough.certificate_.ok(1e-2)
    assert rough.primal_objective_ - rough.dual_objective_ > 1e-2


@pytest.mark.topic("000/J8", "002/F1", "002/F9")
def test_the_hard_margin_is_the_widest_of_all_planes():
    x, y = apart()
    t = signs(y)
    machine = SupportVectorClassifier(Linear(), C=np.inf, tol=1e-9).fit(x, y)
    plane = Hyperplane(machine.coef_[0], machine.intercept_[0])
    np.testing.assert_allclose(plane.margins(x, t).min(), machine.margin_, rtol=1e-7)
    np.testing.assert_allclose(plane.canonical(x).weights, plane.weights, rtol=1e-7)
    # of unit normals: for each the best offset lies midway between the classes
    best, step = 0.0, np.pi
    for _ in range(6):  # ever finer around the best angle
        angles = best + np.linspace(-step, step, 2001)
        ways = np.column_stack([np.cos(angles), np.sin(angles)]) @ x.T
        half = 0.5 * (ways[:, y].min(axis=1) - ways[:, ~y].max(axis=1))
        best, step = angles[half.argmax()], step / 100
    np.testing.assert_allclose(machine.margin_, half.max(), rtol=1e-7)


@pytest.mark.topic("002/F2")
def test_a_large_price_is_the_hard_margin():
    x, y = apart()
    hard = SupportVectorClassifier(Linear(), C=np.inf, tol=1e-9).fit(x, y)
    dear = SupportVectorClassifier(Linear(), C=1e6, tol=1e-9).fit(x, y)
    np.testing.assert_allclose(hard.coef_, dear.coef_, rtol=1e-6)
    np.testing.assert_allclose(hard.intercept_, dear.intercept_, rtol=1e-6)
    np.testing.assert_allclose(hard.dual_, dear.dual_, atol=1e-6)


@pytest.mark.topic("002/F8")
@pytest.mark.parametrize("C", [1.0, np.inf])
def test_support_vectors_alone_give_the_same_plane(C):
    x, y = apart() if np.isinf(C) else overlapping()
    whole = SupportVectorClassifier(Linear(), C=C, tol=1e-9).fit(x, y)
    kept = whole.support_
    assert len(kept) < len(x)
    alone = SupportVectorClassifier(Linear(), C=C, tol=1e-9).fit(x[kept], y[kept])
    np.testing.assert_allclose(alone.coef_, whole.coef_, atol=1e-7)
    np.testing.assert_allclose(alone.intercept_, whole.intercept_, atol=1e-7)


@pytest.mark.topic("002/F7")
def test_the_intercept_is_the_mean_over_free_support_vectors():
    x, y = overlapping()
    t = signs(y)
    soft = SupportVectorClassifier(RBF(), tol=1e-9).fit(x, y)
    free = (soft.dual_ > 0) & (soft.dual_ < soft.C)
    products = RBF()(x) @ (t * soft.dual_)
    np.testing.assert_allclose(soft.intercept_, (t - products)[free].mean(), atol=1e-9)
    # without slack it is 1 − min of the products on the positive side
    x, y = apart()
    hard = SupportVectorClassifier(Linear(), C=np.inf, tol=1e-9).fit(x, y)
    least = (x @ hard.coef_[0])[y].min()
    np.testing.assert_allclose(hard.intercept_[0], 1.0 - least, atol=1e-7)


@pytest.mark.topic("002/F5")
def test_slaters_condition_is_separability():
    def strict(x, y):
        t = signs(y)
        return slater_point(lambda v: t * (x @ v[:2] + v[2]) - 1.0, np.zeros(3))

    x, y = apart()
    point = strict(x, y)
    assert (signs(y) * (x @ point[:2] + point[2]) > 1.0).all()
    assert strict(CORNERS, XOR) is None


@pytest.mark.topic("002/F2")
@pytest.mark.parametrize("kernel", [Linear(), Polynomial(2, 0.0)], ids=repr)
def test_inseparable_rows_are_refused_with_a_common_point_of_the_hulls(kernel):
    x, y = overlapping(200)
    x[3] = 0.0
    with pytest.raises(InseparableError, match="use a finite C or another kernel") as caught:
        SupportVectorClassifier(kernel, C=np.inf).fit(x, y)
    weights = caught.value.multipliers
    phi = kernel.features(x)
    assert (weights >= 0).all()
    np.testing.assert_allclose([weights[y].sum(), weights[~y].sum()], 1.0, atol=1e-12)
    np.testing.assert_allclose(weights[y] @ phi[y], weights[~y] @ phi[~y], atol=1e-4)


def test_nu_bounds_rows_with_slack_and_support_vectors():
    x, y = overlapping(200)
    for nu in (0.5, 0.6, 0.7):
        machine = SupportVectorClassifier(nu=nu, tol=1e-8).fit(x, y)
        assert (machine.slack_ > 1e-6).mean() <= nu <= len(machine.support_) / 200
        assert machine.certificate_.ok(1e-5)
        # with the price that it found, the machine of C is the same
        same = SupportVectorClassifier(C=machine.dual_.max(), tol=1e-8).fit(x, y)
        np.testing.assert_allclose(
            machine.decision_function(x), same.decision_function(x), atol=1e-5
        )


def test_nu_that_cannot_be_kept_names_the_largest():
    x, y = overlapping(100)
    share = 2 * min(y.sum(), (~y).sum()) / 100
    with pytest.raises(ValueError, match=f"nu=0.99 cannot be kept; .* at most {share:.6g}"):
        SupportVectorClassifier(nu=0.99).fit(x, y)


@pytest.mark.topic("000/J17")
def test_prediction_needs_the_support_vectors_only():
    x, y = overlapping(200)
    machine = SupportVectorClassifier().fit(x, y)
    kept = machine.support_
    assert machine.n_support_.sum() == len(kept) < 200
    expected = machine.kernel_(x, x[kept]) @ (signs(y) * machine.dual_)[kept] + machine.intercept_
    np.testing.assert_allclose(machine.decision_function(x), expected, atol=1e-10)


@pytest.mark.topic("000/J10")
def test_roles_follow_from_the_distance():
    x, y = overlapping(100)
    machine = SupportVectorClassifier(tol=1e-6).fit(x, y)
    distance = signs(y) * machine.decision_function(x)
    a = machine.dual_
    assert set(machine.role_) == {"outside", "on", "inside", "wrong"}
    assert (a[machine.role_ == "outside"] == 0).all()
    assert (a[np.isin(machine.role_, ["inside", "wrong"])] == 1.0).all()
    assert (machine.role_[(a > 0) & (a < 1)] == "on").all()
    np.testing.assert_array_equal(machine.role_ == "wrong", distance <= 0)


@pytest.mark.topic("000/J10")
def test_all_multipliers_reach_a_small_price_only_in_balanced_classes():
    x, _ = overlapping(40)
    even, uneven = np.arange(40) < 20, np.arange(40) < 10
    assert (SupportVectorClassifier(C=1e-6).fit(x, even).dual_ == 1e-6).all()
    a = SupportVectorClassifier(C=1e-6).fit(x, uneven).dual_
    np.testing.assert_allclose(a[uneven].sum(), a[~uneven].sum())
    assert (a < 1e-6).any()
