"""One row for each kernel, and for each way to make a new one."""

import numpy as np

from posteriori import Gamma, MvNormal, Normal, Poisson
from posteriori.kernels import (
    RBF,
    Constant,
    Coregion,
    Cosine,
    Features,
    FisherKernel,
    Function,
    InverseMultiquadric,
    InverseQuadratic,
    Linear,
    Matern,
    Overlap,
    Periodic,
    Polynomial,
    Radial,
    RationalQuadratic,
    White,
)


def curve(x):
    return np.column_stack([x, x[:, :1] ** 2])


def smallest(x, z):
    return np.minimum.outer(np.abs(x[:, 0]), np.abs(z[:, 0]))


def codes(x):
    return np.floor(np.abs(x[:, :1])).clip(0, 2)


#: Kernels of three columns.
CASES = {
    "constant": Constant(2.5),
    "linear": Linear(),
    "polynomial": Polynomial(degree=3, offset=0.7),
    "homogeneous": Polynomial(degree=2, offset=0.0),
    "rbf": RBF(scale=1.3),
    "rbf of columns": RBF(scale=[0.8, 2.0, 1.5]),
    "matern 1/2": Matern(nu=0.5, scale=0.9),
    "matern 1/2 of columns": Matern(nu=0.5, scale=[0.9, 1.4, 2.0]),
    "matern 3/2": Matern(nu=1.5, scale=[0.9, 1.4, 2.0]),
    "matern 5/2": Matern(nu=2.5, scale=1.1),
    "rational quadratic": RationalQuadratic(mixing=0.6, scale=[1.0, 2.0, 0.7]),
    "periodic": Periodic(period=1.7, scale=0.9),
    "cosine": Cosine(period=2.3),
    "inverse multiquadric": InverseMultiquadric(offset=0.8),
    "inverse quadratic": InverseQuadratic(offset=0.8),
    "radial": Radial(lambda s: np.exp(-np.sqrt(s))),
    "overlap": Overlap(),
    "features": Features(curve, cov=np.diag([1.0, 2.0, 0.5, 3.0])),
    "fisher": FisherKernel(MvNormal([0.2, 0.1, -0.3], cov=np.diag([1.0, 2.0, 0.5]))),
    "fisher of a column": FisherKernel(Normal(0.3, variance=2.0)).on([1]),
    "fisher of waits": FisherKernel(Gamma(shape=2.0, rate=1.5)).on([0]).warped(np.exp),
    "fisher of counts": FisherKernel(Poisson(2.0)).on([0]).warped(lambda x: np.floor(np.abs(x))),
    "function": Function(smallest),
    "white": White(0.4),
    "white by category": White([0.4, 0.2, 0.9]).warped(codes),
    "coregion": Coregion([1.5, 0.7, 2.0], [[0.6, 0.1], [-1.2, 0.4], [0.3, 2.0]]).warped(codes),
    "sum": 2.0 * RBF(scale=[1.0, 3.0, 1.0]) + Linear() * Periodic(period=1.0, scale=0.8).on([0]),
    "noisy": 2.0 * RBF(scale=0.7) + White(0.3),
    "noise times": (RBF(scale=0.7) + White(0.3)) * (Linear() + 0.5),
    "power": (RBF(scale=1.1) + 0.5) ** 3,
    "some columns": Matern(nu=1.5, scale=[1.0, 2.0]).on([2, 0]),
    "warped": RBF(scale=0.5).warped(np.tanh),
}

#: Those whose features are finite and known.
WITH_FEATURES = {
    "constant": CASES["constant"],
    "linear": CASES["linear"],
    "polynomial": CASES["polynomial"],
    "homogeneous": CASES["homogeneous"],
    "cosine": CASES["cosine"],
    "features": CASES["features"],
    "fisher": CASES["fisher"],
    "coregion": CASES["coregion"],
    "fisher of waits": CASES["fisher of waits"],
    "sum": 0.5 * Linear() + Polynomial(degree=2, offset=1.0),
    "product": Linear() * Cosine(period=3.0),
    "power": (Linear() + 0.5) ** 2,
    "some columns": Polynomial(degree=2, offset=0.3).on([1, 2]),
    "warped": Linear().warped(np.tanh),
}


def points(n: int, seed: int = 0, columns: int = 3) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n, columns))
