r"""A kernel parted into the function that it describes and the noise on it.

.. math:: k(x, x') = s(x, x') + n(x)\,\delta_{xx'}

Summands that are 0 between different points, as :class:`~posteriori.kernels.White` is, are noise; so is a
product with one of them, whose size then changes over the inputs.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from posteriori.kernels.inner_products import White
from posteriori.kernels.kernel import Kernel, OnColumns, Power, Product, Sum, Warped
from posteriori.numerics.types import Array

__all__ = ["PartedKernel", "part_noise"]


class PartedKernel(NamedTuple):
    """A kernel in two parts.

    Attributes
    ----------
    signal : Kernel
        Of the function.
    noise : Kernel or None
        Whose diagonal is the variance of the noise; None without noise.
    noisy : (P,) of bool
        Which parameters of the whole are those of the noise.
    """

    signal: Kernel
    noise: Kernel | None
    noisy: Array

    def joined(self, of_signal: Array, of_noise: Array) -> Array:
        """Return a vector of the whole's parameters from those of both parts."""
        whole = np.empty(len(self.noisy))
        whole[~self.noisy], whole[self.noisy] = of_signal, of_noise
        return whole


def part_noise(kernel: Kernel) -> PartedKernel:
    """Part a kernel into function and noise.

    Raises
    ------
    ValueError
        Where all of it is noise, or noise stands inside of a product with a sum.

    Examples
    --------
    >>> from posteriori.kernels import RBF, White
    >>> part_noise(2.0 * RBF() + White(0.1)).noise
    White(variance=0.1)
    """
    members = kernel.members if isinstance(kernel, Sum) else (kernel,)
    noise = [member for member in members if _is_noise(member)]
    signal = [member for member in members if not _is_noise(member)]
    if not signal:
        raise ValueError(f"{kernel!r} is noise alone: add a kernel of the function, such as RBF()")
    for member in signal:
        if any(isinstance(leaf, White) for leaf in member._leaves()):
            raise ValueError(
                f"noise must be a summand of its own, and is inside of {member!r}; write "
                "k * RBF() + White() in place of k * (RBF() + White())"
            )
    places = [np.full(len(m.log_parameters), _is_noise(m)) for m in members]
    return PartedKernel(_sum_of(signal), _sum_of(noise) if noise else None, np.concatenate(places))


def _is_noise(kernel: Kernel) -> bool:
    """Tell whether a kernel is 0 between different points, whatever they are."""
    match kernel:
        case White():
            return True
        case Sum(members):
            return all(map(_is_noise, members))
        case Product(members):
            return any(map(_is_noise, members))
        case Power(base) | OnColumns(base) | Warped(base):
            return _is_noise(base)
    return False


def _sum_of(members: list[Kernel]) -> Kernel:
    return members[0] if len(members) == 1 else Sum(tuple(members))
