r"""Exact inference in a linear-Gaussian model by lifted elimination.

The model is a list of equations with independent unit-free noise,

.. math:: c_r - \sum_v K_{rv}\,x_v[i_v(r)] \sim N(0, 1/w_r),

one for each row r of an array: data, priors and dynamics look the same. A latent x_v is an array of
``count`` vectors of ``size`` numbers, and each row sees one of them, chosen by an index. Eliminating
a latent handles all its vectors at once: a million groups are one array operation.

A latent may be eliminated vector by vector as long as each of its vectors meets one vector of
every neighbour; a neighbour met in several vectors (crossed effects) is first made dense: one
vector of length count · size. Marginals come back in reverse order (A. P. Dempster, 1972;
S. Lauritzen, "Propagation of probabilities, means and variances", 1992).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from posteriori.numerics.linalg import symmetrize
from posteriori.numerics.special import LOG_2PI
from posteriori.numerics.types import Array

__all__ = [
    "Equation",
    "GaussianPosterior",
    "Latent",
    "Link",
    "design_matrix",
    "factorize",
    "joint_moments",
    "log_heights",
    "plan_gaussian",
    "residual",
    "sample_gaussian",
    "solve_gaussian",
]


@dataclass(frozen=True, slots=True)
class Latent:
    """``count`` unknown vectors of ``size`` numbers."""

    name: str
    count: int
    size: int


_CANCELLATION = 1e-3


class Link(NamedTuple):
    """How the rows of an equation see a latent.

    Attributes
    ----------
    name : str
        The latent.
    coefficients : (R, size)
        K, possibly a broadcast view.
    index : (R,) of int, or None
        Which vector each row sees; None for the r-th (or the only) one.
    """

    name: str
    coefficients: Array
    index: Any = None


class Equation(NamedTuple):
    """Rows ``constant − Σ K x`` with noise of known precision.

    Attributes
    ----------
    constant, weight : (R,)
        Constants and precisions, possibly broadcast views.
    links : tuple of Link
    log_scale : float
        What whitening the rows added to the log density: ½ Σ ln|Λ|.
    """

    constant: Array
    weight: Array
    links: tuple[Link, ...]
    log_scale: float = 0.0


class GaussianPosterior(NamedTuple):
    """Means, covariances and evidence.

    Attributes
    ----------
    mean : mapping to (count, size)
    cov : mapping to (count, size, size)
    cross : mapping of pairs to (count, size, size')
        Covariances between a latent's vectors and those of the neighbours they meet, with the
        index that tells which ones.
    log_evidence : float
    order : tuple of str
        The order of elimination.
    log_volume : float
        Log evidence without the misfit, −½ Σ w residual² at the mean, that it contains.
    """

    mean: Mapping[str, Array]
    cov: Mapping[str, Array]
    cross: Mapping[tuple[str, str], tuple[Array, Any]]
    log_evidence: float
    order: tuple[str, ...]
    log_volume: float


def solve_gaussian(latents: Sequence[Latent], equations: Sequence[Equation]) -> GaussianPosterior:
    """Return the exact posterior and evidence.

    Parameters
    ----------
    latents : sequence of Latent
    equations : sequence of Equation
        Together they must make every latent proper.

    Raises
    ------
    ValueError
        When the equations leave some direction of a latent undetermined.
    """
    system = factorize(latents, equations)
    shapes, equations = system.shapes, system.equations
    means = {n: np.zeros((v.count, v.size)) for n, v in shapes.items()}
    residuals = [e.constant for e in equations]
    for _ in range(3):  # refine while what is left over is far smaller than what was given
        step = system.solve(residuals)
        means = {n: means[n] + step[n] for n in means}
        before, residuals = residuals, [residual(e, means) for e in equations]
        if _size(residuals) > _CANCELLATION * _size(before):
            break
    cov, cross = system.covariances()
    misfit = sum(_weighted_square(e, r) for e, r in zip(equations, residuals, strict=True))
    heights = sum(log_heights(e) for e in equations)
    numbers = sum(v.count * v.size for v in shapes.values())
    log_volume = 0.5 * (heights - system.log_det + numbers * LOG_2PI)
    log_volume += sum(e.log_scale for e in equations)
    originals = {v.name: v for v in latents}
    return GaussianPosterior(
        {n: m.reshape(originals[n].count, originals[n].size) for n, m in means.items()},
        {n: _blocks(c, originals[n]) for n, c in cov.items()},
        cross,
        log_volume - 0.5 * misfit,
        tuple(system.order),
        log_volume,
    )


def sample_gaussian(
    latents: Sequence[Latent],
    equations: Sequence[Equation],
    mean: Mapping[str, Array],
    size: int,
    *,
    rng: np.random.Generator,
) -> dict[str, Array]:
    """Draw all latents together, (size, count, size of a vector) each: eliminate, then draw back.

    Given the latents that were eliminated after it, a latent has the precision L Lᵀ that its
    elimination met: its deviation from the mean is L⁻ᵀ z − Σ J⁻¹C x of theirs.

    Parameters
    ----------
    latents, equations : sequences
        As for :func:`solve_gaussian`.
    mean : mapping to (count, size of a vector)
        The posterior means.
    size : int
    rng : Generator
    """
    system = factorize(latents, equations)
    deviations = system.deviations(size, rng)
    return {
        v.name: np.moveaxis(deviations[v.name], -1, 0).reshape(size, v.count, v.size) + mean[v.name]
        for v in latents
    }


def plan_gaussian(latents: Sequence[Latent], equations: Sequence[Equation]) -> tuple[Latent, ...]:
    """Return the latents in the order of their elimination, as one vector where they go densely."""
    originals = {latent.name: latent for latent in latents}
    dense = _choose_dense(originals, equations)
    shapes = [_densified(v) if v.name in dense else v for v in latents]
    return tuple(sorted(shapes, key=_rank))


def _rank(latent: Latent) -> tuple[int, int, str]:
    """Many small vectors first; one dense vector last."""
    return -latent.count, latent.size, latent.name


def factorize(latents: Sequence[Latent], equations: Sequence[Equation]) -> _Elimination:
    """Eliminate all latents, those that need it densely."""
    originals = {latent.name: latent for latent in latents}
    shapes = {latent.name: latent for latent in plan_gaussian(latents, equations)}
    dense = {n for n, v in shapes.items() if v != originals[n]}
    return _Elimination(shapes, [_densify(e, dense, originals) for e in equations])


class _Clique(NamedTuple):
    """What eliminating a latent leaves for the way back."""

    name: str
    factor: Array
    couplings: dict[str, tuple[Array, Any]]
    solved: dict[str, Array]


class _Elimination:
    """The factorised precision matrix, latents eliminated in their order, and solves with it."""

    def __init__(self, shapes: Mapping[str, Latent], equations: Sequence[Equation]) -> None:
        self.shapes = shapes
        self.equations = equations
        self.own = {n: np.zeros((v.count, v.size, v.size)) for n, v in shapes.items()}
        self.pairs: dict[tuple[str, str], list[tuple[Any, Any, Array]]] = {}
        self._gather()
        self.cliques: list[_Clique] = []
        self.log_det = 0.0
        for name in shapes:
            self._eliminate(name)

    @property
    def order(self) -> list[str]:
        return [clique.name for clique in self.cliques]

    # -- the precision matrix --------------------------------------------------------------

    def _gather(self) -> None:
        for equation in self.equations:
            for i, link in enumerate(equation.links):
                self.own[link.name] += _sum_outer(link, link, equation, self.shapes[link.name])
                for other in equation.links[i + 1 :]:
                    self._couple(link, other, equation)

    def _couple(self, link: Link, other: Link, equation: Equation) -> None:
        if link.name == other.name:
            cross = _sum_outer(link, other, equation, self.shapes[link.name])
            self.own[link.name] += cross + np.swapaxes(cross, -1, -2)
            return
        if _all_single(self.shapes, link, other):
            block = _gram(link.coefficients, other.coefficients, equation)[None]
            self._add_pair(link.name, other.name, None, None, block)
            return
        weighted = link.coefficients * np.asarray(equation.weight)[..., None]
        block = weighted[:, :, None] * other.coefficients[:, None, :]
        self._add_pair(link.name, other.name, link.index, other.index, block)

    def _add_pair(self, a: str, b: str, i: Any, j: Any, block: Array) -> None:
        if a > b:
            a, b, i, j, block = b, a, j, i, np.swapaxes(block, -1, -2)
        self.pairs.setdefault((a, b), []).append((i, j, block))

    # -- elimination -----------------------------------------------------------------------

    def _eliminate(self, name: str) -> None:
        precision = symmetrize(self.own.pop(name))
        try:
            factor = _cholesky(precision)
        except np.linalg.LinAlgError:
            raise ValueError(
                f"the posterior of {name} is improper: prior and data leave it undetermined"
            ) from None
        self.log_det += 2.0 * float(np.log(np.diagonal(factor, axis1=-2, axis2=-1)).sum())
        couplings = self._couplings(name)
        solved = {other: _cho_solve(factor, c) for other, (c, _) in couplings.items()}
        names = list(couplings)
        for k, a in enumerate(names):
            for b in names[k:]:
                self._fill(a, b, couplings, solved)
        self.cliques.append(_Clique(name, factor, couplings, solved))

    def _couplings(self, name: str) -> dict[str, tuple[Array, Any]]:
        """Return the blocks between each vector of a latent and the one vector it meets."""
        mine = self.shapes[name]
        found: dict[str, tuple[Array, Any]] = {}
        for pair in [p for p in self.pairs if name in p]:
            other = pair[1] if pair[0] == name else pair[0]
            entries = self.pairs.pop(pair)
            if pair[0] != name:
                entries = [(j, i, np.swapaxes(block, -1, -2)) for i, j, block in entries]
            total = np.zeros((mine.count, mine.size, self.shapes[other].size))
            target: Any = None
            for i, j, block in entries:
                total += _segment_sum(block, i, mine.count)
                target = _meeting(i, j, block, mine.count, self.shapes[other].count, target)
            found[other] = (total, target)
        return found

    def _fill(
        self,
        a: str,
        b: str,
        couplings: Mapping[str, tuple[Array, Any]],
        solved: Mapping[str, Array],
    ) -> None:
        (ca, ia), (_, ib) = couplings[a], couplings[b]
        if a == b:
            count = self.shapes[a].count
            block = -np.swapaxes(ca, -1, -2) @ solved[a]
            self.own[a] += _segment_sum(block, ia, count)
            return
        self._add_pair(a, b, ia, ib, -np.swapaxes(ca, -1, -2) @ solved[b])

    # -- solving ---------------------------------------------------------------------------

    def solve(self, residuals: Sequence[Array]) -> dict[str, Array]:
        """Return J⁻¹ h for the right-hand side that the residuals make."""
        h = {n: np.zeros((v.count, v.size)) for n, v in self.shapes.items()}
        for equation, residual in zip(self.equations, residuals, strict=True):
            weighted = equation.weight * residual
            for link in equation.links:
                h[link.name] += _sum_rows(link, weighted, self.shapes[link.name].count)
        half: dict[str, Array] = {}
        for clique in self.cliques:
            half[clique.name] = _cho_solve(clique.factor, h[clique.name][..., None])[..., 0]
            for other, (coupling, index) in clique.couplings.items():
                push = np.einsum("nij,ni->nj", coupling, half[clique.name])
                h[other] -= _segment_sum(push, index, self.shapes[other].count)
        mean: dict[str, Array] = {}
        for clique in reversed(self.cliques):
            value = half[clique.name]
            for other, gain in clique.solved.items():
                seen = _pick(mean[other], clique.couplings[other][1], len(value))
                value = value - np.einsum("nij,nj->ni", gain, seen)
            mean[clique.name] = value
        return mean

    def deviations(self, size: int, rng: np.random.Generator) -> dict[str, Array]:
        """Return draws about the mean, (count, size of a vector, draws)."""
        found: dict[str, Array] = {}
        for clique in reversed(self.cliques):
            noise = rng.standard_normal((*clique.factor.shape[:-1], size))
            value = np.linalg.solve(np.swapaxes(clique.factor, -1, -2), noise)
            for other, gain in clique.solved.items():
                value -= gain @ _pick(found[other], clique.couplings[other][1], len(value))
            found[clique.name] = value
        return found

    def covariances(self) -> tuple[dict[str, Array], dict[tuple[str, str], tuple[Array, Any]]]:
        """Return marginal covariances, and those between vectors that meet."""
        cov: dict[str, Array] = {}
        cross: dict[tuple[str, str], tuple[Array, Any]] = {}
        for clique in reversed(self.cliques):
            inverse = _cho_inverse(clique.factor)
            own = inverse
            for a, (_, ia) in clique.couplings.items():
                # cov(v, a) = −Σ_b J⁻¹C_b cov(b, a)
                block: Any = 0.0
                for b, gain in clique.solved.items():
                    between = _between(b, a, clique.couplings, cov, cross, len(inverse))
                    block = block - gain @ between
                cross[clique.name, a] = (block, ia)
            for b, gain in clique.solved.items():
                own = own - gain @ np.swapaxes(cross[clique.name, b][0], -1, -2)
            cov[clique.name] = symmetrize(own)
        return cov, cross


# -- which latents must be dense -------------------------------------------------------------


def _choose_dense(shapes: Mapping[str, Latent], equations: Sequence[Equation]) -> set[str]:
    """Return latents that some other latent's vectors would meet more than once.

    The graph of meetings is eliminated symbolically: many small vectors first; where a vector
    meets several vectors of a neighbour, the one with fewer numbers becomes dense.
    """
    dense: set[str] = set()
    while True:
        clash = _find_clash(shapes, equations, dense)
        if clash is None:
            return dense
        dense.add(clash)


def _find_clash(
    shapes: Mapping[str, Latent], equations: Sequence[Equation], dense: set[str]
) -> str | None:
    batched = [n for n, v in shapes.items() if v.count > 1 and n not in dense]
    order = sorted(batched, key=lambda n: (-shapes[n].count, shapes[n].size, n))
    meetings: dict[str, list[tuple[str, Any, Any]]] = {n: [] for n in order}
    for equation in equations:
        links = [link for link in equation.links if link.name in meetings]
        for i, link in enumerate(links):
            for other in links[i + 1 :]:
                if link.name == other.name:
                    if not _same_index(link.index, other.index):
                        return link.name
                    continue
                meetings[link.name].append((other.name, link.index, other.index))
                meetings[other.name].append((link.name, other.index, link.index))
    for name in order:
        targets: dict[str, Any] = {}
        for neighbour, i, j in meetings[name]:
            if order.index(neighbour) < order.index(name):
                continue
            target = _single_valued(i, j, shapes[name].count, targets.get(neighbour))
            if target is None:
                return neighbour
            targets[neighbour] = target
        names = list(targets)
        for k, a in enumerate(names):  # eliminating `name` makes its neighbours meet
            for b in names[k + 1 :]:
                meetings[a].append((b, targets[a], targets[b]))
                meetings[b].append((a, targets[b], targets[a]))
    return None


def _single_valued(i: Any, j: Any, count: int, known: Any) -> Any:
    """Return for each vector the one it meets (−1: none), or None where there are several."""
    rows = len(i) if i is not None else (len(j) if j is not None else count)
    mine = np.arange(rows) if i is None else np.asarray(i)
    theirs = np.arange(rows) if j is None else np.asarray(j)
    target = np.full(count, -1) if known is None else known.copy()
    fresh = target[mine] < 0
    target[mine[fresh]] = theirs[fresh]
    return target if np.array_equal(target[mine], theirs) else None


def _densified(latent: Latent) -> Latent:
    return Latent(latent.name, 1, latent.count * latent.size)


def _densify(equation: Equation, dense: set[str], shapes: Mapping[str, Latent]) -> Equation:
    if not any(link.name in dense for link in equation.links):
        return equation
    links = tuple(
        _spread(link, shapes[link.name]) if link.name in dense else link for link in equation.links
    )
    return equation._replace(links=_joined(links))


def _spread(link: Link, latent: Latent) -> Link:
    """Write coefficients of one vector as those of the whole array, zero elsewhere."""
    rows = len(link.coefficients)
    index = np.arange(rows) if link.index is None else np.asarray(link.index)
    full = np.zeros((rows, latent.count, latent.size))
    full[np.arange(rows), index] = link.coefficients
    return Link(link.name, full.reshape(rows, -1), np.zeros(rows, dtype=np.intp))


def _joined(links: tuple[Link, ...]) -> tuple[Link, ...]:
    """Add up links to one dense latent."""
    first: dict[str, int] = {}
    out: list[Link] = []
    for link in links:
        at = first.setdefault(link.name, len(out))
        if at == len(out):
            out.append(link)
        elif out[at].coefficients.shape == link.coefficients.shape:
            total = out[at].coefficients + link.coefficients
            out[at] = out[at]._replace(coefficients=total)
        else:
            out.append(link)
    return tuple(out)


# -- array steps -----------------------------------------------------------------------------


def residual(equation: Equation, means: Mapping[str, Array]) -> Array:
    """Return constant − Σ K x at given values of the latents."""
    value = equation.constant
    for link in equation.links:
        mean = means[link.name]
        if len(mean) == 1:
            value = value - link.coefficients @ mean[0]
        else:
            seen = mean if link.index is None else mean[link.index]
            value = value - np.einsum("ri,ri->r", link.coefficients, seen)
    return value


def _sum_rows(link: Link, weighted: Array, count: int) -> Array:
    """Return Σ_r K_r w_r res_r for each vector."""
    if count == 1:
        return (np.asarray(weighted) @ link.coefficients)[None]
    return _segment_sum(link.coefficients * np.asarray(weighted)[:, None], link.index, count)


def _sum_outer(link: Link, other: Link, equation: Equation, latent: Latent) -> Array:
    """Return Σ_r w_r K_r K'_rᵀ for each vector of a latent."""
    if latent.count == 1:
        return _gram(link.coefficients, other.coefficients, equation)[None]
    weighted = link.coefficients * np.asarray(equation.weight)[..., None]
    block = weighted[:, :, None] * other.coefficients[:, None, :]
    return _segment_sum(block, link.index, latent.count)


def _gram(a: Array, b: Array, equation: Equation) -> Array:
    """Return Aᵀ W B; a common weight is taken out."""
    weight = np.asarray(equation.weight)
    if _is_common(weight):
        return (a.T @ b) * weight.flat[0] if weight.size else a.T @ b
    return (a * weight[:, None]).T @ b


def _segment_sum(values: Array, index: Any, count: int) -> Array:
    """Add rows (R, ...) into ``count`` places; a single place takes them all."""
    if count == 1 and len(values) != 1:
        return values.sum(axis=0, keepdims=True)
    if index is None:
        return np.broadcast_to(values, (count, *values.shape[1:]))
    flat = values.reshape(len(values), -1)
    out = np.empty((count, flat.shape[1]))
    if index.min(initial=0) < 0:  # vectors that meet none
        index, flat = index[index >= 0], flat[index >= 0]
    for k in range(flat.shape[1]):
        out[:, k] = np.bincount(index, weights=flat[:, k], minlength=count)
    return out.reshape(count, *values.shape[1:])


def _meeting(i: Any, j: Any, block: Array, count: int, others: int, known: Any) -> Any:
    """Return which vector of a neighbour each vector meets; None where the neighbour has one."""
    if others == 1:
        return None
    rows = max(len(block), count)
    mine = np.arange(rows) if i is None else np.asarray(i)
    theirs = np.arange(rows) if j is None else np.asarray(j)
    target = np.full(count, -1) if known is None else known
    target[mine] = theirs
    return target


def _pick(values: Array, index: Any, count: int) -> Array:
    if index is None:
        return np.broadcast_to(values, (count, *values.shape[1:]))
    return np.where((index >= 0).reshape(-1, *[1] * (values.ndim - 1)), values[index], 0.0)


def _between(
    b: str,
    a: str,
    couplings: Mapping[str, tuple[Array, Any]],
    cov: Mapping[str, Array],
    cross: Mapping[tuple[str, str], tuple[Array, Any]],
    count: int,
) -> Array:
    """Return cov(b, a) at the vectors that each of ``count`` vectors meets."""
    if a == b:
        return _pick(cov[a], couplings[a][1], count)
    if (b, a) in cross:
        return _pick(cross[b, a][0], couplings[b][1], count)
    return np.swapaxes(_pick(cross[a, b][0], couplings[a][1], count), -1, -2)


def _cholesky(a: Array) -> Array:
    """Return lower factors; numbers take their square roots."""
    if a.shape[-1] > 1:
        return np.linalg.cholesky(a)
    if not np.all(a > 0):
        raise np.linalg.LinAlgError("not positive")
    return np.sqrt(a)


def _cho_solve(factor: Array, b: Array) -> Array:
    """Return (L Lᵀ)⁻¹ B."""
    if factor.shape[-1] == 1:
        return b / factor**2
    half = np.linalg.solve(factor, b)
    return np.linalg.solve(np.swapaxes(factor, -1, -2), half)


def _cho_inverse(factor: Array) -> Array:
    if factor.shape[-1] == 1:
        return factor**-2.0
    inverse = np.linalg.inv(factor)
    return np.swapaxes(inverse, -1, -2) @ inverse


def _size(residuals: Sequence[Array]) -> float:
    return max((float(np.max(np.abs(r), initial=0.0)) for r in residuals), default=0.0)


def _weighted_square(equation: Equation, residual: Array) -> float:
    """Return Σ w r²; a common weight is taken out."""
    weight = np.asarray(equation.weight)
    if _is_common(weight):
        return float(residual @ residual) * float(weight.flat[0]) if residual.size else 0.0
    return float(np.sum(weight * residual**2))


def log_heights(equation: Equation) -> float:
    """Return Σ ln(w/2π)."""
    weight = np.asarray(equation.weight)
    if _is_common(weight):
        return (
            len(equation.constant) * float(np.log(weight.flat[0]) - LOG_2PI) if weight.size else 0.0
        )
    return float(np.sum(np.log(weight) - LOG_2PI))


def _is_common(weight: Array) -> bool:
    return weight.ndim == 0 or weight.strides == (0,)


def _same_index(i: Any, j: Any) -> bool:
    return (i is None and j is None) or (i is not None and j is not None and np.array_equal(i, j))


def _all_single(shapes: Mapping[str, Latent], *links: Link) -> bool:
    return all(shapes[link.name].count == 1 for link in links)


def _blocks(cov: Array, latent: Latent) -> Array:
    """Return the diagonal blocks of a latent that was made dense."""
    if len(cov) == latent.count:
        return cov
    full = cov[0].reshape(latent.count, latent.size, latent.count, latent.size)
    return np.stack([full[i, :, i, :] for i in range(latent.count)])


def _full(weight: Array, equation: Equation) -> Array:
    return np.broadcast_to(weight, equation.constant.shape)


_DENSE_LIMIT = 50_000_000


def joint_moments(
    latents: Sequence[Latent], equations: Sequence[Equation]
) -> tuple[Array, Array, dict[str, slice]]:
    """Return mean, covariance and places of all latents as one dense vector.

    Raises
    ------
    ValueError
        When the equations are too many to write out densely.
    """
    slices: dict[str, slice] = {}
    start = 0
    for latent in latents:
        slices[latent.name] = slice(start, start + latent.count * latent.size)
        start += latent.count * latent.size
    rows = sum(len(e.constant) for e in equations)
    if rows * start > _DENSE_LIMIT:
        raise ValueError(
            f"a joint distribution of {start} numbers under {rows} equations is too large to "
            "write out; ask for variables that meet in one equation"
        )
    shapes = {latent.name: latent for latent in latents}
    precision, h = np.zeros((start, start)), np.zeros(start)
    for equation in equations:
        design = design_matrix(equation, shapes, slices, start)
        weighted = design * _full(equation.weight, equation)[:, None]
        precision += weighted.T @ design
        h += weighted.T @ equation.constant
    factor = np.linalg.cholesky(precision)
    cov = _cho_inverse(factor)
    return cov @ h, cov, slices


def design_matrix(
    equation: Equation, shapes: Mapping[str, Latent], places: Mapping[str, slice], width: int
) -> Array:
    """Write out the coefficients of an equation's rows (R, width), each latent in its place."""
    design = np.zeros((len(equation.constant), width))
    for link in equation.links:
        design[:, places[link.name]] += _spread(_explicit(link, shapes), shapes[link.name])[1]
    return design


def _explicit(link: Link, shapes: Mapping[str, Latent]) -> Link:
    """Write out the index of a link to a latent with one vector."""
    if link.index is None and shapes[link.name].count == 1:
        return link._replace(index=np.zeros(len(link.coefficients), dtype=np.intp))
    return link
