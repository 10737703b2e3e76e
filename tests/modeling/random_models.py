"""Random jointly normal models, written twice: in the model language and as affine functions.

Every quantity is a :class:`Twin`: an expression, and the same quantity as an affine function of all
numbers of the model, in decimal arithmetic of 50 digits. The second needs neither the binder nor
an engine: it becomes one mean and one covariance matrix, which are conditioned by elimination.
"""

import decimal
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st

from posteriori import MvNormal, Normal
from posteriori.modeling import Chain, Input, Model, dot
from tests.modeling.exact_conditioning import exact_array, inverse
from tests.modeling.twins import CAPACITY, Known, Twin, spread, union

__all__ = ["Entry", "RandomModel", "gaussian_models"]


class Entry(NamedTuple):
    """Where the numbers of a variable lie, and their layout."""

    place: slice
    shape: tuple[int, ...]
    event: int
    has_children: bool


class RandomModel:
    """A model, its inputs, and its numbers as x_i = row_i (1, x) + noise."""

    def __init__(self, sizes: Mapping[str, int], rng: np.random.Generator) -> None:
        self.model = Model()
        self.sizes = dict(sizes)
        self.rng = rng
        self.inputs: dict[str, np.ndarray] = {}
        self.entries: dict[str, Entry] = {}
        self.twins: dict[str, Twin] = {}
        self.rows = np.zeros((0, 1 + CAPACITY), dtype=object)
        self.noise = np.zeros((0, 0), dtype=object)

    def __repr__(self) -> str:
        """Write the model down, for reports of failures."""
        lines = [f"{n} = input of shape {v.shape}" for n, v in self.inputs.items()]
        for name, variable in self.model._variables.items():
            parameters = ", ".join(
                f"{k}={np.shape(v) if isinstance(v, np.ndarray) else v!r}"
                for k, v in variable.parameters.items()
            )
            step = "" if variable.step is None else f", step {variable.step.parameters!r}"
            repeats = variable.plates if variable.length is None else (variable.length,)
            lines.append(f"{name} = {variable.family.__name__}({parameters}{step}) x {repeats}")
        return "\n".join(lines)

    @property
    def size(self) -> int:
        return len(self.rows)

    def fits(self, count: int) -> bool:
        return self.size + count <= CAPACITY

    def give(self, values: Any, *plates: str) -> Known:
        """Return an input with these values."""
        name = f"input{len(self.inputs)}"
        self.model[name] = Input(*plates)
        self.inputs[name] = np.asarray(values)
        return Known(self.model[name], plates, self.inputs[name])

    def add(
        self,
        name: str,
        declared: Any,
        plates: tuple[str, ...],
        mean: np.ndarray,
        noise: np.ndarray,
        event: int,
    ) -> None:
        """Add a variable with means (*shape, 1 + CAPACITY) and the covariance of its numbers."""
        self.model[name] = declared
        start, count = self.size, len(noise)
        self.rows = np.vstack([self.rows, mean.reshape(count, -1)])
        whole = np.zeros((self.size, self.size), dtype=object)
        whole[:start, :start], whole[start:, start:] = self.noise, noise
        self.noise = whole
        shape = mean.shape[:-1]
        self.entries[name] = Entry(slice(start, start + count), shape, event, False)
        own = np.zeros((count, 1 + CAPACITY), dtype=object)
        own[np.arange(count), 1 + start + np.arange(count)] = decimal.Decimal(1)
        twin = Twin(self.model[name], plates, own.reshape(*shape, -1))
        self.twins[name] = twin

    def use(self, name: str) -> Twin:
        """Return a variable for use among the parameters of another."""
        self.entries[name] = self.entries[name]._replace(has_children=True)
        return self.twins[name]

    def joint(self, copies: tuple[str, ...] = ()) -> tuple[np.ndarray, np.ndarray]:
        """Return mean and covariance of all numbers, and of new draws of childless variables."""
        again = [i for n in copies for i in range(*self.entries[n].place.indices(self.size))]
        picked = np.array([*range(self.size), *again], dtype=int)
        total = len(picked)
        mean, cov = np.zeros(total, dtype=object), np.zeros((total, total), dtype=object)
        for i, source in enumerate(picked):
            row = self.rows[source]
            linear = row[1 : 1 + min(i, self.size)]
            used = np.flatnonzero(linear)
            mean[i] = row[0] + linear[used] @ mean[used]
            cov[i, :i] = cov[:i, i] = linear[used] @ cov[used, :i]
            cov[i, i] = linear[used] @ cov[used, i]
            same = [j for j in range(i + 1) if (j >= self.size) == (i >= self.size)]
            shared = self.noise[source, picked[same]]
            cov[i, same] = cov[i, same] + shared
            cov[same, i] = cov[i, same]
        return mean, cov

    def flat(self, data: Mapping[str, Any]) -> np.ndarray:
        """Return data as one vector, NaN where nothing is known."""
        out = np.full(self.size, np.nan)
        for name, entry in self.entries.items():
            if name in data:
                out[entry.place] = np.ravel(data[name])
        return out


# -- strategies --------------------------------------------------------------------------------


