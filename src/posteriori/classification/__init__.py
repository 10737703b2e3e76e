"""Classification: class probabilities with posterior, evidence and geometry.

Every name is loaded on first use.
"""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from posteriori.numerics.lazy import load_on_use as _load_on_use

#: Which file defines which public names.
_FILES = {
    "bayesian_logistic": ("BayesianLogisticRegression",),
    "family": ("GenerativeClassifier",),
    "gaussian": ("GaussianDiscriminant",),
    "logistic": ("LogisticRegression",),
    "naive_bayes": ("NaiveBayes",),
    "probit": ("ProbitRegression",),
}

__all__, __getattr__, __dir__ = _load_on_use(__name__, _FILES)

if _TYPE_CHECKING:  # what type checkers and editors see; a test keeps it equal to the table
    from posteriori.classification.bayesian_logistic import (
        BayesianLogisticRegression as BayesianLogisticRegression,
    )
    from posteriori.classification.family import GenerativeClassifier as GenerativeClassifier
    from posteriori.classification.gaussian import GaussianDiscriminant as GaussianDiscriminant
    from posteriori.classification.logistic import LogisticRegression as LogisticRegression
    from posteriori.classification.naive_bayes import NaiveBayes as NaiveBayes
    from posteriori.classification.probit import ProbitRegression as ProbitRegression
