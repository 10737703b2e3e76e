"""Which normal variables are chains: those that meet their next member and none further away."""

import numpy as np
import pytest

from posteriori import Gamma, Model, MvNormal, Normal


@pytest.mark.parametrize("order", [2, 3])
@pytest.mark.parametrize("as_vector", [True, False])
def test_coefficients_picked_one_by_one_are_those_of_a_regression(order, as_vector):
    y = np.cumsum(np.random.default_rng(0).standard_normal(12))
    m = Model()
    m.tau = Gamma(2.0, rate=1.0)
    m.a = (
        MvNormal(np.zeros(order), cov=np.eye(order))
        if as_vector
        else Normal(0, variance=1).iid(order)
    )
    for t in range(order, len(y)):
        mean = sum((m.a[k] * y[t - 1 - k] for k in range(1, order)), start=m.a[0] * y[t - 1])
        m[f"y{t}"] = Normal(mean, precision=m.tau)
    post = m.infer({f"y{t}": y[t] for t in range(order, len(y))}, tol=1e-12)
    X = np.column_stack([y[order - 1 - k : len(y) - 1 - k] for k in range(order)])
    cov = np.linalg.inv(np.eye(order) + post.tau.mean * X.T @ X)
    np.testing.assert_allclose(post.a.mean, post.tau.mean * cov @ X.T @ y[order:], rtol=1e-6)
    np.testing.assert_allclose(
        post.a.cov if as_vector else post.a.variance, cov if as_vector else np.diag(cov), rtol=1e-6
    )
