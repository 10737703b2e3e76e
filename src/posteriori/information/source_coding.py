r"""Codes of least mean length, and the noiseless coding theorem :math:`H \le L < H + 1`.

Huffman's code joins the two rarest symbols again and again; each join adds a bit to the words of
all symbols beneath it. No code that can be read symbol by symbol has a smaller mean length L, and
the entropy H (in bits) bounds L from below.

Reference: D. Huffman, "A method for the construction of minimum-redundancy codes", 1952.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from posteriori.distributions.counts.categorical import Categorical
from posteriori.distributions.labels import check_labels
from posteriori.information.entropies import entropy
from posteriori.numerics.types import Array
from posteriori.numerics.validation import probability_vector

__all__ = ["CodingBound", "HuffmanCode", "coding_bound", "huffman_code"]


@dataclass(frozen=True)
class HuffmanCode:
    """A prefix code of least mean length.

    Attributes
    ----------
    words : dict
        The word of each possible symbol, a text of 0s and 1s; no word begins another.
    lengths : (K,)
        Bits per symbol; 0 for one of probability 0, which has no word.
    mean_length : float
        Expected bits per symbol, L.
    """

    words: dict[Any, str]
    lengths: Array
    mean_length: float

    def encode(self, symbols: Iterable[Any]) -> str:
        """Return the words of a sequence of symbols, joined."""
        try:
            return "".join(self.words[symbol] for symbol in symbols)
        except KeyError as error:
            raise ValueError(f"{error.args[0]!r} has no word in this code") from None

    def decode(self, bits: str) -> list[Any]:
        """Return the symbols of joined words: the inverse of :meth:`encode`."""
        symbols = {word: symbol for symbol, word in self.words.items()}
        read, word = [], ""
        for bit in bits:
            word += bit
            if word in symbols:
                read.append(symbols[word])
                word = ""
        if word:
            raise ValueError(f"the bits end inside a word: {word!r} is left over")
        return read


class CodingBound(NamedTuple):
    """The noiseless coding theorem at work: ``entropy <= mean_length < upper``, in bits."""

    entropy: float
    mean_length: float
    upper: float
    code: HuffmanCode

    @property
    def redundancy(self) -> float:
        """Bits per symbol spent beyond the entropy: 0 where all probabilities are powers of ½."""
        return self.mean_length - self.entropy


def huffman_code(p: Any, labels: Any = None) -> HuffmanCode:
    """Return a prefix code of least mean length.

    Parameters
    ----------
    p : array (K,) of probabilities, or Categorical
        How often each symbol occurs. A single possible symbol takes no bits at all.
    labels : sequence of K hashables, optional
        Names of the symbols; by default the labels of the distribution, or 0, …, K − 1.

    Notes
    -----
    Cost O(K log K).

    Examples
    --------
    >>> huffman_code([0.5, 0.25, 0.25], labels="abc").words
    {'a': '0', 'b': '10', 'c': '11'}
    """
    if isinstance(p, Categorical):
        labels, p = (p.labels if labels is None else labels), p.probabilities
    shares = np.asarray(probability_vector("p", p))
    if shares.ndim != 1:
        raise ValueError(f"p must be one vector of probabilities, got shape {shares.shape}")
    names = range(len(shares)) if labels is None else check_labels(tuple(labels), len(shares))
    possible = np.flatnonzero(shares)
    words = dict(zip(possible.tolist(), _words(shares[possible]), strict=True))
    lengths = np.zeros(len(shares))
    lengths[possible] = [len(word) for word in words.values()]
    named = {name: words[k] for k, name in enumerate(names) if k in words}
    return HuffmanCode(named, lengths, float(shares @ lengths))


def coding_bound(p: Any, labels: Any = None) -> CodingBound:
    """Compare the mean length of the best code with the entropy, both in bits.

    Parameters are those of :func:`huffman_code`.

    Examples
    --------
    >>> bound = coding_bound([0.5, 0.25, 0.125, 0.125])
    >>> bound.entropy, bound.mean_length
    (1.75, 1.75)
    """
    code = huffman_code(p, labels)
    shares = p.probabilities if isinstance(p, Categorical) else p
    bits = float(entropy(shares, unit="bits"))
    return CodingBound(bits, code.mean_length, bits + 1.0, code)


def _words(shares: Array) -> list[str]:
    """Join the two rarest groups until one is left; later joins write earlier bits."""
    words = [""] * len(shares)
    heap = [(float(share), k, [k]) for k, share in enumerate(shares)]
    heapq.heapify(heap)
    order = len(shares)
    while len(heap) > 1:
        (a, _, ones), (b, _, zeros) = heapq.heappop(heap), heapq.heappop(heap)
        zeros, ones = sorted((zeros, ones), key=lambda group: (len(words[group[0]]), group[0]))
        for bit, group in (("0", zeros), ("1", ones)):
            for k in group:
                words[k] = bit + words[k]
        heapq.heappush(heap, (a + b, order, zeros + ones))
        order += 1
    return words
