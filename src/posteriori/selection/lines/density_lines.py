"""Distributions of one column of numbers, cheapest first."""

from __future__ import annotations

from posteriori.selection.lines.candidate import Candidate
from posteriori.selection.lines.shared_parts import LINEAR, WEAK

__all__ = ["DENSITY"]

DENSITY: tuple[Candidate, ...] = (
    Candidate(
        "normal",
        "density",
        LINEAR,
        {"prior_precision": float("inf")},
        "unit information around the mean",
        encoding="nothing",
    ),
    Candidate(
        "log-normal",
        "density",
        "posteriori.regression.LogLinearRegressor",
        {"prior_precision": float("inf")},
        "of the logarithm: unit information around the mean",
        encoding="nothing",
        targets="positive",
    ),
    Candidate(
        "Student t",
        "density",
        "posteriori.regression.RobustRegressor",
        prior="unit information around the mean; log width N(0, 1)",
        cost=2.0,
        encoding="nothing",
    ),
    Candidate(
        "normal mixture",
        "density",
        "posteriori.mixture.MixtureOfExperts",
        {"n_experts": 2, "gate": "constant", "random_state": 0},
        "two normals: " + WEAK,
        8.0,
        encoding="nothing",
        most_rows=100_000,
        title="two normals",
    ),
    Candidate(
        "Poisson",
        "density",
        "posteriori.regression.PoissonRegressor",
        prior="log rate N(log mean, 1)",
        cost=2.0,
        encoding="nothing",
        targets="counts",
    ),
    Candidate(
        "negative binomial",
        "density",
        "posteriori.regression.NegativeBinomialRegressor",
        prior="log rate N(log mean, 1); log dispersion N(0, 1)",
        cost=3.0,
        encoding="nothing",
        targets="counts",
    ),
    Candidate(
        "kernel density",
        "density",
        "posteriori.density.TargetKernelDensity",
        prior="none: a normal around every row, as wide as lets rows predict one another",
        cost=4.0,
        encoding="nothing",
    ),
    Candidate(
        "adaptive histogram",
        "density",
        "posteriori.density.TargetHistogram",
        prior="all ways to join 200 cells; masses Dirichlet(½, …, ½), also beyond the range of the rows",
        cost=3.0,
        encoding="nothing",
    ),
)
