"""What a state of a hidden chain emits: a distribution as densities of rows, gaps left out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from posteriori.distributions.base import Distribution
from posteriori.distributions.batches import take_members
from posteriori.distributions.composites.mixture import Mixture
from posteriori.distributions.counts.categorical import Categorical
from posteriori.distributions.labels import encode_labels
from posteriori.distributions.numbers.normal import Normal
from posteriori.distributions.vectors.mv_student_t import MvStudentT
from posteriori.distributions.vectors.mvnormal import MvNormal
from posteriori.inference.gaps.completed_rows import normals_from_covariances
from posteriori.inference.gaps.gap_patterns import gap_patterns
from posteriori.inference.gaps.normal_gaps import seen_log_densities
from posteriori.numerics.types import Array
from posteriori.numerics.validation import as_observation
from posteriori.sequence.row_mixtures import RowMixture

__all__ = ["EmissionDensities", "FamilyDensities", "RowDensities", "emission_densities"]


class RowDensities(Protocol):
    """Any object that a hidden chain may emit with."""

    def log_prob(self, x: Array) -> Array:
        """Return ln p(row | state) of what is seen of rows (T, D), (T, K)."""

    def sample(self, codes: Any, rng: np.random.Generator) -> Array:
        """Draw a row for each state code, (N, D)."""


class EmissionDensities(NamedTuple):
    """Densities of rows (T, D) for an object that has ``log_prob`` and ``sample`` of them."""

    densities: Any

    @property
    def scalar(self) -> bool:
        """Whether a row is a number: not known, so rows are vectors."""
        return False

    @property
    def n_regressors(self) -> int:
        """Entries behind those of a row, which it regresses on."""
        return int(getattr(self.densities, "n_regressors", 0))

    def read(self, x: Any) -> Array:
        """Return a sequence of the user as rows (T, D); NaN is missing."""
        rows = _rows(np.asarray(as_observation(x)))
        if self.n_regressors and rows.shape[1] != self.densities.width + self.n_regressors:
            raise ValueError(
                f"rows of this emission regress on {self.n_regressors} numbers, which must stand behind them; ask "
                "the HiddenMarkovModel, which puts lags and inputs there"
            )
        return rows

    def log_prob(self, x: Array) -> Array:
        """Return ln p(row | state), (T, K)."""
        return np.asarray(self.densities.log_prob(x))

    def sample(self, codes: Any, rng: np.random.Generator) -> Any:
        """Draw a row for each state code."""
        return self.densities.sample(codes, rng)

    def mix(self, probabilities: Array, width: int) -> RowMixture:
        """Return the mixtures of rows with weights (H, K): a batch (H,)."""
        if self.n_regressors:
            raise TypeError(
                "forecast needs rows that do not regress on others; draw continuations with the sample of the "
                "HiddenMarkovModel, given the rows before"
            )
        return RowMixture(probabilities, self, width)


class FamilyDensities(NamedTuple):
    """Densities of rows for a distribution: batch (K,) of whole rows, or (K, D) of columns."""

    family: Any

    @property
    def scalar(self) -> bool:
        """Whether a row is a number or a symbol."""
        return self.family.event_shape == () and len(self.family.batch_shape) == 1

    @property
    def width(self) -> int:
        """Entries of a row."""
        shape: tuple[int, ...] = (*self.family.batch_shape[1:], *self.family.event_shape)
        return shape[0] if shape else 1

    @property
    def _labels(self) -> Any:
        return getattr(self.family, "labels", None)

    def read(self, x: Any) -> Array:
        """Return a sequence of the user as rows (T, D); NaN is missing."""
        coded = x if self._labels is None else _encode(x, self._labels)
        rows = _rows(np.asarray(as_observation(coded)))
        if rows.shape[1] != self.width:
            raise ValueError(f"x must have {self.width} columns, got {rows.shape[1]}")
        if isinstance(self.family, Categorical) and self._labels is None:
            _check_codes(rows, self.family.n_categories)
        return rows

    def log_prob(self, x: Array) -> Array:
        """Return ln p(row | state) of what is seen, (T, K)."""
        if isinstance(self.family, MvNormal | MvStudentT) and np.isnan(x).any():
            return _seen_of_vectors(self.family, x)
        if self.family.event_shape:
            return _seen_log_prob(self.family, x)
        columns = range(x.shape[1])
        return np.asarray(sum(_seen_log_prob(self._column(d), x[:, d]) for d in columns))

    def sample(self, codes: Any, rng: np.random.Generator) -> Any:
        """Draw a row for each state code, in the form that users give."""
        drawn: Any = None
        for k in np.unique(codes):
            mine = codes == k
            some = np.asarray(take_members(self.family, int(k)).sample(int(mine.sum()), rng=rng))
            if drawn is None:
                drawn = np.empty((len(codes), *some.shape[1:]), dtype=some.dtype)
            drawn[mine] = some
        return drawn

    def mix(self, probabilities: Array, width: int) -> Any:
        """Return the mixtures of the states' distributions with weights (H, K): a batch (H,)."""
        if len(self.family.batch_shape) == 1:
            return Mixture(probabilities, self.family.iid(len(probabilities)))
        given = self.family._given_parameters()
        if isinstance(self.family, Normal):
            covs = np.eye(width) * self.family.variance[:, None, :]
            rows = MvNormal(self.family.mean, cov=covs)
            return Mixture(probabilities, rows.iid(len(probabilities)))
        turned = self.family._from(**{n: np.swapaxes(v, 0, 1) for n, v in given.items()})
        each = Mixture(probabilities[:, None, :], turned.iid(len(probabilities)))
        return RowMixture(probabilities, self, width, each)

    def _column(self, d: int) -> Any:
        return self.family if self.scalar else take_members(self.family, np.s_[:, d])


