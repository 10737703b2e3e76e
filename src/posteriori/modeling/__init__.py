"""The model language: write a joint distribution, give it data, get its posterior."""

from posteriori.modeling.chain import Chain
from posteriori.modeling.expressions import Input, dot, take
from posteriori.modeling.model import Model
from posteriori.modeling.planning import Plan
from posteriori.modeling.posterior import Posterior

__all__ = ["Chain", "Input", "Model", "Plan", "Posterior", "dot", "take"]
