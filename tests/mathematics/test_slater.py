"""Points at which all inequalities are strict."""

import numpy as np
import pytest

from posteriori.classification import Hyperplane
from posteriori.mathematics import slater_point


@pytest.mark.topic("002/F5")
def test_a_disc_and_a_half_plane_meet_or_do_not():
    def meet(shift):
        return slater_point(
            [lambda x: 1.0 - x @ x, lambda x: x[0] + x[1] - shift], np.array([5.0, -5.0])
        )

    point = meet(1.2)
    assert 1.0 - point @ point > 0
    assert point.sum() > 1.2
    assert meet(np.sqrt(2.0)) is None  # they touch
    assert meet(2.0) is None


def test_a_start_that_is_strict_stays():
    np.testing.assert_array_equal(slater_point(lambda x: x, [0.5, 2.0]), [0.5, 2.0])


@pytest.mark.topic("000/J8", "002/F1")
def test_canonical_form_and_margins_do_not_depend_on_scale():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(20, 3)), rng.choice([-1, 1], size=20)
    w, b = rng.normal(size=3), 0.3
    distances = y * (x @ w + b) / np.sqrt(w @ w)
    for factor in (1.0, 7.5):
        plane = Hyperplane(factor * w, factor * b)
        np.testing.assert_allclose(plane.margins(x, y), distances)
        canonical = plane.canonical(x)
        np.testing.assert_allclose(np.abs(canonical.value(x)).min(), 1.0)
        nearest = np.abs(distances).min()
        np.testing.assert_allclose(1.0 / np.linalg.norm(canonical.weights), nearest)


def test_canonical_form_needs_a_distance():
    with pytest.raises(ValueError, match="a row on the hyperplane"):
        Hyperplane([1.0], 0.0).canonical([[0.0], [1.0]])
    with pytest.raises(ValueError, match="y must hold −1 and"):
        Hyperplane([1.0], 0.0).margins([[1.0]], [0])
