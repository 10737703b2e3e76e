r"""How many components: by draws, by evidence, by rows held out, or by penalised likelihood.

.. math:: p(K\mid X) \propto p(X\mid K), \qquad p(K\mid X) = \mathrm E_{z\mid X}\,p(K\mid z), \qquad
   \mathrm{BIC} = \ln p(X\mid\hatθ) - \tfrac p2\ln N, \qquad
   \mathrm{ICL} = \mathrm{BIC} - \sum_n H(z_n\mid x_n),

of which the highest is best. The first two are the same: by evidence they are only as good as the bound
that stands for :math:`p(X\mid K)`, by drawn partitions z only as good as the draws. BIC approximates
evidence where the likelihood has one regular peak. That of a mixture has not: with a component too many its
parameters are not determined, its information is singular, and the penalty no longer the right one.

References: C. Biernacki, G. Celeux & G. Govaert, "Assessing a mixture model for clustering with the
integrated completed likelihood", 2000; S. Watanabe, "Algebraic geometry and statistical learning
theory", 2009.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from scipy.special import xlogy
from sklearn.base import clone
from sklearn.model_selection import KFold
from sklearn.utils import _safe_indexing

from posteriori.estimators.contract import HasEvidence, WeighsNumbers, offers
from posteriori.numerics.logspace import softmax
from posteriori.numerics.types import Array

__all__ = ["ComponentChoice", "choose_components"]

#: Folds of rows held out, as elsewhere in the package.
_FOLDS = 5

_CRITERIA = ("draws", "evidence", "held out", "icl", "bic")
_COUNTED = ("n_components", "n_classes")


class ComponentChoice(NamedTuple):
    """Numbers of components and what speaks for each.

    Attributes
    ----------
    numbers : tuple of int
    scores : array
        In nats; the highest is best. By draws these are ln p(number | X).
    best : int
        The number with the highest score.
    criterion : str
    probabilities : array or None
        p(number | X), all numbers equally probable before; by draws and by evidence only.
    models : tuple
        The fitted estimators, one for each number.
    """

    numbers: tuple[int, ...]
    scores: Array
    best: int
    criterion: str
    probabilities: Array | None
    models: tuple[Any, ...]

    def __repr__(self) -> str:
        told = ", ".join(f"{n}: {s:.6g}" for n, s in zip(self.numbers, self.scores, strict=True))
        return f"ComponentChoice(best={self.best}, criterion={self.criterion!r}, scores={{{told}}})"


def choose_components(
    estimator: Any, X: Any, numbers: Iterable[int], criterion: str | None = None
) -> ComponentChoice:
    """Fit a model with each number of components, and say which describes the rows best.

    Parameters
    ----------
    estimator : estimator
        With a parameter ``n_components`` (or ``n_classes``). A ``weight_concentration_prior`` that is
        not set becomes 1: the default 1/K makes components that are not needed free, and hardly any
        number worse than another.
    X : (N, D)
    numbers : iterable of int
    criterion : {"draws", "evidence", "held out", "icl", "bic"}, optional
        By default evidence where the model has it, else the log density of rows held out in 5 folds. Draws are
        those of a Bayesian mixture's ``number_probabilities``.

    Notes
    -----
    The number is that of components of the model, those that no row comes from among them: the question that
    evidence answers, too. A drawn partition into c clusters speaks for c and a little for more, as
    p(K | z) ∝ p(z | K). (Which share of the draws has c clusters is asked of ``sample_partitions``.) What
    is probable in less than one draw is not told apart: no number has a probability of 0.

    Evidence of several components is a bound of it, which lies the further below the more components
    share rows: where they overlap, it is too sure, and prefers too few. Draws have no such gap. They do not
    forgive the prior: where it makes a component too many cheap, as a concentration of 1 does, they say so and leave
    several numbers open.

    Examples
    --------
    >>> from posteriori.datasets import load_old_faithful
    >>> from posteriori.mixture import BayesianGaussianMixture
    >>> found = choose_components(
    ...     BayesianGaussianMixture(random_state=0), load_old_faithful().data, range(1, 5)
    ... )
    >>> found.best, found.probabilities.round(2)
    (2, array([0.  , 0.97, 0.03, 0.  ]))
    >>> found.criterion
    'evidence'
    """
    asked = tuple(int(number) for number in numbers)
    if not asked or min(asked) < 1:
        raise ValueError(f"numbers must be whole numbers >= 1, at least one of them; got {asked}")
    if criterion is not None and criterion not in _CRITERIA:
        raise ValueError(f"criterion must be one of {', '.join(_CRITERIA)}; got {criterion!r}")
    models = tuple(_with_number(estimator, number).fit(X) for number in asked)
    chosen = criterion or ("evidence" if offers(models[0], HasEvidence) else "held out")
    if chosen == "draws":
        scores = np.log(_by_draws(models[0], X, asked))
    else:
        scores = np.array([_score(model, X, chosen) for model in models])
    probabilities = softmax(scores) if chosen in ("draws", "evidence") else None
    best = asked[int(np.argmax(scores))]
    return ComponentChoice(asked, scores, best, chosen, probabilities, models)


def _by_draws(model: Any, X: Any, numbers: tuple[int, ...]) -> Array:
    seed = model.get_params().get("random_state")
    if not offers(model, WeighsNumbers):
        raise TypeError(
            f'{type(model).__name__} draws no partitions: choose criterion="evidence" or "held out", or a '
            "Bayesian mixture"
        )
    return model.number_probabilities(X, numbers, rng=seed)


def _with_number(estimator: Any, number: int) -> Any:
    parameters = estimator.get_params()
    name = next((name for name in _COUNTED if name in parameters), None)
    if name is None:
        raise TypeError(
            f"{type(estimator).__name__} has no number of components to choose: it lacks the parameter "
            f"{' and '.join(_COUNTED)}"
        )
    changed: dict[str, Any] = {name: number}
    if parameters.get("weight_concentration_prior", 0) is None:
        changed["weight_concentration_prior"] = 1.0
    return clone(estimator).set_params(**changed)


def _score(model: Any, X: Any, criterion: str) -> float:
    if criterion == "evidence":
        if not offers(model, HasEvidence):
            raise TypeError(
                f'{type(model).__name__} has no evidence: choose criterion="held out", or its Bayesian '
                "counterpart"
            )
        return float(model.log_evidence_)
    if criterion == "held out":
        return _held_out(model, X)
    if not hasattr(model, "n_parameters_"):
        raise TypeError(
            f'{type(model).__name__} has no count of parameters for criterion="{criterion}"'
        )
    found = model.log_likelihood(X) - 0.5 * model.n_parameters_ * np.log(len(X))
    if criterion == "bic":
        return float(found)
    p = model.predict_proba(X)
    return float(found + xlogy(p, p).sum())


def _held_out(model: Any, X: Any) -> float:
    """Return the sum of the log densities of rows, each under a fit without its fold."""
    total = 0.0
    folds = KFold(min(_FOLDS, len(X)), shuffle=True, random_state=0)
    for train, test in folds.split(np.empty(len(X))):
        fitted = clone(model).fit(_safe_indexing(X, train))
        total += float(fitted.score_samples(_safe_indexing(X, test)).sum())
    return total
