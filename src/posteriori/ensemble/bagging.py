r"""Bagging: the mean of models, each fitted to a bootstrap sample of the rows (Breiman 1996).

.. math:: p(y\mid x) = \frac1B\sum_b p_b(y\mid x)

It lowers the variance of models that follow their rows closely, not their bias. With
``max_features`` each model also sees some of the columns alone (random subspaces, Ho 1998).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from typing import Any, Self

import numpy as np
from sklearn.base import is_classifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags, get_tags

from posteriori.ensemble.bags import Bagger, plan_bags
from posteriori.estimators.base.base_estimator import BaseEstimator
from posteriori.estimators.combined_models import MeanOfModels, Member, VotesOfModels, votes_of
from posteriori.estimators.contract import predictive_of, states_distributions
from posteriori.estimators.estimator_rows import check_gappy_inputs, check_inputs, check_rows
from posteriori.estimators.labelled_rows import check_labelled_rows
from posteriori.estimators.parameters import (
    AT_LEAST_ONE,
    check_parameters,
    one_of,
    require_estimator,
)
from posteriori.numerics.telling.progress import Progress
from posteriori.numerics.types import Array

__all__ = ["BaggingClassifier", "BaggingRegressor"]


class _Bagging(BaseEstimator):
    """Models of bootstrap samples."""

    estimator: Any
    n_estimators: int
    estimators_: list[Any]
    estimators_features_: list[Any]

    _constraints = {"n_estimators": AT_LEAST_ONE}

    def _check(self) -> None:
        check_parameters(self)
        require_estimator("estimator", self.estimator)
        if is_classifier(self.estimator) != is_classifier(self):
            what = "classifier" if is_classifier(self.estimator) else "regression"
            raise TypeError(
                f"estimator is a {what}: bag classifiers by BaggingClassifier, regressions by "
                "BaggingRegressor"
            )

    @property
    def _gaps(self) -> bool:
        return get_tags(self.estimator).input_tags.allow_nan

    def _fit_bags(self, plan: Bagger, listen: Callable[[Any, Member], None]) -> None:
        """Fit and keep all models, and listen to what each says of rows that it has not seen.

        Ctrl-C keeps those that are done.
        """
        count = int(self.n_estimators)
        self.estimators_, self.estimators_features_, self._seen = [], [], plan.size
        line = Progress(None, kept="the models so far")
        try:
            for bag in plan.bags(count, self.random_state, self.n_jobs):
                self.estimators_.append(bag.model)
                self.estimators_features_.append(bag.columns)
                if len(bag.out):
                    unseen = plan.x[np.ix_(bag.out, bag.columns)]
                    listen(bag.out, Member(1.0, bag.model, unseen, plan.size))
                line.say(f"{len(self.estimators_)} of {count} models")
        except KeyboardInterrupt:
            if not self.estimators_:
                raise
            words = f"stopped after {len(self.estimators_)} of {count} models: these predict"
            warnings.warn(words, ConvergenceWarning, stacklevel=3)
        finally:
            line.close()

    def _members(self, X: Any) -> list[Member]:
        x = (check_gappy_inputs if self._gaps else check_inputs)(self, X)
        pairs = zip(self.estimators_, self.estimators_features_, strict=True)
        return [Member(1.0, model, x[:, columns], self._seen) for model, columns in pairs]

    def _models(self) -> Iterable[Any]:
        return getattr(self, "estimators_", [self.estimator])

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        if not hasattr(self.estimator, "__sklearn_tags__"):
            return tags  # fit refuses it in words
        own = get_tags(self.estimator)
        tags.input_tags.allow_nan = own.input_tags.allow_nan
        tags.target_tags.positive_only = own.target_tags.positive_only
        for mine, its in (
            (tags.classifier_tags, own.classifier_tags),
            (tags.regressor_tags, own.regressor_tags),
        ):
            if mine is not None and its is not None:
                mine.poor_score = its.poor_score
        if tags.classifier_tags is not None and own.classifier_tags is not None:
            tags.classifier_tags.multi_class = own.classifier_tags.multi_class
        return tags


class BaggingRegressor(_Bagging, MeanOfModels):
    """Regression that predicts the mean of models of bootstrap samples.

    Parameters
    ----------
    estimator : estimator
        Any regression; it is given counts of rows as ``sample_weight`` if it takes them, repeated rows
        if not.
    n_estimators : int
        Number of models B.
    max_samples : float or int
        Share of the rows, or number of rows, that a model is given.
    max_features : float or int
        Share of the columns, or number of columns, that a model sees.
    bootstrap : bool
        Whether rows are drawn with replacement. Without it and with all rows only the columns differ:
        random subspaces.
    n_jobs : int, optional
        Fits at a time, in processes of their own; one by default.
    random_state : Generator, int or None

    Attributes
    ----------
    estimators_ : list of fitted estimators
    estimators_features_ : list of arrays
        The columns that each sees.
    oob_prediction_ : (N,)
        Mean of the models that have not seen the row; not a number where there is none. This and the
        following are there where models leave rows out.
    oob_error_ : float
        Mean squared error of these.
    oob_log_density_ : float
        Mean log density of the rows under these, where they have predictive distributions.
    n_features_in_, feature_names_in_

    Notes
    -----
    ``predict_dist``, a mixture, is there where the models have predictive distributions. Rows are drawn
    in the order of their values, so that for a seed neither their order nor whether equal rows are
    repeated or weighted matters.

    References
    ----------
    L. Breiman, "Bagging predictors", 1996; T. K. Ho, "The random subspace method", 1998.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.tree import DecisionTreeRegressor
    >>> x = np.linspace(0, 6, 200)[:, None]
    >>> y = np.sin(x[:, 0]) + np.random.default_rng(0).normal(scale=0.3, size=200)
    >>> bagged = BaggingRegressor(DecisionTreeRegressor(), 30, random_state=0).fit(x, y)
    >>> bool(bagged.oob_error_ < 0.15)  # a single tree: 0.18; the noise: 0.09
    True
    """

    def __init__(
        self,
        estimator: Any,
        n_estimators: int = 50,
        *,
        max_samples: float = 1.0,
        max_features: float = 1.0,
        bootstrap: bool = True,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.max_samples = max_samples
        self.max_features = max_features
        self.bootstrap = bootstrap
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit all models.

        Parameters
        ----------
        X : (N, D)
        y : (N,)
        sample_weight : (N,), optional
            Frequencies: 2 equals a repeated row, 0 leaves it out.
        """
        self._check()
        rows = check_rows(self, X, y, sample_weight=sample_weight, gaps=self._gaps)
        plan = plan_bags(self, rows.x, rows.y, rows.y, rows.frequency)
        times, total, logs = np.zeros(len(plan.x)), np.zeros(len(plan.x)), []

        def listen(out: Any, member: Member) -> None:
            said = np.asarray(member.model.predict(member.inputs))
            if states_distributions(member.model):
                predictive = predictive_of(member.model, member.inputs)
                logs.append((out, np.asarray(predictive.log_prob(rows.y[out]))))
            times[out] += 1.0
            total[out] += said

        self._fit_bags(plan, listen)
        self._keep_unseen(plan, times, total, logs)
        return self

    def _keep_unseen(self, plan: Bagger, times: Array, total: Array, logs: list[Any]) -> None:
        _forget_unseen(self)
        seen = times == 0.0
        if seen.all():
            return
        self.oob_prediction_ = _mean(total, times)
        wrong = (self.oob_prediction_ - plan.y)[~seen] ** 2
        self.oob_error_ = float(np.average(wrong, weights=plan.frequency[~seen]))
        if logs:
            density = np.full(len(plan.x), -np.inf)
            for out, said in logs:
                density[out] = np.logaddexp(density[out], said)
            own = density[~seen] - np.log(times[~seen])
            self.oob_log_density_ = float(np.average(own, weights=plan.frequency[~seen]))


