r"""Maps y = h(x) that random variables can be sent through, stated by their inverse branches.

A map lists all x that lead to y, :math:`x = g_i(y)`, with the logarithm of the slope
:math:`|g_i'(y)|` (of :math:`|\det J_{g_i}(y)|` for vectors) and where the branch exists. Maps are
values: they compare, hash and pickle where the functions they are made of do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np

from posteriori.numerics.lazy import special
from posteriori.numerics.rank import is_invertible
from posteriori.numerics.types import Array
from posteriori.numerics.validation import real

__all__ = [
    "AbsoluteMap",
    "AffineMap",
    "Bijection",
    "Branch",
    "ExpMap",
    "LinearMap",
    "LogMap",
    "LogitMap",
    "Map",
    "MonotoneMap",
    "PiecewiseMap",
    "PowerMap",
    "Preimage",
    "SquareMap",
]

_EVERYWHERE = (-np.inf, np.inf)


class Preimage(NamedTuple):
    """Points x = g(y) of one branch, ln|g'(y)|, and where the branch exists."""

    x: Array
    log_slope: Array
    exists: Any


class Branch(NamedTuple):
    """One inverse branch of a map of numbers, given as functions.

    Attributes
    ----------
    inverse : callable
        g, elementwise.
    slope : callable
        Its derivative g', of either sign.
    domain : (float, float)
        Open interval of y on which the branch exists.
    """

    inverse: Callable[[Any], Any]
    slope: Callable[[Any], Any]
    domain: tuple[float, float] = _EVERYWHERE


class Map:
    """Base of the maps: ``forward`` and the preimages of y."""

    #: Event axes of x and of y.
    event_ndim: ClassVar[int] = 0
    #: Open interval that must hold all of x's probability.
    source: tuple[float, float] = _EVERYWHERE
    #: True or False for monotone maps of numbers, None for others.
    increasing: bool | None = None

    def forward(self, x: Array) -> Array:
        """Return h(x)."""
        raise TypeError(f"{type(self).__name__} states no forward map")

    def preimages(self, y: Array) -> Sequence[Preimage]:
        """Return all branches at y; together they list each x with h(x) = y once."""
        raise TypeError(f"{type(self).__name__} states no inverse")

    def sublevel(self, y: Array) -> tuple[Array, Array]:
        """Return the ends of the interval {x : h(x) <= y}, for maps of numbers with a cdf."""
        if self.increasing is None:
            raise TypeError(f"{type(self).__name__} states no cdf: it is not monotone")
        x, _, exists = self.preimages(y)[0]
        beyond = self._is_above(y) == self.increasing
        end = np.where(beyond, np.inf, -np.inf)
        x = np.where(exists, x, end)
        infinity = np.full(np.shape(x), np.inf)
        return (-infinity, x) if self.increasing else (x, infinity)

    def _is_above(self, y: Array) -> Any:
        """Tell which y off the image lie above it."""
        return np.zeros(np.shape(y), dtype=bool)


@dataclass(frozen=True)
class AffineMap(Map):
    """y = gain · x + offset, with a gain that is not 0."""

    gain: float
    offset: float = 0.0

    def __post_init__(self) -> None:
        """Check the numbers."""
        for name in ("gain", "offset"):
            object.__setattr__(self, name, float(real(name, getattr(self, name))))
        if self.gain == 0:
            raise ValueError("gain must not be 0: the result would be certain, a PointMass")

    @property
    def increasing(self) -> bool:  # type: ignore[override]
        """Whether the gain is positive."""
        return self.gain > 0

    def forward(self, x: Array) -> Array:
        return self.gain * x + self.offset

    def preimages(self, y: Array) -> Sequence[Preimage]:
        slope = np.full(np.shape(y), -np.log(abs(self.gain)))
        return (Preimage((y - self.offset) / self.gain, slope, True),)


