r"""Hidden Markov models learned from sequences, with beliefs and evidence, or the most likely.

.. math:: p(x, z\mid θ) = π_{z_1}\prod_{t=2}^T A_{z_{t-1}z_t}\prod_{t=1}^T p(x_t\mid φ_{z_t}).

References: L. Rabiner, "A tutorial on hidden Markov models", 1989; C. Bishop, "Pattern recognition and
machine learning", 2006, sec. 13.2; D. MacKay, "Ensemble learning for hidden Markov models", 1997.
"""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator, DensityMixin
from sklearn.utils.validation import check_is_fitted

from posteriori.estimators.estimator_rows import column_names
from posteriori.estimators.parameters import AT_LEAST_ONE, NOT_NEGATIVE, check_parameters, one_of
from posteriori.inference.sequences.chain_ascent import KnownChain, ascend_from
from posteriori.inference.sequences.chain_learning import (
    LearnedChain,
    learn_chain,
    summarize_ascent,
)
from posteriori.inference.sequences.chain_paths import ChainPaths
from posteriori.inference.sequences.chain_rows import ChainRows
from posteriori.inference.sequences.chain_starts import ChainSearch
from posteriori.inference.sequences.evidence_draws import draw_evidence, is_exchangeable
from posteriori.inference.state_chains.hidden_markov import forward_backward, most_likely_path
from posteriori.inference.state_chains.state_filters import filter_states
from posteriori.numerics.evidence import Fingerprint, LogEvidence
from posteriori.numerics.random import as_generator
from posteriori.numerics.types import Array, Seed
from posteriori.numerics.warnings import ConvergenceWarning
from posteriori.sequence.chain_parameters import log_of
from posteriori.sequence.emission_choice import (
    Choice,
    choose_emission,
    columns_by_family,
    is_alike,
)
from posteriori.sequence.hidden_markov_chain import HiddenMarkovChain, HiddenMarkovSample
from posteriori.sequence.sequence_rows import (
    SequenceTable,
    check_states,
    check_weights,
    encode_rows,
    join_sequences,
    learn_symbols,
    raw_rows,
    split_rows,
)
from posteriori.sequence.transition_laws import (
    allowed_moves,
    initial_law,
    transition_law,
    warn_of_states_never_left,
)

__all__ = ["HiddenMarkovBeliefs", "HiddenMarkovModel"]

_WHOLE = AT_LEAST_ONE._replace(words="be a whole number >= 1", whole=True)

#: What is learned of parameters by each method.
_ESTIMATES = {"variational": "belief", "em": "likelihood", "map": "mode", "viterbi": "likelihood"}

#: Fewer effective draws than this say little about the error of an estimate.
_FEW = 20


class HiddenMarkovBeliefs(NamedTuple):
    """What is believed of the parameters of a hidden Markov model.

    Attributes
    ----------
    initial : Dirichlet
        Of the first state.
    transition : Dirichlet, a batch of K
        Of the rows of A; a tuple of K over the allowed moves where some are not.
    emission : distribution
        Of what the states emit, a batch (K,) or (K, D); by family where columns have several.
    """

    initial: Any
    transition: Any
    emission: Any


