r"""Jointly normal variables with one unknown common precision, solved exactly.

If every normal factor has precision :math:`\tau\Lambda_i` with known :math:`\Lambda_i`, then at
:math:`\tau=1` the block is an ordinary normal one with posterior :math:`N(m, C)`, evidence
:math:`V - \tfrac12 r`, where :math:`r = \sum_i |\text{residual}_i(m)|^2_{\Lambda_i}`, and

.. math:: \ln p(y\mid\tau) = V + \tfrac N2\ln\tau - \tfrac12\tau r,
          \qquad x\mid\tau, y \sim N(m, C/\tau),

where N counts the observed numbers. That is conjugate to a gamma distribution of τ (or an
inverse-gamma distribution of 1/τ); averaged over it, the normal variables follow Student t
distributions. On a plate each member of τ has its own variables, and all this holds member by
member.

A common precision matrix Λ, times a known number in each factor, does the same to vectors: the
misfit is the matrix :math:`R = \sum_i w_i\,\text{residual}_i\text{residual}_i^\top`, and

.. math:: \ln p(y\mid\Lambda) = V + \tfrac N2\ln|\Lambda| - \tfrac12\mathrm{tr}(\Lambda R),
          \qquad X\mid\Lambda, y \sim N(M, C\otimes\Lambda^{-1}),

where N counts the observed vectors: conjugate to a Wishart distribution of Λ.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from posteriori.distributions.conjugate.pair import find_pair
from posteriori.distributions.numbers.normal import Normal
from posteriori.distributions.statistics import Sums
from posteriori.distributions.unknown import Conditional, Unknown
from posteriori.distributions.vectors.mvnormal import MvNormal
from posteriori.inference.gaussian.equations import residual, segment_sum
from posteriori.modeling.binding.bound import Bound, BoundFactor
from posteriori.modeling.binding.construction import member
from posteriori.modeling.binding.labelled import count_of
from posteriori.modeling.contract.costs import Cost
from posteriori.modeling.contract.engine import Block
from posteriori.modeling.exact.chain.chain_block import GaussianChainBlock, find_chain
from posteriori.modeling.exact.gaussian.gaussian_block import GaussianBlock
from posteriori.modeling.exact.gaussian.normal_result import NormalResult
from posteriori.modeling.exact.scaled.scaled_factors import (
    MATRICES,
    PRECISIONS,
    at_unit,
    entries_apart,
    is_there,
    places_of_spread,
    take_logarithms,
)
from posteriori.modeling.exact.scaled.scaled_result import CommonPrecisionResult
from posteriori.numerics.types import Array, number

__all__ = ["CommonPrecisionBlock", "Tally"]

#: A misfit so many times the number of data costs the evidence its digits.
_FAR = 1e3


class Tally(NamedTuple):
    """What the rows of one factor say of the precision, for each of its G members.

    Attributes
    ----------
    name : str
        The factor.
    counts : (G,)
        Rows: numbers, or vectors under a common matrix.
    misfits : (G,) or (G, D, D)
        Sum of the squares of what is left at the mean, in units of the noise.
    """

    name: str
    counts: Array
    misfits: Array


class CommonPrecisionBlock(Block):
    """Normal variables all of whose factors share an unknown precision.

    Parameters
    ----------
    bound : Bound
    names : sequence of str
        The unknown variables.
    factors : sequence of BoundFactor
        All factors that touch them.
    spread : str
        The common precision or variance, as :func:`find_common_precision` found it.
    """

    def __init__(
        self, bound: Bound, names: Sequence[str], factors: Sequence[BoundFactor], spread: str
    ) -> None:
        others = [f for f in factors if f.name != spread]
        self.bound, self.factors, self.log_slopes = take_logarithms(bound, others)
        self.names = tuple(names)
        self.spread = spread
        self.prior_factor = next(f for f in factors if f.name == spread)
        self.family = self.prior_factor.family
        self.unit = [at_unit(f, spread, self.family) for f in self.factors]
        self.is_matrix = self.family in MATRICES
        layouts = self.bound.layouts
        apart = entries_apart(layouts, self.factors) if self.is_matrix else layouts
        normals = self.bound._replace(layouts=apart)
        self.gaussian = _normal_block(normals, [n for n in names if n != spread], self.unit)

    @property
    def why(self) -> str:
        """Why this method holds."""
        return f"{self.spread} scales the noise of every normal factor"

    @property
    def order(self) -> tuple[str, ...]:
        """The order of elimination."""
        return (*self.gaussian.order, self.spread)

    @property
    def cost(self) -> Cost:
        """What the normal variables cost; the misfit is one more look at the rows."""
        return self.gaussian.cost  # type: ignore[no-any-return]

    @property
    def method(self) -> str:
        """How the normal variables are solved, and what is added."""
        update = "Wishart" if self.is_matrix else "gamma"
        return f"{self.gaussian.method} at unit precision, then a {update} update"

    def describe(self) -> str:
        """Say what is eliminated, and what is averaged over."""
        family = self.family.__name__
        return f"{self.gaussian.describe()}; common {self.spread} ({family}) averaged over"

    def solve(self) -> CommonPrecisionResult:
        """Return the exact posterior: normal at unit precision, then Bayes' rule for it."""
        solved = self.gaussian.solve()
        prior = member(self.prior_factor)
        owners = self._owners(solved.names)
        tallies = self.tallies(solved)
        misfits = _total([t.misfits for t in tallies], prior.batch_shape)
        rows = [t.counts for t in tallies]
        # each unknown number takes one row, be it a prior of its own or a gap among the data
        counts = _total([*rows, -self.count_rows(owners)], prior.batch_shape)
        pair = _rule(prior)
        sign = 1.0 if self.family in PRECISIONS else -1.0
        sums = Sums(counts, (0.5 * sign * counts, -0.5 * misfits), number(0.0))
        posterior = pair.update(prior, sums)
        gain = np.where(counts > 0, pair.log_evidence(posterior, sums), 0.0)
        log_evidence = self._log_volume(solved, counts, misfits) + float(np.sum(gain))
        log_evidence += sum(self.log_slopes.values())
        return CommonPrecisionResult(posterior, solved, owners, log_evidence, self)

    def tallies(self, solved: NormalResult) -> list[Tally]:
        """Return the number of rows and the misfit of every equation, for each member."""
        sources, equations, means = solved.solution()
        layout = self.bound.layouts[self.spread]
        size = count_of(layout.lead)
        members: list[Any] = [None] * len(equations)
        if layout.lead:
            members = [self._members_of_rows(f) for f in self.factors]
        found = []
        for name, equation, mine in zip(sources, equations, members, strict=True):
            left = np.sqrt(equation.weight) * residual(equation, means)
            if self.is_matrix:
                left = left.reshape(-1, layout.events[0].size)
            found.append(_tally(name, left, mine, size))
        return found

    def rows_of(self, name: str) -> int:
        """Return how many numbers, or vectors under a common matrix, a variable has."""
        layout = self.bound.layouts[name]
        return count_of(layout.lead if self.is_matrix else layout.axes)

    def _members_of_rows(self, factor: BoundFactor) -> Any:
        """Return which member of the spread each row of a factor that is not missing has."""
        kept = is_there(factor, self.bound)
        places = places_of_spread(factor, self.spread, self.bound.layouts[self.spread])
        if self.is_matrix:
            return places[kept.all(axis=-1)]
        places = places.reshape(places.shape + (1,) * len(factor.events))
        return np.broadcast_to(places, kept.shape)[kept]

    def count_rows(self, owners: Mapping[str, Any]) -> Array:
        """Return how many numbers or vectors of the normal variables each member owns."""
        size = count_of(self.bound.layouts[self.spread].lead)
        rows = np.zeros(size)
        for name, places in owners.items():
            alike = self.rows_of(name) / np.size(places)
            rows += alike * np.bincount(np.ravel(places), minlength=size)
        return rows

    def _owners(self, names: Sequence[str]) -> dict[str, Any]:
        """Return which member of the spread each member of the normal variables has."""
        layout = self.bound.layouts[self.spread]
        if not layout.lead:
            return dict.fromkeys(names, np.zeros((), dtype=np.intp))
        return {
            f.name: places_of_spread(f, self.spread, layout)
            for f in self.factors
            if f.name in names
        }

    def _log_volume(self, solved: NormalResult, counts: Array, misfits: Array) -> float:
        """Return the log evidence at unit precision, less the part of the misfit.

        A smoother tells only the sum of both; where the misfit is far the larger, it is asked
        again at the precision that the data suggest.
        """
        if solved.log_volume is not None:
            return float(solved.log_volume)
        count, misfit = float(np.sum(counts)), float(np.sum(misfits))
        if misfit <= _FAR * count:
            return float(solved.log_evidence) + 0.5 * misfit
        tau = count / misfit
        factors = [at_unit(f, self.spread, self.family, tau) for f in self.factors]
        again = _normal_block(self.bound, self.gaussian.names, factors).solve()
        return float(again.log_evidence) + 0.5 * (count - count * np.log(tau))


