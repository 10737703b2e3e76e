"""Of answers that are said with p, p are right, whatever the shape of the groups."""

import runpy
from pathlib import Path

import numpy as np
import pytest

from posteriori.analysis import cluster

BENCH = Path(__file__).parents[3] / "bench" / "populations.py"


@pytest.mark.slow
def test_numbers_of_groups_are_as_probable_as_said() -> None:
    """Bounds of components were right in half of such tables, claimed 0.84, and had a log loss of 3.1."""
    made = runpy.run_path(str(BENCH))
    right, claimed, loss = [], [], []
    for place, kind in enumerate(made["POPULATIONS"]):
        for groups in range(1, 5):
            rng = np.random.default_rng([70, place, groups])
            table, _ = made["make_population"](kind, groups, 2 + groups % 3, 100 + 50 * place, rng)
            found = cluster(table)
            chances = dict(zip(found.numbers, found.number_probabilities.tolist(), strict=True))
            right.append(found.n_clusters == groups)
            claimed.append(max(chances.values()))
            loss.append(-np.log(max(chances.get(groups, 0.0), 1e-3)))
    assert abs(np.mean(right) - np.mean(claimed)) < 0.2  # 28 tables: 0.1, and 1.4 standard errors
    assert np.mean(right) > 0.65
    assert np.mean(loss) < 1.2


@pytest.mark.slow
def test_intervals_of_groups_apart_hold_the_means() -> None:
    """Two groups four deviations apart: 90 % of the intervals hold the mean, here of 80."""
    held = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        x = rng.normal(size=(120, 2)) + np.outer(np.arange(120) % 2, [4.0, 0.0])
        found = cluster({"a": x[:, 0], "b": x[:, 1]}, clusters=2)
        traits = [{t.column: t for t in profile.traits} for profile in found.profiles]
        for one, centre in zip(sorted(traits, key=lambda t: t["a"].mean), (0.0, 4.0), strict=True):
            held += [one["a"].low < centre < one["a"].high, one["b"].low < 0.0 < one["b"].high]
    assert 0.8 < np.mean(held) < 0.99
