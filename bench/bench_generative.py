"""Generative classifiers against scikit-learn's: fit and class probabilities, and growth in N.

Each case first checks that the class probabilities are equal: plugged-in estimates against
scikit-learn's, which differ by (N − 1)/N in some covariances, so to 1e-4. The integrated classes,
which scikit-learn does not have, are timed against the same peers.
"""

from __future__ import annotations

import numpy as np
from harness import Comparison, compare, peak_memory, report
from sklearn.base import ClassifierMixin
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.naive_bayes import BernoulliNB, GaussianNB

from posteriori.classification import GaussianDiscriminant, NaiveBayes

ROWS, COLUMNS, CLASSES = 100_000, 50, 3
PEERS = {
    "shared": LinearDiscriminantAnalysis(),
    "full": QuadraticDiscriminantAnalysis(),
    "diagonal": GaussianNB(),
}


def make_data(rows: int, binary: bool = False) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    y = rng.integers(0, CLASSES, rows)
    X = rng.normal(size=(rows, COLUMNS)) + 0.3 * rng.normal(size=(CLASSES, COLUMNS))[y]
    return (X > 0).astype(np.float64) if binary else X, y


def against(
    name: str, ours: ClassifierMixin, theirs: ClassifierMixin, X, y, equal: float
) -> Comparison:
    np.testing.assert_allclose(
        ours.fit(X, y).predict_proba(X), theirs.fit(X, y).predict_proba(X), atol=equal
    )
    return compare(
        f"{name}, fit + predict_proba, {len(X)} x {X.shape[1]} ({type(theirs).__name__})",
        lambda: ours.fit(X, y).predict_proba(X),
        lambda: theirs.fit(X, y).predict_proba(X),
        bar=2.0,
        faster=True,
    )


def discriminants() -> list[Comparison]:
    X, y = make_data(ROWS)
    return [
        against(
            f"{covariance}, {estimate}",
            GaussianDiscriminant(covariance, method=estimate),
            peer,
            X,
            y,
            equal,
        )
        for covariance, peer in PEERS.items()
        for estimate, equal in (("ml", 1e-4), ("bayes", 5e-3))
    ]


def naive_bayes() -> list[Comparison]:
    X, y = make_data(ROWS)
    ones, labels = make_data(ROWS, binary=True)
    return [
        against("naive Bayes, normal, ml", NaiveBayes(method="ml"), GaussianNB(), X, y, 1e-4),
        against("naive Bayes, normal, bayes", NaiveBayes(), GaussianNB(), X, y, 5e-3),
        against(
            "naive Bayes, bernoulli", NaiveBayes("bernoulli"), BernoulliNB(), ones, labels, 1e-4
        ),
    ]


def growth() -> list[Comparison]:
    """Four times the rows may cost five times as much."""
    small, large = make_data(ROWS // 4), make_data(ROWS)
    models = [GaussianDiscriminant(c) for c in PEERS] + [NaiveBayes()]
    return [
        compare(
            f"{model!r}: {ROWS} rows against {ROWS // 4}",
            lambda model=model: model.fit(*large).predict_proba(large[0]),
            lambda model=model: model.fit(*small).predict_proba(small[0]),
            bar=5.0,
            faster=False,
        )
        for model in models
    ]


def main() -> None:
    report("Gaussian discriminants", discriminants())
    report("naive Bayes", naive_bayes())
    report("growth with the rows", growth())
    X, y = make_data(ROWS)
    for covariance, peer in PEERS.items():
        ours = peak_memory(lambda c=covariance: GaussianDiscriminant(c).fit(X, y))
        theirs = peak_memory(lambda p=peer: p.fit(X, y))
        print(
            f"peak memory of a {covariance} fit: {ours / 2**20:.1f} MiB, scikit-learn {theirs / 2**20:.1f} MiB"
        )


if __name__ == "__main__":
    main()
