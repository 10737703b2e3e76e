"""Mixtures of normals against scikit-learn and BayesPy, and rows from a file of ten million.

Each case first checks that the answers are equal: the same start, the same number of steps, no jumps and
no moves, so that all walk the same path. scikit-learn is given no covariance floor that matters; its
lower bound of variational Bayes has no constants, so there means and weights are compared. BayesPy is a
peer where it is installed.

    python bench/bench_mixtures.py            # ratios
    python bench/bench_mixtures.py --large    # growth to 10^7 x 10 rows in a file, and memory
"""

from __future__ import annotations

import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
from harness import Comparison, compare, report
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import (
    BayesianGaussianMixture as TheirBayesianMixture,
    GaussianMixture as TheirMixture,
)

from posteriori import NormalWishart
from posteriori.mixture import BayesianGaussianMixture, GaussianMixture

EM_ROWS, EM_COLUMNS, EM_COMPONENTS, EM_STEPS = 100_000, 10, 10, 50
VB_ROWS, VB_COMPONENTS, VB_STEPS = 10_000, 6, 100
LARGE_ROWS, LARGE_COLUMNS, LARGE_STEPS = 10_000_000, 10, 3
LARGE_MEMORY = 200.0  # MB
ROUNDS = 7  # of the long case


def make_rows(
    rows: int, columns: int, components: int, spread: float
) -> tuple[np.ndarray, np.ndarray]:
    """Draw rows, and the components that they come from."""
    rng = np.random.default_rng(0)
    centres = spread * rng.normal(size=(components, columns))
    labels = rng.integers(components, size=rows)
    return centres[labels] + rng.normal(size=(rows, columns)), labels


def expectation_maximisation() -> Comparison:
    X, _ = make_rows(EM_ROWS, EM_COLUMNS, EM_COMPONENTS, 0.8)
    start = {
        "weights_init": np.full(EM_COMPONENTS, 1.0 / EM_COMPONENTS),
        "means_init": X[:EM_COMPONENTS],
        "precisions_init": np.array([np.eye(EM_COLUMNS)] * EM_COMPONENTS),
    }
    ours = GaussianMixture(
        EM_COMPONENTS, **start, tol=0.0, max_iter=EM_STEPS, accelerated=False, split_merge=False
    )
    theirs = TheirMixture(
        n_components=EM_COMPONENTS, **start, tol=0.0, max_iter=EM_STEPS, reg_covar=0.0
    )
    np.testing.assert_allclose(ours.fit(X).means_, theirs.fit(X).means_, atol=1e-6)
    assert ours.n_iter_ == theirs.n_iter_ == EM_STEPS
    np.testing.assert_allclose(ours.log_likelihood_, theirs.score(X) * EM_ROWS, rtol=1e-10)
    name = f"EM, full, {EM_ROWS} x {EM_COLUMNS}, K={EM_COMPONENTS}, {EM_STEPS} steps (scikit-learn)"
    return compare(
        name,
        lambda: ours.fit(X),
        lambda: theirs.fit(X),
        bar=8.0,
        faster=True,
        rounds=ROUNDS,
        warm=False,
    )


def variational_bayes() -> list[Comparison]:
    X, labels = make_rows(VB_ROWS, 2, VB_COMPONENTS, 3.0)  # overlap: all need every step
    concentration, strength, dof = 0.1, 1.0, 4.0
    shares = 0.6 * np.eye(VB_COMPONENTS)[labels] + 0.4 / VB_COMPONENTS  # all climb the same hill
    ours = BayesianGaussianMixture(
        VB_COMPONENTS,
        prior=NormalWishart(np.zeros(2), strength, dof, np.eye(2) / dof),
        weight_concentration_prior=concentration,
        responsibilities_init=shares,
        tol=0.0,
        max_iter=VB_STEPS,
        accelerated=False,
        split_merge=False,
    )
    theirs = _FromShares(
        n_components=VB_COMPONENTS,
        weight_concentration_prior_type="dirichlet_distribution",
        weight_concentration_prior=concentration,
        mean_prior=np.zeros(2),
        mean_precision_prior=strength,
        degrees_of_freedom_prior=dof,
        covariance_prior=np.eye(2) * dof,
        tol=0.0,
        max_iter=VB_STEPS,
        reg_covar=0.0,
    )
    theirs.shares = shares
    ours.fit(X), theirs.fit(X)
    assert ours.n_iter_ == theirs.n_iter_ == VB_STEPS
    _assert_same(ours.means_, theirs.means_, 1e-4)
    name = f"VB, {VB_ROWS} x 2, K={VB_COMPONENTS}, {VB_STEPS} steps"
    rows = [
        compare(
            f"{name} (scikit-learn)",
            lambda: ours.fit(X),
            lambda: theirs.fit(X),
            bar=4.0,
            faster=True,
        )
    ]
    peer = _bayespy(X, shares, concentration, strength, dof)
    if peer is None:
        print("BayesPy is not installed")
        return rows
    _assert_same(ours.means_, peer(), 0.1)
    rows.append(compare(f"{name} (BayesPy)", lambda: ours.fit(X), peer, bar=10.0, faster=True))
    return rows


