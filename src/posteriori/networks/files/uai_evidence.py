"""Evidence files of the UAI competitions: which variables were observed, and in which states.

A file holds a number of observations and then pairs of a variable and its state; or, in another
edition, a line with the number of samples first, and then a line of this kind for each.
"""

from __future__ import annotations

import os

from posteriori.networks.files.file_text import read_text
from posteriori.networks.files.uai_format import UaiText

__all__ = ["read_evidence"]


def read_evidence(path: str | os.PathLike[str]) -> tuple[dict[str, int], ...]:
    """Return the observations of an evidence file, ``.uai.evid``, also packed as ``.gz``.

    Returns
    -------
    tuple of dict of str to int
        For each sample the state of each observed variable, ``{"x3": 1}``, as ``given=`` takes it.

    Raises
    ------
    ValueError
        With the line at which the file is wrong.
    """
    text = read_text(path)
    uai = UaiText(text, path)
    lines = [words for words in map(str.split, text.splitlines()) if words]
    samples = uai.whole("the number of samples") if _counts_samples(lines) else 1
    found: list[dict[str, int]] = []
    while len(found) < samples:  # a number alone does not make so many
        found.append(_read_sample(uai))
    if uai.left:
        raise uai.error(uai.place, "expected the end of the file, got more observations")
    return tuple(found)


def _counts_samples(lines: list[list[str]]) -> bool:
    """Tell whether the first number is that of samples, not of observations."""
    if len(lines) > 1 and len(lines[0]) == 1 and all(map(_is_sample, lines[1:])):
        return lines[0][0] == str(len(lines) - 1)
    words = [word for line in lines for word in line]
    return len(words) > 1 and not _is_sample(words)


def _is_sample(words: list[str]) -> bool:
    """Tell whether a number of observations is followed by so many pairs."""
    return words[0] == str((len(words) - 1) // 2) and len(words) % 2 == 1


def _read_sample(uai: UaiText) -> dict[str, int]:
    """Read a number of observations, and so many pairs of variable and state."""
    found: dict[str, int] = {}
    for _ in range(uai.count("the observations")):
        name = f"x{uai.whole('a variable')}"
        if name in found:
            raise uai.error(uai.place - 1, f"expected each variable once, got {name} twice")
        found[name] = uai.whole("a state")
    return found
