"""Regression: linear and generalised linear models with posterior, evidence and predictions.

Every name is loaded on first use.
"""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from posteriori.numerics.lazy import load_on_use as _load_on_use

#: Which file defines which public names.
_FILES = {
    "basis": (
        "FourierBasis",
        "GaussianBasis",
        "PolynomialBasis",
        "SigmoidBasis",
        "SplineBasis",
        "design_matrix",
    ),
    "bayesian": ("BayesianLinearRegression",),
    "counts": ("NegativeBinomialRegression", "PoissonRegression"),
    "linear": ("LinearRegression",),
    "log_linear": ("LogLinearRegression",),
    "ordinal": ("OrdinalRegression",),
    "robust": ("RobustRegression",),
}

__all__, __getattr__, __dir__ = _load_on_use(__name__, _FILES)

if _TYPE_CHECKING:  # what type checkers and editors see; a test keeps it equal to the table
    from posteriori.regression.basis import FourierBasis as FourierBasis
    from posteriori.regression.basis import GaussianBasis as GaussianBasis
    from posteriori.regression.basis import PolynomialBasis as PolynomialBasis
    from posteriori.regression.basis import SigmoidBasis as SigmoidBasis
    from posteriori.regression.basis import SplineBasis as SplineBasis
    from posteriori.regression.basis import design_matrix as design_matrix
    from posteriori.regression.bayesian import BayesianLinearRegression as BayesianLinearRegression
    from posteriori.regression.counts import (
        NegativeBinomialRegression as NegativeBinomialRegression,
    )
    from posteriori.regression.counts import PoissonRegression as PoissonRegression
    from posteriori.regression.linear import LinearRegression as LinearRegression
    from posteriori.regression.log_linear import LogLinearRegression as LogLinearRegression
    from posteriori.regression.ordinal import OrdinalRegression as OrdinalRegression
    from posteriori.regression.robust import RobustRegression as RobustRegression
