"""Posterior predictive distributions.

A normal variable with mean Σ K x + c and noise R has predictive mean Σ K m + c and covariance
Σ K cov K' + R, where the covariances are those of the vectors that each row sees. Children of
conjugate variables and of a common precision have predictives of their own families.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from posteriori.distributions.gamma import Gamma
from posteriori.distributions.inverse_gamma import InverseGamma
from posteriori.distributions.mvnormal import MvNormal
from posteriori.distributions.normal import Normal
from posteriori.inference.gaussian_equations import Link
from posteriori.inference.gaussian_joint import joint_moments
from posteriori.modeling.binding import Binder, BoundFactor
from posteriori.modeling.chain_prediction import chain_predictive
from posteriori.modeling.common_precision import (
    CommonPrecisionResult,
    at_unit_precision,
    student_predictive,
)
from posteriori.modeling.conjugate import ConjugateResult, conjugate_predictive
from posteriori.modeling.gaussian_links import make_link
from posteriori.modeling.gaussian_result import GaussianResult, in_layout_order
from posteriori.modeling.simulation import member
from posteriori.modeling.tables import Polynomial, spread
from posteriori.numerics.linalg import symmetrize
from posteriori.numerics.types import Array

if TYPE_CHECKING:
    from posteriori.modeling.posterior import Posterior

__all__ = ["joint", "predict"]


def predict(posterior: Posterior, name: str, inputs: Mapping[str, Any]) -> Any:
    """Return the predictive distribution of a variable under new inputs."""
    from posteriori.modeling.discrete_prediction import discrete_predictive

    discrete = discrete_predictive(posterior, name, inputs)
    if discrete is not None:
        return discrete
    along = chain_predictive(posterior, name, inputs)
    if along is not None:
        return along
    factor, layouts = _bind_anew(posterior, name, inputs)
    parents = {a.name for p in factor.parameters.values() for t in p.terms for a in t.accesses}
    if not parents:
        return member(factor)
    families = posterior._plan.bound.families
    spreads = [p for p in parents if families[p] in (Gamma, InverseGamma)]
    if factor.family in (Normal, MvNormal) and len(spreads) == 1:
        return _predict_student(posterior, factor, layouts, spreads[0], parents - set(spreads))
    unsolved = [p for p in parents if p not in posterior._results]
    solved = [posterior._results[p] for p in parents if p not in unsolved]
    if len(parents) == 1 and (unsolved or isinstance(solved[0], ConjugateResult)):
        (parent,) = parents
        return conjugate_predictive(factor, parent, layouts[parent], posterior[parent])
    if not all(isinstance(result, GaussianResult) for result in solved):
        raise TypeError(f"{name} has no closed-form predictive here: {', '.join(parents)} moves")
    if factor.family not in (Normal, MvNormal) or unsolved:
        reason = f"it depends on {', '.join(unsolved)}" if unsolved else "it is not normal"
        raise TypeError(f"{name} has no closed-form predictive here: {reason}")
    return _predict_normal(posterior._results, factor, layouts)


def _predict_normal(results: Mapping[str, Any], factor: BoundFactor, layouts: Any) -> Any:
    mean, spread_ = _moments(results, factor, layouts)
    if factor.family is Normal:
        noise = _noise_variance(factor)
        return Normal(mean[..., 0], variance=spread_[..., 0, 0] + noise)
    return MvNormal(mean, cov=symmetrize(spread_ + _noise_cov(factor)))


def _predict_student(
    posterior: Posterior, factor: BoundFactor, layouts: Any, spread: str, others: set[str]
) -> Any:
    """Predict at unit precision, then average over the precision."""
    result = posterior._results.get(spread)
    common = result if isinstance(result, CommonPrecisionResult) else None
    owners = {} if common is None else common.owners
    if not others <= owners.keys():
        raise TypeError(
            f"{factor.name} has no closed-form predictive here: "
            f"{spread} and {', '.join(sorted(others))} were not inferred together"
        )
    belief = posterior[spread]
    unit = at_unit_precision(factor, spread, type(belief), owners, layouts)
    if common is None or not others:
        normal = member(unit)
    elif isinstance(common.gaussian, GaussianResult):
        normal = _predict_normal(dict.fromkeys(owners, common.gaussian), unit, layouts)
    else:
        raise TypeError(
            f"{factor.name} has no closed-form predictive here: {', '.join(sorted(others))} moves"
        )
    return student_predictive(factor, normal, spread, belief, layouts[spread])


def joint(posterior: Posterior, names: tuple[str, ...]) -> Any:
    """Return the joint distribution of whole variables, flattened and put one after another."""
    results = {id(posterior._results[n]): posterior._results[n] for n in names}
    if len(results) != 1:
        raise ValueError(f"{' and '.join(names)} are independent: they lie in different blocks")
    (result,) = results.values()
    if not hasattr(result, "system"):
        raise TypeError(f"the joint distribution of {' and '.join(names)} has no closed form")
    latents, equations, splits = result.system()
    if not splits.keys() >= set(names):
        raise TypeError(f"the joint distribution of {' and '.join(names)} has no closed form")
    mean, cov, slices = joint_moments(latents, equations)
    order = np.concatenate(
        [in_layout_order(result.layouts[n], splits[n]) + slices[n].start for n in names]
    )
    normal = MvNormal(mean[order], cov=cov[np.ix_(order, order)])
    return result.scaled(normal) if isinstance(result, CommonPrecisionResult) else normal


def _bind_anew(
    posterior: Posterior, name: str, inputs: Mapping[str, Any]
) -> tuple[BoundFactor, Any]:
    """Bind the variable and what it depends on to new inputs, observing nothing else."""
    plan = posterior._plan
    for key in inputs:
        if key not in plan.inputs and key not in plan.variables:
            raise ValueError(f"the model has no input {key!r}")
    given = {k: v for k, v in plan.given.items() if k in plan.inputs} | {
        k: v for k, v in inputs.items() if k in plan.inputs
    }
    told = {
        axis.name: axis.size for layout in plan.bound.layouts.values() for axis in layout.plates
    }
    fresh = {p for k in inputs if k in plan.inputs for p in plan.inputs[k].plates}
    plates = {plate: size for plate, size in told.items() if plate not in fresh}
    names = list(plan.variables)
    needed = {n: plan.variables[n] for n in names[: names.index(name) + 1]}
    binder = Binder(needed, plan.inputs, given, plates)
    for n, variable in needed.items():
        binder.bind_variable(n, variable)
        if n in plan.bound.observed and n != name:
            binder.observed[n] = plan.bound.observed[n]
    return binder.factors[-1], binder.layouts


def _moments(results: Mapping[str, Any], factor: BoundFactor, layouts: Any) -> tuple[Array, Array]:
    """Return mean (*rows, E) and covariance (*rows, E, E) of the factor's mean."""
    labels = factor.rows + factor.events
    shape = tuple(axis.size for axis in factor.rows)
    width = factor.events[0].size if factor.events else 1
    poly = factor.parameters["mean"]
    constant: Any = 0.0
    links: list[Link] = []
    for term in poly.terms:
        if not term.accesses:
            constant = constant + spread(term.table, labels)
            continue
        (access,) = term.accesses
        split = results[access.name].splits[access.name]
        links.append(make_link(term, access, labels, split, layouts))
    count = int(np.prod(shape))
    mean = np.broadcast_to(constant, shape + ((width,) if factor.events else ()))
    mean = np.array(mean, dtype=np.float64).reshape(count, width)
    views = [_view(link, results[link.name], count, width) for link in links]
    for link, (k, index) in zip(links, views, strict=True):
        m = results[link.name].posterior.mean[link.name]
        mean += np.einsum("rei,ri->re", k, m[index])
    cov = np.zeros((count, width, width))
    for a, (ka, ia) in zip(links, views, strict=True):
        for b, (kb, ib) in zip(links, views, strict=True):
            between = _covariance(results, a.name, b.name, ia, ib)
            if between is not None:
                cov += np.einsum("rei,rij,rfj->ref", ka, between, kb)
    return mean.reshape(*shape, width), cov.reshape(*shape, width, width)


