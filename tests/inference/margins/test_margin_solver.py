"""Programs of margins against a general solver, and against their own optimality conditions."""

import numpy as np
import pytest
from scipy.optimize import minimize

from posteriori.inference.margins.kernel_rows import RowCache, kernel_products, rows_of
from posteriori.inference.margins.margin_solver import MarginProgram, solve_margin_program
from posteriori.kernels import RBF, Linear, Matern, White
from posteriori.numerics.warnings import ConvergenceWarning

N = 14


def some_points(count=N, columns=2, seed=0):
    return np.random.default_rng(seed).normal(size=(count, columns))


def some_program(rows=N, groups=1, twice=False, seed=1):
    """Return a program with random costs, and a start with sums that are not at an end."""
    rng = np.random.default_rng(seed)
    count = 2 * rows if twice else rows
    sign = np.repeat([1.0, -1.0], rows) if twice else np.where(np.arange(rows) % 2, 1.0, -1.0)
    cost = rng.uniform(0.3, 1.5, size=count)
    row = np.tile(np.arange(rows), 2) if twice else np.arange(rows)
    group = (sign < 0).astype(np.int64) if groups == 2 else np.zeros(count, dtype=np.int64)
    lower, upper = np.where(sign > 0, 0.0, -cost), np.where(sign > 0, cost, 0.0)
    return MarginProgram(rng.normal(size=count), lower, upper, 0.3 * sign * cost, row, group)


def by_general_solver(program, gram):
    """Return the least objective by SciPy's SLSQP, from the dense matrix."""
    K = gram[np.ix_(program.row, program.row)]
    found = minimize(
        lambda u: 0.5 * u @ K @ u + program.linear @ u,
        program.start,
        jac=lambda u: K @ u + program.linear,
        bounds=list(zip(program.lower, program.upper, strict=True)),
        constraints=[
            {"type": "eq", "fun": lambda u, m=m: (u - program.start)[m].sum(), "jac": lambda u, m=m: 1.0 * m}
            for m in (program.group == c for c in range(program.groups))
        ],
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 1000},
    )  # fmt: skip
    assert found.status in (0, 8)  # 8: no digits are left to gain
    return found.fun


@pytest.mark.parametrize("kernel", [Linear(), RBF(0.7), Matern(1.5), RBF() + White(0.3)], ids=repr)
@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("twice", [False, True])
def test_the_optimum_is_that_of_a_general_solver(kernel, groups, twice):
    x, program = some_points(), some_program(groups=groups, twice=twice)
    found = solve_margin_program(program, rows_of(kernel, x), tol=1e-10)
    gram = kernel(x)
    u = found.u
    value = 0.5 * u @ gram[np.ix_(program.row, program.row)] @ u + program.linear @ u
    assert found.converged
    np.testing.assert_allclose(value, by_general_solver(program, gram), rtol=0, atol=1e-7)
    np.testing.assert_allclose(
        found.gradient, gram[np.ix_(program.row, program.row)] @ u + program.linear, atol=1e-10
    )
    for c in range(program.groups):
        mine = program.group == c
        np.testing.assert_allclose(u[mine].sum(), program.start[mine].sum(), atol=1e-12)
    assert (u >= program.lower).all()
    assert (u <= program.upper).all()


def classes_program(y):
    t = np.where(y, 1.0, -1.0)
    zero = np.zeros(len(t))
    whole = np.arange(len(t))
    return MarginProgram(
        -t, np.minimum(t, 0.0), np.maximum(t, 0.0), zero, whole, np.zeros(len(t), dtype=np.int64)
    )


@pytest.mark.parametrize("kernel", [RBF(1.5), Matern(2.5, 2.0)], ids=repr)
def test_many_working_sets_and_little_memory_change_nothing(kernel):
    """Rows are left out, forgotten and made again; what is found is the same."""
    x = some_points(900, 3)
    y = x[:, 0] * x[:, 1] + 0.5 * np.random.default_rng(2).normal(size=900) > 0
    program = classes_program(y)
    wide = solve_margin_program(program, rows_of(kernel, x), tol=1e-6)
    narrow = solve_margin_program(program, rows_of(kernel, x), tol=1e-6, cache_size=0.2)
    gram = kernel(x)
    for found in (wide, narrow):
        g = gram @ found.u + program.linear
        np.testing.assert_allclose(found.gradient, g, atol=1e-9)
        rises, falls = found.u < program.upper, found.u > program.lower
        assert g[falls].max() - g[rises].min() <= 1.1e-6
    np.testing.assert_allclose(wide.u @ gram @ wide.u, narrow.u @ gram @ narrow.u, rtol=1e-5)


