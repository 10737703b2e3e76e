"""What warns when an answer is less than was asked for."""

from __future__ import annotations

__all__ = ["ConvergenceWarning"]


class ConvergenceWarning(UserWarning):
    """An iteration stopped before its tolerance was met; the result says so as well."""
