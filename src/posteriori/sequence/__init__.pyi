from posteriori.sequence.hidden_markov_chain import (
    HiddenMarkovChain as HiddenMarkovChain,
    HiddenMarkovSample as HiddenMarkovSample,
)
from posteriori.sequence.hidden_markov_classifier import (
    HiddenMarkovClassifier as HiddenMarkovClassifier,
)
from posteriori.sequence.hidden_markov_model import (
    HiddenMarkovBeliefs as HiddenMarkovBeliefs,
    HiddenMarkovModel as HiddenMarkovModel,
)
