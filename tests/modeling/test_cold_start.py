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


PREDICTION = """
import sys
from posteriori import Bernoulli, Beta, Binomial, Categorical, Chain, Gamma, Input, Model, Normal
from posteriori.kernels import RBF
from posteriori.modeling import GaussianProcess, take
m = Model()
m.mu = Normal(0.0, variance=4.0)
m.y = Normal(m.mu, variance=1.0).iid("n")
m.infer(y=[1.0, 2.0]).predict("y", n=3)
m = Model()
m.tau = Gamma(2.0, rate=1.0)
m.mu = Normal(0.0, precision=m.tau)
m.y = Normal(m.mu, precision=m.tau).iid("n")
m.infer(y=[1.0, 2.0]).predict("y", n=3)
m = Model()
m.s = Chain(Normal(0.0, variance=4.0), lambda s: Normal(s, variance=1.0), length="t")
m.y = Normal(m.s, variance=1.0)
m.infer(y=[1.0, 2.0]).predict("y", t=2)
m = Model()
m.p = Beta(1.0, 1.0)
m.k = Binomial(10, m.p)
m.infer(k=7).predict("k")
m = Model()
m.z = Categorical([0.4, 0.6]).iid("n")
m.x = Bernoulli(take([0.2, 0.9], m.z))
m.infer(x=[1, 0]).predict("x", n=3)
m = Model()
m.at = Input()
m.f = GaussianProcess(RBF(), at=m.at)
m.y = Normal(m.f, variance=0.1)
m.infer(at=[[0.0], [1.0]], y=[1.0, 2.0]).predict("y", at=[[2.0]])
print(*(name for name in sys.modules if name.startswith("posteriori.modeling.variational.")))
"""


def test_predictions_of_exact_models_load_no_variational_file():
    done = subprocess.run(
        [sys.executable, "-c", PREDICTION], check=True, capture_output=True, text=True
    )
    assert done.stdout.strip() == ""