@st.composite
def gaussian_models(draw: Any, decades: float = 1.0) -> RandomModel:
    """Up to five normal variables, each affine in those before it.

    Variances lie within ``decades`` powers of ten of 1.
    """
    sizes = {plate: draw(st.integers(1, 3)) for plate in ("a", "b", "t")}
    random = RandomModel(sizes, np.random.default_rng(draw(st.integers(0, 10**6))))
    for plate, size in sizes.items():
        random.give(np.zeros(size), plate)
    for i in range(draw(st.integers(2, 5))):
        kind = draw(st.sampled_from(["normal", "normal", "vector", "vector", "chain"]))
        make = _add_chain if kind == "chain" else _add_variable
        make(draw, random, f"v{i}", kind, decades)
    return random


def _add_variable(draw: Any, random: RandomModel, name: str, kind: str, decades: float) -> None:
    """Declare a Normal or MvNormal variable with up to three parents, repeated or not."""
    vector = kind == "vector"
    batch = draw(st.sampled_from([(), (), (2,), (3,)]))
    shape = (*batch, draw(st.integers(1, 3))) if vector else batch
    mean = _mean(draw, random, shape)
    repeats = draw(st.lists(st.sampled_from(["a", "b", 2]), max_size=2, unique=True))
    plates = union(tuple(p for p in repeats if isinstance(p, str)), mean.plates)
    noise = (_matrix_noise if vector else _scalar_noise)(draw, random, batch, shape, decades)
    plates = union(plates, noise.plates)
    declared = tuple(p for p in repeats if isinstance(p, int))
    full = (*(random.sizes[p] for p in plates), *declared, *shape)
    if not random.fits(int(np.prod(full))):
        return
    ndim = len(declared) + len(shape)
    means = np.broadcast_to(spread(mean, plates, ndim), (*full, 1 + CAPACITY))
    made = (MvNormal if vector else Normal)(mean.expression, **{noise.key: noise.expression})
    for repeat in reversed(repeats):
        made = made.iid(repeat)
    event = int(vector)
    blocks = _noise_blocks(noise, plates, full, event)
    random.add(name, made, plates, means, blocks, event)


def _add_chain(draw: Any, random: RandomModel, name: str, kind: str, decades: float) -> None:
    """Declare a chain x_t = A x_{t-1} + offset + noise, of numbers or vectors."""
    shape = draw(st.sampled_from([(), (2,)]))
    length = draw(st.sampled_from(["t", 2, 4]))
    count = random.sizes["t"] if length == "t" else length
    if not random.fits(count * int(np.prod(shape))):
        return
    first, offset = _mean(draw, random, shape), _mean(draw, random, shape)
    plates = ("t",) if length == "t" else ()
    if first.plates or not set(offset.plates) <= set(plates):
        return
    family, event = (MvNormal, 1) if shape else (Normal, 0)
    make_noise = _matrix_noise if shape else _scalar_noise
    start = make_noise(draw, random, (), shape, decades, given=False)
    move = make_noise(draw, random, (), shape, decades, given=False)
    step = 0.7 * random.rng.normal(size=(*shape, *shape))
    declared = Chain(
        family(first.expression, **{start.key: start.expression}),
        lambda s: family(
            (step @ s if shape else float(step) * s) + offset.expression,
            **{move.key: move.expression},
        ),
        length=length,
    )
    means = np.zeros((count, *shape, 1 + CAPACITY), dtype=object)
    means[0] = spread(first, (), len(shape))
    offsets = np.broadcast_to(spread(offset, plates, len(shape)), means.shape)
    width = int(np.prod(shape))
    for t in range(1, count):
        place = 1 + random.size + (t - 1) * width
        means[t] = offsets[t]
        means[t, ..., place : place + width] = means[t, ..., place : place + width] + exact_array(
            step
        ).reshape(*shape, width)
    noise = np.zeros((count * width, count * width), dtype=object)
    for t in range(count):
        part = slice(t * width, (t + 1) * width)
        noise[part, part] = (move if t else start).covariance.reshape(width, width)
    random.add(name, declared, plates, means, noise, event)
    random.use(name)  # a member has the next one for a child


class Noise(NamedTuple):
    """The spread of a variable: its keyword and expression, and variances or covariances."""

    key: str
    expression: Any
    plates: tuple[str, ...]
    covariance: np.ndarray


def _scalar_noise(
    draw: Any,
    random: RandomModel,
    batch: tuple[int, ...],
    shape: tuple[int, ...],
    decades: float,
    given: bool = True,
) -> Noise:
    key = draw(st.sampled_from(["variance", "scale", "precision"]))
    plates = ("a",) if given and draw(st.integers(0, 4)) == 0 else ()
    own = batch if draw(st.booleans()) else ()
    sizes = (*(random.sizes[p] for p in plates), *own)
    values = 10.0 ** random.rng.uniform(-decades, decades, size=sizes)
    values = values if key != "scale" else np.sqrt(values)
    expression = random.give(values, *plates).expression if plates else values
    as_exact = exact_array(values)
    variance = {"variance": as_exact, "scale": as_exact * as_exact, "precision": 1 / as_exact}[key]
    return Noise(key, expression, plates, np.asarray(variance, dtype=object))


