r"""Classification by a function that is not seen.

.. math:: p(y = k\mid x) = \mathrm{softmax}(f_1(x), \dots, f_K(x))_k,\qquad f_k \sim GP(m, k),

with one function and a logistic or probit link for two classes, and the contrasts of K for more.

Reference: C. Rasmussen & C. Williams, "Gaussian processes for machine learning", 2006, ch. 3.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from posteriori.distributions.numbers.normal import Normal
from posteriori.estimators.class_probabilities import ClassProbabilities, LabelledLearner
from posteriori.estimators.estimator_rows import check_inputs
from posteriori.estimators.labelled_rows import LabelledRows
from posteriori.estimators.parameters import (
    AT_LEAST_ONE,
    POSITIVE,
    WHOLE,
    Constraint,
    one_of,
    or_none,
)
from posteriori.inference.predictors.class_curves import (
    logistic_curve,
    logistic_mean,
    probit_curve,
    probit_mean,
)
from posteriori.inference.predictors.expectation_propagation import logistic_tilt, probit_tilt
from posteriori.inference.predictors.generalized_linear import Likelihood
from posteriori.inference.predictors.site_predictors import Tilt
from posteriori.inference.predictors.softmax_averages import average_softmax
from posteriori.inference.processes.kernel_search import SEARCH_TOL, maximize_evidence, some_rows
from posteriori.inference.processes.latent.latent_likelihoods import (
    LatentLikelihood,
    SingleLatent,
    SoftmaxLatent,
)
from posteriori.inference.processes.latent.latent_process import KINDS
from posteriori.inference.processes.latent.latent_search import LatentFunction, LatentObjective
from posteriori.inference.processes.mean_effects import NO_MEAN, MeanEffects, mean_effects
from posteriori.inference.processes.search_bounds import SearchBounds, default_bounds
from posteriori.kernels.kernel import Kernel
from posteriori.kernels.radial import RBF
from posteriori.numerics.evidence import Kind, LogEvidence
from posteriori.numerics.types import Array, Seed
from posteriori.numerics.warnings import ConvergenceWarning

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


class GaussianProcessClassifier(LabelledLearner, ClassProbabilities):
    """Classes by a function with a kernel, whose evidence chooses the kernel.

    Parameters
    ----------
    kernel : Kernel, optional
        Of the function; None is ``Constant() * RBF(one scale for each column)``, with what is usual for
        the data. Of more than two classes every contrast has it.
    link : {"logistic", "probit"}
        How the function becomes a probability; "probit" is for two classes.
    approximation : {"laplace", "ep", "variational"}
        Of the posterior. Laplace's method is the fastest; expectation propagation is nearly exact; the
        variational belief has the highest lower bound of the evidence.
    hyperparameters : {"type-II", "fixed"}
        "type-II": the kernel of highest evidence. "fixed": the kernel as it is.
    mean : {"constant", "zero", "linear"}
        What the function varies around; a level ~ N(0, 2²), and lines with standardised slopes ~
        N(0, 2²), are integrated out.
    fixed : sequence of str
        Names of kernel parameters that are not learned, such as "Constant.value".
    restarts : int
        Further searches from random kernels.
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
        For restarts.
    callback : callable, optional
        Is told the number of an evaluation and the highest evidence so far; True ends the search.

    Attributes
    ----------
    classes_ : (K,)
    kernel_ : Kernel
    log_evidence_ : LogEvidence
        Of the kind of the approximation with a given kernel; "type-II" where it was chosen.
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
        "approximation": one_of("laplace", "ep", "variational"),
        "hyperparameters": one_of("type-II", "fixed"),
        "mean": one_of("constant", "zero", "linear"),
        "restarts": Constraint("be a whole number >= 0", 0.0, np.inf, whole=True),
        "search_rows": or_none(WHOLE),
        "tol": POSITIVE,
        "max_iter": AT_LEAST_ONE,
    }

    def __init__(
        self,
        kernel: Kernel | None = None,
        *,
        link: str = "logistic",
        approximation: str = "laplace",
        hyperparameters: str = "type-II",
        mean: str = "constant",
        fixed: Any = (),
        restarts: int = 0,
        search_rows: int | None = None,
        class_weight: Any = None,
        tol: float = 1e-6,
        max_iter: int = 200,
        random_state: Seed = None,
        callback: Any = None,
    ) -> None:
        self.kernel = kernel
        self.link = link
        self.approximation = approximation
        self.hyperparameters = hyperparameters
        self.mean = mean
        self.fixed = fixed
        self.restarts = restarts
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
        mean = self._mean_of(rows)
        objective = self._objective(rows, mean)
        self.n_iter_ = 1
        if self.hyperparameters == "type-II":
            part = self._searched(rows)
            found = maximize_evidence(
                objective if part is rows else self._objective(part, mean),
                kernel,
                bounds=self._bounds(kernel, rows.x),
                fixed=self.fixed,
                restarts=int(self.restarts),
                rng=self.random_state,
                callback=self.callback,
                tol=0.0 if part is rows else SEARCH_TOL,
            )
            kernel, self.n_iter_ = found.kernel, found.n_iter
            self._warn_unless(found.converged, f"{found.n_iter} evaluations of the evidence")
        self._function: LatentFunction = objective.at(kernel)
        self._warn_unless(self._function.fit.converged, f"{self._function.fit.n_iter} steps")
        self.kernel_, self.classes_ = kernel, rows.classes
        chosen = self.hyperparameters == "type-II"
        kind: Kind = "type-II" if chosen else KINDS[self.approximation]
        self.log_evidence_ = LogEvidence(
            self._function.fit.log_evidence, kind=kind, of="y|X", fingerprint=rows.fingerprint
        )

    def _objective(self, rows: LabelledRows, mean: MeanEffects) -> LatentObjective:
        return LatentObjective(
            rows.x,
            self._likelihood(rows),
            mean,
            str(self.approximation),
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
            smooth = 1.0 * RBF(np.ones(x.shape[1]))
            return smooth.with_log_parameters(self._bounds(smooth, x).center)
        if not isinstance(self.kernel, Kernel):
            raise TypeError(
                f"kernel must be one of posteriori.kernels or None, got {self.kernel!r}"
            )
        return self.kernel

    def _bounds(self, kernel: Kernel, x: Array) -> SearchBounds:
        """Return bounds from the data; classes that a function tells apart surely want it without end."""
        bounds = default_bounds(kernel, x, np.full(len(x), _SPREAD))
        size = np.array([name.endswith(".value") for name in kernel.parameter_names], dtype=bool)
        most = np.where(size, bounds.center + np.log(_LARGEST), np.inf)
        high = np.minimum(bounds.high, most)
        return bounds._replace(high=np.maximum(high, kernel.log_parameters))

    def _likelihood(self, rows: LabelledRows) -> LatentLikelihood:
        if len(rows.classes) > 2:
            return SoftmaxLatent(rows.codes, len(rows.classes), rows.frequency)
        sign, link = np.where(rows.codes == 1, 1.0, -1.0), _LINKS[self.link]
        return SingleLatent(link.curve(sign), link.tilt(sign), rows.frequency)

    def _mean_of(self, rows: LabelledRows) -> MeanEffects:
        if self.mean == "zero":
            return NO_MEAN
        scale = mean_effects(self.mean, rows.x, np.zeros(len(rows.x)), rows.frequency)
        return scale._replace(center=0.0, spread=_SPREAD)

    def _warn_unless(self, converged: bool, what: str) -> None:
        if not converged:
            warnings.warn(
                f"{type(self).__name__} did not converge in {what}; raise max_iter, or fix some "
                "parameters of the kernel",
                ConvergenceWarning,
                stacklevel=4,
            )

    # -- predictions -----------------------------------------------------------------------

    def predictor(self, X: Any) -> Normal:
        """Return the posterior of the function of two classes at each row, a batch."""
        mean, spread = self._moments(X)
        if len(self.classes_) > 2:
            raise ValueError(
                f"{len(self.classes_)} classes have several functions; see predict_proba"
            )
        return Normal(mean[:, 0], variance=spread[:, 0, 0])

    def predict_proba(self, X: Any) -> Array:
        """Return the probabilities of the classes, the function integrated out, (N, K)."""
        mean, spread = self._moments(X)
        if len(self.classes_) > 2:
            return average_softmax(mean, spread)
        average = _LINKS[self.link].mean
        columns = [average(sign * mean[:, 0], spread[:, 0, 0]) for sign in (-1.0, 1.0)]
        return np.column_stack(columns)

    def decision_function(self, X: Any) -> Array:
        """Return the log odds of the second class (N,), or log probabilities of all (N, K)."""
        log_p = self.predict_log_proba(X)
        return log_p[:, 1] - log_p[:, 0] if len(self.classes_) == 2 else log_p

    def _moments(self, X: Any) -> tuple[Array, Array]:
        check_is_fitted(self)
        return self._function.moments(check_inputs(self, X))
