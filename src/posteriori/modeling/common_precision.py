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
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from posteriori.distributions.conjugate import find_pair
from posteriori.distributions.gamma import Gamma
from posteriori.distributions.inverse_gamma import InverseGamma
from posteriori.distributions.mv_student_t import MvStudentT
from posteriori.distributions.mvnormal import MvNormal
from posteriori.distributions.normal import Normal
from posteriori.distributions.statistics import Sums
from posteriori.distributions.student_t import StudentT
from posteriori.distributions.unknown import Conditional, Unknown
from posteriori.inference.gaussian_equations import Equation, residual
from posteriori.modeling.binding import Bound, BoundFactor, Layout
from posteriori.modeling.conjugate_rows import same_places
from posteriori.modeling.costs import Cost
from posteriori.modeling.gaussian import GaussianBlock
from posteriori.modeling.gaussian_chain import GaussianChainBlock, find_chain
from posteriori.modeling.gaussian_links import flat_index
from posteriori.modeling.gaussian_result import GaussianResult, in_layout_order
from posteriori.modeling.gaussian_rows import child_term
from posteriori.modeling.simulation import member
from posteriori.modeling.tables import (
    Access,
    Axis,
    Polynomial,
    Table,
    Term,
    labels_of,
    spread,
    substitute,
)
from posteriori.numerics.random import as_generator
from posteriori.numerics.types import Array, Seed, number

__all__ = [
    "CommonPrecisionBlock",
    "CommonPrecisionResult",
    "at_unit_precision",
    "find_common_precision",
    "student",
    "student_predictive",
]

#: Which parameters of normal factors a family is the common part of.
_SPREADS: dict[Any, tuple[str, ...]] = {
    Gamma: ("precision",),
    InverseGamma: ("variance", "cov"),
}


#: A misfit so many times the number of data costs the evidence its digits.
_FAR = 1e3


class CommonPrecisionResult(NamedTuple):
    """A solved block.

    Attributes
    ----------
    spread : str
        Name of the common precision or variance.
    belief : Gamma or InverseGamma
        Its posterior.
    gaussian : GaussianResult or ChainResult
        The normal variables at unit precision.
    owners : mapping to int arrays
        Which member of the common precision each member of a normal variable has.
    log_evidence : float
    block : CommonPrecisionBlock
        What was solved.
    """

    spread: str
    belief: Any
    gaussian: Any
    owners: Mapping[str, Any]
    log_evidence: float
    block: CommonPrecisionBlock

    @property
    def names(self) -> tuple[str, ...]:
        """The variables of the block."""
        return (self.spread, *self.gaussian.names)

    @property
    def layouts(self) -> Mapping[str, Layout]:
        """The axes of all variables."""
        return self.gaussian.layouts

    def marginal(self, name: str) -> Any:
        """Return the marginal of a variable: Student t for the normal ones."""
        if name == self.spread:
            return self.belief
        return student(self.gaussian.marginal(name), self.belief, self.owners[name])

    def system(self) -> Any:
        """Return the normal system at unit precision."""
        return self.gaussian.system()

    def sample(self, size: int, *, rng: Seed = None) -> dict[str, Array]:
        """Draw the precision, then the normal variables given it."""
        generator = as_generator(rng)
        spreads = self.belief.sample(size, rng=generator)
        flat = np.reshape(spreads, (size, -1))
        units = flat**-0.5 if isinstance(self.belief, Gamma) else np.sqrt(flat)
        found = {self.spread: spreads}
        for name, draws in self.gaussian.sample(size, rng=generator).items():
            center = np.asarray(self.gaussian.marginal(name).mean)
            unit = units[:, self.owners[name]]
            unit = unit.reshape(unit.shape + (1,) * (draws.ndim - unit.ndim))
            found[name] = center + unit * (draws - center)
        return found

    def scaled(self, joint: MvNormal) -> Any:
        """Average a joint normal distribution at unit precision over the precision."""
        if np.size(self.belief.mean) != 1:
            raise TypeError(
                f"several members of {self.spread} make no joint distribution of a known family"
            )
        return student(joint, self.belief, np.zeros((), dtype=np.intp))


