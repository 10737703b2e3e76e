"""Every operation of a factor against enumeration of its cells."""

import copy
import itertools
import math
import pickle
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, strategies as st

from posteriori.factors import Factor

SIZES = {"A": 2, "B": 3, "C": 1, "D": 2, "E": 4}


@st.composite
def factors(draw, min_axes=0, zeros=True, wide=True):
    """A factor over some of the axes; cells of 0 and cells of e^±2000 occur."""
    names = tuple(draw(st.permutations(sorted(SIZES)))[: draw(st.integers(min_axes, 3))])
    shape = tuple(SIZES[name] for name in names)
    reach = draw(st.sampled_from([1.0, 50.0, 2000.0])) if wide else 1.0
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    logs = rng.uniform(-reach, reach / 2, size=shape)
    if zeros:
        logs = np.where(rng.random(shape) < draw(st.sampled_from([0.0, 0.4])), -np.inf, logs)
    factor = Factor.from_log(names, logs)
    order = tuple(draw(st.permutations(names)))
    return factor.transpose(order)


def cells_of(factor):
    """Map each assignment, a frozenset of (name, label), to its log value."""
    logs = np.asarray(factor.log_values)
    labels = [factor.labels[name] for name in factor.names]
    return {
        frozenset(zip(factor.names, where, strict=True)): float(logs[index])
        for index, where in zip(np.ndindex(*factor.shape), itertools.product(*labels), strict=True)
    }


def part(assignment, names):
    return frozenset(item for item in assignment if item[0] in names)


def assert_cells(factor, expected, tolerance=1e-11):
    found = cells_of(factor)
    assert found.keys() == expected.keys()
    for where, value in expected.items():
        if value == -math.inf:
            assert found[where] == -math.inf, where
        else:
            assert found[where] == pytest.approx(value, rel=tolerance, abs=tolerance), where


def log_sum(values):
    top = max(values)
    return top if top == -math.inf else top + math.log(math.fsum(math.exp(v - top) for v in values))


def grouped(factor, keep, combine):
    groups = {}
    for where, value in cells_of(factor).items():
        groups.setdefault(part(where, keep), []).append(value)
    return {where: combine(values) for where, values in groups.items()}


@given(factors(), factors())
def test_product_multiplies_cells_that_agree(a, b):
    product = a * b
    ours, theirs = cells_of(a), cells_of(b)
    expected = {
        x | y: ours[x] + theirs[y]
        for x in ours
        for y in theirs
        if part(x, b.names) == part(y, a.names)
    }
    assert_cells(product, expected)


@given(factors(), st.data())
def test_marginal_sums_the_cells(a, data):
    keep = data.draw(st.lists(st.sampled_from(a.names), unique=True)) if a.names else []
    expected = grouped(a, keep, log_sum)
    assert a.marginal(keep).names == tuple(keep)
    assert_cells(a.marginal(keep), expected)
    assert_cells(a.sum_out([n for n in a.names if n not in keep]), expected)


@given(factors(), st.data())
def test_maximum_takes_the_largest_cell(a, data):
    keep = data.draw(st.lists(st.sampled_from(a.names), unique=True)) if a.names else []
    expected = grouped(a, keep, max)
    assert a.maximum(keep).names == tuple(keep)
    assert_cells(a.maximum(keep), expected)
    assert_cells(a.max_out([n for n in a.names if n not in keep]), expected)


@given(factors())
def test_argmax_names_the_largest_cell(a):
    cells = cells_of(a)
    best = cells[frozenset(a.argmax().items())]
    assert best == max(cells.values())
    assert a.log_value(a.argmax()) == best


@given(factors(min_axes=1), st.data())
def test_reduction_keeps_the_cells_that_agree_with_the_evidence(a, data):
    fixed = data.draw(st.lists(st.sampled_from(a.names), unique=True))
    evidence = {name: data.draw(st.sampled_from(a.labels[name])) for name in fixed}
    expected = {
        where - frozenset(evidence.items()): value
        for where, value in cells_of(a).items()
        if part(where, fixed) == frozenset(evidence.items())
    }
    assert_cells(a.reduce(evidence), expected)
    assert a.restrict({**evidence, "Z": 9}) == a.reduce(evidence)