def _view(link: Link, result: Any, count: int, width: int) -> tuple[Array, Any]:
    """Return coefficients (R, E, size) and the one vector that each row's event sees."""
    total = len(result.posterior.mean[link.name])
    index = np.arange(count * width) if link.index is None and total > 1 else link.index
    index = np.zeros(count * width, dtype=np.intp) if index is None else index
    seen = index.reshape(count, width)
    if np.any(seen != seen[:, :1]):
        raise TypeError(f"the entries of one vector see different members of {link.name}")
    return link.coefficients.reshape(count, width, -1), seen[:, 0]


def _covariance(results: Mapping[str, Any], a: str, b: str, ia: Any, ib: Any) -> Array | None:
    """Return cov(a[ia], b[ib]) row by row; None where they are independent."""
    result = results[a]
    if result is not results[b]:
        return None
    solved = result.posterior
    if a == b and np.array_equal(ia, ib):
        return solved.cov[a][ia]
    for first, second, i, j, swap in ((a, b, ia, ib, False), (b, a, ib, ia, True)):
        if (first, second) in solved.cross:
            block, meets = solved.cross[first, second]
            one = len(solved.mean[second]) == 1
            if block.shape[0] == len(solved.mean[first]) and (one or np.array_equal(meets[i], j)):
                picked = block[i]
                return np.swapaxes(picked, -1, -2) if swap else picked
    return _dense_covariance(result, a, b, ia, ib)


def _dense_covariance(result: GaussianResult, a: str, b: str, ia: Any, ib: Any) -> Array:
    _, cov, slices = joint_moments(result.latents, result.equations)
    sizes = {latent.name: (latent.count, latent.size) for latent in result.latents}
    block = cov[slices[a], slices[b]].reshape(*sizes[a], *sizes[b])
    return block[ia, :, ib, :]


def _noise_variance(factor: BoundFactor) -> Array:
    labels = factor.rows
    for key, power in (("variance", 1.0), ("scale", 2.0), ("precision", -1.0)):
        if key in factor.parameters:
            return _value(factor.parameters[key], labels) ** power
    raise AssertionError("a normal factor has a spread")


def _noise_cov(factor: BoundFactor) -> Array:
    if "cov" in factor.parameters:
        return factor.parameters["cov"].value()
    return np.linalg.inv(factor.parameters["precision"].value())


def _value(poly: Polynomial, labels: Any) -> Array:
    total: Any = 0.0
    for term in poly.terms:
        total = total + spread(term.table, labels)
    return np.broadcast_to(total, tuple(axis.size for axis in labels))
