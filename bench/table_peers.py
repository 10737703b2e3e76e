"""Tuned peers on a table: ridge or logistic regression, LightGBM, CatBoost and a random forest.

Each is tuned by five folds of the training rows. Of numbers it has a density as well, chosen by what it
says of rows out of fold: normal noise, Student's t, t whose scale follows the row (ridge of ln|error| on all
columns and on the prediction), each of y and, where y is positive, of ln y.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pandas as pd
from public_tables import Table
from scipy import stats
from scipy.optimize import minimize
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegressionCV, RidgeCV
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from posteriori.selection.cross_validation import recorded_log_density, recording_step

__all__ = ["PEERS", "Told", "ask_peer"]

PENALTIES = np.logspace(-3, 4, 15)

#: Rounds at most, learning rate, and rounds without progress of boosting.
ROUNDS, RATE, PATIENCE = 1000, 0.05, 40

FOLDS = 5


class Told(NamedTuple):
    """What is said of held-out rows: log densities, predictions, whether intervals of 90 % hold them, and how."""

    log_density: np.ndarray
    prediction: np.ndarray
    held: np.ndarray
    seconds: float
    how: str


class Learned(NamedTuple):
    """What a learner of numbers, or of log odds of classes, says of its rows out of fold, and of new ones."""

    out_of_fold: np.ndarray
    new: np.ndarray
    how: str


# -- columns -----------------------------------------------------------------------------------


def plain_columns(table: Table) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return inputs of both parts: dates as the time and the seasons that scripts make, texts as categories."""
    both = pd.concat([table.train, table.test]).drop(columns=[table.target]).reset_index(drop=True)
    for name in list(both):
        column = both[name]
        if column.dtype.kind in "biufc":
            continue
        dates = _dates(column)
        if dates is None:
            levels = column.astype(object).where(column.notna(), "missing").astype(str)
            both[name] = pd.Categorical(levels)
            continue
        both[name] = (dates - dates.min()) / pd.Timedelta(days=1)
        both[f"{name} month"], both[f"{name} day"] = dates.dt.month, dates.dt.day_of_year
        both[f"{name} weekday"], both[f"{name} hour"] = dates.dt.day_of_week, dates.dt.hour
    rows = len(table.train)
    return both.iloc[:rows], both.iloc[rows:]


def _dates(column: pd.Series) -> pd.Series | None:
    if column.dtype.kind == "M":
        return column
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = pd.to_datetime(column, errors="coerce")
    return found if found.notna().all() and "date" in str(column.name).lower() else None


def as_numbers() -> Any:
    numbers = make_pipeline(SimpleImputer(strategy="median", add_indicator=True), StandardScaler())
    return make_column_transformer(
        (numbers, make_column_selector(dtype_include="number")),
        (OneHotEncoder(handle_unknown="ignore"), make_column_selector(dtype_exclude="number")),
        sparse_threshold=0.0,
    )


def as_codes(X: pd.DataFrame) -> np.ndarray:
    columns = [
        c.cat.codes if c.dtype.name == "category" else c.fillna(c.median()) for _, c in X.items()
    ]
    return np.column_stack([np.asarray(c, dtype=float) for c in columns])


# -- learners of numbers -----------------------------------------------------------------------


def folds_of(y: np.ndarray, labels: bool) -> list[tuple[np.ndarray, np.ndarray]]:
    kind = StratifiedKFold if labels else KFold
    return list(kind(FOLDS, shuffle=True, random_state=1).split(y, y))


def learn_ridge(X: pd.DataFrame, y: np.ndarray, new: pd.DataFrame) -> Learned:
    model = make_pipeline(as_numbers(), RidgeCV(PENALTIES))
    left_out = cross_val_predict(model, X, y, cv=folds_of(y, False))
    return Learned(left_out, model.fit(X, y).predict(new), "")


def learn_forest(X: pd.DataFrame, y: np.ndarray, new: pd.DataFrame) -> Learned:
    found = []
    for leaf in (1, 5):
        model = RandomForestRegressor(
            300, min_samples_leaf=leaf, max_features=1 / 3, oob_score=True, random_state=0
        ).fit(as_codes(X), y)
        told = Learned(model.oob_prediction_, model.predict(as_codes(new)), f"leaf {leaf}")
        found.append((np.mean((y - told.out_of_fold) ** 2), told))
    return min(found, key=lambda pair: pair[0])[1]


def lightgbm_settings() -> Iterator[tuple[str, dict[str, Any]]]:
    for leaves in (4, 15, 31):
        yield (
            f"{leaves} leaves",
            {"num_leaves": leaves, "min_child_samples": 10 if leaves < 31 else 20},
        )