def _matrix_noise(
    draw: Any,
    random: RandomModel,
    batch: tuple[int, ...],
    shape: tuple[int, ...],
    decades: float,
    given: bool = True,
) -> Noise:
    key = draw(st.sampled_from(["cov", "precision"]))
    plates = ("b",) if given and draw(st.integers(0, 4)) == 0 else ()
    own = batch if draw(st.booleans()) else ()
    size, lead = shape[-1], (*(random.sizes[p] for p in plates), *own)
    root = random.rng.normal(size=(*lead, size, size))
    level = 10.0 ** random.rng.uniform(-decades, decades, size=(*lead, 1, 1))
    values = level * (root @ np.swapaxes(root, -1, -2) + 0.3 * np.eye(size))
    values = 0.5 * (values + np.swapaxes(values, -1, -2))
    expression = random.give(values, *plates).expression if plates else values
    flat = values.reshape(-1, size, size)
    covs = [inverse(v) if key == "precision" else exact_array(v) for v in flat]
    return Noise(key, expression, plates, np.array(covs, dtype=object).reshape(values.shape))


def _noise_blocks(
    noise: Noise, plates: tuple[str, ...], full: tuple[int, ...], event: int
) -> np.ndarray:
    """Return the covariance of all numbers: a block for each row."""
    rows, width = full[: len(full) - event], full[-1] if event else 1
    square = noise.covariance if event else noise.covariance[..., None, None]
    whole = Twin(None, noise.plates, square.reshape(*square.shape[:-2], -1))
    blocks = spread(whole, plates, len(rows) - len(plates))
    blocks = np.broadcast_to(blocks, (*rows, width * width)).reshape(-1, width, width)
    count = len(blocks)
    out = np.zeros((count, width, count, width), dtype=object)
    out[np.arange(count), :, np.arange(count), :] = blocks
    return out.reshape(count * width, count * width)


def _mean(draw: Any, random: RandomModel, shape: tuple[int, ...]) -> Twin:
    """Return a constant plus up to three parents, of one shape."""
    level = random.rng.normal(size=shape)
    zero = np.zeros((*shape, 1 + CAPACITY), dtype=object)
    zero[..., 0] = exact_array(level)
    total = Twin(level, (), zero)
    if not random.twins:
        return total
    for name in draw(st.lists(st.sampled_from(sorted(random.twins)), max_size=3)):
        total = _shaped(draw, random, random.use(name), shape) + total
    if draw(st.integers(0, 3)) == 0 and not isinstance(total.expression, np.ndarray):
        plate = draw(st.sampled_from(["a", "t"]))
        total = total.plus(random.give(random.rng.normal(size=random.sizes[plate]), plate))
    return total


def _shaped(draw: Any, random: RandomModel, twin: Twin, shape: tuple[int, ...]) -> Twin:
    """Turn a parent into something of a given shape, or that broadcasts to it."""
    while len(twin.shape) > len(shape):
        twin = _with_one_axis_less(draw, random, twin)
    if not twin.shape:
        plate = draw(st.sampled_from([(), (), ("a",)]))
        factor = random.rng.normal(size=(*(random.sizes[p] for p in plate), *shape))
        return twin.times(random.give(factor, *plate) if plate else Known(factor, (), factor))
    rows, size = shape[-len(twin.shape)], twin.shape[0]
    if len(twin.shape) == 2 and twin.shape[1] != shape[1]:
        return _shaped(draw, random, _with_one_axis_less(draw, random, twin), shape)
    ways = ["matrix", "list", "codes", "plate of matrices"]
    ways += ["scaled", "reversed"] if rows == size else []
    ways += ["slice"] if size > rows else []
    way = draw(st.sampled_from(ways))
    if way == "scaled":
        return twin.times(Known(c := random.rng.normal(size=()), (), c))
    if way == "reversed":
        return twin.at(slice(None, None, -1))
    if way == "slice":
        return twin.at(slice(size - rows, None))
    codes = random.rng.integers(0, size, size=rows)
    if way == "list":
        return twin.at(codes.tolist())
    if way == "codes":
        return twin.gathered(random.give(codes))
    lead = (random.sizes["a"],) if way == "plate of matrices" and len(twin.shape) == 1 else ()
    matrix = random.rng.normal(size=(*lead, rows, size))
    return twin.multiplied_by(random.give(matrix, "a") if lead else Known(matrix, (), matrix))


def _with_one_axis_less(draw: Any, random: RandomModel, twin: Twin) -> Twin:
    size, last = twin.shape[0], twin.shape[-1]
    way = draw(st.sampled_from(["at", "plate", "dot", "@"]))
    if way == "at":
        return twin.at(int(random.rng.integers(-size, size)))
    if way == "plate":
        plate = draw(st.sampled_from(["a", "b"]))
        codes = random.rng.integers(0, size, size=random.sizes[plate])
        return twin.gathered(random.give(codes, plate))
    weights = random.rng.normal(size=last)
    if way == "dot":
        return twin.dotted(weights, dot)
    return twin.dotted(weights, lambda vector, x: x @ vector)
