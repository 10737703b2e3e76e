"""Contraction and decoding of many factors against the product of all of them."""

import itertools
import math
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, strategies as st

from posteriori.factors import Factor, contract, decode
from posteriori.numerics import log_sum_exp

SIZES = {"A": 2, "B": 3, "C": 2, "D": 1, "E": 3, "F": 2}


@st.composite
def graphs(draw, zeros=True):
    count = draw(st.integers(1, 7))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    reach = draw(st.sampled_from([1.0, 400.0, 3000.0]))
    made = []
    for _ in range(count):
        names = [str(n) for n in rng.permutation(sorted(SIZES))[: int(rng.integers(0, 4))]]
        shape = [SIZES[name] for name in names]
        logs = rng.uniform(-reach, 0.0, size=shape)
        if zeros:
            logs = np.where(rng.random(shape) < 0.1, -np.inf, logs)
        made.append(Factor.from_log(names, logs))
    return made


def names_in(factors):
    return sorted({name for factor in factors for name in factor.names})


def multiplied(factors):
    product = Factor.scalar(1.0)
    for factor in factors:
        product = product * factor
    return product


@given(graphs(), st.data())
def test_contract_is_the_marginal_of_the_product(factors, data):
    names = names_in(factors)
    keep = data.draw(st.lists(st.sampled_from(names), unique=True)) if names else []
    result = contract(factors, keep)
    assert result.names == tuple(keep)
    assert result.allclose(multiplied(factors).marginal(keep), 1e-9)


@given(graphs(), st.randoms(use_true_random=False))
def test_the_order_of_factors_is_irrelevant(factors, random):
    shuffled = list(factors)
    random.shuffle(shuffled)
    keep = names_in(factors)[:1]
    assert contract(factors, keep).allclose(contract(shuffled, keep), 1e-9)


@given(graphs(zeros=False))
def test_decode_finds_the_largest_cell_of_the_product(factors):
    product = multiplied(factors)
    best = decode(factors)
    assert set(best.assignment) == set(product.names)
    assert best.log_value == pytest.approx(float(product.log_values.max()), rel=1e-10, abs=1e-10)
    assert product.log_value(best.assignment) == pytest.approx(best.log_value, rel=1e-10, abs=1e-10)


def test_decode_of_nothing_possible_says_so():
    with pytest.raises(ValueError, match="0 everywhere"):
        decode([Factor("A", [0.0, 1.0]), Factor("A", [1.0, 0.0])])


def test_no_factors_make_one():
    assert contract([]) == Factor.scalar(1.0)
    assert decode([]) == ({}, 0.0)


def test_closing_the_box_around_seven_variables():
    """f_a(1) f_b(2) f_c(1,2,3) f_d(4) f_e(3,4,5) f_f(5,6,7) f_g(7), kept: 3."""
    rng = np.random.default_rng(3)
    scopes = ["1", "2", "123", "4", "345", "567", "7"]
    tables = [rng.random((3,) * len(scope)) for scope in scopes]
    factors = [Factor(list(s), t) for s, t in zip(scopes, tables, strict=True)]
    expected = np.zeros(3)
    for x in itertools.product(range(3), repeat=7):
        expected[x[2]] += math.prod(
            t[tuple(x[int(c) - 1] for c in s)] for s, t in zip(scopes, tables, strict=True)
        )
    np.testing.assert_allclose(contract(factors, "3").values, expected, rtol=1e-12)


def chain(length, states=3):
    rng = np.random.default_rng(0)
    step = [
        Factor([f"x{i}", f"x{i + 1}"], rng.dirichlet(np.ones(states), states))
        for i in range(length)
    ]
    return [Factor("x0", rng.dirichlet(np.ones(states))), *step]


def test_a_chain_of_300_variables_costs_what_its_links_cost():
    factors = chain(300)
    forward = factors[0].values
    for link in factors[1:]:
        forward = forward @ link.values
    np.testing.assert_allclose(contract(factors, "x300").values, forward, rtol=1e-10)


