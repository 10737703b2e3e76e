from posteriori.sequence.factorial_model import (
    FactorialHiddenMarkovModel as FactorialHiddenMarkovModel,
    TransitionCounts as TransitionCounts,
)
from posteriori.sequence.hidden_markov_chain import (
    HiddenMarkovChain as HiddenMarkovChain,
    HiddenMarkovSample as HiddenMarkovSample,
)
from posteriori.sequence.hidden_markov_classifier import (
    HiddenMarkovClassifier as HiddenMarkovClassifier,
)
from posteriori.sequence.hidden_markov_model import HiddenMarkovModel as HiddenMarkovModel
from posteriori.sequence.homogeneity import (
    HomogeneityTest as HomogeneityTest,
    homogeneity_test as homogeneity_test,
)
from posteriori.sequence.learning.model_evidence import (
    HiddenMarkovBeliefs as HiddenMarkovBeliefs,
)
from posteriori.sequence.markov_chain import (
    Absorption as Absorption,
    MarkovChain as MarkovChain,
)
from posteriori.sequence.markov_model import (
    MarkovModel as MarkovModel,
    MarkovPosterior as MarkovPosterior,
)
from posteriori.sequence.markov_structure import StateClass as StateClass
from posteriori.sequence.row_mixtures import RowMixture as RowMixture
from posteriori.sequence.series.autoregressive_series import (
    AutoregressiveSeries as AutoregressiveSeries,
)
from posteriori.sequence.series.count_series import CountSeries as CountSeries
from posteriori.sequence.series.structural_series import StructuralSeries as StructuralSeries
from posteriori.sequence.systems.linear_gaussian_model import (
    LinearGaussianModel as LinearGaussianModel,
)
from posteriori.sequence.systems.linear_gaussian_system import (
    LinearGaussianSystem as LinearGaussianSystem,
)
from posteriori.sequence.systems.nonlinear_system import NonlinearSystem as NonlinearSystem
