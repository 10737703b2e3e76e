"""Log densities of rows held out, beside LightGBM with constant noise, row by row.

Five folds. LightGBM has the folds of our members, ends their rounds by them and averages the members as
we do; of numbers and counts the noise, Student's t or negative binomial, is constant and learned from
rows that members left out. It runs with our settings and with its own leaves, rows and columns; the
better one of the two is the peer.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np
from scipy.special import log_softmax
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.model_selection import KFold, StratifiedKFold

from posteriori.distributions.counts.compound_counts import negative_binomial_log_mass
from posteriori.ensemble import GradientBoostingClassifier, GradientBoostingRegressor
from posteriori.ensemble.gradient_boosting.boosting_members import _deal_folds
from posteriori.ensemble.gradient_boosting.left_out_noise import (
    fit_spread,
    fit_tail,
    student_log_density,
)

try:
    from lightgbm import LGBMClassifier, LGBMRegressor, early_stopping
    from statsmodels import datasets
except ImportError as missing:
    print(f"LightGBM, or tables of statsmodels, are left out: {missing}")
    raise SystemExit(0) from None

Table = tuple[np.ndarray, np.ndarray]

#: Rounds at most, learning rate, rounds without progress, members: as ours by default.
ROUNDS, RATE, PATIENCE, MEMBERS = 1000, 0.05, 40, 5


def of_statsmodels(name: str, target: str, *, without: tuple[str, ...] = ()) -> Table:
    frame = getattr(datasets, name).load_pandas().data
    inputs = frame.drop(columns=[target, *without]).to_numpy(dtype=float)
    return inputs, frame[target].to_numpy()


def fair() -> Table:
    X, affairs = of_statsmodels("fair", "affairs")
    return X, (affairs > 0).astype(int)


#: Family, rows, and by how many standard errors ours may be behind.
TABLES: dict[str, tuple[str, Callable[[], Table], float]] = {
    "diabetes": ("student", lambda: load_diabetes(return_X_y=True), 0.0),
    "randhie": ("negative binomial", lambda: of_statsmodels("randhie", "mdvis"), 0.0),
    "breast cancer": ("classes", lambda: load_breast_cancer(return_X_y=True), 2.0),
    "anes96": ("classes", lambda: of_statsmodels("anes96", "PID", without=("vote",)), 2.0),
    "fair": ("classes", fair, 2.0),
}


def settings(rows: int) -> dict[str, dict[str, object]]:
    few = rows < 10_000
    ours = {
        "num_leaves": int(np.clip(rows // 512, 4, 64)),
        "min_child_samples": 1,
        "min_child_weight": 1.0,
        "reg_lambda": 1.0,
        "feature_fraction_bynode": 0.3,
        "subsample": 0.5 if few else 1.0,
        "subsample_freq": int(few),
    }
    return {"as ours": ours, "its own": {}}


def fit_members(family: str, X: np.ndarray, y: np.ndarray, asked: dict[str, object]) -> list:
    """Return the members, each with the rows that it left out."""
    kind = LGBMClassifier if family == "classes" else LGBMRegressor
    extra = {"objective": "poisson"} if family == "negative binomial" else {}
    folds, found = _deal_folds(y, MEMBERS, np.random.default_rng(0)), []
    for m in range(MEMBERS):
        left = folds == m
        member = kind(
            n_estimators=ROUNDS, learning_rate=RATE, n_jobs=1, verbose=-1, **extra, **asked
        )
        ends = [early_stopping(PATIENCE, verbose=False)]
        member.fit(X[~left], y[~left], eval_set=[(X[left], y[left])], callbacks=ends)
        found.append((member, left))
    return found


def peer_log_density(
    family: str, X: np.ndarray, y: np.ndarray, new: np.ndarray, truth: np.ndarray, asked: dict
) -> np.ndarray:
    members = fit_members(family, X, y, asked)
    f = np.mean([member.predict(new, raw_score=True) for member, _ in members], axis=0)
    if family == "classes":
        scores = np.stack([np.zeros_like(f), f], axis=1) if f.ndim == 1 else f
        return log_softmax(scores, axis=1)[np.arange(len(truth)), truth]
    left_out = np.empty(len(y))
    for member, left in members:
        left_out[left] = member.predict(X[left], raw_score=True)
    once = np.ones(len(y))
    if family == "student":
        tail, width = fit_tail(y - left_out, once)
        return student_log_density((truth - f) / width, tail) - np.log(width)
    spread = fit_spread(y, np.exp(left_out), once)
    return negative_binomial_log_mass(truth, np.asarray(1.0 / spread), np.exp(f))


def our_log_density(
    family: str, X: np.ndarray, y: np.ndarray, new: np.ndarray, truth: np.ndarray, seed: int
) -> np.ndarray:
    if family == "classes":
        model = GradientBoostingClassifier(random_state=seed, progress=False).fit(X, y)
        return model.predict_log_proba(new)[np.arange(len(truth)), truth]
    regressor = GradientBoostingRegressor(family, random_state=seed, progress=False).fit(X, y)
    return regressor.predict_dist(new).log_prob(truth)


def compare_table(name: str, seed: int) -> None:
    family, load, behind = TABLES[name]
    X, y = load()
    if family == "classes":
        y = np.unique(y, return_inverse=True)[1]
    X, y = np.ascontiguousarray(X, dtype=float), y if family == "classes" else y.astype(float)
    divide = StratifiedKFold if family == "classes" else KFold
    names = list(settings(len(y)))
    ours, theirs = np.empty(len(y)), {setting: np.empty(len(y)) for setting in names}
    spent = [0.0, 0.0]
    for train, test in divide(5, shuffle=True, random_state=7).split(X, y):
        rows = X[train], y[train], X[test], y[test]
        start = time.process_time()
        ours[test] = our_log_density(family, *rows, seed)
        middle = time.process_time()
        for setting, asked in settings(len(train)).items():
            theirs[setting][test] = peer_log_density(family, *rows, asked)
        spent[0] += middle - start
        spent[1] += (time.process_time() - middle) / len(names)
    best = max(names, key=lambda setting: theirs[setting].sum())
    ahead = ours - theirs[best]
    error = np.sqrt(len(y)) * ahead.std(ddof=1)
    met = ahead.sum() >= -behind * error
    print(
        f"  {name:14} {ours.sum():10.1f} vs {theirs[best].sum():10.1f} ({best})   ahead by "
        f"{ahead.sum():7.1f} ± {error:.1f}{'' if met else '   MISSED'}   processor {spent[0]:.1f} s, "
        f"peer {spent[1]:.1f} s",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tables", nargs="*", default=list(TABLES), help=", ".join(TABLES))
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    print("log densities of rows held out, 5 folds; goal: ahead, classes no more than 2 se behind")
    for name in asked.tables:
        compare_table(name, asked.seed)


if __name__ == "__main__":
    main()
