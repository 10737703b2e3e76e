"""Coal-mining disasters in Britain, 1851–1962."""

import numpy as np

from posteriori.datasets.dataset import Dataset, read_csv

__all__ = ["load_coal_disasters", "yearly_counts"]


def load_coal_disasters() -> Dataset:
    """Dates of the coal-mining disasters in Britain that killed ten or more, 1851–1962.

    Returns
    -------
    Dataset
        191 rows, in order of time, and one column: ``date``, in years, where the fraction is the
        part of the year that had passed.

    Notes
    -----
    R. G. Jarrett (1979), A note on the intervals between coal-mining disasters, Biometrika 66,
    191–193: the corrected and extended form of the data of Maguire, Pearson and Wynn (1952). The
    copy here is the data set ``coal`` of the R package *boot*.

    Examples
    --------
    >>> from posteriori.datasets import load_coal_disasters
    >>> coal = load_coal_disasters()
    >>> coal
    Dataset(191 rows; date)
    >>> coal["date"][:2].round(1).tolist()
    [1851.2, 1851.6]
    """
    return read_csv(
        "coal_disasters.csv",
        "Dates, in years, of British coal-mining disasters with ten or more deaths, "
        "1851-1962 (Jarrett 1979).",
    )


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
