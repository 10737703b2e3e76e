"""Run chains through both engines: NumPy steps, and compiled loops forced on short chains."""

import pytest

from posteriori.inference.chains import chain_passes, hidden_markov


@pytest.fixture(params=["steps", "compiled"])
def engine(request, monkeypatch):
    if request.param == "compiled":
        monkeypatch.setattr(chain_passes, "LONG", 1)
        monkeypatch.setattr(hidden_markov, "LONG", 1)
    return request.param
