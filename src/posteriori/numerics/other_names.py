"""What others call it: words of the field and of other libraries, and the public names that do the job here."""

from __future__ import annotations

import re

__all__ = ["OTHER_NAMES", "names_here"]

#: What is searched for, as it is written elsewhere; then, by room, what to use.
OTHER_NAMES: dict[str, tuple[str, ...]] = {
    "AIC": ("selection.compare", "selection.waic"),
    "ANOVA": ("analysis.analyze", "regression.BayesianLinearRegression"),
    "AR": ("sequence.AutoregressiveSeries",),
    "ARD": ("regression.RelevanceVectorRegressor",),
    "ARIMA": ("analysis.forecast", "sequence.StructuralSeries", "sequence.AutoregressiveSeries"),
    "AutoML": ("analysis.analyze",),
    "Bagging": ("ensemble.BaggingClassifier", "ensemble.BaggingRegressor"),
    "BART": ("tree.BayesianTreeRegressor", "tree.BayesianTreeClassifier"),
    "Baum–Welch": ("sequence.HiddenMarkovModel",),
    "BayesianRidge": ("regression.BayesianLinearRegression",),
    "Belief propagation": ("forney.sum_product", "networks.FactorGraph"),
    "BernoulliNB": ("classification.NaiveBayes",),
    "BIC": ("selection.compare",),
    "Blind source separation": ("decomposition.ICA",),
    "CART": ("tree.DecisionTreeClassifier", "tree.DecisionTreeRegressor"),
    "CatBoost": ("ensemble.GradientBoostingClassifier", "ensemble.GradientBoostingRegressor"),
    "CategoricalNB": ("classification.NaiveBayes",),
    "Change point": ("analysis.segment", "modeling.Model"),
    "Croston": ("sequence.CountSeries",),
    "DBSCAN": ("analysis.cluster",),
    "Dirichlet process": ("mixture.BayesianGaussianMixture",),
    "DummyClassifier": ("classification.ClassFrequencies",),
    "DummyRegressor": ("analysis.analyze",),
    "ElasticNet": ("regression.RelevanceVectorRegressor",),
    "EM": ("inference.maximize_by_em", "mixture.GaussianMixture"),
    "ETS": ("sequence.StructuralSeries", "analysis.forecast"),
    "Exponential smoothing": ("sequence.StructuralSeries",),
    "FastICA": ("decomposition.ICA",),
    "FITC": ("gaussian_process.SparseGaussianProcessRegressor",),
    "Forward–backward": ("sequence.HiddenMarkovChain", "inference.forward_backward"),
    "GAM": ("gaussian_process.AdditiveGaussianProcessRegressor", "regression.SplineBasis"),
    "GaussianHMM": ("sequence.HiddenMarkovModel",),
    "GaussianNB": ("classification.NaiveBayes",),
    "GBM": ("ensemble.GradientBoostingClassifier", "ensemble.GradientBoostingRegressor"),
    "GLM": ("regression.PoissonRegression", "regression.NegativeBinomialRegression"),
    "GMM": ("mixture.GaussianMixture", "mixture.BayesianGaussianMixture"),
    "GP": ("gaussian_process.GaussianProcessRegressor", "modeling.GaussianProcess"),
    "Gradient boosting": (
        "ensemble.GradientBoostingRegressor",
        "ensemble.GradientBoostingClassifier",
    ),
    "HistGradientBoosting": (
        "ensemble.GradientBoostingRegressor",
        "ensemble.GradientBoostingClassifier",
    ),
    "HMM": ("sequence.HiddenMarkovModel", "sequence.HiddenMarkovChain"),
    "Holt–Winters": ("sequence.StructuralSeries", "analysis.forecast"),
    "HSMM": ("sequence.HiddenMarkovModel",),
    "HuberRegressor": ("regression.RobustRegression",),
    "Imputer": ("analysis.analyze", "mixture.GaussianMixture"),
    "Isolation forest": ("svm.OneClassSupportVector", "analysis.analyze"),
    "Junction tree": ("networks.BayesianNetwork",),
    "Kalman": ("sequence.LinearSystem", "sequence.LinearDynamicalSystem"),
    "Kalman filter": ("sequence.LinearSystem", "inference.filter_chain"),
    "Kalman smoother": ("sequence.LinearSystem", "inference.smooth_chain"),
    "KDE": ("density.KernelDensity",),
    "KNN": ("classification.KNeighborsClassifier",),
    "Kriging": ("gaussian_process.GaussianProcessRegressor",),
    "Lasso": ("regression.RelevanceVectorRegressor",),
    "Latent class analysis": ("mixture.LatentClasses",),
    "LDA": ("classification.GaussianDiscriminant", "classification.FisherDiscriminant"),
    "LightGBM": ("ensemble.GradientBoostingClassifier", "ensemble.GradientBoostingRegressor"),
    "LinearDiscriminantAnalysis": (
        "classification.GaussianDiscriminant",
        "classification.FisherDiscriminant",
    ),
    "LinearSVC": ("svm.LinearSupportVector",),
    "Logit": ("classification.BayesianLogisticRegression", "classification.LogisticRegression"),
    "LOO": ("selection.leave_one_out",),
    "Marginal likelihood": ("selection.compare", "distributions.bayes"),
    "MAP": ("estimation.map_estimate",),
    "MLE": ("estimation.maximum_likelihood",),
    "MultinomialNB": ("classification.NaiveBayes",),
    "Multivariate normal": ("distributions.MvNormal",),
    "NuSVC": ("svm.SupportVectorClassifier",),
    "OLS": ("regression.LinearRegression", "regression.BayesianLinearRegression"),
    "OneClassSVM": ("svm.OneClassSupportVector",),
    "PAM": ("mixture.KMedoids",),
    "PPCA": ("decomposition.ProbabilisticPCA",),
    "Prophet": ("analysis.forecast", "sequence.StructuralSeries"),
    "QDA": ("classification.GaussianDiscriminant",),
    "QuadraticDiscriminantAnalysis": ("classification.GaussianDiscriminant",),
    "Regime switching": ("analysis.segment", "sequence.HiddenMarkovModel"),
    "Ridge": ("regression.BayesianLinearRegression", "regression.KernelRidge"),
    "RTS smoother": ("inference.smooth_chain", "sequence.LinearSystem"),
    "RVM": ("regression.RelevanceVectorRegressor", "classification.RelevanceVectorClassifier"),
    "SARIMA": ("analysis.forecast", "sequence.StructuralSeries"),
    "Stacking": ("selection.stacking_weights", "selection.average"),
    "State space": ("sequence.LinearSystem", "sequence.StructuralSeries"),
    "SVC": ("svm.SupportVectorClassifier",),
    "SVGP": ("gaussian_process.SparseGaussianProcessRegressor",),
    "SVM": ("svm.SupportVectorClassifier", "svm.SupportVectorRegressor"),
    "SVR": ("svm.SupportVectorRegressor",),
    "t-test": ("distributions.bayes", "distributions.StudentT"),
    "UKF": ("sequence.NonlinearSystem",),
    "Unobserved components": ("sequence.StructuralSeries",),
    "Unscented Kalman filter": ("sequence.NonlinearSystem",),
    "Variable elimination": ("factors.contract", "networks.BayesianNetwork"),
    "Variational Bayes": ("modeling.Model",),
    "Viterbi": ("sequence.HiddenMarkovChain", "inference.most_likely_path"),
    "XGBoost": ("ensemble.GradientBoostingClassifier", "ensemble.GradientBoostingRegressor"),
    "ZIP": ("regression.ZeroInflatedRegression",),
}


def names_here(word: str) -> tuple[str, ...]:
    """Return what does here what a word stands for elsewhere, with rooms; nothing for words that are not known.

    Examples
    --------
    >>> names_here("kalman_filter")
    ('posteriori.sequence.LinearSystem', 'posteriori.inference.filter_chain')
    >>> names_here("XGBRegressor")
    ('posteriori.ensemble.GradientBoostingClassifier', 'posteriori.ensemble.GradientBoostingRegressor')
    >>> names_here("unheard")
    ()
    """
    known = {_bare(name): here for name, here in OTHER_NAMES.items()}
    asked = _bare(word)
    found = known.get(asked) or known.get(re.sub(_ENDINGS, "", asked)) or ()
    return tuple(f"posteriori.{name}" for name in found)


#: What libraries append to the word for a method.
_ENDINGS = r"(classifier|regressor|regression|model|cv|analysis)$"


def _bare(word: str) -> str:
    """Return a word in small letters, without what stands between them; XGB and LGBM are short for others."""
    plain = "".join(c for c in word.lower() if c.isalnum())
    return re.sub(r"^lgbm", "lightgbm", re.sub(r"^xgb(?!oost)", "xgboost", plain))