class CommonPrecisionBlock:
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
        self.bound = bound
        self.names = tuple(names)
        self.spread = spread
        self.prior_factor = next(f for f in factors if f.name == spread)
        self.factors = [f for f in factors if f.name != spread]
        self.unit = [_at_unit(f, spread) for f in self.factors]
        self.gaussian = _normal_block(bound, [n for n in names if n != spread], self.unit)

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
        return f"{self.gaussian.method} at unit precision, then a gamma update"

    def describe(self) -> str:
        """Say what is eliminated, and what is averaged over."""
        family = self.prior_factor.family.__name__
        return f"{self.gaussian.describe()}; common {self.spread} ({family}) averaged over"

    def solve(self) -> CommonPrecisionResult:
        """Return the exact posterior: normal at unit precision, then Bayes' rule for it."""
        solved = self.gaussian.solve()
        prior = member(self.prior_factor)
        layout = self.bound.layouts[self.spread]
        counts, misfits = self._tally(solved, layout)
        pair = _rule(prior)
        sign = 1.0 if isinstance(prior, Gamma) else -1.0
        sums = Sums(counts, (0.5 * sign * counts, -0.5 * misfits), number(0.0))
        posterior = pair.update(prior, sums)
        gain = np.where(counts > 0, pair.log_evidence(posterior, sums), 0.0)
        log_evidence = self._log_volume(solved, counts, misfits) + float(np.sum(gain))
        first = np.zeros((), dtype=np.intp)
        owners = {
            f.name: _places(f, self.spread, layout) if layout.axes else first
            for f in self.factors
            if f.name in solved.names
        }
        return CommonPrecisionResult(self.spread, posterior, solved, owners, log_evidence, self)

    def members_of_rows(self, factor: BoundFactor) -> Any:
        """Return which member of the spread each number of a factor that is not missing has."""
        kept = _is_there(factor, self.bound)
        places = _places(factor, self.spread, self.bound.layouts[self.spread])
        places = places.reshape(places.shape + (1,) * len(factor.events))
        return np.broadcast_to(places, kept.shape)[kept]

    def _log_volume(self, solved: Any, counts: Array, misfits: Array) -> float:
        """Return the log evidence at unit precision, less the part of the misfit.

        A smoother tells only the sum of both; where the misfit is far the larger, it is asked
        again at the precision that the data suggest.
        """
        if isinstance(solved, GaussianResult):
            return solved.posterior.log_volume
        count, misfit = float(np.sum(counts)), float(np.sum(misfits))
        if misfit <= _FAR * count:
            return float(solved.log_evidence) + 0.5 * misfit
        tau = count / misfit
        factors = [_at_unit(f, self.spread, tau) for f in self.factors]
        again = _normal_block(self.bound, self.gaussian.names, factors).solve()
        return float(again.log_evidence) + 0.5 * (count - count * np.log(tau))

    def _tally(self, solved: Any, layout: Layout) -> tuple[Array, Array]:
        """Return the number of observed numbers and the misfit, for each member."""
        equations, means = _solution(solved)
        squares = [e.weight * residual(e, means) ** 2 for e in equations]
        there = [_is_there(f, self.bound) for f in self.factors]
        observed = [f.name in self.bound.observed for f in self.factors]
        if not layout.axes:
            count = sum(float(t.sum()) for t, seen in zip(there, observed, strict=True) if seen)
            return number(count), number(sum(float(s.sum()) for s in squares))
        size = int(np.prod(layout.shape))
        counts, misfits = np.zeros(size), np.zeros(size)
        for factor, seen, square in zip(self.factors, observed, squares, strict=True):
            mine = self.members_of_rows(factor)
            counts += np.bincount(mine, minlength=size) * float(seen)
            misfits += np.bincount(mine, weights=square, minlength=size)
        return counts.reshape(layout.shape), misfits.reshape(layout.shape)


