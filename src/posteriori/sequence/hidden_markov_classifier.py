r"""Sequences told apart by a hidden Markov model for each class.

.. math:: p(m\mid X) = \frac{p(m)\,p(X\mid θ_m)}{\sum_c p(c)\,p(X\mid θ_c)}.

Generative training raises :math:`\sum_r \ln p(X_r, m_r)`, class by class; discriminative training
:math:`\sum_r \ln p(m_r\mid X_r)`, all classes together, from there on.

Reference: L. Bahl et al., "Maximum mutual information estimation of hidden Markov model parameters for
speech recognition", 1986.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from posteriori.distributions.vectors.dirichlet import Dirichlet
from posteriori.estimators.base.base_estimator import BaseEstimator
from posteriori.estimators.estimator_rows import column_names
from posteriori.estimators.parameters import NOT_NEGATIVE, WHOLE, check_parameters, one_of
from posteriori.inference.mixtures.likelihood_ascent import PartsShape
from posteriori.inference.mixtures.mixture_rows import CompleteRows, GappyRows
from posteriori.inference.sequences.chain_rows import ChainRows
from posteriori.inference.sequences.discriminative_ascent import (
    ClassParameters,
    DiscriminativeProblem,
    climb_discriminatively,
)
from posteriori.inference.sequences.flat_emissions import (
    FlatCounts,
    FlatEmission,
    FlatNormals,
    FlatSymbols,
)
from posteriori.inference.state_chains.hidden_markov import impossible_steps
from posteriori.inference.state_chains.state_filters import filter_states
from posteriori.numerics.logspace import log_softmax
from posteriori.numerics.types import Array, IntArray
from posteriori.sequence.chain_parameters import log_of
from posteriori.sequence.hidden_markov_chain import HiddenMarkovChain
from posteriori.sequence.hidden_markov_model import HiddenMarkovModel
from posteriori.sequence.learning.emission_choice import columns_by_family
from posteriori.sequence.learning.transition_laws import allowed_moves
from posteriori.sequence.sequence_rows import (
    SequenceTable,
    check_weights,
    encode_rows,
    join_sequences,
    learn_symbols,
    raw_rows,
)

__all__ = ["HiddenMarkovClassifier"]


#: Emissions that have a gradient.
_SMOOTH = ("normal", "mvnormal", "categorical", "poisson")


class HiddenMarkovClassifier(ClassifierMixin, BaseEstimator):
    """A hidden Markov model for each class of sequences.

    Parameters
    ----------
    n_states : int
        States of each class.
    emission : str, class, or mapping
        As of :class:`HiddenMarkovModel`; discriminative training takes "normal", "mvnormal",
        "categorical" or "poisson".
    method : {"generative", "discriminative"}
        Whether each class learns its own sequences, or all learn to tell them apart, beginning there.
    transitions : {"full", "left-to-right"} or (K, K) of bool
        Which moves are allowed.
    n_init, max_iter, tol
        Of the ascents.
    callback : callable, optional
        Is told the number of the step and the objective, and stops the ascent by answering True.
    random_state : int, Generator or None

    Attributes
    ----------
    classes_ : (C,)
        Labels in their order.
    class_log_prior_ : (C,)
    models_ : tuple of C HiddenMarkovChain
    objective_ : float
        Σ ln p(label | sequence) of the sequences of ``fit``, by their weights, under either training.
    symbols_ : mapping from column to its symbols
    trace_ : array
        The objective at the start and after each step of discriminative training.

    Notes
    -----
    ``fit`` takes a list of sequences, or one table with ``lengths``; NaN is missing. Each step costs two passes over all rows for each class.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> slow = [np.repeat(rng.normal(size=6), 5)[:, None] for _ in range(8)]
    >>> fast = [rng.normal(size=(30, 1)) for _ in range(8)]
    >>> model = HiddenMarkovClassifier(3, random_state=0).fit(
    ...     slow + fast, ["slow"] * 8 + ["fast"] * 8
    ... )
    >>> model.predict([np.repeat([1.0, -1.0, 0.5], 6)[:, None], rng.normal(size=(18, 1))])
    array(['slow', 'fast'], dtype='<U4')
    """

    _constraints = {
        "n_states": WHOLE,
        "method": one_of("generative", "discriminative", mark='"'),
        "n_init": WHOLE,
        "max_iter": WHOLE,
        "tol": NOT_NEGATIVE,
    }

    def __init__(
        self,
        n_states: int = 2,
        emission: Any = "normal",
        method: str = "generative",
        *,
        transitions: Any = "full",
        n_init: int = 5,
        max_iter: int = 1000,
        tol: float = 1e-6,
        callback: Any = None,
        random_state: Any = None,
    ) -> None:
        self.n_states = n_states
        self.emission = emission
        self.method = method
        self.transitions = transitions
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.callback = callback
        self.random_state = random_state

    def fit(self, X: Any, y: Any, *, lengths: Any = None, sequence_weight: Any = None) -> Self:
        """Learn from labelled sequences.

        Parameters
        ----------
        X : list of (T, D), or one table with ``lengths``
        y : (S,)
            A label for each sequence.
        lengths : (S,), optional
        sequence_weight : (S,), optional
            Frequencies >= 0: equal to repeated sequences.
        """
        check_parameters(self)
        table = join_sequences(X, lengths)
        labels = np.asarray(y)
        if labels.shape != table.lengths.shape:
            raise ValueError(
                f"y must hold a label for each of the {len(table.lengths)} sequences, got shape {labels.shape}"
            )
        weights = check_weights(sequence_weight, table.lengths)
        x = self._read_first(table)
        self.classes_, codes = np.unique(labels, return_inverse=True)
        counts = np.bincount(codes, weights)
        if not counts.all():
            never = self.classes_[int(np.argmin(counts))]
            raise ValueError(
                f"all sequences of class {never} have sequence_weight 0; leave them out"
            )
        if len(counts) < 2:
            raise ValueError(f"y must hold at least 2 classes, got 1 class: {self.classes_[0]!r}")
        self.class_log_prior_ = np.log(counts / counts.sum())
        rows = ChainRows(table.lengths, weights)
        self.models_ = tuple(self._learn_class(x, rows, codes == c) for c in range(len(counts)))
        if self.method == "discriminative":
            self._tell_apart(x, rows, codes)
        chosen = self._log_posterior(x, table)[np.arange(len(codes)), codes]
        self.objective_ = rows.sum_sequences(chosen)
        if self.method == "generative":
            self.trace_ = np.array([self.objective_])
        return self

    def predict_log_proba(self, X: Any, *, lengths: Any = None) -> Array:
        """Return ln p(class | sequence), (S, C)."""
        check_is_fitted(self)
        table = join_sequences(X, lengths)
        x = encode_rows(self, table.table, self.symbols_, reset=False)
        return self._log_posterior(x, table)

    def predict_proba(self, X: Any, *, lengths: Any = None) -> Array:
        """Return p(class | sequence), (S, C)."""
        return np.exp(self.predict_log_proba(X, lengths=lengths))

    def predict(self, X: Any, *, lengths: Any = None) -> Any:
        """Return the most probable class of each sequence, (S,)."""
        return self.classes_[self.predict_log_proba(X, lengths=lengths).argmax(axis=1)]

    # -- learning ----------------------------------------------------------------------------

    def _read_first(self, table: SequenceTable) -> Array:
        """Return rows as numbers, with the symbols of all classes."""
        values = raw_rows(self, table.table, reset=True)
        places = columns_by_family(self.emission, column_names(self))
        symbolic = places.get("categorical", ())
        self.symbols_ = {d: learn_symbols(values[:, d]) for d in symbolic}
        return encode_rows(self, table.table, self.symbols_, reset=False)

    def _learn_class(self, x: Array, rows: ChainRows, own: Array) -> HiddenMarkovChain:
        """Learn the sequences of one class, symbols as codes of all."""
        mine, lengths = x[np.repeat(own, rows.lengths)], rows.lengths[own]
        weights = None if rows.weights is None else rows.weights[own]
        model = HiddenMarkovModel(
            self.n_states,
            self.emission,
            "map" if self.symbols_ else "em",
            transitions=self.transitions,
            emission_prior=self._flat_prior(),
            n_init=self.n_init,
            max_iter=self.max_iter,
            tol=self.tol,
            random_state=self.random_state,
        )
        return model.fit(mine, lengths=lengths, sequence_weight=weights).model_

    def _flat_prior(self) -> Any:
        """Return a prior that says nothing but which symbols there are, or None."""
        if not self.symbols_:
            return None
        tables = [Dirichlet(np.ones(len(symbols))) for symbols in self.symbols_.values()]
        return {"categorical": tables} if isinstance(self.emission, Mapping) else tables

    def _tell_apart(self, x: Array, rows: ChainRows, codes: Any) -> None:
        """Go on to the parameters that tell the sequences apart best."""
        emission = self._flat_emission(x)
        allowed = allowed_moves(self.transitions, int(self.n_states))
        problem = DiscriminativeProblem(
            rows,
            codes,
            len(self.models_),
            int(self.n_states),
            allowed,
            emission,
        )
        begun = [
            ClassParameters(log_of(m.initial), log_of(m.transition), emission.pack(m.emission))
            for m in self.models_
        ]
        start = problem.pack(self.class_log_prior_, begun)
        found, self.trace_, self.converged_ = climb_discriminatively(
            problem, start, tol=self.tol, max_iter=int(self.max_iter), callback=self.callback
        )
        self.class_log_prior_, classes = problem.unpack(found)
        self.models_ = tuple(
            HiddenMarkovChain(np.exp(c.initial), np.exp(c.transition), emission.unpack(c.emission))
            for c in classes
        )

    def _flat_emission(self, x: Array) -> FlatEmission:
        if self.emission not in _SMOOTH or (self.emission == "categorical" and x.shape[1] > 1):
            raise ValueError(
                'method="discriminative" takes emission "normal", "mvnormal", "poisson" or one column '
                f'of "categorical"; got {self.emission!r}'
            )
        if self.emission == "categorical":
            symbols = self.symbols_[0]
            plain = symbols == tuple(range(len(symbols)))
            coded = np.where(x[:, 0] == x[:, 0], x[:, 0], -1.0).astype(np.intp)
            return FlatSymbols(coded, len(symbols), None if plain else symbols)
        if self.emission == "poisson":
            return FlatCounts(x)
        constant = np.fmax.reduce(x, axis=0) == np.fmin.reduce(x, axis=0)
        if constant.any():
            raise ValueError(
                f"column {int(np.argmax(constant))} of X is constant and has no density; leave it out"
            )
        kind = "diagonal" if self.emission == "normal" else "full"
        shape = PartsShape(int(self.n_states), x.shape[1], kind)
        if np.isnan(x).any():
            return FlatNormals(GappyRows.of(x, None, kind), shape)
        return FlatNormals(CompleteRows.of(x, None, kind), shape)

    def _log_posterior(self, x: Array, table: SequenceTable) -> Array:
        joint = np.stack([_log_evidence(m, x, table.lengths) for m in self.models_], axis=1)
        joint += self.class_log_prior_
        never = np.isneginf(joint).all(axis=1)
        if never.any():
            raise ValueError(
                f"sequence {int(np.argmax(never))} of X is impossible under every class"
            )
        return log_softmax(joint, axis=1)


def _log_evidence(model: HiddenMarkovChain, x: Array, lengths: IntArray) -> Array:
    """Return ln p(x) of each sequence, (S,); −inf where it is impossible."""
    scores, laws = model._scores(x), (log_of(model.initial), log_of(model.transition))
    possible = impossible_steps(*laws, scores, lengths=lengths) < 0
    found = np.full(len(lengths), -np.inf)
    if possible.any():
        at = np.repeat(possible, lengths)
        kept = filter_states(*laws, scores[at], lengths=lengths[possible])
        found[possible] = kept.log_evidence
    return found
