"""Of answers that are said with p, p are right, whatever the shape of the groups."""

import runpy
from itertools import product
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
def test_intervals_hold_the_means_of_groups_unless_a_note_says_that_they_are_too_narrow() -> None:
    """Two groups that were asked for, in 36 tables: 90 % of the intervals of what separates them, else a note."""
    held, noted = [], []
    for seed, apart in product(range(12), (2.5, 3.0, 4.0)):
        rng = np.random.default_rng(seed)
        x = rng.normal(size=(200, 3)) + np.outer(np.arange(200) % 2, [apart, 0.0, 0.0])
        found = cluster(dict(zip("abc", x.T, strict=True)), clusters=2)
        said = any("too narrow" in note for note in found.notes)
        noted.append((apart, said))
        traits = [{t.column: t for t in profile.traits}["a"] for profile in found.profiles]
        for one, centre in zip(sorted(traits, key=lambda t: t.mean), (0.0, apart), strict=True):
            if not said:
                held.append(one.low < centre < one.high)
    assert np.mean([said for apart, said in noted if apart == 2.5]) > 0.8
    assert not any(said for apart, said in noted if apart == 4.0)
    assert np.mean(held) > 0.8  # about 36 intervals: 0.9 less two standard errors
