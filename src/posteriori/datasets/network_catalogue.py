"""Small Bayesian networks of the literature that ship with the package, as files in BIF.

They stand in the folder ``data`` beside this module, with a page on where they come from.
"""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from posteriori.numerics.validation import hint

__all__ = ["list_networks", "network_path"]

_NETWORKS = {
    "asia": "Tuberculosis, lung cancer and bronchitis behind shortness of breath: 8 variables.",
    "cancer": "Causes and signs of lung cancer: 5 variables.",
    "earthquake": "An alarm that burglars and earthquakes set off: 5 variables.",
    "survey": "Who travels by car and who by train: 6 variables.",
}


def list_networks() -> dict[str, str]:
    """Name the Bayesian networks that ship with the package, and say what each is about.

    Returns
    -------
    dict of str to str
        The name, as :func:`network_path` takes it, and one sentence.

    Examples
    --------
    >>> from posteriori.datasets import list_networks
    >>> list(list_networks())
    ['asia', 'cancer', 'earthquake', 'survey']
    """
    return dict(_NETWORKS)


def network_path(name: str) -> Path:
    """Return where the file of a network is, in BIF.

    Parameters
    ----------
    name : str
        One of :func:`list_networks`.

    Raises
    ------
    ValueError
        If there is no such network; the message names the nearest.

    References
    ----------
    S. L. Lauritzen and D. J. Spiegelhalter (1988), Local computations with probabilities on
    graphical structures and their application to expert systems, JRSS B 50, 157–224; K. B. Korb and
    A. E. Nicholson (2010), Bayesian Artificial Intelligence, CRC Press; M. Scutari and J.-B. Denis
    (2014), Bayesian Networks with Examples in R, CRC Press.

    Examples
    --------
    >>> from posteriori.datasets import network_path
    >>> network_path("asia").name
    'asia.bif'
    """
    if name not in _NETWORKS:
        near = hint(name, _NETWORKS)
        raise ValueError(f"no network {name!r}, there are {', '.join(_NETWORKS)}{near}")
    return Path(str(files("posteriori.datasets").joinpath("data", f"{name}.bif")))
