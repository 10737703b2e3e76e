r"""Kernels of one column as sums of Markov processes: Matérn kernels, times functions one can write down.

.. math:: k(x, z) = \sum_t v_t\,\phi_t(x)^\top\phi_t(z)\prod_i k_{\nu_i}(x, z)

A product of Matérn kernels is one chain whose states are all products of theirs; without any it is a
static effect. Sums in products are multiplied out.
"""

from __future__ import annotations

from itertools import product
from typing import NamedTuple

import numpy as np

from posteriori.inference.series.matern_chain import MaternChain, matern_chain
from posteriori.kernels.kernel import Constant, Kernel, OnColumns, Power, Product, Sum
from posteriori.kernels.radial import Matern
from posteriori.numerics.types import Array

__all__ = ["ChainTerm", "chain_terms", "term_chain"]

#: States of a Matérn process, by ν.
_STATES = {0.5: 1, 1.5: 2, 2.5: 3}


class ChainTerm(NamedTuple):
    """A summand.

    Attributes
    ----------
    variance : float
        v, the product of the constants.
    moving : tuple of Matern
    static : tuple of Kernel
        With features.
    """

    variance: float
    moving: tuple[Matern, ...]
    static: tuple[Kernel, ...]

    @property
    def states(self) -> int:
        """How many states a copy of the chain has."""
        return int(np.prod([_STATES[kernel.nu] for kernel in self.moving]))

    def features(self, X: Array) -> Array:
        """Return what multiplies the copies of the chain, (N, M), or (1, 1) where nothing does."""
        if not self.static:
            return np.ones((1, 1))
        made = np.ones((len(X), 1))
        for kernel in self.static:
            made = (made[:, :, None] * kernel.features(X)[:, None, :]).reshape(len(X), -1)
        return made


def chain_terms(kernel: Kernel) -> tuple[ChainTerm, ...] | None:
    """Return the summands of a kernel of one column without noise, None where it is no chain.

    Examples
    --------
    >>> from posteriori.kernels import RBF, Linear
    >>> [term.states for term in chain_terms(2.0 * Matern(nu=2.5) + Linear() * Matern(nu=0.5))]
    [3, 1]
    >>> chain_terms(RBF() + Matern()) is None
    True
    """
    match kernel:
        case Constant(value):
            return (ChainTerm(float(value), (), ()),)
        case Matern() if np.size(kernel.scale) == 1:
            return (ChainTerm(1.0, (kernel,), ()),)
        case OnColumns(base, (0,)):
            return chain_terms(base)
        case Sum(members):
            several = [chain_terms(member) for member in members]
            return None if None in several else tuple(t for some in several for t in some or ())
        case Product(members):
            return _multiplied([chain_terms(member) for member in members])
        case Power(base, power):
            return _multiplied([chain_terms(base)] * power)
    try:
        kernel.features(np.zeros((1, 1)))
    except TypeError:
        return None
    return (ChainTerm(1.0, (), (kernel,)),)


def _multiplied(factors: list[tuple[ChainTerm, ...] | None]) -> tuple[ChainTerm, ...] | None:
    """Return the product of sums as a sum of products."""
    known = [factor for factor in factors if factor is not None]
    if len(known) < len(factors):
        return None
    return tuple(
        ChainTerm(
            float(np.prod([one.variance for one in chosen])),
            tuple(kernel for one in chosen for kernel in one.moving),
            tuple(kernel for one in chosen for kernel in one.static),
        )
        for chosen in product(*known)
    )


def term_chain(moving: tuple[Matern, ...], steps: Array) -> MaternChain:
    """Return the chain of a product of Matérn processes, over steps (M,); a constant without any."""
    one = np.ones((len(steps), 1, 1))
    chain = MaternChain(one, np.zeros_like(one), np.eye(1))
    for kernel in moving:
        other = matern_chain(kernel.nu, float(np.ravel(kernel.scale)[0]), steps)
        chain = (
            _times(chain, other) if len(chain.initial_cov) > 1 or chain.noise_cov.any() else other
        )
    return chain


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