# -- steps of the solution -------------------------------------------------------------------


def _rule(prior: Any) -> Any:
    """Return Bayes' rule for a normal precision or variance."""
    if isinstance(prior, MATRICES):
        key = "precision" if isinstance(prior, PRECISIONS) else "cov"
        zero = np.zeros(prior.event_shape[-1])
        return find_pair(prior, Conditional(MvNormal, {"mean": zero, key: Unknown()}))
    key = "precision" if isinstance(prior, PRECISIONS) else "variance"
    return find_pair(prior, Conditional(Normal, {"mean": number(0.0), key: Unknown()}))


def _tally(name: str, left: Array, members: Any, size: int) -> Tally:
    """Sum squares, or outer products of rows (R, D), into the members."""
    if members is None:
        return Tally(name, np.array([float(len(left))]), (left.T @ left)[None])
    counts = np.bincount(members, minlength=size).astype(np.float64)
    square = left**2 if left.ndim == 1 else left[:, :, None] * left[:, None, :]
    return Tally(name, counts, segment_sum(square, members, size))


def _total(parts: Sequence[Array], batch: tuple[int, ...]) -> Array:
    """Add up parts (G, ...) of members that make a batch."""
    total = np.sum(parts, axis=0)
    return total.reshape(batch + total.shape[1:])[()]  # type: ignore[no-any-return]


def _normal_block(bound: Bound, names: Sequence[str], factors: Sequence[BoundFactor]) -> Any:
    """Return the block of the normal variables when the precision is known."""
    chain = find_chain(bound, names, factors)
    touched = all(f.name in names or not f.parameters["mean"].is_known for f in factors)
    if chain is not None and touched:
        return GaussianChainBlock(bound, names, factors, chain)
    return GaussianBlock(bound, names, factors)
