"""A vector and matrices for the tests of the families that take them."""

import numpy as np

__all__ = ["M3", "V2", "V3"]

V2 = np.array([[0.4, 0.1], [0.1, 0.3]])
V3 = np.array([[2.0, 0.5, -0.3], [0.5, 1.0, 0.2], [-0.3, 0.2, 1.5]])
M3 = np.array([1.0, -2.0, 0.5])