def find_common_precision(
    bound: Bound, names: Sequence[str], factors: Sequence[BoundFactor]
) -> str | None:
    """Return the one unknown precision or variance that every normal factor is scaled by."""
    spreads = [n for n in names if bound.families[n] in _SPREADS]
    if len(spreads) != 1:
        return None
    (name,) = spreads
    priors = [f for f in factors if f.name == name]
    if len(priors) != 1 or not all(p.is_known for p in priors[0].parameters.values()):
        return None
    others = [f for f in factors if f.name != name]
    keys = _SPREADS[bound.families[name]]
    if not all(_is_scaled(factor, name, keys) for factor in others):
        return None
    if bound.layouts[name].axes and not _is_separate(bound, name, others):
        return None
    return name


def student_predictive(
    factor: BoundFactor, unit: Any, spread: str, belief: Any, layout: Layout
) -> Any:
    """Return the predictive distribution from that at unit precision."""
    return student(unit, belief, _places(factor, spread, layout))


def at_unit_precision(
    factor: BoundFactor,
    spread: str,
    family: Any,
    owners: Mapping[str, Any],
    layouts: Mapping[str, Layout],
) -> BoundFactor:
    """Return a factor with the common precision set to 1; refuse where it is not scaled by it."""
    if not _is_scaled(factor, spread, _SPREADS[family]):
        raise TypeError(
            f"{factor.name} has no closed-form predictive: its noise is not a multiple of {spread}"
        )
    tables = {n: _owner_table(places, layouts[n]) for n, places in owners.items() if n in layouts}
    if not _keeps_to_itself(factor, tables, spread, layouts[spread]):
        raise TypeError(
            f"{factor.name} has no closed-form predictive: it mixes members of {spread}"
        )
    return _at_unit(factor, spread)


def student(unit: Any, belief: Any, owners: Any) -> Any:
    """Average normal distributions at unit precision over the belief about the precision."""
    amount = belief.rate if isinstance(belief, Gamma) else belief.scale
    a, b = (np.ravel(part)[owners] for part in (belief.shape, amount))
    if isinstance(unit, Normal):
        return StudentT(2.0 * a, unit.mean, scale=np.sqrt(b / a * unit.variance))
    return MvStudentT(2.0 * a, unit.mean, scale=np.asarray(b / a)[..., None, None] * unit.cov)


# -- reading factors -------------------------------------------------------------------------


def _rule(prior: Any) -> Any:
    """Return Bayes' rule for a normal precision or variance."""
    key = "precision" if isinstance(prior, Gamma) else "variance"
    return find_pair(prior, Conditional(Normal, {"mean": number(0.0), key: Unknown()}))


def _is_scaled(factor: BoundFactor, name: str, keys: tuple[str, ...]) -> bool:
    """Tell whether a factor is normal, affine in its mean, with a known multiple of the spread."""
    if factor.family not in (Normal, MvNormal) or not set(keys) & set(factor.parameters):
        return False
    for key, poly in factor.parameters.items():
        accesses = [t.accesses for t in poly.terms]
        if key in keys:
            if not all(len(a) == 1 and a[0].name == name for a in accesses):
                return False
            first = accesses[0][0]
            if not isinstance(first, Access) or not labels_of(first) <= set(factor.rows):
                return False
            if not all(isinstance(a, Access) and same_places(first, a) for (a,) in accesses):
                return False
        elif not all(_is_affine(a, name) for a in accesses):
            return False
    return True


def _is_affine(accesses: tuple[Any, ...], name: str) -> bool:
    return len(accesses) < 2 and all(isinstance(a, Access) and a.name != name for a in accesses)


def _at_unit(factor: BoundFactor, name: str, tau: float = 1.0) -> BoundFactor:
    """Set the common precision to a number."""
    parameters = {}
    for key, poly in factor.parameters.items():
        value = tau if key == "precision" else 1.0 / tau
        terms = tuple(
            Term(Table(value * t.table.values, t.table.axes))
            if any(a.name == name for a in t.accesses)
            else t
            for t in poly.terms
        )
        parameters[key] = poly._replace(terms=terms)
    return factor._replace(parameters=parameters)


