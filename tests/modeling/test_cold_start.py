"""A first normal posterior needs NumPy alone: neither SciPy nor Numba is imported for it."""

from __future__ import annotations

import subprocess
import sys

CODE = """
import sys
from posteriori import Model, Normal
m = Model()
m.x = Normal(0.0, variance=4.0)
m.y = Normal(m.x, variance=1.0)
m.infer(y=1.0).x
print(*({"scipy", "numba", "matplotlib", "pandas"} & set(sys.modules)))
"""


def test_a_first_posterior_imports_no_heavy_package():
    done = subprocess.run([sys.executable, "-c", CODE], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == ""
