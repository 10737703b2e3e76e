r"""Kernels of one column as sums of Markov processes: Matérn kernels, times functions one can write down.

.. math:: k(x, z) = \sum_t v_t\,\phi_t(x)^\top\phi_t(z)\prod_i k_{\nu_i}(x, z)

A product of Matérn kernels is one chain whose states are all products of theirs; without any it is a
static effect. Sums in products are multiplied out. Noise is no summand: it is on the diagonal alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from posteriori.inference.series.matern_chain import (
    MaternChain,
    MaternMotion,
    matern_chain,
    matern_motion,
    matern_rate,
)
from posteriori.kernels.inner_products import White
from posteriori.kernels.kernel import (
    Constant,
    Kernel,
    OnColumns,
    Power,
    Product,
    Sum,
    multiply_traced,
)
from posteriori.kernels.radial import Matern
from posteriori.numerics.types import Array

__all__ = ["ChainTerm", "PlacedKernel", "chain_terms"]


class PlacedKernel(NamedTuple):
    """A simple kernel, and which of the log parameters of the whole is its first."""

    kernel: Any
    place: int


class ChainTerm(NamedTuple):
    """A summand.

    Attributes
    ----------
    constants : tuple of PlacedKernel
        Whose product is v.
    moving : tuple of PlacedKernel
        Matérn kernels.
    static : tuple of PlacedKernel
        With features.
    """

    constants: tuple[PlacedKernel, ...]
    moving: tuple[PlacedKernel, ...]
    static: tuple[PlacedKernel, ...]

    @property
    def variance(self) -> float:
        """The product of the constants."""
        return float(np.prod([constant.kernel.value for constant in self.constants]))

    @property
    def states(self) -> int:
        """How many states a copy of the chain has."""
        return int(np.prod([len(motion.drift) for motion in self._motions()]))

    @property
    def rates(self) -> list[float]:
        """Return λ of each Matérn kernel."""
        return [matern_rate(kernel.nu, _length(kernel)) for kernel, _ in self.moving]

    @property
    def initial_cov(self) -> Array:
        """Covariance of the states of a copy in equilibrium, up to v."""
        return reduce(np.kron, [motion.initial_cov for motion in self._motions()], np.eye(1))

    def features(self, X: Array) -> Array:
        """Return what multiplies the copies of the chain, (N, M), or (1, 1) where nothing does."""
        if not self.static:
            return np.ones((1, 1))
        made = np.ones((len(X), 1))
        for placed in self.static:
            made = (made[:, :, None] * placed.kernel.features(X)[:, None, :]).reshape(len(X), -1)
        return made

    @property
    def shaped(self) -> bool:
        """Whether its features move with parameters."""
        return any(len(placed.kernel.log_parameters) > 0 for placed in self.static)

    def pull(self, X: Array, weights: Array, gradient: Array) -> None:
        """Add to a gradient what parameters of the features do, from slopes in the features (N, M)."""
        traced = reduce(multiply_traced, (one.kernel.traced_features(X) for one in self.static))
        slopes = traced.pull(weights)
        for kernel, place in self.static:
            count = len(kernel.log_parameters)
            gradient[place : place + count] += slopes[:count]
            slopes = slopes[count:]

    def chain(self, steps: Array, room: Array | None = None) -> MaternChain:
        """Return a copy of the chain, over steps (M,); without Matérn kernels a constant.

        A single one is kept in ``room``, as by :func:`matern_chain`.
        """
        if not self.moving:
            one = np.ones((len(steps), 1, 1))
            return MaternChain(one, np.zeros_like(one), np.eye(1))
        place = room if len(self.moving) == 1 else None
        made = [matern_chain(k.nu, _length(k), steps, place) for k, _ in self.moving]
        return reduce(_times, made)

    def motions(self) -> Iterator[tuple[PlacedKernel, float, MaternMotion]]:
        """Yield each Matérn kernel with its λ, and how it moves the states of all."""
        every = list(self._motions())
        for i, placed in enumerate(self.moving):
            drift: Array = np.eye(1)
            diffusion: Array = np.eye(1)
            for j, motion in enumerate(every):
                still = np.eye(len(motion.drift)), motion.initial_cov
                drift = np.kron(drift, motion.drift if j == i else still[0])
                diffusion = np.kron(diffusion, motion.diffusion if j == i else still[1])
            yield placed, self.rates[i], MaternMotion(drift, diffusion, np.zeros_like(drift))

    def _motions(self) -> Iterator[MaternMotion]:
        return (matern_motion(placed.kernel.nu) for placed in self.moving)


def chain_terms(kernel: Kernel, place: int = 0) -> tuple[ChainTerm, ...] | None:
    """Return the summands of a kernel of one column beside its noise, None where it is no chain.

    Parameters
    ----------
    kernel : Kernel
    place : int
        Of its first parameter.

    Examples
    --------
    >>> from posteriori.kernels import RBF, Linear
    >>> [term.states for term in chain_terms(2.0 * Matern(nu=2.5) + Linear() * Matern(nu=0.5))]
    [3, 1]
    >>> chain_terms(RBF() + Matern()) is None
    True
    """
    placed = PlacedKernel(kernel, place)
    match kernel:
        case White():
            return ()
        case Constant():
            return (ChainTerm((placed,), (), ()),)
        case Matern() if np.size(kernel.scale) == 1:
            return (ChainTerm((), (placed,), ()),)
        case OnColumns(base, (0,)):
            return chain_terms(base, place)
        case Sum(members):
            several = _terms_of(members, place)
            return None if None in several else tuple(t for some in several for t in some or ())
        case Product(members):
            return _multiplied(_terms_of(members, place))
        case Power(base, power):
            return _multiplied([chain_terms(base, place)] * power)
    try:
        kernel.traced_features(np.zeros((1, 1)))
    except TypeError:
        return None
    return (ChainTerm((), (), (placed,)),)


def _terms_of(members: tuple[Kernel, ...], place: int) -> list[tuple[ChainTerm, ...] | None]:
    """Return the summands of each, whose parameters stand one after another."""
    made = []
    for member in members:
        made.append(chain_terms(member, place))
        place += len(member.log_parameters)
    return made


def _multiplied(factors: list[tuple[ChainTerm, ...] | None]) -> tuple[ChainTerm, ...] | None:
    """Return the product of sums as a sum of products; what noise multiplies is noise."""
    if () in factors:
        return ()
    known = [factor for factor in factors if factor is not None]
    if len(known) < len(factors):
        return None
    return tuple(
        ChainTerm(*(sum(parts, ()) for parts in zip(*chosen, strict=True)))
        for chosen in product(*known)
    )


def _length(kernel: Matern) -> float:
    return float(np.ravel(kernel.scale)[0])


def _times(a: MaternChain, b: MaternChain) -> MaternChain:
    """Return the chain of a product: Q = Q₁ ⊗ P₂ + (P₁ − Q₁) ⊗ Q₂, sums of positive terms."""
    held = a.initial_cov - a.noise_cov
    return MaternChain(
        _kron(a.transition, b.transition),
        _kron(a.noise_cov, b.initial_cov[None]) + _kron(held, b.noise_cov),
        np.kron(a.initial_cov, b.initial_cov),
    )


def _kron(a: Array, b: Array) -> Array:
    """Return A ⊗ B of each step."""
    size = a.shape[-1] * b.shape[-1]
    return (a[:, :, None, :, None] * b[:, None, :, None, :]).reshape(-1, size, size)
