"""A posterior as ArviZ takes it: draws, their log likelihoods, and the evidence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from posteriori.modeling.posterior.pointwise import draw_unknowns, find_data, log_likelihood
from posteriori.numerics.arviz_export import as_inference_data, require_arviz
from posteriori.numerics.types import Array, Seed

if TYPE_CHECKING:
    from posteriori.modeling.posterior.posterior import Posterior

__all__ = ["to_arviz"]


def to_arviz(posterior: Posterior, draws: int, rng: Seed) -> Any:
    """Return draws, independent and so of one chain, with the log likelihood of each datum."""
    require_arviz()
    drawn = draw_unknowns(posterior, draws, rng)
    logs = _log_likelihoods(posterior, drawn)
    return as_inference_data(drawn, logs, posterior.log_evidence, *_axes(posterior, drawn))


def _axes(
    posterior: Posterior, drawn: dict[str, Array]
) -> tuple[dict[str, list[str]], dict[str, list[Any]]]:
    """Return what axes are called, of variables with named places, and what these places are called."""
    bound, dims, coords = posterior._solved.bound, dict[str, list[str]](), dict[str, list[Any]]()
    for name, names in bound.names.items():
        if name not in drawn:
            continue
        dims[name] = []
        for k, (axis, known) in enumerate(zip(bound.layouts[name].axes, names, strict=True)):
            shared = axis in bound.layouts[name].plates and known is not None
            dims[name].append(axis.name if shared else f"{name}_dim_{k}")
            if known is not None:
                coords[dims[name][-1]] = [*known]
    return dims, coords


def _log_likelihoods(posterior: Posterior, drawn: dict[str, Array]) -> dict[str, Array]:
    """Return ln p(datum | draw), (S, N), by what was observed; none where data cannot be told apart."""
    try:
        return {
            ", ".join(data.names): log_likelihood(posterior, data, drawn, np.arange(len(data)))
            for data in find_data(posterior)
        }
    except TypeError:
        return {}
