r"""What makes a prior and a likelihood conjugate, and the registry of such pairs.

A pair turns data into statistics, statistics and prior into a posterior, and evaluates the
likelihood. Most pairs state one thing: the amounts :math:`t` that data add to the prior's natural
parameters,

.. math:: \ln p(x\mid\theta) = \langle t(x), T_{\text{prior}}(\theta)\rangle + c(x),

from which posterior, evidence and predictive follow (:class:`NaturalPair`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection
from functools import cache
from importlib import import_module
from typing import Any, ClassVar, NamedTuple, TypeVar

import numpy as np

from posteriori.distributions.base import Distribution, any_of
from posteriori.distributions.conjugate.count_statistics import CountStatistics
from posteriori.distributions.coordinates import inner
from posteriori.distributions.exponential import ExponentialFamily
from posteriori.distributions.statistics import Sums
from posteriori.distributions.unknown import Conditional, Unknown
from posteriori.numerics.types import Array

__all__ = [
    "Correction",
    "NaturalPair",
    "Pair",
    "find_pair",
    "list_pairs",
    "match_pair",
    "register",
]


class Correction(NamedTuple):
    """Learning as prediction and correction: ``posterior = prior + gain · error``.

    Attributes
    ----------
    prior, posterior : array
        What is predicted before and after the data.
    data : array
        What the data alone say.
    error : array
        Data less prior prediction.
    gain : array
        Share of the error that is believed; a matrix for vectors.
    correction : array
        Gain times error.
    """

    prior: Array
    data: Array
    gain: Array
    error: Array
    correction: Array
    posterior: Array


class Pair(ABC):
    """A prior together with a likelihood whose posterior stays in the prior's family."""

    prior_family: ClassVar[type[ExponentialFamily]]
    likelihood_family: ClassVar[type[Distribution]]
    #: Names of the likelihood's unknown parameters, in the order of the prior's event.
    unknown: ClassVar[tuple[str, ...]]
    #: Known parameters that must be given for the family name alone not to be enough.
    needs: ClassVar[tuple[str, ...]] = ()

    def __init__(self, prior: Any, conditional: Conditional) -> None:
        self.prior = prior
        self.conditional = conditional
        self.known = conditional.known
        #: Number of rows of known parameters that differ from row to row; None if none does.
        self.row_count: int | None = None
        self.check_maps()

    @property
    def event_ndim(self) -> int:
        """Number of axes of one datum."""
        return self.likelihood_family._event_ndim

    @property
    def of(self) -> str:
        """Which data the evidence is the probability of."""
        return "X"

    def check_maps(self) -> None:
        """Refuse maps of the unknowns under which the pair is not conjugate."""
        for name, value in self.conditional.unknown.items():
            if not value.is_plain:
                raise TypeError(f"{name} must be the unknown itself, without a map applied to it")

    def rows(self, value: Any, start: int, block: Array) -> Array:
        """Return the part of a known quantity that belongs to the rows of ``block``."""
        ndim = block.ndim - self.event_ndim
        if value is None or np.ndim(value) < ndim or np.shape(value)[0] == 1:
            return value
        self.row_count = len(value)
        part: Array = value[start : start + len(block)]
        if len(part) != len(block):
            raise ValueError(
                f"a known parameter has {len(value)} rows but data have at least "
                f"{start + len(block)}; give one row for each datum"
            )
        return part

    def check_rows(self, count: int) -> None:
        """Refuse known parameters with more rows than the data."""
        if self.row_count not in (None, count):
            raise ValueError(
                f"a known parameter has {self.row_count} rows but data have {count}; "
                "give one row for each datum"
            )

    def encode(self, data: Any) -> Any:
        """Turn what the user has into numbers; labels become codes."""
        return data

    def off_support(self, x: Array) -> Any:
        """Mark data that the likelihood cannot produce."""
        off = getattr(self.likelihood_family, "_off_support", None)
        return False if off is None else off(x)

    @property
    def event_shape(self) -> tuple[int, ...]:
        """Shape of one datum."""
        return ()

    def check_shape(self, block: Array) -> None:
        """Refuse rows of another shape than the likelihood's data, or than the prior's batch."""
        cut = block.ndim - self.event_ndim
        if block.shape[cut:] != self.event_shape:
            raise ValueError(
                f"each datum must have shape {self.event_shape}, got {block.shape[cut:]}"
            )
        try:
            np.broadcast_shapes(block.shape[1:cut], self.prior.batch_shape)
        except ValueError:
            raise ValueError(
                f"rows have batch shape {block.shape[1:cut]}, which does not broadcast against "
                f"the prior's batch shape {self.prior.batch_shape}"
            ) from None

    def check(self, block: Array, start: int) -> None:
        """Refuse data that the likelihood cannot produce, naming the row."""
        self.check_shape(block)
        outside = self.off_support(block)
        if outside is not False and any_of(outside):
            where = np.argwhere(outside)[0]
            raise ValueError(
                f"data must lie in the support of {self.likelihood_family.__name__}: "
                f"row {start + where[0]} holds {block[tuple(where)]}"
            )

    @abstractmethod
    def summarize(self, block: Array, start: int = 0) -> Any:
        """Return mergeable statistics of the rows of ``block``."""

    @abstractmethod
    def update(self, belief: Any, statistics: Any) -> Any:
        """Return the posterior that starts from ``belief``."""

    @abstractmethod
    def log_likelihood(self, theta: Any, statistics: Any) -> Array:
        """Return ln p(data | θ)."""

    @abstractmethod
    def predictive(self, belief: Any) -> Distribution:
        """Return the distribution of the next datum, θ integrated out."""

    @abstractmethod
    def correction(self, posterior: Any, statistics: Any) -> Correction:
        """Return learning as prediction and correction."""

    def log_evidence(self, posterior: Any, statistics: Any) -> Array:
        r"""Return :math:`\ln p(D) = \ln p(D\mid\theta) + \ln p(\theta) - \ln p(\theta\mid D)`.

        Bayes' rule holds at every θ; a point where the posterior is high keeps the digits.
        """
        theta = posterior._interior()
        return (
            self.log_likelihood(theta, statistics)
            + self.prior.log_prob(theta)
            - posterior.log_prob(theta)
        )