def test_a_long_chain_of_unnormalised_links_does_not_underflow():
    factors = [factor * 1e-300 for factor in chain(100)]
    assert contract(factors).log_total == pytest.approx(-101 * 300 * math.log(10), rel=1e-12)


def test_decode_a_chain_as_viterbi_does():
    factors = chain(6)
    paths = itertools.product(range(3), repeat=7)
    best = max(
        paths,
        key=lambda path: (
            factors[0].values[path[0]]
            * math.prod(factors[i + 1].values[path[i], path[i + 1]] for i in range(6))
        ),
    )
    assert decode(factors).assignment == {f"x{i}": state for i, state in enumerate(best)}


LARGE = {"a": 20, "b": 15, "c": 12, "d": 10, "e": 4, "f": 3}


@pytest.mark.parametrize(
    "subscripts",
    [
        "abc,bd->acd",
        "abc,b->ac",
        "abc,cb->a",
        "abc,cad->bd",
        "abcd,bc->acd",
        "abcd,ac->bd",
        "abcd,bdef->acef",
        "abc,abcd->d",
        "abc,acd->abd",
        "abce,ebcd->ade",
        "feabc,fd->eabcd",
        "abcef,fd->abced",
        "abcef,ed->abcfd",
        "ab,cd->ad",
        "abc,cde,ef->af",
        "abc,def->",
        "bac,b->b",
    ],
)
@pytest.mark.parametrize("seed", [0, 1])
def test_large_contractions_agree_with_einsum(subscripts, seed):
    rng = np.random.default_rng(seed)
    inputs, result = subscripts.split("->")
    arrays, factors = [], []
    for axes in inputs.split(","):
        arrays.append(rng.random([LARGE[axis] for axis in axes]))
        order = [str(axis) for axis in rng.permutation(list(axes))]
        factors.append(Factor(list(axes), arrays[-1]).transpose(order))
    expected = np.einsum(subscripts, *arrays, optimize=True)
    np.testing.assert_allclose(contract(factors, list(result)).values, expected, rtol=1e-11)


def peak_bytes(call):
    tracemalloc.start()
    call()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def test_the_product_in_front_of_a_sum_is_not_written_down():
    rng = np.random.default_rng(0)
    a, b = Factor(["a", "b"], rng.random((300, 300))), Factor(["b", "c"], rng.random((300, 300)))
    assert peak_bytes(lambda: contract([a, b], ["a", "c"])) < 8e6  # the product has 216e6


def test_a_wide_range_is_contracted_in_slices():
    rng = np.random.default_rng(0)
    logs = [rng.uniform(-3000.0, 0.0, size=(170, 170)) for _ in range(2)]
    a, b = Factor.from_log(["a", "b"], logs[0]), Factor.from_log(["b", "c"], logs[1])
    expected = log_sum_exp(logs[0][:, :, None] + logs[1], axis=1)
    np.testing.assert_allclose(contract([a, b], ["c", "a"]).log_values, expected.T, rtol=1e-13)
    assert peak_bytes(lambda: contract([a, b], ["a", "c"])) < 8e6  # the product has 39e6


def test_sixty_axes_of_one_label_are_no_obstacle():
    names = [f"v{i}" for i in range(60)]
    a = Factor(names[:30], np.full((1,) * 30, 2.0))
    b = Factor(names[20:], np.full((1,) * 40, 3.0))
    assert contract([a, b], names[:3]).values.item() == 6.0


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: contract([Factor("Rain", [1, 2])], "Rian"), ValueError, "did you mean 'Rain'"),
        (lambda: contract([Factor("A", [1, 2])], ["A", "A"]), ValueError, "twice"),
        (
            lambda: contract([Factor("A", [1, 2]), Factor("A", [1, 2, 3])]),
            ValueError,
            "labels of axis 'A' differ",
        ),
        (lambda: contract(complete_graph(40)), MemoryError, "approximate"),
    ],
)
def test_bad_input_is_named(call, error, message):
    with pytest.raises(error, match=message):
        call()


def complete_graph(size):
    pairs = itertools.combinations([f"v{i}" for i in range(size)], 2)
    return [Factor(list(pair), np.ones((3, 3))) for pair in pairs]