@dataclass(frozen=True)
class ExpMap(Map):
    """y = eˣ: a normal becomes log-normal."""

    increasing = True

    def forward(self, x: Array) -> Array:
        with np.errstate(over="ignore"):
            return np.exp(x)

    def preimages(self, y: Array) -> Sequence[Preimage]:
        positive = y > 0
        log = np.log(np.where(positive, y, 1.0))
        return (Preimage(log, -log, positive),)


@dataclass(frozen=True)
class LogMap(Map):
    """y = ln x of positive x."""

    source = (0.0, np.inf)
    increasing = True

    def forward(self, x: Array) -> Array:
        return np.log(x)

    def preimages(self, y: Array) -> Sequence[Preimage]:
        return (Preimage(np.exp(y), y, True),)


@dataclass(frozen=True)
class LogitMap(Map):
    """y = ln x/(1 − x) of x between 0 and 1."""

    source = (0.0, 1.0)
    increasing = True

    def forward(self, x: Array) -> Array:
        return special.logit(x)

    def preimages(self, y: Array) -> Sequence[Preimage]:
        slope = special.log_expit(y) + special.log_expit(-y)
        return (Preimage(special.expit(y), slope, True),)


@dataclass(frozen=True)
class AbsoluteMap(Map):
    """y = abs(x): two branches, x and −x."""

    def forward(self, x: Array) -> Array:
        return np.abs(x)

    def preimages(self, y: Array) -> Sequence[Preimage]:
        flat = np.zeros(np.shape(y))
        return Preimage(y, flat, y >= 0), Preimage(-y, flat, y > 0)

    def sublevel(self, y: Array) -> tuple[Array, Array]:
        """Return (−y, y), an empty interval for negative y."""
        return np.where(y < 0, np.inf, -y), np.where(y < 0, -np.inf, y)


@dataclass(frozen=True)
class PowerMap(Map):
    """y = x^p: of positive x for any p ≠ 0, of all x for whole p > 0."""

    exponent: float

    def __post_init__(self) -> None:
        """Check the exponent."""
        object.__setattr__(self, "exponent", float(real("exponent", self.exponent)))
        if self.exponent == 0:
            raise ValueError("exponent must not be 0: the result would be certain, a PointMass")

    @property
    def _whole(self) -> bool:
        return self.exponent > 0 and self.exponent == np.floor(self.exponent)

    @property
    def _even(self) -> bool:
        return self._whole and self.exponent % 2 == 0

    @property
    def source(self) -> tuple[float, float]:  # type: ignore[override]
        """All numbers for whole powers, else the positive ones."""
        return _EVERYWHERE if self._whole else (0.0, np.inf)

    @property
    def increasing(self) -> bool | None:  # type: ignore[override]
        """None for even powers."""
        return None if self._even else self.exponent > 0

    def forward(self, x: Array) -> Array:
        return x**self.exponent

    def preimages(self, y: Array) -> Sequence[Preimage]:
        inverse = 1.0 / self.exponent
        size = np.abs(y)
        with np.errstate(divide="ignore"):
            root = size**inverse
            slope = (inverse - 1.0) * np.log(size) - np.log(abs(self.exponent))
        if self._even:
            return Preimage(root, slope, y >= 0), Preimage(-root, slope, y > 0)
        if self._whole:
            return (Preimage(np.copysign(root, y), slope, True),)
        return (Preimage(root, slope, y > 0),)

    def sublevel(self, y: Array) -> tuple[Array, Array]:
        """Return (−r, r) for even powers, with r the root."""
        if not self._even:
            return super().sublevel(y)
        root = np.maximum(y, 0.0) ** (1.0 / self.exponent)
        return np.where(y < 0, np.inf, -root), np.where(y < 0, -np.inf, root)


@dataclass(frozen=True)
class SquareMap(PowerMap):
    """y = x²: a standard normal becomes chi-squared with one degree of freedom."""

    exponent: float = 2.0


