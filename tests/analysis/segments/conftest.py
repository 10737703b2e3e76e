"""Fewer draws and starts: small tables need no more."""

import pytest

from posteriori.analysis.segments import state_search


@pytest.fixture(autouse=True)
def few_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state_search, "_DRAWS", 100)
    monkeypatch.setattr(state_search, "_FEWEST_DRAWS", 50)
    monkeypatch.setattr(state_search, "_STARTS", 2)
