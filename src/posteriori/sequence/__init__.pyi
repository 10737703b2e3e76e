from posteriori.sequence.hidden_markov_chain import (
    HiddenMarkovChain as HiddenMarkovChain,
    HiddenMarkovSample as HiddenMarkovSample,
)
