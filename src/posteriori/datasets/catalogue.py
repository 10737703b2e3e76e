"""The public data sets that ship with the package, and the table that says what they are.

The numbers stand in the folder ``data`` beside this module, with a page on where they come from.
"""

from __future__ import annotations

from difflib import get_close_matches
from importlib.resources import files
from typing import NamedTuple

import numpy as np

from posteriori.datasets.dataset import Dataset

__all__ = [
    "list_datasets",
    "load_air_passengers",
    "load_coal_disasters",
    "load_dataset",
    "load_galaxies",
    "load_mauna_loa_co2",
    "load_nile",
    "load_old_faithful",
    "load_radon",
    "load_sunspots",
    "yearly_counts",
]


class _Entry(NamedTuple):
    what: str
    reference: str
    index_name: str | None = None


_CATALOGUE = {
    "air_passengers": _Entry(
        "Passengers of international airlines, monthly 1949-1960, in thousands.",
        "G. E. P. Box and G. M. Jenkins (1976), Time Series Analysis: Forecasting and Control, "
        "series G.",
        index_name="time",
    ),
    "coal_disasters": _Entry(
        "Dates, in years, of British coal-mining disasters with ten or more deaths, 1851-1962.",
        "R. G. Jarrett (1979), A note on the intervals between coal-mining disasters, "
        "Biometrika 66, 191-193.",
    ),
    "galaxies": _Entry(
        "Velocities of 82 galaxies of the Corona Borealis region, in km/s.",
        "K. Roeder (1990), Density estimation with confidence sets exemplified by superclusters "
        "and voids in the galaxies, JASA 85, 617-624.",
    ),
    "mauna_loa_co2": _Entry(
        "Concentration of CO2 in the air at Mauna Loa, monthly 1959-1997, in parts per million.",
        "C. D. Keeling and T. P. Whorf, Scripps Institution of Oceanography.",
        index_name="time",
    ),
    "nile": _Entry(
        "Flow of the Nile at Aswan, yearly 1871-1970, in 10^8 cubic metres.",
        "G. W. Cobb (1978), The problem of the Nile, Biometrika 65, 243-251.",
        index_name="year",
    ),
    "old_faithful": _Entry(
        "Length of eruptions of the Old Faithful geyser and waiting time to the next, in minutes.",
        "A. Azzalini and A. W. Bowman (1990), A look at some data on the Old Faithful geyser, "
        "Applied Statistics 39, 357-365.",
    ),
    "radon": _Entry(
        "Radon in 919 houses of the 85 counties of Minnesota, in picocuries per litre.",
        "P. N. Price, A. V. Nero and A. Gelman (1996), Bayesian prediction of mean indoor radon "
        "concentrations for Minnesota counties, Health Physics 71, 922-936.",
    ),
    "sunspots": _Entry(
        "Sunspot numbers, yearly means 1700-1988.",
        "H. Tong (1996), Non-Linear Time Series, Oxford University Press.",
        index_name="year",
    ),
}


def list_datasets() -> dict[str, str]:
    """Name the data sets that ship with the package, and say what each holds.

    Returns
    -------
    dict of str to str
        The name, as :func:`load_dataset` takes it, and one sentence.

    Examples
    --------
    >>> from posteriori.datasets import list_datasets
    >>> list(list_datasets())
    ['air_passengers', 'coal_disasters', 'galaxies', 'mauna_loa_co2', 'nile', 'old_faithful',
     'radon', 'sunspots']
    >>> list_datasets()["sunspots"]
    'Sunspot numbers, yearly means 1700-1988.'
    """
    return {name: entry.what for name, entry in _CATALOGUE.items()}


