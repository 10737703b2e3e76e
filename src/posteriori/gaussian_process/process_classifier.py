r"""Classification by a function that is not seen.

.. math:: p(y = k\mid x) = \mathrm{softmax}(f_1(x), \dots, f_K(x))_k,\qquad f_k \sim GP(m, k),

with one function and a logistic or probit link for two classes, and the contrasts of K for more.

Reference: C. Rasmussen & C. Williams, "Gaussian processes for machine learning", 2006, ch. 3.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from posteriori.estimators.approximate_posterior import ApproximatePosterior
from posteriori.estimators.class_probabilities import ClassProbabilities, LabelledLearner
from posteriori.estimators.estimator_rows import check_inputs
from posteriori.estimators.labelled_rows import LabelledRows, check_known_labels
from posteriori.estimators.parameters import (
    AT_LEAST_ONE,
    POSITIVE,
    WHOLE,
    one_of,
    or_none,
)
from posteriori.gaussian_process.latent_learning import (
    LatentOptions,
    find_functions,
    latent_mean,
)
from posteriori.gaussian_process.process_belief import Effect
from posteriori.gaussian_process.process_learning import SearchOptions, kernel_is_kept
from posteriori.inference.predictors.class_curves import (
    logistic_curve,
    logistic_mean,
    probit_curve,
    probit_mean,
)
from posteriori.inference.predictors.expectation_propagation import logistic_tilt, probit_tilt
from posteriori.inference.predictors.generalized_linear import Likelihood
from posteriori.inference.predictors.site_predictors import Tilt
from posteriori.inference.predictors.softmax_averages import average_softmax, contrasts
from posteriori.inference.processes.kernel_search import some_rows
from posteriori.inference.processes.latent.latent_likelihoods import (
    LatentLikelihood,
    SingleLatent,
    SoftmaxLatent,
)
from posteriori.inference.processes.latent.latent_search import (
    LatentObjective,
    latent_bounds,
    usual_latent_kernel,
)
from posteriori.inference.processes.mean_effects import MeanEffects
from posteriori.kernels.kernel import Kernel
from posteriori.numerics.evidence import LogEvidence
from posteriori.numerics.linalg import cholesky_jittered
from posteriori.numerics.random import as_generator
from posteriori.numerics.types import Array, Seed

__all__ = ["GaussianProcessClassifier"]

#: Standard deviation of the level of a predictor, and of standardised slopes: log odds beyond four are
#: rare.
_SPREAD = 2.0

#: The variance of a function is at most so many times what is usual.
_LARGEST = 100.0


class _Link(NamedTuple):
    """A likelihood of two classes: its curve, its moments, and its mean under a normal predictor."""

    curve: Callable[[Array], Likelihood]
    tilt: Callable[[Array], Tilt]
    mean: Callable[[Array, Array], Array]


_LINKS = {
    "logistic": _Link(logistic_curve, logistic_tilt, logistic_mean),
    "probit": _Link(probit_curve, probit_tilt, probit_mean),
}


class GaussianProcessClassifier(ApproximatePosterior, LabelledLearner, ClassProbabilities):
    """Classes by a function with a kernel, whose evidence chooses the kernel.

    Parameters
    ----------
    kernel : Kernel, optional
        Of the function; None is ``Constant() * RBF(one scale for each column)``, with what is usual for
        the data. Of more than two classes every contrast has it.
    link : {"logistic", "probit"}
        How the function becomes a probability; "probit" is for two classes.
    method : {"laplace", "ep", "variational"}
        Of the posterior. Laplace's method is the fastest; expectation propagation is nearly exact; the
        variational belief has the highest lower bound of the evidence.
    hyperparameters : {"type-II", "fixed", "integrated"}
        "type-II": the kernel of highest evidence. "fixed": the kernel as it is. "integrated": parameters
        weighed by how probable they are; their logarithms are normal around what is usual a priori,
        as of :class:`GaussianProcessRegressor`, with functions of standard deviation 2.
    mean : {"constant", "zero", "linear"}
        What the function varies around; a level ~ N(0, 2²), and lines with standardised slopes ~
        N(0, 2²), are integrated out.
    fixed : sequence of str
        Names of kernel parameters that are not learned, such as "Constant.value".
    n_init : int
        Starts of the search, of which all but the first are at random.
    search_rows : int or None
        Rows of all classes, over the number of functions, whose evidence the search for the kernel is
        after; None is all. The function and the evidence are of all rows.
    class_weight : mapping from labels to numbers > 0, "balanced" or None
        How often rows of a class count.
    tol : float
        Steps below so many standard deviations end the approximation.
    max_iter : int
        Most steps of it.
    random_state : int, Generator or None
        Of the starts after the first.
    callback : callable, optional
        Is told the number of an evaluation and the highest evidence so far; True ends the search.

    Attributes
    ----------
    classes_ : (K,)
    kernel_ : Kernel
    log_evidence_ : LogEvidence
        Of the kind of the approximation with a given kernel; "type-II" where it was chosen, and
        "laplace" where parameters are integrated.
    account_ : tuple of str
        How it was computed: the approximation, the search, jitter if any.
    n_iter_ : int
        Evaluations of the evidence.
    n_features_in_, feature_names_in_

    Notes
    -----
    An evaluation costs O(N³) for two classes and O(N³K³) for more; memory is O(N²K²).

    Examples
    --------
    >>> import numpy as np
    >>> x = np.linspace(-3.0, 3.0, 31)[:, None]
    >>> model = GaussianProcessClassifier().fit(x, np.abs(x[:, 0]) < 1.5)
    >>> model.predict([[0.0], [2.5]])
    array([ True, False])
    """

    _constraints = {
        "link": one_of("logistic", "probit"),
        "method": one_of("laplace", "ep", "variational"),
        "hyperparameters": one_of("type-II", "fixed", "integrated"),
        "mean": one_of("constant", "zero", "linear"),
        "n_init": WHOLE,
        "search_rows": or_none(WHOLE),
        "tol": POSITIVE,
        "max_iter": AT_LEAST_ONE,
    }

    def __init__(
        self,
        kernel: Kernel | None = None,
        *,
        link: str = "logistic",
        method: str = "laplace",
        hyperparameters: str = "type-II",
        mean: str = "constant",
        fixed: Any = (),
        n_init: int = 1,
        search_rows: int | None = None,
        class_weight: Any = None,
        tol: float = 1e-6,
        max_iter: int = 200,
        random_state: Seed = None,
        callback: Any = None,
    ) -> None:
        self.kernel = kernel
        self.link = link
        self.method = method
        self.hyperparameters = hyperparameters
        self.mean = mean
        self.fixed = fixed
        self.n_init = n_init
        self.search_rows = search_rows
        self.class_weight = class_weight
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.callback = callback

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = self.link == "logistic"
        return tags

    # -- learning --------------------------------------------------------------------------

    def _learn(self, rows: LabelledRows) -> None:
        if len(rows.classes) > 2 and self.link == "probit":
            raise ValueError(
                "Only binary classification is supported with link='probit'. The type of the target is "
                f"multiclass, of {len(rows.classes)} classes: use link='logistic'"
            )
        kernel = self._kernel(rows.x)
        mean = latent_mean(self.mean, rows.x, rows.frequency, 0.0, _SPREAD)
        objective = self._objective(rows, mean)
        part = self._searched(rows)
        found = find_functions(
            objective,
            kernel,
            latent_bounds(kernel, rows.x, _SPREAD, _LARGEST),
            self.hyperparameters,
            SearchOptions(
                self.fixed, self.n_init, self.random_state, self.callback, self.search_rows
            ),
            LatentOptions(str(self.method), float(self.tol), int(self.max_iter)),
            searched=objective if part is rows else self._objective(part, mean),
        )
        self._belief, self._rows = found.belief, rows
        self.kernel_, self.classes_ = found.top, rows.classes
        self.account_, self.n_iter_ = found.account, found.n_iter
        self.log_evidence_ = LogEvidence(
            found.log_evidence, kind=found.kind, of="y|X", fingerprint=rows.fingerprint
        )

    def _objective(self, rows: LabelledRows, mean: MeanEffects) -> LatentObjective:
        return LatentObjective(
            rows.x,
            self._likelihood(rows),
            mean,
            str(self.method),
            tol=float(self.tol),
            max_iter=int(self.max_iter),
        )

    def _searched(self, rows: LabelledRows) -> LabelledRows:
        """Return rows for the search, of each class its share."""
        if self.search_rows is None:
            return rows
        functions = len(rows.classes) - 1
        step = some_rows(len(rows.x) * functions, self.search_rows)
        places = np.sort(np.argsort(rows.codes, kind="stable")[step])
        frequency = None if rows.frequency is None else rows.frequency[places]
        return rows._replace(x=rows.x[places], codes=rows.codes[places], frequency=frequency)

    def _kernel(self, x: Array) -> Kernel:
        if self.kernel is None:
            return usual_latent_kernel(x, _SPREAD)
        if not isinstance(self.kernel, Kernel):
            raise TypeError(
                f"kernel must be one of posteriori.kernels or None, got {self.kernel!r}"
            )
        return self.kernel

    def _likelihood(self, rows: LabelledRows) -> LatentLikelihood:
        if len(rows.classes) > 2:
            return SoftmaxLatent(rows.codes, len(rows.classes), rows.frequency)
        sign, link = np.where(rows.codes == 1, 1.0, -1.0), _LINKS[self.link]
        return SingleLatent(link.curve(sign), link.tilt(sign), rows.frequency)

    # -- predictions -----------------------------------------------------------------------

    def predictor(self, X: Any) -> Any:
        """Return the posterior of the function of two classes at each row, a batch."""
        return self.predict_dist(X, noise=False)

    def predict_dist(self, X: Any, *, joint: bool = False, noise: bool = True) -> Any:
        """Return the distribution of each row's label, a batch, or that of the function of two classes.

        Parameters
        ----------
        X : (N, D)
        joint : bool
            One distribution of all N values of the function, with ``noise=False``.
        noise : bool
            False leaves out that labels are drawn: the distribution of the function itself.

        Returns
        -------
        Categorical
        Normal or MvNormal
            Of the function; a mixture of them for hyperparameters="integrated".
        """
        if noise and joint:
            raise ValueError("joint=True is offered for the function alone: add noise=False")
        if noise:
            return super().predict_dist(X)
        x = self._inputs(X)
        self._require_one_function()
        return self._belief.predict_jointly(x, 0.0) if joint else self._belief.predict(x, 0.0)

    def predict_proba(self, X: Any) -> Array:
        """Return the probabilities of the classes, the function integrated out, (N, K)."""
        x, belief = self._inputs(X), self._belief
        each = [self._probabilities(*process.moments(x)) for process in belief.processes]
        return np.asarray(np.tensordot(belief.weights, np.array(each), axes=1))

    def _probabilities(self, mean: Array, spread: Array) -> Array:
        if len(self.classes_) > 2:
            return average_softmax(mean, spread)
        average = _LINKS[self.link].mean
        columns = [average(sign * mean[:, 0], spread[:, 0, 0]) for sign in (-1.0, 1.0)]
        return np.column_stack(columns)

    def sample_functions(self, X: Any, size: int = 1, rng: Seed = None) -> Array:
        """Draw functions from the posterior and return their values at X.

        Of two classes (S, N), the function whose link is the probability of the second; of more
        (S, N, K), a function for each class, whose softmax are the probabilities and whose sum is 0.
        """
        x, generator = self._inputs(X), as_generator(rng)
        if len(self.classes_) == 2:
            return self._belief.sample(x, size, generator)
        chosen = generator.choice(len(self._belief.weights), size=size, p=self._belief.weights)
        drawn = np.empty((size, len(x), len(self.classes_)))
        turn = contrasts(len(self.classes_))
        for k, process in enumerate(self._belief.processes):
            here = np.flatnonzero(chosen == k)
            root = cholesky_jittered(process.covariance(x)).lower
            values = generator.standard_normal((len(here), len(root))) @ root.T
            values = values.reshape(len(here), -1, len(x)) + process.moments(x)[0].T
            drawn[here] = np.einsum("scn,kc->snk", values, turn)
        return drawn

    def effects(self, X: Any) -> list[Effect]:
        """Return what is believed of the mean, if there is one, and of each summand of the kernel.

        Of two classes beliefs of N values, of more (N, K): of the functions of the classes, whose sum is 0 and
        whose softmax are the probabilities. Means add up to that of the function; the beliefs depend on each
        other.
        """
        x = self._inputs(X)
        if len(self.classes_) == 2:
            return self._belief.effects(x)
        return self._belief._replace(flat=False).effects(x, contrasts(len(self.classes_)))

    @available_if(kernel_is_kept)
    def leave_one_out_log_density(self, X: Any, y: Any) -> Array:
        """Return ln p(y_n | all other rows) of the rows that the model was fitted to, (N,).

        Of two classes, by what the approximation knows of a row from all others; not offered where rows
        have chosen the parameters of the kernel.
        """
        x = self._inputs(X)
        self._require_one_function()
        codes, rows = check_known_labels(self, x, y), self._rows
        if not (np.array_equal(x, rows.x) and np.array_equal(codes, rows.codes)):
            raise ValueError(
                "X and y must be the rows that the model was fitted to: only these can be left out"
            )
        sign, average, logs = np.where(codes == 1, 1.0, -1.0), _LINKS[self.link].mean, []
        for process in self._belief.processes:
            mean, variance = process.fit.cavities(rows.frequency)
            logs.append(np.log(average(sign * mean, variance)))
        return self._belief.weigh_left_out(logs)

    def decision_function(self, X: Any) -> Array:
        """Return the log odds of the second class (N,), or log probabilities of all (N, K)."""
        log_p = self.predict_log_proba(X)
        return log_p[:, 1] - log_p[:, 0] if len(self.classes_) == 2 else log_p

    def _inputs(self, X: Any) -> Array:
        check_is_fitted(self)
        return np.asarray(check_inputs(self, X))

    def _require_one_function(self) -> None:
        if len(self.classes_) > 2:
            raise ValueError(
                f"{len(self.classes_)} classes have several functions; see predict_proba and "
                "sample_functions"
            )
