"""Latent classes against StepMix: binary columns, complete and with gaps, and growth in N.

StepMix (``pip install stepmix``) has maximum likelihood only. Both begin at the same responsibilities;
before steps are timed, both are run to the end on a tenth of the rows, and their log likelihoods must agree
to 1e-7 of their size. Steps are plain ones: no jumps, no tolerance.
"""

from __future__ import annotations

import warnings
from functools import partial

import numpy as np
from harness import Comparison, compare, peak_memory, report
from sklearn.utils import check_random_state
from stepmix.stepmix import StepMix

from posteriori.mixture import LatentClasses

ROWS, COLUMNS, CLASSES, STEPS = 200_000, 30, 5, 20


def make_data(rows: int, missing: float) -> np.ndarray:
    rng = np.random.default_rng(0)
    shares = rng.uniform(0.1, 0.9, (CLASSES, COLUMNS))
    x = (rng.random((rows, COLUMNS)) < shares[rng.integers(0, CLASSES, rows)]).astype(np.float64)
    if missing:
        x[rng.random(x.shape) < missing] = np.nan
    return x


def ours(x: np.ndarray, steps: int, tol: float = 0.0) -> LatentClasses:
    start = check_random_state(0).uniform(size=(len(x), CLASSES))
    return LatentClasses(
        CLASSES,
        "bernoulli",
        method="ml",
        max_iter=steps,
        tol=tol,
        accelerated=False,
        responsibilities_init=start,
    ).fit(x)


def theirs(x: np.ndarray, steps: int, tol: float = 0.0) -> StepMix:
    return StepMix(
        CLASSES,
        measurement="binary_nan" if np.isnan(x).any() else "binary",
        max_iter=steps,
        abs_tol=tol,
        rel_tol=0.0,
        random_state=0,
        progress_bar=0,
    ).fit(x)


def against(missing: float, bar: float) -> Comparison:
    few = make_data(ROWS // 10, missing)
    found, expected = ours(few, 1000, 1e-7).log_likelihood_, theirs(few, 1000, 1e-12)
    np.testing.assert_allclose(found, expected.score(few) * len(few), rtol=1e-7)
    x = make_data(ROWS, missing)
    return compare(
        f"{ROWS} x {COLUMNS}, K={CLASSES}, {STEPS} steps, {missing:.0%} missing",
        lambda: ours(x, STEPS),
        lambda: theirs(x, STEPS),
        bar=bar,
        faster=True,
    )


def growth() -> None:
    print("\nby variational Bayes, 10 % missing")
    for rows in (10_000, 100_000, 1_000_000):
        model = LatentClasses(CLASSES, "bernoulli", random_state=0, max_iter=50)
        held = peak_memory(partial(model.fit, make_data(rows, 0.1)))
        print(f"  {rows:>9} rows: {held / 1e6:6.0f} MB beside the data")


def main() -> None:
    warnings.simplefilter("ignore")  # steps end before they converge
    report("latent classes (StepMix)", [against(0.0, 2.0), against(0.2, 4.0)])
    growth()


if __name__ == "__main__":
    main()
