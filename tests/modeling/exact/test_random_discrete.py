"""Random discrete networks with plates and chains against the sum over all configurations.

Every model is written twice: in the model language, and as a list of single cells with their
parents and tables. The second needs neither the binder nor the joint density of the model.
"""

import itertools
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy import stats

from posteriori import Bernoulli, Categorical, Normal, Poisson
from posteriori.modeling import Chain, Input, Model, take

PAIR = "pair"  # the label of an integer axis, always of length 2
MOST = 3000


class Cell(NamedTuple):
    """One discrete number: its parents, and the log probabilities (*parents, states)."""

    parents: tuple[int, ...]
    table: np.ndarray


class Seen(NamedTuple):
    """A variable as a parent sees it: an expression, and the cell at each place."""

    expression: Any
    axes: tuple[str, ...]
    cells: np.ndarray


class Network:
    """A model, its inputs, and its cells."""

    def __init__(self, sizes: dict[str, int], rng: np.random.Generator) -> None:
        self.model = Model()
        self.sizes = {**sizes, PAIR: 2}
        self.rng = rng
        self.inputs: dict[str, np.ndarray] = {}
        self.cells: list[Cell] = []
        self.seen: dict[str, Seen] = {}
        self.states: dict[str, int] = {}
        self.emissions: dict[str, tuple[Any, Seen]] = {}
        for plate, size in sizes.items():
            self.give(np.zeros(size), plate)

    def give(self, values: np.ndarray, *plates: str) -> Any:
        name = f"input{len(self.inputs)}"
        self.model[name] = Input(*plates)
        self.inputs[name] = values
        return self.model[name]

    def tables(self, *shape: int) -> np.ndarray:
        return self.rng.dirichlet(np.ones(shape[-1]), size=shape[:-1])

    def configurations(self) -> int:
        return int(np.prod([float(cell.table.shape[-1]) for cell in self.cells]))

    def __repr__(self) -> str:
        lines = [f"{n} = input of shape {v.shape}" for n, v in self.inputs.items()]
        for name, v in self.model._variables.items():
            step = "" if v.step is None else f", step {v.step.parameters!r}"
            repeats = (*v.plates, *([] if v.length is None else [v.length]))
            lines.append(f"{name} = {v.family.__name__}({v.parameters!r}{step}) x {repeats}")
        return "\n".join(lines)


def union(*axes: tuple[str, ...]) -> tuple[str, ...]:
    """Return the labels in order of appearance, the integer axis last."""
    found = dict.fromkeys(label for labels in axes for label in labels)
    return tuple(sorted(found, key=lambda label: label == PAIR))


def cells_at(seen: Seen, axes: tuple[str, ...], place: tuple[int, ...]) -> int:
    """Return the cell that a place on these axes sees."""
    at = dict(zip(axes, place, strict=True))
    return int(seen.cells[tuple(at[label] for label in seen.axes)])


@st.composite
def networks(draw: Any) -> Network:
    """Up to four discrete variables, repeated or in chains, and up to two emissions."""
    sizes = {plate: draw(st.integers(1, 3)) for plate in ("n", "t")}
    net = Network(sizes, np.random.default_rng(draw(st.integers(0, 10**6))))
    for i in range(draw(st.integers(1, 4))):
        make = draw(st.sampled_from([add_variable, add_variable, add_chain]))
        make(draw, net, f"v{i}")
    for i in range(draw(st.integers(0, 2))):
        add_emission(draw, net, f"y{i}")
    return net


def draw_parents(draw: Any, net: Network) -> list[tuple[str, Seen]]:
    names = sorted(net.seen)
    chosen = draw(st.lists(st.sampled_from(names), max_size=2, unique=True)) if names else []
    return [(name, look_at(draw, net, net.seen[name])) for name in chosen]


