"""Exact sums that take long: they say how far they are, and can be stopped."""

import numpy as np
import pytest

from posteriori.inference.trees import box_levels
from posteriori.tree import BayesianTreeRegressor


def rows() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, 3))
    return x, x[:, 0] + rng.normal(size=60)


def test_boxes_a_few_at_a_time_add_up_to_the_same(monkeypatch):
    x, y = rows()
    whole = BayesianTreeRegressor(max_bins=5, search="exact").fit(x, y)
    monkeypatch.setattr(box_levels, "_TOGETHER", 3e4)
    parts = BayesianTreeRegressor(max_bins=5, search="exact").fit(x, y)
    assert float(parts.log_evidence_) == float(whole.log_evidence_)
    assert (parts.column_probability_ == whole.column_probability_).all()
    assert str(parts.best_tree_) == str(whole.best_tree_)


def test_the_sum_can_be_stopped_between_boxes_and_says_how_far_it_is(monkeypatch):
    x, y = rows()
    said = []

    def say(self: object, text: str) -> None:
        said.append(text)
        if len(said) == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(box_levels, "_TOGETHER", 1.0)
    monkeypatch.setattr(box_levels.Progress, "say", say)
    with pytest.raises(KeyboardInterrupt):
        BayesianTreeRegressor(max_bins=5, search="exact").fit(x, y)
    assert said[0].startswith("all trees: 1 of ")
    assert len(said) == 2
