"""Fitted models as trees of plain values and arrays, and back, without pickle.

Only the classes of a closed table come back, made without running their constructors. Attributes
take the place of data, never of methods; no array, text or axis is larger than the file
pays for, and sizes are bounded, so that a hostile file costs little more than reading it. Arrays have the
shapes that their class states. What the values mean is not known here: whoever reads a tree has to try out what
came back.
"""

from __future__ import annotations

import math
from collections.abc import KeysView
from functools import cached_property
from importlib import import_module
from typing import Any

import numpy as np
from scipy.interpolate import BSpline
from sklearn.pipeline import Pipeline

from posteriori.analysis.saved.stated_shapes import require_stated_shapes
from posteriori.distributions.base import Distribution

__all__ = ["CLASSES", "from_tree", "to_tree"]

#: All classes that files may hold, by module. A model that holds another one adds it here.
CLASSES: dict[str, tuple[str, ...]] = {
    "posteriori.analysis.densities.density_average": ("DensityAverage",),
    "posteriori.analysis.forecasts.series_average": ("SeriesAverage",),
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
    "posteriori.numerics.least_squares.regression_statistics": ("RegressionStatistics", "SafeGram"),
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
    "posteriori.regression.bayesian.bayesian_regression": ("BayesianLinearRegression",),
    "posteriori.regression.generalized.count_regression": (
        "NegativeBinomialRegression",
        "PoissonRegression",
    ),
    "posteriori.regression.generalized.hurdle": ("HurdleRegression",),
    "posteriori.regression.generalized.zero_inflated": ("ZeroInflatedRegression",),
    "posteriori.regression.generalized.occurrence": ("OccurrenceRegression",),
    "posteriori.regression.bayesian.grouped_belief": ("EffectBelief", "GroupedBelief"),
    "posteriori.regression.bayesian.grouped_learning": ("GroupedLearned",),
    "posteriori.regression.bayesian.scales.hyper_grid": ("HyperGrid",),
    "posteriori.regression.bayesian.learning": ("Learned", "Solution"),
    "posteriori.regression.log_linear": ("LogLinearRegression",),
    "posteriori.regression.bayesian.priors": ("LinearPrior",),
    "posteriori.regression.generalized.robust": ("RobustRegression",),
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
_NAMES = {f"{module}:{name}" for module, names in CLASSES.items() for name in names}

_DTYPES = {"<f8": 8, "<i8": 8, "<i4": 4, "|b1": 1}

#: How deep objects may lie inside objects; what holds itself would have no end.
_DEEPEST = 40

#: Axes that the shape of an array in a file may have.
_MOST_AXES = 8
#: Integers of scikit-learn's transformers become sizes of arrays, and empty arrays may still have
#: long axes.
_LARGEST_SIZE = 100_000
#: Texts in an array are padded to the longest.
_MOST_CHARACTERS = 10_000_000


def to_tree(value: Any) -> tuple[Any, list[bytes]]:
    """Return a value as JSON, and the bytes of its arrays, each padded to eight.

    Raises
    ------
    TypeError
        When the value holds something that has no form in a file.
    """
    blocks: list[bytes] = []
    return _encode(value, blocks, 0), blocks


def from_tree(tree: Any, numbers: bytes) -> Any:
    """Return the value; its arrays are read-only views of ``numbers``.

    Raises
    ------
    ValueError
        When the tree does not describe a value, or its arrays do not fill ``numbers`` exactly.
    """
    reader = _Reader(numbers)
    try:
        value = reader.decode(tree, 0)
    except (TypeError, KeyError, AttributeError, IndexError, OverflowError) as error:
        raise ValueError(f"its content does not add up: {error}") from None
    if reader.place != len(numbers):
        raise ValueError(f"its arrays need {reader.place} bytes, but it has {len(numbers)}")
    return value


# -- writing -----------------------------------------------------------------------------------


def _encode(value: Any, blocks: list[bytes], depth: int) -> Any:
    if depth > _DEEPEST:
        raise TypeError("it is nested too deeply, or holds itself")
    if value is None or isinstance(value, (bool, str)) or type(value) is int:
        return value
    if isinstance(value, (float, np.floating)) and not isinstance(value, np.generic):
        return value if math.isfinite(value) else {"number": str(value)}
    if isinstance(value, np.generic):
        return {"scalar": _encode(np.asarray(value), blocks, depth + 1)}
    if isinstance(value, np.ndarray):
        return _encode_array(value, blocks)
    if isinstance(value, list):
        return [_encode(item, blocks, depth + 1) for item in value]
    if isinstance(value, dict):
        pairs = [
            [_encode(k, blocks, depth + 1), _encode(v, blocks, depth + 1)] for k, v in value.items()
        ]
        return {"dict": pairs}
    if type(value) is tuple or isinstance(value, KeysView):
        return {"tuple": [_encode(item, blocks, depth + 1) for item in value]}
    if isinstance(value, Pipeline):
        return {
            "pipeline": [[name, _encode(step, blocks, depth + 1)] for name, step in value.steps]
        }
    if isinstance(value, BSpline):
        parts = (value.t, value.c, int(value.k), value.extrapolate)
        return {"spline": [_encode(part, blocks, depth + 1) for part in parts]}
    return _encode_object(value, blocks, depth)


def _encode_array(array: Any, blocks: list[bytes]) -> Any:
    shape = list(array.shape)
    if array.dtype.kind == "U" or (
        array.dtype == object and all(x is None or isinstance(x, str) for x in array.ravel())
    ):
        return {"texts": array.ravel().tolist(), "shape": shape, "dtype": array.dtype.kind}
    kinds = {"f": "<f8", "i": "<i8", "u": "<i8", "b": "|b1"}
    if array.dtype.kind not in kinds:
        raise TypeError(f"an array of {array.dtype} has no form in a file")
    dtype = "<i4" if array.dtype == np.int32 else kinds[array.dtype.kind]
    content = np.ascontiguousarray(array, dtype=dtype).tobytes()
    blocks.append(content + b"\0" * (-len(content) % 8))
    return {"array": dtype, "shape": shape}


def _encode_object(value: Any, blocks: list[bytes], depth: int) -> Any:
    name = _public_name(type(value))
    if name not in _NAMES:
        raise TypeError(f"{name} has no form in a file")
    if isinstance(value, tuple):
        return {"record": name, "fields": [_encode(item, blocks, depth + 1) for item in value]}
    state = {key: _encode(item, blocks, depth + 1) for key, item in _state(value).items()}
    return {"object": name, "state": state}


def _public_name(cls: type) -> str:
    """Return ``module:class``; scikit-learn's modules begin with an underscore below its rooms."""
    return f"{cls.__module__.partition('._')[0]}:{cls.__qualname__}"


def _state(value: Any) -> dict[str, Any]:
    """Return attributes, without those that are computed from others when first read.

    A distribution keeps them all: its parameters may be given in any of several forms.
    """
    cls = type(value)
    slots = [s for base in cls.__mro__ for s in getattr(base, "__slots__", ())]
    state = {s: getattr(value, s) for s in slots if s not in ("__dict__", "__weakref__")}
    state.update(getattr(value, "__dict__", {}))
    if isinstance(value, Distribution):
        return state
    return {k: v for k, v in state.items() if not isinstance(_class_entry(cls, k), cached_property)}


def _class_entry(cls: type, name: str) -> Any:
    return next((vars(base)[name] for base in cls.__mro__ if name in vars(base)), None)


# -- reading -----------------------------------------------------------------------------------


class _Reader:
    """Where the next array begins."""

    def __init__(self, numbers: bytes) -> None:
        self.numbers = numbers
        self.place = 0

    def decode(self, tree: Any, depth: int) -> Any:
        if depth > _DEEPEST:
            raise ValueError("it is nested too deeply")
        if tree is None or isinstance(tree, (bool, str, int, float)):
            return tree
        if isinstance(tree, list):
            return [self.decode(item, depth + 1) for item in tree]
        return self._decode_marked(tree, depth + 1)

    def _decode_marked(self, tree: dict[str, Any], depth: int) -> Any:
        mark = next(iter(tree))
        if mark == "number":
            return {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}[tree[mark]]
        if mark == "scalar":
            return self.decode(tree[mark], depth)[()]
        if mark == "array":
            return self._array(tree[mark], _checked_shape(tree["shape"]))
        if mark == "texts":
            return _texts(tree)
        if mark == "dict":
            return {self.decode(k, depth): self.decode(v, depth) for k, v in tree[mark]}
        if mark == "tuple":
            return tuple(self.decode(item, depth) for item in tree[mark])
        if mark == "pipeline":
            return Pipeline([(str(name), self.decode(step, depth)) for name, step in tree[mark]])
        if mark == "spline":
            t, c, k, extrapolate = (self.decode(part, depth) for part in tree[mark])
            return BSpline(t, c, k, extrapolate=extrapolate)
        if mark == "record":
            cls = _class_named(tree[mark], record=True)
            record = cls(*[self.decode(item, depth) for item in tree["fields"]])
            require_stated_shapes(cls, record._asdict())
            return record
        if mark == "object":
            return self._object(_class_named(tree[mark], record=False), tree["state"], depth)
        raise ValueError(f"unknown mark {mark[:40]!r}")

    def _array(self, dtype: str, shape: tuple[int, ...]) -> Any:
        size = _DTYPES[dtype] * math.prod(shape)
        start, end = self.place, self.place + size
        if end > len(self.numbers):
            raise ValueError("it ends before its arrays do")
        self.place = end + -size % 8
        return np.frombuffer(self.numbers[start:end], dtype=dtype).reshape(shape)

    def _object(self, cls: type, state: dict[str, Any], depth: int) -> Any:
        value: Any = object.__new__(cls)
        guest = cls.__module__.startswith("sklearn.")
        parameters = cls._parameters if issubclass(cls, Distribution) else {}
        decoded: dict[str, Any] = {}
        for key, item in state.items():
            if key in parameters:  # some are read through a property that checks them
                value.__dict__[key] = self.decode(item, depth)
                continue
            entry = _class_entry(cls, key)
            if key.startswith("__") or callable(entry) or isinstance(entry, property):
                raise ValueError(f"{key[:40]!r} is no attribute that files may set")
            decoded[key] = attribute = self.decode(item, depth)
            if guest and type(attribute) is int and attribute > _LARGEST_SIZE:
                raise ValueError(f"{key!r} is too large")
            object.__setattr__(value, key, attribute)
        require_stated_shapes(cls, decoded)
        return value


def _texts(tree: dict[str, Any]) -> Any:
    texts = tree["texts"]
    if not all(x is None or isinstance(x, str) for x in texts):
        raise ValueError("texts must be texts")
    dtype = {"U": np.str_, "O": object}[tree["dtype"]]
    if len(texts) * max((len(x or "") for x in texts), default=0) > _MOST_CHARACTERS:
        raise ValueError("its texts are too long")
    return np.array(texts, dtype=dtype).reshape(_checked_shape(tree["shape"]))


def _checked_shape(shape: Any) -> tuple[int, ...]:
    if len(shape) > _MOST_AXES or not all(type(n) is int and n >= 0 for n in shape):
        raise ValueError("a shape must be a short list of sizes")
    if 0 in shape and max(shape) > _LARGEST_SIZE:
        raise ValueError("an empty array has too long an axis")
    return tuple(shape)


def _class_named(name: str, *, record: bool) -> Any:
    if name not in _NAMES:
        raise ValueError(f"{name[:80]!r} is not a class that files may hold")
    module, _, qualified = name.partition(":")
    cls = getattr(import_module(module), qualified)
    if issubclass(cls, tuple) is not record:
        raise ValueError(f"{name!r} is {'no' if record else 'a'} record")
    return cls