@pytest.mark.parametrize("kernel", [RBF(0.9), Matern(0.5, 2.0)], ids=repr)
def test_rows_in_single_precision_leave_the_gradient_its_digits(kernel):
    """Of few points that repeat, roundings of kernel values add up instead of cancelling."""
    owner = np.arange(600) % 7
    x, tol = some_points(7)[owner], 2e-8
    program = classes_program(owner % 2 == 0)
    program = program._replace(lower=0.003 * program.lower, upper=0.003 * program.upper)
    source = rows_of(kernel, x)
    found = solve_margin_program(program, source, tol=tol)
    gram, u = kernel(x), found.u
    assert np.abs((gram.astype(np.float32) - gram) @ u).max() > 0.2 * tol  # it would show
    g = gram @ u + program.linear
    np.testing.assert_allclose(found.gradient, g, rtol=0, atol=0.1 * tol)
    rises, falls = u < program.upper, u > program.lower
    assert g[falls].max() - g[rises].min() <= 1.2 * tol


def test_a_bound_on_working_sets_warns():
    x = some_points(300)
    program = classes_program(np.random.default_rng(0).random(300) > 0.5)
    with pytest.warns(ConvergenceWarning, match="still has a gap of"):
        found = solve_margin_program(program, rows_of(RBF(), x), max_iter=1)
    assert not found.converged


@pytest.mark.parametrize("kernel", [RBF(0.8), RBF(0.8) + White(0.5), Linear()], ids=repr)
def test_kept_rows_are_rows_of_the_gram_matrix(kernel):
    x = some_points(30)
    gram = kernel(x)
    cache = RowCache(rows_of(kernel, x), 5 * 30 * 8 / 2**20)  # five rows
    assert len(cache.rows) == 5
    rng = np.random.default_rng(0)
    for now in range(20):
        wanted = rng.choice(30, size=4, replace=False)
        np.testing.assert_allclose(cache.rows[cache.fetch(wanted, now)], gram[wanted], atol=1e-13)
    kept = np.sort(rng.choice(30, size=12, replace=False))
    cache.narrow(kept)
    assert (cache.slot >= 0).any()
    slots = cache.slot[cache.slot >= 0]
    places = np.flatnonzero(cache.slot >= 0)
    np.testing.assert_allclose(cache.rows[slots], gram[np.ix_(kept[places], kept)], atol=1e-13)
    for now in range(20, 30):
        wanted = rng.choice(12, size=5, replace=False)
        expected = gram[np.ix_(kept[wanted], kept)]
        np.testing.assert_allclose(cache.rows[cache.fetch(wanted, now)], expected, atol=1e-13)


@pytest.mark.blas
@pytest.mark.parametrize("shift", [0.0, 1e8])
def test_gaussian_rows_by_inner_products_have_their_digits(shift):
    """Also where columns are far from 0, and where a row is so far away that values underflow."""
    x = np.round(some_points(40, 3), 3) + shift
    far = np.vstack([x, x[:1] + 60.0])
    for points in (x, far, np.vstack([x, x[:1] + 1e6])):
        cache = RowCache(rows_of(RBF(0.9), points), 10.0)
        slots = cache.fetch(np.arange(len(points)), 0)
        between = points[:, None] - points
        exact = np.exp(-0.5 * (between**2).sum(axis=-1) / 0.9**2)
        np.testing.assert_allclose(cache.rows[slots], exact, rtol=1e-9, atol=1e-300)


def test_products_with_a_kernel_need_no_gram_matrix():
    x, z = some_points(500, 4), some_points(300, 4, seed=3)
    weights = np.random.default_rng(1).normal(size=(300, 2))
    for kernel in (RBF(1.3), RBF([1.0, 2.0, 0.5, 3.0]), Matern(0.5), Linear()):
        expected = kernel(x, z) @ weights
        np.testing.assert_allclose(kernel_products(kernel, x, z, weights), expected, atol=1e-9)
