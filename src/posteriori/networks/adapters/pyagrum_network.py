"""Networks as those of pyAgrum: its arrays have the last parent first and the own states last."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from posteriori.factors.axes import Label
from posteriori.networks.adapters.optional_library import require_library
from posteriori.networks.network_reading import MOST_CELLS, dense_table
from posteriori.tables import ConditionalTable

if TYPE_CHECKING:
    from posteriori.networks.network_value import NetworkValue

__all__ = ["network_to_pyagrum", "tables_from_pyagrum"]


def network_to_pyagrum(bn: NetworkValue) -> Any:
    """Return a ``pyagrum.BayesNet``; labels other than whole numbers in order are written as text."""
    gum = require_library("pyagrum")
    made = gum.BayesNet()
    for name, labels in bn.labels.items():
        made.add(_variable(gum, name, labels))
    for name, conditional in bn.conditionals.items():
        for parent in conditional.given:
            made.addArc(parent, name)
        table, axes = made.cpt(name), (*conditional.given, name)
        order = [axes.index(each) for each in reversed(table.names)]
        cells = dense_table(conditional, bn.labels).transpose(order)
        table.fillWith(cells.ravel().tolist())
    return made


def tables_from_pyagrum(bn: Any) -> list[ConditionalTable]:
    """Return the tables of a ``pyagrum.BayesNet``."""
    if not (hasattr(bn, "cpt") and hasattr(bn, "variable")):
        raise TypeError(f"bn must be a BayesNet of pyAgrum, got {type(bn).__name__}")
    gum = require_library("pyagrum")
    labels = {bn.variable(node).name(): _labels(gum, bn.variable(node)) for node in bn.nodes()}
    found = []
    for name in labels:
        table = bn.cpt(name)
        if table.domainSize() > MOST_CELLS:
            raise MemoryError(f"the table of {name!r} has {table.domainSize():.3g} cells")
        own, *given = table.names
        cells = np.asarray(
            table.toarray(), dtype=float
        )  # axes: …, second parent, first parent, own
        cells = cells.transpose([*range(len(given) - 1, -1, -1), len(given)])
        found.append(
            ConditionalTable([own], given, cells, [labels[each] for each in (*given, own)])
        )
    return found


def _variable(gum: Any, name: str, labels: Sequence[Label]) -> Any:
    whole = all(isinstance(label, int) and not isinstance(label, bool) for label in labels)
    if whole and list(labels) == sorted(labels):  # type: ignore[type-var]
        return gum.IntegerVariable(name, "", list(labels))
    texts = list(map(str, labels))
    if len(set(texts)) < len(texts):
        raise ValueError(f"labels of {name!r} are the same once they are written: {tuple(labels)}")
    return gum.LabelizedVariable(name, "", texts)


def _labels(gum: Any, variable: Any) -> list[Label]:
    """Return labels: numbers of variables that have them, else text."""
    kind = {
        gum.VarType_INTEGER: int,
        gum.VarType_RANGE: int,
        gum.VarType_NUMERICAL: float,
    }.get(variable.varType())
    if kind is None:
        return list(variable.labels())
    return [kind(variable.numerical(i)) for i in range(variable.domainSize())]
