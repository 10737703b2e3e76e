"""The guide's table of coverage is what a new simulation finds."""

import re
from pathlib import Path

import numpy as np
import pytest

from tests.modeling.variational.calibration import REPETITIONS, STUDIES, measure

PAGE = Path(__file__).parents[3] / "docs" / "guide" / "calibration.md"

pytestmark = pytest.mark.slow


def read_table() -> dict[str, dict[str, tuple[float, float]]]:
    """Return the shares of the page, by model and variable."""
    found: dict[str, dict[str, tuple[float, float]]] = {}
    title = ""
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        row = re.fullmatch(r"\| (.*?) ?\| `(\w+)` \| (\d+) \| (\d+) \|", line)
        if row:
            title = row[1] or title
            found.setdefault(title, {})[row[2]] = (int(row[3]) / 100, int(row[4]) / 100)
    return found


def test_the_page_has_a_row_for_every_study() -> None:
    assert list(read_table()) == list(STUDIES)


@pytest.mark.parametrize("title", STUDIES)
def test_the_table_of_the_guide_is_found_again(title: str) -> None:
    repetitions = 300
    table = read_table()[title]
    found = measure(STUDIES[title], repetitions, seed=1)
    assert found.keys() == table.keys()
    for name, coverage in found.items():
        scale = np.sqrt(1.0 + repetitions / REPETITIONS)  # the page has errors of its own
        assert abs(coverage.most - table[name][1]) < 5.0 * scale * coverage.error + 0.005, name


def test_exact_posteriors_hold_what_they_promise() -> None:
    for coverage in measure(STUDIES["mean and precision, conjugate (exact)"]).values():
        assert abs(coverage.most - 0.9) < 4.0 * coverage.error
