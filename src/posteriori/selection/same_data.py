"""Refusing to compare models that were fitted to different data, before anything is computed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from posteriori.estimators.contract import ComparableResult, HasEvidence, last_step, offers
from posteriori.numerics.evidence import Fingerprint, LogEvidence
from posteriori.selection.comparison import require_comparable

__all__ = ["as_numbers", "require_same_data"]


def require_same_data(models: Mapping[str, Any], y: Any) -> None:
    """Refuse fitted models and posteriors whose evidences are of different data, or not of ``y``.

    Parameters
    ----------
    models : mapping of names to models
        Those without evidence, as yet, are passed by.
    y : array_like or None
        The targets of the comparison.
    """
    evidences = {}
    for name, model in models.items():
        final, _ = last_step(model)
        if offers(final, HasEvidence):
            evidences[name] = final.log_evidence_
            if y is not None:
                _require_targets(name, final.log_evidence_, y)
        elif offers(final, ComparableResult):
            evidences[name] = final.log_evidence
    require_comparable(evidences)


def _require_targets(name: str, evidence: LogEvidence, y: Any) -> None:
    """Refuse a model that was fitted to other targets than it is compared on."""
    seen, targets = evidence.fingerprint, as_numbers(np.asarray(y))
    if seen is None:
        return
    if seen.count != len(targets):
        raise ValueError(
            f"{name} was fitted to {seen.count} rows, but the data of the comparison have "
            f"{len(targets)}; fit it to the same rows, or give it unfitted"
        )
    if evidence.of.endswith("|X") and seen != Fingerprint().update(targets):
        raise ValueError(
            f"{name} was fitted to other targets than y, or with weights; fit it to the same data, or "
            "give it unfitted"
        )


def as_numbers(y: Any) -> Any:
    """Return targets that are not missing as numbers; other labels by their places."""
    if y.dtype.kind not in "biuf":
        return np.unique(y, return_inverse=True)[1].reshape(y.shape).astype(np.float64)
    numbers = y.astype(np.float64)
    missing = np.isnan(numbers).reshape(len(numbers), -1).any(axis=1)
    return numbers[~missing]
