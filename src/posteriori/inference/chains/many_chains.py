"""One series under many linear-Gaussian chains, which differ in their numbers.

Unknown spreads and coefficients of a chain are tried out at many values. Shapes are checked and
square roots taken of all at once; what is left for each chain is its pass over time.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from posteriori.inference.chains.chain_arguments import ChainArrays, check_chain, check_series
from posteriori.inference.chains.chain_passes import filter_series, smooth
from posteriori.inference.chains.linear_gaussian_chain import ChainPosterior, LinearGaussianChain
from posteriori.inference.chains.semidefinite import factor_semidefinite
from posteriori.numerics.compilation import as_kernel_input
from posteriori.numerics.types import Array
from posteriori.numerics.validation import real

__all__ = ["check_chains", "evidence_of_chains", "pick_chain", "smooth_chains"]


def evidence_of_chains(chains: LinearGaussianChain, y: ArrayLike) -> Array:
    """Return ln p(y) under each of K chains; −inf where y has no density.

    Parameters
    ----------
    chains : LinearGaussianChain
        With a leading axis in every field, of length K or 1, ahead of that of time: matrices
        (K, L, D, D), offsets (K, L, D), of the first state (K, D) and (K, D, D).
    y : array (T, P)
        One series; NaN marks missing entries.

    Examples
    --------
    >>> one = np.ones((1, 1, 1, 1))
    >>> level = LinearGaussianChain(
    ...     np.zeros((1, 1)), one[0], one, np.zeros((1, 1, 1)), one, one, np.zeros((1, 1, 1)), one
    ... )
    >>> two = level._replace(transition_cov=np.array([0.0, 1.0]).reshape(2, 1, 1, 1))
    >>> evidence_of_chains(two, [1.0, 1.0])  # covariances of y: 2 and 2, or 2 and 3, beside 1
    array([-2.72051654, -2.94259602])
    """
    arrays, series = _checked(chains, y)
    found = np.full(_count(arrays), -np.inf)
    for k in range(len(found)):
        try:
            found[k] = filter_series(_one(arrays, k), series).log_predictive.sum()
        except ValueError:
            continue
    return found


def smooth_chains(chains: LinearGaussianChain, y: ArrayLike) -> ChainPosterior:
    """Return p(s_t | y) under each of K chains, (K, T, D), and the evidences.

    Parameters are those of :func:`evidence_of_chains`.
    """
    arrays, series = _checked(chains, y)
    count, size, n_steps = _count(arrays), arrays.initial_mean.shape[-1], series.shape[1]
    means, covs = np.empty((count, n_steps, size)), np.empty((count, n_steps, size, size))
    evidences = np.empty(count)
    for k in range(count):
        chain = _one(arrays, k)
        part = filter_series(chain, series)
        evidences[k] = part.log_predictive.sum()
        mean, covs[k], _ = smooth(chain, part, False)
        means[k] = mean[0]
    return ChainPosterior(means, covs, None, evidences)


def pick_chain(chains: LinearGaussianChain, k: int) -> LinearGaussianChain:
    """Return one of many chains."""
    return LinearGaussianChain(*(a[k if len(a) > 1 else 0] for a in map(np.asarray, chains)))


def check_chains(chains: LinearGaussianChain, n_steps: int) -> ChainArrays:
    """Check the shapes of the first chain, and the covariances of all."""
    check_chain(pick_chain(chains, 0), n_steps)
    fields = [np.asarray(real(n, a)) for n, a in zip(chains._fields, chains, strict=True)]
    if n_steps > 1:  # entry t of T leads to step t: nothing leads to the first
        fields[2:5] = [a[:, 1:] if a.shape[1] == n_steps else a for a in fields[2:5]]
    fields[1] = factor_semidefinite("initial_cov", fields[1])
    fields[4] = _roots("transition_cov", fields[4])
    _roots("emission_cov", fields[7])
    return ChainArrays(*map(as_kernel_input, fields))


def _checked(chains: LinearGaussianChain, y: ArrayLike) -> tuple[ChainArrays, Array]:
    series = check_series(y, np.shape(chains.emission)[-2]).values
    if len(series) != 1:
        raise ValueError(f"y must be one series (T, P), got shape {np.shape(y)}")
    return check_chains(chains, series.shape[1]), series


def _roots(name: str, cov: Array) -> Array:
    return factor_semidefinite(name, cov.reshape(-1, *cov.shape[2:])).reshape(cov.shape)


def _count(arrays: ChainArrays) -> int:
    return max(map(len, arrays))


def _one(arrays: ChainArrays, k: int) -> ChainArrays:
    return ChainArrays(*(a[k if len(a) > 1 else 0] for a in arrays))