def load_dataset(name: str) -> Dataset:
    """Load a data set by its name.

    Parameters
    ----------
    name : str
        One of :func:`list_datasets`.

    Returns
    -------
    Dataset

    Raises
    ------
    ValueError
        If there is no such data set; the message names the nearest.

    Examples
    --------
    >>> from posteriori.datasets import load_dataset
    >>> load_dataset("nile")
    Dataset(100 rows; flow by year)
    """
    if name not in _CATALOGUE:
        near = get_close_matches(str(name), _CATALOGUE, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise ValueError(f"no data set {name!r}, there are {', '.join(_CATALOGUE)}{hint}")
    entry = _CATALOGUE[name]
    names, table = _read_csv(f"{name}.csv")
    description = f"{entry.what} {entry.reference}"
    if entry.index_name is None:
        return Dataset(table, names, description)
    index = _as_years(table[:, names.index(entry.index_name)])
    keep = [k for k, column in enumerate(names) if column != entry.index_name]
    return Dataset(
        table[:, keep], tuple(names[k] for k in keep), description, index, entry.index_name
    )


def load_old_faithful() -> Dataset:
    """Eruptions of the Old Faithful geyser in Yellowstone: two clusters that a mixture finds.

    Returns
    -------
    Dataset
        272 rows and two columns, both in minutes: ``eruptions``, the length of an eruption, and
        ``waiting``, the time to the next one.

    References
    ----------
    A. Azzalini and A. W. Bowman (1990), A look at some data on the Old Faithful geyser, Applied
    Statistics 39, 357–365; W. Härdle (1991), Smoothing Techniques with Implementation in S,
    Springer. The copy here is ``faithful`` of the R package *datasets*.

    Examples
    --------
    >>> from posteriori.datasets import load_old_faithful
    >>> load_old_faithful()
    Dataset(272 rows; eruptions, waiting)
    >>> load_old_faithful().data.mean(axis=0).round(6).tolist()
    [3.487783, 70.897059]
    """
    return load_dataset("old_faithful")


def load_nile() -> Dataset:
    """Annual flow of the Nile at Aswan: a level that drops near 1898.

    Returns
    -------
    Dataset
        100 rows and one column: ``flow``, in 10⁸ m³; the index is the ``year``, 1871–1970.

    References
    ----------
    G. W. Cobb (1978), The problem of the Nile: conditional solution to a changepoint problem,
    Biometrika 65, 243–251; J. Durbin and S. J. Koopman (2001), Time Series Analysis by State Space
    Methods, Oxford University Press. The copy here is ``Nile`` of the R package *datasets*.

    Examples
    --------
    >>> from posteriori.datasets import load_nile
    >>> nile = load_nile()
    >>> nile["year"][:3].tolist(), nile["flow"][:3].tolist()
    ([1871, 1872, 1873], [1120.0, 1160.0, 963.0])
    """
    return load_dataset("nile")


def load_galaxies() -> Dataset:
    """Velocities of 82 galaxies in clumps that nobody has counted for certain.

    Returns
    -------
    Dataset
        82 rows in increasing order and one column: ``velocity``, in km/s.

    Notes
    -----
    The 78th velocity, 26690, is a misprint of 26960 that much of the literature has carried on; it
    is kept here so that published results can be reproduced. An 83rd galaxy of the original paper,
    at 5607 km/s, is left out.

    References
    ----------
    K. Roeder (1990), Density estimation with confidence sets exemplified by superclusters and
    voids in the galaxies, JASA 85, 617–624; M. Postman, J. P. Huchra and M. J. Geller (1986),
    Probes of large-scale structures in the Corona Borealis region, Astronomical Journal 92,
    1238–1247. The copy here is ``galaxies`` of the R package *MASS*.

    Examples
    --------
    >>> from posteriori.datasets import load_galaxies
    >>> load_galaxies()["velocity"][[0, -1]].tolist()
    [9172.0, 34279.0]
    """
    return load_dataset("galaxies")


def load_coal_disasters() -> Dataset:
    """Dates of the coal-mining disasters in Britain that killed ten or more, 1851–1962.

    Returns
    -------
    Dataset
        191 rows, in order of time, and one column: ``date``, in years, where the fraction is the
        part of the year that had passed. :func:`yearly_counts` counts them per year.

    References
    ----------
    R. G. Jarrett (1979), A note on the intervals between coal-mining disasters, Biometrika 66,
    191–193: the corrected and extended form of the data of Maguire, Pearson and Wynn (1952). The
    copy here is ``coal`` of the R package *boot*.

    Examples
    --------
    >>> from posteriori.datasets import load_coal_disasters
    >>> coal = load_coal_disasters()
    >>> coal
    Dataset(191 rows; date)
    >>> coal["date"][:2].round(1).tolist()
    [1851.2, 1851.6]
    """
    return load_dataset("coal_disasters")


def load_air_passengers() -> Dataset:
    """Monthly passengers of international airlines: a trend times a season.

    Returns
    -------
    Dataset
        144 rows and one column: ``passengers``, in thousands; the index is the ``time`` in years,
        1949–1960, where a month is a twelfth.

    References
    ----------
    G. E. P. Box and G. M. Jenkins (1976), Time Series Analysis: Forecasting and Control,
    Holden-Day, series G. The copy here is ``AirPassengers`` of the R package *datasets*.

    Examples
    --------
    >>> from posteriori.datasets import load_air_passengers
    >>> load_air_passengers()["passengers"][:3].tolist()
    [112.0, 118.0, 132.0]
    """
    return load_dataset("air_passengers")


def load_radon() -> Dataset:
    """Radon in houses of Minnesota: many counties, some with one or two houses.

    Returns
    -------
    Dataset
        919 rows and four columns: ``county``, from 0 to 84 in alphabetical order; ``floor`` of the
        measurement, 0 in the basement and 1 above it; ``radon``, in picocuries per litre with one
        decimal (0 where less was found); ``uranium`` in the soil of the county, in parts per
        million.

    References
    ----------
    P. N. Price, A. V. Nero and A. Gelman (1996), Bayesian prediction of mean indoor radon
    concentrations for Minnesota counties, Health Physics 71, 922–936; A. Gelman and J. Hill (2007),
    Data Analysis Using Regression and Multilevel/Hierarchical Models, Cambridge University Press,
    chapter 12. The copy here is ``radon`` of the R package *rstanarm*, from the state residential
    radon survey of the Environmental Protection Agency of the United States.

    Examples
    --------
    >>> from posteriori.datasets import load_radon
    >>> load_radon()
    Dataset(919 rows; county, floor, radon, uranium)
    >>> load_radon().data[0].tolist()
    [0.0, 1.0, 2.2, 0.502054]
    """
    return load_dataset("radon")


def load_sunspots() -> Dataset:
    """Yearly sunspot numbers: a cycle of about eleven years, of uneven height.

    Returns
    -------
    Dataset
        289 rows and one column: ``sunspots``, the yearly mean; the index is the ``year``,
        1700–1988.

    References
    ----------
    H. Tong (1996), Non-Linear Time Series, Oxford University Press. The copy here is
    ``sunspot.year`` of the R package *datasets*.

    Examples
    --------
    >>> from posteriori.datasets import load_sunspots
    >>> load_sunspots()["sunspots"][-2:].tolist()
    [29.2, 100.2]
    """
    return load_dataset("sunspots")


def load_mauna_loa_co2() -> Dataset:
    """Monthly concentration of CO₂ in the air at Mauna Loa: a rising curve plus a season.

    Returns
    -------
    Dataset
        468 rows and one column: ``co2``, in parts per million; the index is the ``time`` in years,
        1959–1997, where a month is a twelfth.

    Notes
    -----
    February, March and April 1964 were not measured: the values stand on the straight line between
    January and May.

    References
    ----------
    C. D. Keeling and T. P. Whorf, Scripps Institution of Oceanography, on the preliminary scale of
    1997; W. S. Cleveland (1993), Visualizing Data, Hobart Press. The copy here is ``co2`` of the R
    package *datasets*.

    Examples
    --------
    >>> from posteriori.datasets import load_mauna_loa_co2
    >>> load_mauna_loa_co2()["co2"][[0, -1]].tolist()
    [315.42, 364.34]
    """
    return load_dataset("mauna_loa_co2")


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


def _read_csv(file: str) -> tuple[tuple[str, ...], np.ndarray]:
    """Read the column names and the numbers: one header line, then rows."""
    text = files("posteriori.datasets").joinpath("data", file).read_text(encoding="utf-8")
    header, *lines = text.splitlines()
    return tuple(header.split(",")), np.array([line.split(",") for line in lines], dtype=float)


def _as_years(time: np.ndarray) -> np.ndarray:
    """Turn whole years into integers; leave months as fractions."""
    whole = time.astype(int)
    return whole if np.array_equal(whole, time) else time
