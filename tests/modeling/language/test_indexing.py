"""What stands between brackets: rows that come with an index, and arrays that cannot be indexed."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse

from posteriori import Bernoulli, Categorical, Normal
from posteriori.modeling import Input, Model, take
from posteriori.modeling.language.expressions import Expression

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


# -- arrays of indices are read together, as NumPy does ----------------------------------------

SHAPE = (2, 3, 4)
I, J, K = np.array([1, 0, 1, 1]), np.array([2, 0, 2, 1]), np.array([3, 3, 0, 2])
INDICES: list[Any] = [
    np.s_[I, J],
    np.s_[I, J, K],
    np.s_[:, J, K],
    np.s_[I, :, K],  # a slice between arrays: their axis comes first
    np.s_[0, :, K],
    np.s_[I, 1],
    np.s_[1, J, 1:3],
    np.s_[I, J, ::2],
    np.s_[..., J, K],
    np.s_[I, ..., K],
    np.s_[I[:2, None], J],
    np.s_[np.ix_([1, 0], [2, 0])],
    np.s_[:, [0, 2], 1],
    np.s_[-1, [-1, -3], [0, 1]],
    np.s_[I[:1], J],
    np.s_[[1, 0]],
    np.s_[1:, 2],
]


@pytest.mark.parametrize("index", INDICES, ids=str)
def test_numpy_says_what_indices_mean(index: Any) -> None:
    """Observed without noise, every entry is where NumPy finds it."""
    truth = np.arange(24.0).reshape(SHAPE)
    m = Model()
    m.x = Normal(truth, variance=1.0)
    m.y = Normal(m.x[index], variance=1.0)
    shift = 10.0 * np.random.default_rng(0).standard_normal(truth[index].shape)
    found = m.infer(y=truth[index] + shift).x
    count, total = np.zeros(SHAPE), np.zeros(SHAPE)
    np.add.at(count, index, 1.0)
    np.add.at(total, index, shift)
    np.testing.assert_allclose(found.mean, truth + total / (1.0 + count), rtol=1e-12)


@pytest.mark.parametrize("plates", [(), ("n",)])
def test_known_inputs_are_read_together(plates: tuple[str, ...]) -> None:
    m = Model()
    m.i, m.j = Input(*plates), Input(*plates)
    m.x = Normal(np.zeros((3, 2)), variance=1.0)
    m.y = Normal(m.x[m.i, m.j], variance=1.0)
    i, j = np.array([0, 1, 2, 2]), np.array([1, 1, 0, 0])
    count = np.zeros((3, 2))
    np.add.at(count, (i, j), 1.0)
    np.testing.assert_allclose(m.infer(i=i, j=j, y=np.ones(4)).x.mean, count / (1.0 + count))


def test_a_known_array_beside_a_variable_is_read_with_it() -> None:
    table = np.arange(6.0).reshape(2, 3)
    columns = np.array([2, 0, 0, 1])
    m = Model()
    m.z = Bernoulli(0.5).iid(4)
    m.table = Input()
    m.y = Normal(m.table[m.z, columns], variance=1.0)
    y = np.array([0.5, 2.0, 3.0, 2.2])
    found = m.infer(table=table, y=y).z.probability
    logs = -0.5 * (y[:, None] - table[:, columns].T) ** 2
    odds = np.exp(logs[:, 1] - logs[:, 0])
    np.testing.assert_allclose(found, odds / (1.0 + odds))


def test_arrays_that_do_not_fit_are_named() -> None:
    m = Model()
    m.x = Normal(np.zeros(SHAPE), variance=1.0)
    m.y = Normal(m.x[[0, 1, 1], [0, 1]], variance=1.0)
    with pytest.raises(IndexError, match=r"shape \(3,\) and \(2,\) do not fit; use np.ix_"):
        m.infer(y=np.zeros((3, 4)))


def test_masks_are_refused_in_words() -> None:
    m = Model()
    m.x = Normal(np.zeros(3), variance=1.0)
    m.y = Normal(m.x[np.array([True, False, True])], variance=1.0)
    with pytest.raises(TypeError, match=r"write np.flatnonzero\(mask\)"):
        m.infer(y=np.zeros(2))


def test_halves_are_no_index() -> None:
    m = Model()
    m.x = Normal(np.zeros(3), variance=1.0)
    m.y = Normal(m.x[[0.0, 1.5]], variance=1.0)
    with pytest.raises(TypeError, match=r"whole numbers, got 1\.5"):
        m.infer(y=np.zeros(2))
