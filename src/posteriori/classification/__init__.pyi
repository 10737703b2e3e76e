from posteriori.classification.fisher import (
    FisherDiscriminant as FisherDiscriminant,
    generalized_rayleigh_quotient as generalized_rayleigh_quotient,
    mean_separation as mean_separation,
)
from posteriori.classification.frequencies import ClassFrequencies as ClassFrequencies
from posteriori.classification.generative.family_classifier import (
    GenerativeClassifier as GenerativeClassifier,
)
from posteriori.classification.generative.gaussian_discriminant import (
    GaussianDiscriminant as GaussianDiscriminant,
)
from posteriori.classification.generative.naive_bayes import NaiveBayes as NaiveBayes
from posteriori.classification.kernel_machines.kernel_centroid import (
    KernelCentroid as KernelCentroid,
)
from posteriori.classification.kernel_machines.kernel_perceptron import (
    KernelPerceptron as KernelPerceptron,
)
from posteriori.classification.kernel_machines.relevance_classifier import (
    RelevanceVectorClassifier as RelevanceVectorClassifier,
)
from posteriori.classification.linear.bayesian_logistic import (
    BayesianLogisticRegression as BayesianLogisticRegression,
)
from posteriori.classification.linear.large_margin import (
    LargeMarginPerceptron as LargeMarginPerceptron,
)
from posteriori.classification.linear.least_squares import (
    LeastSquaresClassifier as LeastSquaresClassifier,
)
from posteriori.classification.linear.logistic import LogisticRegression as LogisticRegression
from posteriori.classification.linear.perceptron import Perceptron as Perceptron
from posteriori.classification.linear.probit import ProbitRegression as ProbitRegression
from posteriori.classification.neighbors import KNeighborsClassifier as KNeighborsClassifier
from posteriori.inference.margins.separability_program import (
    Separability as Separability,
    linear_separability as linear_separability,
)
from posteriori.mathematics.geometry import (
    Hyperplane as Hyperplane,
    LevelSet as LevelSet,
    Quadric as Quadric,
)
