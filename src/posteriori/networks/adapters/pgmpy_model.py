"""Networks as models of pgmpy: a table has its own variable first, then what it is given."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from posteriori.networks.adapters.optional_library import require_library
from posteriori.networks.network_reading import dense_table
from posteriori.tables import ConditionalTable

if TYPE_CHECKING:
    from posteriori.networks.network_value import NetworkValue

__all__ = ["network_to_pgmpy", "tables_from_pgmpy"]


def network_to_pgmpy(bn: NetworkValue) -> Any:
    """Return a ``pgmpy.models.DiscreteBayesianNetwork``."""
    models, factors = (require_library(f"pgmpy.{part}") for part in ("models", "factors.discrete"))
    model = models.DiscreteBayesianNetwork()
    model.add_nodes_from(bn.names)
    model.add_edges_from(bn.graph.edges)
    for name, conditional in bn.conditionals.items():
        given, size = list(conditional.given), len(bn.labels[name])
        cells = dense_table(conditional, bn.labels).reshape(-1, size).T  # own states are rows
        states = {each: list(bn.labels[each]) for each in (name, *given)}
        sizes = [len(bn.labels[each]) for each in given]
        parents = {"evidence": given, "evidence_card": sizes} if given else {}
        model.add_cpds(factors.TabularCPD(name, size, cells, state_names=states, **parents))
    return model


def tables_from_pgmpy(model: Any) -> list[ConditionalTable]:
    """Return the tables of a discrete Bayesian network of pgmpy."""
    if not hasattr(model, "get_cpds"):
        raise TypeError(f"model must be a Bayesian network of pgmpy, got {type(model).__name__}")
    tables = {cpd.variables[0]: cpd for cpd in model.get_cpds()}
    missing = next((node for node in model.nodes() if node not in tables), None)
    if missing is not None:
        raise ValueError(f"the model has no table of {missing!r}; add one by add_cpds")
    found = []
    for node in model.nodes():
        cpd = tables[node]
        name, *given = cpd.variables
        cells = np.moveaxis(np.asarray(cpd.values, dtype=float), 0, -1)
        labels = [cpd.state_names[each] for each in (*given, name)]
        found.append(ConditionalTable([name], given, cells, labels))
    return found
