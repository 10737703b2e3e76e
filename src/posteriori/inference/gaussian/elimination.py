r"""Exact inference in a linear-Gaussian model by lifted elimination.

The model is a list of equations with independent unit-free noise,

.. math:: c_r - \sum_v K_{rv}\,x_v[i_v(r)] \sim N(0, 1/w_r),

one for each row r of an array: data, priors and dynamics look the same. A latent x_v is an array of
``count`` vectors of ``size`` numbers, and each row sees one of them, chosen by an index. Eliminating
a latent handles all its vectors at once: a million groups are one array operation.

A latent may be eliminated vector by vector as long as each of its vectors meets one vector of
every neighbour; a neighbour met in several vectors (crossed effects) is first made dense: one
vector of length count · size. Large latents that meet themselves in few places, as on a lattice, go
number by number instead, in a sparse matrix; single vectors, as in a regression, are one. Marginals
come back in reverse order (A. P. Dempster, 1972; S. Lauritzen, "Propagation of probabilities, means and variances", 1992).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from posteriori.inference.gaussian.dense import DenseSystem
from posteriori.inference.gaussian.equations import (
    Equation,
    Latent,
    Link,
    between_met,
    cho_inverse,
    cho_solve,
    cholesky,
    gram,
    log_heights,
    meeting,
    pick,
    row_blocks,
    segment_sum,
    sum_outer,
)
from posteriori.inference.gaussian.ordering import densify, is_dense, is_sparse, plan_gaussian
from posteriori.inference.gaussian.sparse import SparseSystem
from posteriori.inference.gaussian.system import GaussianSystem
from posteriori.numerics.linalg import symmetrize
from posteriori.numerics.special import LOG_2PI
from posteriori.numerics.types import Array

__all__ = ["GaussianPosterior", "factorize", "sample_gaussian", "solve_gaussian"]


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
    root : mapping to (size, numbers), optional
        Where all latents are one vector: B with cov(a, b) = B_a B_bᵀ, which keeps digits that
        covariances of nearly dependent numbers lose.
    """

    mean: Mapping[str, Array]
    cov: Mapping[str, Array]
    cross: Mapping[tuple[str, str], tuple[Array, Any]]
    log_evidence: float
    order: tuple[str, ...]
    log_volume: float
    root: Mapping[str, Array] | None = None


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
    means, misfit = system.best_means()
    cov, cross = system.covariances()
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
        system.root(),
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


def factorize(latents: Sequence[Latent], equations: Sequence[Equation]) -> GaussianSystem:
    """Eliminate all latents: array by array, number by number, or all numbers as one vector."""
    if is_sparse(latents, equations):
        return SparseSystem(latents, equations)
    if is_dense(latents):
        return DenseSystem(plan_gaussian(latents, equations), equations)
    originals = {latent.name: latent for latent in latents}
    shapes = {latent.name: latent for latent in plan_gaussian(latents, equations)}
    dense = {n for n, v in shapes.items() if v != originals[n]}
    return _Elimination(shapes, [densify(e, dense, originals) for e in equations])


class _Clique(NamedTuple):
    """What eliminating a latent leaves for the way back."""

    name: str
    factor: Array
    couplings: dict[str, tuple[Array, Any]]
    solved: dict[str, Array]


