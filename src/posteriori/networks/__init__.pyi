from posteriori.networks.bayesian_network import BayesianNetwork as BayesianNetwork
from posteriori.networks.conditionals import (
    Deterministic as Deterministic,
    LogisticConditional as LogisticConditional,
    NoisyOr as NoisyOr,
)
from posteriori.networks.factor_graph import (
    FactorGraph as FactorGraph,
    GraphMessages as GraphMessages,
)
from posteriori.networks.files.uai_evidence import read_evidence as read_evidence
from posteriori.networks.marginal_view import NetworkMarginals as NetworkMarginals
from posteriori.networks.network_plan import NetworkPlan as NetworkPlan
from posteriori.networks.other_methods import EliminationStep as EliminationStep
