"""Members of a family from the parameters that a model, or a file, holds by their names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["construct", "spelling"]

#: Parameters that a constructor takes under another name.
_SPELLINGS = {("MvStudentT", "location"): "mean"}


def spelling(family: str, key: str) -> str:
    """Return the name under which a constructor takes a parameter."""
    return _SPELLINGS.get((family, key), key)


def construct(family: Any, parameters: Mapping[str, Any], name: str) -> Any:
    """Construct a member of a family; an error says whose parameters are at fault."""
    spelled = {spelling(family.__name__, key): value for key, value in parameters.items()}
    try:
        return family(**spelled)
    except ValueError as error:
        raise ValueError(f"parameters of {name}: {error}") from None
