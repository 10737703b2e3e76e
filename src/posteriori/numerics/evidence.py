"""Evidence as a value: the log probability of data under a model, and what kind of number it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from posteriori.numerics.types import Array

__all__ = ["Fingerprint", "Kind", "LogEvidence", "Namings"]

#: How an evidence was obtained, from the best to the least certain.
Kind = Literal[
    "exact", "quadrature", "bound", "laplace", "ep", "bethe", "type-II", "estimate", "prequential"
]

#: Whether all namings of exchangeable parts (components, states, classes) are counted, or one of them.
Namings = Literal["all", "one"]

#: Checksums are added modulo this.
_WORD = 2**64


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """Which data an evidence speaks of: their number and a checksum.

    The checksum adds the bit patterns of all values modulo 2⁶⁴, so it is exact, does not depend
    on order, and the fingerprints of chunks add up to that of the whole.
    """

    count: int = 0
    checksum: int = 0

    def update(self, block: Array, frequency: Array | None = None) -> Fingerprint:
        """Return the fingerprint of these data and a further block of rows (N, ...).

        A row of whole frequency counts as so many rows; other frequencies become part of the data.
        """
        bits = np.ascontiguousarray(block, dtype=np.float64).view(np.uint64)
        if frequency is None:
            total = int(np.add.reduce(bits, axis=None, dtype=np.uint64))
            return Fingerprint(self.count + len(block), (self.checksum + total) % _WORD)
        times = np.rint(frequency)
        if not np.array_equal(times, frequency):
            weights = np.asarray(frequency, dtype=np.float64)
            return self.update(block).merge(Fingerprint(0, Fingerprint().update(weights).checksum))
        times = times.astype(np.uint64).reshape(-1, *(1,) * (bits.ndim - 1))
        total = int(np.add.reduce(bits * times, axis=None, dtype=np.uint64))
        return Fingerprint(self.count + int(times.sum()), (self.checksum + total) % _WORD)

    def merge(self, other: Fingerprint) -> Fingerprint:
        """Return the fingerprint of both sets of data together."""
        return Fingerprint(self.count + other.count, (self.checksum + other.checksum) % _WORD)

    def without(self, other: Fingerprint) -> Fingerprint:
        """Return the fingerprint of these data less some of them."""
        return Fingerprint(self.count - other.count, (self.checksum - other.checksum) % _WORD)


class LogEvidence:
    """The log evidence of a model: a number that knows what it is.

    Parameters
    ----------
    value : float or array
        ln p(data | model), one entry per model of a batch.
    kind : {"exact", "quadrature", "bound", "laplace", "ep", "bethe", "type-II", "estimate", "prequential"}
        How the number was obtained. "prequential" is that of a learner, which predicts row after row
        from earlier ones, and compares with its like only.
    of : str
        Which data it is the probability of: "X", "y|X" or "X,y".
    fingerprint : Fingerprint, optional
        Tells data apart; evidences of different data refuse to be compared.
    error : float or array, optional
        Standard error of an estimate; of a quadrature, how far two rules are apart.
    namings : {"all", "one"}
        Whether all namings of components, states or classes that the prior does not tell apart are counted.
        One of K! is what a bound of the model language knows: it does not compare with others.

    Examples
    --------
    >>> one = LogEvidence(-5.25, kind="exact", of="X")
    >>> one
    LogEvidence(-5.25, kind="exact", of="X")
    >>> float(one - LogEvidence(-7.25, kind="exact", of="X"))  # log Bayes factor
    2.0
    """

    __slots__ = ("error", "fingerprint", "kind", "namings", "of", "value")

    value: Array
    kind: Kind
    of: str
    fingerprint: Fingerprint | None
    error: Array | None
    namings: Namings

    #: NumPy's operators leave mixed arithmetic to the methods below.
    __array_ufunc__ = None

    def __init__(
        self,
        value: ArrayLike,
        *,
        kind: Kind,
        of: str = "X",
        fingerprint: Fingerprint | None = None,
        error: ArrayLike | None = None,
        namings: Namings = "all",
    ) -> None:
        for name, given, known in (("kind", kind, Kind), ("namings", namings, Namings)):
            if given not in get_args(known):
                raise ValueError(
                    f"{name} must be one of {', '.join(get_args(known))}; got {given!r}"
                )
        array = np.array(value, dtype=np.float64)
        if np.any(np.isnan(array)):
            raise ValueError("a log evidence cannot be NaN")
        array.setflags(write=False)
        setter = object.__setattr__
        setter(self, "value", array[()])
        setter(self, "kind", kind)
        setter(self, "of", of)
        setter(self, "fingerprint", fingerprint)
        setter(self, "error", None if error is None else np.array(error, dtype=np.float64)[()])
        setter(self, "namings", namings)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError("LogEvidence is a value: make a new one instead of changing it")

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (
            self.value,
            self.kind,
            self.of,
            self.fingerprint,
            self.error,
            self.namings,
        )

    def __float__(self) -> float:
        return float(self.value)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        return np.array(self.value, dtype=dtype)

    @property
    def shape(self) -> tuple[int, ...]:
        """Batch shape of the model: () for a single one."""
        return self.value.shape

    @property
    def question(self) -> str:
        """What it answers, in words: which data, and whether one naming alone is counted."""
        return self.of if self.namings == "all" else f"{self.of} (one naming)"

    def comparable(self, other: LogEvidence) -> bool:
        """Tell whether both answer the same question about the same data."""
        if self.question != other.question or self._of_learner != other._of_learner:
            return False
        known = self.fingerprint is not None and other.fingerprint is not None
        return not known or self.fingerprint == other.fingerprint

    @property
    def _of_learner(self) -> bool:
        return self.kind == "prequential"

    def bayes_factor(self, other: LogEvidence) -> Array:
        """Return p(data | this model) / p(data | other model)."""
        return np.exp(self - other)

    def __sub__(self, other: Any) -> Array:
        if not isinstance(other, LogEvidence):
            return NotImplemented
        self._require_comparable(other)
        return self.value - other.value

    def __add__(self, other: Any) -> LogEvidence:
        """Evidence of two sets of data that the model takes as independent, or in sequence."""
        if not isinstance(other, LogEvidence):
            return NotImplemented
        if self.of != other.of or self.kind != other.kind:
            raise ValueError(
                f"cannot add evidence of kind {self.kind!r} of {self.of!r} "
                f"to one of kind {other.kind!r} of {other.of!r}"
            )
        both = self.fingerprint is not None and other.fingerprint is not None
        merged = self.fingerprint.merge(other.fingerprint) if both else None  # type: ignore[union-attr,arg-type]
        return self._of_others(self.value + other.value, merged, other)

    def without(self, earlier: LogEvidence) -> LogEvidence:
        """Return the evidence of the data that the earlier ones lack, given those."""
        both = self.fingerprint is not None and earlier.fingerprint is not None
        rest = self.fingerprint.without(earlier.fingerprint) if both else None  # type: ignore[union-attr,arg-type]
        return self._of_others(self.value - earlier.value, rest, earlier)

    def _of_others(
        self, value: Array, fingerprint: Fingerprint | None, other: LogEvidence
    ) -> LogEvidence:
        errors = [e.error for e in (self, other) if e.error is not None]
        error = sum(errors) if errors else None
        namings: Namings = "one" if "one" in (self.namings, other.namings) else "all"
        return LogEvidence(
            value,
            kind=self.kind,
            of=self.of,
            fingerprint=fingerprint,
            error=error,
            namings=namings,
        )

    def __lt__(self, other: Any) -> Any:
        return (self - other) < 0 if isinstance(other, LogEvidence) else self.value < other

    def __gt__(self, other: Any) -> Any:
        return (self - other) > 0 if isinstance(other, LogEvidence) else self.value > other

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, LogEvidence):
            return NotImplemented
        return (
            self.kind == other.kind
            and self.comparable(other)
            and np.array_equal(self.value, other.value)
        )

    def __hash__(self) -> int:
        return hash((self.value.tobytes(), self.kind, self.of))

    def __repr__(self) -> str:
        number = np.array2string(self.value, precision=6, separator=", ", threshold=6)
        error = "" if self.error is None else f", error={np.max(self.error):.2g}"
        namings = "" if self.namings == "all" else f', namings="{self.namings}"'
        return f'LogEvidence({number}, kind="{self.kind}", of="{self.of}"{error}{namings})'

    def __format__(self, spec: str) -> str:
        return format(float(self), spec) if spec else repr(self)

    def _require_comparable(self, other: LogEvidence) -> None:
        if self.of != other.of:
            raise ValueError(
                f"evidence of {self.of!r} and of {other.of!r} answer different questions; "
                "compare such models by held-out log predictive density"
            )
        if self._of_learner != other._of_learner:
            raise ValueError(
                f"evidences of kind {self.kind!r} and {other.kind!r} do not compare: one is of a model "
                "with its prior, the other of predictions by earlier rows; take prequential_evidence of "
                "both"
            )
        if self.namings != other.namings:
            raise ValueError(
                "one of these evidences counts all namings of exchangeable parts, the other one of them (up to "
                "ln K! less): add ln K! to its number where all K parts are in use, or compare such models by "
                "held-out log predictive density"
            )
        if not self.comparable(other):
            raise ValueError(
                f"these evidences are of different data ({_count(self)} and {_count(other)} "
                "observations); fit both models to the same data"
            )


def _count(evidence: LogEvidence) -> str:
    return "?" if evidence.fingerprint is None else str(evidence.fingerprint.count)


def _rebuild(
    value: Array, kind: Kind, of: str, fingerprint: Any, error: Any, namings: Namings = "all"
) -> LogEvidence:
    return LogEvidence(
        value, kind=kind, of=of, fingerprint=fingerprint, error=error, namings=namings
    )