def _normal_block(bound: Bound, names: Sequence[str], factors: Sequence[BoundFactor]) -> Any:
    """Return the block of the normal variables when the precision is known."""
    chain = find_chain(bound, names, factors)
    touched = all(f.name in names or not f.parameters["mean"].is_known for f in factors)
    if chain is not None and touched:
        return GaussianChainBlock(bound, names, factors, chain)
    return GaussianBlock(bound, names, factors)


def _solution(solved: Any) -> tuple[tuple[Equation, ...], Mapping[str, Array]]:
    """Return all equations, and the means as they see them."""
    if isinstance(solved, GaussianResult):
        return solved.equations, solved.posterior.mean
    latents, equations, splits = solved.system()
    means = {}
    for latent in latents:
        flat = np.empty(latent.count * latent.size)
        order = in_layout_order(solved.layouts[latent.name], splits[latent.name])
        flat[order] = np.ravel(solved.mean[latent.name])
        means[latent.name] = flat.reshape(latent.count, latent.size)
    return equations, means


def _places(factor: BoundFactor, name: str, layout: Layout) -> Any:
    """Return which member of the spread each row of a factor has, (*rows)."""
    access = next(
        a
        for poly in factor.parameters.values()
        for t in poly.terms
        for a in t.accesses
        if a.name == name
    )
    shape = tuple(axis.size for axis in factor.rows)
    count = int(np.prod(shape))
    sizes = [axis.size for axis in layout.axes]
    index = flat_index(list(zip(access.places, sizes, strict=True)), factor.rows, count)
    return (np.arange(count) if index is None else index).reshape(shape)


def _is_there(factor: BoundFactor, bound: Bound) -> Any:
    """Mark the numbers of a child that are not missing."""
    labels = factor.rows + factor.events
    shape = tuple(axis.size for axis in labels)
    if factor.name not in bound.observed:
        return np.ones(shape, dtype=bool)
    return np.broadcast_to(~np.isnan(spread(child_term(factor, bound).table, labels)), shape)


def _is_separate(bound: Bound, name: str, factors: Sequence[BoundFactor]) -> bool:
    """Tell whether each normal variable belongs to one member of the spread throughout."""
    layout = bound.layouts[name]
    owners: dict[str, Table] = {}
    for factor in factors:
        if factor.name in bound.observed:
            if factor.events and np.isnan(bound.observed[factor.name]).any():
                return False  # rows are regrouped by what they miss
            continue
        axes = bound.layouts[factor.name].axes
        if factor.name in owners or factor.places != axes:
            return False  # chains
        places = _places(factor, name, layout)
        owners[factor.name] = _owner_table(places, bound.layouts[factor.name])
    return all(_keeps_to_itself(factor, owners, name, layout) for factor in factors)


def _owner_table(places: Any, layout: Layout) -> Table:
    """Label the owners of a variable's members by its axes."""
    wide = np.reshape(places, np.shape(places) + (1,) * len(layout.events))
    return Table(np.broadcast_to(wide, layout.shape).astype(np.float64), layout.axes)


def _keeps_to_itself(
    factor: BoundFactor, owners: Mapping[str, Table], name: str, layout: Layout
) -> bool:
    if not layout.axes:
        return True
    mine = Table(_places(factor, name, layout), factor.rows)
    for term in factor.parameters["mean"].terms:
        for access in term.accesses:
            labels = _ordered_labels(access, factor.rows)
            seen = Polynomial((Term(Table(np.asarray(1.0), ()), (access,)),), (), labels)
            (found,) = substitute(seen, owners).terms
            if not np.all(spread(found.table, labels) == spread(mine, labels)):
                return False
    return True


def _ordered_labels(access: Access, rows: tuple[Axis, ...]) -> tuple[Axis, ...]:
    return (*rows, *(a for a in labels_of(access) if a not in rows))
