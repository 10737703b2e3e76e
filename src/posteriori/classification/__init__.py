"""Classification: class probabilities with posterior, evidence and geometry.

Every name is loaded on first use.
"""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from posteriori.numerics.lazy import load_on_use as _load_on_use

#: Which file defines which public names.
_FILES = {
    "bayesian_logistic": ("BayesianLogisticRegression",),
    "family": ("GenerativeClassifier",),
    "fisher": ("FisherDiscriminant", "mean_separation", "rayleigh_quotient"),
    "frequencies": ("ClassFrequencies",),
    "gaussian": ("GaussianDiscriminant",),
    "geometry": ("Hyperplane", "LevelSet", "Quadric"),
    "least_squares": ("LeastSquaresClassifier",),
    "logistic": ("LogisticRegression",),
    "naive_bayes": ("NaiveBayes",),
    "neighbors": ("KNeighborsClassifier",),
    "perceptron": ("Perceptron",),
    "probit": ("ProbitRegression",),
    "separability_program": ("Separability", "linear_separability"),
}

__all__, __getattr__, __dir__ = _load_on_use(__name__, _FILES)

if _TYPE_CHECKING:  # what type checkers and editors see; a test keeps it equal to the table
    from posteriori.classification.bayesian_logistic import (
        BayesianLogisticRegression as BayesianLogisticRegression,
    )
    from posteriori.classification.family import GenerativeClassifier as GenerativeClassifier
    from posteriori.classification.fisher import FisherDiscriminant as FisherDiscriminant
    from posteriori.classification.fisher import mean_separation as mean_separation
    from posteriori.classification.fisher import rayleigh_quotient as rayleigh_quotient
    from posteriori.classification.frequencies import ClassFrequencies as ClassFrequencies
    from posteriori.classification.gaussian import GaussianDiscriminant as GaussianDiscriminant
    from posteriori.classification.geometry import Hyperplane as Hyperplane
    from posteriori.classification.geometry import LevelSet as LevelSet
    from posteriori.classification.geometry import Quadric as Quadric
    from posteriori.classification.least_squares import (
        LeastSquaresClassifier as LeastSquaresClassifier,
    )
    from posteriori.classification.logistic import LogisticRegression as LogisticRegression
    from posteriori.classification.naive_bayes import NaiveBayes as NaiveBayes
    from posteriori.classification.neighbors import KNeighborsClassifier as KNeighborsClassifier
    from posteriori.classification.perceptron import Perceptron as Perceptron
    from posteriori.classification.probit import ProbitRegression as ProbitRegression
    from posteriori.classification.separability_program import Separability as Separability
    from posteriori.classification.separability_program import (
        linear_separability as linear_separability,
    )
