"""The closed table of classes that files of fitted models may hold."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

__all__ = [
    "CLASSES",
    "COMPUTED",
    "EARLIER_ATTRIBUTES",
    "EARLIER_NAMES",
    "ROWS_OF_COMPUTED",
    "SHARED_PARTS",
]

#: All classes that files may hold, by module. A model that holds another one adds it here.
CLASSES: dict[str, tuple[str, ...]] = {
    "posteriori.analysis.densities.joint_problem": ("DensityAverage",),
    "posteriori.sequence.series.series_average": ("SeriesAverage",),
    "posteriori.analysis.saved.forecast_model": ("SavedSeries", "SeriesShelf"),
    "posteriori.analysis.fitting.preparation": (
        "CodeColumns",
        "Levels",
        "NoColumns",
        "NumberColumns",
        "Scale",
    ),
    "posteriori.classification.linear.bayesian_logistic": ("BayesianLogisticRegression",),
    "posteriori.estimators.labelled_rows": ("LabelledRows",),
    "posteriori.gaussian_process.additive_regressor": ("AdditiveGaussianProcessRegressor",),
    "posteriori.gaussian_process.process_belief": ("ProcessBelief",),
    "posteriori.gaussian_process.process_classifier": ("GaussianProcessClassifier",),
    "posteriori.gaussian_process.process_learning": ("GivenRows", "LearnedProcess"),
    "posteriori.gaussian_process.process_regressor": ("GaussianProcessRegressor",),
    "posteriori.gaussian_process.sparse_regressor": ("SparseGaussianProcessRegressor",),
    "posteriori.inference.classes.class_densities": (
        "ColumnwiseClasses",
        "EllipticClasses",
    ),
    "posteriori.inference.classes.column_densities": ("BinaryClasses", "CategoryClasses"),
    "posteriori.classification.frequencies": ("ClassFrequencies",),
    "posteriori.classification.generative.gaussian_discriminant": ("GaussianDiscriminant",),
    "posteriori.classification.generative.joint_classifier": ("ClassPrior",),
    "posteriori.classification.generative.naive_bayes": ("NaiveBayes",),
    "posteriori.classification.neighbors": ("KNeighborsClassifier",),
    "posteriori.classification.linear.probit": ("ProbitRegression",),
    "posteriori.decomposition.bayesian_factors": ("BayesianFactorAnalysis", "BayesianPCA"),
    "posteriori.density.kernel_density": ("KernelDensity",),
    "posteriori.density.student_density": ("StudentDensity",),
    "posteriori.density.target_density": ("Tail", "TargetHistogram", "TargetKernelDensity"),
    "posteriori.distributions.numbers.beta": ("Beta",),
    "posteriori.distributions.composites.mixture": ("Mixture",),
    "posteriori.distributions.counts.categorical": ("Categorical",),
    "posteriori.distributions.statistics": ("Moments",),
    "posteriori.distributions.numbers.inverse_gamma": ("InverseGamma",),
    "posteriori.distributions.numbers.student_t": ("StudentT",),
    "posteriori.distributions.vectors.dirichlet": ("Dirichlet",),
    "posteriori.distributions.joint.normal_inverse_gamma": ("NormalInverseGamma",),
    "posteriori.distributions.joint.normal_inverse_wishart": ("NormalInverseWishart",),
    "posteriori.numerics.least_squares.regression_statistics": ("RegressionStatistics",),
    "posteriori.numerics.least_squares.safe_gram": ("SafeGram",),
    "posteriori.distributions.joint.normal_wishart": ("NormalWishart",),
    "posteriori.distributions.vectors.mv_student_t": ("MvStudentT",),
    "posteriori.distributions.vectors.mvnormal": ("MvNormal",),
    "posteriori.distributions.vectors.wishart": ("Wishart",),
    "posteriori.distributions.joint.normal_gamma": ("NormalGamma",),
    "posteriori.ensemble.forests.forest_tails": ("ForestNoise", "VoteSharpness"),
    "posteriori.ensemble.forests.random_forest": (
        "RandomForestClassifier",
        "RandomForestRegressor",
    ),
    "posteriori.ensemble.gradient_boosting.boosted_classifier": ("GradientBoostingClassifier",),
    "posteriori.ensemble.gradient_boosting.boosted_regressor": ("GradientBoostingRegressor",),
    "posteriori.estimators.group_columns": ("GroupColumns",),
    "posteriori.estimators.linear_predictor": ("LearnedEffects",),
    "posteriori.estimators.standardized": ("Standardization",),
    "posteriori.estimators.target_unit": ("TargetUnit",),
    "posteriori.inference.effects.block_bordered": ("BlockBorderedFactor",),
    "posteriori.inference.effects.bordered": ("BorderedFactor",),
    "posteriori.inference.effects.effect_layout": ("EffectLayout",),
    "posteriori.inference.effects.spread_search": ("Spreads",),
    "posteriori.inference.mixtures.columns.mixture_densities": ("ColumnDensities",),
    "posteriori.inference.predictors.grouped_contrasts": ("GroupedContrasts",),
    "posteriori.inference.predictors.grouped_weights": ("GroupedWeights",),
    "posteriori.inference.predictors.pairs.paired_weights": ("PairLayout", "PairedWeights"),
    "posteriori.inference.predictors.weight_belief": ("WeightBelief",),
    "posteriori.inference.processes.additive.additive_process": ("AdditiveWeights",),
    "posteriori.inference.processes.additive.curve_features": ("CurveFeatures",),
    "posteriori.inference.processes.dense_process": ("DenseProcess",),
    "posteriori.inference.processes.gram_factor": ("GramFactor",),
    "posteriori.inference.processes.inducing.inducing_features": ("InducingFeatures",),
    "posteriori.inference.processes.inducing.inducing_statistics": (
        "InducedStatistics",
        "InducedWeights",
    ),
    "posteriori.inference.processes.inducing.sparse_process": ("SolvedSparse", "SparseProcess"),
    "posteriori.inference.processes.latent.latent_likelihoods": ("Bends",),
    "posteriori.inference.processes.latent.latent_process": ("LatentFit",),
    "posteriori.inference.processes.latent.latent_search": ("LatentFunction",),
    "posteriori.inference.processes.mean_effects": ("MeanEffects",),
    "posteriori.inference.processes.process_rows": ("ProcessRows",),
    "posteriori.inference.trees.asked_columns": ("AskedColumns",),
    "posteriori.inference.trees.bins": ("Bins",),
    "posteriori.inference.trees.flat_trees": ("Trees",),
    "posteriori.inference.trees.tree_prunings": ("TreePrunings",),
    "posteriori.kernels.inner_products": ("Linear", "White"),
    "posteriori.kernels.kernel": ("Constant", "OnColumns", "Product", "Sum"),
    "posteriori.kernels.radial": ("RBF",),
    "posteriori.mixture.experts.mixture_of_experts": ("MixtureOfExperts",),
    "posteriori.mixture.latent_classes": ("LatentClasses",),
    "posteriori.mixture.normal.bayesian_gaussian_mixture": (
        "BayesianGaussianMixture",
        "MixturePosterior",
    ),
    "posteriori.mixture.normal.normal_mixture": ("NormalDensities",),
    "posteriori.numerics.evidence": ("Fingerprint", "LogEvidence"),
    "posteriori.regression.bases.basis": ("PolynomialBasis", "SplineBasis"),
    "posteriori.regression.bases.smooth_basis": ("SmoothBasis",),
    "posteriori.regression.bayesian.bayesian_regression": ("BayesianLinearRegressor",),
    "posteriori.regression.generalized.count_regression": (
        "NegativeBinomialRegressor",
        "PoissonRegressor",
    ),
    "posteriori.regression.generalized.hurdle": ("HurdleRegressor",),
    "posteriori.regression.generalized.zero_inflated": ("ZeroInflatedRegressor",),
    "posteriori.regression.generalized.occurrence": ("OccurrenceRegressor",),
    "posteriori.regression.bayesian.grouped_belief": ("EffectBelief", "GroupedBelief"),
    "posteriori.regression.bayesian.grouped_learning": ("GroupedLearned",),
    "posteriori.regression.bayesian.scales.hyper_grid": ("HyperGrid",),
    "posteriori.regression.bayesian.learning": ("Learned", "Solution"),
    "posteriori.regression.log_linear": ("LogLinearRegressor",),
    "posteriori.regression.bayesian.priors": ("LinearPrior",),
    "posteriori.regression.generalized.robust": ("RobustRegressor",),
    "posteriori.selection.averaging": ("ClassifierAverage", "ModelAverage"),
    "posteriori.sequence.emission_densities": ("EmissionDensities", "FamilyDensities"),
    "posteriori.sequence.hidden_markov_chain": ("HiddenMarkovChain",),
    "posteriori.inference.series.gappy_regression": ("GapBelief",),
    "posteriori.sequence.series.autoregressive_series": ("AutoregressiveSeries",),
    "posteriori.sequence.series.order_learning": ("LearnedOrder", "OrderBelief"),
    "posteriori.sequence.series.count_series": ("CountSeries",),
    "posteriori.sequence.series.series_belief": ("SeriesBelief",),
    "posteriori.sequence.series.series_clock": ("SeriesClock",),
    "posteriori.sequence.series.series_form": ("SeriesForm", "SeriesUnits"),
    "posteriori.sequence.series.series_rows": ("SeriesRows",),
    "posteriori.sequence.series.structural_series": ("StructuralSeries",),
    "posteriori.tree.bayesian_tree": ("BayesianTreeClassifier", "BayesianTreeRegressor"),
    "posteriori.tree.decision_tree": (
        "DecisionStump",
        "DecisionTreeClassifier",
        "DecisionTreeRegressor",
    ),
    "sklearn.preprocessing": ("PolynomialFeatures", "SplineTransformer"),
}

#: What classes are called now that files of earlier versions know by another name.
EARLIER_NAMES = {
    f"{name}Regression": f"{name}Regressor"
    for name in (
        "BayesianLinear",
        "Hurdle",
        "LogLinear",
        "NegativeBinomial",
        "Occurrence",
        "Poisson",
        "Robust",
        "ZeroInflated",
    )
}


class Earlier(NamedTuple):
    """An attribute of files of earlier versions: its name now, and its value now."""

    name: str
    now: Callable[[Any], Any] = lambda value: value


_METHOD = {"approximation": Earlier("method")}
_ESTIMATE = {"estimate": Earlier("method")}
_RESTARTS = {"restarts": Earlier("n_init", lambda further: 1 + further)}

#: Attributes of classes, as these are called now, that files of earlier versions hold otherwise.
EARLIER_ATTRIBUTES: dict[str, dict[str, Earlier]] = {
    "BayesianGaussianMixture": {"moves": Earlier("split_merge")},
    "BayesianLinearRegressor": {"apart": Earlier("own_scale")},
    "BayesianLogisticRegression": _METHOD,
    "GaussianDiscriminant": _ESTIMATE
    | {"covariance": Earlier("covariance", lambda kind: "full" if kind == "per-class" else kind)},
    "GaussianProcessClassifier": _METHOD | _RESTARTS,
    "GaussianProcessRegressor": _METHOD | _RESTARTS,
    "NaiveBayes": _ESTIMATE,
    "ProbitRegression": _METHOD,
    "SparseGaussianProcessRegressor": _RESTARTS,
    "SplineBasis": {"tensor": Earlier("tensor_product")},
}

#: Records that are computed anew from their parts when a file is read, and the class of the rows among these.
COMPUTED = "DenseProcess"
ROWS_OF_COMPUTED = "ProcessRows"
#: Parts that several of them have in common, by their places.
SHARED_PARTS = {1: "rows", 2: "mean"}
