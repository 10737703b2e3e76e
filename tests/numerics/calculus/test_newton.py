"""Newton's method within a bracket."""

import numpy as np

from posteriori.numerics.calculus.newton import solve_increasing


def test_newton_in_a_bracket():
    levels = np.array([0.0, 0.3, 5.0, 100.0])
    root = solve_increasing(
        lambda x: (np.arctan(x - levels), 1 / (1 + (x - levels) ** 2)), -9, 200, 0
    )
    np.testing.assert_allclose(root, levels, atol=1e-12)
    flat = solve_increasing(lambda x: (np.sign(x - 2.5), np.zeros_like(x)), 0.0, 10.0, 1.0)
    np.testing.assert_allclose(flat, 2.5, rtol=1e-15)
