"""Binding a model to further data: which plates have new members, and what stays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from posteriori.modeling.beliefs.earlier import is_earlier
from posteriori.modeling.binding.binder import Binder
from posteriori.modeling.binding.bound import Bound

__all__ = ["bind_new_data", "fresh_plates"]


def fresh_plates(bound: Bound, given: Mapping[str, Any]) -> set[str]:
    """Return the named plates of which data or inputs have new members.

    Of several plates, those whose size is that of before keep their members; if no size is another
    one, the first plate has the new members.
    """
    old = bound.plate_sizes()
    sizes: dict[str, int] = {}
    for name, values in given.items():
        layout = bound.layouts.get(name)
        plates = bound.inputs[name].plates if layout is None else [a.name for a in layout.plates]
        sizes |= {p: n for p, n in zip(plates, np.shape(values), strict=False) if p in old}
    changed = {p for p, n in sizes.items() if n != old[p]}
    return changed or set(list(sizes)[:1])


def bind_new_data(bound: Bound, given: Mapping[str, Any], fresh: set[str]) -> Bound:
    """Bind the model to new data; other plates, their data and their inputs stay."""
    data = dict(given)
    layouts = bound.layouts
    for name, value in {**bound.observed, **bound.given}.items():
        if name in data or is_earlier(name):
            continue
        plates = (
            bound.inputs[name].plates
            if name in bound.inputs
            else [axis.name for axis in layouts[name].plates]
        )
        if not fresh & set(plates):
            data[name] = value
    sizes = {p: n for p, n in bound.plate_sizes().items() if p not in fresh}
    return Binder(bound.variables, bound.inputs, data, sizes).run()
