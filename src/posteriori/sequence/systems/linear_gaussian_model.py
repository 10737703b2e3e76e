r"""Linear dynamical systems that are learned from sequences.

.. math:: s_t = A s_{t-1} + B u_t + N(0, \Gamma), \qquad y_t = C s_t + d + F u_t + N(0, \Sigma), \qquad
          s_1 \sim N(\mu_0, V_0).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from posteriori.estimators.approximate_posterior import ApproximatePosterior
from posteriori.estimators.base.base_estimator import BaseEstimator
from posteriori.estimators.estimator_rows import check_gappy_inputs, column_names
from posteriori.estimators.parameters import NOT_NEGATIVE, WHOLE, check_parameters, one_of, or_none
from posteriori.inference.ascent.expectation_maximization import EMResult
from posteriori.inference.chains.chain_forecast import ChainSample
from posteriori.inference.systems.linear_learning import (
    SeriesGroup,
    SystemParameters,
    group_series,
    learn_linear_system,
)
from posteriori.inference.systems.subspace_start import start_by_subspace
from posteriori.inference.systems.variational_system import (
    SystemPriors,
    learn_system_beliefs,
    start_beliefs,
)
from posteriori.numerics.evidence import Fingerprint, LogEvidence
from posteriori.numerics.rank import exceeds_rounding
from posteriori.numerics.types import Array, Seed
from posteriori.numerics.validation import require_moderate
from posteriori.sequence.sequence_rows import SequenceTable, join_sequences, split_rows
from posteriori.sequence.systems.linear_gaussian_system import LinearGaussianSystem
from posteriori.sequence.systems.system_forms import (
    as_system,
    check_fixed,
    check_row_inputs,
    check_start,
    from_system,
    system_at_means,
)

__all__ = ["LinearGaussianModel"]


class LinearGaussianModel(
    ApproximatePosterior, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator
):
    """A linear system learned from sequences: of highest likelihood, or as beliefs about its matrices.

    Parameters
    ----------
    n_states : int
        Length D of the hidden state.
    method : {"em", "variational"}
        Highest likelihood by expectation–maximisation, or beliefs about A, C and the noise with a lower bound
        of the evidence.
    fixed : tuple of str
        What is kept as ``start`` has it: "transition", "transition_cov", "emission", "emission_cov",
        "initial_mean", "initial_cov", "emission_offset".
    noise : {"full", "diagonal"}, optional
        Covariance of the observations' noise: full by default, and diagonal for ``method="variational"``,
        which has no other.
    start : LinearGaussianSystem, optional
        Where learning begins; by default at a system found from the covariances of rows some steps apart
        (subspace identification).
    tol : float
        Nats that a step must gain.
    max_iter : int
        Steps of the ascent.
    callback : callable, optional
        Is told the number of the step and the log likelihood, and stops the ascent by answering True.

    Attributes
    ----------
    model_ : LinearGaussianSystem
        What was learned, with inputs 0; of beliefs, at their means.
    transition_inputs_, emission_inputs_ : (D, M) and (P, M)
        B and F; M = 0 without inputs.
    log_likelihood_ : float
        ln p(X) of the seen entries; as the next three, for ``method="em"``.
    n_parameters_ : int
        Free ones: states may be measured in any coordinates, which takes D² off where all is learned.
    bic_ : float
        −2 ln p(X) + ``n_parameters_`` ln N for N rows.
    floored_ : tuple of str
        Covariances that have reached their least value (Notes).
    log_evidence_ : LogEvidence
        A lower bound of ln p(X), for ``method="variational"``.
    posterior_ : SystemBeliefs
        Beliefs about A, C and the precisions of the noise, of columns in units of their standard deviations,
        for ``method="variational"``.
    n_iter_ : int
    converged_ : bool
    trace_ : tuple of float
        The log likelihood, or the bound in units of the columns, at the start and after every step.

    Notes
    -----
    Data are a table (T, P), one series or several by ``lengths=``, or a list of tables; NaN entries are
    missing.

    The coordinates of the state are arbitrary: what they do not change are the eigenvalues of the transition,
    likelihoods and forecasts. From one series the first state can be learned as surely as one likes, so that
    V₀ shrinks towards 0; its variances stop at 1e-6 of those of the states, and ``floored_`` says so. Other
    floors are 1e-8 of the columns' variances for the noise and 1e-10 of the states' for Γ. A start below
    a floor lowers it.

    Beliefs (``method="variational"``) are those of the model of the gallery page "Linear dynamical system with
    unknown matrices": states start at N(0, I) and have noise I, entries of A are N(0, 1), those of C N(0, 4),
    precisions Gamma(1, 0.1), for columns of mean 0 and variance 1. States are believed in independently of the
    matrices: that makes the evidence a bound, and beliefs too narrow. Bounds compare numbers of states.

    Examples
    --------
    A damped oscillation, seen by two sensors:

    >>> turn = 0.97 * np.array([[np.cos(0.3), -np.sin(0.3)], [np.sin(0.3), np.cos(0.3)]])
    >>> truth = LinearGaussianSystem(
    ...     turn, 0.1 * np.eye(2), [[1, 0], [1, 1]], 0.2 * np.eye(2), [2, 0], np.eye(2)
    ... )
    >>> y = truth.sample(500, rng=0).observations
    >>> m = LinearGaussianModel(2).fit(y)
    >>> np.abs(np.linalg.eigvals(m.model_.transition)).round(2)
    array([0.98, 0.98])
    >>> bool(m.log_likelihood_ > truth.log_prob(y))
    True
    """

    _constraints = {
        "n_states": WHOLE,
        "method": one_of("em", "variational"),
        "noise": or_none(one_of("full", "diagonal")),
        "tol": NOT_NEGATIVE,
        "max_iter": WHOLE,
    }

    def __init__(
        self,
        n_states: int = 2,
        *,
        method: str = "em",
        fixed: tuple[str, ...] = (),
        noise: str | None = None,
        start: LinearGaussianSystem | None = None,
        tol: float = 1e-4,
        max_iter: int = 500,
        callback: Callable[[int, float], Any] | None = None,
    ) -> None:
        self.n_states = n_states
        self.method = method
        self.fixed = fixed
        self.noise = noise
        self.start = start
        self.tol = tol
        self.max_iter = max_iter
        self.callback = callback

    # -- learning ----------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None, *, lengths: Any = None, inputs: Any = None) -> Self:
        """Learn from sequences.

        Parameters
        ----------
        X : (T, P), or a list of them
            NaN is missing.
        y : ignored
        lengths : (S,), optional
            Rows of each sequence, where X is one table.
        inputs : (T, M), or a list of them, optional
            What is known to act on states and observations, row by row as X: the inputs of a row act on the
            step that leads to it.
        """
        check_parameters(self)
        table, x, u = self._read_table(X, lengths, inputs, reset=True)
        centre = self._check_columns(x)
        if self.method == "em":
            self._climb(x, table, u, centre)
        else:
            self._believe(x, table, u, centre)
        return self

    def _climb(self, x: Array, table: SequenceTable, u: Array | None, centre: Array) -> None:
        """Find the highest likelihood."""
        fixed, n_inputs = check_fixed(self.fixed, self.start), 0 if u is None else u.shape[1]
        groups = group_series(x - centre, table.lengths, u)
        begin = self._begin(groups, centre, n_inputs)
        if self.noise == "diagonal" and "emission_cov" not in fixed:
            begin = begin._replace(emission_cov=np.diag(np.diagonal(begin.emission_cov)))
        found = learn_linear_system(
            groups,
            begin,
            fixed=fixed,
            diagonal=self.noise == "diagonal",
            tol=self.tol,
            max_iter=int(self.max_iter),
            callback=self.callback,
        )
        self._keep(found.parameters, found.ascent, centre)
        self.log_likelihood_, self.floored_ = found.ascent.trace[-1], found.floored
        self.n_parameters_ = self._count_parameters(n_inputs, fixed)
        self.bic_ = -2.0 * self.log_likelihood_ + self.n_parameters_ * float(np.log(len(x)))

    def _believe(self, x: Array, table: SequenceTable, u: Array | None, centre: Array) -> None:
        """Find the best beliefs, in units of the columns."""
        if u is not None or len(self.fixed) or self.noise == "full":
            raise ValueError(
                'method="variational" takes neither inputs nor fixed, and its noise is diagonal: use '
                'method="em", or describe the system as a posteriori.Model'
            )
        priors, scale, counts = SystemPriors(), np.nanstd(x, axis=0), (~np.isnan(x)).sum(axis=0)
        groups = group_series((x - centre) / scale, table.lengths)
        begin = self._begin(group_series(x - centre, table.lengths), centre, 0)
        in_units = begin._replace(
            emission=begin.emission / scale[:, None],
            emission_cov=begin.emission_cov / scale[:, None] / scale,
        )
        start = start_beliefs(in_units, priors, counts)
        self.posterior_, ascent = learn_system_beliefs(
            groups,
            start,
            priors,
            tol=self.tol,
            max_iter=int(self.max_iter),
            callback=self.callback,
        )
        self._keep(system_at_means(self.posterior_, scale), ascent, centre)
        self.log_evidence_ = LogEvidence(
            ascent.trace[-1] - float(counts @ np.log(scale)),
            kind="bound",
            of="X",
            fingerprint=Fingerprint().update(x),
        )

    def _begin(self, groups: list[SeriesGroup], centre: Array, n_inputs: int) -> SystemParameters:
        if self.start is None:
            return start_by_subspace(groups, int(self.n_states), n_inputs)
        return from_system(
            check_start(self.start, int(self.n_states), len(centre)), centre, n_inputs
        )

    def _keep(self, parameters: SystemParameters, ascent: EMResult, centre: Array) -> None:
        size, emission = int(self.n_states), parameters.emission.copy()
        emission[:, size] += centre
        self._parameters = parameters._replace(emission=emission)
        self.model_ = as_system(self._parameters, None)
        self.transition_inputs_ = parameters.transition[:, size + 1 :]
        self.emission_inputs_ = parameters.emission[:, size + 1 :]
        self.n_iter_, self.converged_, self.trace_ = ascent.n_iter, ascent.converged, ascent.trace

    def _count_parameters(self, n_inputs: int, fixed: frozenset[str]) -> int:
        d, p = self.model_.n_states, self.model_.n_outputs
        sizes = {
            "transition": d * d,
            "transition_cov": d * (d + 1) // 2,
            "emission": p * d,
            "emission_cov": p if self.noise == "diagonal" else p * (p + 1) // 2,
            "initial_mean": d,
            "initial_cov": d * (d + 1) // 2,
            "emission_offset": p,
        }
        free = sum(size for name, size in sizes.items() if name not in fixed)
        tied = fixed - {"emission_cov", "emission_offset", "transition_offset"}
        coordinates = 0 if tied else d * d
        return free + (d + p) * n_inputs - coordinates

    def _read_table(
        self, X: Any, lengths: Any, inputs: Any, *, reset: bool
    ) -> tuple[SequenceTable, Array, Array | None]:
        """Return sequences, their rows (N, P) and the inputs of the rows (N, M)."""
        table = join_sequences(X, lengths)
        x = check_gappy_inputs(self, table.table, reset=reset)
        if not table.listed:  # whatever has rows, also without saying how many
            table = table._replace(lengths=np.array([len(x)]))
        return table, x, check_row_inputs(inputs, table)

    def _check_columns(self, x: Array) -> Array:
        """Return the means of the columns, or refuse those that teach nothing."""
        require_moderate("X", x)
        if len(x) < 2:
            raise ValueError("X has 1 sample, which tells nothing of steps: give more rows")
        names = column_names(self)
        empty = np.isnan(x).all(axis=0)
        if empty.any():
            raise ValueError(
                f"{names[int(np.argmax(empty))]} of X is missing in all rows; leave it out"
            )
        centre = np.nanmean(x, axis=0)
        constant = ~exceeds_rounding(np.nanstd(x, axis=0), np.abs(centre))
        if constant.any():
            raise ValueError(
                f"{names[int(np.argmax(constant))]} of X is constant, so that it has no noise to learn; "
                "leave it out"
            )
        return np.asarray(centre)

    # -- asking ------------------------------------------------------------------------------

    def transform(self, X: Any, *, lengths: Any = None, inputs: Any = None) -> Any:
        """Return expectations of the states given all rows of a sequence, (T, D), or a list of them."""
        table, parts, systems = self._read(X, lengths, inputs)
        means = [s.smooth(part).mean for s, part in zip(systems, parts, strict=True)]
        return split_rows(np.concatenate(means), table)

    def impute(self, X: Any, *, lengths: Any = None, inputs: Any = None) -> Any:
        """Fill in the gaps (NaN) of rows by their expectations given all that is seen."""
        table, parts, systems = self._read(X, lengths, inputs)
        filled = [s.impute(part) for s, part in zip(systems, parts, strict=True)]
        return split_rows(np.concatenate(filled), table)

    def log_prob(self, X: Any, *, lengths: Any = None, inputs: Any = None) -> Any:
        """Return ln p(x) of each sequence, (S,), or a number for one table."""
        table, parts, systems = self._read(X, lengths, inputs)
        found = np.array([s.log_prob(part) for s, part in zip(systems, parts, strict=True)])
        return found if table.listed else np.float64(found[0])

    def score(self, X: Any, y: Any = None, *, lengths: Any = None, inputs: Any = None) -> float:
        """Return ln p(X) per row."""
        table, parts, systems = self._read(X, lengths, inputs)
        found = [s.log_prob(part) for s, part in zip(systems, parts, strict=True)]
        return float(np.sum(found) / table.lengths.sum())

    def forecast(
        self,
        X: Any,
        horizon: int,
        *,
        lengths: Any = None,
        inputs: Any = None,
        future_inputs: Any = None,
    ) -> Any:
        """Return the distributions of the next rows: a batch (horizon,) of ``MvNormal``, or a list of them.

        ``future_inputs`` are those of the steps ahead, (horizon, M), for all sequences.
        """
        table, parts, systems = self._read(X, lengths, inputs)
        ahead = self.system_for(future_inputs, horizon)
        found = [
            s.forecast(part, horizon, future=ahead) for s, part in zip(systems, parts, strict=True)
        ]
        return found if table.listed else found[0]

    def sample(self, length: int = 1, rng: Seed = None, *, inputs: Any = None) -> ChainSample:
        """Draw states (length, D) and rows (length, P)."""
        check_is_fitted(self)
        return self.system_for(inputs, length).sample(length, rng=rng)

    def system_for(self, inputs: Any, length: int) -> LinearGaussianSystem:
        """Return what was learned as the system of a sequence with these inputs, (length, M)."""
        check_is_fitted(self)
        m = self.transition_inputs_.shape[1]
        if not m and inputs is None:
            return self.model_
        u = None if inputs is None else np.asarray(inputs, dtype=np.float64).reshape(length, -1)
        if u is None or u.shape[1] != m or not np.isfinite(u).all():
            shape = None if u is None else u.shape
            raise ValueError(
                f"inputs must be finite numbers ({length}, {m}) as fit had {m} inputs, got {shape}"
            )
        return as_system(self._parameters, u)

    def _read(
        self, X: Any, lengths: Any, inputs: Any
    ) -> tuple[SequenceTable, list[Array], list[LinearGaussianSystem]]:
        check_is_fitted(self)
        table, x, u = self._read_table(X, lengths, inputs, reset=False)
        cuts = np.cumsum(table.lengths)[:-1]
        parts = np.split(x, cuts)
        given = [None] * len(parts) if u is None else np.split(u, cuts)
        systems = [self.system_for(v, len(part)) for v, part in zip(given, parts, strict=True)]
        return table, parts, systems

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    @property
    def _n_features_out(self) -> int:
        return self.model_.n_states
