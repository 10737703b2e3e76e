"""Random trees of normal variables with plates, gates, products and unknown precisions."""

from typing import Any, NamedTuple

import hypothesis
import numpy as np
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from posteriori import Categorical, Dirichlet, Gamma, Normal
from posteriori.modeling import Model
from tests.modeling.variational.monte_carlo import is_loopy, sampled_bound

SIZES = {"a": 3, "b": 2}
PLATES = st.lists(st.sampled_from(sorted(SIZES)), unique=True, max_size=2)
STATES = 2


class World(NamedTuple):
    """A random model and its data."""

    model: Model
    data: dict[str, np.ndarray]


@st.composite
def worlds(draw: Any) -> World:
    m = Model()
    childless: set[str] = set()
    children: dict[str, set[str]] = {}
    normals: list[str] = []

    def add(name: str, law: Any, parents: list[str]) -> str:
        for plate in draw(PLATES):
            law = law.iid(plate)
        m[name] = law
        for parent in parents:
            children.setdefault(parent, set()).add(name)
        childless.difference_update(parents)
        childless.add(name)
        return name

    gammas = []
    for i in range(draw(st.integers(1, 2))):
        gammas.append(add(f"tau{i}", Gamma(draw(st.sampled_from([2.0, 3.5])), rate=1.5), []))

    def precision() -> tuple[Any, list[str]]:
        name = draw(st.sampled_from([None, *gammas]))
        return (2.0, []) if name is None else (m[name], [name])

    gates: list[tuple[str, str]] = []  # a variable of states, and what it chooses from
    for i in range(draw(st.integers(0, 2))):
        pi = add(f"pi{i}", Dirichlet(np.array([1.0, 2.0])), [])
        z = add(f"z{i}", Categorical(m[pi]), [pi])
        spread, parents = precision()
        m[f"v{i}"] = Normal(0.5, precision=spread).iid(STATES)
        childless.difference_update(parents)
        childless.add(f"v{i}")
        gates.append((z, f"v{i}"))

    def term() -> tuple[Any, list[str]]:
        kind = draw(st.sampled_from(["constant", "normal", "gate", "product"]))
        if kind == "gate" and gates:
            z, v = draw(st.sampled_from(gates))
            return m[v][m[z]], [z, v]
        if kind == "product" and len(normals) > 1:
            x, y = draw(st.permutations(normals))[:2]
            return m[x] * m[y], [x, y]
        if kind != "constant" and normals:
            x = draw(st.sampled_from(normals))
            return draw(st.sampled_from([1.0, -0.7])) * m[x], [x]
        return draw(st.sampled_from([0.0, 1.5])), []

    def normal(name: str) -> str:
        first, second = term(), term()
        mean = first[0] + second[0]
        spread, parents = precision()
        law = Normal(mean, precision=spread)
        return add(name, law, [*first[1], *second[1], *parents])

    for i in range(draw(st.integers(1, 3))):
        normals.append(normal(f"x{i}"))
    seen = []
    for i in range(draw(st.integers(1, 2))):
        seen.append(normal(f"y{i}"))
        normals.append(seen[-1])
    seen += watched(m, add, sorted(childless - set(seen)), gates)
    values = m.simulate(plates=SIZES, rng=draw(st.integers(0, 1000)))
    data = {name: np.asarray(values[name], dtype=float) for name in seen}
    gaps: set[str] = set()
    for name in sorted(childless & set(seen)):  # no parent is left without data: it would be idle
        known = all(born - gaps - {name} for born in children.values() if name in born)
        if known and data[name].size > 2 and draw(st.booleans()):
            gaps.add(name)
            data[name].flat[0] = np.nan
    return World(m, data)


def watched(m: Model, add: Any, names: list[str], gates: list[tuple[str, str]]) -> list[str]:
    """Give every variable that nothing depends on an observed child, so that none is idle."""
    seen = []
    table = dict(gates)
    for name in names:
        if name.startswith("v"):
            z = next(z for z, v in gates if v == name)
            law, parents = Normal(m[name][m[z]], precision=1.0), [name, z]
        elif name.startswith("z"):
            law, parents = Normal(m[table[name]][m[name]], precision=1.0), [name, table[name]]
        elif name.startswith("tau"):
            law, parents = Normal(0.3, precision=m[name]), [name]
        else:
            law, parents = Normal(m[name], precision=1.0), [name]
        seen.append(add(f"seen_{name}", law, parents))
    return seen


def approximate(world: World, sweeps: int) -> Any:
    """Return a posterior whose blocks are all variational, even where there are exact ones."""
    return world.model.infer(
        world.data, factorize=[[]], n_init=1, callback=lambda i, _: i >= sweeps
    )


@hypothesis.given(worlds())
def test_the_bound_by_three_routes(world: World) -> None:
    post = approximate(world, 4)
    for result in post._solved.results:
        assert_allclose(result.problem.slow_bound()[0], result.log_evidence, rtol=1e-10, atol=1e-10)
    nodes = [node for result in post._solved.results for node in result.problem.nodes]
    hypothesis.assume(not any(node.kind == "discrete" and is_loopy(node) for node in nodes))
    found = sampled_bound(world.model, world.data, *post._solved.results, size=3000)
    assert abs(found.value - float(post.log_evidence)) < 5.0 * found.error + 1e-9


@hypothesis.given(worlds())
def test_no_update_lowers_the_bound(world: World) -> None:
    for result in approximate(world, 1)._solved.results:
        problem = result.problem
        before = problem.slow_bound()[0]
        for node in (*problem.shared, *problem.local, *problem.shared):
            problem.reduce()
            problem.update(node)
            after = problem.slow_bound()[0]
            assert_allclose(problem.bound(node)[0], after, rtol=1e-10, atol=1e-10)
            assert after > before - 1e-10 * max(1.0, abs(before))
            before = after
