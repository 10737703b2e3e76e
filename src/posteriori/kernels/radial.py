r"""Radial kernels :math:`k(x, z) = f(s)` of the squared distance :math:`s = \sum_d (x_d - z_d)^2/\ell_d^2`.

With :math:`M = W \circ f'(s)` the gradient in the scales is :math:`-2\sum_{nm} M_{nm}(x_{nd} -
z_{md})^2/\ell_d^2`: one product of matrices for all columns.

Reference: C. Rasmussen & C. Williams, "Gaussian processes for machine learning", 2006, §4.2.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from posteriori.kernels.distances import column_squares, squared_distances
from posteriori.kernels.kernel import Kernel, Traced
from posteriori.numerics.types import Array
from posteriori.numerics.validation import positive

__all__ = [
    "RBF",
    "InverseMultiquadric",
    "InverseQuadratic",
    "Matern",
    "Radial",
    "RadialKernel",
    "RationalQuadratic",
]


class Profile(NamedTuple):
    """A radial kernel as a function of the squared distance s.

    Attributes
    ----------
    value : array
        f(s).
    slope : callable
        Returns f'(s); where it is infinite, at s = 0, any finite number.
    own : tuple of callables
        Each returns ∂f/∂ln θ of a parameter beside the scales, in their order.
    """

    value: Array
    slope: Callable[[], Array]
    own: tuple[Callable[[], Array], ...] = ()


class RadialKernel(Kernel):
    """A function of the squared distance; a subclass states ``_profile``."""

    scale: Any

    @abstractmethod
    def _profile(self, s: Array) -> Profile:
        """Return the kernel at squared distances, and its slopes."""

    def evaluate(self, X: Array, Z: Array) -> Array:
        scale = self._scale_of(X)
        return self._profile(squared_distances(X / scale, Z / scale)).value

    def traced(self, X: Array, Z: Array) -> Traced:
        scale = self._scale_of(X)
        x, z = X / scale, Z / scale
        s = squared_distances(x, z)
        profile = self._profile(s)

        def pull(W: Array) -> Array:
            own = [np.vdot(W, slope()) for slope in profile.own]
            if "scale" not in self._learned:
                return np.array(own)
            M = W * profile.slope()
            scales = column_squares(x, z, M) if np.ndim(scale) else [np.vdot(M, s)]
            return np.concatenate([own, -2.0 * np.asarray(scales)])

        return Traced(profile.value, pull)

    def traced_diagonal(self, X: Array) -> Traced:
        self._scale_of(X)
        profile = self._profile(np.zeros(len(X)))
        still = np.zeros(np.size(self.scale) if "scale" in self._learned else 0)
        return Traced(
            profile.value,
            lambda w: np.concatenate([[np.vdot(w, slope()) for slope in profile.own], still]),
        )

    def slopes(self, X: Array, Z: Array) -> Array:
        """Return f'(s) of checked points, (N, M)."""
        scale = self._scale_of(X)
        return self._profile(squared_distances(X / scale, Z / scale)).slope()

    def _scale_of(self, X: Array) -> Any:
        """Return ℓ, or say that there is not one for each column."""
        if np.ndim(self.scale) and np.size(self.scale) != X.shape[1]:
            raise ValueError(
                f"{self!r} has {np.size(self.scale)} scales and points have {X.shape[1]} columns; "
                "give one scale for all, or one for each column"
            )
        return self.scale


def _check_scale(scale: Any) -> Array:
    checked = positive("scale", scale)
    if np.ndim(checked) > 1 or not np.size(checked):
        raise ValueError(
            f"scale must be a number or one number for each column, got shape {np.shape(checked)}"
        )
    return checked[()]


@dataclass(frozen=True, eq=False, repr=False)
class RBF(RadialKernel):
    r"""Gaussian kernel :math:`\exp(-s/2)`: functions with all derivatives.

    Parameters
    ----------
    scale : float or (D,)
        ℓ > 0, the distance over which functions change; one for all columns, or one for each. (Notes
        that write θ₁ for ℓ² have a squared length.)

    Examples
    --------
    >>> RBF(scale=2.0)([[0.0], [2.0]]).round(4)
    array([[1.    , 0.6065],
           [0.6065, 1.    ]])
    """

    _learned = ("scale",)

    scale: Any = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", _check_scale(self.scale))

    def _profile(self, s: Array) -> Profile:
        value = np.multiply(s, -0.5)
        np.exp(value, out=value)
        return Profile(value, lambda: -0.5 * value)


