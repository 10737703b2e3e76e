"""Data for clustering and density estimation: mixtures in the plane, whose labels are the target.

A learner is given ``X`` alone; ``y``, the component that each point came from, is there to judge
what it found.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from posteriori.datasets.dataset import Dataset
from posteriori.datasets.generator_arguments import count, one_number, vector
from posteriori.datasets.generator_docs import generator
from posteriori.numerics.random import as_generator
from posteriori.numerics.types import Array, Seed
from posteriori.numerics.validation import nonnegative, positive_vector

__all__ = [
    "draw_normals",
    "make_blobs_unequal",
    "make_elongated",
    "make_mouse",
    "make_rings",
]


@generator
def make_blobs_unequal(n_samples: int = 300, *, rng: Seed = None) -> Dataset:
    """Draw three round clusters of unequal weight and unequal width.

    What the lessons on clustering say of K-means: it wants clusters of the same size and spread. A
    Gaussian mixture does not mind.

    Returns
    -------
    Dataset
        Columns ``x1``, ``x2`` and ``cluster``, the target. ``truth``: ``probabilities`` (3,),
        ``means`` (3, 2), ``covs`` (3, 2, 2).

    Examples
    --------
    >>> blobs = make_blobs_unequal(rng=0)
    >>> blobs, blobs.truth["probabilities"].tolist()
    (Dataset(300 rows; x1, x2 -> cluster), [0.6, 0.3, 0.1])
    """
    widths = np.array([1.5, 0.5, 0.25])
    return _draw_mixture(
        [0.6, 0.3, 0.1],
        [[0.0, 0.0], [4.0, 3.0], [-2.0, 4.0]],
        widths[:, None, None] ** 2 * np.eye(2),
        n_samples,
        rng,
        "Three round clusters of unequal weight and width.",
    )


@generator
def make_elongated(n_samples: int = 200, *, rng: Seed = None) -> Dataset:
    """Draw two long, thin, parallel clusters, which K-means cuts across instead of apart.

    Returns
    -------
    Dataset
        Columns ``x1``, ``x2`` and ``cluster``, the target. ``truth``: ``probabilities`` (2,),
        ``means`` (2, 2), ``covs`` (2, 2, 2).

    Examples
    --------
    >>> make_elongated(rng=0).truth["covs"][0].tolist()
    [[9.0, 0.0], [0.0, 0.1]]
    """
    return _draw_mixture(
        [0.5, 0.5],
        [[-2.0, -1.0], [2.0, 1.0]],
        np.tile(np.diag([9.0, 0.1]), (2, 1, 1)),
        n_samples,
        rng,
        "Two long, thin, parallel clusters.",
    )


@generator
def make_mouse(n_samples: int = 500, *, rng: Seed = None) -> Dataset:
    """Draw the face of a mouse: a big disc, the head, and two small ones, the ears.

    The set on which the lesson on clustering compares K-means with the Gaussian mixture. Inside a
    disc the points are equally dense everywhere; the head has 60 % of them, each ear 20 %.

    Returns
    -------
    Dataset
        Columns ``x1``, ``x2`` and ``part``, the target. ``truth``: ``centers`` (3, 2), ``radii``
        (3,), ``probabilities`` (3,).

    Examples
    --------
    >>> mouse = make_mouse(rng=0)
    >>> mouse.classes, mouse.truth["radii"].tolist()
    (('head', 'left ear', 'right ear'), [1.0, 0.3, 0.3])
    """
    centers = np.array([[0.0, 0.0], [-1.0, 1.1], [1.0, 1.1]])
    radii = np.array([1.0, 0.3, 0.3])
    probabilities = np.array([0.6, 0.2, 0.2])
    generator = as_generator(rng)
    labels = generator.choice(3, count("n_samples", n_samples), p=probabilities)
    # The share of a disc inside radius r is r²: the square root of a uniform number undoes it.
    distance = radii[labels] * np.sqrt(generator.random(len(labels)))
    points = centers[labels] + distance[:, None] * _draw_directions(generator, len(labels))
    return Dataset(
        np.column_stack([points, labels]),
        ("x1", "x2", "part"),
        "A big disc and two small ones: the face of a mouse.",
        target="part",
        classes=("head", "left ear", "right ear"),
        truth={"centers": centers, "radii": radii, "probabilities": probabilities},
    )


@generator
def make_rings(
    n_samples: int = 300,
    *,
    radii: Any = (1.0, 3.0),
    noise_variance: float = 0.04,
    rng: Seed = None,
) -> Dataset:
    """Draw points on rings about the origin, which no straight line separates.

    The lessons on kernels take the rings apart with a Gaussian kernel, where linear principal
    components and K-means cannot.

    Parameters
    ----------
    n_samples : int
        How many points, N; each ring is equally probable.
    radii : sequence of float
        The radius of each ring, positive.
    noise_variance : float
        The variance of the distance from the origin, not negative.

    Returns
    -------
    Dataset
        Columns ``x1``, ``x2`` and ``ring``, the target. ``truth``: ``radii``, ``noise_variance``.

    Examples
    --------
    >>> import numpy as np
    >>> rings = make_rings(noise_variance=0, rng=0)
    >>> np.unique(np.hypot(*rings.X.T).round(12)).tolist()
    [1.0, 3.0]
    """
    rings = vector("radii", radii, positive_vector)
    variance = one_number("noise_variance", noise_variance, nonnegative)
    generator = as_generator(rng)
    labels = generator.integers(len(rings), size=count("n_samples", n_samples))
    distance = rings[labels] + np.sqrt(variance) * generator.standard_normal(len(labels))
    points = distance[:, None] * _draw_directions(generator, len(labels))
    return Dataset(
        np.column_stack([points, labels]),
        ("x1", "x2", "ring"),
        f"{len(rings)} rings about the origin.",
        target="ring",
        classes=tuple(f"ring {k}" for k in range(len(rings))),
        truth={"radii": rings, "noise_variance": variance},
    )


def draw_normals(generator: np.random.Generator, labels: Array, means: Array, covs: Array) -> Array:
    """Draw one point per label from the normal distribution of that label.

    Parameters
    ----------
    generator : Generator
        The source of randomness.
    labels : ndarray of int, shape (N,)
        The component of each point.
    means : ndarray, shape (K, D)
    covs : ndarray, shape (K, D, D)

    Returns
    -------
    ndarray, shape (N, D)
    """
    factors = np.linalg.cholesky(covs)
    noise = generator.standard_normal((len(labels), means.shape[1]))
    return means[labels] + np.einsum("nij,nj->ni", factors[labels], noise)


def _draw_mixture(
    probabilities: Any, means: Any, covs: Array, n_samples: int, rng: Seed, description: str
) -> Dataset:
    weights, centers = np.asarray(probabilities), np.asarray(means)
    generator = as_generator(rng)
    labels = generator.choice(len(weights), count("n_samples", n_samples), p=weights)
    return Dataset(
        np.column_stack([draw_normals(generator, labels, centers, covs), labels]),
        ("x1", "x2", "cluster"),
        description,
        target="cluster",
        classes=tuple(f"cluster {k}" for k in range(len(weights))),
        truth={"probabilities": weights, "means": centers, "covs": covs},
    )


def _draw_directions(generator: np.random.Generator, size: int) -> Array:
    angle = generator.uniform(0.0, 2 * np.pi, size)
    return np.column_stack([np.cos(angle), np.sin(angle)])
