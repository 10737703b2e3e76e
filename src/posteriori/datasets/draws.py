"""Draws of one quantity: tosses, throws, a noisy constant, a correlated pair, mixed sources."""

from __future__ import annotations

from typing import Any

import numpy as np

from posteriori.datasets.clusters import draw_normals
from posteriori.datasets.dataset import Dataset
from posteriori.datasets.generator_arguments import count, one_number, vector
from posteriori.datasets.generator_docs import generator
from posteriori.numerics.random import as_generator
from posteriori.numerics.rank import is_invertible
from posteriori.numerics.types import Seed
from posteriori.numerics.validation import (
    nonnegative,
    probability as in_unit_interval,
    probability_vector,
    real,
)

__all__ = [
    "make_coin_flips",
    "make_constant_signal",
    "make_correlated_pair",
    "make_die_rolls",
    "make_mixed_sources",
]

# Jaynes' die: of all dice with mean 4.5 the one of largest entropy, p_k ∝ exp(λ k).
_JAYNES_DIE = np.exp(0.371048938 * np.arange(1, 7))
_JAYNES_DIE /= _JAYNES_DIE.sum()


@generator
def make_coin_flips(n_samples: int = 192, *, probability: float = 0.4, rng: Seed = None) -> Dataset:
    """Toss a coin: x ~ Bernoulli(probability).

    The lesson on Bayesian machine learning tosses a coin with P(head) = 0.4 192 times and watches
    the posteriors of two priors approach each other.

    Parameters
    ----------
    n_samples : int
        How many tosses, N.
    probability : float
        The probability of a head, between 0 and 1.

    Returns
    -------
    Dataset
        One column, ``head``: 1 for a head, 0 for a tail, in the order of the tosses. ``truth``:
        ``probability``.

    Examples
    --------
    >>> coin = make_coin_flips(rng=0)
    >>> len(coin), sorted(set(coin["head"].tolist()))
    (192, [0.0, 1.0])
    """
    p = one_number("probability", probability, in_unit_interval)
    heads = as_generator(rng).random(count("n_samples", n_samples)) < p
    return Dataset(
        heads[:, None],
        ("head",),
        f"Tosses of a coin with P(head) = {p:g}.",
        truth={"probability": p},
    )


@generator
def make_die_rolls(n_samples: int = 100, *, probabilities: Any = None, rng: Seed = None) -> Dataset:
    """Throw a loaded die.

    The lesson on discrete data infers the probabilities of such a die. By default it is the one of
    the lesson on maximum entropy: all that is known of it is a mean of 4.5.

    Parameters
    ----------
    n_samples : int
        How many throws, N.
    probabilities : sequence of float, length K, optional
        The probability of the faces 1, …, K.

    Returns
    -------
    Dataset
        One column, ``face``: a whole number from 1 to K. ``truth``: ``probabilities``.

    References
    ----------
    E. T. Jaynes (2003), Probability Theory: The Logic of Science, section 9.7.

    Examples
    --------
    >>> make_die_rolls(rng=0).truth["probabilities"].round(5).tolist()
    [0.05435, 0.07877, 0.11416, 0.16545, 0.23977, 0.34749]
    """
    given = _JAYNES_DIE if probabilities is None else probabilities
    p = vector("probabilities", given, probability_vector)
    faces = 1 + as_generator(rng).choice(len(p), count("n_samples", n_samples), p=p)
    return Dataset(
        faces[:, None],
        ("face",),
        f"Throws of a loaded die with {len(p)} faces.",
        truth={"probabilities": p},
    )


@generator
def make_constant_signal(
    n_samples: int = 50,
    *,
    value: float = 2.0,
    noise_variance: float = 0.25,
    rng: Seed = None,
) -> Dataset:
    """Measure a constant again and again: x_t = value + ε_t.

    The lesson on the Gaussian distribution follows the constant 2 through fifty measurements with
    noise of variance 0.25, by recursive Bayesian estimation.

    Parameters
    ----------
    n_samples : int
        How many measurements, N.
    value : float
        The constant.

    Returns
    -------
    Dataset
        One column, ``x``; the index ``t`` counts from 1. ``truth``: ``value``, ``noise_variance``.

    Examples
    --------
    >>> make_constant_signal(rng=0)
    Dataset(50 rows; x by t)
    """
    constant = one_number("value", value)
    variance = one_number("noise_variance", noise_variance, nonnegative)
    size = count("n_samples", n_samples)
    x = constant + np.sqrt(variance) * as_generator(rng).standard_normal(size)
    return Dataset(
        x[:, None],
        ("x",),
        f"Measurements of the constant {constant:g}, with noise.",
        np.arange(1, size + 1),
        "t",
        truth={"value": constant, "noise_variance": variance},
    )


@generator
def make_correlated_pair(n_samples: int = 100, *, rng: Seed = None) -> Dataset:
    """Draw from the two-dimensional normal distribution of the lesson on Gaussians.

    The mean is (0, 1), the covariance [[0.8, 0.5], [0.5, 1]]. The question of the lesson: what is
    the probability that the next point lies in the rectangle 0 ≤ a ≤ 2, 1 ≤ b ≤ 2?

    Returns
    -------
    Dataset
        Columns ``a`` and ``b``. ``truth``: ``mean`` (2,), ``cov`` (2, 2), and the corners
        ``rectangle_low`` and ``rectangle_high`` (2,).

    Examples
    --------
    >>> pair = make_correlated_pair(rng=0)
    >>> pair, pair.truth["cov"].tolist()
    (Dataset(100 rows; a, b), [[0.8, 0.5], [0.5, 1.0]])
    """
    mean, cov = np.array([0.0, 1.0]), np.array([[0.8, 0.5], [0.5, 1.0]])
    labels = np.zeros(count("n_samples", n_samples), dtype=int)
    return Dataset(
        draw_normals(as_generator(rng), labels, mean[None], cov[None]),
        ("a", "b"),
        "Draws from a normal distribution in the plane.",
        truth={
            "mean": mean,
            "cov": cov,
            "rectangle_low": np.array([0.0, 1.0]),
            "rectangle_high": np.array([2.0, 2.0]),
        },
    )


@generator
def make_mixed_sources(
    n_samples: int = 5000,
    *,
    mixing: Any = ((1.0, 0.5), (0.3, 1.0)),
    rng: Seed = None,
) -> Dataset:
    """Record independent sources with sensors that hear all of them: x = A s, s_k ~ Laplace(0, 1).

    Two sources and two sensors, as in the lesson on independent component analysis.

    Parameters
    ----------
    n_samples : int
        How many points in time, N.
    mixing : array_like, shape (D, D)
        The matrix A, invertible.

    Returns
    -------
    Dataset
        Columns ``x1``, …, ``xD``: the sensors. ``truth``: ``mixing`` and ``sources`` (N, D).

    Examples
    --------
    >>> import numpy as np
    >>> heard = make_mixed_sources(rng=0)
    >>> s = heard.truth["sources"]
    >>> bool(np.allclose(np.linalg.solve(heard.truth["mixing"], heard.X.T).T, s))
    True
    """
    a = real("mixing", mixing)
    if np.ndim(a) != 2 or not is_invertible(a):
        raise ValueError(f"mixing must be an invertible square matrix, got {a.tolist()}")
    sources = as_generator(rng).laplace(size=(count("n_samples", n_samples), len(a)))
    return Dataset(
        sources @ a.T,
        tuple(f"x{k + 1}" for k in range(len(a))),
        f"{len(a)} independent sources, as {len(a)} sensors hear them.",
        truth={"mixing": a, "sources": sources},
    )