@given(factors(), factors(zeros=False))
def test_division_undoes_multiplication(a, b):
    ones = Factor(b.names, np.ones(b.shape))
    assert ((a * b) / b).allclose(a * ones, 1e-10)


@given(factors(min_axes=1))
def test_joint_is_conditional_times_marginal(a):
    marginal = a.marginal(a.names[:1])
    conditional = a / marginal  # 0/0 is 0
    assert (conditional * marginal).allclose(a, 1e-10)


@given(factors(min_axes=1), st.data())
def test_order_of_summation_is_irrelevant(a, data):
    order = data.draw(st.permutations(a.names))
    step = a
    for name in order:
        step = step.sum_out(name)
    assert step.allclose(a.marginal(()), 1e-10)


@given(factors(), factors(), factors())
def test_product_is_commutative_and_associative(a, b, c):
    assert (a * b).allclose(b * a, 1e-12)
    assert ((a * b) * c).allclose(a * (b * c), 1e-10)


@given(factors(zeros=False))
def test_normalize_gives_a_sum_of_one_and_the_log_of_the_old_sum(a):
    normalized, log_total = a.normalize()
    assert log_total == pytest.approx(log_sum(cells_of(a).values()), rel=1e-12, abs=1e-12)
    assert normalized.log_total == pytest.approx(0.0, abs=1e-11)
    assert_cells(normalized, {w: v - log_total for w, v in cells_of(a).items()})
    assert a.probabilities.sum() == pytest.approx(1.0, abs=1e-12)


@given(factors(zeros=False))
def test_entropy_is_that_of_the_normalised_cells(a):
    total = log_sum(cells_of(a).values())
    logs = [v - total for v in cells_of(a).values()]
    expected = -math.fsum(math.exp(v) * v for v in logs)
    assert a.entropy() == pytest.approx(expected, rel=1e-10, abs=1e-12)
    assert a.entropy(unit="bits") == pytest.approx(expected / math.log(2), rel=1e-10, abs=1e-12)


def test_a_cell_of_zero_has_no_entropy():
    assert Factor("X", [0.0, 2.0, 2.0]).entropy(unit="bits") == pytest.approx(1.0, abs=1e-15)


# -- range -----------------------------------------------------------------------------------


def test_a_hundred_thousand_nats_below_the_largest_cell_keep_their_digits():
    a = Factor.from_log("A", [0.0, -1000.0])
    product = Factor.scalar(1.0)
    for _ in range(100):
        product = product * a
    np.testing.assert_allclose(product.log_values, [0.0, -100000.0], rtol=1e-13)


def test_many_small_numbers_do_not_underflow():
    a = Factor("A", [1e-200, 3e-200])
    product = Factor.scalar(1.0)
    for _ in range(1000):
        product = product * a
    expected = 1000 * np.log([1e-200, 3e-200])
    np.testing.assert_allclose(product.log_values, expected, rtol=1e-13)
    assert product.normalize().factor.log_values[0] == pytest.approx(-1000 * math.log(3), rel=1e-9)


def test_many_large_numbers_do_not_overflow():
    a = Factor("A", [1e300, 2e300])
    assert (a * a * a).log_total == pytest.approx(math.log(9) + 900 * math.log(10), rel=1e-14)
    with pytest.raises(OverflowError, match="log_values"):
        _ = (a * a).values


def test_e_to_the_minus_2000_next_to_1():
    wide = Factor.from_log(["A", "B"], [[0.0, -2000.0], [-2000.0, -4000.0]])
    np.testing.assert_allclose(wide.marginal("A").log_values, [0.0, -2000.0], rtol=1e-15)
    np.testing.assert_allclose(wide.reduce({"A": 1}).log_values, [-2000.0, -4000.0])
    np.testing.assert_allclose(wide.reduce({"A": 1}).probabilities, [1.0, 0.0], atol=1e-300)
    back = (wide / wide.marginal("A")).reduce({"A": 1})
    np.testing.assert_allclose(back.log_values, [0.0, -2000.0], rtol=1e-15)


