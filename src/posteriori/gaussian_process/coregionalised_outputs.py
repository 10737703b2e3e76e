r"""Several outputs that are learned from each other: one process over all targets that are there.

.. math:: y_{nq} = m_q(x_n) + f_q(x_n) + \varepsilon_{nq},\qquad
          \mathrm{cov}(f_q(x), f_r(z)) = B_{qr}\,k(x, z),\qquad \varepsilon_{nq} \sim N(0, \sigma_q^2)

Each target is a row whose last column is the code of its output, and
:class:`~posteriori.kernels.Coregion` is the covariance B of these codes; what is missing is no row.
"""

from __future__ import annotations

import numpy as np

from posteriori.gaussian_process.outputs_belief import OutputsBelief, with_codes
from posteriori.gaussian_process.process_belief import ProcessBelief
from posteriori.gaussian_process.process_learning import (
    GivenRows,
    LearnedProcess,
    SearchOptions,
    extend_process,
    learn_process,
)
from posteriori.inference.processes.mean_effects import MeanEffects, output_means
from posteriori.inference.processes.noise_parts import noiseless
from posteriori.inference.processes.search_bounds import default_bounds
from posteriori.kernels.coregion import Coregion
from posteriori.kernels.inner_products import White
from posteriori.kernels.kernel import Kernel
from posteriori.kernels.radial import RBF
from posteriori.numerics.types import Array

__all__ = ["extend_outputs", "learn_outputs"]

#: Where loadings begin: no output wholly explained by others, and none left out.
_MOST_SHARED, _LEAST = 0.9, 0.1


def learn_outputs(
    kernel: Kernel | None,
    given: GivenRows,
    *,
    hyperparameters: str,
    mean: str,
    rank: int,
    options: SearchOptions,
) -> LearnedProcess:
    """Return what rows say of several functions together.

    Parameters
    ----------
    kernel : Kernel or None
        Of the inputs; or, with a ``Coregion``, of the inputs and the code of the output.
    given : GivenRows
        NaN is a missing target.
    hyperparameters : {"type-II", "fixed", "integrated"}
    mean : {"constant", "zero", "linear"}
        Of each output.
    rank : int
        Columns of the loadings, where the kernel has none.
    options : SearchOptions
    """
    stacked, center, means = _stack(given, mean)
    whole = _with_outputs(kernel, given, stacked, hyperparameters == "fixed", rank)
    learned = learn_process(
        whole, stacked, hyperparameters=hyperparameters, mean=means, options=options
    )
    return _around(learned, center)


def extend_outputs(before: LearnedProcess, given: GivenRows, mean: str) -> LearnedProcess:
    """Return what all rows say, with the kernel of earlier ones."""
    stacked, center, means = _stack(given, mean)
    assert isinstance(before.belief, OutputsBelief)
    inner = before._replace(belief=before.belief.belief, account=before.account[1:])
    return _around(extend_process(inner, stacked, means), center)


def _around(learned: LearnedProcess, center: Array) -> LearnedProcess:
    assert isinstance(learned.belief, ProcessBelief)
    outputs = f"{len(center)} coregionalised outputs, {len(learned.rows.place)} targets"
    account = (outputs, *learned.account)
    return learned._replace(belief=OutputsBelief(learned.belief, center), account=account)


def _stack(given: GivenRows, mean: str) -> tuple[GivenRows, Array, MeanEffects]:
    """Return a row for each target that is there, centers of outputs, and their means around these."""
    outputs = given.y.shape[1]
    _require_outputs(given)
    center, means = output_means(mean, given.X, given.y, given.frequency)
    seen = ~np.isnan(given.y).ravel()
    targets = (given.y - center).reshape(-1, 1)[seen]
    frequency, variance = (
        None if one is None else np.repeat(one, outputs)[seen]
        for one in (given.frequency, given.variance)
    )
    return (
        GivenRows(with_codes(given.X, outputs)[seen], targets, frequency, variance, flat=True),
        center,
        means,
    )


def _require_outputs(given: GivenRows) -> None:
    if given.y.shape[1] < 2:
        raise ValueError(
            "outputs='coregionalised' needs y of shape (N, Q) with two or more outputs, got one; use "
            "outputs='shared'"
        )
    empty = np.isnan(given.y).all(axis=0)
    if empty.any():
        raise ValueError(
            f"y has no target in column {int(np.argmax(empty))}; leave that output out"
        )


def _with_outputs(
    kernel: Kernel | None, given: GivenRows, stacked: GivenRows, fixed: bool, rank: int
) -> Kernel:
    """Return a kernel of inputs and codes, begun at what is usual for targets of these sizes."""
    columns, outputs = given.X.shape[1], given.y.shape[1]
    if kernel is not None and any(isinstance(leaf, Coregion) for leaf in kernel._leaves()):
        return kernel
    if fixed:
        raise ValueError(
            "hyperparameters='fixed' with outputs='coregionalised' needs a kernel that says how outputs go "
            f"together, with their code as column {columns}, such as Coregion(variance, loadings).on([{columns}]) "
            f"* RBF().on({list(range(columns))}) + White(variances).on([{columns}]); got {kernel!r}"
        )
    if rank > outputs:
        raise ValueError(f"rank must be at most the number of outputs ({outputs}), got {rank}")
    function = RBF(np.ones(columns)) if kernel is None else noiseless(kernel)
    if function is None:
        raise ValueError(
            f"kernel must have more than noise to share between outputs, got {kernel!r}"
        )
    together = Coregion(np.ones(outputs), _loadings(given.y, rank)).on([columns])
    noise = White(np.ones(outputs)).on([columns])
    whole = together * function.on(range(columns)) + noise
    usual = default_bounds(whole, stacked.X, stacked.y).center
    if kernel is not None:
        own, first = function.log_parameters, len(together.log_parameters)
        usual[first : first + len(own)] = own
    return whole.with_log_parameters(usual)


def _loadings(y: Array, rank: int) -> Array:
    """Return loadings (Q, R) that make some of the correlations of outputs."""
    outputs = y.shape[1]
    centred = y - np.nanmean(y, axis=0)
    scale = np.sqrt(np.nanmean(centred**2, axis=0))
    units = np.nan_to_num(centred / np.where(scale > 0, scale, 1.0))
    both = np.isfinite(y).astype(np.float64)
    values, vectors = np.linalg.eigh(units.T @ units / np.maximum(both.T @ both, 1.0))
    # what is above 1, the variance of each, is shared
    u = vectors * np.sqrt(np.maximum(values - 1.0, 0.0))
    u = u[:, outputs - rank :]
    length = np.linalg.norm(u, axis=1, keepdims=True)
    u = u * np.minimum(1.0, np.sqrt(_MOST_SHARED) / np.maximum(length, _LEAST))
    loadings = u / np.sqrt(1.0 - (u**2).sum(axis=1, keepdims=True))
    return np.where(np.abs(loadings) < _LEAST, np.copysign(_LEAST, loadings), loadings)
