"""Unknowns in the units of the data, hundreds and thousands of them: against sums over a fine grid."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from scipy.special import logsumexp

from posteriori import Gamma, Model, Normal, StudentT
from posteriori.modeling import Posterior

Y = np.array([261.0, 283.5, 290.2, 297.7, 304.1, 311.6, 318.4, 333.0, 421.9])


def reaction_times(unit: float = 1.0) -> Posterior:
    m = Model()
    m.dof = Gamma(shape=2, rate=0.1)
    m.a = Normal(0, scale=500 * unit)
    m.y = StudentT(m.dof, m.a, scale=20 * unit).iid(len(Y))
    return m.infer(y=Y * unit)


def test_a_mean_of_student_noise_in_milliseconds() -> None:
    log_dof, a = np.linspace(-7, 6, 521)[:, None], np.linspace(200, 420, 661)
    prior = (
        stats.gamma(2, scale=10).logpdf(np.exp(log_dof)) + log_dof + stats.norm(0, 500).logpdf(a)
    )
    noise = stats.t(np.exp(log_dof)[..., None], a[:, None], 20).logpdf(Y)
    logs = prior + noise.sum(axis=-1)
    weights = np.exp(logs - logsumexp(logs))
    mean = (weights * a).sum()
    post = reaction_times()
    cell = (log_dof[1, 0] - log_dof[0, 0]) * (a[1] - a[0])
    assert float(post.log_evidence) == pytest.approx(logsumexp(logs) + np.log(cell), abs=1e-3)
    assert float(post.a.mean) == pytest.approx(mean, abs=0.01)
    assert float(post.a.variance) == pytest.approx((weights * (a - mean) ** 2).sum(), rel=5e-3)
    assert float(post.dof.mean) == pytest.approx((weights * np.exp(log_dof)).sum(), rel=5e-3)


@pytest.mark.parametrize("unit", [1e-3, 1e4])
def test_units_do_not_matter(unit: float) -> None:
    one, other = reaction_times(), reaction_times(unit)
    in_one = float(other.log_evidence) + len(Y) * np.log(unit)
    assert in_one == pytest.approx(float(one.log_evidence), abs=1e-3)
    assert float(other.a.mean) == pytest.approx(unit * float(one.a.mean), rel=1e-4)
