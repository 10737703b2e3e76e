r"""Classes divided by the widest margin in the features of a kernel.

.. math:: f(x) = \sum_na_nt_nk(x, x_n) + b, \qquad 0\le a_n\le C.

Most rows have a = 0 and are not kept. Several classes vote pair by pair, or each stands against the rest.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import _ovr_decision_function

from posteriori.estimators.labelled_rows import LabelledRows, check_labelled_rows
from posteriori.estimators.parameters import (
    ABOVE_ZERO,
    POSITIVE,
    Constraint,
    check_parameters,
    one_of,
    or_none,
)
from posteriori.inference.margins.kernel_rows import rows_of
from posteriori.numerics.types import Array
from posteriori.svm.support_machine import SupportMachine
from posteriori.svm.two_classes import (
    TwoClassMachine,
    divide_classes,
    divide_hulls,
    divide_with_nu,
)

__all__ = ["SupportVectorClassifier"]


class SupportVectorClassifier(ClassifierMixin, SupportMachine):
    r"""Support vector machine for classes.

    Parameters
    ----------
    kernel : Kernel, "precomputed" or None
        None is a Gaussian kernel with γ = 1/(D · variance of X); with "precomputed" X is the Gram matrix.
    C : float
        Price of slack; inf allows none (the hard margin), and refuses classes that no plane divides.
    nu : float, optional
        In (0, 1], in place of C: a bound on the share of rows with slack from above, and on that of support
        vectors from below.
    multiclass : {"one-vs-one", "one-vs-rest"}
        How more than two classes are divided.
    tol : float
        Gap of the optimality conditions at which to stop.
    cache_size : float
        MB of kernel rows that are kept while learning.

    Attributes
    ----------
    classes_ : (K,)
    kernel_ : Kernel or "precomputed"
    support_ : (M,)
        Rows with a ≠ 0, of those whose weight is not 0.
    support_vectors_ : (M, D)
    n_support_ : (K,)
        How many of each class.
    intercept_ : (J,)
        b of each of J machines, the mean over support vectors with 0 < a < C.
    coef_ : (J, D)
        Of the kernel ``Linear()``.
    machines_ : list of TwoClassMachine
        One of two classes; else one for each pair of classes, or for each class.
    dual_, slack_ : (N,)
        a and ξ, of two classes.
    role_ : (N,)
        Of two classes: "outside" the margin, "on" it (within ``tol``), "inside", or "wrong".
    margin_ : float
        1/‖w‖, of two classes.
    primal_objective_, dual_objective_ : float
        ½‖w‖² + CΣξ, and its lower bound Σa − ½‖w‖², of two classes.
    certificate_ : KKTReport
        Of the dual of two classes, minimised over a.
    n_iter_ : int
        Working sets of the machine that took most.

    Notes
    -----
    ``sample_weight`` multiplies C: equal to repeated rows. It has no probabilities;
    ``sklearn.calibration.CalibratedClassifierCV`` learns some from scores.

    Examples
    --------
    >>> from posteriori.kernels import Polynomial
    >>> corners = [[-1, -1], [-1, 1], [1, -1], [1, 1]]
    >>> xor = SupportVectorClassifier(Polynomial(2), C=np.inf).fit(corners, [0, 1, 1, 0])
    >>> xor.dual_, xor.predict(corners)
    (array([0.125, 0.125, 0.125, 0.125]), array([0, 1, 1, 0]))
    """

    _constraints = {
        "C": ABOVE_ZERO,
        "nu": or_none(Constraint("be in (0, 1]", 0.0, 1.0, open=True)),
        "multiclass": one_of("one-vs-one", "one-vs-rest"),
        "tol": POSITIVE,
        "cache_size": POSITIVE,
    }

    def __init__(
        self,
        kernel: Any = None,
        C: float = 1.0,
        nu: float | None = None,
        multiclass: str = "one-vs-one",
        tol: float = 1e-3,
        cache_size: float = 200,
    ) -> None:
        self.kernel = kernel
        self.C = C
        self.nu = nu
        self.multiclass = multiclass
        self.tol = tol
        self.cache_size = cache_size

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Divide the classes.

        Parameters
        ----------
        X : array_like (N, D)
        y : array_like (N,)
        sample_weight : array_like (N,), optional
            How often rows count; those with 0 are left out.
        """
        check_parameters(self)
        rows = check_labelled_rows(self, X, y, sample_weight)
        self._choose_kernel(rows.x, rows.frequency)
        self.classes_ = rows.classes
        problems = _problems(rows, self.multiclass)
        x, center = self._about_center(rows.x)
        machines = [self._divide(x, rows.frequency, *problem) for problem in problems]
        signed = np.zeros((len(rows.x), len(problems)))
        for j, ((members, _), machine) in enumerate(zip(problems, machines, strict=True)):
            signed[members, j] = machine.signed
        self._keep(rows.x, signed, np.array([m.intercept for m in machines]), center)
        self.machines_ = [
            m.with_intercept(b) for m, b in zip(machines, self.intercept_, strict=True)
        ]
        self.n_support_ = np.bincount(rows.codes[self.support_], minlength=len(rows.classes))
        self.n_iter_ = max(m.n_iter for m in self.machines_)
        if len(rows.classes) == 2:
            self._describe(self.machines_[0], np.where(rows.codes == 1, 1.0, -1.0))
        return self

    def decision_function(self, X: Any) -> Array:
        """Return f(x) of rows: (N,) for two classes, (N, K) for more.

        Where classes vote pair by pair a score is the number of votes, with less than half a vote for how clear
        they are.
        """
        scores = self._scores(X)
        if len(self.classes_) == 2:
            return scores[:, 0]
        if self.multiclass == "one-vs-rest":
            return scores
        # each machine's positive side is the second class of its pair
        return _ovr_decision_function(scores > 0, scores, len(self.classes_))

    def predict(self, X: Any) -> Any:
        """Return the class of the largest score; of two, the second where f(x) >= 0."""
        scores = self.decision_function(X)
        best = (scores >= 0).astype(np.intp) if scores.ndim == 1 else scores.argmax(axis=1)
        return self.classes_[best]

    def _divide(self, x: Array, frequency: Array | None, members: Any, t: Array) -> TwoClassMachine:
        x = x[members]
        source = rows_of(self.kernel_, x[:, members] if self._precomputed else x)
        weight = np.ones(len(t)) if frequency is None else frequency[members]
        options = {"tol": float(self.tol), "cache_size": float(self.cache_size)}
        if self.nu is not None:
            return divide_with_nu(t, weight, float(self.nu), source, **options)
        if np.isinf(self.C):
            return divide_hulls(t, source, **options)
        return divide_classes(t, self.C * weight, source, **options)

    def _describe(self, machine: TwoClassMachine, t: Array) -> None:
        """Set what two classes have."""
        self.dual_ = np.abs(machine.signed)
        self.slack_ = machine.slack
        distance = t * machine.scores
        near = np.abs(distance - 1.0) <= self.tol
        self.role_ = np.select(
            [near, distance > 1.0, distance > 0.0], ["on", "outside", "inside"], "wrong"
        )
        self.margin_ = machine.squared_norm**-0.5 if machine.squared_norm > 0 else np.inf
        self.primal_objective_ = machine.primal_objective
        self.dual_objective_ = machine.dual_objective
        self.certificate_ = machine.certificate


def _problems(rows: LabelledRows, multiclass: str) -> list[tuple[Any, Array]]:
    """Return which rows each machine sees, and on which side they are."""
    codes, count = rows.codes, len(rows.classes)
    if count == 2:
        return [(np.arange(len(codes)), np.where(codes == 1, 1.0, -1.0))]
    if multiclass == "one-vs-rest":
        return [(np.arange(len(codes)), np.where(codes == k, 1.0, -1.0)) for k in range(count)]
    pairs = []
    for first, second in combinations(range(count), 2):
        members = np.flatnonzero((codes == first) | (codes == second))
        pairs.append((members, np.where(codes[members] == second, 1.0, -1.0)))
    return pairs
