"""Known Gamma shapes from which classes choose: mean-field equations, enumeration and limits."""

from itertools import product

import numpy as np
import pytest
from scipy import special

from posteriori import Bernoulli, Gamma, Model, take

Y = np.array([0.5, 1.0, 1.3, 2.0, 0.1])
SHAPES = np.array([2.0, 5.0])


def classes(shapes, *, common=False):
    m = Model()
    m.r = Gamma(2.0, 1.5) if common else Gamma(2.0, 1.5).iid(2)
    m.z = Bernoulli(0.3).iid("n")
    m.y = Gamma(take(shapes, m.z), m.r if common else take(m.r, m.z))
    return m


def log_evidence_of(y, shapes, prior=(2.0, 1.5)):
    """Of Gamma values of known shapes under one rate ~ Gamma(a, b)."""
    a, b = prior
    rows = np.sum((shapes - 1.0) * np.log(y) - special.gammaln(shapes))
    after = special.gammaln(a + shapes.sum()) - (a + shapes.sum()) * np.log(b + y.sum())
    return rows + after - special.gammaln(a) + a * np.log(b)


def test_beliefs_solve_the_equations_of_mean_field():
    post = classes(SHAPES).infer(y=Y, method="vmp", tol=1e-14, max_iter=10_000)
    p = np.column_stack([1.0 - post.z.probability, post.z.probability])
    a, b = 2.0 + p.sum(axis=0) * SHAPES, 1.5 + p.T @ Y
    np.testing.assert_allclose(post.r.shape, a, rtol=1e-6)
    np.testing.assert_allclose(post.r.rate, b, rtol=1e-6)
    logs = np.log(Y)[:, None] * (SHAPES - 1.0) - special.gammaln(SHAPES)
    logs += SHAPES * (special.digamma(a) - np.log(b)) - Y[:, None] * a / b + np.log([0.7, 0.3])
    np.testing.assert_allclose(p, special.softmax(logs, axis=1), rtol=1e-5)


def test_the_bound_is_below_the_evidence_by_enumeration():
    terms = []
    for states in product((0, 1), repeat=len(Y)):
        z = np.array(states)
        parts = [log_evidence_of(Y[z == k], np.full((z == k).sum(), SHAPES[k])) for k in (0, 1)]
        terms.append(sum(parts) + np.log(np.where(z, 0.3, 0.7)).sum())
    exact = special.logsumexp(terms)
    bound = float(classes(SHAPES).infer(y=Y, method="vmp").log_evidence)
    assert exact - 1.0 < bound < exact


def test_classes_of_one_shape_say_nothing():
    post = classes([3.0, 3.0], common=True).infer(y=Y)
    exact = log_evidence_of(Y, np.full(len(Y), 3.0))
    assert float(post.log_evidence) == pytest.approx(exact, abs=1e-9)
    np.testing.assert_allclose(post.z.probability, 0.3, rtol=1e-9)


def test_classes_that_are_seen_choose_their_shapes():
    z = np.array([0, 1, 1, 0, 1])
    post = classes(SHAPES, common=True).infer(y=Y, z=z)
    exact = log_evidence_of(Y, SHAPES[z]) + np.log(np.where(z, 0.3, 0.7)).sum()
    assert float(post.log_evidence) == pytest.approx(exact, abs=1e-9)


def test_shapes_must_be_positive():
    with pytest.raises(ValueError, match="shape of y must be positive"):
        classes([2.0, 0.0]).infer(y=Y)
