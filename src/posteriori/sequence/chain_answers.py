"""What a learned hidden chain answers about sequences: states, their probabilities, densities."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from posteriori.inference.sequences.chain_paths import ChainLaws
from posteriori.inference.state_chains.hidden_markov import forward_backward, most_likely_path
from posteriori.inference.state_chains.run_lengths import most_likely_runs, smooth_runs
from posteriori.inference.state_chains.state_filters import filter_states
from posteriori.numerics.types import Array
from posteriori.sequence.chain_data import ChainData, condition_rows, lagged_rows, read_inputs
from posteriori.sequence.chain_parameters import log_of
from posteriori.sequence.hidden_markov_chain import HiddenMarkovChain
from posteriori.sequence.sequence_rows import (
    SequenceTable,
    Symbols,
    encode_rows,
    join_sequences,
    split_rows,
)

__all__ = ["AnswersAboutSequences"]


class _Asked(NamedTuple):
    """Sequences as their passes take them.

    ``laws`` are ln π, ln A (K, K) or (T, K, K), and of runs ln p(d); ``scores`` ln p(x_t | z_t) (T, K).
    """

    table: SequenceTable
    laws: tuple[Array, ...]
    scores: Array
    modelled: Array


class AnswersAboutSequences:
    """Questions to a model that has learned ``model_``."""

    lags: int
    inputs_to: str
    decoding: str
    symbols_: dict[int, Symbols]
    model_: HiddenMarkovChain
    _laws: ChainLaws
    _n_inputs: int

    def predict(self, X: Any, *, lengths: Any = None, inputs: Any = None) -> Any:
        """Return the state of each row: of the most probable path, or by itself (``decoding``).

        (T,), or a list of arrays for a list of sequences or with lengths.
        """
        if self.decoding == "marginal":
            table, probabilities, _ = self._smooth(X, lengths, inputs)
            return split_rows(probabilities.argmax(axis=1), table)
        table, laws, scores, _ = self._ask(X, lengths, inputs)
        pass_over = most_likely_path if len(laws) == 2 else most_likely_runs
        return split_rows(pass_over(*laws, scores, lengths=table.lengths).states, table)

    def predict_proba(self, X: Any, *, lengths: Any = None, inputs: Any = None) -> Any:
        """Return p(z_t = k | all rows of the sequence), (T, K), or a list of such arrays."""
        table, probabilities, _ = self._smooth(X, lengths, inputs)
        return split_rows(probabilities, table)

    def log_prob(self, X: Any, *, lengths: Any = None, inputs: Any = None, given: int = 0) -> Any:
        """Return ln p(x) of each sequence, (S,), or a number for one table.

        The first rows of each sequence, as many as lags or ``given``, are conditions.
        """
        asked, found = self._evidence(X, lengths, inputs, given)
        return found if asked.table.listed else np.float64(found[0])

    def score(
        self, X: Any, y: Any = None, *, lengths: Any = None, inputs: Any = None, given: int = 0
    ) -> float:
        """Return ln p(X) per row that is no condition."""
        asked, found = self._evidence(X, lengths, inputs, given)
        return float(found.sum() / max(asked.modelled.sum(), 1))

    def _smooth(self, X: Any, lengths: Any, inputs: Any) -> tuple[SequenceTable, Array, Array]:
        table, laws, scores, _ = self._ask(X, lengths, inputs)
        pass_over: Any = forward_backward if len(laws) == 2 else smooth_runs
        found = pass_over(*laws, scores, lengths=table.lengths)
        return table, found.probabilities, found.log_evidence

    def _evidence(self, X: Any, lengths: Any, inputs: Any, given: int) -> tuple[_Asked, Array]:
        asked = self._ask(X, lengths, inputs, given)
        pass_over: Any = filter_states if len(asked.laws) == 2 else smooth_runs
        found = pass_over(*asked.laws, asked.scores, lengths=asked.table.lengths)
        return asked, found.log_evidence

    def _ask(self, X: Any, lengths: Any, inputs: Any, given: int = 0) -> _Asked:
        check_is_fitted(self)
        table = join_sequences(X, lengths)
        x = encode_rows(self, table.table, self.symbols_, reset=False)
        data = self._data(table, x, inputs, given, self._n_inputs)
        learned = self._laws
        laws = [log_of(learned.initial), log_of(learned.transition)]
        if learned.driven is not None:
            laws[1] = learned.driven.log_transition(data.drivers)
        if learned.durations is not None:
            laws.append(log_of(learned.durations))
        return _Asked(table, tuple(laws), self.model_._scores(data.emitted), data.modelled)

    def _data(
        self, table: SequenceTable, x: Array, inputs: Any, given: int, width: int | None
    ) -> ChainData:
        """Return rows with what they regress on and what drives their transitions."""
        if (inputs is None) != (not width) and width is not None:
            needs = "needs inputs=, as fit had them" if width else "has learned without inputs"
            raise ValueError(f"the model {needs}")
        u = None if inputs is None else read_inputs(inputs, table, width)
        parts = [lagged_rows(x, table.lengths, int(self.lags))] if self.lags else []
        if u is not None and self.inputs_to in ("emissions", "both"):
            parts.append(u)
        conditions = condition_rows(table.lengths, max(int(self.lags), given))
        rows = np.where(conditions[:, None], np.nan, x) if conditions.any() else x
        drivers = u if self.inputs_to in ("transitions", "both") else None
        regressors = np.concatenate(parts, axis=1) if parts else None
        return ChainData(table, rows, regressors, drivers, ~conditions)