@dataclass(frozen=True)
class MonotoneMap(Map):
    """A strictly monotone map given by functions.

    Attributes
    ----------
    function, inverse : callable
        h and g = h⁻¹, elementwise.
    log_abs_slope : callable
        y ↦ ln|g'(y)|.
    increasing : bool
        Whether h rises.
    image : (float, float)
        Open interval of the values y.
    """

    function: Callable[[Any], Any]
    inverse: Callable[[Any], Any]
    log_abs_slope: Callable[[Any], Any]
    increasing: bool = True
    image: tuple[float, float] = _EVERYWHERE

    def forward(self, x: Array) -> Array:
        return self.function(x)

    def preimages(self, y: Array) -> Sequence[Preimage]:
        exists = (y > self.image[0]) & (y < self.image[1])
        with np.errstate(all="ignore"):
            return (Preimage(self.inverse(y), self.log_abs_slope(y), exists),)

    def _is_above(self, y: Array) -> Any:
        return y >= self.image[1]


@dataclass(frozen=True)
class PiecewiseMap(Map):
    """A map with several inverse branches, given by functions.

    Attributes
    ----------
    function : callable
        h, elementwise.
    branches : sequence of Branch
        (inverse, slope, domain) of each branch.
    """

    function: Callable[[Any], Any]
    branches: tuple[Branch, ...]

    def __post_init__(self) -> None:
        """Let plain tuples stand for branches."""
        object.__setattr__(self, "branches", tuple(Branch(*branch) for branch in self.branches))

    def forward(self, x: Array) -> Array:
        return self.function(x)

    def preimages(self, y: Array) -> Sequence[Preimage]:
        with np.errstate(all="ignore"):
            return tuple(
                Preimage(inverse(y), np.log(np.abs(slope(y))), (y > domain[0]) & (y < domain[1]))
                for inverse, slope, domain in self.branches
            )


@dataclass(frozen=True)
class Bijection(Map):
    """An invertible map of vectors given by functions.

    Attributes
    ----------
    function, inverse : callable
        h and its inverse g on vectors (..., D).
    log_abs_det : callable
        y ↦ ln|det J_g(y)|, (..., D) → (...).
    """

    event_ndim = 1

    function: Callable[[Any], Any]
    inverse: Callable[[Any], Any]
    log_abs_det: Callable[[Any], Any]

    def forward(self, x: Array) -> Array:
        return self.function(x)

    def preimages(self, y: Array) -> Sequence[Preimage]:
        return (Preimage(self.inverse(y), self.log_abs_det(y), True),)


@dataclass(frozen=True, eq=False)
class LinearMap(Map):
    """y = A x + b with an invertible matrix A."""

    event_ndim = 1

    matrix: Any
    offset: Any = 0.0
    _log_det: float = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Check the matrix."""
        a = real("matrix", self.matrix)
        if a.ndim != 2 or a.shape[0] != a.shape[1]:
            raise ValueError(f"matrix must be one square matrix, got shape {a.shape}")
        if not is_invertible(a):
            raise ValueError("matrix is singular: the map has no inverse")
        object.__setattr__(self, "matrix", a)
        object.__setattr__(self, "offset", real("offset", self.offset))
        object.__setattr__(self, "_log_det", float(np.linalg.slogdet(a)[1]))

    def forward(self, x: Array) -> Array:
        return x @ self.matrix.T + self.offset

    def preimages(self, y: Array) -> Sequence[Preimage]:
        x = np.linalg.solve(self.matrix, (y - self.offset)[..., None])[..., 0]
        return (Preimage(x, np.full(np.shape(y)[:-1], -self._log_det)[()], True),)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, LinearMap):
            return NotImplemented
        return np.array_equal(self.matrix, other.matrix) and np.array_equal(
            self.offset, other.offset
        )

    def __hash__(self) -> int:
        return hash((self.matrix.tobytes(), np.asarray(self.offset).tobytes()))
