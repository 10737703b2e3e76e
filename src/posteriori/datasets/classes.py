"""Data for classification: points in the plane whose class, the target, is to be learnt."""

from __future__ import annotations

from typing import Any

import numpy as np

from posteriori.datasets.clusters import draw_normals
from posteriori.datasets.dataset import Dataset
from posteriori.datasets.generator_arguments import count, one_number
from posteriori.datasets.generator_docs import generator
from posteriori.numerics.random import as_generator
from posteriori.numerics.types import Array, Seed
from posteriori.numerics.validation import nonnegative, probability

__all__ = [
    "labelled",
    "make_fish",
    "make_fruit",
    "make_masked_classes",
    "make_three_class_unequal",
    "make_two_class_hard",
    "make_xor",
]


@generator
def make_fruit(
    n_samples: int = 250, *, apple_probability: float = 0.7, rng: Seed = None
) -> Dataset:
    """Draw apples and peaches by the roughness and the colour of their skin.

    p(x, C_k) = π_k N(x | μ_k, Σ): the data of the lesson on generative classification, with
    π_apple = 0.7, μ_apple = (1, 1), μ_peach = (1.7, 2.5) and one Σ = [[0.2, 0.1], [0.1, 0.3]] for
    both. The lesson asks for the probability that a new fruit at (2.3, 1.5) is an apple.

    Parameters
    ----------
    n_samples : int
        How many pieces of fruit, N.
    apple_probability : float
        The share of apples, between 0 and 1.

    Returns
    -------
    Dataset
        Columns ``roughness``, ``color`` and ``fruit``, the target: 1 is an apple, 0 a peach.
        ``truth``: ``probabilities`` (2,), ``means`` (2, 2), ``cov`` (2, 2), in the order of the
        classes, and ``new_point`` (2,).

    Examples
    --------
    >>> fruit = make_fruit(rng=0)
    >>> fruit
    Dataset(250 rows; roughness, color -> fruit)
    >>> fruit.classes, fruit.truth["means"].tolist()
    (('peach', 'apple'), [[1.7, 2.5], [1.0, 1.0]])
    """
    return _draw_two_classes(
        one_number("apple_probability", apple_probability, probability),
        np.array([[1.7, 2.5], [1.0, 1.0]]),
        np.array([[0.2, 0.1], [0.1, 0.3]]),
        count("n_samples", n_samples),
        rng,
        "Roughness and colour of apples and peaches.",
        ("roughness", "color", "fruit"),
        ("peach", "apple"),
        new_point=np.array([2.3, 1.5]),
    )


@generator
def make_two_class_hard(n_samples: int = 200, *, rng: Seed = None) -> Dataset:
    """Draw two classes of which one is far from Gaussian, though a straight line parts them well.

    The data of the lesson on discriminative classification. Class 0 (60 %) is N((1, 4), I). Class 1
    (40 %) is half a flat box, 3 ≤ x₁ ≤ 9, 6 ≤ x₂ ≤ 6.5, and half N((5.5, 0), 0.5 I). A generative
    model with one Gaussian per class misplaces the boundary; logistic regression does not. About
    two sets of 200 in five are linearly separable: maximum likelihood then has no finite answer.

    Returns
    -------
    Dataset
        Columns ``x1``, ``x2`` and ``y``, the target. ``truth``: ``probabilities`` of the two
        classes; ``means`` (2, 2) and ``covs`` (2, 2, 2) of their Gaussian parts; ``box_low`` and
        ``box_high`` (2,) and ``box_probability``, the share of the box in class 1; the lesson's
        ``new_point`` (2,).

    Examples
    --------
    >>> hard = make_two_class_hard(rng=0)
    >>> hard, hard.truth["new_point"].tolist()
    (Dataset(200 rows; x1, x2 -> y), [3.75, 1.0])
    """
    means, covs = np.array([[1.0, 4.0], [5.5, 0.0]]), np.stack([np.eye(2), 0.5 * np.eye(2)])
    low, high = np.array([3.0, 6.0]), np.array([9.0, 6.5])
    generator = as_generator(rng)
    labels = (generator.random(count("n_samples", n_samples)) < 0.4).astype(int)
    boxed = (labels == 1) & (generator.random(len(labels)) < 0.5)
    points = np.where(
        boxed[:, None],
        generator.uniform(low, high, (len(labels), 2)),
        draw_normals(generator, labels, means, covs),
    )
    return labelled(
        points,
        labels,
        "Two classes, one of them in two parts that are far from Gaussian together.",
        probabilities=np.array([0.6, 0.4]),
        means=means,
        covs=covs,
        box_low=low,
        box_high=high,
        box_probability=0.5,
        new_point=np.array([3.75, 1.0]),
    )


