"""What many would write instead of ``posteriori compare``: six pipelines, five folds, errors as normal noise.

Usage: ``usual_script.py TABLE.csv TARGET OUT.npz``: the held-out log densities of every row go to a file, by
the name of the pipeline.
"""

from __future__ import annotations

import sys

import numpy as np
import pandas as pd
from lightgbm import LGBMRegressor
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import KFold, cross_val_predict
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, SplineTransformer, StandardScaler

PENALTIES = np.logspace(-3, 4, 15)
#: Rows up to which a process is tried.
MOST_OF_PROCESS = 1_500


def pipelines(rows: int) -> dict[str, Pipeline]:
    """Return preparation and model of each way that is tried."""
    curves = make_pipeline(StandardScaler(), SplineTransformer())
    process = GaussianProcessRegressor(
        ConstantKernel() * RBF() + WhiteKernel(), normalize_y=True, random_state=0
    )
    tried = {
        "ridge": _of_columns(StandardScaler(), RidgeCV(PENALTIES)),
        "splines": _of_columns(curves, RidgeCV(PENALTIES)),
        "forest": _of_columns("passthrough", RandomForestRegressor(random_state=0)),
        "boosting": _of_columns("passthrough", HistGradientBoostingRegressor(random_state=0)),
        "LightGBM": _of_columns("passthrough", LGBMRegressor(n_jobs=1, verbose=-1, random_state=0)),
    }
    if rows <= MOST_OF_PROCESS:
        tried["process"] = _of_columns(StandardScaler(), process)
    return tried


def _of_columns(numbers: object, model: object) -> Pipeline:
    columns = make_column_transformer(
        (numbers, make_column_selector(dtype_include="number")),
        (OneHotEncoder(handle_unknown="ignore"), make_column_selector(dtype_exclude="number")),
        sparse_threshold=0.0,
    )
    return make_pipeline(columns, model)


def log_densities(pipeline: Pipeline, X: pd.DataFrame, y: np.ndarray) -> np.ndarray:
    """Return those of rows held out; the noise of a fold is the size of the errors in the others."""
    folds = KFold(5, shuffle=True, random_state=0)
    squared = (y - cross_val_predict(pipeline, X, y, cv=folds)) ** 2
    variance = np.empty(len(y))
    for others, rows in folds.split(X):
        variance[rows] = squared[others].mean()
    return -0.5 * (np.log(2 * np.pi * variance) + squared / variance)


def main(path: str, target: str, out: str) -> None:
    table = pd.read_csv(path)
    X, y = table.drop(columns=target), table[target].to_numpy(dtype=float)
    tried = pipelines(len(y))
    found = {name: log_densities(pipeline, X, y) for name, pipeline in tried.items()}
    best = max(found, key=lambda name: found[name].sum())
    tried[best].fit(X, y)
    np.savez(out, **found)
    print(f"{best}: {found[best].mean():.3f} nats a row")


if __name__ == "__main__":
    main(*sys.argv[1:])
