from posteriori.modeling.variational.messages.expected_factors import node_graphs as node_graphs
from posteriori.modeling.variational.prediction.variational_prediction import (
    predict_variational as predict_variational,
)
from posteriori.modeling.variational.variational_block import VariationalBlock as VariationalBlock