@generator
def make_xor(n_samples: int = 200, *, noise_variance: float = 0.04, rng: Seed = None) -> Dataset:
    """Draw points about the corners (±1, ±1) of a square; opposite corners are of one class.

    The set that no perceptron learns, until the feature x₁x₂ is added: class 1 is where x₁x₂ < 0.
    Four points without noise are the exclusive or itself.

    Parameters
    ----------
    n_samples : int
        How many points, N; the corners take turns.
    noise_variance : float
        The variance of each coordinate about its corner, not negative.

    Returns
    -------
    Dataset
        Columns ``x1``, ``x2`` and ``y``, the target. ``truth``: ``centers`` (4, 2), ``center_labels``
        (4,), ``noise_variance``.

    Examples
    --------
    >>> make_xor(4, noise_variance=0).data.astype(int).tolist()
    [[-1, -1, 0], [1, 1, 0], [-1, 1, 1], [1, -1, 1]]
    """
    centers = np.array([[-1.0, -1.0], [1.0, 1.0], [-1.0, 1.0], [1.0, -1.0]])
    corner_labels = np.array([0, 0, 1, 1])
    variance = one_number("noise_variance", noise_variance, nonnegative)
    corner = np.arange(count("n_samples", n_samples)) % 4
    noise = np.sqrt(variance) * as_generator(rng).standard_normal((len(corner), 2))
    return labelled(
        centers[corner] + noise,
        corner_labels[corner],
        "Exclusive or: opposite corners of a square are of one class.",
        centers=centers,
        center_labels=corner_labels,
        noise_variance=variance,
    )


@generator
def make_three_class_unequal(n_samples: int = 300, *, rng: Seed = None) -> Dataset:
    """Draw three Gaussian classes, one with a covariance unlike that of the others.

    The picture of the lesson on linear discriminant analysis at its limit: the pooled covariance
    tends to a circle and fits nobody; a quadratic discriminant fits all three.

    Parameters
    ----------
    n_samples : int
        How many points, N; the classes are equally probable.

    Returns
    -------
    Dataset
        Columns ``x1``, ``x2`` and ``y``, the target. ``truth``: ``probabilities`` (3,), ``means``
        (3, 2), ``covs`` (3, 2, 2).

    Examples
    --------
    >>> make_three_class_unequal(rng=0).truth["covs"][[0, 2], 0, 1].tolist()
    [0.8, -0.8]
    """
    means = np.array([[-2.0, 0.0], [2.0, 0.0], [0.0, 2.0]])
    tilt = np.array([[0.0, 1.0], [1.0, 0.0]])
    covs = np.eye(2) + 0.8 * np.array([1.0, 1.0, -1.0])[:, None, None] * tilt
    generator = as_generator(rng)
    labels = generator.integers(3, size=count("n_samples", n_samples))
    return labelled(
        draw_normals(generator, labels, means, covs),
        labels,
        "Three Gaussian classes, one with a covariance unlike that of the others.",
        classes=("0", "1", "2"),
        probabilities=np.full(3, 1 / 3),
        means=means,
        covs=covs,
    )


