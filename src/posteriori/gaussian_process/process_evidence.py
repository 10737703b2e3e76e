r"""The evidence of a kernel: ln N(y | 0, K), and its gradient in the logarithms of the parameters."""

from __future__ import annotations

from typing import Any

import numpy as np

from posteriori.inference.processes.dense_process import noise_variances
from posteriori.inference.processes.forms.choosing import choose_form
from posteriori.inference.processes.mean_effects import NO_MEAN
from posteriori.inference.processes.process_rows import borrow_rows, refuse_contradictions
from posteriori.kernels.kernel import Kernel, check_points
from posteriori.numerics.evidence import Fingerprint, LogEvidence
from posteriori.numerics.types import Array

__all__ = ["log_evidence"]


def log_evidence(kernel: Kernel, X: Any, y: Any, gradient: bool = True) -> Any:
    """Return the log evidence of a kernel for targets around 0, and its gradient.

    Parameters
    ----------
    kernel : Kernel
        With its noise: ``… + White(0.1)``.
    X : (N, D)
    y : (N,), or (N, Q) of independent functions with the same kernel
        NaN is missing.
    gradient : bool
        Whether the gradient is asked for.

    Returns
    -------
    value : LogEvidence
        ln N(y | 0, k(X)).
    gradient : (P,)
        In ``kernel.log_parameters``, unless it is not asked for.

    Examples
    --------
    >>> from posteriori.kernels import RBF, White
    >>> value, slope = log_evidence(RBF() + White(1.0), [[0.0], [1.0]], [1.0, -1.0])
    >>> value, slope.round(6)
    (LogEvidence(-3.200419, kind="exact", of="y|X"), array([-0.211077, -0.035645]))
    """
    x, targets = _check_targets(X, y)
    rows = borrow_rows(x, targets)
    if rows.scatter.any():
        refuse_contradictions(rows, targets, noise_variances(kernel, rows.X, absolute=False))
    form = choose_form(kernel, rows, NO_MEAN, absolute=False)
    value, slope = form.score(kernel) if gradient else (form.solve(kernel).log_evidence, None)
    evidence = LogEvidence(value, kind="exact", of="y|X", fingerprint=Fingerprint().update(targets))
    return evidence if slope is None else (evidence, slope)


def _check_targets(X: Any, y: Any) -> tuple[Array, Array]:
    """Return points and targets (N, Q) of the rows that have some."""
    x, targets = check_points("X", X), np.asarray(y, dtype=np.float64)
    if targets.ndim not in (1, 2) or len(targets) != len(x):
        raise ValueError(f"y must have shape ({len(x)},) or ({len(x)}, Q), got {targets.shape}")
    columns = targets.reshape(len(x), -1)
    if not (finite := bool(np.isfinite(columns).all())):
        known = ~np.isnan(columns).all(axis=1)
        x, columns = x[known], columns[known]
        finite = bool(np.isfinite(columns).all())
    if not finite or not columns.size:
        raise ValueError(
            "y must be finite, or NaN where a whole row is missing, and some row must be there"
        )
    return x, columns
