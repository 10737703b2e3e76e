"""What is said of a belief without drawing from it: where the calibration page found it too sure."""

from typing import Any

import numpy as np
import pytest

from posteriori import Gamma, Normal, StudentT
from posteriori.modeling import Input, Model
from tests.modeling.posterior.calibrated_models import STUDIES, mixture

#: Unknowns whose 90 % intervals hold far less, and those that hold what they promise.
TOO_NARROW: dict[str, set[str]] = {
    "8 groups": {"between"},
    "random walk, 20 steps": {"step", "noise"},
    "hidden Markov chain, 20 steps": {"mu"},
    "hidden Markov chain with moves, 60 steps": {"A"},
    "letters with moves, 60 steps": {"A"},
    "one factor, 30 rows": {"W"},
    "linear system, 30 steps": {"a"},
}
#: True values with which states overlap; where they are far apart, moves are as good as seen.
GIVEN = {"hidden Markov chain with moves, 60 steps": {"mu": np.array([-1.0, 1.0]), "tau": 1.0}}
FINE = [
    "mean and precision, conjugate (exact)",
    "mean and precision, 5 data (integrated)",
    "mean and precision, 50 data",
    "regression, 8 data",
    "8 groups (integrated)",
    "eight schools (integrated)",
    "two classes far apart, 30 data",
]


def infer(title: str, seed: int) -> Any:
    study = STUDIES[title]
    model = study.build()
    given = {**study.inputs, **GIVEN.get(title, {})}
    drawn = model.simulate(plates=study.plates, rng=seed, **given)
    return model.infer({**study.inputs, "y": drawn["y"]}, **study.options)


@pytest.mark.parametrize("title", TOO_NARROW)
def test_unknowns_that_are_believed_in_too_surely_are_named(title: str) -> None:
    named = [
        TOO_NARROW[title] <= {n for r in infer(title, seed)._solved.results for n in r.too_narrow()}
        for seed in range(6)
    ]
    assert sum(named) >= 5  # data can happen to tell the hidden ones well


@pytest.mark.parametrize("title", FINE)
def test_nothing_is_said_of_beliefs_that_hold_what_they_promise(title: str) -> None:
    for seed in range(3):
        post = infer(title, seed)
        assert post.cautions == []
        assert "too narrow" not in repr(post)


def test_groups_that_are_seen_well_are_as_good_as_known() -> None:
    rng = np.random.default_rng(0)
    group = np.repeat(np.arange(12), 100)
    m = Model()
    m.g = Input("n")
    m.between = Gamma(shape=2, rate=2)
    m.theta = Normal(0, precision=m.between).iid(12)
    m.y = Normal(m.theta[m.g], variance=1)
    y = rng.normal(size=12)[group] + rng.normal(size=len(group))
    assert m.infer(g=group, y=y, method="vmp").cautions == []
    few = m.infer(g=group[::100], y=y[::100], method="vmp")
    assert few.cautions == ["intervals of between are too narrow"]


def test_student_noise_is_looked_at_through_the_weights_of_its_rows() -> None:
    y = np.array([5.6, 1.6, -0.6, 1.4, -0.2, 0.2, 3.6, 2.4])
    known = Model()
    known.mu = Normal(0, scale=5).iid(8)
    known.y = StudentT(4, known.mu, scale=1.0)
    post = known.infer(y=y)
    assert post.cautions == []
    assert "mu  Normal (8,)" in repr(post)
    unknown = Model()
    unknown.mu = Normal(0, scale=5).iid(8)
    unknown.scale = Gamma(shape=2, rate=2)
    unknown.y = StudentT(4, unknown.mu, scale=unknown.scale)
    assert unknown.infer(y=y).cautions == ["intervals of scale are too narrow"]


def test_points_have_no_intervals() -> None:
    model = mixture(3.0)
    y = model.simulate(plates={"n": 30}, rng=0)["y"]
    post = model.infer(y=y, form={"mu": "point", "pi": "point", "tau": "point"})
    assert post.cautions == []


def test_missing_numbers_do_not_hide_what_is_uncertain() -> None:
    study = STUDIES["8 groups"]
    y = np.array([2.8, np.nan, -0.4, 0.7, np.nan, 0.1, 1.8, 1.2])
    post = study.build().infer(y=y, method="vmp")
    assert post.cautions == ["intervals of between are too narrow"]