def catboost_settings() -> Iterator[tuple[str, dict[str, Any]]]:
    for depth in (4, 6):
        yield f"depth {depth}", {"depth": depth}


def fit_lightgbm(kind: str, setting: dict, rows: tuple, left: tuple) -> Callable:
    from lightgbm import LGBMClassifier, LGBMRegressor, early_stopping

    made = {"number": LGBMRegressor, "class": LGBMClassifier}[kind](
        n_estimators=ROUNDS, learning_rate=RATE, n_jobs=1, verbose=-1, **setting
    )
    model = made.fit(*rows, eval_set=[left], callbacks=[early_stopping(PATIENCE, verbose=False)])
    return model.predict if kind == "number" else model.predict_proba


def fit_catboost(kind: str, setting: dict, rows: tuple, left: tuple) -> Callable:
    from catboost import CatBoostClassifier, CatBoostRegressor

    texts = [c for c in rows[0] if rows[0][c].dtype.name == "category"]
    made = {"number": CatBoostRegressor, "class": CatBoostClassifier}[kind](
        iterations=ROUNDS,
        learning_rate=RATE,
        thread_count=1,
        verbose=False,
        allow_writing_files=False,
        cat_features=texts,
        random_seed=0,
        **setting,
    )
    model = made.fit(*rows, eval_set=left, early_stopping_rounds=PATIENCE)
    return model.predict if kind == "number" else model.predict_proba


def learn_boosting(fit: Callable, settings: Callable, kind: str) -> Callable[..., Learned]:
    """Return a learner that averages members that leave a fold out each, which ends their rounds."""

    def learn(X: pd.DataFrame, y: np.ndarray, new: pd.DataFrame) -> Learned:
        found = []
        for how, setting in settings():
            left_out, told = None, []
            for train, left in folds_of(y, kind == "class"):
                say = fit(kind, setting, (X.iloc[train], y[train]), (X.iloc[left], y[left]))
                said = np.asarray(say(X.iloc[left]))
                left_out = np.empty((len(y), *said.shape[1:])) if left_out is None else left_out
                left_out[left] = said
                told.append(say(new))
            found.append((_loss(y, left_out, kind), Learned(left_out, np.mean(told, axis=0), how)))
        return min(found, key=lambda pair: pair[0])[1]

    return learn


def _loss(y: np.ndarray, said: np.ndarray, kind: str) -> float:
    if kind == "number":
        return float(np.mean((y - said) ** 2))
    return -float(np.mean(np.log(np.maximum(said[np.arange(len(y)), y], 1e-12))))


def _boosting(kind: str) -> dict[str, Callable[..., Learned]]:
    return {
        "LightGBM": learn_boosting(fit_lightgbm, lightgbm_settings, kind),
        "CatBoost": learn_boosting(fit_catboost, catboost_settings, kind),
    }


# -- learners of classes -----------------------------------------------------------------------


def learn_logistic(X: pd.DataFrame, y: np.ndarray, new: pd.DataFrame) -> Learned:
    chosen = LogisticRegressionCV(
        Cs=np.logspace(-3, 3, 7), scoring="neg_log_loss", max_iter=2000, cv=folds_of(y, True)
    )
    model = make_pipeline(as_numbers(), chosen).fit(X, y)
    return Learned(np.zeros(0), model.predict_proba(new), "")


def learn_class_forest(X: pd.DataFrame, y: np.ndarray, new: pd.DataFrame) -> Learned:
    found = []
    for leaf in (1, 5, 10):
        model = RandomForestClassifier(
            300, min_samples_leaf=leaf, oob_score=True, random_state=0
        ).fit(as_codes(X), y)
        shares = (300.0 * model.oob_decision_function_ + 0.5) / (300.0 + 0.5 * len(model.classes_))
        told = (300.0 * model.predict_proba(as_codes(new)) + 0.5) / (
            300.0 + 0.5 * len(model.classes_)
        )
        found.append((_loss(y, shares, "class"), Learned(shares, told, f"leaf {leaf}")))
    return min(found, key=lambda pair: pair[0])[1]


PEERS = ("ridge", "LightGBM", "CatBoost", "forest")
OF_NUMBERS = {"ridge": learn_ridge, **_boosting("number"), "forest": learn_forest}
OF_CLASSES = {"ridge": learn_logistic, **_boosting("class"), "forest": learn_class_forest}


