"""Shapes that docstrings state: one letter, one size; what does not fit is named."""

from typing import Any, NamedTuple

import numpy as np
import pytest

from posteriori.analysis.saved.stated_shapes import require_stated_shapes
from posteriori.numerics.types import Array, IntArray


class Sample(NamedTuple):
    """A record.

    Attributes
    ----------
    means, covs : (K, D), (K, D, D)
    shape, rates : float, (K,)
    codes : (N,) of int < K
        Which of them each row has.
    weights : (N,) or None
    roots : (K, D, D), or (1, D, D) for one that all share
    loose : (K, ·)
    lags : (1 + p,)
    pairs : (1 + p, 2)
    """

    means: "Array"
    covs: "Array"
    shape: float
    rates: "Array"
    codes: "IntArray"
    weights: "Array | None"
    roots: "Array"
    loose: "Array"
    lags: "Array"
    pairs: "Array"


def sample(**changed: Any) -> dict[str, Any]:
    state = {
        "means": np.zeros((2, 3)),
        "covs": np.zeros((2, 3, 3)),
        "shape": 1.0,
        "rates": np.zeros(2),
        "codes": np.array([0, 1, 1, 0]),
        "weights": None,
        "roots": np.zeros((1, 3, 3)),
        "loose": np.zeros((2, 7)),
        "lags": np.zeros(4),
        "pairs": np.zeros((4, 2)),
    }
    return state | changed


@pytest.mark.parametrize(
    "changed",
    [{}, {"weights": np.ones(4)}, {"roots": np.zeros((2, 3, 3))}, {"codes": np.arange(0)}],
)
def test_what_fits_is_taken(changed: dict[str, Any]) -> None:
    require_stated_shapes(Sample, sample(**changed))


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"covs": np.zeros((3, 2, 2))}, r"Sample.covs has shape \(3, 2, 2\), which does not fit"),
        ({"rates": np.zeros(3)}, r"Sample.rates has shape \(3,\)"),
        ({"rates": 1.0}, "Sample.rates is no array"),
        ({"means": np.zeros(6)}, "Sample.means has shape"),
        ({"means": np.zeros((2, 3), dtype=np.int64)}, "Sample.means holds int64"),
        ({"codes": np.zeros(4)}, "Sample.codes holds float64"),
        ({"codes": np.array([0, 2])}, "Sample.codes holds numbers that are not within 0 … 1"),
        ({"codes": np.array([-1, 0])}, "Sample.codes holds numbers"),
        ({"weights": np.ones(3)}, "Sample.weights has shape"),
        ({"roots": np.zeros((3, 3, 3))}, "Sample.roots has shape"),
        ({"loose": np.zeros((3, 7))}, "Sample.loose has shape"),
        ({"pairs": np.zeros((4, 3))}, "Sample.pairs has shape"),
        ({"pairs": np.zeros((3, 2))}, "Sample.pairs has shape"),
    ],
)
def test_what_does_not_fit_is_named(changed: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        require_stated_shapes(Sample, sample(**changed))
