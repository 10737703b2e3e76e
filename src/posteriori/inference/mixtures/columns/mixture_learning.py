"""Mixtures learned from a table: by the kinds of its columns, by a family, or by fits of one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from posteriori.distributions.batches import take_members
from posteriori.distributions.conjugate.pair import Pair
from posteriori.distributions.coordinates import flatten_natural
from posteriori.distributions.exponential import ExponentialFamily
from posteriori.distributions.joint.normal_inverse_gamma import NormalInverseGamma
from posteriori.inference.ascent.expectation_maximization import EMResult
from posteriori.inference.classes.column_checks import take_columns
from posteriori.inference.classes.column_models import log_carrier
from posteriori.inference.mixtures.columns.class_model import class_model
from posteriori.inference.mixtures.columns.family_models import (
    belief_affinities,
    conjugate_model,
    exponential_model,
    moved,
)
from posteriori.inference.mixtures.columns.latent_starts import (
    LatentSearch,
    climb_latent,
    fit_from_best_start,
)
from posteriori.inference.mixtures.columns.mixture_densities import (
    ColumnDensities,
    FittedDensities,
    MemberDensities,
    MixtureDensities,
    join_members,
)
from posteriori.numerics.types import Array

__all__ = [
    "LearnedMixture",
    "free_parameters",
    "learn_beliefs",
    "learn_classes",
    "learn_fits",
    "learn_members",
]


#: Parameters of families that are known, or set by the data's range, when the others are fitted.
_KNOWN = {"labels", "start", "trials"}


class LearnedMixture(NamedTuple):
    """A mixture, its components in the order of their sizes.

    Attributes
    ----------
    counts : (K,)
        Rows of each component.
    trace : (T,)
        The objective along the way.
    value : float
        The bound of the evidence, or the log likelihood.
    n_iter, converged
        How the ascent ended.
    densities : MixtureDensities
    beliefs : object or None
        About the parameters of components.
    log_affinity : (K, K) or None
        Of these beliefs.
    members : distribution or None
        Components as one batch whose last axis counts them.
    n_parameters : int
        Free parameters of one component; 0 where they cannot be counted.
    sums : (K, F) or None
        Expected sums, which state the beliefs.
    """

    counts: Array
    trace: Array
    value: float
    n_iter: int
    converged: bool
    densities: MixtureDensities
    beliefs: Any = None
    log_affinity: Array | None = None
    members: Any = None
    n_parameters: int = 0
    sums: Array | None = None


def learn_classes(
    places: Mapping[str, Any],
    x: Array,
    frequency: Array | None,
    priors: Mapping[str, Any],
    search: LatentSearch,
    widths: Array,
) -> LearnedMixture:
    """Learn classes of rows whose columns are of given kinds; none of numbers is narrower than widths (D,)."""
    integrate = search.weights.concentration is not None
    model = class_model(places, x, frequency, priors, integrate)
    sums, ascent = climb_latent(model, x, frequency, search)
    learned = model.learn(sums)
    carrier = sum(log_carrier(k, take_columns(x, at), frequency) for k, at in places.items())
    densities = {kind: part.densities for kind, part in learned.components.items()}
    return _found(sums, ascent, carrier, learned.bonus, search)._replace(
        densities=ColumnDensities(places, densities).widened(widths),
        beliefs={kind: part.posterior for kind, part in learned.components.items()},
        log_affinity=_class_affinities(learned.components) if integrate else None,
        n_parameters=sum(part.n_parameters for part in densities.values()),
        sums=sums,
    )


def learn_beliefs(
    find: Callable[[Any], Pair], prior: Any, x: Array, frequency: Array | None, search: LatentSearch
) -> LearnedMixture:
    """Learn conjugate beliefs about the members of a family."""
    model = conjugate_model(find, prior, x, frequency)
    sums, ascent = climb_latent(model, x, frequency, search)
    learned = model.learn(sums)
    belief = moved(learned.components, model.layout.shift)
    if model.layout.vectors:
        belief = take_members(belief, np.s_[:, 0])
    members = find(prior).predictive(_columns_first(belief))
    carrier = model.log_carrier(x, frequency, None)
    return _found(sums, ascent, carrier, learned.bonus, search)._replace(
        densities=MemberDensities(members, model.layout.standing),
        beliefs=belief,
        log_affinity=belief_affinities(learned.components),
        members=_of_one_column(members),
        sums=sums,
    )


def learn_members(
    family: type[ExponentialFamily], x: Array, frequency: Array | None, search: LatentSearch
) -> LearnedMixture:
    """Learn the most likely members of an exponential family."""
    model = exponential_model(family, x, frequency)
    sums, ascent = climb_latent(model, x, frequency, search)
    learned = model.learn(sums)
    member = moved(learned.components, model.layout.shift)
    if model.layout.vectors:
        member = take_members(member, np.s_[:, 0])
    members = _columns_first(member)
    free = flatten_natural(member.natural, family._natural_ndims).size // len(sums)
    carrier = model.log_carrier(x, frequency, learned.components)
    return _found(sums, ascent, carrier, learned.bonus, search)._replace(
        densities=MemberDensities(members, model.layout.standing),
        members=_of_one_column(members),
        n_parameters=free,
    )


def learn_fits(
    family: Any, x: Array, frequency: Array | None, search: LatentSearch
) -> LearnedMixture:
    """Learn the most likely members of anything that can be fitted to weighted rows."""
    ascent = fit_from_best_start(family, x, frequency, search)
    order = np.argsort(-ascent.parameters.counts, kind="stable")
    counts = ascent.parameters.counts[order]
    components = [ascent.parameters.components[k] for k in order]
    densities = FittedDensities(components, x.shape[1])
    log_weights = search.weights.learn(counts)[0]
    members = join_members(components)
    free = 0 if members is None else sum(map(free_parameters, components[0]))
    trace = np.array(ascent.trace)
    per_row = np.logaddexp.reduce(densities.log_prob(x) + log_weights, axis=1)
    value = per_row.sum() if frequency is None else per_row @ frequency
    return LearnedMixture(
        counts,
        trace,
        float(value),
        ascent.n_iter,
        ascent.converged,
        densities,
        members=members,
        n_parameters=free,
    )


def _found(
    sums: Array, ascent: EMResult, carrier: float, bonus: float, search: LatentSearch
) -> LearnedMixture:
    trace = np.array(ascent.trace) + carrier
    value = trace[-1]
    if search.weights.concentration is None:  # without the rows that were imagined
        value = value - bonus - search.weights.learn(sums[:, 0])[1]
    nothing: Any = None
    return LearnedMixture(sums[:, 0], trace, float(value), ascent.n_iter, ascent.converged, nothing)


def free_parameters(member: Any) -> int:
    """Return how many numbers a fit has chosen; probabilities sum to 1."""
    names = {name.rstrip("=") for name in member._shown} - _KNOWN
    return sum(int(np.size(member.__dict__[name])) - (name == "probabilities") for name in names)


def _columns_first(batch: Any) -> Any:
    """Return a batch (D, K) of a batch (K, D); one of vectors (K,) as it is."""
    if len(batch.batch_shape) == 1:
        return batch
    k, d = batch.batch_shape
    return take_members(batch, (np.arange(k), np.arange(d)[:, None]))


def _of_one_column(members: Any) -> Any:
    """Return a batch (K,) of a batch (1, K); others as they are."""
    return take_members(members, 0) if members.batch_shape[:-1] == (1,) else members


def _class_affinities(components: Mapping[str, Any]) -> Array:
    """Return ln B (K, K), the sum over all columns."""
    total = []
    for kind, part in components.items():
        beliefs = part.posterior if isinstance(part.posterior, list) else [part.posterior]
        if kind == "normal":  # squares of means near 0 keep their digits
            at = beliefs[0]
            near = at.location - part.prior.location
            beliefs = [NormalInverseGamma(near, at.mean_strength, at.shape, at.scale)]
        total += [belief_affinities(belief) for belief in beliefs]
    return np.asarray(sum(total[1:], start=total[0]))
