"""The numbers that several tests of estimators share."""

import numpy as np

__all__ = ["X"]

X = np.array([0.2, 1.9, -0.4, 2.0, 0.7])