def test_the_range_may_come_back():
    wide = Factor.from_log("A", [0.0, -3000.0])
    inverse = Factor.from_log("A", [-3000.0, 0.0])
    np.testing.assert_allclose((wide * inverse).probabilities, [0.5, 0.5], rtol=1e-15)


@pytest.mark.parametrize("value", [5e-324, 2.2e-308, 1.7e308])
def test_the_ends_of_floating_point_are_legal_cells(value):
    a = Factor("A", [value, 1.0])
    np.testing.assert_allclose(a.log_values, [math.log(value), 0.0], rtol=1e-14)
    squared = (a * a).log_values
    np.testing.assert_allclose(squared, [2 * math.log(value), 0.0], rtol=1e-14)


def test_the_sum_of_very_large_cells_does_not_overflow():
    a = Factor("A", np.full(100, 1.7e308))
    assert a.log_total == pytest.approx(math.log(1.7e308) + math.log(100), rel=1e-14)


def test_cells_come_back_as_they_were_given():
    cells = np.random.default_rng(0).random((3, 4))
    assert np.array_equal(Factor(["A", "B"], cells).values, cells)


# -- zeros -----------------------------------------------------------------------------------


def test_zeros_stay_exact():
    a = Factor(["A", "B"], [[0.0, 1.0], [0.0, 0.0]])
    assert a.log_values[0, 0] == -np.inf
    assert np.array_equal(a.marginal("A").values, [1.0, 0.0])
    assert (a * Factor.from_log("A", [-5000.0, 5000.0])).log_values[1, 1] == -np.inf


def test_zero_over_zero_is_zero():
    a = Factor(["A", "B"], [[0.0, 0.0], [1.0, 3.0]])
    conditional = a / a.marginal("A")
    assert np.array_equal(conditional.values, [[0.0, 0.0], [0.25, 0.75]])


@pytest.mark.parametrize("far", [0.0, -3000.0])
def test_division_of_a_positive_cell_by_zero_names_the_cell(far):
    a = Factor.from_log(["A", "B"], [[0.0, far], [0.0, 0.0]], {"B": ["low", "high"]})
    b = Factor("B", [1.0, 0.0], {"B": ["low", "high"]})
    with pytest.raises(ZeroDivisionError, match=r"A=0, B='high'"):
        _ = a / b


def test_a_factor_of_zeros_cannot_be_normalised():
    nothing = Factor(["A", "B"], np.zeros((2, 2)))
    assert nothing.log_total == -np.inf
    assert (nothing * nothing).log_total == -np.inf
    with pytest.raises(ValueError, match="every cell of the factor over A, B is 0"):
        nothing.normalize()


# -- large tables: every layout and kernel ---------------------------------------------------

BIG = np.random.default_rng(1).random((2, 3, 2, 5, 2, 3, 2, 4, 3, 2, 2))  # 34560 cells


@pytest.mark.parametrize("seed", range(40))
def test_large_marginals_agree_with_numpy(seed):
    rng = np.random.default_rng(seed)
    names = [f"v{i}" for i in range(BIG.ndim)]
    order = [int(i) for i in rng.permutation(BIG.ndim)]
    factor = Factor(names, BIG).transpose([names[i] for i in order])
    keep = [names[i] for i in range(BIG.ndim) if rng.random() < 0.5]
    expected = BIG.sum(axis=tuple(i for i, name in enumerate(names) if name not in keep))
    np.testing.assert_allclose(factor.marginal(keep).values, expected, rtol=1e-12)
    expected = BIG.max(axis=tuple(i for i, name in enumerate(names) if name not in keep))
    assert np.array_equal(factor.maximum(keep).values, expected)