class _Elimination(GaussianSystem):
    """The factorised precision matrix, latents eliminated in their order, and solves with it."""

    def __init__(self, shapes: Mapping[str, Latent], equations: Sequence[Equation]) -> None:
        super().__init__(shapes, equations)
        self.own = {n: np.zeros((v.count, v.size, v.size)) for n, v in shapes.items()}
        self.pairs: dict[tuple[str, str], list[tuple[Any, Any, Array]]] = {}
        for equation in equations:
            for part in row_blocks(equation, shapes):
                self._gather(part)
        self.sizes = {n: np.diagonal(j, axis1=1, axis2=2).copy() for n, j in self.own.items()}
        self.cliques: list[_Clique] = []
        self.log_det = 0.0
        self.order = list(shapes)
        for name in self.order:
            self._eliminate(name)

    # -- the precision matrix --------------------------------------------------------------

    def _gather(self, equation: Equation) -> None:
        """Add Kᵀ W K and Kᵀ W c of some rows."""
        for i, link in enumerate(equation.links):
            self.own[link.name] += sum_outer(link, link, equation, self.shapes[link.name])
            for other in equation.links[i + 1 :]:
                self._couple(link, other, equation)
        self._push(self.right, equation, equation.constant)

    def _couple(self, link: Link, other: Link, equation: Equation) -> None:
        if link.name == other.name:
            cross = sum_outer(link, other, equation, self.shapes[link.name])
            self.own[link.name] += cross + np.swapaxes(cross, -1, -2)
            return
        if self.shapes[link.name].count == self.shapes[other.name].count == 1:
            block = gram(link.coefficients, other.coefficients, equation)[None]
            self._add_single(link.name, other.name, block)
            return
        weighted = link.coefficients * np.asarray(equation.weight)[..., None]
        block = weighted[:, :, None] * other.coefficients[:, None, :]
        self._add_pair(link.name, other.name, link.index, other.index, block)

    def _add_pair(self, a: str, b: str, i: Any, j: Any, block: Array) -> None:
        if a > b:
            a, b, i, j, block = b, a, j, i, np.swapaxes(block, -1, -2)
        self.pairs.setdefault((a, b), []).append((i, j, block))

    def _add_single(self, a: str, b: str, block: Array) -> None:
        """Add a block between latents of one vector each, in place."""
        if a > b:
            a, b, block = b, a, np.swapaxes(block, -1, -2)
        entries = self.pairs.setdefault((a, b), [])
        if entries:
            entries[0][2][...] += block
        else:
            entries.append((None, None, block))

    # -- elimination -----------------------------------------------------------------------

    def _eliminate(self, name: str) -> None:
        precision = self.own.pop(name)
        if precision.shape[-1] > 1:
            precision = symmetrize(precision)
        try:
            factor = cholesky(precision, self.sizes[name])
        except np.linalg.LinAlgError:
            self._refuse(name)
        self.log_det += 2.0 * float(np.log(np.diagonal(factor, axis1=-2, axis2=-1)).sum())
        couplings = self._couplings(name)
        solved = {other: cho_solve(factor, c) for other, (c, _) in couplings.items()}
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
                total += segment_sum(block, i, mine.count)
                target = meeting(i, j, block, mine.count, self.shapes[other].count, target)
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
            self.own[a] += segment_sum(block, ia, count)
            return
        self._add_pair(a, b, ia, ib, -np.swapaxes(ca, -1, -2) @ solved[b])

    # -- solving ---------------------------------------------------------------------------

    def solve(self, right: Mapping[str, Array]) -> dict[str, Array]:
        """Return J⁻¹ h."""
        h = dict(right)
        half: dict[str, Array] = {}
        for clique in self.cliques:
            half[clique.name] = cho_solve(clique.factor, h[clique.name][..., None])[..., 0]
            for other, (coupling, index) in clique.couplings.items():
                push = np.einsum("nij,ni->nj", coupling, half[clique.name])
                h[other] = h[other] - segment_sum(push, index, self.shapes[other].count)
        mean: dict[str, Array] = {}
        for clique in reversed(self.cliques):
            value = half[clique.name]
            for other, gain in clique.solved.items():
                seen = pick(mean[other], clique.couplings[other][1], len(value))
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
                value -= gain @ pick(found[other], clique.couplings[other][1], len(value))
            found[clique.name] = value
        return found

    def covariances(self) -> tuple[dict[str, Array], Mapping[tuple[str, str], tuple[Array, Any]]]:
        """Return marginal covariances, and those between vectors that meet."""
        cov: dict[str, Array] = {}
        cross: dict[tuple[str, str], tuple[Array, Any]] = {}
        for clique in reversed(self.cliques):
            inverse = cho_inverse(clique.factor)
            own = inverse
            for a, (_, ia) in clique.couplings.items():
                # cov(v, a) = −Σ_b J⁻¹C_b cov(b, a)
                block: Any = 0.0
                for b, gain in clique.solved.items():
                    between = between_met(b, a, clique.couplings, cov, cross, len(inverse))
                    block = block - gain @ between
                cross[clique.name, a] = (block, ia)
            for b, gain in clique.solved.items():
                own = own - gain @ np.swapaxes(cross[clique.name, b][0], -1, -2)
            cov[clique.name] = symmetrize(own)
        return cov, cross


def _blocks(cov: Array, latent: Latent) -> Array:
    """Return the diagonal blocks of a latent that was made dense."""
    if len(cov) == latent.count:
        return cov
    full = cov[0].reshape(latent.count, latent.size, latent.count, latent.size)
    return np.stack([full[i, :, i, :] for i in range(latent.count)])
