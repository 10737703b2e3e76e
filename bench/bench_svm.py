"""Support vector machines beside scikit-learn (libsvm, liblinear) and scikit-learn-intelex.

The same rows, kernel, price and tolerance for all. Before anything is timed the scores of new rows agree to the tolerance,
and no dual objective of ours is worse than that of a peer by more than a part in 10⁴.
"""

from __future__ import annotations

import sys

import numpy as np
from harness import Comparison, compare, peak_memory, report
from sklearn.datasets import make_classification
from sklearn.svm import SVC, LinearSVC

from posteriori.svm import LinearSupportVectorClassifier, SupportVectorClassifier

#: Alternating runs of fits, each of which takes seconds.
FITS = 7


def some_rows(count: int, columns: int):
    return make_classification(
        count, columns, n_informative=columns // 2, n_redundant=columns // 5, flip_y=0.05, random_state=0
    )  # fmt: skip


def dual_objective(machine, gram_of) -> float:
    """Return Σa − ½ uᵀKu of a peer's machine."""
    u = machine.dual_coef_[0]
    return float(np.abs(u).sum() - 0.5 * u @ gram_of(machine.support_vectors_) @ u)


def with_kernel(count: int, rounds: int) -> list[Comparison]:
    from sklearnex import svm as intelex

    X, y = some_rows(count, 20)
    new = X + 0.01
    ours, peer, intel = (
        kind(cache_size=200).fit(X, y) for kind in (SupportVectorClassifier, SVC, intelex.SVC)
    )
    theirs = dual_objective(peer, ours.kernel_)
    assert ours.dual_objective_ >= theirs - 1e-4 * abs(theirs)
    scores = ours.decision_function(new[:2000])
    for other in (peer, intel):
        np.testing.assert_allclose(scores, other.decision_function(new[:2000]), atol=2e-2)
    name = f"SVC RBF {count}×20"
    cases = [
        ("fit, scikit-learn", SVC, 3.0),
        ("fit, intelex", intelex.SVC, 0.8),
    ]
    lines = [
        compare(
            f"{name}, {what}",
            lambda: SupportVectorClassifier(cache_size=200).fit(X, y),
            lambda kind=kind: kind(cache_size=200).fit(X, y),
            bar=bar,
            faster=True,
            rounds=rounds,
            warm=False,
        )
        for what, kind, bar in cases
    ]
    for what, fitted, bar in (("scikit-learn", peer, 10.0), ("intelex", intel, 0.9)):
        lines.append(
            compare(
                f"{name}, predict, {what}",
                lambda: ours.predict(new),
                lambda fitted=fitted: fitted.predict(new),
                bar=bar,
                faster=True,
                rounds=rounds,
            )
        )
    return lines


def linear(count: int, rounds: int) -> Comparison:
    X, y = some_rows(count, 50)
    options = {"C": 1e-3, "tol": 1e-3, "max_iter": 10_000, "random_state": 0}

    def ours():
        return LinearSupportVectorClassifier(loss="hinge", intercept="penalised", **options).fit(
            X, y
        )

    def peer():
        return LinearSVC(loss="hinge", dual=True, **options).fit(X, y)

    t = np.where(y, 1.0, -1.0)

    def primal(machine) -> float:
        w, b = machine.coef_[0], machine.intercept_[0]
        return 0.5 * (w @ w + b * b) + options["C"] * np.maximum(0.0, 1.0 - t * (X @ w + b)).sum()

    mine, other = primal(ours()), primal(peer())
    assert mine <= other * (1.0 + 1e-4), (mine, other)
    return compare(
        f"linear, hinge, {count}×50, LinearSVC", ours, peer, bar=1.0, faster=True, rounds=rounds
    )


def memory() -> None:
    """Print how memory grows: bounded by ``cache_size`` beside the rows themselves."""
    print("\npeak memory of a fit, cache_size=20 MB")
    for count in (1000, 2000, 4000, 8000):
        X, y = some_rows(count, 20)
        peak = peak_memory(lambda X=X, y=y: SupportVectorClassifier(cache_size=20).fit(X, y))
        print(f"  {count:6} rows: {peak / 2**20:6.1f} MB")


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else FITS
    size = int(sys.argv[2]) if len(sys.argv) > 2 else 20_000
    report("support vector machines", [*with_kernel(size, rounds), linear(5 * size, rounds)])
    memory()


if __name__ == "__main__":
    main()
