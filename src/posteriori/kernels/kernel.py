r"""Kernels: inner products :math:`k(x, z) = \langle\phi(x), \phi(z)\rangle` of features that need not be finite.

Sums, products, powers, functions of some columns and of changed inputs are kernels again:

.. math:: k_1 + k_2,\quad k_1 k_2,\quad k^p,\quad k(x_S, z_S),\quad k(f(x), f(z)).

A kernel states one method. Without parameters it is ``evaluate``; with parameters it is ``traced``, which
returns the values and how they move: for weights W the sums :math:`\sum_{nm} W_{nm}\,\partial k(x_n, z_m) /
\partial\ln\theta` are found without an array of N × M × P numbers. Parameters are positive, so their
logarithms are free.

What is on the diagonal of k(X) alone, as :class:`~posteriori.kernels.White` noise is, ``diagonal`` knows:
:math:`k(X)_{nn}` is ``diagonal``, all else is ``evaluate``.

Reference: C. Bishop, "Pattern recognition and machine learning", 2006, §6.2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields, replace
from functools import reduce
from numbers import Real
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from posteriori.kernels.parameter_words import OTHER_WORDS
from posteriori.numerics.blocks.block_sizes import IN_CACHE, rows_per_block
from posteriori.numerics.blocks.memory import require_memory
from posteriori.numerics.telling.parameter_words import words_refused
from posteriori.numerics.threads import share_rows
from posteriori.numerics.types import Array
from posteriori.numerics.validation import SYMMETRY_TOLERANCE, positive

__all__ = ["Constant", "Kernel", "Traced", "check_points", "multiply_traced"]

#: Rows whose kernels with themselves are found together, of which the diagonal is kept.
_DIAGONAL_ROWS = 16

#: Kernel values from which on a second thread pays.
_WORTH_THREADS = 1 << 18


class Traced(NamedTuple):
    """Values of a kernel, and how they move with its parameters.

    Attributes
    ----------
    value : array
        k, (N, M), or (N,) of a diagonal.
    pull : callable
        From weights of the shape of ``value`` to Σ W ∂k/∂ln θ, (P,).
    """

    value: Array
    pull: Callable[[Array], Array]


def check_points(name: str, X: Any) -> Array:
    """Return points (N, D) as numbers, or say what is wrong with them."""
    x = np.asarray(X, dtype=np.float64)
    if x.ndim != 2:
        raise ValueError(
            f"{name} must be a table (N, D), got shape {x.shape}; use {name}[:, None] for one column"
        )
    if not np.isfinite(x).all():
        row, column = np.argwhere(~np.isfinite(x))[0]
        raise ValueError(
            f"{name} must be finite, got {x[row, column]} in row {row}, column {column}; "
            "leave such rows out or fill them in"
        )
    return x


class Kernel:
    """A Mercer kernel: a value that is called with points.

    ``k(X)`` is the Gram matrix (N, N) of points (N, D), ``k(X, Z)`` the matrix (N, M) between two sets.
    ``+``, ``*`` (also with positive numbers) and ``**`` make new kernels, ``on`` and ``warped`` change
    what a kernel sees.
    """

    #: Names of the fields that are learned: positive numbers or vectors of them.
    _learned: ClassVar[tuple[str, ...]] = ()

    def __new__(cls, *args: Any, **named: Any) -> Self:
        """Refuse a parameter that the kernel does not know, and name the one that is meant."""
        known = [own.name for own in fields(cls)] if named else []  # type: ignore[arg-type]
        strange = [word for word in named if word not in known]
        if strange:
            raise TypeError(words_refused(cls.__name__, strange, known, OTHER_WORDS))
        return super().__new__(cls)

    # -- what a kernel states --------------------------------------------------------------

    def evaluate(self, X: Array, Z: Array) -> Array:
        """Return k(xₙ, z_m) of checked points, (N, M), as between different points."""
        return self.traced(X, Z).value

    def traced(self, X: Array, Z: Array) -> Traced:
        """Return k(xₙ, z_m) of checked points, and how it moves with ln θ."""
        return Traced(self.evaluate(X, Z), lambda _: np.zeros(0))

    def traced_diagonal(self, X: Array) -> Traced:
        """Return k(xₙ, xₙ), (N,), and how it moves with ln θ."""
        blocks = [
            self.traced(X[first : first + _DIAGONAL_ROWS], X[first : first + _DIAGONAL_ROWS])
            for first in range(0, len(X), _DIAGONAL_ROWS)
        ]

        def pull(w: Array) -> Array:
            total = np.zeros(len(self.log_parameters))
            for i, block in enumerate(blocks):
                total += block.pull(np.diag(w[i * _DIAGONAL_ROWS : (i + 1) * _DIAGONAL_ROWS]))
            return total

        value = [np.diagonal(block.value) for block in blocks]
        return Traced(np.concatenate([np.zeros(0), *value]), pull)

    def features(self, X: Any) -> Array:
        """Return φ(xₙ) with φ(x)ᵀφ(z) = k(x, z), (N, M), where a finite map is known.

        Raises
        ------
        TypeError
            Where the features are not finite, or not known.
        """
        raise TypeError(
            f"{self!r} has no finite feature map; posteriori.regression.KernelBasis approximates one"
        )

    def traced_features(self, X: Array) -> Traced:
        """Return φ(xₙ) of checked points, (N, M), and how it moves with ln θ.

        Raises
        ------
        TypeError
            Where ``features`` does, or where a kernel with parameters does not state it.
        """
        features = self.features(X)
        if len(self.log_parameters):
            raise TypeError(f"{self!r} does not state how its features move with its parameters")
        return Traced(features, lambda _: np.zeros(0))

    # -- calling ---------------------------------------------------------------------------

    def __call__(self, X: Any, Z: Any = None) -> Array:
        """Return the Gram matrix of X, (N, N), or the matrix between X and Z, (N, M).

        Raises
        ------
        MemoryError
            When free memory cannot hold it, before any is taken.
        """
        x = check_points("X", X)
        z = x if Z is None else check_points("Z", Z)
        if x.shape[1] != z.shape[1]:
            raise ValueError(
                f"Z has {z.shape[1]} columns and X has {x.shape[1]}; points must have the same columns"
            )
        require_memory(
            f"a kernel matrix of {len(x)} × {len(z)} values", len(x) * len(z), "use fewer points"
        )
        gram = np.empty((len(x), len(z)))
        if Z is None or Z is X:
            self._fill_halves(gram, x)
        else:

            def fill(rows: slice) -> None:
                for part in _parts(rows, len(z)):
                    gram[part] = self.evaluate(x[part], z)

            share_rows(fill, len(x), 1 + gram.size // _WORTH_THREADS)
        if Z is None:
            np.fill_diagonal(gram, self.traced_diagonal(x).value)
        return gram

    def _fill_halves(self, gram: Array, x: Array) -> None:
        """Fill a symmetric matrix: what is below the diagonal is evaluated, the rest is its mirror."""
        blocks = list(_parts(slice(0, len(x)), len(x)))

        def fill(pairs: slice) -> None:
            for i in range(len(blocks))[pairs]:
                # a short block and a long one together are as much work as any other two
                for part in {i: blocks[i], len(blocks) - 1 - i: blocks[-1 - i]}.values():
                    gram[part, : part.stop] = self.evaluate(x[part], x[: part.stop])
                    gram[: part.start, part] = gram[part, : part.start].T

        share_rows(fill, (len(blocks) + 1) // 2, 1 + gram.size // _WORTH_THREADS)
        for first in blocks[:1]:  # both halves of which were evaluated
            self._require_symmetric(gram[first, first])

    def _require_symmetric(self, gram: Array) -> None:
        """Refuse a function that is no kernel: its values must not hang on the order of two points."""
        gap = np.abs(gram - gram.T)
        if gap.max() > SYMMETRY_TOLERANCE * np.abs(gram).max():
            n, m = np.unravel_index(int(gap.argmax()), gram.shape)
            raise ValueError(
                f"{self!r} must be symmetric, got {gram[n, m]:.6g} for points {n} and {m}, and {gram[m, n]:.6g} "
                f"for {m} and {n}; (f(X, Z) + f(Z, X).T) / 2 is"
            )

    def diagonal(self, X: Any) -> Array:
        """Return k(xₙ, xₙ), (N,)."""
        return self.traced_diagonal(check_points("X", X)).value

    def gradient(self, X: Any, W: Any, Z: Any = None) -> Array:
        """Return Σₙₘ Wₙₘ ∂k(xₙ, x_m)/∂ln θ, (P,), in blocks of rows.

        Parameters
        ----------
        X : (N, D)
        W : (N, N) or (N, M)
        Z : (M, D), optional
            The other points; by default those of X, noise on the diagonal included.
        """
        x = check_points("X", X)
        z = x if Z is None else check_points("Z", Z)
        w = np.asarray(W, dtype=np.float64)
        if w.shape != (len(x), len(z)):
            raise ValueError(f"W must have shape {(len(x), len(z))}, got {w.shape}")

        def add_up(rows: slice) -> Array:
            total = np.zeros(len(self.log_parameters))
            for part in _parts(rows, len(z)):
                block = np.array(w[part])
                if Z is None:
                    places = np.arange(part.start, part.stop)
                    block[places - part.start, places] = 0.0
                total += self.traced(x[part], z).pull(block)
            return total

        parts = share_rows(add_up, len(x), 1 + w.size // _WORTH_THREADS)
        total: Array = sum(parts, np.zeros(len(self.log_parameters)))
        return total if Z is not None else total + self.traced_diagonal(x).pull(np.diagonal(w))

    # -- parameters ------------------------------------------------------------------------

    @property
    def parts(self) -> tuple[Kernel, ...]:
        """The kernels that this one is made of; none of a simple one."""
        return ()

    @property
    def parameter_names(self) -> tuple[str, ...]:
        """What is learned, such as "RBF.scale[0]"; further kernels of a kind are numbered, "RBF2.scale"."""
        seen: dict[str, int] = {}
        names: list[str] = []
        for leaf in self._leaves():
            kind = type(leaf).__name__
            seen[kind] = seen.get(kind, 0) + 1
            label = kind if seen[kind] == 1 else f"{kind}{seen[kind]}"
            names += [f"{label}.{name}" for name in leaf._own_names()]
        return tuple(names)

    @property
    def log_parameters(self) -> Array:
        """Logarithms of what is learned, (P,); what has a sign (loadings of outputs) as it is."""
        return np.concatenate([np.zeros(0), *(leaf._own_logs() for leaf in self._leaves())])

    def with_log_parameters(self, log_parameters: Any) -> Self:
        """Return the kernel with these parameters, (P,)."""
        logs = np.asarray(log_parameters, dtype=np.float64)
        if logs.shape != (count := self._n_learned,):
            raise ValueError(
                f"log_parameters must have shape ({count},), one for each of {self.parameter_names}, "
                f"got {logs.shape}"
            )
        return self._with_logs(logs)

    def _own_names(self) -> list[str]:
        """Return the names of what a simple kernel learns."""
        names = []
        for name in self._learned:
            value = np.asarray(getattr(self, name))
            names += [name] if value.ndim == 0 else [f"{name}[{d}]" for d in range(value.size)]
        return names

    def _own_logs(self) -> Array:
        """Return the logarithms of what a simple kernel learns, in the order of its names."""
        values = [np.ravel(getattr(self, name)) for name in self._learned]
        return np.log(np.concatenate([np.zeros(0), *values]))

    @property
    def _n_learned(self) -> int:
        """How many parameters are learned."""
        if self.parts:
            return sum(part._n_learned for part in self.parts)
        return sum(np.size(getattr(self, name)) for name in self._learned)

    def _with_logs(self, logs: Array) -> Self:
        """Return the kernel with these logarithms of its parameters."""
        changed: dict[str, Any] = {}
        for name in self._learned:
            old = np.asarray(getattr(self, name))
            changed[name] = np.exp(logs[: old.size]).reshape(old.shape)[()]
            logs = logs[old.size :]
        if not all(np.isfinite(value).all() and np.all(value > 0.0) for value in changed.values()):
            return replace(self, **changed)  # type: ignore[type-var]  # which says what is wrong
        made = object.__new__(type(self))  # a search makes thousands: e^x needs no check
        for own in fields(self):  # type: ignore[arg-type]  # every kernel is a dataclass
            made.__dict__[own.name] = changed.get(own.name, getattr(self, own.name))
        return made

    def _leaves(self) -> Iterator[Kernel]:
        """Yield the simple kernels in order."""
        if not self.parts:
            yield self
        for part in self.parts:
            yield from part._leaves()

    # -- algebra ---------------------------------------------------------------------------

    def __add__(self, other: Any) -> Kernel:
        right = _as_kernel(other)
        return NotImplemented if right is None else Sum(_flat(Sum, self, right))

    def __radd__(self, other: Any) -> Kernel:
        if isinstance(other, int) and other == 0:  # where sum() begins
            return self
        left = _as_kernel(other)
        return NotImplemented if left is None else Sum(_flat(Sum, left, self))

    def __mul__(self, other: Any) -> Kernel:
        right = _as_kernel(other)
        return NotImplemented if right is None else Product(_flat(Product, self, right))

    def __rmul__(self, other: Any) -> Kernel:
        left = _as_kernel(other)
        return NotImplemented if left is None else Product(_flat(Product, left, self))

    def __pow__(self, power: int) -> Kernel:
        return Power(self, power)

    def on(self, columns: Any) -> Kernel:
        """Return the kernel as a function of some columns, by their places."""
        return OnColumns(self, tuple(columns))

    def warped(self, function: Callable[[Array], Array]) -> Kernel:
        """Return k(f(x), f(z)) for a function from points (N, D) to points (N, E)."""
        return Warped(self, function)

    # -- as a value ------------------------------------------------------------------------

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        mine, theirs = self._fields(), other._fields()  # type: ignore[attr-defined]
        return all(
            np.array_equal(a, b) for a, b in zip(mine.values(), theirs.values(), strict=True)
        )

    def __hash__(self) -> int:
        return hash((type(self).__name__, self.parameter_names, self.log_parameters.tobytes()))

    def _fields(self) -> dict[str, Any]:
        return {item.name: getattr(self, item.name) for item in fields(self)}  # type: ignore[arg-type]

    def __repr__(self) -> str:
        inside = ", ".join(f"{name}={_shown(value)}" for name, value in self._fields().items())
        return f"{type(self).__name__}({inside})"


@dataclass(frozen=True, eq=False, repr=False)
class Constant(Kernel):
    """k(x, z) = c: functions that are the same everywhere; as a factor, the size of another kernel.

    Parameters
    ----------
    value : float
        c > 0.

    Examples
    --------
    >>> 2.0 * Constant(3.0)
    Constant(value=2) * Constant(value=3)
    """

    _learned = ("value",)

    value: Any = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "value", positive("value", self.value)[()])

    def traced(self, X: Array, Z: Array) -> Traced:
        return Traced(np.full((len(X), len(Z)), self.value), self._pull)

    def traced_diagonal(self, X: Array) -> Traced:
        return Traced(np.full(len(X), self.value), self._pull)

    def _pull(self, W: Array) -> Array:
        return np.array([self.value * W.sum()])

    def features(self, X: Any) -> Array:
        """Return √c, one column."""
        return np.full((len(check_points("X", X)), 1), np.sqrt(self.value))

    def traced_features(self, X: Array) -> Traced:
        return Traced(self.features(X), lambda W: np.array([0.5 * np.sqrt(self.value) * W.sum()]))


@dataclass(frozen=True, eq=False, repr=False)
class Sum(Kernel):
    """k₁ + k₂ + …: a sum of independent functions."""

    members: tuple[Kernel, ...]

    @property
    def parts(self) -> tuple[Kernel, ...]:
        return self.members

    def _with_logs(self, logs: Array) -> Self:
        return type(self)(_split_logs(self.members, logs))

    def evaluate(self, X: Array, Z: Array) -> Array:
        return _accumulate(np.add, self.members, X, Z)

    def traced(self, X: Array, Z: Array) -> Traced:
        return self._sum([k.traced(X, Z) for k in self.members])

    def traced_diagonal(self, X: Array) -> Traced:
        return self._sum([k.traced_diagonal(X) for k in self.members])

    @staticmethod
    def _sum(traced: list[Traced]) -> Traced:
        value = reduce(np.add, [t.value for t in traced])
        return Traced(value, lambda W: np.concatenate([t.pull(W) for t in traced]))

    def features(self, X: Any) -> Array:
        """Return the features of all members side by side."""
        return np.column_stack([k.features(X) for k in self.members])

    def traced_features(self, X: Array) -> Traced:
        traced = [k.traced_features(X) for k in self.members]
        ends = np.cumsum([t.value.shape[1] for t in traced])[:-1]

        def pull(W: Array) -> Array:
            split = np.split(W, ends, axis=1)
            return np.concatenate([t.pull(w) for t, w in zip(traced, split, strict=True)])

        return Traced(np.column_stack([t.value for t in traced]), pull)

    def __repr__(self) -> str:
        return " + ".join(map(repr, self.members))


@dataclass(frozen=True, eq=False, repr=False)
class Product(Kernel):
    """k₁ k₂ …: where all are large."""

    members: tuple[Kernel, ...]

    @property
    def parts(self) -> tuple[Kernel, ...]:
        return self.members

    def _with_logs(self, logs: Array) -> Self:
        return type(self)(_split_logs(self.members, logs))

    def evaluate(self, X: Array, Z: Array) -> Array:
        return _accumulate(np.multiply, self.members, X, Z)

    def traced(self, X: Array, Z: Array) -> Traced:
        return self._product([k.traced(X, Z) for k in self.members])

    def traced_diagonal(self, X: Array) -> Traced:
        return self._product([k.traced_diagonal(X) for k in self.members])

    @staticmethod
    def _product(traced: list[Traced]) -> Traced:
        def pull(W: Array) -> Array:
            # ∂(k₁k₂…) = Σᵢ ∂kᵢ Π_{j≠i} kⱼ
            pulled = []
            for i, t in enumerate(traced):
                others = [other.value for j, other in enumerate(traced) if j != i]
                pulled.append(t.pull(reduce(np.multiply, others, W)))
            return np.concatenate(pulled)

        return Traced(reduce(np.multiply, [t.value for t in traced]), pull)

    def features(self, X: Any) -> Array:
        """Return all products of a feature of each member."""
        return reduce(_row_products, [k.features(X) for k in self.members])

    def traced_features(self, X: Array) -> Traced:
        return reduce(multiply_traced, [k.traced_features(X) for k in self.members])

    def __repr__(self) -> str:
        return " * ".join(f"({k!r})" if isinstance(k, Sum) else repr(k) for k in self.members)


@dataclass(frozen=True, eq=False, repr=False)
class Power(Kernel):
    """k^p for p = 1, 2, …: a product of a kernel with itself."""

    base: Kernel
    power: int

    def __post_init__(self) -> None:
        if self.power != int(self.power) or self.power < 1:
            raise ValueError(
                f"the power of a kernel must be 1, 2, …, got {self.power!r}; others need not be kernels"
            )

    @property
    def parts(self) -> tuple[Kernel, ...]:
        return (self.base,)

    def _with_logs(self, logs: Array) -> Self:
        return type(self)(self.base._with_logs(logs), self.power)

    def traced(self, X: Array, Z: Array) -> Traced:
        return self._power(self.base.traced(X, Z))

    def traced_diagonal(self, X: Array) -> Traced:
        return self._power(self.base.traced_diagonal(X))

    def _power(self, t: Traced) -> Traced:
        p = self.power
        return Traced(t.value**p, lambda W: t.pull(W * (p * t.value ** (p - 1))))

    def features(self, X: Any) -> Array:
        """Return all products of p features."""
        return reduce(_row_products, [self.base.features(X)] * self.power)

    def traced_features(self, X: Array) -> Traced:
        value, pull = reduce(multiply_traced, [self.base.traced_features(X)] * self.power)
        return Traced(value, lambda W: pull(W).reshape(self.power, -1).sum(axis=0))

    def __repr__(self) -> str:
        inner = f"({self.base!r})" if isinstance(self.base, Sum | Product) else repr(self.base)
        return f"{inner}**{self.power}"


@dataclass(frozen=True, eq=False, repr=False)
class OnColumns(Kernel):
    """A kernel that sees some columns."""

    base: Kernel
    columns: tuple[int, ...]

    def __post_init__(self) -> None:
        columns = np.asarray(self.columns)
        if columns.ndim != 1 or not columns.size or columns.dtype.kind not in "iu":
            raise ValueError(
                f"columns must be one or more places of columns, such as [0, 2], got {self.columns!r}"
            )
        object.__setattr__(self, "columns", tuple(columns.tolist()))

    @property
    def parts(self) -> tuple[Kernel, ...]:
        return (self.base,)

    def _with_logs(self, logs: Array) -> Self:
        return type(self)(self.base._with_logs(logs), self.columns)

    def _select(self, X: Array) -> Array:
        places = np.array(self.columns)
        if (wrong := places[(places < 0) | (places >= X.shape[1])]).size:
            raise ValueError(f"column {wrong[0]} does not exist: points have {X.shape[1]} columns")
        return X[:, places]

    def evaluate(self, X: Array, Z: Array) -> Array:
        return self.base.evaluate(self._select(X), self._select(Z))

    def traced(self, X: Array, Z: Array) -> Traced:
        return self.base.traced(self._select(X), self._select(Z))

    def traced_diagonal(self, X: Array) -> Traced:
        return self.base.traced_diagonal(self._select(X))

    def features(self, X: Any) -> Array:
        """Return the features of the columns that are seen."""
        return self.base.features(self._select(check_points("X", X)))

    def traced_features(self, X: Array) -> Traced:
        return self.base.traced_features(self._select(X))

    def __repr__(self) -> str:
        inner = f"({self.base!r})" if isinstance(self.base, Sum | Product) else repr(self.base)
        return f"{inner}.on({list(self.columns)})"


@dataclass(frozen=True, eq=False, repr=False)
class Warped(Kernel):
    """k(f(x), f(z)): a kernel of changed inputs."""

    base: Kernel
    function: Callable[[Array], Array] = field(hash=False)

    @property
    def parts(self) -> tuple[Kernel, ...]:
        return (self.base,)

    def _with_logs(self, logs: Array) -> Self:
        return type(self)(self.base._with_logs(logs), self.function)

    def _warp(self, X: Array) -> Array:
        warped = check_points("the warped X", self.function(X))
        if len(warped) != len(X):
            raise ValueError(
                f"the warp must return a row for each of {len(X)} points, got {len(warped)} rows"
            )
        return warped

    def evaluate(self, X: Array, Z: Array) -> Array:
        return self.base.evaluate(self._warp(X), self._warp(Z))

    def traced(self, X: Array, Z: Array) -> Traced:
        return self.base.traced(self._warp(X), self._warp(Z))

    def traced_diagonal(self, X: Array) -> Traced:
        return self.base.traced_diagonal(self._warp(X))

    def features(self, X: Any) -> Array:
        """Return the features of the changed inputs."""
        return self.base.features(self._warp(check_points("X", X)))

    def traced_features(self, X: Array) -> Traced:
        return self.base.traced_features(self._warp(X))

    def __repr__(self) -> str:
        name = getattr(self.function, "__name__", repr(self.function))
        return f"({self.base!r}).warped({name})"


def _as_kernel(value: Any) -> Kernel | None:
    """Return a kernel as it is and a number as a constant one; None for others."""
    if isinstance(value, Kernel):
        return value
    if isinstance(value, Real) and not isinstance(value, bool):
        return Constant(positive("a number beside a kernel", float(value)))
    return None


def _flat(kind: type[Sum] | type[Product], *members: Kernel) -> tuple[Kernel, ...]:
    """Return members, those of a sum in a sum one by one."""
    flat: list[Kernel] = []
    for member in members:
        flat += member.members if isinstance(member, kind) else [member]
    return tuple(flat)


def _split_logs(members: tuple[Kernel, ...], logs: Array) -> tuple[Kernel, ...]:
    """Return members with their parameters, which stand one after another."""
    changed = []
    for member in members:
        count = member._n_learned
        changed.append(member._with_logs(logs[:count]))
        logs = logs[count:]
    return tuple(changed)


def _accumulate(operation: np.ufunc, members: tuple[Kernel, ...], X: Array, Z: Array) -> Array:
    """Return the sum or product of kernels, made one at a time."""
    total = np.array(members[0].evaluate(X, Z))
    for member in members[1:]:
        operation(total, member.evaluate(X, Z), out=total)
    return total


def _parts(rows: slice, width: int) -> Iterator[slice]:
    """Yield slices of so many rows that their kernel values stay in the cache."""
    step = rows_per_block(width, IN_CACHE)
    for first in range(rows.start, rows.stop, step):
        yield slice(first, min(first + step, rows.stop))


def _row_products(left: Array, right: Array) -> Array:
    """Return all products of a column on the left and one on the right, row by row."""
    return (left[:, :, None] * right[:, None, :]).reshape(len(left), -1)


def multiply_traced(left: Traced, right: Traced) -> Traced:
    """Return all products of features, (N, M) and (N, L), row by row, and how they move with ln θ of both."""

    def pull(W: Array) -> Array:
        each = W.reshape(*left.value.shape, -1)
        of_left = np.einsum("nml,nl->nm", each, right.value)
        of_right = np.einsum("nml,nm->nl", each, left.value)
        return np.concatenate([left.pull(of_left), right.pull(of_right)])

    return Traced(_row_products(left.value, right.value), pull)


def _shown(value: Any) -> str:
    """Return a field as it is written in code."""
    if callable(value):
        return str(getattr(value, "__name__", repr(value)))
    if isinstance(value, np.ndarray) and value.ndim:
        return "[" + ", ".join(map(_shown, value)) + "]"
    return f"{value:.6g}" if isinstance(value, float) else repr(value)
