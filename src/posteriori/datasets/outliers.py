"""Data with points that do not belong: far out, too close, or of the wrong class.

What the lessons say of methods that are not robust can be seen on them. The masks in ``truth`` tell
which points were spoilt.
"""

from __future__ import annotations

import numpy as np

from posteriori.datasets.classes import labelled
from posteriori.datasets.clusters import draw_normals
from posteriori.datasets.dataset import Dataset
from posteriori.datasets.generator_arguments import count, one_number
from posteriori.datasets.generator_docs import generator
from posteriori.datasets.noisy_curves import make_noisy_line
from posteriori.numerics.random import as_generator
from posteriori.numerics.types import Seed
from posteriori.numerics.validation import positive

__all__ = [
    "make_contaminated_normal",
    "make_line_with_outliers",
    "make_separable",
    "make_two_class_outliers",
]


@generator
def make_contaminated_normal(
    n_samples: int = 30,
    *,
    n_outliers: int = 3,
    mean: float = 0.0,
    variance: float = 1.0,
    shift: float = 8.0,
    rng: Seed = None,
) -> Dataset:
    """Draw from a normal distribution, and a few points far to the right of it.

    The lesson on Student's t: its maximum-likelihood fit stays with the bulk, the normal one is
    dragged along and grows wide.

    Parameters
    ----------
    n_samples : int
        How many points of the bulk.
    n_outliers : int
        How many more, as the last rows, are moved by ``shift``.
    mean, variance : float
        The distribution of the bulk.
    shift : float
        How far the outliers lie from the bulk.

    Returns
    -------
    Dataset
        One column, ``x``. ``truth``: ``mean``, ``variance``, ``shift`` and the mask ``outlier``.

    References
    ----------
    C. M. Bishop (2006), Pattern Recognition and Machine Learning, figure 2.16.

    Examples
    --------
    >>> data = make_contaminated_normal(rng=0)
    >>> len(data), int(data.truth["outlier"].sum())
    (33, 3)
    """
    regular, extra = count("n_samples", n_samples), count("n_outliers", n_outliers, least=0)
    truth = {
        "mean": one_number("mean", mean),
        "variance": one_number("variance", variance, positive),
        "shift": one_number("shift", shift),
    }
    outlier = np.arange(regular + extra) >= regular
    noise = as_generator(rng).standard_normal(regular + extra)
    x = truth["mean"] + np.sqrt(truth["variance"]) * noise + truth["shift"] * outlier
    return Dataset(
        x[:, None],
        ("x",),
        "Normal data, and outliers to the right of them.",
        truth={**truth, "outlier": outlier},
    )


@generator
def make_line_with_outliers(
    n_samples: int = 30,
    *,
    n_outliers: int = 3,
    shift: float = 3.0,
    intercept: float = -0.3,
    slope: float = 0.5,
    noise_variance: float = 0.04,
    low: float = -1.0,
    high: float = 1.0,
    rng: Seed = None,
) -> Dataset:
    """Draw points near a line, and some far above it that least squares runs after.

    Parameters
    ----------
    n_samples : int
        How many points near the line.
    n_outliers : int
        How many more, as the last rows, are lifted by ``shift``.
    shift : float
        The distance of the outliers from where they belong.

    Returns
    -------
    Dataset
        Columns ``x`` and ``y``, the target. ``truth``: ``weights``, ``mean``, ``noise_variance``,
        ``shift`` and the mask ``outlier``.

    Examples
    --------
    >>> line = make_line_with_outliers(rng=0)
    >>> len(line), int(line.truth["outlier"].sum())
    (33, 3)
    """
    regular, extra = count("n_samples", n_samples), count("n_outliers", n_outliers, least=0)
    line = make_noisy_line(
        regular + extra,
        intercept=intercept,
        slope=slope,
        noise_variance=noise_variance,
        low=low,
        high=high,
        rng=rng,
    )
    outlier = np.arange(regular + extra) >= regular
    lift = one_number("shift", shift)
    return Dataset(
        line.data + np.outer(outlier, [0.0, lift]),
        line.names,
        f"{line.description[:-1]}, and outliers that are off by {lift:g}.",
        target="y",
        truth={**line.truth, "outlier": outlier, "shift": lift},
    )


