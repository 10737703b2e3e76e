r"""Posteriors of parts of the data, each under the same prior, put together.

.. math:: q(\theta) \propto \frac{\prod_s q_s(\theta)}{p(\theta)^{S-1}},\qquad
          \ln p(y) = \sum_s \ln p(y_s) + \ln \int \frac{\prod_s q_s(\theta)}{p(\theta)^{S-1}}\,d\theta.

In natural parameters this is a sum, exact where every shard's posterior is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from posteriori.distributions.exponential import ExponentialFamily
from posteriori.distributions.joint.normal_inverse_wishart import NormalInverseWishart
from posteriori.distributions.joint.normal_wishart import NormalWishart
from posteriori.distributions.numbers.gamma import Gamma
from posteriori.distributions.numbers.inverse_gamma import InverseGamma
from posteriori.distributions.vectors.wishart import Wishart
from posteriori.modeling.beliefs.group_beliefs import (
    Belief,
    ConjugateBelief,
    NormalBelief,
    ScaledBelief,
    as_factors,
    without_batch,
)
from posteriori.modeling.binding.binder import Binder
from posteriori.modeling.binding.bound import Bound
from posteriori.modeling.binding.construction import member
from posteriori.modeling.contract.new_data import fresh_plates
from posteriori.modeling.contract.solved import Solved
from posteriori.modeling.exact.gaussian.gaussian_block import GaussianBlock
from posteriori.modeling.exact.scaled.scaled_factors import at_unit
from posteriori.modeling.posterior.posterior import Posterior
from posteriori.modeling.posterior.updating import carried_over, shared_variables, with_earlier
from posteriori.numerics.evidence import Fingerprint, LogEvidence
from posteriori.numerics.linalg import symmetrize
from posteriori.numerics.special import LOG_2PI
from posteriori.numerics.types import Array

__all__ = ["merge"]


def merge(*posteriors: Posterior) -> Posterior:
    """Return the posterior of all data from the posteriors of their parts.

    The parts are members of a plate, such as rows on different machines; each was inferred under
    the same model with its whole prior. Variables on that plate belong to their own part and are
    not in the answer; of them, as of the data, new members can be predicted.

    Parameters
    ----------
    *posteriors : Posterior
        Of one model, from :meth:`Model.infer`.

    Returns
    -------
    Posterior
        Of the shared variables. It and its evidence are exact when all parts are; otherwise the
        evidence is an estimate.

    Raises
    ------
    TypeError
        When beliefs cannot be multiplied: those of classes or factors, which may be numbered in
        another way in every part, of chains, or of variables whose prior is unknown.

    Examples
    --------
    >>> from posteriori import Model, Normal
    >>> m = Model()
    >>> m.mu = Normal(0, variance=9)
    >>> m.y = Normal(m.mu, variance=1).iid("n")
    >>> whole = merge(m.infer(y=[2.0, 3.0]), m.infer(y=[4.0]))
    >>> whole.mu
    Normal(2.892857, variance=0.321429)
    >>> whole.log_evidence
    LogEvidence(-5.905061, kind="exact", of="X")
    """
    if not posteriors:
        raise ValueError("merge needs posteriors, as in merge(first, second)")
    for post in posteriors:
        if not isinstance(post, Posterior):
            raise TypeError(f"merge takes posteriors, as in merge(a, b), got {type(post).__name__}")
        _require_mergeable(posteriors[0], post)
    if len(posteriors) == 1:
        return posteriors[0]
    first, *others = (post._solved for post in posteriors)
    old = first.bound
    plates = set[str]().union(*(fresh_plates(old, other.bound.given) for other in others))
    shared = shared_variables(first, plates)
    parts = [_parts(part, shared) for part in (first, *others)]
    bound = _unobserved(old, plates)
    merged: list[Belief] = []
    constant = 0.0
    for group in zip(*parts, strict=True):
        belief, more = _multiply(group, bound)
        merged.append(belief)
        constant += more
    earlier = [f for b in merged for f in as_factors(b, bound)]
    bound = with_earlier(bound, earlier, {*shared, *bound.observed})
    inputs = {k: v for k, v in old.given.items() if k in old.inputs}
    plan = first.plan(bound._replace(given=inputs), None, shared)
    evidence = _evidence(posteriors, constant)
    return plan.run(has_earlier=True, is_merged=True, evidence=evidence)  # type: ignore[no-any-return]


def _parts(solved: Solved, names: Sequence[str]) -> list[Belief]:
    layouts = solved.bound.layouts
    return [
        without_batch(b, layouts) if isinstance(b, NormalBelief) else b
        for b in carried_over(solved, names)
    ]


def _require_mergeable(first: Posterior, post: Posterior) -> None:
    bounds = [p._solved.bound for p in (first, post)]
    families = [{n: v.family for n, v in bound.variables.items()} for bound in bounds]
    if families[0] != families[1]:
        raise ValueError("merge needs posteriors of one model; these have different variables")
    if post._solved.has_earlier:
        raise TypeError("merge takes posteriors of Model.infer, not of update or merge")
    for block in post._solved.blocks:
        if block.exchangeable:
            raise TypeError(
                f"the parts of {', '.join(block.exchangeable)} may be numbered differently in every "
                "posterior, so that their product means nothing: give the data to update() one after "
                "another"
            )


def _unobserved(bound: Bound, plates: set[str]) -> Bound:
    """Bind the model without the data of the parts."""
    data = {k: v for k, v in bound.given.items() if k in bound.inputs}
    for name, values in bound.observed.items():
        if name in bound.variables and not plates & set(bound.plates_of(name)):
            data[name] = values
    return Binder(bound.variables, bound.inputs, data, bound.plate_sizes()).run()


def _evidence(posteriors: Sequence[Posterior], constant: float) -> LogEvidence:
    evidences = [p.log_evidence for p in posteriors]
    fingerprint = Fingerprint()
    for e in evidences:
        fingerprint = fingerprint.merge(e.fingerprint or Fingerprint())
    exact = all(e.kind == "exact" for e in evidences)
    return LogEvidence(
        sum(float(e) for e in evidences) + constant,
        kind="exact" if exact else "estimate",
        of=evidences[0].of,
        fingerprint=fingerprint,
    )


# -- products --------------------------------------------------------------------------------


def _multiply(group: Sequence[Any], bound: Bound) -> tuple[Belief, float]:
    """Return ∏ q_s / p^(S−1), normalised, and the logarithm of its integral."""
    first = group[0]
    if any(type(b) is not type(first) for b in group):
        raise TypeError("the posteriors were inferred by different methods and cannot be merged")
    if isinstance(first, ConjugateBelief):
        if not isinstance(first.member, ExponentialFamily):
            raise TypeError(
                f"what is known of {first.name}, a density on a grid, cannot be merged: infer with all data"
            )
        prior = _own_prior(first.name, bound)
        found, more = _multiply_members([b.member for b in group], prior, first.name)
        return ConjugateBelief(first.name, found), more
    if isinstance(first, NormalBelief):
        return _multiply_normal(group, _normal_prior(first.names, bound, None))
    if isinstance(first, ScaledBelief):
        spread = _own_prior(first.spread, bound)
        unit = _normal_prior(first.normal.names, bound, (first.spread, type(spread)))
        prior = ScaledBelief(unit, first.spread, spread)
        rule = _multiply_scaled if isinstance(spread, (Gamma, InverseGamma)) else _multiply_vectors
        return rule(group, prior)
    raise TypeError(f"what is known of {', '.join(first.names)} cannot be merged")


def _own_prior(name: str, bound: Bound) -> Any:
    (factor,) = (f for f in bound.factors if f.name == name)
    if bound.unknowns_of(factor) != {name}:
        raise TypeError(
            f"{name} has a prior with unknown parameters, which merge cannot divide by: give the data "
            "to update() one after another"
        )
    return member(factor)


def _normal_prior(
    names: tuple[str, ...], bound: Bound, spread: tuple[str, Any] | None
) -> NormalBelief:
    """Return the joint prior of normal variables, at unit precision if it has a common one."""
    factors = [f for f in bound.factors if f.name in names]
    if spread is not None:
        factors = [at_unit(f, *spread) for f in factors]
    for factor in factors:
        known = all(p.is_known for k, p in factor.parameters.items() if k != "mean")
        if not known or not bound.unknowns_of(factor) <= set(names):
            raise TypeError(
                f"{factor.name} has a prior with unknown parameters, which merge cannot divide by: "
                "give the data to update() one after another"
            )
    return GaussianBlock(bound, names, factors).solve().belief(names)


def _multiply_members(members: Sequence[Any], prior: Any, name: str) -> tuple[Any, float]:
    """Add natural parameters; ln ∫ = A(η) − Σ A(η_s) + (S − 1) A(η₀)."""
    extra = len(members) - 1
    columns = zip(prior.natural, *(m.natural for m in members), strict=True)
    natural = [sum(np.asarray(p) for p in parts) - extra * np.asarray(p0) for p0, *parts in columns]
    found = type(prior)._from_natural(*natural)
    if not np.all(found.is_proper):
        raise ValueError(
            f"the merged belief about {name} is improper: beliefs contradict the prior"
        )
    logs = [np.asarray(m.log_normalizer()) for m in members]
    total = np.asarray(found.log_normalizer()) - sum(logs)
    return found, float(np.sum(total + extra * np.asarray(prior.log_normalizer())))


def _multiply_normal(group: Sequence[Any], prior: NormalBelief) -> tuple[NormalBelief, float]:
    """Add precisions and weighted means, measured from the first mean."""
    origin, extra = group[0].mean, len(group) - 1

    def combined(part: Callable[[NormalBelief], Any]) -> Any:
        return sum(part(b) for b in group) - extra * part(prior)

    precision = combined(lambda b: b.precision)
    h = combined(lambda b: b.precision @ (b.mean - origin))
    found = prior._replace(mean=origin + np.linalg.solve(precision, h), precision=precision)

    def log_total(b: NormalBelief) -> float:  # ½ hᵀJ⁻¹h − ½ ln|J| + ½ n ln 2π
        gone = b.mean - origin
        return 0.5 * (gone @ b.precision @ gone - _log_det(b.precision) + len(gone) * LOG_2PI)

    return found, log_total(found) - combined(log_total)


def _multiply_scaled(group: Sequence[Any], prior: ScaledBelief) -> tuple[ScaledBelief, float]:
    """Add the powers of the precision and the misfits as well."""
    origin, extra = group[0].normal.mean, len(group) - 1
    half = 0.5 * len(origin)
    key = "rate" if isinstance(prior.member, Gamma) else "scale"

    def combined(part: Callable[[ScaledBelief], Any]) -> Any:
        return sum(part(b) for b in group) - extra * part(prior)

    def misfit(b: ScaledBelief) -> float:
        gone = b.normal.mean - origin
        return 0.5 * float(gone @ b.normal.precision @ gone)

    normal, _ = _multiply_normal([b.normal for b in group], prior.normal)
    shape = combined(lambda b: b.member.shape + half) - half
    amount = combined(lambda b: getattr(b.member, key) + misfit(b))
    found = prior._replace(normal=normal)
    amount -= misfit(found)
    found = found._replace(member=type(prior.member)(shape, **{key: amount}))

    def log_total(b: ScaledBelief) -> float:  # ln Γ(a) − a ln b − ½ ln|J| + ½ n ln 2π
        a, rate = float(b.member.shape), float(getattr(b.member, key))
        inner = _log_det(b.normal.precision)
        return math.lgamma(a) - a * np.log(rate) - 0.5 * inner + half * LOG_2PI

    return found, log_total(found) - combined(log_total)


def _multiply_vectors(group: Sequence[Any], prior: ScaledBelief) -> tuple[ScaledBelief, float]:
    """Multiply laws of one vector and the matrix that is its precision or covariance."""
    law = NormalWishart if isinstance(prior.member, Wishart) else NormalInverseWishart

    def joint(b: ScaledBelief) -> Any:
        return law(b.normal.mean, b.normal.precision[0, 0], dof=b.member.dof, scale=b.member.scale)

    found, more = _multiply_members([joint(b) for b in group], joint(prior), prior.spread)
    size = len(prior.normal.mean)
    normal = prior.normal._replace(
        mean=np.asarray(found.location), precision=found.mean_strength * np.eye(size)
    )
    spread = type(prior.member)(found.dof, symmetrize(found.scale))
    return prior._replace(normal=normal, member=spread), more


def _log_det(matrix: Array) -> float:
    return float(np.linalg.slogdet(matrix)[1])
