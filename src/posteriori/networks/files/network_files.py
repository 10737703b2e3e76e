"""Files of networks by their suffix: BIF, XMLBIF and UAI, each also packed by gzip."""

from __future__ import annotations

import os
from pathlib import Path

from posteriori.networks.files.bif_reader import parse_bif
from posteriori.networks.files.bif_writer import format_bif
from posteriori.networks.files.file_text import (
    PACKED,
    malformed,
    read_content,
    read_text,
    write_text,
)
from posteriori.networks.files.network_tables import FactorTables, NetworkTables, require_matching
from posteriori.networks.files.uai_format import format_uai, parse_uai
from posteriori.networks.files.xmlbif_format import format_xmlbif, parse_xmlbif

__all__ = ["format_of", "read_network_file", "write_network_file"]

#: The formats by suffix.
_FORMATS = {".bif": "BIF", ".xmlbif": "XMLBIF", ".xml": "XMLBIF", ".uai": "UAI"}


def read_network_file(
    path: str | os.PathLike[str], *, memory_limit: int | None = None
) -> NetworkTables | FactorTables:
    """Read the tables of a network.

    Rows of conditional tables that sum to 1 within 1e-6 are divided by their sum, and ``notes`` of
    the answer says which; sums that differ by rounding alone stay.

    Parameters
    ----------
    path : str or path
        Ends in ``.bif``, ``.xmlbif``, ``.xml`` or ``.uai``, and ``.gz`` after it if it is packed.
        Files of UAI have no names: variables are called x0, x1, …, their states 0, 1, …
    memory_limit : int, optional
        Bytes that the tables may take together; unless it is given, what fits into half of free memory when
        they are asked.

    Returns
    -------
    NetworkTables or FactorTables
        The latter for a Markov network, a file of UAI that begins with MARKOV.

    Raises
    ------
    ValueError
        If the suffix is not known, a packed file is damaged, the file is malformed (with the line,
        and what was expected there), or a row does not sum to 1 (which, and by how much).
    MemoryError
        If the tables that the file declares need more memory, before it is taken.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from posteriori.networks.files.network_files import read_network_file
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "coin.uai")
    ...     _ = path.write_text("BAYES 1 2 1  1 0  2 0.25 0.75")
    ...     coin = read_network_file(path)
    >>> coin.names, coin.states, coin.tables
    (('x0',), (('0', '1'),), (array([0.25, 0.75]),))
    """
    form = format_of(path)
    found: NetworkTables | FactorTables
    if form == "XMLBIF":
        found = parse_xmlbif(read_content(path), path, memory_limit)
    else:
        parse = parse_bif if form == "BIF" else parse_uai
        found = parse(read_text(path), path, memory_limit)
    if not found.names:
        raise malformed(path, 1, f"expected a network in the format {form}, got no variable")
    return found


def write_network_file(path: str | os.PathLike[str], network: NetworkTables | FactorTables) -> None:
    """Write the tables of a network with all digits, whole or not at all.

    Parameters
    ----------
    path : str or path
        As for :func:`read_network_file`. UAI keeps neither names nor labels.
    network : NetworkTables or FactorTables
        The latter, a Markov network, can be written as UAI alone.

    Raises
    ------
    ValueError
        If the suffix is not known, shapes do not match, or the format cannot hold a name.
    """
    form = format_of(path)
    require_matching(network)
    if form == "UAI":
        write_text(path, format_uai(network))
    elif isinstance(network, NetworkTables):
        write_text(path, format_bif(network) if form == "BIF" else format_xmlbif(network))
    else:
        raise ValueError(f"{form} holds Bayesian networks alone; write a Markov network as .uai")


def format_of(path: str | os.PathLike[str]) -> str:
    """Return the format that the suffix of a file stands for: BIF, XMLBIF or UAI."""
    name = Path(path).name.lower().removesuffix(PACKED)
    suffix = Path(name).suffix
    if suffix not in _FORMATS:
        known = ", ".join(_FORMATS)
        raise ValueError(
            f"the suffix of {str(path)!r} is not one of a network; known are {known}, each also with "
            f"{PACKED}"
        )
    return _FORMATS[suffix]
