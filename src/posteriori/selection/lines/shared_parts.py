"""What lines of several tasks have in common: paths, parameters, and priors in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["AVERAGED", "FOREST", "LINEAR", "LOGIT", "WEAK"]

LOGIT = "each weight N(0, 1) on standardised columns"
WEAK = "weights N(0, 1) on standardised columns and targets, noise Inv-Gamma(1, 1/200)"
LINEAR = "posteriori.regression.BayesianLinearRegressor"

AVERAGED: Mapping[str, Any] = {"search": "greedy", "max_depth": 8}
FOREST: Mapping[str, Any] = {
    "n_estimators": 200,
    "min_samples_leaf": "learned",
    "random_state": 0,
}