@generator
def make_masked_classes(
    n_samples: int = 30, *, noise_variance: float = 0.04, rng: Seed = None
) -> Dataset:
    """Draw three classes in a row, at −2, 0 and 2, of which least squares never sees the middle one.

    The lesson on linear classification calls it masking: the linear output for the class in the
    middle is flat, and always below one of the others.

    Parameters
    ----------
    n_samples : int
        How many points, N; the classes take turns.
    noise_variance : float
        The variance within a class, not negative.

    Returns
    -------
    Dataset
        Columns ``x`` and ``y``, the target. ``truth``: ``means`` (3,), ``noise_variance``.

    References
    ----------
    C. M. Bishop (2006), Pattern Recognition and Machine Learning, figure 4.5.

    Examples
    --------
    >>> make_masked_classes(3, noise_variance=0).data.astype(int).tolist()
    [[-2, 0], [0, 1], [2, 2]]
    """
    variance = one_number("noise_variance", noise_variance, nonnegative)
    labels = np.arange(count("n_samples", n_samples)) % 3
    means = np.array([-2.0, 0.0, 2.0])
    x = means[labels] + np.sqrt(variance) * as_generator(rng).standard_normal(len(labels))
    return labelled(
        x[:, None],
        labels,
        "Three classes in a row.",
        ("x", "y"),
        ("left", "middle", "right"),
        means=means,
        noise_variance=variance,
    )


@generator
def make_fish(
    n_samples: int = 200, *, sea_bass_probability: float = 0.5, rng: Seed = None
) -> Dataset:
    """Draw salmon and sea bass by their length and lightness.

    The opening example of the lesson on Bayesian decision theory, which gives mean lengths of about
    11.5 for salmon and 13.5 for sea bass. The rest is made up: sea bass are lighter, and both
    features have unit variance within a class and no correlation.

    Parameters
    ----------
    n_samples : int
        How many fish, N.
    sea_bass_probability : float
        The share of sea bass, between 0 and 1.

    Returns
    -------
    Dataset
        Columns ``length``, ``lightness`` and ``species``, the target: 0 is a salmon, 1 a sea bass.
        ``truth``: ``probabilities`` (2,), ``means`` (2, 2), ``cov`` (2, 2).

    Examples
    --------
    >>> fish = make_fish(rng=0)
    >>> fish.classes, fish.truth["means"][:, 0].tolist()
    (('salmon', 'sea bass'), [11.5, 13.5])
    """
    return _draw_two_classes(
        one_number("sea_bass_probability", sea_bass_probability, probability),
        np.array([[11.5, 4.0], [13.5, 6.0]]),
        np.eye(2),
        count("n_samples", n_samples),
        rng,
        "Length and lightness of salmon and sea bass.",
        ("length", "lightness", "species"),
        ("salmon", "sea bass"),
    )


def labelled(
    points: Array,
    labels: Array,
    description: str,
    names: tuple[str, ...] = ("x1", "x2", "y"),
    classes: tuple[str, ...] = ("0", "1"),
    **truth: Any,
) -> Dataset:
    """Put points (N, D) and their class labels (N,) into one table, the class last."""
    return Dataset(
        np.column_stack([points, labels]),
        names,
        description,
        target=names[-1],
        classes=classes,
        truth=truth,
    )


def _draw_two_classes(
    share: float,
    means: Array,
    cov: Array,
    size: int,
    rng: Seed,
    description: str,
    names: tuple[str, ...],
    classes: tuple[str, str],
    **truth: Any,
) -> Dataset:
    """Draw normal points of two classes with one covariance; ``share`` is that of the second."""
    generator = as_generator(rng)
    labels = (generator.random(size) < share).astype(int)
    return labelled(
        draw_normals(generator, labels, means, np.stack([cov, cov])),
        labels,
        description,
        names,
        classes,
        probabilities=np.array([1 - share, share]),
        means=means,
        cov=cov,
        **truth,
    )