@dataclass(frozen=True, eq=False, repr=False)
class Matern(RadialKernel):
    r"""Matérn kernel of smoothness ν: functions with ν − ½ derivatives.

    With r = √s: :math:`e^{-r}`, :math:`(1 + \sqrt3 r)e^{-\sqrt3 r}` and
    :math:`(1 + \sqrt5 r + \tfrac53 r^2)e^{-\sqrt5 r}` for ν = ½, 3/2 and 5/2.

    Parameters
    ----------
    nu : {0.5, 1.5, 2.5}
    scale : float or (D,)
        ℓ > 0.

    Examples
    --------
    >>> Matern(nu=0.5, scale=2.0)([[0.0]], [[1.0]]).round(4)
    array([[0.6065]])
    """

    _learned = ("scale",)

    nu: float = 1.5
    scale: Any = 1.0

    def __post_init__(self) -> None:
        if self.nu not in (0.5, 1.5, 2.5):
            raise ValueError(
                f"nu must be 0.5, 1.5 or 2.5, got {self.nu!r}; RBF is the limit of large nu"
            )
        object.__setattr__(self, "scale", _check_scale(self.scale))

    def _profile(self, s: Array) -> Profile:
        r = np.sqrt(2.0 * self.nu * s)  # √(2ν) r
        fall = np.exp(-r)
        if self.nu == 0.5:
            # −e^{−r}/2r; at r = 0 it is multiplied by 0
            return Profile(fall, lambda: -0.5 * fall / np.where(r > 0, r, 1.0))
        if self.nu == 1.5:
            return Profile((1.0 + r) * fall, lambda: -1.5 * fall)
        return Profile((1.0 + r + r * r / 3.0) * fall, lambda: (-5.0 / 6.0) * (1.0 + r) * fall)


@dataclass(frozen=True, eq=False, repr=False)
class RationalQuadratic(RadialKernel):
    r"""Gaussian kernels of all scales mixed, :math:`(1 + s/2\alpha)^{-\alpha}`.

    Parameters
    ----------
    mixing : float
        α > 0; the larger, the more alike the scales. Its limit is the Gaussian kernel.
    scale : float or (D,)
        ℓ > 0.

    Examples
    --------
    >>> RationalQuadratic(mixing=1.0, scale=1.0)([[0.0]], [[2.0]]).round(4)
    array([[0.3333]])
    """

    _learned = ("mixing", "scale")

    mixing: Any = 1.0
    scale: Any = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "mixing", positive("mixing", self.mixing)[()])
        object.__setattr__(self, "scale", _check_scale(self.scale))

    def _profile(self, s: Array) -> Profile:
        a = self.mixing
        t = s / (2.0 * a)
        logs = np.log1p(t)
        value = np.exp(-a * logs)
        # ∂/∂ln α = k α (t/(1+t) − ln(1+t))
        return Profile(
            value,
            lambda: -0.5 * value / (1.0 + t),
            (lambda: a * value * (t / (1.0 + t) - logs),),
        )


@dataclass(frozen=True, eq=False, repr=False)
class InverseMultiquadric(RadialKernel):
    r""":math:`1/\sqrt{|x-z|^2 + c^2}`; some notes call it "inverse quadratic".

    Parameters
    ----------
    offset : float
        c > 0.

    Examples
    --------
    >>> InverseMultiquadric(offset=3.0)([[0.0]], [[4.0]])
    array([[0.2]])
    """

    _learned = ("offset",)

    offset: Any = 1.0

    #: Distances are not scaled.
    scale = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "offset", positive("offset", self.offset)[()])

    def _profile(self, s: Array) -> Profile:
        square = self.offset**2
        value = (s + square) ** -0.5
        return Profile(value, lambda: -0.5 * value**3, (lambda: -square * value**3,))


@dataclass(frozen=True, eq=False, repr=False)
class InverseQuadratic(RadialKernel):
    r""":math:`1/(|x-z|^2 + c^2)`.

    Parameters
    ----------
    offset : float
        c > 0.

    Examples
    --------
    >>> InverseQuadratic(offset=3.0)([[0.0]], [[4.0]])
    array([[0.04]])
    """

    _learned = ("offset",)

    offset: Any = 1.0

    #: Distances are not scaled.
    scale = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "offset", positive("offset", self.offset)[()])

    def _profile(self, s: Array) -> Profile:
        square = self.offset**2
        value = 1.0 / (s + square)
        return Profile(value, lambda: -(value**2), (lambda: -2.0 * square * value**2,))


@dataclass(frozen=True, eq=False, repr=False)
class Radial(Kernel):
    """Any function of the squared distance, k(x, z) = f(|x − z|²).

    Whether it is a Mercer kernel :func:`~posteriori.kernels.is_mercer` can refute.

    Parameters
    ----------
    function : callable
        From squared distances (N, M) to kernel values (N, M).

    Examples
    --------
    >>> Radial(lambda s: 1.0 / (1.0 + s))([[0.0]], [[2.0]])
    array([[0.2]])
    """

    function: Callable[[Array], Array]

    def evaluate(self, X: Array, Z: Array) -> Array:
        return check_values(self, self.function(squared_distances(X, Z)), X, Z)


def check_values(kernel: Kernel, values: Any, X: Array, Z: Array) -> Array:
    """Return what a user's function says of points (N, D) and (M, D), or say what is wrong with it."""
    k = np.asarray(values)
    if k.shape != (shape := (len(X), len(Z))):
        raise ValueError(
            f"{kernel!r} must return values of shape {shape}, got {k.shape}: "
            f"one for each pair of {len(X)} points and {len(Z)}"
        )
    if k.dtype.kind not in "fiub":
        raise ValueError(f"{kernel!r} must return real numbers, got an array of {k.dtype}")
    k = k.astype(np.float64, copy=False)
    if not np.isfinite(k).all():
        n, m = np.argwhere(~np.isfinite(k))[0]
        points = [np.array2string(x, precision=6, threshold=8) for x in (X[n], Z[m])]
        raise ValueError(
            f"{kernel!r} must return finite values, got {k[n, m]} for the points {points[0]} and {points[1]}"
        )
    return k
