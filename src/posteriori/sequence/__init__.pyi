from posteriori.sequence.hidden_markov_chain import (
    HiddenMarkovChain as HiddenMarkovChain,
    HiddenMarkovSample as HiddenMarkovSample,
)
from posteriori.sequence.hidden_markov_model import (
    HiddenMarkovBeliefs as HiddenMarkovBeliefs,
    HiddenMarkovModel as HiddenMarkovModel,
)
from posteriori.sequence.linear_dynamical_system import (
    LinearDynamicalSystem as LinearDynamicalSystem,
)
from posteriori.sequence.linear_system import LinearSystem as LinearSystem
from posteriori.sequence.nonlinear_system import NonlinearSystem as NonlinearSystem
