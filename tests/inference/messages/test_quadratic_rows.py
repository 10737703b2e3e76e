"""Messages of quadratic factors against dense algebra on all vectors of a row."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from posteriori.inference.messages.row_messages import QuadraticRows

pytestmark = pytest.mark.blas


def test_messages_integrate_over_the_other_vectors() -> None:
    rng = np.random.default_rng(0)
    n, views, rows = 2, 3, 4
    roots = rng.standard_normal((rows, views * n, views * n))
    j = roots @ np.swapaxes(roots, -1, -2)
    h = rng.standard_normal((rows, views * n))
    told = []
    for _ in range(views):
        root = rng.standard_normal((rows, n, n))
        told.append((rng.standard_normal((rows, n)), root @ np.swapaxes(root, -1, -2)))
    rule = QuadraticRows(h, j, n)
    for slot in range(views):
        incoming = [message for k, message in enumerate(told) if k != slot]
        got = rule.send(np.arange(rows), slot, incoming)
        for r in range(rows):
            precision, weighted = j[r].copy(), h[r].copy()
            for k, (xi, more) in enumerate(told):
                if k != slot:
                    part = slice(k * n, (k + 1) * n)
                    precision[part, part] += more[r]
                    weighted[part] += xi[r]
            cov = np.linalg.inv(precision)  # the marginal of the dense normal
            own = slice(slot * n, (slot + 1) * n)
            marginal = np.linalg.inv(cov[own, own])
            assert_allclose(got[1][r], marginal, rtol=1e-8)
            assert_allclose(got[0][r], marginal @ (cov @ weighted)[own], rtol=1e-7)


def test_one_vector_gets_the_factor_itself() -> None:
    h, j = np.array([[1.0, 2.0], [3.0, 4.0]]), np.stack([np.eye(2), 2.0 * np.eye(2)])
    xi, precision = QuadraticRows(h, j, 2).send(np.array([1]), 0, [])
    assert_allclose(xi, h[1:])
    assert_allclose(precision, j[1:])
