"""Words of other libraries for parameters of estimators, as ``GaussianMixture(covariance_type="full")``."""

from __future__ import annotations

from posteriori.numerics.telling.parameter_words import OtherWords

__all__ = ["OTHER_WORDS"]

_NOISE = ("noise is learned: leave it out",)
_SEED = ("random_state",)
_TREES = ("n_estimators",)
_LINES = ("progress", "callback")

#: What scikit-learn, XGBoost, LightGBM, CatBoost, hmmlearn and textbooks call parameters.
OTHER_WORDS: OtherWords = {
    "C": ("prior_precision=1/C", "ridge=1/C"),
    "algorithm": ("solver", "method"),
    "alpha": ("prior_precision", "ridge", "penalty", "concentration", *_NOISE),
    "alpha_1": ("noise_shape",),
    "alpha_2": ("noise_scale",),
    "base_estimator": ("estimator",),
    "ccp_alpha": ("pruning",),
    "coef0": ("kernel=Polynomial(degree,offset=coef0)",),
    "colsample_bytree": ("max_features",),
    "covariance_type": ("covariance",),
    "depth": ("max_depth",),
    "df": ("dof",),
    "estimators": ("models",),
    "eta": ("learning_rate",),
    "fun": ("sources",),
    "gamma": ("kernel=RBF(scale=1/√(2·gamma))", "min_gain"),
    "init_params": ("means_init",),
    "intercept": ("fit_intercept",),
    "iterations": ("n_estimators", "max_iter"),
    "k": ("n_clusters", "n_components", "n_neighbors", "n_states"),
    "lambda_": ("prior_precision", "penalty", "ridge"),
    "lambda_1": ("precision_shape",),
    "lambda_2": ("precision_rate",),
    "laplace": ("concentration",),
    "max_bin": ("max_bins",),
    "max_leaf_nodes": ("max_leaves", "max_depth"),
    "min_child_samples": ("min_samples_leaf",),
    "min_data_in_leaf": ("min_samples_leaf",),
    "min_impurity_decrease": ("min_gain",),
    "min_samples_split": ("min_samples_leaf",),
    "n_clusters": ("n_components",),
    "n_components": ("n_clusters", "n_states", "n_experts"),
    "n_hidden": ("n_states",),
    "n_init_params": ("n_init",),
    "n_iter": ("max_iter", "n_estimators"),
    "n_mix": ("mixture_components",),
    "n_restarts_optimizer": ("n_init=n_restarts_optimizer+1",),
    "n_rounds": _TREES,
    "n_splits": ("n_knots",),
    "n_trees": _TREES,
    "neighbors": ("n_neighbors",),
    "noise": _NOISE,
    "nu": ("dof",),
    "num_boost_round": _TREES,
    "num_iterations": _TREES,
    "num_leaves": ("max_leaves", "max_depth"),
    "penalty": ("prior_precision", "ridge"),
    "priors": ("class_prior",),
    "random_seed": _SEED,
    "reg_covar": ("prior", "min_width"),
    "reg_lambda": ("penalty",),
    "rng": _SEED,
    "seed": _SEED,
    "sigma": ("kernel=RBF(scale=sigma)",),
    "svd_solver": ("solver",),
    "verbose": _LINES,
    "voting": ("vote",),
}