class NaturalPair(Pair):
    """A pair whose data add to the prior's natural parameters.

    The statistics are :class:`Sums` whose components are those increments, and whose
    ``log_carrier`` is the part of the log likelihood without θ; of large counts
    :class:`CountStatistics`, with the same increments.
    """

    def update(self, belief: Any, statistics: Sums) -> Any:
        """Add the increments to the natural parameters."""
        return belief._from_natural(
            *(p + t for p, t in zip(belief.natural, statistics.sums, strict=True))
        )

    def log_likelihood(self, theta: Any, statistics: Sums | CountStatistics) -> Array:
        """Return ⟨t, T(θ)⟩ + c; large counts have a form of their own."""
        if isinstance(statistics, CountStatistics):
            return statistics.log_likelihood(theta)
        family = self.prior_family
        exponent = inner(statistics.sums, family.sufficient(theta), family._natural_ndims)
        return exponent + statistics.log_carrier

    def correction(self, posterior: Any, statistics: Sums) -> Correction:
        """Blend prior prediction and data estimate by their strengths."""
        prior_strength, data_strength, data = self.strengths(statistics)
        gain = data_strength / (prior_strength + data_strength)
        before = self.prediction(self.prior)
        if np.ndim(before) > np.ndim(gain):
            gain = np.asarray(gain)[..., None]
        error = data - before
        return Correction(before, data, gain, error, gain * error, before + gain * error)

    def prediction(self, belief: Any) -> Array:
        """Return the predicted quantity: the mean of θ unless the pair says otherwise."""
        mean: Array = belief.mean
        return mean

    @abstractmethod
    def strengths(self, statistics: Sums) -> tuple[Array, Array, Array]:
        """Return the weight of the prior, of the data, and what the data alone say."""


#: Files whose pairs join the registry when the first pair is looked up.
_FILES = (
    "count_pairs",
    "gaussian_pairs",
    "log_normal_pairs",
    "pareto_pairs",
    "regression_pairs",
    "vector_pairs",
    "waiting_pairs",
)
_PAIRS: list[type[Pair]] = []
P = TypeVar("P", bound=type[Pair])


def register(pair: P) -> P:
    """Add a pair to the registry; used as a decorator."""
    _PAIRS.append(pair)
    return pair


@cache
def _load_files() -> None:
    for file in _FILES:
        import_module(f"posteriori.distributions.conjugate.{file}")


def list_pairs() -> list[type[Pair]]:
    """Return all registered pairs."""
    _load_files()
    return list(_PAIRS)


def match_pair(
    prior: type, likelihood: Any, unknown: tuple[str, ...], known: Collection[str]
) -> type[Pair] | None:
    """Return the pair of two families, given which parameters are unknown and which known."""
    for pair in _pairs_of(prior, likelihood):
        if pair.unknown == unknown and set(pair.needs) <= set(known):
            return pair
    return None


def find_pair(prior: Any, likelihood: Any) -> Pair:
    """Return the pair for a prior and a likelihood: a family, or a traced conditional."""
    if isinstance(likelihood, Conditional):
        unknown = tuple(likelihood.unknown)
        found = match_pair(type(prior), likelihood.family, unknown, likelihood.known)
        if found is None:
            raise TypeError(_no_pair(prior, likelihood.family, unknown))
        return found(prior, likelihood)
    rows = _pairs_of(type(prior), likelihood)
    for pair in rows:
        if not pair.needs:
            unknowns = {name: Unknown(i) for i, name in enumerate(pair.unknown)}
            return pair(prior, Conditional(likelihood, unknowns))
    if rows:
        raise TypeError(_needs_function(rows[0]))
    raise TypeError(_no_pair(prior, likelihood, ()))


def _pairs_of(prior: type, likelihood: Any) -> list[type[Pair]]:
    return [
        pair
        for pair in list_pairs()
        if pair.prior_family is prior and pair.likelihood_family is likelihood
    ]


def _needs_function(pair: type[Pair]) -> str:
    family, unknown = pair.likelihood_family.__name__, ", ".join(pair.unknown)
    named = {name: f"{name}={name}" for name in pair.unknown}
    named |= {name: f"{name}=..." for name in pair.needs}
    order = [name for name in pair.likelihood_family._parameters if name in named]
    arguments = ", ".join(named[name] for name in order)
    return (
        f"a {pair.prior_family.__name__} prior needs to know the {' and '.join(pair.needs)} of "
        f"{family}; write the likelihood as a function: "
        f"lambda {unknown}: {family}({arguments})"
    )


def _no_pair(prior: Any, family: Any, unknown: tuple[str, ...]) -> str:
    partners = sorted(
        f"{pair.likelihood_family.__name__}({', '.join(pair.unknown)} unknown)"
        for pair in _PAIRS
        if pair.prior_family is type(prior)
    )
    what = f" with unknown {', '.join(unknown)}" if unknown else ""
    have = f"; it is conjugate to {', '.join(partners)}" if partners else ""
    return f"{type(prior).__name__} is not conjugate to {family.__name__}{what}{have}"
