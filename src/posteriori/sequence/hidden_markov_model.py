r"""Hidden Markov models learned from sequences, with beliefs and evidence, or the most likely.

.. math:: p(x, z\mid θ) = π_{z_1}\prod_{t=2}^T A_{z_{t-1}z_t}\prod_{t=1}^T p(x_t\mid φ_{z_t}).

References: L. Rabiner, "A tutorial on hidden Markov models", 1989; C. Bishop, "Pattern recognition and
machine learning", 2006, sec. 13.2; D. MacKay, "Ensemble learning for hidden Markov models", 1997.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import DensityMixin
from sklearn.utils.validation import check_is_fitted

from posteriori.distributions.counts.categorical import Categorical
from posteriori.estimators.approximate_posterior import DrawsItsPosterior, Unweighed
from posteriori.estimators.base.base_estimator import BaseEstimator
from posteriori.estimators.estimator_rows import column_names
from posteriori.estimators.parameters import (
    NOT_NEGATIVE,
    WHOLE,
    check_parameters,
    covariance_of,
    one_of,
    or_none,
)
from posteriori.inference.latent.ascent import Found
from posteriori.inference.latent.namings import naming_gain
from posteriori.inference.sequences.chain_rows import ChainRows
from posteriori.inference.sequences.driven_paths import DrivenPaths
from posteriori.inference.weighing.approximate_beliefs import ApproximateBelief
from posteriori.numerics.evidence import Fingerprint, Kind, LogEvidence
from posteriori.numerics.types import Array, Seed
from posteriori.sequence.hidden_markov_chain import HiddenMarkovChain, HiddenMarkovSample
from posteriori.sequence.learning.chain_answers import AnswersAboutSequences
from posteriori.sequence.learning.chain_data import ChainData, read_inputs
from posteriori.sequence.learning.chain_fit import (
    build_emission,
    build_paths,
    estimate_of,
    learn_model,
)
from posteriori.sequence.learning.drawn_sequences import draw_sequence
from posteriori.sequence.learning.emission_choice import columns_by_family, is_alike
from posteriori.sequence.learning.emission_priors import prior_sizes
from posteriori.sequence.learning.model_evidence import (
    HiddenMarkovBeliefs,
    belief_of,
    draw_model_evidence,
)
from posteriori.sequence.learning.transition_laws import warn_of_states_never_left
from posteriori.sequence.sequence_rows import (
    SequenceTable,
    Symbols,
    check_weights,
    encode_rows,
    join_sequences,
    learn_symbols,
    raw_rows,
    read_states,
)

__all__ = ["HiddenMarkovModel"]

#: What a fit may leave, by its method.
_LEARNED = ("posterior_", "log_evidence_", "symmetry_gain_", "log_likelihood_", "n_parameters_")


class HiddenMarkovModel(AnswersAboutSequences, DrawsItsPosterior, DensityMixin, BaseEstimator):
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
        Of "mvnormal" and "mixture": each state's own, a number times the identity, or one for all states.
    mixture_components : int
        Of the mixture of each state.
    transitions : {"full", "left-to-right"} or (K, K) of bool
        Which moves are allowed, from row to column. What is not allowed has probability 0 under every method.
    initial_concentration : float or array, optional
        Of the Dirichlet prior of the first state. By default 1/K, as of the weights of mixtures, which the
        first states of many short sequences are; of "map" 1, whose densities have no mode below.
    transition_concentration : float or array
        Of the Dirichlet prior of each row of transitions: 1, not 1/K, which expects of a state that it leads to
        hardly more than one other and takes states away that rows need where chains often change.
    self_concentration : float
        Added to the concentration of staying.
    emission_prior : distribution, optional
        Conjugate, one for all states: of "normal" a ``NormalInverseGamma`` or ``NormalGamma``, or a pair
        (Normal, Gamma) of independent priors of mean and precision; of "mvnormal" a ``NormalWishart`` or
        ``NormalInverseWishart``, which of spherical covariances is taken given that they are spherical; of "categorical" a ``Dirichlet``; of "poisson" a ``Gamma``. With several
        families a mapping from family to prior. By default proper, on the scale of the data.
    durations : {"geometric", "table", "poisson", "negative-binomial"}
        Laws of the lengths of runs: of a plain chain; a table of lengths 1, …, ``max_duration`` for each state;
        one more than a Poisson or negative binomial number (by "em" or "viterbi"). All but "geometric" have
        moves to other states only; the end of a sequence cuts its last run.
    max_duration : int, optional
        Rows of the longest run; by default of the longest sequence, at most 100.
    lags : int
        Earlier rows that rows regress on, of "normal" and "mvnormal" emissions; the first so many rows of a
        sequence are conditions.
    inputs_to : {"emissions", "transitions", "both"}
        What the ``inputs`` of :meth:`fit` speak to: the means of "normal" and "mvnormal" emissions, linearly,
        or the log odds of transitions (by "em", "map" or "viterbi").
    decoding : {"viterbi", "marginal"}
        Whether :meth:`predict` returns the most probable path, or each row's most probable state.
    start : HiddenMarkovChain, optional
        Where to begin; by default at clusters of rows. With run lengths a plain chain begins with geometric
        ones; with inputs, one that these do not speak to.
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
        A bound of ln p(X) that counts all namings of the states that neither the prior nor labels tell apart;
        exact for one state, and where all states are known ("variational").
    symmetry_gain_ : float
        What counting the namings added ("variational").
    log_likelihood_ : float
        ln p(X), with "viterbi" ln p(X, z) ("em", "map", "viterbi").
    n_parameters_ : int
        Free parameters, where they can be counted ("em", "map", "viterbi").
    symbols_ : mapping from column to its symbols
    trace_ : array
        The objective at the start and after every step, of one naming.
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
    array([[0.48, 0.52],
           [0.93, 0.07]])
    >>> m.predict(X[:6])
    array([0, 1, 0, 1, 0, 1])
    >>> drawn = m.estimate_evidence(200)
    >>> m.log_evidence_.kind, drawn.kind, bool(float(drawn) > float(m.log_evidence_))
    ('bound', 'estimate', True)
    """

    _constraints = {
        "n_states": WHOLE,
        "method": one_of("variational", "em", "map", "viterbi", mark='"'),
        "covariance": covariance_of(
            "full", "spherical", "shared", diagonal='take emission="normal"'
        ),
        "mixture_components": WHOLE,
        "self_concentration": NOT_NEGATIVE,
        "durations": one_of("geometric", "table", "poisson", "negative-binomial", mark='"'),
        "max_duration": or_none(WHOLE),
        "lags": WHOLE._replace(words="be a whole number >= 0", least=0.0),
        "inputs_to": one_of("emissions", "transitions", "both", mark='"'),
        "decoding": one_of("viterbi", "marginal", mark='"'),
        "n_init": WHOLE,
        "max_iter": WHOLE,
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
        initial_concentration: Any = None,
        transition_concentration: Any = 1.0,
        self_concentration: float = 0.0,
        emission_prior: Any = None,
        durations: str = "geometric",
        max_duration: int | None = None,
        lags: int = 0,
        inputs_to: str = "emissions",
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
        self.durations = durations
        self.max_duration = max_duration
        self.lags = lags
        self.inputs_to = inputs_to
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
        inputs: Any = None,
        given: int = 0,
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
        inputs : (T, P), or a list of them, optional
            What is known beside each row, at its arrival (``inputs_to``).
        given : int
            The first so many rows of each sequence are conditions, if these are more than ``lags``: models
            of several lags are then judged by the same rows.
        """
        check_parameters(self)
        table = join_sequences(X, lengths)
        data = self._data(table, self._read_first(table), inputs, given, None)
        rows = ChainRows(
            table.lengths,
            check_weights(sequence_weight, table.lengths),
            read_states(states, table, self.n_states),
        )
        paths, emission = build_paths(self, data, rows), build_emission(self, data, rows)
        found = learn_model(self, paths, emission, data, rows)
        self._n_inputs = 0 if inputs is None else read_inputs(inputs, table).shape[1]
        self._keep(paths, emission, data, rows, found)
        return self

    def _read_first(self, table: SequenceTable) -> Array:
        """Return rows as numbers, and learn which columns hold which symbols."""
        values = raw_rows(self, table.table, reset=True)
        self._places = columns_by_family(self.emission, column_names(self))
        self.symbols_ = self._learn_symbols(values)
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

    def _learn_symbols(self, values: Any) -> dict[int, Symbols]:
        """Return the symbols of columns: those of the start, of the prior, or those that are there."""
        places = self._places.get("categorical", ())
        known = _known_symbols(self.start)
        if known is not None:
            return dict.fromkeys(places, known)
        sizes = prior_sizes(self.emission_prior, len(places))
        return {d: learn_symbols(values[:, d], size) for d, size in zip(places, sizes, strict=True)}

    def _keep(
        self, paths: Any, emission: Any, data: ChainData, rows: ChainRows, found: Found
    ) -> None:
        """Set what was learned."""
        for name in _LEARNED:
            self.__dict__.pop(name, None)
        of_paths, learned = found.sums[: paths.n_sums], emission.learn(found.sums[paths.n_sums :])
        if not isinstance(paths, DrivenPaths):
            warn_of_states_never_left(rows, of_paths[1])
        self._laws = paths.learn(of_paths)
        self.model_ = HiddenMarkovChain(
            *self._laws[:2], learned.emission, durations=self._laws.durations
        )
        self.trace_, self.n_iter_, self.converged_ = found.trace, found.n_iter, found.converged
        self._training = data, rows, found.sums
        if estimate_of(self) != "belief":
            self.log_likelihood_ = found.log_likelihood
            if learned.n_parameters:
                each = self.n_states * learned.n_parameters
                self.n_parameters_ = paths.n_parameters + each + learned.n_shared
            return
        first, moves, *runs = paths.beliefs(of_paths)
        self.posterior_ = HiddenMarkovBeliefs(first, moves, learned.beliefs, *runs)
        log_b = emission.log_affinities(found.sums[paths.n_sums :])
        self.symmetry_gain_ = naming_gain(paths, is_alike(self.emission_prior), log_b)
        certain = self.n_states == 1 or rows.all_labelled
        self.log_evidence_ = self._evidence_value(
            found.objective + self.symmetry_gain_,
            "exact" if certain and emission.exact else "bound",
        )

    def _evidence_value(self, value: float, kind: Kind, error: float | None = None) -> LogEvidence:
        """Return evidence with what it is the probability of: all rows but conditions."""
        data, rows, _ = self._training
        frequency = None if rows.frequency is None else rows.frequency[data.modelled]
        return LogEvidence(
            value,
            kind=kind,
            of="X" if rows.labels is None else "X,states",
            fingerprint=Fingerprint().update(data.x[data.modelled], frequency),
            error=error,
        )

    def estimate_evidence(
        self, draws: int = 2000, rng: Seed = 0, callback: Any = None
    ) -> LogEvidence:
        """Return an estimate of ln p(X) with its error, by annealed draws from beliefs to posterior.

        Where beliefs are not exact given the states, draws from beliefs and wider ones are weighed. All orders of
        the states that the prior does not tell apart are counted (of weighed draws of more than six states by
        adding ln K!, less the orders of states that are all but empty), so that different numbers of states
        compare.

        Parameters
        ----------
        draws : int
        rng : int or Generator
        callback : callable, optional
            Called as ``callback(done, draws)`` after each draw; there may be a few more or twice as many.

        Warns
        -----
        ConvergenceWarning
            When few draws carry all the weight: then the error is larger than it says.
        """
        check_is_fitted(self)
        found = draw_model_evidence(self, draws, rng, callback)
        return self._evidence_value(found.value, "estimate", found.error)

    def _approximate_belief(self) -> ApproximateBelief | Unweighed:
        return belief_of(self)

    # -- asking ------------------------------------------------------------------------------

    def sample(
        self, length: int = 1, rng: Seed = None, *, inputs: Any = None, before: Any = None
    ) -> HiddenMarkovSample:
        """Draw a sequence of states and rows.

        Parameters
        ----------
        length : int
        rng : int, Generator or None
        inputs : (length, P), optional
            Beside each row, where the model has learned with inputs.
        before : (lags, D), optional
            Rows before the first, the oldest first, where rows regress on them; by default average ones.
        """
        check_is_fitted(self)
        return draw_sequence(self, length, rng, inputs, before)

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
    if not isinstance(emission, Categorical):
        return None
    return emission.labels or tuple(range(emission.n_categories))