@pytest.mark.parametrize("seed", range(40))
def test_large_products_agree_with_einsum(seed):
    rng = np.random.default_rng(seed)
    letters = "abcdefghijk"
    sub = "".join(rng.permutation(list(letters))[: int(rng.integers(0, 5))])
    other = rng.random([*(BIG.shape[letters.index(c)] for c in sub), 2])
    product = Factor(list(letters), BIG) * Factor([*sub, "z"], other)
    expected = np.einsum(f"{letters},{sub}z->{letters}z", BIG, other)
    np.testing.assert_allclose(product.transpose([*letters, "z"]).values, expected, rtol=1e-14)
    reverse = Factor([*sub, "z"], other) * Factor(list(letters), BIG)
    np.testing.assert_allclose(reverse.transpose([*letters, "z"]).values, expected, rtol=1e-14)


def test_slices_of_large_tables_work():
    names = [f"v{i}" for i in range(BIG.ndim)]
    half = Factor(names, BIG).reduce({"v3": 4, "v8": 0})
    np.testing.assert_allclose(
        half.marginal("v1").values.sum(), BIG[:, :, :, 4, :, :, :, :, 0].sum()
    )


# -- being a value ---------------------------------------------------------------------------


def test_a_factor_cannot_be_changed():
    cells = np.array([0.5, 0.5])
    a = Factor("A", cells)
    cells[0] = 9.0
    assert a.values[0] == 0.5
    with pytest.raises(ValueError, match="read-only"):
        a.values[0] = 1.0
    with pytest.raises(AttributeError, match="a value"):
        a.names = ("B",)


def test_equality_ignores_the_order_of_axes():
    a = Factor(["A", "B"], [[1, 2, 3], [4, 5, 6]])
    assert a == a.transpose(["B", "A"])
    assert hash(a) == hash(a.transpose(["B", "A"]))
    assert a != a * 2
    assert a != a.rename({"A": "C"})
    assert a != "a"


def test_allclose_is_relative_to_each_cell():
    a = Factor.from_log("A", [0.0, -2000.0])
    assert a.allclose(Factor.from_log("A", [0.0, -2000.0 * (1 + 1e-12)]))
    assert not a.allclose(Factor.from_log("A", [0.0, -2001.0]))
    assert not a.allclose(Factor.from_log("A", [0.0, -np.inf]))
    assert not Factor("A", [1.0, 0.0]).allclose(Factor("A", [1.0, 1e-300]))


def test_rename_and_transpose():
    a = Factor(["A", "B"], [[1, 2], [3, 4]], {"A": ["x", "y"]})
    b = a.rename({"A": "B", "B": "A"})
    assert b.names == ("B", "A")
    assert b.labels == {"B": ("x", "y"), "A": (0, 1)}
    assert np.array_equal(a.transpose(["B", "A"]).values, a.values.T)


@given(factors())
def test_copies_and_pickles_are_equal(a):
    assert copy.deepcopy(a) == a == pickle.loads(pickle.dumps(a))


def test_labels_that_are_equal_but_print_differently_stay_apart():
    numbers = Factor("A", [1, 2], {"A": [0, 1]})
    flags = Factor("A", [1, 2], {"A": [False, True]})
    assert flags.labels == {"A": (False, True)}
    assert [type(label) for label in flags.labels["A"]] == [bool, bool]
    assert [type(label) for label in numbers.labels["A"]] == [int, int]
    assert [type(label) for label in Factor("A", [1, 2], [np.arange(2)]).labels["A"]] == [int, int]


def test_numbers_scale_a_factor():
    a = Factor("A", [1.0, 3.0])
    assert (2 * a / 4) == Factor("A", [0.5, 1.5])
    assert np.float64(0.5) * a == a * np.float32(0.5) == Factor("A", [0.5, 1.5])
    with pytest.raises(TypeError):
        a * "B"
    with pytest.raises(ValueError, match="must not be negative"):
        a * -1.0


