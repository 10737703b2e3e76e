r"""The evidence of the same model with wider or narrower priors.

A prior that is wider by s rests on 1/s² as many observations: the standard deviation of a normal
prior is multiplied by s, the pseudo-counts of a Beta, Dirichlet, Gamma or Wishart prior are divided
by s². Only priors with known parameters are changed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from posteriori.modeling.binding.bound import BoundFactor
from posteriori.modeling.binding.labelled import Polynomial, Table, Term
from posteriori.numerics.evidence import LogEvidence
from posteriori.numerics.validation import width_factor

if TYPE_CHECKING:
    from posteriori.modeling.posterior.posterior import Posterior

__all__ = ["evidence_with_prior_scaled", "scalable_priors"]

#: Powers of s by which the parameters of a prior are multiplied.
_POWERS: Mapping[str, Mapping[str, int]] = {
    "Normal": {"variance": 2, "scale": 1, "precision": -2, "weighted_mean": -2},
    "MvNormal": {"cov": 2, "precision": -2, "weighted_mean": -2},
    "MatrixNormal": {"row_cov": 2},
    "StudentT": {"scale": 1},
    "MvStudentT": {"scale": 2},
    "Laplace": {"scale": 1},
    "Cauchy": {"scale": 1},
    "HalfNormal": {"scale": 1, "precision": -2},
    "HalfCauchy": {"scale": 1},
    "HalfStudentT": {"scale": 1},
    "Gamma": {"shape": -2, "rate": -2},
    "InverseGamma": {"shape": -2, "scale": -2},
    "Beta": {"a": -2, "b": -2},
    "Dirichlet": {"concentration": -2},
}
_MATRICES = ("Wishart", "InverseWishart")


def scalable_priors(posterior: Posterior) -> list[str]:
    """Return the unknowns whose prior has known parameters and a width."""
    bound = posterior._solved.bound
    return [f.name for f in bound.factors if f.name not in bound.observed and _has_width(f)]


def evidence_with_prior_scaled(posterior: Posterior, factor: float) -> LogEvidence:
    """Infer again with priors ``factor`` times as wide, and return the evidence.

    Examples
    --------
    >>> from posteriori import Model, Normal
    >>> m = Model()
    >>> m.mu = Normal(0, variance=1)
    >>> m.y = Normal(m.mu, variance=1)
    >>> post = m.infer(y=0.0)
    >>> evidence_with_prior_scaled(post, 2.0)  # of N(0, 4 + 1) at 0
    LogEvidence(-1.723657, kind="exact", of="X")
    """
    factor = width_factor(factor)
    solved = posterior._solved
    if solved.has_earlier or solved.is_merged:
        raise TypeError("earlier data are no longer there: infer from all data at once")
    chosen = set(scalable_priors(posterior))
    factors = tuple(
        _scaled(f, factor) if f.name in chosen and _has_width(f) else f
        for f in solved.bound.factors
    )
    wider = solved.infer(solved.bound._replace(factors=factors), solved.options)
    evidence: LogEvidence = wider.log_evidence
    return evidence


def _has_width(factor: BoundFactor) -> bool:
    if not all(poly.is_known for poly in factor.parameters.values()):
        return False
    if factor.family.__name__ in _MATRICES:
        return np.unique(factor.parameters["dof"].value()).size == 1
    return factor.family.__name__ in _POWERS


def _scaled(factor: BoundFactor, s: float) -> BoundFactor:
    name = factor.family.__name__
    if name in _MATRICES:
        return _scaled_matrix(factor, s)
    powers = _POWERS[name]
    parameters = {k: _times(p, s ** powers.get(k, 0)) for k, p in factor.parameters.items()}
    return factor._replace(parameters=parameters)


def _scaled_matrix(factor: BoundFactor, s: float) -> BoundFactor:
    """Divide the degrees of freedom beyond D − 1 by s², with the mean of a Wishart as it is."""
    size, dof = factor.events[-1].size, float(factor.parameters["dof"].value().flat[0])
    ratio = (size - 1.0 + (dof - size + 1.0) / s**2) / dof
    grows = factor.family.__name__ == "InverseWishart" or "inverse_scale" in factor.parameters
    parameters = {
        key: _times(poly, ratio if key == "dof" or grows else 1.0 / ratio)
        for key, poly in factor.parameters.items()
    }
    return factor._replace(parameters=parameters)


def _times(poly: Polynomial, number: float) -> Polynomial:
    if number == 1.0:
        return poly
    terms = (Term(Table(number * t.table.values, t.table.axes)) for t in poly.terms)
    return poly._replace(terms=tuple(terms))
