"""Predictions of new members, against ratios of evidences."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import pytest

from posteriori.distributions import (
    Bernoulli,
    Categorical,
    MvNormal,
    MvStudentT,
    NegativeBinomial,
    Normal,
    StudentT,
)
from posteriori.modeling import Model
from tests.modeling.prediction_models import (
    GRID,
    LETTERS,
    VECTORS,
    Y,
    coin,
    coins,
    common_matrix,
    common_precision,
    counts,
    groups,
    groups_of_common_matrix,
    groups_of_common_variance,
    known_mean,
    letters,
    matrix_covariance,
    matrix_precision,
    mean,
    mixture,
    mixture_of_unknown_kind,
    noisy_letters,
    precision_of_each,
    repeats_in_groups,
    several_added,
    shared_twice,
    vectors,
)


class Case(NamedTuple):
    """A model, its data, a plate, and values that one new member of ``y`` might have."""

    build: Callable[[], Model]
    data: Mapping[str, Any]
    plate: str
    points: Any
    family: Any = None


CASES = {
    "mean": Case(mean, {"y": Y}, "n", [-1.0, 2.5], Normal),
    "groups": Case(groups, {"y": Y}, "n", [-1.0, 2.5], Normal),
    "shared twice": Case(shared_twice, {"y": Y}, "n", [-1.0, 2.5], Normal),
    "repeats": Case(repeats_in_groups, {"y": GRID}, "n", None, Normal),
    "vectors": Case(vectors, {"y": VECTORS}, "n", [[0.3, -1.0], [2.0, 1.0]], MvNormal),
    "several added": Case(several_added, {"y": Y}, "n", [-1.0, 2.5], Normal),
    "common precision": Case(common_precision, {"y": Y}, "n", [-1.0, 2.5], StudentT),
    "common variance": Case(groups_of_common_variance, {"y": Y}, "n", [-1.0, 2.5], StudentT),
    "precision of each": Case(precision_of_each, {"y": GRID[:, :2]}, "n", None, StudentT),
    "coin": Case(coin, {"y": [1, 0, 1, 1]}, "n", [0, 1], Bernoulli),
    "coins": Case(coins, {"y": [[1, 0], [1, 1], [0, 0]]}, "n", None, Bernoulli),
    "counts": Case(counts, {"y": [3, 0, 5]}, "n", [0, 4], NegativeBinomial),
    "letters": Case(letters, {"y": LETTERS}, "n", [0, 1, 2], Categorical),
    "known mean": Case(known_mean, {"y": Y}, "n", [-1.0, 2.5], StudentT),
    "Wishart": Case(matrix_precision, {"y": VECTORS}, "n", [[0.3, -1.0], [2.0, 1.0]], MvStudentT),
    "inverse Wishart": Case(
        matrix_covariance, {"y": VECTORS}, "n", [[0.3, -1.0], [2.0, 1.0]], MvStudentT
    ),
    "common matrix": Case(
        common_matrix, {"y": VECTORS}, "n", [[0.3, -1.0], [2.0, 1.0]], MvStudentT
    ),
    "groups of common matrix": Case(
        groups_of_common_matrix, {"y": VECTORS}, "n", [[0.3, -1.0], [2.0, 1.0]], MvStudentT
    ),
    "mixture": Case(mixture, {"y": Y}, "n", [-1.0, 2.5]),
    "unknown kind": Case(mixture_of_unknown_kind, {"y": Y}, "n", [-1.0, 2.5]),
    "noisy letters": Case(noisy_letters, {"y": LETTERS}, "n", [0, 1, 2], Categorical),
}


def log_ratio(case: Case, point: Any) -> float:
    """ln p(point | data), from the evidence with and without one more row."""
    y = np.asarray(case.data["y"], dtype=float)
    more = np.concatenate([y, np.asarray(point, dtype=float)[None]])
    whole = case.build().infer({**case.data, "y": more})
    return float(whole.log_evidence) - float(case.build().infer(case.data).log_evidence)


@pytest.mark.parametrize("name", CASES)
def test_a_new_member_is_a_ratio_of_evidences(name: str) -> None:
    case = CASES[name]
    post = case.build().infer(case.data)
    new = post.predict("y", **{case.plate: 2})
    if case.family is not None:
        assert isinstance(new, case.family)
    row = np.shape(case.data["y"])[1:]
    assert new.batch_shape + new.event_shape == (2, *row)
    if case.points is not None:
        for point in case.points:
            expected = log_ratio(case, point)
            np.testing.assert_allclose(new.log_prob([point, point]), expected, atol=1e-9)
        return
    for k in range(row[0]):  # one number of the row at a time, the others missing
        for point in (0.0, 1.0):
            values = np.full(row, np.nan)
            values[k] = point
            expected = log_ratio(case, values)
            filled = np.full((2, *row), point)
            np.testing.assert_allclose(new.log_prob(filled)[:, k], expected, atol=1e-9)
