"""Tests of the ascent: small models are not integrated over here."""

from __future__ import annotations

import pytest

from posteriori.modeling import KINDS


@pytest.fixture(autouse=True)
def without_integrals(monkeypatch):
    """Leave out the kind that would be preferred where few unknowns make the others exact."""
    kept = [kind for kind in KINDS if kind.name != "nested"]
    monkeypatch.setattr("posteriori.modeling.planning.planner.KINDS", kept)
