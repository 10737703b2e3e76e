"""Run recursions both ways: plain, and compiled however short the chain is."""

import pytest

from posteriori.numerics import compilation


@pytest.fixture
def set_engine(monkeypatch):
    def use(name):
        monkeypatch.setattr(compilation, "_pays", lambda *_: name == "compiled")

    return use


@pytest.fixture(params=["plain", "compiled"])
def engine(request, set_engine):
    set_engine(request.param)
    return request.param
