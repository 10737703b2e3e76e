"""What may have been meant: the option nearest to a misspelt one, and the first few of all."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence

__all__ = ["hint", "listed"]


def hint(wrong: object, options: Iterable[object]) -> str:
    """Return "; did you mean …?" for the nearest option, or nothing when none is near."""
    text = {str(option).lower(): option for option in options}
    near = difflib.get_close_matches(str(wrong).lower(), text, n=1)
    return f"; did you mean {text[near[0]]!r}?" if near else ""


def listed(options: Sequence[object]) -> str:
    """Return the first few options for an error message."""
    shown = ", ".join(map(repr, options[:12]))
    return shown + (f", … ({len(options)} in all)" if len(options) > 12 else "") or "none"
