"""Families made of points, tables or other families: a row or two each."""

import numpy as np
from scipy import stats

from posteriori.distributions import (
    Empirical,
    Mixture,
    MvNormal,
    MvStudentT,
    Normal,
    Numeric,
    NumericCounts,
    PointMass,
    StudentT,
    Transformed,
)
from posteriori.distributions.algebra.maps import AbsoluteMap, ExpMap, LinearMap
from tests.distributions import oracles
from tests.distributions.family_case import Case

__all__ = ["COMPOSITES"]

COMPOSITES = (
    Case(
        one=lambda: PointMass(1.5),
        two=lambda: PointMass(-0.5),
        batch=lambda: PointMass([1.5, -0.5, 3.0]),
        inside=[1.5, 1.5],
        outside=[0.0],
        rule=lambda: oracles.listed([1.5, -0.5, 0.0]),
        discrete=True,
        varies=False,
    ),
    Case(
        one=lambda: Empirical([[0.5, 1.0], [2.0, -1.0], [3.0, 0.0]], [0.25, 0.25, 0.5]),
        two=lambda: Empirical([[0.5, 1.0], [2.0, -1.0], [3.0, 0.0]], [0.5, 0.25, 0.25]),
        batch=lambda: Empirical(
            [[[0.5, 1.0], [2.0, -1.0]], [[2.0, -1.0], [0.5, 1.0]]],
            [[0.25, 0.75], [0.5, 0.5]],
            event_ndim=1,
        ),
        inside=[[0.5, 1.0], [2.0, -1.0], [0.5, 1.0]],
        outside=[[0.5, 0.0]],
        rule=lambda: oracles.listed([[0.5, 1.0], [2.0, -1.0], [3.0, 0.0]]),
        discrete=True,
    ),
    Case(
        one=lambda: Empirical([2.0, 0.5, 3.0, 2.0], [0.25, 0.25, 0.25, 0.25]),
        two=lambda: Empirical([2.0, 0.5, 3.0], [0.5, 0.375, 0.125]),
        batch=lambda: Empirical([[0.5, 2.0], [2.0, 0.5]], [[0.25, 0.75], [0.5, 0.5]], event_ndim=0),
        inside=[0.5, 2.0, 0.5],
        outside=[-1.0, 1.0, 4.0],
        rule=lambda: oracles.listed([0.5, 2.0, 3.0]),
        discrete=True,
    ),
    Case(
        one=lambda: Mixture(
            [0.25, 0.75],
            MvNormal([[0.5, -0.3], [1.5, 1.0]], cov=[[[1.2, 0.4], [0.4, 0.8]], np.eye(2)]),
        ),
        two=lambda: Mixture(
            [0.5, 0.5],
            MvNormal([[-0.5, 0.3], [0.5, 0.0]], cov=[[[0.7, 0.2], [0.2, 0.8]], np.eye(2)]),
        ),
        batch=lambda: Mixture(
            [[0.25, 0.75], [0.5, 0.5]],
            MvStudentT(
                [[5.0, 9.0], [4.0, 6.0]],
                [[[0.0, 1.0], [2.0, -1.0]], [[0.3, 0.3], [1.0, 1.0]]],
                scale=[[np.eye(2), np.eye(2)], [np.eye(2), 0.5 * np.eye(2)]],
            ),
        ),
        inside=[[0.0, 0.0], [0.5, -0.3], [1.7, 0.2], [-2.0, 2.0]],
        rule=lambda: oracles.plane(200),
        rtol=1e-8,
    ),
    Case(
        one=lambda: Mixture([0.25, 0.75], Normal([-1.0, 1.5], variance=[0.5, 2.0])),
        two=lambda: Mixture([0.5, 0.5], Normal([0.0, 1.0], variance=[1.0, 3.0])),
        batch=lambda: Mixture(
            [[0.25, 0.75], [0.5, 0.5]],
            Normal([[0.0, 2.0], [-1.0, 4.0]], variance=[[1.0, 2.0], [0.5, 3.0]]),
        ),
        inside=[-3.0, -0.2, 0.7, 1.1, 4.5],
        rule=oracles.real_line,
    ),
    Case(
        one=lambda: Transformed(
            MvNormal([0.5, -0.3], cov=[[1.2, 0.4], [0.4, 0.8]]),
            LinearMap([[1.0, 0.5], [-0.5, 0.75]], [0.5, 0.0]),
        ),
        two=lambda: Transformed(
            MvStudentT(14.0, [-0.2, 0.4], scale=[[0.7, -0.2], [-0.2, 1.1]]),
            LinearMap([[1.0, 0.0], [0.5, 1.0]]),
        ),
        batch=lambda: Transformed(
            MvNormal([[0.0, 1.0], [2.0, -1.0]], cov=[np.eye(2), 0.5 * np.eye(2)]),
            LinearMap([[1.0, 0.5], [-0.5, 0.75]]),
        ),
        inside=[[0.0, 0.0], [0.5, -0.3], [1.7, 0.2], [-2.0, 2.0]],
        rule=lambda: oracles.tensor(oracles.real_line(240), oracles.real_line(240)),
        rtol=1e-8,
    ),
    Case(
        one=lambda: Transformed(Normal(0.3, variance=0.4), ExpMap()),
        two=lambda: Transformed(StudentT(9.0, scale=1.0), AbsoluteMap()),
        batch=lambda: Transformed(Normal([0.0, 1.0], variance=[0.25, 0.5]), ExpMap()),
        inside=[0.05, 0.8, 1.9, 7.0],
        outside=[-0.1, -5.0],
        rule=oracles.positive_line,
        peer=lambda: stats.lognorm(np.sqrt(0.4), scale=np.exp(0.3)),
    ),
    Case(
        one=lambda: Numeric([0.0, 1.0, 2.0, 4.0], [0.25, 0.5, 0.25, 0.0], error=0.125),
        two=lambda: Numeric([0.0, 1.0, 2.0, 4.0], [0.25, 0.25, 0.25, 0.25]),
        batch=lambda: Numeric(
            [0.0, 1.0, 2.0, 4.0], [[0.25, 0.25, 0.25, 0.25], [0.25, 0.5, 0.25, 0.0]]
        ),
        inside=[0.25, 0.9, 1.1, 3.5],
        outside=[-0.1, 4.1],
        rule=lambda: oracles.panels([0.0, 1.0, 2.0, 4.0]),
    ),
    Case(
        one=lambda: NumericCounts(0, [0.25, 0.5, 0.125, 0.125], error=0.0625),
        two=lambda: NumericCounts(0, [0.5, 0.25, 0.125, 0.125]),
        batch=lambda: NumericCounts([0, 0], [[0.25, 0.75], [0.5, 0.5]]),
        inside=[0.0, 1.0, 0.0],
        outside=[-1.0, 0.5, 7.0],
        rule=lambda: oracles.counts(3),
        discrete=True,
    ),
)
