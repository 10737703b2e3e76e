"""Correlated effects of groups, whose precision matrix is unknown."""

from __future__ import annotations

import numpy as np
import pytest

from posteriori import Gamma, Model, MvNormal, Normal, Wishart, dot

DAYS = np.arange(5.0)


def effects(groups: int, *, unknown_noise: bool = False) -> tuple[Model, np.ndarray]:
    """Return reaction times that rise by days of sleep lost, groups differing in start and slope."""
    rng = np.random.default_rng(0)
    group, day = np.repeat(np.arange(groups), len(DAYS)), np.tile(DAYS, groups)
    start, slope = rng.normal([250.0, 10.0], [30.0, 5.0], size=(groups, 2)).T
    m = Model()
    m.P = Wishart(3, np.diag([1 / 900, 1 / 25]) / 3)
    m.b = MvNormal([250.0, 10.0], precision=m.P).iid(groups)
    mean = dot(np.stack([np.ones_like(day), day], axis=1), m.b[group])
    if unknown_noise:
        m.tau = Gamma(shape=1, rate=600)
        m.y = Normal(mean, precision=m.tau)
    else:
        m.y = Normal(mean, scale=25.0)
    return m, start[group] + slope[group] * day + 25.0 * rng.normal(size=len(day))


@pytest.mark.parametrize("unknown_noise", [False, True])
def test_the_planner_goes_on_to_what_can_learn_the_matrix(unknown_noise: bool) -> None:
    m, y = effects(6, unknown_noise=unknown_noise)
    post, other = m.infer(y=y), m.infer(y=y, method="vmp")
    assert float(post.log_evidence) == pytest.approx(float(other.log_evidence), rel=1e-12)
    np.testing.assert_allclose(post.b.mean, other.b.mean)
    np.testing.assert_allclose(post.P.mean, other.P.mean)
