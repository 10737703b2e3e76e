"""Libraries that are asked for by name, and need not be there."""

from __future__ import annotations

from importlib import import_module
from typing import Any

__all__ = ["require_library"]


def require_library(module: str) -> Any:
    """Return a module of a library.

    Raises
    ------
    ImportError
        If it is not installed; the message says how to.
    """
    library = module.partition(".")[0]
    try:
        return import_module(module)
    except ImportError as error:
        raise ImportError(
            f"{module} cannot be loaded ({error}); pip install {library} brings it", name=library
        ) from None
