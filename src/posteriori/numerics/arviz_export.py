"""Draws of a posterior as ArviZ takes them, with their log likelihoods and the evidence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

from posteriori.numerics.evidence import LogEvidence
from posteriori.numerics.types import Array

__all__ = ["as_inference_data", "require_arviz"]


def require_arviz() -> Any:
    """Return the library, or say how it is installed."""
    try:
        return import_module("arviz")
    except ImportError:
        raise ImportError(
            "to_arviz needs ArviZ, which is not installed: pip install 'posteriori[arviz]'"
        ) from None


def as_inference_data(
    drawn: Mapping[str, Array],
    logs: Mapping[str, Array],
    evidence: LogEvidence,
    dims: Mapping[str, Sequence[str]] | None = None,
    coords: Mapping[str, Sequence[Any]] | None = None,
) -> Any:
    """Return independent draws (S, *shape) as one chain, with ln p(datum | draw), (S, N), by what was observed.

    Axes have the names ``dims``, and places along these those of ``coords``.
    """
    return require_arviz().from_dict(
        posterior={name: values[None] for name, values in drawn.items()},
        log_likelihood={name: values[None] for name, values in logs.items()} or None,
        dims={name: [*axes] for name, axes in (dims or {}).items()} or None,
        coords={name: [*places] for name, places in (coords or {}).items()} or None,
        attrs={"log_evidence": float(evidence), "log_evidence_kind": evidence.kind},
    )
