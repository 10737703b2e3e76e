"""A posterior as ArviZ takes it: draws, their log likelihoods, and the evidence."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from posteriori.modeling.posterior.pointwise import draw_unknowns, find_data, log_likelihood
from posteriori.numerics.types import Array, Seed

if TYPE_CHECKING:
    from posteriori.modeling.posterior.posterior import Posterior

__all__ = ["to_arviz"]


def to_arviz(posterior: Posterior, draws: int, rng: Seed) -> Any:
    """Return draws, independent and so of one chain, with the log likelihood of each datum."""
    try:
        arviz = import_module("arviz")
    except ImportError:
        raise ImportError(
            "to_arviz needs ArviZ, which is not installed: pip install 'posteriori[arviz]'"
        ) from None
    drawn = draw_unknowns(posterior, draws, rng)
    logs = _log_likelihoods(posterior, drawn)
    evidence = posterior.log_evidence
    return arviz.from_dict(
        posterior={name: values[None] for name, values in drawn.items()},
        log_likelihood={name: values[None] for name, values in logs.items()} or None,
        attrs={"log_evidence": float(evidence), "log_evidence_kind": evidence.kind},
    )


def _log_likelihoods(posterior: Posterior, drawn: dict[str, Array]) -> dict[str, Array]:
    """Return ln p(datum | draw), (S, N), by what was observed; none where data cannot be told apart."""
    try:
        return {
            ", ".join(data.names): log_likelihood(posterior, data, drawn, np.arange(len(data)))
            for data in find_data(posterior)
        }
    except TypeError:
        return {}
