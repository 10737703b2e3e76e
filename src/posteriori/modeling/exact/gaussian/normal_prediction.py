r"""Predictive distributions of normal variables.

A normal variable with mean Σ K x + c and noise R has predictive mean Σ K m + c and covariance
Σ K cov K' + R, where the covariances are those of the vectors that each row sees. A parent that is
itself new is its own mean plus noise of its own,

.. math:: y = K\theta + c + \epsilon, \quad \theta = Ax + b + \eta
          \quad\Rightarrow\quad y = KAx + Kb + c + K\eta + \epsilon,

so it is put into the mean, and its noise becomes one more independent variable of mean 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from posteriori.distributions.numbers.normal import Normal
from posteriori.distributions.vectors.mvnormal import MvNormal
from posteriori.inference.gaussian.dense import joint_moments
from posteriori.inference.gaussian.equations import Link
from posteriori.modeling.binding.bound import BoundFactor, Layout
from posteriori.modeling.binding.labelled import (
    Access,
    Axis,
    Lookup,
    Polynomial,
    Switch,
    Term,
    labels_of,
    multiply_tables,
    see_through,
    spread,
)
from posteriori.modeling.exact.gaussian.gaussian_result import GaussianResult
from posteriori.modeling.exact.gaussian.normal_result import in_layout_order
from posteriori.modeling.forms.links import Split, make_link
from posteriori.modeling.forms.normal_rows import known_variance, summed_lookups
from posteriori.numerics.linalg import symmetrize
from posteriori.numerics.types import Array

__all__ = ["predict_normal"]

#: A name that nobody can give to a variable.
_NOISE = "noise of {}"


class Noise(NamedTuple):
    """Independent noise of one new variable: vectors of mean 0, (count, size, size)."""

    split: Split
    cov: Array

    def split_of(self, name: str) -> Split:
        return self.split

    def mean_of(self, name: str) -> Array:
        return np.zeros(self.cov.shape[:2])

    def covariance(self, a: str, b: str, ia: Any, ib: Any) -> Array:
        return self.cov[ia] * np.equal(ia, ib)[:, None, None]


class Vectors(NamedTuple):
    """Variables of one block, with the covariances of the vectors that were solved for."""

    result: GaussianResult

    def split_of(self, name: str) -> Split:
        return self.result.splits[name]

    def mean_of(self, name: str) -> Array:
        return self.result.posterior.mean[name]

    def covariance(self, a: str, b: str, ia: Any, ib: Any) -> Array:
        solved = self.result.posterior
        if a == b and np.array_equal(ia, ib):
            return _members(solved.cov[a], ia)
        for first, second, i, j, swap in ((a, b, ia, ib, False), (b, a, ib, ia, True)):
            block, meets = solved.cross.get((first, second), (np.zeros((0, 0, 0)), None))
            count, size = solved.mean[second].shape
            if (block.shape[0], block.shape[-1]) != (len(solved.mean[first]), size):
                continue  # the neighbours were put into one vector
            if count == 1 or (meets is not None and np.array_equal(meets[i], j)):
                picked = _members(block, i)
                return np.swapaxes(picked, -1, -2) if swap else picked
        _, cov, slices = joint_moments(self.result.latents, self.result.equations)
        sizes = {latent.name: (latent.count, latent.size) for latent in self.result.latents}
        return cov[slices[a], slices[b]].reshape(*sizes[a], *sizes[b])[ia, :, ib, :]


def _members(matrices: Array, index: Any) -> Array:
    """Return the matrix of each row, without copies where there is one for all."""
    if len(matrices) == 1:
        return np.broadcast_to(matrices, (len(index), *matrices.shape[1:]))
    return matrices[index]


class Whole(NamedTuple):
    """Variables of one block, each as one vector of all its numbers, with their joint moments."""

    mean: Array
    cov: Array
    places: Mapping[str, Array]
    splits: Mapping[str, Split]

    def split_of(self, name: str) -> Split:
        return self.splits[name]

    def mean_of(self, name: str) -> Array:
        return self.mean[self.places[name]][None]

    def covariance(self, a: str, b: str, ia: Any, ib: Any) -> Array:
        block = self.cov[np.ix_(self.places[a], self.places[b])]
        return np.broadcast_to(block, (len(ia), *block.shape))


def predict_normal(
    results: Mapping[str, Any],
    factor: BoundFactor,
    parents: Iterable[BoundFactor],
    layouts: Mapping[str, Layout],
) -> Any:
    """Return the predictive distribution of a normal factor with known noise.

    Parameters
    ----------
    results : mapping to GaussianResult
        Solved variables.
    factor : BoundFactor
    parents : iterable of BoundFactor
        Normal variables that are not solved, each after those it depends on.
    layouts : mapping to Layout
    """
    new = tuple(parents)
    for each in (factor, *new):
        _require_affine(each, factor.name)
    mean = factor.parameters["mean"]
    for parent in reversed(new):
        mean = _put_in(mean, parent, layouts[parent.name])
    layouts = dict(layouts)
    names = {parent.name: _NOISE.format(parent.name) for parent in new}
    layouts |= {noise: layouts[name] for name, noise in names.items()}
    mean = mean._replace(terms=tuple(summed_lookups(t, mean.labels, layouts) for t in mean.terms))
    sources = _sources_of(results, mean, factor.rows)
    for parent in new:
        noise = names[parent.name]
        sources[noise] = _make_noise(parent, layouts[noise], noise, mean, factor.rows)
    whole = factor._replace(parameters={**factor.parameters, "mean": mean})
    center, cov = _moments(sources, whole, layouts)
    if factor.family is Normal:
        return Normal(center[..., 0], variance=cov[..., 0, 0] + known_variance(factor))
    return MvNormal(center, cov=symmetrize(cov + known_variance(factor)))


def _require_affine(factor: BoundFactor, name: str) -> None:
    for key, poly in factor.parameters.items():
        for term in poly.terms:
            names = [access.name for access in term.accesses]
            if key != "mean" and names:
                reason = f"the {key} of {factor.name} depends on {', '.join(names)}"
            elif len(names) > 1:
                reason = f"{factor.name} multiplies {' and '.join(names)}, which are both unknown"
            elif any(isinstance(access, Switch) for access in term.accesses):
                reason = f"{factor.name} switches with {names[0]}"
            else:
                continue
            raise TypeError(f"{name} has no closed-form predictive here: {reason}")


# -- new parents -----------------------------------------------------------------------------


def _put_in(poly: Polynomial, parent: BoundFactor, layout: Layout) -> Polynomial:
    """Replace a variable by its mean plus its noise."""
    terms: list[Term] = []
    for term in poly.terms:
        if not any(access.name == parent.name for access in term.accesses):
            terms.append(term)
            continue
        (access,) = term.accesses
        terms.append(Term(term.table, (access._replace(name=_NOISE.format(parent.name)),)))
        inner = see_through(parent.parameters["mean"].terms, layout.axes, access.places)
        terms.extend(_product(term, access, other, poly.labels) for other in inner)
    return poly._replace(terms=tuple(terms))


def _product(outer: Term, access: Access, inner: Term, labels: tuple[Axis, ...]) -> Term:
    """Return outer · inner, summed over labels that nothing sees any more."""
    wanted = set(labels).union(*(labels_of(a) for a in inner.accesses))
    table = multiply_tables(outer.table, inner.table, wanted)
    carried = {*outer.table.axes, *inner.table.axes, *wanted}
    copies = np.prod([axis.size for axis in labels_of(access) - carried])
    return Term(table._replace(values=table.values * copies), inner.accesses)


def _make_noise(
    parent: BoundFactor, layout: Layout, name: str, mean: Polynomial, rows: tuple[Axis, ...]
) -> Noise:
    """Return the noise, with members apart where each row sees one of them."""
    axes = layout.axes
    first_event = len(axes) - len(layout.events)
    dense = set(range(first_event, len(axes)))
    for access in _accesses(mean):
        if access.name == name:
            dense |= {i for i, p in enumerate(access.places) if not _sees_one(p, rows)}
    split = Split(tuple(i for i in range(len(axes)) if i not in dense), tuple(sorted(dense)))
    together = tuple(i for i in split.dense if i < first_event)
    order = split.batch + together
    count = int(np.prod([axes[i].size for i in split.batch]))
    copies = int(np.prod([axes[i].size for i in together]))
    noise = known_variance(parent)
    if parent.family is Normal:
        noise = noise[..., None, None]
    cov = np.transpose(noise, (*order, noise.ndim - 2, noise.ndim - 1))
    width = cov.shape[-1]
    blocks = cov.reshape(count, copies, width, 1, width)
    same = np.eye(copies)[:, None, :, None]
    size = copies * width
    return Noise(split, (blocks * same).reshape(count, size, size))


# -- moments ---------------------------------------------------------------------------------


def _sources_of(
    results: Mapping[str, GaussianResult], mean: Polynomial, rows: tuple[Axis, ...]
) -> dict[str, Any]:
    """Return solved variables; as whole vectors where a row sees several members of one."""
    sources: dict[str, Any] = {}
    blocks = {id(result): result for result in results.values()}.values()
    for result in blocks:
        mine = [a for a in _accesses(mean) if results.get(a.name) is result]
        apart = all(_sees_one(a.places[i], rows) for a in mine for i in result.splits[a.name].batch)
        source = Vectors(result) if apart else _whole(result)
        sources |= dict.fromkeys((a.name for a in mine), source)
    return sources


def _accesses(poly: Polynomial) -> list[Access]:
    return [access for term in poly.terms for access in term.accesses]


def _sees_one(place: Any, rows: tuple[Axis, ...]) -> bool:
    """Tell whether every row reads one position of an axis."""
    axes = place.positions.axes if isinstance(place, Lookup) else (place,)
    return set(axes) <= set(rows)


def _whole(result: GaussianResult) -> Whole:
    mean, cov, slices = joint_moments(result.latents, result.equations)
    places, splits = {}, {}
    for name, split in result.splits.items():
        layout = result.layouts[name]
        places[name] = in_layout_order(layout, split) + slices[name].start
        splits[name] = Split((), tuple(range(len(layout.axes))))
    return Whole(mean, cov, places, splits)


def _moments(
    sources: Mapping[str, Any], factor: BoundFactor, layouts: Mapping[str, Layout]
) -> tuple[Array, Array]:
    """Return mean (*rows, E) and covariance (*rows, E, E) of the factor's mean."""
    labels = factor.rows + factor.events
    shape = tuple(axis.size for axis in factor.rows)
    width = factor.events[0].size if factor.events else 1
    constant: Any = 0.0
    links: list[Link] = []
    for term in factor.parameters["mean"].terms:
        if not term.accesses:
            constant = constant + spread(term.table, labels)
            continue
        (access,) = term.accesses
        split = sources[access.name].split_of(access.name)
        links.append(make_link(term, access, labels, split, layouts))
    count = int(np.prod(shape))
    mean = np.broadcast_to(constant, shape + ((width,) if factor.events else ()))
    mean = np.array(mean, dtype=np.float64).reshape(count, width)
    views = [(link.name, *_view(link, sources[link.name], count, width)) for link in links]
    for name, k, index in views:
        mean += np.einsum("rei,ri->re", k, sources[name].mean_of(name)[index])
    cov = np.zeros((count, width, width))
    for source in {id(sources[name]): sources[name] for name, _, _ in views}.values():
        cov += _covariance(source, [view for view in views if sources[view[0]] is source])
    return mean.reshape(*shape, width), cov.reshape(*shape, width, width)


