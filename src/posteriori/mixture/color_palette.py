"""Images in a few colours: pixels are points, clusters are colours, places do not matter."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from posteriori.mixture.means_and_medians import KMeans
from posteriori.numerics.types import Array, IntArray, Seed

__all__ = ["QuantizedColors", "quantize_colors"]


class QuantizedColors(NamedTuple):
    """An image in k colours.

    Attributes
    ----------
    image : (H, W, C)
        As the original, with every pixel in the colour of its cluster.
    palette : (k, C)
        The colours, most frequent first; fewer where the image has fewer.
    codes : (H, W)
        Which colour each pixel has.
    inertia : float
        Sum of squared differences between image and original.
    compression_ratio : float
        Bits of the original by bits of codes and palette.
    """

    image: Any
    palette: Any
    codes: IntArray
    inertia: float
    compression_ratio: float


def quantize_colors(image: Any, k: int, *, rng: Seed = None) -> QuantizedColors:
    """Replace the colours of an image by k of them, the means of clusters of its pixels.

    Parameters
    ----------
    image : array_like (H, W, C), or (H, W) for one channel
        Whole numbers of 8 or 16 bits, or floating-point numbers.
    k : int
        Number of colours.
    rng : int, Generator or None

    Returns
    -------
    QuantizedColors
        Whole numbers are rounded.

    Notes
    -----
    A pixel costs ⌈log₂ k⌉ bits, and the palette k colours as they are in the original. Equal pixels
    are counted, not repeated.

    Examples
    --------
    >>> image = np.zeros((8, 8, 3), dtype=np.uint8)
    >>> image[:4] = [250, 10, 10]
    >>> found = quantize_colors(image, 2)
    >>> found.palette.tolist(), round(found.compression_ratio, 2)
    ([[0, 0, 0], [250, 10, 10]], 13.71)
    """
    pixels = _check_image(image)
    height, width = pixels.shape[:2]
    flat = pixels.reshape(height * width, -1)
    colors, place, counts = np.unique(flat, axis=0, return_inverse=True, return_counts=True)
    few = min(_check_count(k), len(colors))
    model = KMeans(few, random_state=rng)
    model.fit(colors.astype(np.float64), sample_weight=counts)
    centers = model.cluster_centers_
    order = np.lexsort((*centers.T[::-1], -model.counts_))  # the most frequent, the darkest first
    palette = _as_original(centers[order], pixels.dtype)
    codes = np.argsort(order)[model.labels_][place.ravel()]
    found = palette[codes]
    error = float(np.sum((found.astype(np.float64) - flat) ** 2))
    bits = 8 * pixels.itemsize
    code_bits = max(1, math.ceil(math.log2(few)))
    ratio = flat.size * bits / (len(flat) * code_bits + palette.size * bits)
    smallest = np.min_scalar_type(few - 1)
    shaped = codes.reshape(height, width).astype(smallest)
    return QuantizedColors(found.reshape(np.shape(image)), palette, shaped, error, ratio)


def _as_original(palette: Array, dtype: np.dtype[Any]) -> Any:
    return (np.rint(palette) if dtype.kind in "iu" else palette).astype(dtype)


def _check_image(image: Any) -> Any:
    pixels = np.asarray(image)
    if pixels.ndim not in (2, 3) or pixels.size == 0:
        raise ValueError(f"image must have the shape (H, W) or (H, W, C), got {pixels.shape}")
    if pixels.dtype.kind not in "iuf":
        raise ValueError(f"image must hold numbers, got dtype {pixels.dtype}")
    if pixels.dtype.kind == "f" and not np.isfinite(pixels).all():
        raise ValueError("image must be finite, it holds NaN or infinity")
    return pixels


def _check_count(k: Any) -> int:
    if not isinstance(k, (int, np.integer)) or isinstance(k, bool) or k < 1:
        raise ValueError(f"k must be a whole number >= 1, got {k!r}")
    return int(k)
