"""What helps where beliefs are too sure: what the planner would do, had other choices been made."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import fields

from posteriori.modeling.contract.options import Options
from posteriori.modeling.contract.solved import Solved

__all__ = ["find_remedy"]


def find_remedy(solved: Solved, names: Collection[str]) -> str:
    """Return which choice solves unknowns without cutting them apart, in words; "" if there is none."""
    if solved.is_merged or solved.has_earlier:
        return ""
    for choice, options in _other_choices(solved.options):
        try:
            blocks = solved.plan(solved.bound, options).blocks
        except (TypeError, ValueError):
            continue
        reasons = [b.trusted_for for b in blocks if not set(names).isdisjoint(b.names)]
        if all(reasons):
            return f"{choice}: {'; '.join(dict.fromkeys(reasons))}"
    return ""


def _other_choices(options: Options | None) -> Iterator[tuple[str, Options | None]]:
    default = Options()
    given = [
        f.name
        for f in fields(Options)
        if getattr(options or default, f.name) != getattr(default, f.name)
    ]
    if given:
        yield f"leave out {', '.join(given)}", None
    if "method" not in given:
        yield 'method="quadrature"', Options(method="quadrature")
