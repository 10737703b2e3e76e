"""Sparse processes and processes behind classes: against GPyTorch where it is installed, and scikit-learn.

Answers agree first: the bound with that of GPyTorch's SGPR, Laplace's evidence with scikit-learn's.
"""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any

import numpy as np
from harness import Comparison, compare, peak_memory, report
from sklearn.gaussian_process import GaussianProcessClassifier as Peer, kernels as peer_kernels

from posteriori.gaussian_process import GaussianProcessClassifier, SparseGaussianProcessRegressor
from posteriori.inference.processes.inducing.inducing_bound import induced_evidence
from posteriori.inference.processes.inducing.inducing_features import InducingFeatures, SparseRows
from posteriori.kernels import RBF, White

try:
    import gpytorch
    import torch
except ImportError:
    gpytorch = None

NOISE = 0.1


def make_rows(rows: int, columns: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(rows, columns))
    return x, np.sin(x[:, 0]) + x[:, 1] * x[:, 2] + np.sqrt(NOISE) * rng.normal(size=rows)


def sparse_peer(x: np.ndarray, y: np.ndarray, points: np.ndarray, scale: float) -> Any:
    """Return a function that has GPyTorch's bound of all rows, and its gradient made."""
    torch.set_default_dtype(torch.float64)  # else its parameters are rounded to single precision
    inputs, targets = (torch.tensor(a, dtype=torch.float64) for a in (x, y))

    class Model(gpytorch.models.ExactGP):
        def __init__(self, likelihood: Any) -> None:
            super().__init__(inputs, targets, likelihood)
            self.mean_module = gpytorch.means.ZeroMean()
            base = gpytorch.kernels.RBFKernel(ard_num_dims=x.shape[1])
            base.lengthscale = scale
            base = gpytorch.kernels.ScaleKernel(base)
            base.outputscale = 1.0
            first = torch.tensor(points, dtype=torch.float64)
            self.covar_module = gpytorch.kernels.InducingPointKernel(base, first, likelihood)
            self.covar_module.inducing_points.requires_grad_(False)

        def forward(self, inputs: Any) -> Any:
            mean, cov = self.mean_module(inputs), self.covar_module(inputs)
            return gpytorch.distributions.MultivariateNormal(mean, cov)

    likelihood = gpytorch.likelihoods.GaussianLikelihood().double()
    model = Model(likelihood).double()
    likelihood.noise = NOISE
    bound = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)
    model.train(), likelihood.train()

    def run() -> float:
        model.zero_grad()
        value = bound(model(inputs), targets)
        value.backward()
        return float(value) * len(y)

    return run


def compare_bounds(rows: int, points: int) -> list[Comparison]:
    x, y = make_rows(rows, 8)
    scale = 3.0
    kernel, given = 1.0 * RBF(np.full(8, scale)) + White(NOISE), SparseRows(x, y)

    def ours() -> float:
        return induced_evidence(InducingFeatures(kernel, x[:points]), given, fitc=False).value

    if gpytorch is None:
        print(f"  GPyTorch is not installed; our bound of {rows:,} rows: {ours():.6f}")
        return []
    peer = sparse_peer(x, y, x[:points], scale)
    np.testing.assert_allclose(ours(), peer(), rtol=1e-4)
    name = f"bound + gradient, {rows:,} x 8, {points} points vs GPyTorch"
    return [compare(name, ours, peer, bar=2.0, faster=True)]


def compare_classes(rows: int) -> Comparison:
    rng = np.random.default_rng(1)
    x = rng.normal(size=(rows, 10))
    y = x[:, 0] + x[:, 1] ** 2 + 0.5 * rng.normal(size=rows) > 1.0
    start = 1.0 * RBF(np.full(10, 3.0))
    ours = GaussianProcessClassifier(start, mean="zero")
    peer = Peer(peer_kernels.ConstantKernel(1.0) * peer_kernels.RBF(np.full(10, 3.0)))
    ours.fit(x, y), peer.fit(x, y)
    reached = float(ours.log_evidence_), peer.log_marginal_likelihood()
    print(f"  log evidence ours {reached[0]:.3f}, scikit-learn {reached[1]:.3f}")
    assert reached[0] > reached[1] - 0.1
    return compare(
        f"Laplace classes, fit, {rows} x 10",
        partial(ours.fit, x, y),
        partial(peer.fit, x, y),
        bar=2.0,
        faster=True,
        rounds=3,
        warm=False,
    )


def growth() -> None:
    print(
        "\nSparseGaussianProcessRegressor with 100 points, a stream: peak memory over that of a chunk"
    )
    points, (x, y) = make_rows(100, 8)[0], make_rows(10**4, 8)

    def stream(chunks: int) -> None:
        kernel = 1.0 * RBF(3.0) + White(NOISE)
        model = SparseGaussianProcessRegressor(kernel, points, hyperparameters="fixed")
        for _ in range(chunks):
            model.partial_fit(x, y)

    for chunks in (2, 8):
        peak = peak_memory(partial(stream, chunks))
        print(f"  {chunks * len(x):>9,} rows   {peak / x.nbytes:.2f}")


def main() -> None:
    warnings.simplefilter("ignore")
    report("sparse processes", compare_bounds(10**5, 200))
    report("processes behind classes", [compare_classes(1000)])
    growth()


if __name__ == "__main__":
    main()