def look_at(draw: Any, net: Network, seen: Seen) -> Seen:
    """Return a parent as it is; one with an integer axis perhaps at a place, or by known codes."""
    if PAIR not in seen.axes:
        return seen
    way = draw(st.sampled_from(["whole", "place", "codes", "codes on a plate"]))
    if way == "whole":
        return seen
    if way == "place":
        i = draw(st.integers(0, 1))
        return Seen(seen.expression[i], seen.axes[:-1], seen.cells[..., i])
    if way == "codes":
        codes = net.rng.integers(0, 2, size=2)
        return Seen(seen.expression[net.give(codes)], seen.axes, seen.cells[..., codes])
    codes = net.rng.integers(0, 2, size=net.sizes["n"])
    expression = seen.expression[net.give(codes, "n")]
    if "n" not in seen.axes:
        return Seen(expression, (*seen.axes[:-1], "n"), seen.cells[..., codes])
    along = seen.axes.index("n")
    moved = np.moveaxis(seen.cells, (along, -1), (0, 1))[np.arange(len(codes)), codes]
    return Seen(expression, seen.axes[:-1], np.moveaxis(moved, 0, along))


def looked_up(table: Any, parents: list[tuple[str, Seen]]) -> Any:
    for _, seen in parents:
        table = take(table, seen.expression)
    return table


def add_variable(draw: Any, net: Network, name: str) -> None:
    """Declare a Categorical or Bernoulli variable with up to two parents."""
    parents = draw_parents(draw, net)
    repeat = draw(st.sampled_from([None, None, "n", 2]))
    inherited = union(*(seen.axes for _, seen in parents))
    if repeat == 2 and PAIR in inherited:
        return
    own = () if repeat is None else (PAIR if repeat == 2 else repeat,)
    axes = union(own, inherited)
    size = draw(st.integers(2, 3))
    shape = tuple(net.sizes[label] for label in axes)
    if net.configurations() * float(size) ** int(np.prod(shape)) > MOST:
        return
    table = net.tables(*(net.states[p] for p, _ in parents), size)
    if size == 2 and draw(st.booleans()):
        made = Bernoulli(looked_up(table[..., 1], parents))
    else:
        made = Categorical(looked_up(table, parents))
    net.model[name] = made if repeat is None else made.iid(repeat)
    ids = len(net.cells) + np.arange(int(np.prod(shape))).reshape(shape)
    for place in np.ndindex(*shape):
        above = tuple(cells_at(seen, axes, place) for _, seen in parents)
        net.cells.append(Cell(above, np.log(table)))
    net.seen[name] = Seen(net.model[name], axes, ids)
    net.states[name] = size


def add_chain(draw: Any, net: Network, name: str) -> None:
    """Declare a chain, perhaps one for each member of a plate, whose steps may see a parent."""
    length = draw(st.sampled_from(["t", 2]))
    time = PAIR if length == 2 else "t"
    series = draw(st.sampled_from([(), (), ("n",)]))
    fitting = [n for n, s in sorted(net.seen.items()) if set(s.axes) <= {"t", *series} - {PAIR}]
    fitting = [n for n in fitting if length == "t" or not net.seen[n].axes]
    parents = draw(st.lists(st.sampled_from(fitting), max_size=1)) if fitting else []
    seen = [(n, net.seen[n]) for n in parents]
    size, count = draw(st.integers(2, 3)), net.sizes[time]
    if (time == PAIR and series) or net.configurations() * float(size) ** (
        count * int(np.prod([net.sizes[p] for p in series]))
    ) > MOST:
        return
    first = net.tables(size)
    step = net.tables(*(net.states[p] for p in parents), size, size)
    initial = Categorical(first).iid(*series) if series else Categorical(first)
    net.model[name] = Chain(
        initial, lambda z: Categorical(take(looked_up(step, seen), z)), length=length
    )
    axes = (time, *series)
    shape = tuple(net.sizes[label] for label in axes)
    ids = len(net.cells) + np.arange(int(np.prod(shape))).reshape(shape)
    for t, *place in np.ndindex(*shape):
        if t == 0:
            net.cells.append(Cell((), np.log(first)))
            continue
        above = tuple(cells_at(s, axes, (t, *place)) for _, s in seen)
        net.cells.append(Cell((*above, int(ids[(t - 1, *place)])), np.log(step)))
    net.seen[name] = Seen(net.model[name], axes, ids)
    net.states[name] = size


