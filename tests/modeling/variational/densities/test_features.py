"""What k-means sees of the data: numbers as they are, codes as indicators."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from posteriori import Categorical, Dirichlet, Normal
from posteriori.modeling import Chain, Model
from posteriori.modeling.binding.binder import bind
from posteriori.modeling.binding.labelled import Switch
from posteriori.modeling.variational.ascent.starts import class_start, find_features, indicators


def survey(questions: int, answers: int) -> Model:
    m = Model()
    m.pi = Dirichlet(np.ones(2))
    m.p = Dirichlet(np.ones(answers)).iid(questions).iid(2)
    m.z = Categorical(m.pi).iid("n")
    m.x = Categorical(m.p[m.z])
    return m


def answers_of_two_classes(count: int) -> tuple[np.ndarray, np.ndarray]:
    """One class answers 0 or 3, the other 1 or 2: the codes have the same mean."""
    rng = np.random.default_rng(0)
    z = rng.integers(0, 2, count)
    first = rng.random((count, 10)) < 0.5
    return z, np.where(z[:, None] == 0, np.where(first, 0, 3), np.where(first, 1, 2))


def test_starts_find_classes_by_answers_that_are_no_numbers() -> None:
    z, x = answers_of_two_classes(300)
    bound = bind(survey(10, 4)._variables, {}, {"x": x})
    p = class_start("z", bound, bound.factors, 1, np.random.default_rng(1))[0]
    agree = np.mean(p.argmax(axis=-1) == z)
    assert max(agree, 1.0 - agree) > 0.99


@pytest.mark.parametrize("states", [3, 7])
def test_other_answers_are_equally_far_whatever_their_codes(states: int) -> None:
    codes = np.arange(states, dtype=float).repeat(2)[:, None]
    columns = indicators(codes, states, np.random.default_rng(0))
    squares = np.sum((columns[:, None] - columns) ** 2, axis=-1)
    differ = codes != codes.T
    assert_allclose(squares[~differ], 0.0, atol=1e-15)
    assert_allclose(squares[differ], squares[0, -1], rtol=1e-13)


def test_a_column_of_codes_counts_as_one_number() -> None:
    m = survey(2, 3)
    m.y = Normal(0.0, variance=1.0).iid("n")
    codes = np.array([[0, 1], [2, 1], [0, np.nan], [1, 0], [0, 2]])
    found = indicators(codes, 3, np.random.default_rng(0))
    assert found.shape == (5, 6)
    assert_allclose(found.sum(axis=0), 0.0, atol=1e-14)
    assert_allclose((found[:, :3] ** 2).sum() / 5, 1.0, rtol=1e-13)
    assert_allclose((found[:, 3:] ** 2).sum() / 4, 1.0, rtol=1e-13)
    assert_allclose(found[2, 3:], 0.0)


def test_numbers_are_standardised_beside_codes() -> None:
    m = survey(2, 3)
    m.mu = Normal(0.0, variance=4.0).iid(2)
    m.y = Normal(m.mu[m.z], variance=1.0)
    y = np.array([1.0, 5.0, np.nan, 3.0])
    data = {"x": np.array([[0, 1], [2, 1], [0, 1], [1, 1]]), "y": y}
    bound = bind(m._variables, {}, data)
    found = find_features("z", bound, bound.factors, Switch, np.random.default_rng(0))
    assert found is not None
    assert found.columns.shape == (4, 4)  # the second question has one answer, which says nothing
    assert_allclose(
        found.columns[:, 3], np.array([-2.0, 2.0, 0.0, 0.0]) / np.sqrt(8.0 / 3.0), rtol=1e-13
    )


def test_states_of_a_single_code_fall_into_classes_at_random() -> None:
    """Indicators alone would set the most frequent state apart in every start."""
    m = Model()
    m.A = Dirichlet(np.ones(2)).iid(2)
    m.p = Dirichlet(np.ones(20)).iid(2)
    m.z = Chain(Categorical([0.5, 0.5]), lambda z: Categorical(m.A[z]), length="t")
    m.x = Categorical(m.p[m.z])
    x = np.arange(200.0) % 20
    bound = bind(m._variables, {}, {"x": x})
    p = class_start("z", bound, bound.factors, 4, np.random.default_rng(1))
    classes = p.argmax(axis=-1)
    for i in range(4):
        assert_allclose(classes[i].reshape(10, 20), np.tile(classes[i, :20], (10, 1)))
        assert 4 <= np.sum(classes[i, :20]) <= 16
        for j in range(i):
            assert 2 <= np.sum(classes[i, :20] != classes[j, :20]) <= 18


def test_very_many_states_have_few_columns() -> None:
    """Random vectors keep distances up to a factor, and equal codes equal."""
    codes = np.arange(500.0)[:, None]
    found = indicators(np.concatenate([codes, codes]), 500, np.random.default_rng(0))
    assert found.shape == (1000, 32)
    assert_allclose(found[:500], found[500:])
    squares = np.sum((found[:500, None] - found[:500]) ** 2, axis=-1)[np.triu_indices(500, 1)]
    assert_allclose(squares.mean(), 2.0, rtol=0.05)
    assert squares.min() > 0.2
