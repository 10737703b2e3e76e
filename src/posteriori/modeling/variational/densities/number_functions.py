"""Functions of unknown numbers that laws ask for, beyond the statistics of their families.

A spread with a half-Cauchy prior, a gamma shape or degrees of freedom have no family that messages
stay in. The log density of a model is all the same a sum of known coefficients times functions of such
a number, and its belief is a density on a grid.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from posteriori.distributions.base import Univariate, has_atoms
from posteriori.distributions.batches import take_members
from posteriori.inference.quadrature.tilted import Line
from posteriori.modeling.binding.bound import GAUSSIAN, Bound, BoundFactor, Layout
from posteriori.modeling.binding.construction import construct
from posteriori.modeling.binding.labelled import shape_of
from posteriori.modeling.forms.conjugate_rows import reshaped
from posteriori.modeling.forms.state_tables import DISCRETE
from posteriori.modeling.variational.densities.monomials import Monomial, Stat
from posteriori.numerics.lazy import special
from posteriori.numerics.types import Array

__all__ = [
    "FUNCTIONS",
    "Key",
    "Numbers",
    "Of",
    "expect_by_scores",
    "key_of",
    "keys_of",
    "leaves_family",
    "log_prior",
    "numbers_of",
    "why_no_numbers",
]

#: What laws may ask for of an unknown number x > 0.
FUNCTIONS: Mapping[str, Callable[[Array], Array]] = {
    "value": np.asarray,
    "log": np.log,
    "inverse": np.reciprocal,
    "inverse square": lambda x: np.reciprocal(x * x),
    "log of rest": lambda x: np.log1p(-x),
    "log gamma": lambda x: special.gammaln(x),
}

#: Normal scores at which beliefs are looked at: so many, and within ± this.
_LEVELS, _SCORES = 401, 7.5

#: The log density of its prior, whose parameters are known.
_PRIOR = "prior"


class Of(NamedTuple):
    """A function of a multiple of the number, instead of an entry of T(x)."""

    kind: str
    factor: float = 1.0


#: A product of functions or entries of T(x) of one number.
Key = tuple[Any, ...]


def log_prior(factor: BoundFactor) -> Stat:
    """Return the logarithm of a known prior as a function of its number."""
    return Stat(factor.name, factor.places, Of(_PRIOR))


def keys_of(monomials: Iterable[Monomial], name: str) -> tuple[Key, ...]:
    """Return the products of functions of a number that a log density has, each once."""
    found: dict[Key, None] = {}
    for monomial in monomials:
        key = key_of(a for a in monomial.accesses if a.name == name)
        if key:
            found[key] = None
    return tuple(sorted(found, key=repr))


def key_of(accesses: Iterable[Any]) -> Key:
    """Return which product of functions some accesses ask for."""
    return tuple(sorted((a.component for a in accesses), key=repr))


def leaves_family(keys: Iterable[Key]) -> bool:
    """Tell whether beliefs with such statistics have left the family of their prior."""
    return any(len(key) > 1 or isinstance(key[0], Of) for key in keys)


def why_no_numbers(bound: Bound, name: str) -> str | None:
    """Say why a variable cannot be believed in by densities on grids; None where it can."""
    family = bound.families[name]
    if not (isinstance(family, type) and issubclass(family, Univariate)):
        return f"{name} is {family.__name__}, no number"
    if family in GAUSSIAN or family in DISCRETE:
        return f"{name} is {family.__name__}, which may be negative or is discrete"
    factor = _own_factor(bound.factors, name)
    if factor.places != bound.layouts[name].axes:
        return f"{name} is a chain of {family.__name__}"
    prior = _stand_in(factor)
    if has_atoms(prior):
        return f"{name} is {family.__name__}, which is discrete"
    try:
        low = np.asarray(prior.quantile(0.0))
    except TypeError as error:
        return f"{name} is {family.__name__}: {error}"
    if np.any(low < 0.0):
        return f"{name} is {family.__name__}, which may be negative"
    return None


class Numbers(NamedTuple):
    """Unknown numbers with a density on a grid each, one after another.

    Attributes
    ----------
    family : type
        Of the prior.
    prior : Distribution or None
        For all members, or one for each, (M,); None where its parameters are unknown.
    line : Line
        Where they end, (M,).
    """

    family: Any
    prior: Any
    line: Line

    def repeated(self, starts: int) -> Line:
        """Return where the numbers of all starts end."""
        return Line(np.tile(self.line.low, starts), np.tile(self.line.high, starts))

    def evaluate(self, keys: Sequence[Key], x: Array, columns: slice) -> list[Array]:
        """Return products of functions at points (G, C) of some members of all starts."""
        parts = {
            component: self._function(component, x, columns)
            for component in dict.fromkeys(c for key in keys for c in key)
        }
        return [
            np.prod([parts[c] for c in key], axis=0) if key[1:] else parts[key[0]] for key in keys
        ]

    def _function(self, component: Any, x: Array, columns: slice) -> Array:
        if not isinstance(component, Of):
            return np.asarray(self.family.sufficient(x)[component])
        if component.kind != _PRIOR:
            return FUNCTIONS[component.kind](component.factor * x)
        prior = self.prior
        if prior.batch_shape:
            index = np.arange(columns.start, columns.stop) % prior.batch_shape[0]
            prior = take_members(prior, index)
        return np.asarray(prior.log_prob(x))

    def median(self, starts: int) -> Array | None:
        """Return the middle of the prior, (C,); None where it is not known."""
        if self.prior is None:
            return None
        return np.tile(np.broadcast_to(self.prior.median, self.line.low.shape), starts)


def numbers_of(factors: Iterable[BoundFactor], name: str, layout: Layout) -> Numbers:
    """Return the numbers of a variable."""
    factor = _own_factor(factors, name)
    known = all(poly.is_known for poly in factor.parameters.values())
    prior = _stand_in(factor)
    shape = shape_of(layout.lead)
    low, high = (
        np.broadcast_to(prior.quantile(end), shape).reshape(-1).astype(np.float64)
        for end in (0.0, 1.0)
    )
    return Numbers(factor.family, _shared_or_flat(prior) if known else None, Line(low, high))


def expect_by_scores(belief: Any, function: Callable[[Array], Array]) -> Array:
    """Return the expectation of a function under a batch of beliefs about numbers.

    Parameters
    ----------
    belief : Univariate
    function : callable
        Takes numbers (G, *batch) and returns as many.
    """
    scores = np.linspace(-_SCORES, _SCORES, _LEVELS)  # x = F⁻¹(Φ(z)) is smooth in z
    weights = np.exp(-0.5 * scores**2)
    levels = special.ndtr(scores).reshape(-1, *(1,) * len(belief.batch_shape))
    values = function(np.asarray(belief.quantile(levels)))
    return np.tensordot(weights / weights.sum(), values, axes=1)


def _shared_or_flat(prior: Any) -> Any:
    """Return one prior for all members where these are alike, else one for each, (M,)."""
    lead, given = len(prior.batch_shape), prior._given_parameters()
    first = {key: np.asarray(value)[(slice(0, 1),) * lead] for key, value in given.items()}
    if prior.batch_shape and all(np.all(given[key] == one) for key, one in first.items()):
        return take_members(prior, (0,) * lead)
    return reshaped(prior, (-1,)) if prior.batch_shape else prior


def _own_factor(factors: Iterable[BoundFactor], name: str) -> BoundFactor:
    return next(factor for factor in factors if factor.name == name)


def _stand_in(factor: BoundFactor) -> Any:
    """Return the prior with 1 in the place of unknown parameters: it has the same ends."""
    parameters = {
        key: poly.value() if poly.is_known else np.ones(tuple(a.size for a in poly.labels))
        for key, poly in factor.parameters.items()
    }
    return construct(factor.family, parameters, factor.name)
