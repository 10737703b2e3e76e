r"""Gaussian process regression: a function with a kernel, its evidence, and calibrated predictions.

.. math:: y_n = m(x_n) + f(x_n) + \varepsilon_n,\qquad \mathrm{cov}(f(x), f(z)) = k(x, z),\qquad
          \varepsilon_n \sim N(0, v_n\sigma^2)

or, with another likelihood, targets around the function by a law of their own.

Reference: C. Rasmussen & C. Williams, "Gaussian processes for machine learning", 2006, ch. 2, 3 and 5.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.exceptions import NotFittedError
from sklearn.utils import ClassifierTags, Tags
from sklearn.utils.metaestimators import available_if

from posteriori.distributions.counts.categorical import Categorical
from posteriori.estimators.approximate_posterior import ApproximatePosterior, Unweighed
from posteriori.estimators.base.base_estimator import BaseEstimator
from posteriori.estimators.estimator_rows import (
    check_counts,
    check_inputs,
    check_noise_variance,
    check_rows,
)
from posteriori.estimators.labelled_rows import check_known_labels, check_labelled_rows
from posteriori.estimators.parameters import (
    AT_LEAST_ONE,
    POSITIVE,
    WHOLE,
    Constraint,
    check_parameters,
    one_of,
    or_none,
)
from posteriori.gaussian_process.coregionalised_outputs import extend_outputs, learn_outputs
from posteriori.gaussian_process.latent_belief import LatentBelief
from posteriori.gaussian_process.latent_learning import (
    FAMILIES,
    LatentLearned,
    LatentOptions,
    learn_latent,
)
from posteriori.gaussian_process.process_belief import Effect, ProcessBelief
from posteriori.gaussian_process.process_learning import (
    FEW_ROWS,
    GivenRows,
    LearnedProcess,
    SearchOptions,
    extend_process,
    is_not_integrated,
    join_rows,
    kernel_is_kept,
    learn_process,
)
from posteriori.kernels.kernel import Kernel
from posteriori.numerics.evidence import Fingerprint, LogEvidence
from posteriori.numerics.random import as_generator
from posteriori.numerics.types import Array, Seed

__all__ = ["GaussianProcessRegressor"]

_NOT_KNOWN = "X and y must be the rows that the model was fitted to: only these can be left out"


def _leaves_rows_out(estimator: Any) -> bool:
    """Tell whether no row has chosen the parameters of the kernel, and rows do not share targets."""
    return kernel_is_kept(estimator) and estimator.outputs == "shared"


def _is_extended(estimator: Any) -> bool:
    """Tell whether there is one kernel, and normal targets, whose factor further rows extend."""
    if estimator.likelihood != "normal":
        raise AttributeError(
            f"with likelihood={estimator.likelihood!r} every row moves all others: fit all rows at once"
        )
    return is_not_integrated(estimator)


def _is_ordinal(estimator: Any) -> bool:
    """Tell whether targets are categories."""
    return bool(estimator.likelihood == "ordinal")


class GaussianProcessRegressor(ApproximatePosterior, RegressorMixin, BaseEstimator):
    """Regression by a function of unknown form, with its evidence and calibrated predictions.

    Without arguments the function is smooth in all columns, each with a scale of its own, which up to 100 rows are
    integrated over and beyond are best for the data by evidence.

    Parameters
    ----------
    kernel : Kernel or None
        Of function and noise, such as ``2.0 * RBF() + White(0.1)``; its parameters are where a search
        begins. None is ``Constant() * RBF(one scale for each column) + White()``.
    hyperparameters : {"learned", "type-II", "fixed", "integrated"}
        "learned", by default: "integrated" up to 100 rows, of a kernel of at most 17 parameters, "type-II" beyond; a
        kernel that is None then has one scale for all of more than 15 columns.
        "type-II": parameters of highest evidence, within bounds from the data. "fixed": as the kernel
        says. "integrated": weighed by how probable they are, with a prior on the scale of the data: the
        logarithms of parameters are normal around what is usual, with standard deviation 1.5 (lengths,
        periods, sizes) or 2.3 (noise). With few rows its intervals are as wide as they should be.
    mean : {"constant", "zero", "linear"}
        "constant": a level N(ȳ, s²) with mean and variance of the targets, integrated out. "linear":
        lines N(0, s²) in standardised columns as well. "zero": none. Other likelihoods have the level
        N(ln ȳ, 1) of counts, N(median, s²) with s 1.48 times the median distance from it (Student-t), or
        N(0, 2²) (categories), and lines on the same scale.
    outputs : {"shared", "coregionalised"}
        What several outputs, y of shape (N, Q), have in common. "shared": one kernel and its parameters,
        all else is independent. "coregionalised": they are learned from each other, with covariance
        B k(x, z), B = WWᵀ + diag(κ), and a noise for each; NaN is a missing entry. ``kernel`` is then k, of
        which noise is left out; or, where it has a ``Coregion``, the kernel of all, in which the code
        0, 1, … of the output is one more column, the last.
    rank : int
        Columns of W, for "coregionalised" outputs; 0 makes them independent.
    fixed : sequence of str
        Names of parameters that stay as they are, of ``kernel.parameter_names``; "RBF.scale" are all
        of "RBF.scale[0]", …. Parameters of the likelihood have their own names.
    likelihood : {"normal", "poisson", "negative binomial", "student-t", "ordinal"}
        What targets are given the function f: "normal": around f, with the noise of the kernel.
        "poisson", "negative binomial": counts of mean exp(f), the second with variance μ + μ²/count.
        "student-t": around f with outliers, by ``scale`` and ``dof``. "ordinal": sorted categories,
        between ``thresholds`` on the scale of f with logistic noise. The last three learn their
        parameters as the kernel's; a kernel with ``White`` is refused, as the likelihood is the noise.
    method : {"laplace", "ep", "variational"}, optional
        Of the posterior of the function where targets are not normal. None is the best that there is:
        expectation propagation, nearly exact, where the likelihood is log-concave (counts of both
        kinds, categories). Student-t noise is not: where targets pull to two sides the curvature at the
        mode can vanish, and Laplace's evidence grows without bound there, so that the variational
        bound is the one to learn by.
    likelihood_parameters : mapping, optional
        Where the search for parameters of the likelihood begins, or what they are if they are fixed:
        ``{"count": 2.0}``, ``{"scale": 0.1, "dof": 4.0}`` with dof > 2, ``{"thresholds": [-1.0, 1.0]}``.
        What is not said is usual for the targets.
    tol : float
        Steps below so many standard deviations end the approximation.
    max_iter : int
        Most steps of it.
    n_init : int
        Starts of the search, of which all but the first are at random.
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
        ln p(y | X), the mean integrated out; with a fixed kernel of kind "exact" or, of another
        likelihood, "ep", "bound" or "laplace" as the approximation is; "type-II" where parameters were
        chosen, and "laplace" where they are integrated.
    likelihood_parameters_ : dict
        Parameters of the likelihood by their names, as given, chosen or most probable.
    classes_ : (K,)
        Categories in their order, of likelihood="ordinal".
    account_ : tuple of str
        How it was computed: the structure that was used, the search, jitter if any.
    n_iter_ : int
        Evaluations of the evidence.
    X_ : (N, D)
        The rows that it learned from, without those whose targets are missing.
    n_features_in_, feature_names_in_

    Notes
    -----
    NaN in y is missing: its row says nothing. Rows with equal inputs are one row of the covariance, and
    the evidence is that of all. Costs O(N³) for N distinct inputs, and one matrix of N² numbers; less
    where chains, grids or few features are found, which ``account_`` says, and some ten times that for other
    than normal targets. Predicted counts level off beyond the largest count that was seen, as those of
    :class:`~posteriori.regression.PoissonRegressor`.

    Examples
    --------
    >>> from posteriori.kernels import RBF, White
    >>> X, y = np.array([[0.0], [1.0], [2.0]]), np.array([0.0, 0.8, 0.9])
    >>> gp = GaussianProcessRegressor(RBF() + White(0.1), hyperparameters="fixed", mean="zero")
    >>> gp.fit(X, y).log_evidence_
    LogEvidence(-3.003278, kind="exact", of="y|X")
    >>> gp.predict_dist([[1.0], [9.0]], noise=False).std.round(3)
    array([0.283, 1.   ])

    Counts behind a smooth rate:

    >>> x = np.linspace(0.0, 6.0, 30)[:, None]
    >>> counts = np.random.default_rng(0).poisson(np.exp(1.0 + np.sin(x[:, 0])))
    >>> rate = GaussianProcessRegressor(RBF(), likelihood="poisson", hyperparameters="fixed").fit(
    ...     x, counts
    ... )
    >>> rate.log_evidence_.kind, rate.predict([[1.5]]).round(), np.exp(2.0).round()
    ('ep', array([7.]), np.float64(7.0))
    """

    _constraints = {
        "hyperparameters": one_of("type-II", "fixed", "integrated", "learned"),
        "mean": one_of("constant", "zero", "linear"),
        "outputs": one_of("shared", "coregionalised"),
        "rank": Constraint("be a whole number >= 0", 0.0, np.inf, whole=True),
        "n_init": WHOLE,
        "likelihood": one_of("normal", *FAMILIES),
        "method": or_none(one_of("laplace", "ep", "variational")),
        "tol": POSITIVE,
        "max_iter": AT_LEAST_ONE,
        "search_rows": or_none(WHOLE),
    }

    def __init__(
        self,
        kernel: Kernel | None = None,
        *,
        hyperparameters: str = "learned",
        mean: str = "constant",
        outputs: str = "shared",
        rank: int = 1,
        fixed: Any = (),
        likelihood: str = "normal",
        method: str | None = None,
        likelihood_parameters: Any = None,
        n_init: int = 1,
        search_rows: int | None = None,
        tol: float = 1e-6,
        max_iter: int = 200,
        random_state: Seed = None,
        callback: Any = None,
    ) -> None:
        self.kernel = kernel
        self.hyperparameters = hyperparameters
        self.mean = mean
        self.outputs = outputs
        self.rank = rank
        self.fixed = fixed
        self.likelihood = likelihood
        self.method = method
        self.likelihood_parameters = likelihood_parameters
        self.n_init = n_init
        self.search_rows = search_rows
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.callback = callback

    # -- learning --------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None, noise_variance: Any = None) -> Self:
        """Learn from rows.

        Parameters
        ----------
        X : (N, D)
        y : (N,), or (N, Q) of independent functions with the same kernel, or coregionalised ones
            NaN is missing. Counts are whole numbers >= 0, and categories are sorted labels without
            gaps; both have one output.
        sample_weight : (N,), optional
            How often each row counts: equal to repeated rows.
        noise_variance : (N,), optional
            Noise variance of each row, relative to the noise of the kernel; absolute where it has none.
            Of normal targets.
        """
        check_parameters(self)
        if self.kernel is not None and not isinstance(self.kernel, Kernel):
            raise TypeError(
                f"kernel must be one of posteriori.kernels or None, got {self.kernel!r}"
            )
        options = SearchOptions(
            self.fixed, self.n_init, self.random_state, self.callback, self.search_rows
        )
        if self.likelihood != "normal":
            return self._fit_latent(X, y, sample_weight, noise_variance, options)
        self._refuse_options()
        given = self._read(X, y, sample_weight, noise_variance, reset=True)
        how: Any = {"hyperparameters": self.hyperparameters, "mean": self.mean, "options": options}
        if self.outputs == "coregionalised":
            learned = learn_outputs(self.kernel, given, rank=self.rank, **how)
        else:
            learned = learn_process(self.kernel, given, **how)
        self._keep(given, learned)
        return self

    _given: Any
    _learned: Any
    _classes: Any

    def _keep(self, given: GivenRows, learned: LearnedProcess) -> None:
        targets = given.y[:, 0] if given.flat else given.y
        self._fingerprint = Fingerprint().update(targets, given.frequency)
        self._given, self._learned, self._classes = given, learned, None

    def _refuse_options(self) -> None:
        """Refuse what only other likelihoods have."""
        for name in ("method", "likelihood_parameters"):
            value = getattr(self, name)
            if value is not None:
                raise ValueError(
                    f"{name} is of other likelihoods: that of normal targets is exact, with its noise in "
                    f"the kernel; leave {name} out, or choose a likelihood; got {value!r}"
                )

    def _fit_latent(
        self, X: Any, y: Any, sample_weight: Any, noise_variance: Any, options: SearchOptions
    ) -> Self:
        """Learn a function behind targets that are not normal."""
        if self.outputs != "shared":
            raise ValueError(
                f"outputs={self.outputs!r} are learned from each other where targets are normal: "
                f"likelihood={self.likelihood!r} has one output; leave outputs out"
            )
        if self.search_rows is not None:
            raise ValueError(
                f"search_rows is of normal targets; likelihood={self.likelihood!r} is searched for with all "
                f"rows: leave it out, got {self.search_rows!r}"
            )
        if noise_variance is not None:
            raise ValueError(
                f"noise_variance is of normal noise, and likelihood={self.likelihood!r} has a law of its "
                "own: leave it out, or use likelihood='normal'; sample_weight says how often rows count"
            )
        rows: Any
        if self.likelihood == "ordinal":
            rows = check_labelled_rows(self, X, y, sample_weight)
            targets, classes = rows.codes, rows.classes
        else:
            rows = check_rows(self, X, y, sample_weight=sample_weight, missing="drop")
            targets, classes = rows.y, None
            if self.likelihood != "student-t":
                check_counts(self, targets, stacklevel=4)
        family = FAMILIES[self.likelihood](targets, rows.frequency)
        how = LatentOptions(
            str(self.method or family.approximation), float(self.tol), int(self.max_iter)
        )
        hyperparameters = self.hyperparameters
        if hyperparameters == "learned":
            hyperparameters = "integrated" if len(rows.x) <= FEW_ROWS else "type-II"
        self._learned = learn_latent(
            self.kernel,
            family,
            rows.x,
            self.likelihood_parameters,
            hyperparameters=hyperparameters,
            mean=self.mean,
            options=options,
            how=how,
        )
        self._fingerprint, self._given, self._classes = rows.fingerprint, rows.x, classes
        return self

    @available_if(_is_extended)
    def partial_fit(
        self, X: Any, y: Any, sample_weight: Any = None, noise_variance: Any = None
    ) -> Self:
        """Learn from further rows, with the kernel of the first.

        With hyperparameters="fixed" the same as one fit to all of them. The factor of earlier rows is
        extended, in O(N²) for each new input.
        """
        if "_learned" not in self.__dict__:
            return self.fit(X, y, sample_weight, noise_variance)
        given = join_rows(self._given, self._read(X, y, sample_weight, noise_variance, reset=False))
        extend = extend_outputs if self.outputs == "coregionalised" else extend_process
        self._keep(given, extend(self._learned, given, self.mean))
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
            missing="entries" if self.outputs == "coregionalised" else "drop",
            several_targets=len(shape) == 2 and shape[1] > 1,
            reset=reset,
        )
        flat = rows.y.ndim == 1
        targets = rows.y[:, None] if flat else rows.y
        return GivenRows(rows.x, targets, rows.frequency, rows.variance, flat)

    # -- what was learned ------------------------------------------------------------------

    def __sklearn_is_fitted__(self) -> bool:
        return "_learned" in self.__dict__

    def _fitted(self) -> LearnedProcess | LatentLearned:
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
    def X_(self) -> Array:
        """The rows that it learned from, without those whose targets are missing, (N, D)."""
        self._fitted()
        kept: Array = self._given.X if isinstance(self._given, GivenRows) else self._given
        return kept

    @property
    def log_evidence_(self) -> LogEvidence:
        """Return ln p(y | X)."""
        learned = self._fitted()
        return LogEvidence(
            learned.log_evidence, kind=learned.kind, of="y|X", fingerprint=self._fingerprint
        )

    @property
    def likelihood_parameters_(self) -> dict[str, Any]:
        """Parameters of the likelihood by their names; none of normal targets."""
        learned = self._fitted()
        if isinstance(learned, LearnedProcess):
            return {}
        return learned.model.family.parameters(learned.model.phi)

    @property
    def classes_(self) -> Any:
        """Categories in their order."""
        self._fitted()
        if self._classes is None:
            raise AttributeError(f"targets of likelihood={self.likelihood!r} have no classes")
        return self._classes

    @property
    def account_(self) -> tuple[str, ...]:
        """How it was computed."""
        return self._fitted().account

    @property
    def n_iter_(self) -> int:
        """Evaluations of the evidence."""
        return self._fitted().n_iter

    def _approximate_belief(self) -> Unweighed:
        if self.log_evidence_.kind == "laplace" and self.likelihood == "normal":
            return Unweighed(
                "scales are weighed at nodes, given each of which the function is exact"
            )
        return Unweighed.of_kind(self.log_evidence_.kind)

    # -- predictions -----------------------------------------------------------------------

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Return the expected targets (N,) or (N, Q), with ``return_std`` also their standard deviations.

        Of categories it is the most probable one.
        """
        belief = self._fitted().belief
        if self._classes is not None:
            if return_std:
                raise ValueError("categories have no standard deviation; see predict_dist")
            return self._classes[belief.mean(check_inputs(self, X))]
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
            One distribution of all N targets instead of N of one target each; of coregionalised outputs
            of all N·Q, those of a row one after another; of other than normal targets that of the function,
            with ``noise=False``.
        noise : bool
            False leaves the noise out: the distribution of the function itself, of counts that of the
            log mean.
        noise_variance : (N,), optional
            Noise variance of each row, relative to that of the kernel; absolute where it has none.

        Returns
        -------
        Normal or MvNormal
        Mixture
            Of these, for hyperparameters="integrated"; of counts or Student-t distributions over an
            uncertain function, as of the regressions in :mod:`posteriori.regression`.
        Categorical
            Of categories.
        """
        belief = self._fitted().belief
        x = check_inputs(self, X)
        if isinstance(belief, LatentBelief) and noise_variance is not None:
            raise ValueError(
                f"noise_variance is of normal noise; leave it out with likelihood={self.likelihood!r}"
            )
        if noise and not joint and self._classes is not None:
            return Categorical(belief.predict(x, None).probabilities, labels=self._classes)
        level: Any = None if noise else 0.0
        if noise and noise_variance is not None:
            level = check_noise_variance(noise_variance, len(x))
        return belief.predict_jointly(x, level) if joint else belief.predict(x, level)

    @available_if(_is_ordinal)
    def predict_proba(self, X: Any) -> Array:
        """Return the probabilities of the categories, (N, K)."""
        return np.asarray(self.predict_dist(X).probabilities)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return R², or the share of categories that are predicted right."""
        of = ClassifierMixin if self.likelihood == "ordinal" else RegressorMixin
        return float(of.score(self, X, y, sample_weight))

    def sample_functions(self, X: Any, size: int = 1, rng: Seed = None) -> Array:
        """Draw functions from the posterior and return their values at X: (S, N), or (S, N, Q)."""
        belief = self._fitted().belief
        return belief.sample(check_inputs(self, X), size, as_generator(rng))

    def sample_targets(self, X: Any, size: int = 1, rng: Seed = None) -> Array:
        """Draw whole new sets of targets at X from the posterior predictive, (S, N), or (S, N, Q)."""
        belief, generator = self._fitted().belief, as_generator(rng)
        drawn = belief.sample_targets(check_inputs(self, X), size, generator)
        return drawn if self._classes is None else self._classes[drawn.astype(np.int64)]

    def effects(self, X: Any) -> list[Effect]:
        """Return what is believed of the mean, if there is one, and of each summand of the kernel.

        Their means add up to that of the function; their beliefs depend on each other.
        """
        return self._fitted().belief.effects(check_inputs(self, X))

    @available_if(_leaves_rows_out)
    def leave_one_out_log_density(self, X: Any, y: Any, noise_variance: Any = None) -> Array:
        """Return ln p(y_n | all other rows) of the rows that the model was fitted to, (N,).

        In closed form, and of other than normal targets by what the approximation knows of a row from all
        others, which was found with that row among them: of rows that surprise it is too high by some
        hundredths. Not offered where all rows have chosen the parameters of the kernel.
        """
        learned = self._fitted()
        if isinstance(learned, LatentLearned):
            self._require_known(X, y, learned)
            return learned.belief.left_out_log_density()
        asked = self._read(X, y, None, noise_variance, reset=False)
        if not (np.array_equal(asked.X, self._given.X) and np.array_equal(asked.y, self._given.y)):
            raise ValueError(_NOT_KNOWN)
        v = self._given.variance
        share = np.ones(len(asked.X)) if v is None else 1.0 / v
        assert isinstance(learned.belief, ProcessBelief)  # outputs are shared
        return learned.belief.left_out_log_density(learned.rows, asked.y, share)

    def _require_known(self, X: Any, y: Any, learned: LatentLearned) -> None:
        """Refuse rows that the model was not fitted to."""
        if self._classes is not None:
            x = check_inputs(self, X)
            targets = check_known_labels(self, x, y)
        else:
            x, targets, _, _, _ = check_rows(self, X, y, missing="drop", reset=False)
        known = learned.belief.family.y
        if not (np.array_equal(x, self._given) and np.array_equal(targets, known)):
            raise ValueError(_NOT_KNOWN)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = self.likelihood == "normal"
        tags.target_tags.positive_only = self.likelihood in ("poisson", "negative binomial")
        if self.likelihood == "ordinal":
            tags.estimator_type, tags.regressor_tags = "classifier", None
            tags.classifier_tags = ClassifierTags(poor_score=True)  # as of OrdinalRegression
        return tags
