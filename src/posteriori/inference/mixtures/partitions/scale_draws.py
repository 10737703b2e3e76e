r"""Partitions drawn together with the scale of their clusters.

How wide clusters are is learned from all of them, and how alike. Their precisions have the prior of the model,
measured by a number of each normal column that they share, small ones as probable as others,

.. math:: \Lambda_k \sim W(\nu, \operatorname{diag}(\varphi)^{-1}), \qquad p(\varphi_d) = e^{-\varphi_d/w}/w.

A chain moves the partition a few sweeps under some :math:`\varphi`, and then draws it given the c clusters,

.. math:: \Lambda_k\mid z, X, \varphi \sim W(\nu+n_k, \Psi_k^{-1}), \qquad
   \varphi_d\mid\Lambda \sim \Gamma\Bigl(1+\tfrac{c\nu}2,\ \tfrac1w + \tfrac12\textstyle\sum_k\Lambda_{k,dd}\Bigr).

:math:`\varphi` is in units of the scale that the model was made with, 1 for the same; what is not normal has none.
Of rivals with several ν, as probable before, one is drawn then: :math:`p(\nu\mid z, X, \varphi) \propto
p(X\mid z, \varphi, \nu)`.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from typing import Any, NamedTuple

import numpy as np

from posteriori.distributions.vectors.wishart import bartlett_roots
from posteriori.inference.mixtures.partitions.chain_kernels import PartitionChain
from posteriori.inference.mixtures.partitions.cluster_kernels import (
    CONSTANT,
    FEATURE,
    KIND,
    NORMAL,
    STATE,
    WIDTH,
    ClusterModel,
    log_marginals_alone,
)
from posteriori.inference.mixtures.partitions.conjugate_clusters import log_marginal
from posteriori.inference.mixtures.partitions.gibbs_kernels import run_sweeps
from posteriori.inference.mixtures.partitions.partition_draws import begin_chain
from posteriori.inference.mixtures.partitions.partition_prior import PartitionPrior
from posteriori.numerics.compilation import as_kernel_input
from posteriori.numerics.lazy import special
from posteriori.numerics.linalg import triangular_inverse
from posteriori.numerics.logspace import softmax
from posteriori.numerics.threads import run_beside, thread_count
from posteriori.numerics.types import Array, IntArray

__all__ = ["ScaleChain", "ScaleDraws", "draw_with_scales", "log_scale_gain", "scaled_model"]

#: Sweeps between two draws.
_SWEEPS = 2

#: Scales that chains begin with, one of these each.
_FIRST = (1.0, 0.3)


class ScaleDraws(NamedTuple):
    """Partitions (S, N), chain after chain, with the scales (S, D) of normal columns and the rival (S,) of each."""

    labels: Any
    scales: Array
    rivals: IntArray


class ScaleChain(NamedTuple):
    """What a chain walks over, and how long.

    Attributes
    ----------
    prior : PartitionPrior
    width : float
        w, which scales are expected to be.
    draws, warm_up : int
        A draw is a few sweeps.
    """

    prior: PartitionPrior
    width: float
    draws: int
    warm_up: int


def draw_with_scales(
    models: Sequence[Sequence[ClusterModel]], chain: ScaleChain, *, rng: np.random.Generator
) -> ScaleDraws:
    """Draw partitions and scales.

    Parameters
    ----------
    models : sequence of C sequences of ClusterModel
        The rivals of each chain, which differ in their degrees of freedom; chains may see gaps filled in
        differently. Normal parts have equally many columns.
    chain : ScaleChain
        The same for all.
    rng : Generator
        Gives each chain a stream of its own.
    """
    chains = len(models)
    threads = min(chains, thread_count())
    with ThreadPoolExecutor(threads) if threads > 1 else nullcontext() as pool:
        streams = rng.spawn(chains)
        jobs = [(rivals, chain, stream) for rivals, stream in zip(models, streams, strict=True)]
        found = run_beside(_run_chain, jobs, pool)
    return ScaleDraws(*(np.concatenate(each) for each in zip(*found, strict=True)))


def scaled_model(model: ClusterModel, scales: Array) -> ClusterModel:
    """Return the model whose normal columns have these scales (D,), in units of its own."""
    columns = _normal_columns(model).ravel()
    if not len(columns):
        return model
    features = model.features.copy()
    features[:, columns] /= np.sqrt(scales)
    seen = (~np.isnan(features[:, columns])).sum(axis=0)
    return model._replace(
        features=as_kernel_input(features),
        log_carrier=model.log_carrier - 0.5 * float(seen @ np.log(scales)),
    )


def log_scale_gain(scales: Array, dof: Any, precisions: Array, width: float) -> float:
    r"""Return what makes a variational bound of ln p(X | φ) one of ln p(X).

    With :math:`E[\Lambda_k]` of the beliefs about K clusters, and a belief about φ beside them, the bound gains

    .. math:: \sum_d \ln\int p(\varphi)\,\varphi^{K\nu/2}e^{-\varphi T_d/2}\,d\varphi
       - \tfrac{K\nu}2\ln\varphi_d + \tfrac12\varphi_d T_d, \qquad T_d = \sum_k E[\Lambda_{k,dd}].

    Parameters
    ----------
    scales : (D,)
        φ that the beliefs were found with.
    dof : float or (D,)
        ν, of the prior of precisions.
    precisions : (K, D)
        E[Λ_dd], in units in which φ = 1 is the scale of the model.
    width : float
        w
    """
    half, total = 0.5 * len(precisions) * np.asarray(dof), 0.5 * precisions.sum(axis=0)
    terms = special.gammaln(1.0 + half) - (1.0 + half) * np.log(1.0 / width + total)
    return float((terms - np.log(width) - half * np.log(scales) + scales * total).sum())


def _run_chain(
    rivals: Sequence[ClusterModel], walk: ScaleChain, rng: np.random.Generator
) -> ScaleDraws:
    prior, width, draws, warm_up = walk
    rows, columns = len(rivals[0].features), _normal_columns(rivals[0]).size
    scales, at = np.full(columns, rng.choice(_FIRST)), int(rng.integers(len(rivals)))
    model = scaled_model(rivals[at], scales)
    chain = begin_chain(model, prior, rng)
    kept = ScaleDraws(
        np.empty((draws, rows), dtype=np.int32),
        np.empty((draws, columns)),
        np.empty(draws, dtype=np.int64),
    )
    swept, trace = np.empty((_SWEEPS, rows), dtype=np.int32), np.empty((_SWEEPS, 2))
    for step in range(-warm_up, draws):
        run_sweeps(model, prior, chain, swept, trace)
        if step >= 0:
            kept.labels[step], kept.scales[step], kept.rivals[step] = swept[-1], scales, at
        if columns:  # statistics are added up anew before each sweep
            scales = _draw_scales(model, chain, scales, width, rng)
            models = [scaled_model(rival, scales) for rival in rivals]
            at = _draw_rival(models, chain.labels, rng)
            model = models[at]
            log_marginals_alone(model, chain.states, chain.room, chain.alone)
    return kept


def _draw_rival(models: Sequence[ClusterModel], labels: Any, rng: np.random.Generator) -> int:
    """Draw one of the models given a partition (N,)."""
    order = np.argsort(labels, kind="stable")
    members = np.split(order, np.flatnonzero(np.diff(labels[order])) + 1)
    logs = [m.log_carrier + sum(log_marginal(m, rows) for rows in members) for m in models]
    return int(rng.choice(len(models), p=softmax(np.array(logs))))


def _draw_scales(
    model: ClusterModel,
    chain: PartitionChain,
    scales: Array,
    width: float,
    rng: np.random.Generator,
) -> Array:
    """Draw the precisions of clusters, and the scales given these."""
    parts, clusters = _normal_parts(model), chain.states[chain.active[: chain.n[0]]]
    first, size = parts[:, STATE], int(parts[0, WIDTH])
    rows, columns = np.tril_indices(size)
    roots = np.zeros((len(clusters), len(parts), size, size))  # of Ψ_k
    roots[..., rows, columns] = clusters[:, first[:, None] + 2 + size + np.arange(len(rows))]
    dof = model.constants[parts[:, CONSTANT] + 1]
    noise = bartlett_roots(dof + clusters[:, first], size, rng)
    drawn = np.swapaxes(triangular_inverse(roots), -1, -2) @ noise  # Λ is its square
    precisions = (drawn**2).sum(axis=(0, -1)).ravel() / scales
    shape = 1.0 + 0.5 * len(clusters) * np.repeat(dof, size)
    return rng.standard_gamma(shape) / (1.0 / width + 0.5 * precisions)


def _normal_columns(model: ClusterModel) -> IntArray:
    """Return which features are normal, (P, W)."""
    parts = _normal_parts(model)
    return parts[:, FEATURE, None] + np.arange(parts[0, WIDTH] if len(parts) else 1)


def _normal_parts(model: ClusterModel) -> IntArray:
    return model.parts[model.parts[:, KIND] == NORMAL]