def _covariance(source: Any, views: list[tuple[str, Array, Any]]) -> Array:
    """Return the covariance of Σ K x for each row, of vectors of one source."""
    root = source.result.posterior.root if isinstance(source, Vectors) else None
    if root is not None:
        seen = sum(k @ root[name] for name, k, _ in views)
        return np.einsum("rei,rfi->ref", seen, seen)
    total: Any = 0.0
    for a, ka, ia in views:
        for b, kb, ib in views:
            total = total + _sandwich(ka, source.covariance(a, b, ia, ib), kb)
    return np.asarray(total)


def _sandwich(a: Array, cov: Array, b: Array) -> Array:
    """Return A cov Bᵀ row by row; one product where all rows see the same vectors."""
    if len(cov) and cov.strides[0] == 0:
        left = (a.reshape(-1, a.shape[-1]) @ cov[0]).reshape(*a.shape[:-1], cov.shape[-1])
    else:
        left = np.einsum("rei,rij->rej", a, cov)
    return np.einsum("rei,rfi->ref", left, b)


def _view(link: Link, source: Any, count: int, width: int) -> tuple[Array, Any]:
    """Return coefficients (R, E, size) and the one vector that each row's event sees."""
    total = len(source.mean_of(link.name))
    index = np.arange(count * width) if link.index is None and total > 1 else link.index
    index = np.zeros(count * width, dtype=np.intp) if index is None else index
    coefficients = link.coefficients
    return coefficients.reshape(count, width, coefficients.shape[-1]), index.reshape(count, width)[
        :, 0
    ]
