"""Densities of all columns of a table together, cheapest first.

They have ``fit(X)``, ``score_samples(X)``, ``sample`` and ``gap_beliefs(X)``; NaN is an entry that is not seen.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from posteriori.selection.lines.candidate import Candidate

__all__ = ["JOINT"]

_CLASSES = "posteriori.mixture.LatentClasses"
_MIXTURE = "posteriori.mixture.BayesianGaussianMixture"
_WISHART = "normal–Wishart around the data's scale"
_FACTORS = "each factor N(0, 1/α), its α Gamma(0.001, 0.001) in units of the columns"

#: Of mixtures that leave components empty which are not needed; what tells models apart is larger.
_SEARCH: Mapping[str, Any] = {"n_components": 10, "tol": 1e-3, "random_state": 0}

JOINT: tuple[Candidate, ...] = (
    Candidate(
        "independent columns",
        "joint",
        _CLASSES,
        {"n_components": 1},
        "a conjugate prior for every column",
        encoding="codes",
    ),
    Candidate(
        "normal",
        "joint",
        _MIXTURE,
        {"n_components": 1},
        _WISHART,
        encoding="numbers",
        targets="numbers",
        most_inputs=500,
    ),
    Candidate(
        "Student t",
        "joint",
        "posteriori.density.StudentDensity",
        {"tol": 1e-3},
        "Wishart around the data's scale; degrees of freedom Gamma(2, 0.1)",
        3.0,
        encoding="numbers",
        targets="numbers",
        most_inputs=300,
    ),
    Candidate(
        "principal components",
        "joint",
        "posteriori.decomposition.BayesianPCA",
        {"standardize": True, "tol": 1e-3},
        _FACTORS + "; one variance of the noise",
        5.0,
        encoding="numbers",
        targets="several columns of numbers",
        most_inputs=500,
    ),
    Candidate(
        "factor analysis",
        "joint",
        "posteriori.decomposition.BayesianFactorAnalysis",
        {"tol": 1e-3},
        _FACTORS + "; a variance of the noise for each column",
        5.0,
        encoding="numbers",
        targets="several columns of numbers",
        most_inputs=500,
    ),
    Candidate(
        "kernel density",
        "joint",
        "posteriori.density.KernelDensity",
        prior="none: a normal kernel around every row, its widths by leaving rows out",
        cost=10.0,
        encoding="numbers",
        targets="numbers without gaps",
        most_inputs=6,
        most_rows=50_000,
    ),
    Candidate(
        "latent classes",
        "joint",
        _CLASSES,
        {"n_init": 2, **_SEARCH},
        "up to ten classes of rows; a conjugate prior for every column in each",
        15.0,
        encoding="codes",
    ),
    Candidate(
        "normal mixture",
        "joint",
        _MIXTURE,
        _SEARCH,
        "up to ten components, each " + _WISHART,
        20.0,
        encoding="numbers",
        targets="numbers",
        most_inputs=100,
    ),
)
