r"""Gaussian process regression: a function with a kernel, its evidence, and calibrated predictions.

.. math:: y_n = m(x_n) + f(x_n) + \varepsilon_n,\qquad \mathrm{cov}(f(x), f(z)) = k(x, z),\qquad
          \varepsilon_n \sim N(0, v_n\sigma^2)

Reference: C. Rasmussen & C. Williams, "Gaussian processes for machine learning", 2006, ch. 2 and 5.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.exceptions import NotFittedError
from sklearn.utils import Tags
from sklearn.utils.metaestimators import available_if

from posteriori.estimators.estimator_rows import check_inputs, check_noise_variance, check_rows
from posteriori.estimators.parameters import WHOLE, Constraint, check_parameters, one_of, or_none
from posteriori.gaussian_process.process_belief import Effect
from posteriori.gaussian_process.process_learning import (
    GivenRows,
    LearnedProcess,
    SearchOptions,
    extend_process,
    learn_process,
)
from posteriori.kernels.kernel import Kernel
from posteriori.numerics.evidence import Fingerprint, LogEvidence
from posteriori.numerics.random import as_generator
from posteriori.numerics.types import Array, Seed

__all__ = ["GaussianProcessRegressor"]


def _kernel_is_kept(estimator: Any) -> bool:
    """Tell whether no row has chosen the parameters of the kernel."""
    return estimator.hyperparameters in ("fixed", "integrated")


def _is_not_integrated(estimator: Any) -> bool:
    """Tell whether there is one kernel, whose factor further rows extend."""
    return estimator.hyperparameters in ("fixed", "type-II")


class GaussianProcessRegressor(RegressorMixin, BaseEstimator):
    """Regression by a function of unknown form, with its evidence and calibrated predictions.

    Without arguments the function is smooth in all columns, each with a scale of its own, and what is
    best for the data by evidence.

    Parameters
    ----------
    kernel : Kernel or None
        Of function and noise, such as ``2.0 * RBF() + White(0.1)``; its parameters are where a search
        begins. None is ``Constant() * RBF(one scale for each column) + White()``.
    hyperparameters : {"type-II", "fixed", "integrated", "learned"}
        "type-II": parameters of highest evidence, within bounds from the data. "fixed": as the kernel
        says. "integrated": weighed by how probable they are, with a prior on the scale of the data: the
        logarithms of parameters are normal around what is usual, with standard deviation 1.5 (lengths,
        periods, sizes) or 2.3 (noise). With few rows its intervals are as wide as they should be.
        "learned": "integrated" up to 100 rows, "type-II" beyond; a kernel that is None then has one scale
        for all of more than 15 columns.
    mean : {"constant", "zero", "linear"}
        "constant": a level N(ȳ, s²) with mean and variance of the targets, integrated out. "linear":
        lines N(0, s²) in standardised columns as well. "zero": none.
    fixed : sequence of str
        Names of parameters that stay as they are, of ``kernel.parameter_names``; "RBF.scale" are all
        of "RBF.scale[0]", ….
    restarts : int
        Further starts of the search, at random.
    search_rows : int or None
        Rows, at equal steps, whose evidence the search for "type-II" parameters is after; None is all.
        What is believed with these parameters, and the evidence, are of all rows.
    random_state : int, Generator or None
        For these.
    callback : callable, optional
        Is told the number of the evaluation and the highest evidence so far, and ends the search by
        answering True. Ctrl-C keeps the best so far as well.

    Attributes
    ----------
    kernel_ : Kernel
        With the parameters that were chosen, or are most probable.
    log_evidence_ : LogEvidence
        ln p(y | X), the mean integrated out; kind "exact" with a fixed kernel, "type-II", or "laplace"
        where parameters are integrated.
    account_ : tuple of str
        How it was computed: the structure that was used, the search, jitter if any.
    n_iter_ : int
        Evaluations of the evidence.
    n_features_in_, feature_names_in_

    Notes
    -----
    NaN in y is missing: its row says nothing. Rows with equal inputs are one row of the covariance, and
    the evidence is that of all. Costs O(N³) for N distinct inputs, and one matrix of N² numbers.

    Examples
    --------
    >>> from posteriori.kernels import RBF, White
    >>> X, y = np.array([[0.0], [1.0], [2.0]]), np.array([0.0, 0.8, 0.9])
    >>> gp = GaussianProcessRegressor(RBF() + White(0.1), hyperparameters="fixed", mean="zero")
    >>> gp.fit(X, y).log_evidence_
    LogEvidence(-3.003278, kind="exact", of="y|X")
    >>> gp.predict_dist([[1.0], [9.0]], noise=False).std.round(3)
    array([0.283, 1.   ])
    """

    _constraints = {
        "hyperparameters": one_of("type-II", "fixed", "integrated", "learned"),
        "mean": one_of("constant", "zero", "linear"),
        "restarts": Constraint("be a whole number >= 0", 0.0, np.inf, whole=True),
        "search_rows": or_none(WHOLE),
    }

    def __init__(
        self,
        kernel: Kernel | None = None,
        *,
        hyperparameters: str = "type-II",
        mean: str = "constant",
        fixed: Any = (),
        restarts: int = 0,
        search_rows: int | None = None,
        random_state: Seed = None,
        callback: Any = None,
    ) -> None:
        self.kernel = kernel
        self.hyperparameters = hyperparameters
        self.mean = mean
        self.fixed = fixed
        self.restarts = restarts
        self.search_rows = search_rows
        self.random_state = random_state
        self.callback = callback

    # -- learning --------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None, noise_variance: Any = None) -> Self:
        """Learn from rows.

        Parameters
        ----------
        X : (N, D)
        y : (N,), or (N, Q) of independent functions with the same kernel
            NaN is missing.
        sample_weight : (N,), optional
            How often each row counts: equal to repeated rows.
        noise_variance : (N,), optional
            Noise variance of each row, relative to the noise of the kernel; absolute where it has none.
        """
        check_parameters(self)
        if self.kernel is not None and not isinstance(self.kernel, Kernel):
            raise TypeError(
                f"kernel must be one of posteriori.kernels or None, got {self.kernel!r}"
            )
        given = self._read(X, y, sample_weight, noise_variance, reset=True)
        options = SearchOptions(
            self.fixed, self.restarts, self.random_state, self.callback, self.search_rows
        )
        learned = learn_process(
            self.kernel,
            given,
            hyperparameters=self.hyperparameters,
            mean=self.mean,
            options=options,
        )
        self._given, self._learned = given, learned
        return self

    @available_if(_is_not_integrated)
    def partial_fit(
        self, X: Any, y: Any, sample_weight: Any = None, noise_variance: Any = None
    ) -> Self:
        """Learn from further rows, with the kernel of the first.

        With hyperparameters="fixed" the same as one fit to all of them. The factor of earlier rows is
        extended, in O(N²) for each new input.
        """
        if "_learned" not in self.__dict__:
            return self.fit(X, y, sample_weight, noise_variance)
        given = _joined(self._given, self._read(X, y, sample_weight, noise_variance, reset=False))
        self._learned = extend_process(self._learned, given, self.mean)
        self._given = given
        return self

    def _read(
        self, X: Any, y: Any, sample_weight: Any, noise_variance: Any, *, reset: bool
    ) -> GivenRows:
        """Return checked rows, those without targets left out."""
        shape = np.asarray(y).shape
        rows = check_rows(
            self,
            X,
            y,
            sample_weight=sample_weight,
            noise_variance=noise_variance,
            missing="drop",
            several_targets=len(shape) == 2 and shape[1] > 1,
            reset=reset,
        )
        flat = rows.y.ndim == 1
        targets = rows.y[:, None] if flat else rows.y
        return GivenRows(rows.x, targets, rows.frequency, rows.variance, flat)

    # -- what was learned ------------------------------------------------------------------

    def __sklearn_is_fitted__(self) -> bool:
        return "_learned" in self.__dict__

    def _fitted(self) -> LearnedProcess:
        if "_learned" not in self.__dict__:
            raise NotFittedError(
                f"this {type(self).__name__} is not fitted yet; call fit or partial_fit first"
            )
        return self._learned

    @property
    def kernel_(self) -> Kernel:
        """The kernel with the parameters that were chosen."""
        return self._fitted().kernel

    @property
    def log_evidence_(self) -> LogEvidence:
        """Return ln p(y | X)."""
        learned, given = self._fitted(), self._given
        targets = given.y[:, 0] if given.flat else given.y
        fingerprint = Fingerprint().update(targets, given.frequency)
        return LogEvidence(
            learned.log_evidence, kind=learned.kind, of="y|X", fingerprint=fingerprint
        )

    @property
    def account_(self) -> tuple[str, ...]:
        """How it was computed."""
        return self._fitted().account

    @property
    def n_iter_(self) -> int:
        """Evaluations of the evidence."""
        return self._fitted().n_iter

    # -- predictions -----------------------------------------------------------------------

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Return the expected targets (N,) or (N, Q), with ``return_std`` also their standard deviations."""
        belief = self._fitted().belief
        if not return_std:
            return belief.mean(check_inputs(self, X))
        predicted = self.predict_dist(X)
        return np.asarray(predicted.mean), np.asarray(predicted.std)

    def predict_dist(
        self, X: Any, *, joint: bool = False, noise: bool = True, noise_variance: Any = None
    ) -> Any:
        """Return the distribution of the targets.

        Parameters
        ----------
        X : (N, D)
        joint : bool
            One distribution of all N targets instead of N of one target each.
        noise : bool
            False leaves the noise out: the distribution of the function itself.
        noise_variance : (N,), optional
            Noise variance of each row, relative to that of the kernel; absolute where it has none.

        Returns
        -------
        Normal or MvNormal
        Mixture
            Of these, for hyperparameters="integrated".
        """
        belief = self._fitted().belief
        x = check_inputs(self, X)
        level: Any = None if noise else 0.0
        if noise and noise_variance is not None:
            level = check_noise_variance(noise_variance, len(x))
        return belief.predict_jointly(x, level) if joint else belief.predict(x, level)

    def sample_functions(self, X: Any, size: int = 1, rng: Seed = None) -> Array:
        """Draw functions from the posterior and return their values at X: (S, N), or (S, N, Q)."""
        belief = self._fitted().belief
        return belief.sample(check_inputs(self, X), size, as_generator(rng))

    def sample_targets(self, X: Any, size: int = 1, rng: Seed = None) -> Array:
        """Draw whole new sets of targets at X from the posterior predictive, (S, N), or (S, N, Q)."""
        belief, generator = self._fitted().belief, as_generator(rng)
        return belief.sample_targets(check_inputs(self, X), size, generator)

    def effects(self, X: Any) -> list[Effect]:
        """Return what is believed of the mean, if there is one, and of each summand of the kernel.

        Their means add up to that of the function; their beliefs depend on each other.
        """
        return self._fitted().belief.effects(check_inputs(self, X))

    @available_if(_kernel_is_kept)
    def leave_one_out_log_density(self, X: Any, y: Any, noise_variance: Any = None) -> Array:
        """Return ln p(y_n | all other rows) of the rows that the model was fitted to, (N,).

        In closed form; not offered where all rows have chosen the parameters of the kernel.
        """
        learned = self._fitted()
        asked = self._read(X, y, None, noise_variance, reset=False)
        if not (np.array_equal(asked.X, self._given.X) and np.array_equal(asked.y, self._given.y)):
            raise ValueError(
                "X and y must be the rows that the model was fitted to: only these can be left out"
            )
        v = self._given.variance
        share = np.ones(len(asked.X)) if v is None else 1.0 / v
        return learned.belief.left_out_log_density(learned.rows, asked.y, share)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


def _joined(old: GivenRows, new: GivenRows) -> GivenRows:
    """Return rows one after another."""
    if old.y.shape[1] != new.y.shape[1]:
        raise ValueError(f"y has {new.y.shape[1]} outputs, and earlier rows had {old.y.shape[1]}")
    if (old.variance is None) != (new.variance is None):
        raise ValueError(
            "noise_variance must be given with all rows or with none; 1 is the noise of the kernel"
        )
    frequency = None
    if old.frequency is not None or new.frequency is not None:
        frequency = np.concatenate(
            [np.ones(len(g.X)) if g.frequency is None else g.frequency for g in (old, new)]
        )
    variance = None
    if old.variance is not None and new.variance is not None:
        variance = np.concatenate([old.variance, new.variance])
    return GivenRows(
        np.vstack([old.X, new.X]), np.vstack([old.y, new.y]), frequency, variance, old.flat
    )