@generator
def make_separable(
    n_samples: int = 40,
    *,
    margin: float = 1.0,
    n_outliers: int = 0,
    n_mislabelled: int = 0,
    rng: Seed = None,
) -> Dataset:
    """Draw two classes on the two sides of a line, clean or spoilt.

    The three pictures of the lesson on noise and hard margins: reliable data; an outlier, correctly
    labelled and close to the line; a mislabelled point. The points keep at least ``margin`` from
    the line wᵀx = 0 with w = (1, 1)/√2.

    Parameters
    ----------
    n_samples : int
        How many points; the classes take turns.
    margin : float
        The least distance from the line, positive.
    n_outliers : int
        How many more points, as the last rows, lie at a tenth of the margin on their own side.
    n_mislabelled : int
        How many of the ``n_samples`` points have the label of the other class.

    Returns
    -------
    Dataset
        Columns ``x1``, ``x2`` and ``y``, the target; 1 is where wᵀx > 0. ``truth``: ``weights``
        (2,), ``margin`` and the masks ``outlier`` and ``mislabelled`` (N,).

    Examples
    --------
    >>> clean = make_separable(rng=0)
    >>> signed = (2 * clean.y - 1) * (clean.X @ clean.truth["weights"])
    >>> bool(signed.min() >= 1.0)
    True
    """
    regular, extra = count("n_samples", n_samples), count("n_outliers", n_outliers, least=0)
    wrong = count("n_mislabelled", n_mislabelled, least=0)
    if wrong > regular:
        raise ValueError(f"n_mislabelled must not exceed n_samples={regular}, got {wrong}")
    gap = one_number("margin", margin, positive)
    generator = as_generator(rng)
    labels = np.arange(regular + extra) % 2
    outlier = np.arange(regular + extra) >= regular
    depth = np.where(outlier, gap / 10, gap + np.abs(generator.standard_normal(len(labels))))
    along = 2.0 * generator.standard_normal(len(labels))
    weights = np.array([1.0, 1.0]) / np.sqrt(2.0)
    points = np.outer((2 * labels - 1) * depth, weights) + np.outer(along, weights * [1, -1])
    mislabelled = np.zeros(len(labels), dtype=bool)
    mislabelled[generator.choice(regular, wrong, replace=False)] = True
    return labelled(
        points,
        np.where(mislabelled, 1 - labels, labels),
        "Two classes on the two sides of a line.",
        weights=weights,
        margin=gap,
        outlier=outlier,
        mislabelled=mislabelled,
    )


@generator
def make_two_class_outliers(
    n_samples: int = 100, *, n_outliers: int = 10, rng: Seed = None
) -> Dataset:
    """Draw two Gaussian classes, and points of one class far out on its own side.

    The outliers are easy to classify, yet they turn the boundary of a least-squares classifier,
    which punishes answers that are too right; logistic regression does not mind them.

    Parameters
    ----------
    n_samples : int
        How many points of the two classes; they take turns.
    n_outliers : int
        How many more of class 1, as the last rows, lie far out.

    Returns
    -------
    Dataset
        Columns ``x1``, ``x2`` and ``y``, the target. ``truth``: ``means`` (3, 2) of class 0, class
        1 and the outliers, ``cov`` (2, 2) of each, and the mask ``outlier``.

    References
    ----------
    C. M. Bishop (2006), Pattern Recognition and Machine Learning, figure 4.4.

    Examples
    --------
    >>> data = make_two_class_outliers(rng=0)
    >>> len(data), data.y[-3:].tolist()
    (110, [1, 1, 1])
    """
    regular, extra = count("n_samples", n_samples), count("n_outliers", n_outliers, least=0)
    means = np.array([[-1.0, 1.0], [1.0, -1.0], [12.0, -6.0]])
    cov = np.array([[0.6, 0.4], [0.4, 0.6]])
    group = np.concatenate([np.arange(regular) % 2, np.full(extra, 2)])
    return labelled(
        draw_normals(as_generator(rng), group, means, np.stack([cov] * 3)),
        np.minimum(group, 1),
        "Two Gaussian classes, and outliers of one of them on its own side.",
        means=means,
        cov=cov,
        outlier=group == 2,
    )