def add_emission(draw: Any, net: Network, name: str) -> None:
    """Declare an observable of another family; its densities are those of SciPy."""
    parents = draw_parents(draw, net)
    if not parents:
        return
    sizes = [net.states[p] for p, _ in parents]
    numbers = net.rng.normal(size=sizes)
    if draw(st.booleans()):
        net.model[name] = Normal(looked_up(numbers, parents), variance=0.7)
        frozen = stats.norm(numbers, np.sqrt(0.7)).logpdf
    else:
        net.model[name] = Poisson(looked_up(np.exp(numbers), parents))
        frozen = stats.poisson(np.exp(numbers)).logpmf
    axes = union(*(seen.axes for _, seen in parents))
    shape = tuple(net.sizes[label] for label in axes)
    ids = np.zeros((*shape, len(parents)), dtype=int)
    for place in np.ndindex(*shape):
        ids[place] = [cells_at(seen, axes, place) for _, seen in parents]
    net.emissions[name] = (frozen, Seen(None, axes, ids))


class Problem(NamedTuple):
    """A network and its data."""

    net: Network
    data: dict[str, np.ndarray]


@st.composite
def problems(draw: Any) -> Problem:
    """Each variable is unknown, observed, or observed in part."""
    net = draw(networks())
    values = net.model.simulate(rng=net.rng, **net.inputs)
    data = {}
    for name in net.model._variables:
        how = draw(st.sampled_from(["unknown", "known", "in part"]))
        if how != "unknown":
            gone = net.rng.random(values[name].shape) < (0.5 if how == "in part" else 0.0)
            data[name] = np.where(gone, np.nan, values[name])
    return Problem(net, data)


def enumerate_cells(problem: Problem) -> tuple[float, np.ndarray, np.ndarray]:
    """Return the log evidence, all configurations (N, cells) and their probabilities."""
    net, data = problem
    choices = [range(cell.table.shape[-1]) for cell in net.cells]
    for name, seen in net.seen.items():
        if name in data:
            for cell, value in zip(seen.cells.flat, data[name].flat, strict=True):
                choices[cell] = (
                    choices[cell] if np.isnan(value) else range(int(value), int(value) + 1)
                )
    states = np.array(list(itertools.product(*choices)), dtype=int)
    logs = np.zeros(len(states))
    for i, cell in enumerate(net.cells):
        logs += cell.table[(*(states[:, p] for p in cell.parents), states[:, i])]
    for name, (log_prob, seen) in net.emissions.items():
        if name in data:
            for place in np.ndindex(*data[name].shape):
                if not np.isnan(data[name][place]):
                    table = np.asarray(log_prob(data[name][place]))
                    logs += table[tuple(states[:, p] for p in seen.cells[place])]
    top = logs.max()
    total = np.exp(logs - top).sum()
    return top + np.log(total), states, np.exp(logs - top) / total


def shares(found: Any) -> np.ndarray:
    if isinstance(found, Bernoulli):
        return np.stack([1.0 - found.probability, found.probability], axis=-1)
    return found.probabilities


def check(problem: Problem) -> None:
    net, data = problem
    post = net.model.infer({**net.inputs, **data})
    log_evidence, states, p = enumerate_cells(problem)
    assert float(post.log_evidence) == pytest.approx(log_evidence, abs=1e-10)
    for name, seen in net.seen.items():
        if name in post._solved.bound.observed:
            continue
        hot = states[:, seen.cells, None] == np.arange(net.states[name])
        expected = np.einsum("c,c...->...", p, hot)
        np.testing.assert_allclose(shares(post[name]), expected, atol=1e-11)
    unknown = [n for n in net.seen if n not in post._solved.bound.observed]
    for name in unknown:
        cells = net.seen[name].cells.ravel()
        joint = np.zeros([net.states[name]] * len(cells))
        np.add.at(joint, tuple(states[:, cells].T), p)
        np.testing.assert_allclose(post.joint(name).probabilities, joint, atol=1e-11)


@given(problems())
def test_networks_with_plates_and_chains(problem: Problem) -> None:
    check(problem)


@pytest.mark.slow
@given(problems())
@settings(max_examples=1500)
def test_many_networks(problem: Problem) -> None:
    check(problem)
