"""Events in time, counted per year."""

import numpy as np

__all__ = ["yearly_counts"]


def yearly_counts(dates: np.ndarray, first: int, last: int) -> tuple[np.ndarray, np.ndarray]:
    """Count events per calendar year.

    Parameters
    ----------
    dates : array_like, shape (N,)
        Dates in years; the fraction is the part of the year that had passed.
    first, last : int
        The first and the last year to count, both included.

    Returns
    -------
    years, counts : ndarray of int, shape (last - first + 1,)

    Raises
    ------
    ValueError
        If a date lies outside the years.

    Examples
    --------
    >>> from posteriori.datasets import load_coal_disasters, yearly_counts
    >>> years, counts = yearly_counts(load_coal_disasters()["date"], 1851, 1962)
    >>> counts[:6].tolist(), int(counts.sum())
    ([4, 5, 4, 1, 0, 4], 191)
    """
    year = np.floor(np.asarray(dates, dtype=float)).astype(int)
    if year.size and not (first <= year.min() and year.max() <= last):
        raise ValueError(
            f"dates must lie within {first}-{last}; got {year.min()}-{year.max()}: "
            "widen first and last, or select the dates"
        )
    return np.arange(first, last + 1), np.bincount(year - first, minlength=last - first + 1)
