"""The families under test by what they offer, and their parameters as flat vectors."""

import numpy as np
import pytest

from posteriori.distributions.base import Univariate
from posteriori.distributions.coordinates import (
    flatten_natural,
    flatten_statistics,
    unflatten_natural,
)
from posteriori.distributions.exponential import ExponentialFamily
from tests.distributions.cases import CASES

__all__ = [
    "CLOSED",
    "EXPONENTIAL",
    "FAMILIES",
    "UNIVARIATE",
    "close",
    "having",
    "mean_vector",
    "natural_vector",
    "with_natural",
]

FAMILIES = [pytest.param(case, id=case.id) for case in CASES]
EXPONENTIAL = [p for p in FAMILIES if issubclass(p.values[0].family, ExponentialFamily)]
UNIVARIATE = [p for p in FAMILIES if issubclass(p.values[0].family, Univariate)]
CLOSED = [p for p in EXPONENTIAL if p.values[0].family.constant_carrier]


def having(*names):
    """Return the families that offer all the named capabilities."""
    return [p for p in FAMILIES if all(hasattr(p.values[0].family, name) for name in names)]


def natural_vector(d):
    return flatten_natural(d.natural, d._natural_ndims)


def with_natural(d, flat):
    """Return the member of d's family with the given flat natural parameters."""
    return d.from_natural(*unflatten_natural(np.asarray(flat), d.natural, d._natural_ndims))


def mean_vector(d):
    return flatten_statistics(d.mean_params, d._natural_ndims)


def close(actual, expected, rtol=1e-10, atol=None):
    """Compare with an absolute floor of the size of the largest entry."""
    expected = np.asarray(expected, dtype=float)
    if atol is None:
        finite = expected[np.isfinite(expected)]
        atol = rtol * max(1.0, float(np.max(np.abs(finite), initial=0.0)))
    np.testing.assert_allclose(np.asarray(actual, dtype=float), expected, rtol=rtol, atol=atol)
