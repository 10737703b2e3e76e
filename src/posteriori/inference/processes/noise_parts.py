"""The noise in a kernel: what is on the diagonal of k(X) alone, and the kernel of the function without it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce

import numpy as np

from posteriori.kernels.inner_products import White
from posteriori.kernels.kernel import Kernel, OnColumns, Power, Product, Sum, Traced, Warped
from posteriori.numerics.types import Array

__all__ = ["noise_diagonal", "noiseless", "pull_noise", "silenced", "summands"]


@dataclass(frozen=True, eq=False, repr=False)
class _Silent(White):
    """Noise that keeps its parameter and is not heard."""

    def traced_diagonal(self, X: Array) -> Traced:
        return Traced(np.zeros(len(X)), lambda _: np.zeros(np.size(self.variance)))


def silenced(kernel: Kernel) -> Kernel:
    """Return the kernel of the function, with the parameters of all, those of the noise included.

    Examples
    --------
    >>> from posteriori.kernels import RBF
    >>> k = silenced(RBF() + White(0.5))
    >>> k.parameter_names, k.diagonal([[0.0]])
    (('RBF.scale', '_Silent.variance'), array([1.]))
    """
    match kernel:
        case White():
            return _Silent(kernel.variance)
        case Sum(members) | Product(members):
            return type(kernel)(tuple(map(silenced, members)))
        case Power(base, power):
            return Power(silenced(base), power)
        case OnColumns(base, columns):
            return OnColumns(silenced(base), columns)
        case Warped(base, function):
            return Warped(silenced(base), function)
    return kernel


def noise_diagonal(kernel: Kernel, X: Array) -> Array:
    """Return the variance of the noise at points, (N,): what is on the diagonal of k(X) alone.

    Examples
    --------
    >>> from posteriori.kernels import RBF
    >>> noise_diagonal(RBF() + White(0.5), np.zeros((2, 1)))
    array([0.5, 0.5])
    """
    match kernel:
        case White():
            return kernel.diagonal(X)
        case Sum(members):
            heard = [noise_diagonal(member, X) for member in members if _is_heard(member)]
            return reduce(np.add, heard) if heard else np.zeros(len(X))
    if not _is_heard(kernel):
        return np.zeros(len(X))
    return np.maximum(kernel.diagonal(X) - silenced(kernel).diagonal(X), 0.0)


def pull_noise(kernel: Kernel, X: Array, w: Array) -> Array:
    """Return Σ w ∂n/∂ln θ of the noise n at points, (P,), for weights (N,).

    Examples
    --------
    >>> from posteriori.kernels import RBF
    >>> pull_noise(RBF() + White(0.5), np.zeros((2, 1)), np.array([1.0, 3.0]))
    array([0., 2.])
    """
    if isinstance(kernel, Sum):
        return np.concatenate([pull_noise(member, X, w) for member in kernel.members])
    if not _is_heard(kernel):
        return np.zeros(len(kernel.log_parameters))
    slopes: Array = kernel.traced_diagonal(X).pull(w)
    return (
        slopes
        if isinstance(kernel, White)
        else slopes - silenced(kernel).traced_diagonal(X).pull(w)
    )


def _is_heard(kernel: Kernel) -> bool:
    """Tell whether there is noise in a kernel."""
    return any(isinstance(leaf, White) for leaf in kernel._leaves())


def noiseless(kernel: Kernel) -> Kernel | None:
    """Return the kernel of the function without what is noise, None if it is nothing else.

    Examples
    --------
    >>> from posteriori.kernels import RBF
    >>> noiseless(2.0 * RBF() + White(0.5)), noiseless(3.0 * White(0.5))
    (Constant(value=2) * RBF(scale=1), None)
    """
    match kernel:
        case White():
            return None
        case Sum(members):
            heard = [part for part in map(noiseless, members) if part is not None]
            return (heard[0] if len(heard) == 1 else Sum(tuple(heard))) if heard else None
        case Product(members):
            parts = [noiseless(member) for member in members]
            return None if None in parts else Product(tuple(part for part in parts if part))
        case Power(base, power):
            return None if (part := noiseless(base)) is None else Power(part, power)
        case OnColumns(base, columns):
            return None if (part := noiseless(base)) is None else OnColumns(part, columns)
        case Warped(base, function):
            return None if (part := noiseless(base)) is None else Warped(part, function)
    return kernel


def summands(kernel: Kernel) -> tuple[Kernel, ...]:
    """Return the kernels of the functions whose sum is seen, without noise."""
    function = noiseless(kernel)
    if function is None:
        return ()
    return function.members if isinstance(function, Sum) else (function,)