class BaggingClassifier(_Bagging, VotesOfModels):
    """Classifier that averages the probabilities of models of bootstrap samples, or lets them vote.

    Parameters
    ----------
    estimator : classifier
        Any; it is given counts of rows as ``sample_weight`` if it takes them, repeated rows if not.
    n_estimators, max_samples, max_features, bootstrap
        As of :class:`BaggingRegressor`.
    vote : {"probabilities", "majority"}
        Whether probabilities of classes are averaged, or every model votes for the class that it would
        choose. The first offers ``predict_proba``, the second ``decision_function``.
    n_jobs, random_state
        As of :class:`BaggingRegressor`.

    Attributes
    ----------
    classes_ : (K,)
    estimators_ : list of fitted classifiers
        One that was given rows of one class only is a constant.
    estimators_features_ : list of arrays
        The columns that each sees.
    oob_probabilities_, or oob_votes_ : (N, K)
        Mean of the probabilities, or of the votes, of models that have not seen the row; not a number
        where there is none. This and the following are there where models leave rows out.
    oob_error_ : float
        Share of these rows whose class would not be chosen.
    oob_log_density_ : float
        Mean log probability of the rows' classes, where probabilities are averaged.
    n_features_in_, feature_names_in_

    Notes
    -----
    A class that is not in a model's sample of n rows has the probability 1/(n + K) there, what a uniform
    Dirichlet prior leaves to it.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> tree = DecisionTreeClassifier(min_samples_leaf=5)
    >>> bagged = BaggingClassifier(tree, 30, max_features=0.3, random_state=0).fit(X, y)
    >>> bool(bagged.oob_error_ < 0.06)  # of a single tree about 0.07
    True
    """

    _constraints = {**_Bagging._constraints, "vote": one_of("probabilities", "majority")}

    def __init__(
        self,
        estimator: Any,
        n_estimators: int = 50,
        *,
        max_samples: float = 1.0,
        max_features: float = 1.0,
        bootstrap: bool = True,
        vote: str = "probabilities",
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.max_samples = max_samples
        self.max_features = max_features
        self.bootstrap = bootstrap
        self.vote = vote
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit all models.

        Parameters
        ----------
        X : (N, D)
        y : (N,)
            Labels of two or more classes.
        sample_weight : (N,), optional
            Frequencies: 2 equals a repeated row, 0 leaves it out.
        """
        self._check()
        rows = check_labelled_rows(self, X, y, sample_weight, gaps=self._gaps)
        self.classes_ = rows.classes
        plan = plan_bags(self, rows.x, rows.classes[rows.codes], rows.codes, rows.frequency)
        times, votes = np.zeros(len(rows.x)), np.zeros((len(rows.x), len(rows.classes)))

        def listen(out: Any, member: Member) -> None:
            said = votes_of(member, rows.classes, self.vote)
            times[out] += 1.0
            votes[out] += said

        self._fit_bags(plan, listen)
        self._keep_unseen(plan, rows.codes, times, votes)
        return self

    def _keep_unseen(self, plan: Bagger, codes: Any, times: Array, votes: Array) -> None:
        _forget_unseen(self)
        seen = times == 0.0
        if seen.all():
            return
        shares = _mean(votes, times[:, None])
        wrong = (votes.argmax(axis=1) != codes)[~seen]
        self.oob_error_ = float(np.average(wrong, weights=plan.frequency[~seen]))
        if self.vote == "majority":
            self.oob_votes_ = shares
            return
        self.oob_probabilities_ = shares
        with np.errstate(divide="ignore"):  # ln 0 = −∞ is the answer
            own = np.log(shares[np.arange(len(codes)), codes])[~seen]
        self.oob_log_density_ = float(np.average(own, weights=plan.frequency[~seen]))


def _mean(total: Array, times: Array) -> Array:
    """Return total / times, not a number where times is 0."""
    return np.where(times > 0.0, total / np.maximum(times, 1.0), np.nan)


def _forget_unseen(bagging: Any) -> None:
    """Take back what an earlier fit has said of rows that models had not seen."""
    for name in [name for name in vars(bagging) if name.startswith("oob_")]:
        delattr(bagging, name)
