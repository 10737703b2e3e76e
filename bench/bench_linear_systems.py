"""Linear systems beside statsmodels and dynamax: equal answers, then ratios.

Four states, two outputs, a tenth of the entries missing: likelihood and smoother, and 20 steps of
expectation–maximisation. dynamax takes part where it is installed, warm, in float64, on complete data: it
takes no gaps. ``--large`` shows how filter and smoother grow to 10⁷ steps.
"""

from __future__ import annotations

import sys
import time
import warnings
from importlib.util import find_spec

import numpy as np
from harness import Comparison, compare, report
from kalman_peers import statsmodels_smoother

from posteriori.inference import filter_chain, smooth_chain
from posteriori.numerics import ConvergenceWarning
from posteriori.sequence import LinearGaussianModel, LinearGaussianSystem

N_STEPS = 10**5
EM_STEPS = 20


def two_oscillations() -> LinearGaussianSystem:
    """Periods of 31 and 9 steps, each damped, seen in two mixtures with correlated noise."""

    def turn(angle: float, part: float) -> np.ndarray:
        return part * np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])

    step = np.zeros((4, 4))
    step[:2, :2], step[2:, 2:] = turn(0.2, 0.99), turn(0.7, 0.95)
    seen = np.random.default_rng(0).normal(size=(2, 4))
    return LinearGaussianSystem(
        step, 0.1 * np.eye(4), seen, [[0.5, 0.1], [0.1, 0.3]], np.zeros(4), np.eye(4)
    )


def smoother_rows(system: LinearGaussianSystem, y: np.ndarray) -> list[Comparison]:
    chain = system.chain
    gaps = np.where(np.random.default_rng(1).random(y.shape) < 0.1, np.nan, y)
    rows = []
    for name, data in (("complete", y), ("10 % of the entries missing", gaps)):
        theirs = statsmodels_smoother(chain, data)
        ours = smooth_chain(chain, data, pairs=False)
        found = theirs()
        np.testing.assert_allclose(ours.mean, found.smoothed_state.T, rtol=1e-6, atol=1e-7)
        np.testing.assert_allclose(float(ours.log_evidence), found.llf_obs.sum(), rtol=1e-9)
        rows.append(
            compare(
                f"smoother, {name} (statsmodels)",
                lambda data=data: smooth_chain(chain, data, pairs=False),
                theirs,
                bar=8.0,
                faster=True,
            )
        )
    return rows


def learn(system: LinearGaussianSystem, y: np.ndarray) -> LinearGaussianModel:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return LinearGaussianModel(4, start=system, max_iter=EM_STEPS, tol=0.0).fit(y)


def dynamax_rows(system: LinearGaussianSystem, y: np.ndarray) -> list[Comparison]:
    import jax

    jax.config.update("jax_enable_x64", True)
    from dynamax.linear_gaussian_ssm import LinearGaussianSSM

    model = LinearGaussianSSM(4, 2)
    parameters, properties = model.initialize(
        jax.random.PRNGKey(0),
        initial_mean=system.initial_mean,
        initial_covariance=system.initial_cov,
        dynamics_weights=system.transition,
        dynamics_covariance=system.transition_cov,
        emission_weights=system.emission,
        emission_covariance=system.emission_cov,
    )
    smoother = jax.jit(model.smoother)

    def smooth() -> object:
        return jax.block_until_ready(smoother(parameters, y))

    def fit() -> object:
        return model.fit_em(parameters, properties, y, num_iters=EM_STEPS, verbose=False)

    chain = system.chain
    ours = smooth_chain(chain, y, pairs=False)
    theirs = smooth()
    np.testing.assert_allclose(theirs.smoothed_means, ours.mean, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(theirs.marginal_loglik, float(ours.log_evidence), rtol=1e-9)
    how = {"faster": True, "rounds": 3}
    return [
        compare(
            "smoother, complete (dynamax)",
            lambda: smooth_chain(chain, y, pairs=False),
            smooth,
            bar=2.5,
            **how,
        ),
        compare(f"{EM_STEPS} EM steps (dynamax)", lambda: learn(system, y), fit, bar=5.0, **how),
    ]


def show_learning(system: LinearGaussianSystem, y: np.ndarray) -> None:
    gaps = np.where(np.random.default_rng(1).random(y.shape) < 0.1, np.nan, y)
    for name, data in (("complete", y), ("10 % of the entries missing", gaps)):
        start = time.perf_counter()
        found = learn(system, data)
        seconds = time.perf_counter() - start
        rise = found.trace_[-1] - found.trace_[0]
        print(f"  {found.n_iter_} EM steps, {name}: {seconds:.2f} s, +{rise:.1f} nats", flush=True)


def show_growth(system: LinearGaussianSystem, largest: int = 10**7) -> None:
    """Seconds of filter and smoother from 10⁵ steps to 10⁷: linear, as the time of a step shows."""
    y = system.sample(largest, rng=0).observations
    for steps in (10**5, 10**6, largest):
        for name, run in (("filter", filter_chain), ("smoother", smooth_chain)):
            options = {"pairs": False} if name == "smoother" else {}
            start = time.perf_counter()
            run(system.chain, y[:steps], **options)
            seconds = time.perf_counter() - start
            each = 1e9 * seconds / steps
            print(f"  {name}, {steps:,} steps: {seconds:.2f} s, {each:.0f} ns a step", flush=True)


def main(arguments: list[str]) -> None:
    system = two_oscillations()
    y = system.sample(N_STEPS, rng=0).observations
    if "--large" in arguments:
        show_growth(system)
        return
    report(f"linear systems, T={N_STEPS}, D=4, P=2", smoother_rows(system, y))
    show_learning(system, y)
    if find_spec("dynamax") is None:
        print("  dynamax is not installed: its rows are left out", file=sys.stderr)
    else:
        report("beside dynamax, float64, warm", dynamax_rows(system, y))


if __name__ == "__main__":
    main(sys.argv[1:])
