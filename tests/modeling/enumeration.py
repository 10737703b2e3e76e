"""The slow and obvious answer for discrete models: all configurations, one by one."""

import itertools
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from posteriori.modeling import Model

__all__ = ["Enumerated", "Unknown", "enumerate_model"]


class Unknown(NamedTuple):
    """Shape and number of states of a variable."""

    shape: tuple[int, ...]
    states: int


class Enumerated(NamedTuple):
    """Evidence, marginals (*shape, K), and all configurations with their probabilities."""

    log_evidence: float
    marginals: Mapping[str, np.ndarray]
    configurations: list[dict[str, np.ndarray]]
    probabilities: np.ndarray


def enumerate_model(
    model: Model, data: Mapping[str, Any], unknowns: Mapping[str, Unknown]
) -> Enumerated:
    """Add up exp(log_joint) over all states of the unknowns.

    A variable among both data and unknowns is unknown where its data are NaN.
    """
    cells: list[tuple[str, tuple[int, ...]]] = []
    start: dict[str, np.ndarray] = {}
    for name, (shape, _) in unknowns.items():
        start[name] = np.array(data[name], dtype=float) if name in data else np.full(shape, np.nan)
        cells += [(name, index) for index in np.ndindex(*shape) if np.isnan(start[name][index])]
    configurations, logs = [], []
    for states in itertools.product(*(range(unknowns[name].states) for name, _ in cells)):
        values = {name: array.copy() for name, array in start.items()}
        for (name, index), state in zip(cells, states, strict=True):
            values[name][index] = state
        configurations.append(values)
        logs.append(model.log_joint({**data, **values}))
    log_weights = np.array(logs)
    top = log_weights.max()
    weights = np.exp(log_weights - top)
    p = weights / weights.sum()
    marginals = {}
    for name, (shape, states) in unknowns.items():
        total = np.zeros((*shape, states))
        for values, weight in zip(configurations, p, strict=True):
            total += weight * (values[name][..., None] == np.arange(states))
        marginals[name] = total
    return Enumerated(top + np.log(weights.sum()), marginals, configurations, p)
