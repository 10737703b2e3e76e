"""The guide's table of coverage is what a new simulation finds."""

import re
from pathlib import Path

import numpy as np
import pytest

from tests.modeling.posterior.calibrated_models import STUDIES
from tests.modeling.posterior.calibration import measure, named, runs

PAGE = Path(__file__).parents[3] / "docs" / "guide" / "calibration.md"

#: Of whose runs few are silent: five times as many are looked at.
OFTEN = (
    "change point, 30 years",
    "hidden Markov chain, 20 steps",
    "hidden Markov chain with moves, 60 steps",
    "letters with moves, 60 steps",
)

pytestmark = pytest.mark.slow


def read_table() -> dict[str, dict[str, tuple[float, float]]]:
    """Return the shares inside 90 % and their errors, by model and variable, as the page has them."""
    found: dict[str, dict[str, tuple[float, float]]] = {}
    title = ""
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        row = re.fullmatch(r"\| (.*?) ?\| `(\w+)` \| \d+ \| (\d+) \| ([\d.]+) \|", line)
        if row:
            title = row[1] or title
            found.setdefault(title, {})[row[2]] = (int(row[3]) / 100, float(row[4]) / 100)
    return found


def test_the_page_has_a_row_for_every_study() -> None:
    assert list(read_table()) == list(STUDIES)


@pytest.mark.parametrize("title", STUDIES)
def test_the_table_of_the_guide_is_found_again(title: str) -> None:
    table = read_table()[title]
    found = measure(STUDIES[title], 150, seed=1)
    assert found.keys() == table.keys()
    for name, coverage in found.items():
        share, error = table[name]
        assert abs(coverage.most - share) < 5.0 * np.hypot(error, coverage.error) + 0.005, name


@pytest.mark.parametrize(
    "title", ["hidden Markov chain with moves, 60 steps", "one factor, 30 rows"]
)
def test_runs_that_are_not_named_hold_what_they_promise(title: str) -> None:
    """Where a check names nothing, 90 % intervals hold 85 % at least, but for the error of counting."""
    for name, found in named(STUDIES[title], 100, draws=200, seed=5).items():
        assert found.coverage < 0.85, name  # there is something to name
        if found.of_runs > 0.9:
            continue
        silent = (1.0 - found.coverage) * (1.0 - found.of_misses) / (1.0 - found.of_runs)
        error = np.sqrt(0.1 * 0.9 / (100 * (1.0 - found.of_runs)))
        assert 1.0 - silent > 0.85 - 2.0 * error, name


def test_loadings_and_their_noise_are_named() -> None:
    for name, found in named(STUDIES["one factor, 30 rows"], 40, draws=1000, seed=5).items():
        assert found.of_misses >= 0.9, name


def test_beliefs_that_are_calibrated_are_not_named() -> None:
    for title in ("mean and precision, 50 data", "two classes far apart, 30 data"):
        for name, found in named(STUDIES[title], 30, draws=200, seed=5).items():
            assert found.of_runs < 0.1, (title, name)


def test_exact_posteriors_hold_what_they_promise() -> None:
    for coverage in measure(STUDIES["mean and precision, conjugate (exact)"]).values():
        assert abs(coverage.most - 0.9) < 4.0 * coverage.error


@pytest.mark.parametrize("title", [t for t, s in STUDIES.items() if s.options])
def test_intervals_that_nothing_is_said_about_hold(title: str) -> None:
    """Without draws, too: 90 % intervals of runs in which an unknown is not named hold 85 %, but for counting."""
    held: dict[str, list[float]] = {}
    repetitions = 150 if title in OFTEN else 30
    for run in runs(STUDIES[title], repetitions, seed=11):
        told = {name for result in run.posterior._solved.results for name in result.too_narrow()}
        for name in run.places.keys() - told:
            held.setdefault(name, []).append(float(np.mean(np.abs(run.places[name] - 0.5) <= 0.45)))
    for name, shares in held.items():
        if len(shares) >= 10:
            assert np.mean(shares) > 0.85 - 2.5 * np.sqrt(0.1 * 0.9 / len(shares)), name
