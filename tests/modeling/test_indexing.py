"""What stands between brackets: rows that come with an index, and arrays that cannot be indexed."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse

from posteriori import Bernoulli, Categorical, Normal
from posteriori.modeling import Input, Model, take
from posteriori.modeling.expressions import Expression

ARRAY = np.arange(6.0).reshape(2, 3)


def model() -> Model:
    m = Model()
    m.u = Input()
    m.z = Bernoulli(0.5).iid(2)
    return m


@pytest.mark.parametrize(
    "index",
    [
        lambda z: ARRAY[z],
        lambda z: ARRAY[0, z],
        lambda z: ARRAY[z, z],
        lambda z: ARRAY[..., z],
        lambda z: np.asarray(z),
        lambda z: np.array([z, z]),
    ],
)
@pytest.mark.parametrize("name", ["z", "u"])
def test_an_array_says_what_to_write_instead(index: Callable[[Any], Any], name: str) -> None:
    with pytest.raises(TypeError, match=rf"write take\(array, {name}\) instead of array\[{name}\]"):
        index(model()[name])


@pytest.mark.parametrize("sequence", [[1, 2], (1, 2), "ab", range(2)])
def test_a_list_says_what_to_write_instead(sequence: Any) -> None:
    with pytest.raises(TypeError, match=r"write take\(list, z\)"):
        sequence[model().z]


def test_arrays_beside_operators_stay_expressions() -> None:
    z = model().z
    for made in (ARRAY @ z, ARRAY * z, z + ARRAY, scipy.sparse.csr_array(ARRAY.T) @ z):
        assert isinstance(made, Expression)


def test_rows_of_other_lengths_do_not_fit() -> None:
    m = Model()
    m.a = Bernoulli(0.5).iid(2)
    m.b = Categorical([0.2, 0.3, 0.5]).iid(4)
    m.y = Normal(take(take(ARRAY, m.a), m.b), variance=1.0)
    with pytest.raises(ValueError, match="axes of length 2 and 4"):
        m.infer(y=np.zeros(4))


def test_a_table_runs_out_of_axes() -> None:
    m = Model()
    m.a = Bernoulli(0.5).iid(2)
    m.y = Normal(take(take([0.0, 1.0], m.a), m.a), variance=1.0)
    with pytest.raises(IndexError, match="0 axes to index"):
        m.infer(y=np.zeros(2))


def test_known_places_count_all_axes() -> None:
    """A slice behind take reads the rows, as NumPy does."""
    m = Model()
    m.a = Bernoulli([0.2, 0.4, 0.7])
    m.y = Normal(take([0.0, 2.0], m.a)[1:], variance=1.0)
    y = np.array([0.5, 1.7])
    odds = np.array([0.4, 0.7]) / np.array([0.6, 0.3]) * np.exp(2.0 * y - 2.0)
    found = m.infer(y=y).a.probability
    np.testing.assert_allclose(found, [0.2, *(odds / (1.0 + odds))])