# -- densities ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Noise:
    """Student's t around a prediction, of y or of ln y; normal with infinitely many degrees of freedom."""

    _has_atoms: ClassVar[bool] = False
    center: np.ndarray
    scale: np.ndarray
    dof: float
    logarithm: bool

    def _standard(self, y: np.ndarray) -> np.ndarray:
        with np.errstate(divide="ignore", invalid="ignore"):
            u = np.log(np.maximum(y, 0.0)) if self.logarithm else y
        return (u - self.center) / self.scale

    def log_prob(self, y: np.ndarray) -> np.ndarray:
        found = stats.t.logpdf(self._standard(y), self.dof) - np.log(self.scale)
        return found - np.log(y) if self.logarithm else found

    def cdf(self, y: np.ndarray) -> np.ndarray:
        return stats.t.cdf(self._standard(y), self.dof)


def fit_student(errors: np.ndarray, *, normal: bool) -> tuple[float, float]:
    """Return scale and degrees of freedom by maximum likelihood."""
    size = float(np.sqrt(np.mean(errors**2))) or 1e-9
    if normal:
        return size, np.inf

    def cost(q: np.ndarray) -> float:
        return -float(np.sum(stats.t.logpdf(errors / np.exp(q[0]), np.exp(q[1])) - q[0]))

    bounds = [(np.log(size) - 8.0, np.log(size) + 2.0), (np.log(1.0), np.log(200.0))]
    q = minimize(cost, [np.log(size) - 0.3, np.log(5.0)], bounds=bounds).x
    return float(np.exp(q[0])), float(np.exp(q[1]))


def row_scales(X: Any, new: Any, told: Learned, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return how wide errors are, by row, of rows out of fold and of new ones."""
    center, width = told.out_of_fold.mean(), told.out_of_fold.std() or 1.0
    inputs = np.column_stack([X, (told.out_of_fold - center) / width])
    sizes = np.abs(u - told.out_of_fold)
    sizes = np.log(sizes + 0.05 * sizes.mean() + 1e-12)
    model = RidgeCV(PENALTIES)
    left_out = cross_val_predict(model, inputs, sizes, cv=folds_of(sizes, False))
    fresh = model.fit(inputs, sizes).predict(np.column_stack([new, (told.new - center) / width]))
    fresh = np.clip(fresh, left_out.min(), left_out.max())
    return np.exp(left_out), np.exp(fresh)


def densities(X: Any, new: Any, told: Learned, u: np.ndarray, logarithm: bool) -> Iterator[tuple]:
    """Yield name, density of rows out of fold, and of new rows."""
    errors, flat = u - told.out_of_fold, (np.ones(len(u)), np.ones(len(told.new)))
    kinds = {"normal": flat, "t": flat, "rows": row_scales(X, new, told, u)}
    for name, (inner, outer) in kinds.items():
        scale, dof = fit_student(errors / inner, normal=name == "normal")
        yield (
            f"{'ln ' * logarithm}{name}",
            Noise(told.out_of_fold, scale * inner, dof, logarithm),
            Noise(told.new, scale * outer, dof, logarithm),
        )


def ask_for_numbers(table: Table, learn: Callable[..., Learned]) -> Told:
    X, new = plain_columns(table)
    y = table.train[table.target].to_numpy(float)
    truth, step = table.test[table.target].to_numpy(float), recording_step(y)
    columns = as_numbers().fit(X)
    wide = columns.transform(X), columns.transform(new)
    best, found = -np.inf, None
    for logarithm in (False, True)[: 1 + bool((y > 0.0).all())]:
        u = np.log(y) if logarithm else y
        told = learn(X, u, new)
        for name, inner, outer in densities(*wide, told, u, logarithm):
            score = float(recorded_log_density(inner, y, step).sum())
            if score > best:
                smear = np.mean(np.exp(u - told.out_of_fold)) if logarithm else 1.0
                point = np.exp(told.new) * smear if logarithm else told.new
                best = score
                found = Told(
                    recorded_log_density(outer, truth, step),
                    point,
                    np.abs(outer.cdf(truth) - 0.5) <= 0.45,
                    0.0,
                    name,
                )
    return found


def ask_for_classes(table: Table, learn: Callable[..., Learned]) -> Told:
    X, new = plain_columns(table)
    classes = np.unique(table.train[table.target].to_numpy())
    codes = np.searchsorted(classes, table.train[table.target].to_numpy())
    truth = np.searchsorted(classes, table.test[table.target].to_numpy())
    told = learn(X, codes, new)
    came = np.maximum(told.new[np.arange(len(truth)), truth], 1e-12)
    return Told(np.log(came), told.new, np.full(len(truth), np.nan), 0.0, told.how)


def ask_peer(peer: str, table: Table) -> Told:
    """Return what a peer says of the held-out rows of a table, with the processor seconds that it took."""
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if table.labels:
            told = ask_for_classes(table, OF_CLASSES[peer])
        else:
            told = ask_for_numbers(table, OF_NUMBERS[peer])
    return told._replace(seconds=time.process_time() - start)