def test_small_tables_print_whole_and_long_ones_are_cut():
    assert repr(Factor("Ab", [0.5, 1e-9], {"Ab": ["x", "longer"]})) == (
        "Factor over Ab\nAb      value\nx       0.5\nlonger  1e-09"
    )
    assert repr(Factor("A", np.ones(100))).endswith("… 68 more rows")
    assert "log value" in repr(Factor.from_log("A", [1e5]))
    assert repr(Factor.scalar(2.0)) == "Factor over no axes\nvalue\n2"


# -- bad input -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: Factor(["A", "A"], [[1, 2], [3, 4]]), ValueError, "'A' twice"),
        (lambda: Factor(["A"], [[1, 2], [3, 4]]), ValueError, "do not fit a table with 2 axes"),
        (lambda: Factor(["A", 3], [[1, 2], [3, 4]]), TypeError, "strings, got 3"),
        (lambda: Factor(3, [1, 2]), TypeError, "names must be a name or several names, got 3"),
        (lambda: Factor("A", [1, -2]), ValueError, "values must not be negative, got -2"),
        (lambda: Factor("A", [1, np.nan]), ValueError, "values must be finite, got nan"),
        (lambda: Factor("A", []), ValueError, "'A' has no cells"),
        (lambda: Factor.from_log("A", [0, np.inf]), ValueError, "log_values must hold"),
        (lambda: Factor("A", [1, 2], {"A": "xyz"}), ValueError, "2 cells but 3 labels"),
        (lambda: Factor("A", [1, 2], {"A": "xx"}), ValueError, "the label 'x' twice"),
        (lambda: Factor("A", [1, 2], {"A": [[], []]}), TypeError, "hashable"),
        (lambda: Factor("Rain", [1, 2], {"Rian": "xy"}), ValueError, "did you mean 'Rain'"),
        (lambda: Factor("A", [1, 2], []), ValueError, "one entry per axis"),
        (lambda: weather().marginal("Rian"), ValueError, "no axis 'Rian'.*did you mean 'Rain'"),
        (lambda: weather().sum_out("Q"), ValueError, "no axis 'Q'; the axes are 'Rain', 'Wind'$"),
        (lambda: weather().maximum(["Wind", "Wind"]), ValueError, "keep holds 'Wind' twice"),
        (lambda: weather().reduce({"Rian": "no"}), ValueError, "did you mean 'Rain'"),
        (lambda: weather().reduce({"Rain": "yess"}), ValueError, "'yess'.*did you mean 'yes'"),
        (lambda: weather().reduce({"Rain": [1]}), ValueError, r"has no label \[1\]"),
        (lambda: weather().log_value({"Rain": "no"}), ValueError, "no label for axis 'Wind'"),
        (lambda: weather().transpose("Rain"), ValueError, "'Wind' is missing"),
        (lambda: weather().rename({"Wnd": "W"}), ValueError, "did you mean 'Wind'"),
        (lambda: weather().rename({"Wind": "Rain"}), ValueError, "'Rain' twice"),
        (lambda: weather() * Factor("Rain", [1, 2]), ValueError, "labels of axis 'Rain' differ"),
        (lambda: weather() * Factor("Wind", [1, 2]), ValueError, "labels of axis 'Wind' differ"),
        (lambda: weather().entropy(unit="bit"), ValueError, "unit must be 'nats' or 'bits'"),
        (lambda: weather().marginals, AttributeError, "did you mean 'marginal'"),
        (lambda: weather() / 0.0, ZeroDivisionError, "Rain='no', Wind=0"),
    ],
)
def test_bad_input_is_named(call, error, message):
    with pytest.raises(error, match=message):
        call()


def weather():
    return Factor(["Rain", "Wind"], np.ones((2, 3)), {"Rain": ["no", "yes"]})


def test_the_room_loads_no_compiler():
    code = "import sys, posteriori.factors; print('numba' in sys.modules, 'pandas' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]
