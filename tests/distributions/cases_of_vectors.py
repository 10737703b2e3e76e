"""Families of vectors and matrices, and joint laws of a mean and its spread: a row each."""

import numpy as np
from scipy import stats

from posteriori.distributions import (
    Dirichlet,
    InverseWishart,
    MatrixNormal,
    MatrixNormalWishart,
    MvNormal,
    MvStudentT,
    NormalGamma,
    NormalInverseGamma,
    NormalInverseWishart,
    NormalWishart,
    VectorNormalGamma,
    VectorNormalInverseGamma,
    Wishart,
)
from tests.distributions import oracles
from tests.distributions.family_case import Case

__all__ = ["VECTORS"]

VECTORS = (
    Case(
        one=lambda: MvNormal([0.5, -0.3], cov=[[1.2, 0.4], [0.4, 0.8]]),
        two=lambda: MvNormal([-0.2, 0.4], cov=[[0.7, -0.2], [-0.2, 1.1]]),
        batch=lambda: MvNormal(
            [[0.0, 1.0], [2.0, -1.0], [0.3, 0.3]],
            cov=[[[1.0, 0.2], [0.2, 2.0]], [[0.5, 0.0], [0.0, 0.5]], [[2.0, -0.7], [-0.7, 1.0]]],
        ),
        inside=[[0.0, 0.0], [0.5, -0.3], [1.7, 0.2], [-2.0, 2.0]],
        rule=oracles.plane,
        peer=lambda: stats.multivariate_normal([0.5, -0.3], [[1.2, 0.4], [0.4, 0.8]]),
        extremes=(
            lambda: MvNormal([1e12, -1e12], cov=1e-12 * np.eye(2)),
            lambda: MvNormal([1e-12, 1.0], precision=[[1e-12, 0.0], [0.0, 1e12]]),
        ),
        improper=(
            ([0.3, -0.2], [[1.0, 1.0], [1.0, 1.0]]),
            ([0.3, -0.2], [[1.0, 0.0], [0.0, -2.0]]),
            ([0.0, 0.0], [[0.0, 0.0], [0.0, 0.0]]),
        ),
        rtol=1e-8,
    ),
    Case(
        one=lambda: Dirichlet([2.3, 3.1, 1.8]),
        two=lambda: Dirichlet([1.7, 2.0, 2.6]),
        batch=lambda: Dirichlet([[1.5, 2.0, 2.5], [20.0, 30.0, 15.0]]),
        inside=[[0.2, 0.3, 0.5], [0.7, 0.2, 0.1], [0.05, 0.9, 0.05]],
        outside=[[0.5, 0.6, -0.1], [0.2, 0.2, 0.2]],
        rule=oracles.simplex_3,
        peer=lambda: stats.dirichlet([2.3, 3.1, 1.8]),
        extremes=(lambda: Dirichlet([1e12, 3.0, 1e-12]),),
        improper=(([-1.5, 1.0, 1.0],),),
        rtol=1e-8,
    ),
    Case(
        one=lambda: MvStudentT(9.0, [0.5, -0.3], scale=[[1.2, 0.4], [0.4, 0.8]]),
        two=lambda: MvStudentT(14.0, [-0.2, 0.4], scale=[[0.7, -0.2], [-0.2, 1.1]]),
        batch=lambda: MvStudentT(
            [3.0, 1e6], [[0.0, 1.0], [2.0, -1.0]], scale=[[[1.0, 0.2], [0.2, 2.0]], np.eye(2)]
        ),
        inside=[[0.0, 0.0], [0.5, -0.3], [1.7, 0.2], [-6.0, 5.0]],
        rule=lambda: oracles.tensor(oracles.real_line(240), oracles.real_line(240)),
        peer=lambda: stats.multivariate_t([0.5, -0.3], [[1.2, 0.4], [0.4, 0.8]], 9.0),
        rtol=1e-8,
    ),
    Case(
        one=lambda: Wishart(12.0, [[0.12, 0.03], [0.03, 0.1]]),
        two=lambda: Wishart(14.0, [[0.1, -0.02], [-0.02, 0.12]]),
        batch=lambda: Wishart([3.5, 80.0], [[[1.0, 0.2], [0.2, 2.0]], [[0.01, 0.0], [0.0, 0.02]]]),
        inside=[[[1.0, 0.2], [0.2, 1.5]], [[0.5, -0.3], [-0.3, 0.4]], [[3.0, 1.0], [1.0, 2.0]]],
        outside=[[[1.0, 2.0], [2.0, 1.0]], [[1.0, 0.2], [0.3, 1.0]], [[-1.0, 0.0], [0.0, -1.0]]],
        rule=oracles.matrices_2d,
        peer=lambda: stats.wishart(12.0, [[0.12, 0.03], [0.03, 0.1]]),
        extremes=(
            lambda: Wishart(1e12, 1e-12 * np.eye(2)),
            lambda: Wishart(3.0, [[1e-12, 0.0], [0.0, 1e12]]),
        ),
        improper=((-2.0, -np.eye(2)), (1.0, np.eye(2)), (1.0, -np.ones((2, 2)))),
        rtol=1e-6,
    ),
    Case(
        one=lambda: InverseWishart(14.0, [[8.0, 1.0], [1.0, 7.0]]),
        two=lambda: InverseWishart(12.0, [[9.0, -1.0], [-1.0, 10.0]]),
        batch=lambda: InverseWishart(
            [6.5, 80.0], [[[1.0, 0.2], [0.2, 2.0]], [[100.0, 0.0], [0.0, 50.0]]]
        ),
        inside=[[[1.0, 0.2], [0.2, 1.5]], [[0.5, -0.3], [-0.3, 0.4]], [[3.0, 1.0], [1.0, 2.0]]],
        outside=[[[1.0, 2.0], [2.0, 1.0]], [[1.0, 0.2], [0.3, 1.0]], [[-1.0, 0.0], [0.0, -1.0]]],
        rule=oracles.inverse_matrices_2d,
        peer=lambda: stats.invwishart(14.0, [[8.0, 1.0], [1.0, 7.0]]),
        extremes=(
            lambda: InverseWishart(1e12, 1e12 * np.eye(2)),
            lambda: InverseWishart(3.0, [[1e-12, 0.0], [0.0, 1e12]]),
        ),
        improper=((-1.5, -np.eye(2)), (-4.0, np.eye(2))),
        rtol=1e-6,
    ),
    Case(
        one=lambda: NormalGamma(0.5, 1.7, 4.0, 3.0),
        two=lambda: NormalGamma(-0.2, 0.8, 5.5, 4.0),
        batch=lambda: NormalGamma([0.0, 3.0], [0.5, 20.0], [2.5, 50.0], [1.0, 40.0]),
        inside=([0.0, 0.5, 2.0], [0.4, 1.3, 3.0]),
        outside=[(0.0, -1.0)],
        rule=lambda d: oracles.with_mean(
            (tau := oracles.positive_line()), d.location, (d.mean_strength * tau.points) ** -0.5
        ),
        extremes=(lambda: NormalGamma(0.0, 1e12, 1e12, 1e-12),),
        improper=((0.5, -1.0, 0.3, 0.5), (-2.0, -1.0, 0.0, -0.5)),
    ),
    Case(
        one=lambda: NormalInverseGamma(0.5, 1.7, 5.5, 3.0),
        two=lambda: NormalInverseGamma(-0.2, 0.8, 6.5, 4.0),
        batch=lambda: NormalInverseGamma([0.0, 3.0], [0.5, 20.0], [2.5, 50.0], [1.0, 40.0]),
        inside=([0.0, 0.5, 2.0], [0.4, 1.3, 3.0]),
        outside=[(0.0, -1.0), (0.0, 0.0)],
        rule=lambda d: oracles.with_mean(
            (variance := oracles.inverted(oracles.positive_line())),
            d.location,
            (variance.points / d.mean_strength) ** 0.5,
        ),
        extremes=(lambda: NormalInverseGamma(0.0, 1e12, 1e12, 1e-12),),
        improper=((-3.5, -1.0, 0.3, 0.5), (0.0, -1.0, 0.0, -0.5)),
    ),
    Case(
        one=lambda: VectorNormalGamma(
            [0.5, -0.3], mean_precision=[[1.2, 0.4], [0.4, 0.8]], shape=5.5, rate=3.0
        ),
        two=lambda: VectorNormalGamma(
            [-0.2, 0.4], mean_precision=[[0.7, -0.2], [-0.2, 1.1]], shape=6.5, rate=4.0
        ),
        batch=lambda: VectorNormalGamma(
            [[0.0, 1.0], [2.0, -1.0]],
            mean_precision=[[[1.0, 0.2], [0.2, 2.0]], [[5.0, 0.0], [0.0, 9.0]]],
            shape=[2.5, 50.0],
            rate=[1.0, 40.0],
        ),
        inside=([[0.0, 0.0], [0.5, -0.3], [1.0, 2.0]], [0.4, 1.3, 3.0]),
        outside=[([0.0, 0.0], -1.0)],
        rule=lambda d: oracles.with_mean(
            (tau := oracles.positive_line()),
            d.location,
            oracles.inverse_root(d.mean_precision) * tau.points[:, None, None] ** -0.5,
        ),
        improper=((3.5, -1.0, [0.3, 0.0], 0.5 * np.eye(2)), (-2.0, -1.0, [0.0, 0.0], -np.eye(2))),
    ),
    Case(
        one=lambda: VectorNormalInverseGamma(
            [0.5, -0.3], mean_precision=[[1.2, 0.4], [0.4, 0.8]], shape=5.5, scale=3.0
        ),
        two=lambda: VectorNormalInverseGamma(
            [-0.2, 0.4], mean_precision=[[0.7, -0.2], [-0.2, 1.1]], shape=6.5, scale=4.0
        ),
        batch=lambda: VectorNormalInverseGamma(
            [[0.0, 1.0], [2.0, -1.0]],
            mean_precision=[[[1.0, 0.2], [0.2, 2.0]], [[5.0, 0.0], [0.0, 9.0]]],
            shape=[2.5, 50.0],
            scale=[1.0, 40.0],
        ),
        inside=([[0.0, 0.0], [0.5, -0.3], [1.0, 2.0]], [0.4, 1.3, 3.0]),
        outside=[([0.0, 0.0], -1.0), ([0.0, 0.0], 0.0)],
        rule=lambda d: oracles.with_mean(
            (variance := oracles.inverted(oracles.positive_line())),
            d.location,
            oracles.inverse_root(d.mean_precision) * variance.points[:, None, None] ** 0.5,
        ),
        improper=((-3.5, -1.0, [0.3, 0.0], 0.5 * np.eye(2)), (0.0, -1.0, [0.0, 0.0], -np.eye(2))),
    ),
    Case(
        one=lambda: NormalWishart([0.3, -0.2], 1.7, 12.0, [[0.12, 0.03], [0.03, 0.1]]),
        two=lambda: NormalWishart([-0.1, 0.4], 0.8, 14.0, [[0.1, -0.02], [-0.02, 0.12]]),
        batch=lambda: NormalWishart(
            [[0.0, 1.0], [2.0, -1.0]],
            [0.5, 20.0],
            [6.5, 80.0],
            [[[1.0, 0.2], [0.2, 2.0]], [[0.01, 0.0], [0.0, 0.02]]],
        ),
        inside=([[0.0, 0.0], [0.5, -0.3]], [[[1.0, 0.2], [0.2, 1.5]], [[0.5, -0.3], [-0.3, 0.4]]]),
        outside=[([0.0, 0.0], [[1.0, 2.0], [2.0, 1.0]])],
        rule=lambda d: oracles.with_mean(
            (precision := oracles.matrices_2d()),
            d.location,
            oracles.inverse_root(precision.points) * d.mean_strength**-0.5,
        ),
        improper=((0.5, -np.eye(2), [0.3, 0.0], 0.5), (-3.0, -np.eye(2), [0.0, 0.0], -0.5)),
        rtol=1e-6,
    ),
    Case(
        one=lambda: NormalInverseWishart([0.3, -0.2], 1.7, 14.0, [[8.0, 1.0], [1.0, 7.0]]),
        two=lambda: NormalInverseWishart([-0.1, 0.4], 0.8, 12.0, [[9.0, -1.0], [-1.0, 10.0]]),
        batch=lambda: NormalInverseWishart(
            [[0.0, 1.0], [2.0, -1.0]],
            [0.5, 20.0],
            [6.5, 80.0],
            [[[1.0, 0.2], [0.2, 2.0]], [[100.0, 0.0], [0.0, 50.0]]],
        ),
        inside=([[0.0, 0.0], [0.5, -0.3]], [[[1.0, 0.2], [0.2, 1.5]], [[0.5, -0.3], [-0.3, 0.4]]]),
        outside=[([0.0, 0.0], [[1.0, 2.0], [2.0, 1.0]])],
        rule=lambda d: oracles.with_mean(
            (cov := oracles.inverse_matrices_2d()),
            d.location,
            np.linalg.cholesky(cov.points) * d.mean_strength**-0.5,
        ),
        improper=((-3.5, -np.eye(2), [0.3, 0.0], 0.5), (0.5, -np.eye(2), [0.0, 0.0], -0.5)),
        rtol=1e-6,
    ),
    Case(
        one=lambda: MatrixNormal(
            [[0.5, -0.3], [0.2, 0.1]], [[1.2, 0.4], [0.4, 0.8]], [[0.7, -0.2], [-0.2, 1.1]]
        ),
        two=lambda: MatrixNormal(
            [[0.0, 0.4], [-0.3, 0.2]], [[0.8, 0.1], [0.1, 0.9]], [[1.0, 0.3], [0.3, 0.6]]
        ),
        batch=lambda: MatrixNormal(
            [[[0.0, 1.0], [2.0, 0.5]], [[2.0, -1.0], [0.3, 0.0]]],
            [[[1.0, 0.2], [0.2, 2.0]], np.eye(2)],
            [[[0.5, 0.0], [0.0, 0.5]], [[2.0, -0.7], [-0.7, 1.0]]],
        ),
        inside=[[[0.0, 0.0], [0.0, 0.0]], [[0.5, -0.3], [0.2, 0.1]], [[1.7, 0.2], [-2.0, 1.0]]],
        rule=oracles.matrices_around,
        peer=lambda: stats.matrix_normal(
            [[0.5, -0.3], [0.2, 0.1]], [[1.2, 0.4], [0.4, 0.8]], [[0.7, -0.2], [-0.2, 1.1]]
        ),
    ),
    Case(
        one=lambda: MatrixNormalWishart(
            [[0.5], [-0.3]], [[1.2, 0.4], [0.4, 0.8]], dof=8.0, scale=[[0.5]]
        ),
        two=lambda: MatrixNormalWishart(
            [[-0.2], [0.4]], [[0.7, -0.2], [-0.2, 1.1]], dof=11.0, scale=[[0.3]]
        ),
        batch=lambda: MatrixNormalWishart(
            [[[0.0], [1.0]], [[2.0], [-1.0]]],
            [[[1.0, 0.2], [0.2, 2.0]], [[5.0, 0.0], [0.0, 9.0]]],
            dof=[5.0, 80.0],
            scale=[[[1.0]], [[0.01]]],
        ),
        inside=([[[0.0], [0.0]], [[0.5], [-0.3]], [[1.0], [2.0]]], [[[0.4]], [[1.3]], [[3.0]]]),
        outside=[([[0.0], [0.0]], [[-1.0]])],
        rule=lambda d: oracles.as_columns(
            oracles.with_mean(
                (precision := oracles.positive_line()),
                d.location[:, 0],
                oracles.inverse_root(d.mean_precision) / precision.points[:, None, None] ** 0.5,
            )
        ),
        improper=(
            (0.5, [[-1.0]], [0.3, 0.0], 0.5 * np.eye(2)),
            (-3.0, [[-1.0]], [0.0, 0.0], -np.eye(2)),
        ),
    ),
)