class _FromShares(TheirBayesianMixture):
    """scikit-learn's mixture from given responsibilities."""

    shares: np.ndarray

    def _initialize_parameters(self, X, random_state, xp=None):
        self._initialize(X, self.shares)


def _assert_same(ours: np.ndarray, theirs: np.ndarray, tolerance: float) -> None:
    """Compare means whatever the order of the components."""
    order = [int(((theirs - mean) ** 2).sum(axis=1).argmin()) for mean in ours]
    assert sorted(order) == list(range(len(ours))), order
    np.testing.assert_allclose(ours, theirs[order], atol=tolerance)


def _bayespy(
    X: np.ndarray, shares: np.ndarray, concentration: float, strength: float, dof: float
) -> Callable[[], np.ndarray] | None:
    """Return a fit that answers with means, or None where BayesPy is not installed.

    Its beliefs about means and precisions are independent, as in its own example, so that after
    as many steps means agree with ours to a tenth of a standard deviation of the rows only.
    """
    try:
        from bayespy import nodes
        from bayespy.inference import VB
    except ImportError:
        return None

    def fit() -> np.ndarray:
        plates = (VB_COMPONENTS,)
        weights = nodes.Dirichlet(concentration * np.ones(VB_COMPONENTS))
        z = nodes.Categorical(weights, plates=(len(X),))
        means = nodes.Gaussian(np.zeros(2), strength * np.eye(2), plates=plates)
        precisions = nodes.Wishart(dof, dof * np.eye(2), plates=plates)
        y = nodes.Mixture(z, nodes.Gaussian, means, precisions)
        z.initialize_from_parameters(shares)
        y.observe(X)
        inference = VB(y, means, z, precisions, weights)
        inference.ignore_bound_checks = True
        inference.update(weights, means, precisions, z, repeat=VB_STEPS, verbose=False, tol=0)
        return means.get_moments()[0]

    return fit


def large() -> None:
    """Print seconds for each million rows of a file, and memory beside them."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.npy"
        rows = np.lib.format.open_memmap(path, "w+", shape=(LARGE_ROWS, LARGE_COLUMNS))
        for at in range(0, LARGE_ROWS, 1_000_000):
            block, _ = make_rows(1_000_000, LARGE_COLUMNS, 5, 1.0)
            rows[at : at + len(block)] = block
        rows.flush()
        del rows
        start, _ = make_rows(5, LARGE_COLUMNS, 5, 1.0)
        model = GaussianMixture(
            5, means_init=start, tol=0.0, max_iter=LARGE_STEPS, accelerated=False, split_merge=False
        )
        model.fit(np.load(path, mmap_mode="r")[:10_000])  # compiled before the clock runs
        for count in (100_000, 1_000_000, LARGE_ROWS):
            X = np.load(path, mmap_mode="r")[:count]
            begin = time.perf_counter()
            peak = _peak_of_own(partial(model.fit, X)) / 1e6
            seconds = time.perf_counter() - begin
            print(
                f"  {count:>10} x {LARGE_COLUMNS}: {seconds:6.2f} s, {1e6 * seconds / count:5.2f} s a "
                f"million rows, {peak:.0f} MB beside them",
                flush=True,
            )
            assert peak < LARGE_MEMORY, "more memory than a pass over blocks needs"


def _peak_of_own(function: Callable[[], object]) -> float:
    """Return the most bytes that are the process's own while a function runs, beyond those before.

    Pages of mapped files are not counted; /proc is read a hundred times a second.
    """
    before, peak, done = _own_memory(), 0.0, threading.Event()

    def watch() -> None:
        nonlocal peak
        while not done.wait(0.01):
            peak = max(peak, _own_memory() - before)

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        function()
    finally:
        done.set()
        watcher.join()
    return max(peak, _own_memory() - before)


def _own_memory() -> float:
    lines = Path("/proc/self/status").read_text().splitlines()
    told = {line.split(":")[0]: line.split()[1] for line in lines if line.endswith("kB")}
    return float(int(told["RssAnon"]) * 1024)


def main() -> None:
    warnings.simplefilter("ignore", ConvergenceWarning)
    from posteriori.numerics.warnings import ConvergenceWarning as OurWarning

    warnings.simplefilter("ignore", OurWarning)
    if "--large" in sys.argv:
        print("rows from a file")
        large()
        return
    report("expectation–maximisation", [expectation_maximisation()])
    report("variational Bayes", variational_bayes())


if __name__ == "__main__":
    main()