class HiddenMarkovModel(DensityMixin, BaseEstimator):
    """A hidden Markov model.

    Parameters
    ----------
    n_states : int
        Number of states K.
    emission : str, class, or mapping
        What states emit: "normal" (each column by itself), "mvnormal" (rows), "categorical" (symbols of any
        kind), "poisson" (counts), "student-t", "mixture" (of normal rows); any class with
        ``fit(x, weights)`` whose answer has ``log_prob``; or a mapping from every column, by name or
        number, to one of these.
    method : {"variational", "em", "map", "viterbi"}
        "variational" has beliefs and a bound of the evidence; "em" the most likely parameters; "map" those of
        highest posterior density; "viterbi" those most likely together with one path of states.
    covariance : {"full", "spherical", "shared"}
        Of "mvnormal" and "mixture"; all but "full" by "em" or "viterbi".
    mixture_components : int
        Of the mixture of each state.
    transitions : {"full", "left-to-right"} or (K, K) of bool
        Which moves are allowed, from row to column. What is not allowed has probability 0 under every method.
    initial_concentration, transition_concentration : float or array
        Of the Dirichlet priors of the first state, and of each row of transitions.
    self_concentration : float
        Added to the concentration of staying.
    emission_prior : distribution, optional
        Conjugate, one for all states: of "normal" a ``NormalInverseGamma`` or ``NormalGamma``, or a pair
        (Normal, Gamma) of independent priors of mean and precision; of "mvnormal" a ``NormalWishart`` or
        ``NormalInverseWishart``; of "categorical" a ``Dirichlet``; of "poisson" a ``Gamma``. With several
        families a mapping from family to prior. By default proper, on the scale of the data.
    decoding : {"viterbi", "marginal"}
        Whether :meth:`predict` returns the most probable path, or each row's most probable state.
    start : HiddenMarkovChain, optional
        Where to begin; by default at clusters of rows.
    n_init : int
        Starts that are tried.
    max_iter : int
        Steps of an ascent.
    tol : float
        Gain of the last step, in nats.
    accelerated : bool
        Whether slow steps may be followed by a jump to where they lead.
    callback : callable, optional
        Is told the number of the step and the objective, and stops the ascent by answering True.
    random_state : int, Generator or None

    Attributes
    ----------
    model_ : HiddenMarkovChain
        At the estimates; with beliefs at their means, and the emission what they predict.
    posterior_ : HiddenMarkovBeliefs
        ``initial``, ``transition``, ``emission`` ("variational").
    log_evidence_ : LogEvidence
        A bound of ln p(X), which counts one order of the states; exact for one state, and where all
        states are known ("variational").
    log_likelihood_ : float
        ln p(X), with "viterbi" ln p(X, z) ("em", "map", "viterbi").
    n_parameters_ : int
        Free parameters, where they can be counted ("em", "map", "viterbi").
    symbols_ : mapping from column to its symbols
    trace_ : array
        The objective at the start and after every step.
    n_iter_, converged_
        How the ascent ended.

    Notes
    -----
    Data are a table (T, D), one sequence or several by ``lengths=``, or a list of tables. NaN is missing: by
    entry of "normal", "mvnormal", "mixture", "categorical" and "poisson", by row of a class of
    vectors. There is no ``sample_weight``: a sequence counts as often as ``sequence_weight`` says. O(T K²)
    a step, and nothing of size S K² is kept. Ctrl-C ends the ascent and keeps what was learned. States are
    named by how many rows they have, unless the prior, labels or a start tell them apart.

    Examples
    --------
    >>> from posteriori.datasets import load_old_faithful
    >>> X = load_old_faithful().data
    >>> m = HiddenMarkovModel(2, emission="mvnormal", random_state=0).fit(X)
    >>> m.model_.transition.round(2)  # a short eruption is followed by a long one
    array([[0.47, 0.53],
           [0.94, 0.06]])
    >>> m.predict(X[:6])
    array([0, 1, 0, 1, 0, 1])
    >>> m.log_evidence_.kind, m.estimate_evidence(200).kind
    ('bound', 'estimate')
    """

    _constraints = {
        "n_states": _WHOLE,
        "method": one_of("variational", "em", "map", "viterbi", mark='"'),
        "covariance": one_of("full", "spherical", "shared", mark='"'),
        "mixture_components": _WHOLE,
        "self_concentration": NOT_NEGATIVE,
        "decoding": one_of("viterbi", "marginal", mark='"'),
        "n_init": _WHOLE,
        "max_iter": _WHOLE,
        "tol": NOT_NEGATIVE,
    }

    def __init__(
        self,
        n_states: int = 2,
        emission: Any = "normal",
        method: str = "variational",
        *,
        covariance: str = "full",
        mixture_components: int = 2,
        transitions: Any = "full",
        initial_concentration: Any = 1.0,
        transition_concentration: Any = 1.0,
        self_concentration: float = 0.0,
        emission_prior: Any = None,
        decoding: str = "viterbi",
        start: HiddenMarkovChain | None = None,
        n_init: int = 5,
        max_iter: int = 1000,
        tol: float = 1e-6,
        accelerated: bool = True,
        callback: Any = None,
        random_state: Any = None,
    ) -> None:
        self.n_states = n_states
        self.emission = emission
        self.method = method
        self.covariance = covariance
        self.mixture_components = mixture_components
        self.transitions = transitions
        self.initial_concentration = initial_concentration
        self.transition_concentration = transition_concentration
        self.self_concentration = self_concentration
        self.emission_prior = emission_prior
        self.decoding = decoding
        self.start = start
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.accelerated = accelerated
        self.callback = callback
        self.random_state = random_state

    # -- learning ----------------------------------------------------------------------------

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        lengths: Any = None,
        states: Any = None,
        sequence_weight: Any = None,
    ) -> Self:
        """Learn from sequences.

        Parameters
        ----------
        X : (T, D), or a list of them
            NaN is missing.
        y : ignored
        lengths : (S,), optional
            Rows of each sequence, where X is one table.
        states : (T,), or a list of arrays, optional
            Known states, 0 to K − 1; −1 where one is unknown. Where all are known, learning is counting.
        sequence_weight : (S,), optional
            Frequencies >= 0: equal to repeated sequences.
        """
        check_parameters(self)
        table = join_sequences(X, lengths)
        x = self._read_first(table)
        rows = ChainRows(
            table.lengths,
            check_weights(sequence_weight, table.lengths),
            check_states(states, table, self.n_states),
        )
        emission = choose_emission(self._places, self.emission_prior, self._choice(x, rows))
        paths = self._paths(rows)
        found = self._ascend(paths, emission, rows, x)
        self._keep(paths, emission, rows, x, found)
        return self

    def _read_first(self, table: SequenceTable) -> Array:
        """Return rows as numbers, and learn which columns hold which symbols."""
        values = raw_rows(self, table.table, reset=True)
        self._places = columns_by_family(self.emission, column_names(self))
        known = _known_symbols(self.start)
        self.symbols_ = {
            d: known or learn_symbols(values[:, d]) for d in self._places.get("categorical", ())
        }
        x = encode_rows(self, table.table, self.symbols_, reset=False)
        if len(x) < self.n_states:
            raise ValueError(
                f"n_states={self.n_states} is more than the n_samples={len(x)} rows of X; lower n_states"
            )
        empty = np.isnan(x).all(axis=0)
        if empty.any():
            name = column_names(self)[int(np.argmax(empty))]
            raise ValueError(f"{name} of X is missing in all rows; leave it out")
        return x

    @property
    def _estimate(self) -> Any:
        return _ESTIMATES[self.method]

    def _choice(self, x: Array, rows: ChainRows) -> Choice:
        return Choice(
            x,
            rows.frequency,
            int(self.n_states),
            self._estimate,
            self.covariance,
            int(self.mixture_components),
            self.symbols_,
            as_generator(self.random_state),
        )

    def _paths(self, rows: ChainRows) -> ChainPaths:
        k, estimate = int(self.n_states), self._estimate
        allowed = allowed_moves(self.transitions, k)
        alpha = self.transition_concentration
        return ChainPaths(
            rows,
            initial_law(self.initial_concentration, k, estimate),
            transition_law(alpha, self.self_concentration, allowed, estimate),
            hard=self.method == "viterbi",
        )

    def _ascend(self, paths: ChainPaths, emission: Any, rows: ChainRows, x: Array) -> LearnedChain:
        options = {"tol": self.tol, "accelerated": self.accelerated, "callback": self.callback}
        if self.start is not None:
            known = self._known_chain(x)
            likelihood = self._estimate == "likelihood"
            ascent = ascend_from(
                paths, emission, known, likelihood=likelihood, max_iter=self.max_iter, **options
            )
            return summarize_ascent(paths, emission, ascent)
        numbers = [d for d in range(x.shape[1]) if d not in self.symbols_]
        search = ChainSearch(
            int(self.n_states),
            int(self.n_init),
            not np.tril(paths.transition.possible, -1).any() and self.n_states > 1,
            x[:, numbers] if numbers else None,
            None if numbers else np.unique(x, axis=0, return_inverse=True)[1].ravel(),
            as_generator(self.random_state),
            int(self.max_iter),
            options,
        )
        alike = is_alike(self.emission_prior, self.n_states) and is_exchangeable(paths)
        by_size = alike and rows.labels is None
        return learn_chain(paths, emission, rows, search, by_size=by_size)

    def _known_chain(self, x: Array) -> KnownChain:
        start = self.start
        if not isinstance(start, HiddenMarkovChain) or start.n_states != self.n_states:
            raise ValueError(
                f"start must be a HiddenMarkovChain of {self.n_states} states, got {start!r}"
            )
        return KnownChain(*start._logs, start._scores(x))

    def _keep(
        self, paths: ChainPaths, emission: Any, rows: ChainRows, x: Array, found: LearnedChain
    ) -> None:
        """Set what was learned."""
        for name in ("posterior_", "log_evidence_", "log_likelihood_", "n_parameters_"):
            self.__dict__.pop(name, None)
        first, moves = found.sums[:2]
        learned = emission.learn(found.sums[2:])
        warn_of_states_never_left(rows, moves)
        self.model_ = HiddenMarkovChain(*paths.learn(found.sums[:2]), learned.emission)
        self.trace_, self.n_iter_, self.converged_ = found.trace, found.n_iter, found.converged
        self._learned = paths, emission, found.sums
        self._fingerprint = Fingerprint().update(x, rows.frequency)
        if self._estimate != "belief":
            self.log_likelihood_ = found.log_likelihood
            if learned.n_parameters:
                free = (paths.transition.possible.sum(axis=1) - 1).sum() + self.n_states - 1
                self.n_parameters_ = int(free) + self.n_states * learned.n_parameters
            return
        self.posterior_ = HiddenMarkovBeliefs(
            paths.initial.belief(first), paths.transition.belief(moves), learned.beliefs
        )
        certain = self.n_states == 1 or rows.all_labelled
        self.log_evidence_ = LogEvidence(
            found.objective,
            kind="exact" if certain and emission.exact else "bound",
            of="X" if rows.labels is None else "X,states",
            fingerprint=self._fingerprint,
        )

    def estimate_evidence(
        self, draws: int = 2000, random_state: Seed = 0, callback: Any = None
    ) -> LogEvidence:
        """Return an estimate of ln p(X) with its error, by draws from the beliefs and wider ones.

        All orders of the states that the prior does not tell apart are counted, of more than six states
        by adding ln K!; so that different numbers of states compare.

        Parameters
        ----------
        draws : int
        random_state : int or Generator
        callback : callable, optional
            Is called after each draw.

        Warns
        -----
        ConvergenceWarning
            When few draws carry all the weight: then the error is larger than it says.
        """
        check_is_fitted(self)
        if self._estimate != "belief":
            raise ValueError('evidence needs beliefs: fit with method="variational"')
        paths, emission, sums = self._learned
        if not hasattr(emission, "draw"):
            raise ValueError(
                "evidence of mixtures in states cannot be drawn; compare log_evidence_"
            )
        alike = is_alike(self.emission_prior, self.n_states)
        rng = as_generator(random_state)
        found = draw_evidence(paths, emission, sums, draws, rng, alike=alike, progress=callback)
        if found.added:
            warnings.warn(
                f"orders of {self.n_states} states are counted by adding ln {self.n_states}! = {found.added:.2f}",
                UserWarning,
                stacklevel=2,
            )
        if found.effective < min(_FEW, draws / 2):
            warnings.warn(
                f"{found.effective:.1f} of {draws} draws carry the estimate: its error is larger than "
                f"{found.error:.2g}; raise draws",
                ConvergenceWarning,
                stacklevel=2,
            )
        of = "X" if paths.rows.labels is None else "X,states"
        return LogEvidence(
            found.value, kind="estimate", of=of, fingerprint=self._fingerprint, error=found.error
        )

    # -- asking ------------------------------------------------------------------------------

    def predict(self, X: Any, *, lengths: Any = None) -> Any:
        """Return the state of each row: of the most probable path, or by itself (``decoding``).

        (T,), or a list of arrays for a list of sequences or with lengths.
        """
        if self.decoding == "marginal":
            table, scores = self._scores(X, lengths)
            found = forward_backward(*self._logs, scores, lengths=table.lengths)
            return split_rows(found.probabilities.argmax(axis=1), table)
        table, scores = self._scores(X, lengths)
        path = most_likely_path(*self._logs, scores, lengths=table.lengths)
        return split_rows(path.states, table)

    def predict_proba(self, X: Any, *, lengths: Any = None) -> Any:
        """Return p(z_t = k | all rows of the sequence), (T, K), or a list of such arrays."""
        table, scores = self._scores(X, lengths)
        found = forward_backward(*self._logs, scores, lengths=table.lengths)
        return split_rows(found.probabilities, table)

    def log_prob(self, X: Any, *, lengths: Any = None) -> Any:
        """Return ln p(x) of each sequence, (S,), or a number for one table."""
        table, scores = self._scores(X, lengths)
        found = filter_states(*self._logs, scores, lengths=table.lengths).log_evidence
        return found if table.listed else np.float64(found[0])

    def score(self, X: Any, y: Any = None, *, lengths: Any = None) -> float:
        """Return ln p(X) per row."""
        table, scores = self._scores(X, lengths)
        found = filter_states(*self._logs, scores, lengths=table.lengths).log_evidence
        return float(found.sum() / len(scores))

    def sample(self, length: int = 1, rng: Seed = None) -> HiddenMarkovSample:
        """Draw a sequence of states and rows."""
        check_is_fitted(self)
        return self.model_.sample(length, rng=rng)

    @property
    def _logs(self) -> tuple[Array, Array]:
        return log_of(self.model_.initial), log_of(self.model_.transition)

    def _scores(self, X: Any, lengths: Any) -> tuple[SequenceTable, Array]:
        check_is_fitted(self)
        table = join_sequences(X, lengths)
        x = encode_rows(self, table.table, self.symbols_, reset=False)
        return table, self.model_._scores(x)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        kinds = set(self.emission.values()) if isinstance(self.emission, dict) else {self.emission}
        tags.input_tags.categorical = tags.input_tags.positive_only = kinds <= {
            "categorical",
            "poisson",
        }
        return tags


def _known_symbols(start: HiddenMarkovChain | None) -> Any:
    """Return the symbols that a chain to begin from emits."""
    emission = getattr(start, "emission", None)
    if not hasattr(emission, "n_categories"):
        return None
    return emission.labels or tuple(range(emission.n_categories))