def emission_densities(emission: Any, n_states: int) -> EmissionDensities | FamilyDensities:
    """Read what the states emit: a distribution, or an object with ``log_prob`` and ``sample``."""
    if not isinstance(emission, Distribution):
        if hasattr(emission, "log_prob") and hasattr(emission, "sample"):
            return EmissionDensities(emission)
        raise TypeError(
            "emission must be a distribution whose first batch axis counts the states, such as "
            f"Normal([0, 3], variance=[1, 2]), or have log_prob and sample; got {emission!r}"
        )
    batch, event = emission.batch_shape, emission.event_shape
    if not batch or batch[0] != n_states or len(batch) + len(event) > 2:
        raise ValueError(
            f"emission must be a batch ({n_states},) of distributions of numbers or vectors, one per "
            f"state, or ({n_states}, D) of numbers, one per state and column; got batch {batch} and "
            f"events {event}"
        )
    return FamilyDensities(emission)


def _rows(x: Array) -> Array:
    if x.ndim not in (1, 2) or not x.size:
        raise ValueError(
            "x must be a sequence of at least one row, (T,) or (T, D); got an array of shape "
            f"{x.shape}"
        )
    if np.isinf(x).any():
        t = int(np.argmax(np.isinf(x).reshape(len(x), -1).any(axis=1)))
        raise ValueError(f"x must be finite, or NaN where it is missing; row {t} holds ±inf")
    return x[:, None] if x.ndim == 1 else x


def _check_codes(rows: Array, size: int) -> None:
    """Refuse numbers that are no symbols, which would be impossible under every state."""
    wrong = (rows != np.rint(rows)) | (rows < 0) | (rows >= size)
    wrong &= rows == rows
    if wrong.any():
        row, column = np.argwhere(wrong)[0]
        raise ValueError(
            f"x holds {rows[row, column]:g} in row {row}, but the symbols are the whole numbers 0 … {size - 1}; "
            "NaN is missing"
        )


def _encode(x: Sequence[Any], labels: Any) -> Array:
    """Turn labels into codes, and what is missing (None, NaN) into NaN."""
    symbols = np.asarray(x, dtype=object)
    seen = np.array([s is not None and s == s for s in symbols.ravel()]).reshape(symbols.shape)
    codes = np.full(symbols.shape, np.nan)
    codes[seen] = encode_labels(symbols[seen], labels)
    return codes


def _seen_of_vectors(family: Any, x: Array) -> Array:
    """Return ln p of the seen entries of rows, (T, K), of normals or Student's t."""
    if isinstance(family, MvNormal):
        normals = normals_from_covariances(family.mean, family.cov)
        return seen_log_densities(x, gap_patterns(x), normals)
    normals = normals_from_covariances(family.location, family.scale)
    dof = np.broadcast_to(family.dof, family.batch_shape)
    return seen_log_densities(x, gap_patterns(x), normals, dof)


def _seen_log_prob(members: Any, x: Array) -> Array:
    """Return ln p(x | member) (T, K) of x (T,) or (T, D), 0 where something of a row is missing."""
    seen = ~np.isnan(x).reshape(len(x), -1).any(axis=1)
    if getattr(members, "labels", None) is not None:  # rows hold codes
        members = Categorical(members.probabilities)
    rows = x[seen]
    if seen.all():
        return np.asarray(members.log_prob(rows[:, None]))
    scores = np.zeros((len(x), members.batch_shape[0]))
    if seen.any():
        scores[seen] = members.log_prob(rows[:, None])
    return scores
