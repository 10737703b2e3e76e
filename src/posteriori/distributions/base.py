"""What every distribution is: an immutable, batched value that can be asked for its density.

Batch axes lead, event axes trail: parameters of batch shape B describe B distributions at once,
and ``log_prob(x)`` broadcasts ``x`` of shape ``(..., *B, *event)``.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from functools import cached_property, wraps
from typing import Any, ClassVar, NoReturn, Self

import numpy as np

from posteriori.distributions.formatting import format_distribution
from posteriori.distributions.parameter_words import words_for
from posteriori.distributions.sketches import sketch
from posteriori.distributions.unknown import Conditional, check_plate
from posteriori.numerics.random import as_generator, as_size
from posteriori.numerics.symbol import Symbol
from posteriori.numerics.telling.parameter_words import naming_parameters
from posteriori.numerics.types import Array, Seed
from posteriori.numerics.validation import as_observation

__all__ = ["CAPABILITIES", "Distribution", "Symmetric", "Univariate", "any_of", "has_atoms"]

#: What a distribution may be asked for; families provide what exists for them.
CAPABILITIES = (
    "log_prob",
    "sample",
    "mean",
    "variance",
    "cov",
    "std",
    "mode",
    "median",
    "interval",
    "entropy",
    "kl",
    "cross_entropy",
    "cdf",
    "quantile",
    "iid",
    "natural",
    "mean_params",
    "log_normalizer",
    "sufficient",
    "from_natural",
    "from_mean_params",
    "fit",
    "fisher_information",
    "product",
)


#: Answers that are refused where they are not a number.
_ANSWERS = ("mean", "variance", "cov", "std", "mode", "median", "entropy", "kl", "cross_entropy")


def _answering(name: str, compute: Callable[..., Any]) -> Callable[..., Any]:
    """Let an answer be a number, an infinity or an error, without warnings on the way."""

    @wraps(compute)
    def answer(self: Any, *arguments: Any, **named: Any) -> Any:
        with np.errstate(all="ignore"):
            value = compute(self, *arguments, **named)
        if isinstance(value, (float, np.ndarray)) and any_of(value != value):
            raise ValueError(f"{name} of {self!r} is undefined: its parameters are too extreme")
        return value

    return answer


def _locking(compute: Callable[[Any], Any]) -> Callable[[Any], Any]:
    @wraps(compute)
    def locked(self: Any) -> Any:
        value = compute(self)
        for part in value if isinstance(value, tuple) else (value,):
            if isinstance(part, np.ndarray):
                part.setflags(write=False)
        return value

    return locked


class Distribution:
    """Base of all distributions.

    A family is a subclass that names its parameters in ``_parameters`` (with the number of event
    axes of each), checks them in ``__new__``, and states ``_log_density`` and ``_sample``.
    What a family does not define it does not have: asking raises an error that says so.
    """

    #: Parameter names and how many trailing event axes each has.
    _parameters: ClassVar[Mapping[str, int]]
    #: What defines the value, in constructor order; ``repr`` names those that end in "=".
    _shown: ClassVar[tuple[str, ...]]
    _event_ndim: ClassVar[int] = 0
    #: Whether ``log_prob`` is the probability of a point, not a density.
    _has_atoms: ClassVar[bool] = False

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Lock the arrays that properties remember, refuse answers that are not a number, name parameters."""
        super().__init_subclass__(**kwargs)
        if "__new__" in vars(cls):
            setattr(cls, "__new__", naming_parameters(cls.__new__, words_for(cls.__name__)))  # noqa: B010
        for name, member in tuple(vars(cls).items()):
            guarded = name in _ANSWERS
            if isinstance(member, cached_property):
                func = _answering(name, member.func) if guarded else member.func
                member.func = _locking(func)
            elif guarded and isinstance(member, property) and member.fget is not None:
                setattr(cls, name, property(_answering(name, member.fget), doc=member.__doc__))
            elif guarded and callable(member):
                setattr(cls, name, _answering(name, member))

    @classmethod
    def _from(cls, **parameters: Any) -> Self:
        """Build from checked parameters.

        The one place where a constructor that met a symbol returns a conditional instead.
        """
        self = object.__new__(cls)
        self.__dict__.update(parameters)
        self.__dict__["_given"] = parameters.keys()  # other forms may be remembered later
        for value in parameters.values():
            if type(value) is not np.float64:
                return self._finish(parameters)
        return self

    def _finish(self, parameters: Mapping[str, Array]) -> Self:
        for value in parameters.values():
            if isinstance(value, Symbol):
                conditional: Self = value.condition(type(self), parameters)
                return conditional
        ndims = self._parameters
        batch = _batch_shape({n: v.shape[: v.ndim - ndims[n]] for n, v in parameters.items()})
        for name, value in parameters.items():
            event = value.shape[value.ndim - ndims[name] :]
            self.__dict__[name] = _locked(value, batch + event)
        return self

    @cached_property
    def batch_shape(self) -> tuple[int, ...]:
        """Shape of the batch: () for a single distribution."""
        for name, ndim in self._parameters.items():
            if name in self.__dict__:
                shape: tuple[int, ...] = self.__dict__[name].shape
                return shape[: len(shape) - ndim]
        raise AssertionError("a distribution has at least one parameter")

    @property
    def event_shape(self) -> tuple[int, ...]:
        """Shape of one draw: () for a number."""
        return ()

    # -- density ---------------------------------------------------------------------------

    def log_prob(self, x: Any) -> Array:
        """Return ln p(x), −inf outside the support.

        Parameters
        ----------
        x : array_like
            Points of shape ``(..., *batch_shape, *event_shape)``, broadcast against the batch.

        Returns
        -------
        array
            One value per point; a plain ``np.float64`` for a single point.

        Raises
        ------
        ValueError
            When ``x`` holds NaN or its shape does not fit.
        """
        x = self._observe(x)
        outside = self._outside(x)
        if outside is False or not any_of(outside):
            with np.errstate(all="ignore"):  # ±inf has a density of 0
                return self._settle(self._log_density(x), x)
        with np.errstate(all="ignore"):
            inside = self._log_density(self._replace(x, outside))
        return self._settle(np.where(outside, -np.inf, inside)[()], x)

    def _log_density(self, x: Array) -> Array:
        """Return ln p(x) for points of the support."""
        raise TypeError(f"{type(self).__name__} has no density")

    def _outside(self, x: Array) -> Any:
        """Mark points off the support; False says that every point belongs to it."""
        return False

    def _observe(self, x: Any) -> Array:
        x = as_observation(x)
        expected = self.event_shape
        if expected and x.shape[-len(expected) :] != expected:
            raise ValueError(
                f"x must have shape (..., {', '.join(map(str, expected))}) "
                f"for this {type(self).__name__}, got {x.shape}"
            )
        return x

    def _replace(self, x: Array, outside: Any) -> Array:
        """Put a point of the support where ``x`` is off it, so that formulas stay defined."""
        mask = np.asarray(outside).reshape(np.shape(outside) + (1,) * self._event_ndim)
        return np.where(mask, self._interior(), x)

    def _interior(self) -> Array:
        """Return some point inside the support."""
        mean: Array = self.mean
        return mean

    def _settle(self, value: Array, x: Array) -> Array:
        """Turn the NaN of an infinite point into −inf; refuse NaN that came with the data."""
        undefined = value != value
        if not any_of(undefined):
            return value
        if np.any(np.isnan(x)):
            raise ValueError("x must not hold NaN; drop or impute missing values first")
        infinite = np.isinf(x).any(axis=tuple(range(-self._event_ndim, 0)))
        if np.any(undefined & ~infinite):
            raise ValueError(
                f"log_prob of {self!r} is undefined at a point; parameters are too extreme"
            )
        return np.where(undefined, -np.inf, value)[()]

    # -- draws -----------------------------------------------------------------------------

    def sample(self, size: int | tuple[int, ...] | None = None, *, rng: Seed = None) -> Array:
        """Draw from the distribution.

        Parameters
        ----------
        size : int or tuple of int, optional
            Leading shape of the draws; None gives a single one.
        rng : Generator, int or None
            Source of randomness; the same seed gives the same draws.

        Returns
        -------
        array of shape ``(*size, *batch_shape, *event_shape)``
        """
        self._require_proper("sample")
        with np.errstate(over="ignore", under="ignore"):  # draws beyond all numbers are infinite
            return self._sample(as_size(size) + self.batch_shape, as_generator(rng))

    def _sample(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        """Draw ``shape`` (size and batch) events."""
        raise TypeError(f"{type(self).__name__} cannot be sampled")

    def iid(self, n: int | str) -> Any:
        """Repeat independently.

        ``iid(5)`` is five copies: the same family with a leading batch axis. ``iid("n")`` is a
        declaration for a model: as many copies as the plate "n" turns out to have.
        """
        plate = check_plate(n)
        given = self._given_parameters()
        if isinstance(plate, str):
            return Conditional(type(self), given, (plate,))
        return self._from(
            **{k: np.broadcast_to(v, (plate, *np.shape(v))) for k, v in given.items()}
        )

    def _given_parameters(self) -> dict[str, Array]:
        """Return the parameters in the form in which they were given."""
        given = self.__dict__.get("_given", self.__dict__)
        return {k: self.__dict__[k] for k in self._parameters if k in given}

    def _averaged(self, weights: Array) -> Any:
        """Return Σ_k w_k p_k over the last axis of the batch; None where that is no such family."""
        return None

    def _require_proper(self, what: str) -> None:
        """Refuse what only a normalised density has; messages override this."""

    # -- being a value ---------------------------------------------------------------------

    def _key(self) -> tuple[Array, ...]:
        return tuple(np.asarray(getattr(self, name.rstrip("="))) for name in self._shown)

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        assert isinstance(other, Distribution)
        return all(map(np.array_equal, self._key(), other._key()))

    def __hash__(self) -> int:
        return hash((type(self), *(part.tobytes() for part in self._key())))

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        raise AttributeError(
            f"{type(self).__name__} is a value: make a new one instead of setting {name}"
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (type(self), self._given_parameters())

    def __repr__(self) -> str:
        return format_distribution(
            type(self).__name__, {n: getattr(self, n.rstrip("=")) for n in self._shown}
        )

    def __getattr__(self, name: str) -> Any:
        family = type(self).__name__
        if name in CAPABILITIES:
            lacking = {name} if hasattr(type(self), "variance") else {name, "std"}
            have = ", ".join(c for c in CAPABILITIES if c not in lacking and hasattr(type(self), c))
            raise AttributeError(f"{family} has no {name}; it has {have}")
        if name.startswith("_"):  # asked for by programs, which need no hint
            raise AttributeError(f"{family} has no attribute {name!r}")
        public = [n for n in dir(type(self)) if not n.startswith("_")]
        near = difflib.get_close_matches(name, public, n=1)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise AttributeError(f"{family} has no attribute {name!r}{hint}")


class Univariate(Distribution):
    """A distribution of one number, with cumulative probabilities and what follows from them."""

    def _repr_html_(self) -> str | None:
        return sketch(self)

    @property
    def std(self) -> Array:
        """Standard deviation."""
        root: Array = np.sqrt(self.variance)
        return root

    def cdf(self, x: Any) -> Array:
        """Return P(X <= x)."""
        self._require_proper("cdf")
        x = as_observation(x)
        if any_of(x != x):
            raise ValueError("x must not hold NaN; drop or impute missing values first")
        return self._defined("cdf", self._cdf, x)

    def quantile(self, q: Any) -> Array:
        """Return the smallest x with P(X <= x) >= q, for q in [0, 1]."""
        self._require_proper("quantile")
        q = as_observation(q, "q")
        if not np.all((q >= 0) & (q <= 1)):
            raise ValueError("q must lie between 0 and 1")
        return self._defined("quantile", self._quantile, q)

    def _defined(self, name: str, function: Callable[[Array], Array], at: Array) -> Array:
        with np.errstate(all="ignore"):
            value = function(at)
        if any_of(value != value):
            raise ValueError(f"{name} of {self!r} is undefined: its parameters are too extreme")
        return value

    @cached_property
    def median(self) -> Array:
        """The point with half of the probability on either side."""
        return self.quantile(0.5)

    def interval(self, mass: float = 0.95) -> tuple[Array, Array]:
        """Return the central interval that holds ``mass`` of the probability."""
        if not 0 < mass < 1:
            raise ValueError(f"mass must lie strictly between 0 and 1, got {mass!r}")
        tail = 0.5 * (1.0 - mass)
        return self.quantile(tail), self.quantile(1.0 - tail)

    def _cdf(self, x: Array) -> Array:
        raise TypeError(f"{type(self).__name__} states no cdf")

    def _quantile(self, q: Array) -> Array:
        raise TypeError(f"{type(self).__name__} states no quantile")


class Symmetric(Univariate):
    """A distribution of one number that is symmetric about its highest point."""

    @property
    def mode(self) -> Array:
        """The centre, where the density is highest."""
        return self._centre

    @property
    def median(self) -> Array:
        """The centre, by symmetry."""
        return self._centre

    @property
    def _centre(self) -> Array:
        return self.mean


def has_atoms(d: Any) -> bool:
    """Tell whether single points have probability: whether ``log_prob`` is a mass.

    Examples
    --------
    >>> from posteriori import Normal, Poisson
    >>> has_atoms(Poisson(3.0)), has_atoms(Normal(0.0, variance=1.0))
    (True, False)
    """
    return bool(d._has_atoms)


def any_of(flags: Any) -> bool:
    """Tell whether any flag is set; quick for the single flag of a scalar."""
    return bool(flags.any()) if getattr(flags, "ndim", 0) else bool(flags)


def _batch_shape(shapes: Mapping[str, tuple[int, ...]]) -> tuple[int, ...]:
    kinds = set(shapes.values())
    if len(kinds) == 1:
        return kinds.pop()
    try:
        return np.broadcast_shapes(*kinds)
    except ValueError:
        listed = ", ".join(f"{name} {shape}" for name, shape in shapes.items())
        raise ValueError(f"batch shapes of the parameters do not broadcast: {listed}") from None


def _locked(value: Array, shape: tuple[int, ...]) -> Array:
    if value.shape != shape:
        return np.broadcast_to(value, shape)  # read-only already
    if value.ndim and value.flags.writeable:
        value.setflags(write=False)
    return value


def _restore(family: type[Distribution], given: Mapping[str, Array]) -> Distribution:
    return family._from(**given)
