"""A table on disk for the tests of commands."""

from pathlib import Path

import pytest
from tests.analysis.tables import mixed_table


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("tables") / "table.csv"
    mixed_table().to_csv(path, index=False)
    return path
