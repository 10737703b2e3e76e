"""Factors against numpy.einsum and opt_einsum on tables of ten million cells, and on tiny ones.

Each case first checks that the three answers are equal; the reference is the faster of the two.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import opt_einsum
from harness import Comparison, compare, report

from posteriori.factors import Factor, contract

BINARY = "abcdefghijklmnopqrstuvw"  # 2^23 cells


class Case(NamedTuple):
    """Axes of the operands and of the result, e.g. ``ab,bc->ac``, and the size of each axis."""

    name: str
    subscripts: str
    sizes: dict[str, int]


def binary(name: str, operands: str, result: str) -> Case:
    return Case(name, f"{operands}->{result}", dict.fromkeys(BINARY + "xyz", 2))


def but(*gone: str) -> str:
    return "".join(axis for axis in BINARY if axis not in gone)


PRODUCTS = [
    Case("product sharing an axis", "ab,bc->abc", {"a": 100, "b": 100, "c": 1000}),
    Case("product with a vector, first axis", "abc,a->abc", {"a": 215, "b": 215, "c": 216}),
    Case("product with a vector, middle axis", "abc,b->abc", {"a": 215, "b": 215, "c": 216}),
    Case("product with a vector, last axis", "abc,c->abc", {"a": 215, "b": 215, "c": 216}),
    Case("product in crossed order", "abc,cb->abc", {"a": 215, "b": 215, "c": 216}),
    binary("23 binary axes times the last", f"{BINARY},w", BINARY),
    binary("23 binary axes times first and last", f"{BINARY},aw", BINARY),
    binary("23 binary axes times two in the middle", f"{BINARY},kl", BINARY),
]

MARGINALS = [
    Case("sum over the first axis", "abc->bc", {"a": 215, "b": 215, "c": 216}),
    Case("sum over the middle axis", "abc->ac", {"a": 215, "b": 215, "c": 216}),
    Case("sum over the last axis", "abc->ab", {"a": 215, "b": 215, "c": 216}),
    Case("keep the first axis", "abc->a", {"a": 215, "b": 215, "c": 216}),
    Case("keep the middle axis", "abc->b", {"a": 215, "b": 215, "c": 216}),
    Case("keep the last axis", "abc->c", {"a": 215, "b": 215, "c": 216}),
    binary("23 binary axes, sum over the first", BINARY, but("a")),
    binary("23 binary axes, sum over one in the middle", BINARY, but("l")),
    binary("23 binary axes, sum over the last but one", BINARY, but("v")),
    binary("23 binary axes, sum over the last", BINARY, but("w")),
    binary("23 binary axes, keep the last three", BINARY, "uvw"),
    binary("23 binary axes, keep every other", BINARY, BINARY[::2]),
]

CONTRACTIONS = [
    Case("matrix product", "ab,bc->ac", {"a": 3200, "b": 3200, "c": 500}),
    Case("sum of a product over the middle axis", "abc,b->ac", {"a": 215, "b": 215, "c": 216}),
    Case("sum of a product over two axes", "abc,cb->a", {"a": 215, "b": 215, "c": 216}),
    Case("middle axis through a matrix", "abc,bd->acd", {"a": 215, "b": 215, "c": 216, "d": 10}),
    Case("outer axes through a matrix", "abc,cad->bd", {"a": 215, "b": 215, "c": 216, "d": 10}),
    Case("shared axis kept", "abc,bc->ac", {"a": 215, "b": 215, "c": 216}),
    Case("batch of matrix products", "abc,acd->abd", {"a": 100, "b": 320, "c": 320, "d": 100}),
    binary("23 binary axes, message along the last", f"{BINARY},wx", but("w") + "x"),
    binary("23 binary axes, message along the first", f"{BINARY},ax", but("a") + "x"),
    binary("23 binary axes, message in the middle", f"{BINARY},lx", but("l") + "x"),
]

SMALL = [
    binary("product of 2 and 2 binary axes", "ab,bc", "abc"),
    binary("product of 5 and 2 binary axes", "abcde,bd", "abcde"),
    binary("marginal of 3 binary axes", "abc", "b"),
    binary("marginal of 5 binary axes", "abcde", "bd"),
    binary("contraction of 3 and 3 binary axes", "abc,bcd", "ad"),
]


def operands_of(case: Case, rng: np.random.Generator) -> list[np.ndarray]:
    inputs = case.subscripts.split("->")[0].split(",")
    return [rng.random([case.sizes[axis] for axis in axes]) for axes in inputs]


def ours_of(case: Case, arrays: list[np.ndarray]) -> Callable[[], Factor]:
    inputs, result = case.subscripts.split("->")
    parts = inputs.split(",")
    factors = [Factor(list(axes), cells) for axes, cells in zip(parts, arrays, strict=True)]
    keep = tuple(result)
    if len(factors) == 1:
        return lambda: factors[0].marginal(keep)
    if set(result) == set("".join(parts)):
        return lambda: factors[0] * factors[1]
    return lambda: contract(factors, keep)


def once(function: Callable[[], object]) -> float:
    function()
    times = []
    for _ in range(3):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def run(case: Case, bar: float, calls: int = 1) -> Comparison:
    arrays = operands_of(case, np.random.default_rng(0))
    ours = ours_of(case, arrays)
    expected = np.einsum(case.subscripts, *arrays, optimize=len(arrays) > 1)
    names = tuple(case.subscripts.split("->")[1])
    np.testing.assert_allclose(ours().transpose(names).values, expected, rtol=1e-10)
    peers: dict[str, Callable[[], object]] = {
        "numpy.einsum": lambda: np.einsum(case.subscripts, *arrays),
        "opt_einsum": lambda: opt_einsum.contract(case.subscripts, *arrays),
    }
    if math.prod(case.sizes[axis] for axis in set(case.subscripts) - set(",->")) > 2e9:
        del peers["numpy.einsum"]  # many seconds without the BLAS
    best = min(peers, key=lambda peer: once(peers[peer]))
    return compare(f"{case.name} ({best})", ours, peers[best], bar=bar, faster=False, calls=calls)


def main() -> None:
    report("products of tables of 10⁷ cells", [run(case, 1.5) for case in PRODUCTS])
    report("marginals of tables of 10⁷ cells", [run(case, 1.5) for case in MARGINALS])
    report("products followed by a sum", [run(case, 1.5) for case in CONTRACTIONS])
    report("tables of a few cells", [run(case, 4.0, calls=2000) for case in SMALL])


if __name__ == "__main__":
    main()
