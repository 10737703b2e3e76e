from posteriori.tree.bayesian_tree import (
    BayesianTreeClassifier as BayesianTreeClassifier,
    BayesianTreeRegressor as BayesianTreeRegressor,
)
from posteriori.tree.decision_tree import (
    DecisionStump as DecisionStump,
    DecisionTreeClassifier as DecisionTreeClassifier,
    DecisionTreeRegressor as DecisionTreeRegressor,
)
from posteriori.tree.impurities import impurity as impurity, split_gain as split_gain
from posteriori.tree.labelled_tree import LabelledTree as LabelledTree
from posteriori.tree.pruning import (
    CostComplexityPath as CostComplexityPath,
    cost_complexity_path as cost_complexity_path,
    prune as prune,
    remove_random_nodes as remove_random_nodes,
)
