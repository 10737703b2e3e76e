"""Words of other libraries for parameters of estimators lead to ours."""

import inspect

import pytest
from sklearn.base import clone

from posteriori import (
    classification,
    decomposition,
    density,
    ensemble,
    gaussian_process,
    mixture,
    regression,
    selection,
    sequence,
    svm,
    tree,
)
from posteriori.estimators.base.base_estimator import BaseEstimator
from posteriori.estimators.base.parameter_words import OTHER_WORDS
from posteriori.numerics.telling.parameter_words import naming_parameters

ROOMS = (
    classification,
    decomposition,
    density,
    ensemble,
    gaussian_process,
    mixture,
    regression,
    selection,
    sequence,
    svm,
    tree,
)
ESTIMATORS = {
    name: one
    for room in ROOMS
    for name in room.__all__
    if inspect.isclass(one := getattr(room, name)) and hasattr(one, "get_params")
}

#: What scikit-learn, XGBoost and hmmlearn say, and what is said here.
SAID = [
    ("GaussianMixture", {"covariance_type": "full"}, "say covariance="),
    ("GaussianMixture", {"n_clusters": 2, "seed": 0}, "say n_components=, random_state="),
    ("DecisionTreeRegressor", {"max_leaf_nodes": 8}, "say max_leaves="),
    ("RandomForestRegressor", {"max_leaf_nodes": 8}, "say max_depth="),
    (
        "GradientBoostingClassifier",
        {"eta": 0.1, "num_leaves": 8},
        "say learning_rate=, max_leaves=",
    ),
    ("GradientBoostingRegressor", {"iterations": 9}, "say n_estimators="),
    ("BaggingClassifier", {"base_estimator": None}, "say estimator="),
    ("CommitteeClassifier", {"estimators": [], "voting": "soft"}, "say models=, vote="),
    ("DecisionTreeClassifier", {"ccp_alpha": 0.1}, "say pruning="),
    ("BayesianLinearRegressor", {"alpha": 1.0}, "say prior_precision="),
    ("BayesianLogisticRegression", {"C": 10.0}, "say prior_precision=1/C"),
    ("LogisticRegression", {"penalty": "l2"}, "say ridge="),
    ("KernelRidge", {"alpha": 1.0}, "say penalty="),
    ("PoissonRegressor", {"n_iter": 9}, "say max_iter="),
    ("GaussianProcessRegressor", {"alpha": 0.1}, "noise is learned: leave it out"),
    (
        "GaussianProcessRegressor",
        {"n_restarts_optimizer": 4},
        "say n_init=n_restarts_optimizer+1",
    ),
    ("SupportVectorClassifier", {"gamma": 0.5}, "say kernel=RBF(scale=1/√(2·gamma))"),
    ("HiddenMarkovModel", {"n_components": 2}, "say n_states="),
    ("KNeighborsClassifier", {"k": 3}, "say n_neighbors="),
    ("RelevanceVectorRegressor", {"colour": 1.0}, "it has kernel"),
]


@pytest.mark.parametrize(("estimator", "given", "remedy"), SAID)
def test_words_of_others_name_the_parameter_that_is_meant(estimator, given, remedy):
    with pytest.raises(TypeError) as refused:
        ESTIMATORS[estimator](**given)
    assert str(refused.value).startswith(f"{estimator} has no parameter ")
    assert str(refused.value).endswith(f": {remedy}")


@pytest.mark.parametrize(
    "name", [name for name, one in ESTIMATORS.items() if inspect.signature(one).parameters]
)
def test_every_estimator_names_its_parameters(name):
    with pytest.raises(TypeError, match=f"^{name} has no parameter 'zz': it has "):
        ESTIMATORS[name](zz="red")


@pytest.mark.parametrize("word", sorted(OTHER_WORDS))
def test_every_word_is_meant_by_some_estimator_that_does_not_have_it(word):
    meant = {option.partition("=")[0] for option in OTHER_WORDS[word] if " " not in option}
    parameters = [set(inspect.signature(one).parameters) for one in ESTIMATORS.values()]
    assert all(any(name in known for known in parameters) for name in meant)
    assert any((meant & known or not meant) and word not in known for known in parameters)


def test_other_errors_of_constructors_stay():
    with pytest.raises(TypeError, match="takes from 1 to"):
        regression.KernelRidge(1, 2, 3, 4)


class Doubled(BaseEstimator):
    """An estimator of a user, whose constructor fails by itself."""

    def __init__(self, scale=1.0):
        self.scale = 2.0 * scale


def test_estimators_of_users_keep_their_signature():
    assert list(inspect.signature(Doubled).parameters) == ["scale"]
    assert clone(regression.KernelRidge(penalty=2.0)).penalty == 2.0
    with pytest.raises(TypeError, match="can't multiply"):
        Doubled(scale="a")
    assert naming_parameters(Doubled.__init__, {}).__name__ == "__init__"
