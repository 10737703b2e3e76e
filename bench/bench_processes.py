"""Exact Gaussian processes: against scikit-learn, GPyTorch, GPy, celerite2 and tinygp, those that are installed.

Evidence and gradient of 2000 rows, a fit from one start, and Matérn processes along 100,000 irregular points.
Answers agree first; the evidence of a fit must be no lower than the peer's.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np
from harness import Comparison, compare, peak_memory, report

from posteriori.gaussian_process import GaussianProcessRegressor, log_evidence
from posteriori.kernels import RBF, Matern, White

#: Rows of the dense cases, of the fit, and of the chain.
DENSE, FIT, CHAIN = 2000, 500, 100_000
SCALES = np.array([1.0, 2.0, 3.0, 2.0, 1.5])


def make_rows(rows: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(rows, 5))
    return x, np.sin(2.0 * x[:, 0]) + 0.5 * x[:, 1] ** 2 + 0.3 * rng.normal(size=rows)


def scikit_learn_score(x: np.ndarray, y: np.ndarray) -> Callable[[], float]:
    from sklearn.gaussian_process import GaussianProcessRegressor as Peer, kernels as k

    kernel = k.ConstantKernel(2.0) * k.RBF(SCALES) + k.WhiteKernel(0.1)
    peer = Peer(kernel, optimizer=None, alpha=0.0).fit(x, y)
    theta = peer.kernel_.theta
    return lambda: float(peer.log_marginal_likelihood(theta, eval_gradient=True)[0])


def gpytorch_score(x: np.ndarray, y: np.ndarray) -> Callable[[], float]:
    import gpytorch
    import torch

    torch.set_default_dtype(torch.float64)  # else its parameters are rounded to single precision
    inputs, targets = (torch.tensor(a, dtype=torch.float64) for a in (x, y))

    class Model(gpytorch.models.ExactGP):
        def __init__(self, likelihood: Any) -> None:
            super().__init__(inputs, targets, likelihood)
            self.mean_module = gpytorch.means.ZeroMean()
            base = gpytorch.kernels.RBFKernel(ard_num_dims=x.shape[1])
            self.covar_module = gpytorch.kernels.ScaleKernel(base)

        def forward(self, inputs: Any) -> Any:
            cov = self.covar_module(inputs)
            return gpytorch.distributions.MultivariateNormal(self.mean_module(inputs), cov)

    likelihood = gpytorch.likelihoods.GaussianLikelihood().double()
    model = Model(likelihood).double()
    model.covar_module.base_kernel.lengthscale = torch.tensor(SCALES)
    model.covar_module.outputscale, likelihood.noise = 2.0, 0.1
    score = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)
    model.train(), likelihood.train()

    def run() -> float:
        model.zero_grad()
        with gpytorch.settings.fast_computations(False, False, False):
            value = score(model(inputs), targets)
            value.backward()
        return float(value.detach()) * len(y)

    return run


def gpy_score(x: np.ndarray, y: np.ndarray) -> Callable[[], float]:
    import GPy

    kernel = GPy.kern.RBF(x.shape[1], variance=2.0, lengthscale=SCALES, ARD=True)
    model = GPy.models.GPRegression(x, y[:, None], kernel, noise_var=0.1 - 1e-8)  # it adds 1e-8

    def run() -> float:
        model.parameters_changed()
        return float(model.log_likelihood())

    return run


SCORES = [
    ("scikit-learn", "sklearn", scikit_learn_score, 3.0),
    ("GPyTorch", "gpytorch", gpytorch_score, 1.3),
    ("GPy", "GPy", gpy_score, 2.0),
]


def compare_scores() -> list[Comparison]:
    x, y = make_rows(DENSE)
    kernel = 2.0 * RBF(SCALES) + White(0.1)
    ours = partial(log_evidence, kernel, x, y)
    rows = []
    for name, module, make, bar in SCORES:
        if find_spec(module) is None:
            continue
        peer = make(x, y)
        np.testing.assert_allclose(float(ours()[0]), peer(), rtol=1e-8)
        title = f"evidence and gradient, {DENSE} × 5, {name}"
        rows.append(compare(title, ours, peer, bar=bar, faster=True, rounds=7, warm=False))
    print(f"memory: {peak_memory(ours) / 8 / DENSE**2:.2f} matrices of N² numbers")
    for count in (500, 1000, 2000):
        peak = peak_memory(partial(log_evidence, kernel, x[:count], y[:count]))
        print(f"  {count} rows: {peak / 1e6:.1f} MB")
    return rows


def compare_fits() -> list[Comparison]:
    from sklearn.gaussian_process import GaussianProcessRegressor as Peer, kernels as k

    x, y = make_rows(FIT)
    kernel = k.ConstantKernel(1.0) * k.RBF(np.ones(5)) + k.WhiteKernel(0.5)
    peer = Peer(kernel, alpha=0.0)
    ours = GaussianProcessRegressor(1.0 * RBF(np.ones(5)) + White(0.5), mean="zero")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        reached = peer.fit(x, y).log_marginal_likelihood_value_
        # two columns tell nothing: evidence rises by 0.001 nats to their longest scale, which is 1e5 there and
        # 1,000 spreads of the column here
        assert float(ours.fit(x, y).log_evidence_) >= reached - 0.01
        title = f"fit, one start, {FIT} × 5, scikit-learn"
        fits = partial(ours.fit, x, y), partial(peer.fit, x, y)
        return [compare(title, *fits, bar=5.0, faster=True, rounds=7, warm=False)]


def celerite_score(t: np.ndarray, y: np.ndarray) -> Callable[[], float]:
    import celerite2
    from celerite2 import terms

    process = celerite2.GaussianProcess(terms.Matern32Term(sigma=1.0, rho=2.0, eps=1e-5))

    def run() -> float:
        process.compute(t, diag=0.1 * np.ones(len(t)), quiet=True)
        return float(process.log_likelihood(y))

    return run


def tinygp_scores(t: np.ndarray, y: np.ndarray) -> tuple[Callable[[], float], Callable[[], float]]:
    import jax
    from tinygp import GaussianProcess, kernels

    jax.config.update("jax_enable_x64", True)

    def value(theta: Any) -> Any:
        size, scale, noise = jax.numpy.exp(theta)
        kernel = size * kernels.quasisep.Matern32(scale)
        return GaussianProcess(kernel, t, diag=noise * jax.numpy.ones(len(t))).log_probability(y)

    theta = np.log([1.0, 2.0, 0.1])
    alone, both = jax.jit(value), jax.jit(jax.value_and_grad(value))
    return (
        lambda: float(alone(theta).block_until_ready()),
        lambda: float(both(theta)[0].block_until_ready()),
    )


def compare_chains() -> list[Comparison]:
    rng = np.random.default_rng(0)
    t = np.sort(rng.uniform(0.0, CHAIN / 10.0, CHAIN))
    y = np.sin(t) + np.sqrt(0.1) * rng.normal(size=CHAIN)
    kernel = 1.0 * Matern(nu=1.5, scale=2.0) + White(0.1)
    value = partial(log_evidence, kernel, t[:, None], y, gradient=False)
    both = partial(log_evidence, kernel, t[:, None], y)
    rows = []
    if find_spec("celerite2") is not None:
        peer = celerite_score(t, y)
        np.testing.assert_allclose(float(value()), peer(), rtol=1e-6)
        rows.append(compare("Matérn 3/2, celerite2", value, peer, bar=1.5, faster=True, rounds=7))
        title = "the same with gradient, celerite2 without"
        rows.append(compare(title, both, peer, bar=0.2, faster=True, rounds=7))
    if find_spec("tinygp") is not None:
        alone, with_gradient = tinygp_scores(t, y)
        np.testing.assert_allclose(float(value()), alone(), rtol=1e-8)
        rows.append(compare("Matérn 3/2, tinygp", value, alone, bar=1.5, faster=True, rounds=7))
        title = "the same with gradient, tinygp"
        rows.append(compare(title, both, with_gradient, bar=10.0, faster=True, rounds=7))
    return rows


def main() -> None:
    report("Gaussian processes, exact", compare_scores() + compare_fits())
    report(f"Matérn processes along {CHAIN} points", compare_chains())


if __name__ == "__main__":
    main()
