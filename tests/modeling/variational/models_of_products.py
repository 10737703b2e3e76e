"""Models in which unknowns multiply, with data."""

import numpy as np

from posteriori import (
    Gamma,
    MvNormal,
    Normal,
)
from posteriori.modeling import Model, dot
from tests.modeling.variational.cases import Case, listed, noise

__all__ = ["CASES"]

CASES: list[Case] = []
case = listed(CASES)


@case
def principal_components():
    m = Model()
    m.W = MvNormal(np.zeros(2), cov=np.eye(2)).iid(4)
    m.mu = Normal(0.0, variance=4.0).iid(4)
    m.tau = Gamma(2.0, rate=1.0)
    m.z = MvNormal(np.zeros(2), cov=np.eye(2)).iid("n")
    m.x = Normal(m.W @ m.z + m.mu, precision=m.tau)
    return m, {"x": noise(6, 2, seed=16) @ noise(2, 4, seed=17) + 0.3 * noise(6, 4, seed=18)}


@case
def factor_analysis():
    """Columns of W have precisions of their own, as do the rows of the data; entries are missing."""
    m = Model()
    m.alpha = Gamma(2.0, rate=1.0).iid(2)
    m.W = Normal(0.0, precision=m.alpha).iid(4)
    m.tau = Gamma(2.0, rate=1.0).iid(4)
    m.z = MvNormal(np.zeros(2), cov=np.eye(2)).iid("n")
    m.x = Normal(m.W @ m.z, precision=m.tau)
    x = noise(7, 2, seed=19) @ noise(2, 4, seed=20) + 0.3 * noise(7, 4, seed=21)
    x[0, 1] = x[3, 0] = x[5, 3] = np.nan
    return m, {"x": x}


@case
def matrix_factorisation():
    """Crossed plates: a vector for each user and each item."""
    m = Model()
    m.u = MvNormal(np.zeros(2), cov=np.eye(2)).iid("user")
    m.v = MvNormal(np.zeros(2), cov=np.eye(2)).iid("item")
    m.tau = Gamma(2.0, rate=1.0)
    m.r = Normal(dot(m.u, m.v), precision=m.tau)
    r = noise(6, 2, seed=22) @ noise(2, 5, seed=23)
    r[1, 2] = r[4, 0] = np.nan
    return m, {"r": r}
