"""Components beside scikit-learn, its extension by Intel, picard and BayesPy: equal answers first.

    python bench/bench_components.py            # ratios
    python bench/bench_components.py --quick    # the same from one run each: that all of it works
    python bench/bench_components.py --large    # growth to 10^7 x 50 rows by partial_fit, and memory

Peers that are not installed are left out, and said so.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable

import harness
import numpy as np
import sklearn.decomposition as peers

from posteriori.decomposition import ICA, PCA, FactorAnalysis, ProbabilisticPCA, amari_distance
from posteriori.inference.components.factor_learning import learn_factors

harness.ROUNDS = 7


def missing(name: str, error: ImportError) -> None:
    print(f"{name} is left out: {error}")


def principal() -> list[harness.Comparison]:
    """10⁵ × 200, 20 components."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(100_000, 20)) @ rng.normal(size=(20, 200)) + rng.normal(
        size=(100_000, 200)
    )
    ours = PCA(20)
    found = ours.fit(x).eigenvalues_[:20]
    theirs = {
        f"scikit-learn, {solver}": peers.PCA(20, svd_solver=solver, random_state=0)
        for solver in ("auto", "covariance_eigh")
    }
    try:
        import sklearnex.decomposition as extended
    except ImportError as error:
        missing("scikit-learn-intelex", error)
    else:
        theirs["scikit-learn-intelex"] = extended.PCA(20, svd_solver="covariance_eigh")
    lines = []
    for name, peer in theirs.items():
        values = peer.fit(x).explained_variance_ * (len(x) - 1) / len(x)
        assert np.allclose(values, found, rtol=1e-6), (name, values, found)
        title = f"PCA 100000 x 200, 20 components; {name}"
        lines.append(
            harness.compare(title, lambda: ours.fit(x), lambda p=peer: p.fit(x), bar=1, faster=True)
        )
    return lines


def factors() -> list[harness.Comparison]:
    """10⁴ × 100, 10 factors, likelihoods equal to 1e-3 nats."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(10_000, 10)) @ rng.normal(size=(10, 100))
    x += rng.normal(size=x.shape) * rng.uniform(0.5, 3.0, size=100)
    ours = FactorAnalysis(10)
    best = ours.fit(x).log_likelihood_
    lines = []
    for method in ("lapack", "randomized"):
        for tol in (1e-2, 1e-3, 1e-4, 1e-5, 1e-6):  # the loosest one that is near enough
            peer = peers.FactorAnalysis(10, svd_method=method, tol=tol, max_iter=5000)
            reached = peer.fit(x).score(x) * len(x)
            if abs(best - reached) <= 1e-3:
                break
        print(f"factor analysis: {best:.6f}, scikit-learn ({method}, tol={tol:g}) {reached:.6f}")
        assert reached <= best + 1e-3, (best, reached)
        title = f"FactorAnalysis 10000 x 100, 10 factors; scikit-learn, {method}"
        lines.append(
            harness.compare(
                title, lambda: ours.fit(x), lambda p=peer: p.fit(x), bar=15, faster=True
            )
        )
    return lines


def gaps() -> list[harness.Comparison]:
    """10⁴ × 50 with 20 % missing, 5 components: an iteration."""
    rng = np.random.default_rng(0)
    n, d, k = 10_000, 50, 5
    x = rng.normal(size=(n, k)) @ rng.normal(size=(k, d)) + rng.normal(size=(n, d))
    whole = x.copy()
    x[rng.random(x.shape) < 0.2] = np.nan
    model = ProbabilisticPCA(k).fit(x)
    hidden = np.isnan(x)
    print(f"PPCA with gaps: error of fill-ins {np.std((model.impute(x) - whole)[hidden]):.4f}")
    z = (x - np.nanmean(x, axis=0)) / np.sqrt(np.nanvar(x, axis=0).mean())
    few, many = 3, 13

    def run(steps: int) -> Callable[[], object]:
        def steps_of_em() -> object:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return learn_factors(z, k, shared=True, tol=0.0, max_iter=steps, accelerated=False)

        return steps_of_em

    try:
        peer = bayespy_model(z, k)
    except ImportError as error:
        missing("BayesPy", error)
        return []
    peer.update(repeat=10, verbose=False)
    fill = peer["F"].get_moments()[0].T * np.sqrt(np.nanvar(x, axis=0).mean()) + np.nanmean(x, 0)
    print(f"BayesPy: error of fill-ins {np.std((fill - whole)[hidden]):.4f}")
    assert (
        abs(np.std((fill - whole)[hidden]) / np.std((model.impute(x) - whole)[hidden]) - 1) < 0.02
    )
    lines = harness.take_turns(
        [run(few), run(many), lambda: peer.update(repeat=1, verbose=False, tol=-np.inf)],
        harness.ROUNDS,
    )
    (a, ca), (b, cb), (t, ct) = lines
    per, busy = (b - a) / (many - few), (cb - ca) / (many - few)
    title = f"PPCA {n} x {d}, 20 % missing, {k} components, an iteration; BayesPy"
    return [harness.Comparison(title, per, t, 20, True, (busy, ct), harness.ROUNDS)]


def bayespy_model(z: np.ndarray, k: int):
    """Return BayesPy's principal components with a precision for each column."""
    from bayespy.inference import VB
    from bayespy.nodes import Gamma, GaussianARD, SumMultiply

    n, d = z.shape
    factor = GaussianARD(0, 1, shape=(k,), plates=(1, n), name="X")
    alpha = Gamma(1e-3, 1e-3, plates=(k,), name="alpha")
    loading = GaussianARD(0, alpha, shape=(k,), plates=(d, 1), name="W")
    product = SumMultiply("d,d->", factor, loading, name="F")
    tau = Gamma(1e-3, 1e-3, name="tau")
    y = GaussianARD(product, tau, name="Y")
    y.observe(np.nan_to_num(z.T), mask=~np.isnan(z.T))
    loading.initialize_from_random()
    return VB(y, product, factor, loading, tau, alpha)


def sources() -> list[harness.Comparison]:
    """5·10⁴ × 20, half Laplace and half uniform, to a gradient of 1e-6."""
    rng = np.random.default_rng(0)
    n, d = 50_000, 20
    s = np.c_[rng.laplace(size=(n, d // 2)), rng.uniform(-1, 1, size=(n, d // 2))]
    a = rng.normal(size=(d, d))
    x = s @ a.T
    ours = ICA(tol=1e-6).fit(x)
    near = amari_distance(ours.components_, a)
    print(f"ICA: Amari distance {near:.5f}, gradient {ours.gradient_norm_:.2g}")
    tol = 1e-2
    while tol > 1e-7:  # the loosest tolerance that comes as near
        theirs = peers.FastICA(whiten="unit-variance", tol=tol, max_iter=1000, random_state=0)
        reached = amari_distance(theirs.fit(x).components_, a)
        if reached <= 1.1 * near:
            break
        tol /= 10
    print(f"FastICA: Amari distance {reached:.5f} at tol={tol:g}")
    assert reached <= 1.1 * near, (reached, near)
    name = "ICA 50000 x 20, half Laplace, half uniform"
    lines = [
        harness.compare(
            f"{name}; FastICA", lambda: ours.fit(x), lambda: theirs.fit(x), bar=1, faster=True
        )
    ]
    try:
        from picard import picard
    except ImportError as error:
        missing("picard", error)
        return lines

    def run() -> object:
        return picard(x.T, ortho=False, extended=True, tol=1e-6, max_iter=500, random_state=0)

    whitening, unmixing, _ = run()
    theirs_near = amari_distance(unmixing @ whitening, a)
    print(f"picard: Amari distance {theirs_near:.5f}")
    assert abs(theirs_near - near) < 1e-3, (theirs_near, near)
    title = f"{name}, gradient 1e-6; picard"
    lines.append(harness.compare(title, lambda: ours.fit(x), run, bar=1, faster=True))
    return lines


def growth() -> None:
    """Print seconds and peak memory of streams of up to 10⁷ × 50 rows."""
    rng = np.random.default_rng(0)
    chunk = rng.normal(size=(100_000, 5)) @ rng.normal(size=(5, 50)) + rng.normal(
        size=(100_000, 50)
    )
    for model in (PCA(5), ProbabilisticPCA(5), FactorAnalysis(5)):
        for rows in (10**5, 10**6, 10**7):

            def stream(model=model, rows=rows) -> None:
                model.__dict__.pop("_stream", None)
                for _ in range(rows // len(chunk)):
                    model.partial_fit(chunk)

            start = time.process_time()
            stream()
            spent = time.process_time() - start
            memory = harness.peak_memory(stream)
            print(f"{type(model).__name__}: {rows} rows, {spent:.2f} s, peak {memory / 1e6:.1f} MB")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--large", action="store_true", help="growth with the number of rows")
    parser.add_argument("--quick", action="store_true", help="one run of each")
    options = parser.parse_args()
    if options.quick:
        harness.ROUNDS = 1
    if options.large:
        growth()
    else:
        harness.report("Components", [*principal(), *factors(), *gaps(), *sources()])
