"""The maximum-entropy dual on fifty moments: does it reach 1e-10, and how fast beside a peer?"""

from __future__ import annotations

from typing import Any

import numpy as np
from harness import compare, report
from scipy import optimize, special

from posteriori.information import Interval, maximum_entropy
from posteriori.information.gibbs_density import panel_nodes

TOL = 1e-10
N_MOMENTS = 50


def beta_moments(a: float, b: float) -> dict[int, float]:
    return {
        k: float(np.prod((a + np.arange(k)) / (a + b + np.arange(k))))
        for k in range(1, N_MOMENTS + 1)
    }


def mixture_moments(width: float) -> dict[int, float]:
    x, w = np.polynomial.legendre.leggauss(400)
    x, w = 0.5 * (x + 1), 0.5 * w
    p = w * (np.exp(-0.5 * ((x - 0.7) / width) ** 2) + np.exp(-0.5 * ((x - 0.25) / width) ** 2))
    p /= p.sum()
    return {k: float(p @ x**k) for k in range(1, N_MOMENTS + 1)}


def worst_deviation(found: Any, moments: dict[int, float]) -> float:
    x, w = panel_nodes(np.linspace(0.0, 1.0, 201))
    p = w * np.exp(found.distribution.log_prob(x))
    return max(abs(float((p * x**k).sum()) - target) for k, target in moments.items())


def accuracy() -> None:
    cases = {
        "beta(2.5, 4)": beta_moments(2.5, 4.0),
        "beta(0.7, 0.6)": beta_moments(0.7, 0.6),
        "beta(5, 1)": beta_moments(5.0, 1.0),
        "beta(30, 10)": beta_moments(30.0, 10.0),
        "beta(100, 60)": beta_moments(100.0, 60.0),
        "two peaks of width 0.15": mixture_moments(0.15),
        "two peaks of width 0.05": mixture_moments(0.05),
        "two peaks of width 0.02": mixture_moments(0.02),
    }
    print(f"\n{N_MOMENTS} raw moments on [0, 1], goal {TOL:g} for every moment")
    for name, moments in cases.items():
        found = maximum_entropy(Interval(0.0, 1.0), moments, tol=TOL)
        worst = worst_deviation(found, moments)
        flag = "" if worst <= TOL else f"   MISSED: {found.reason}"
        print(f"  {name:26} {found.n_iter:4d} Newton steps   worst moment {worst:.1e}{flag}")


def speed() -> None:
    """Against SciPy's BFGS on the same dual, in the same Legendre basis, at 8 moments."""
    moments = {k: v for k, v in beta_moments(2.5, 4.0).items() if k <= 8}
    x, w = (part.ravel() for part in panel_nodes(np.linspace(0.0, 1.0, 97)))
    basis = np.polynomial.legendre.legvander(2 * x - 1, 8)[:, 1:]
    powers = np.stack([x**k for k in moments], axis=1)
    mix = np.linalg.lstsq(np.column_stack([np.ones(len(x)), powers]), basis, rcond=None)[0]
    targets = mix[0] + np.array(list(moments.values())) @ mix[1:]
    gap, log_w = basis - targets, np.log(w)

    def dual(lam: np.ndarray) -> tuple[float, np.ndarray]:
        log_p = log_w + gap @ lam
        value = special.logsumexp(log_p)
        return value, np.exp(log_p - value) @ gap

    def peer() -> Any:
        return optimize.minimize(dual, np.zeros(8), jac=True, method="BFGS", options={"gtol": 1e-9})

    def ours() -> Any:
        return maximum_entropy(Interval(0.0, 1.0), moments, tol=TOL)

    assert abs(ours().entropy - peer().fun) < 1e-7  # the least dual is the largest entropy
    report(
        "maximum entropy, 8 moments on [0, 1], tolerance 1e-10",
        [compare("ours vs scipy.optimize BFGS on the dual", ours, peer, bar=1.0, faster=True)],
    )


if __name__ == "__main__":
    accuracy()
    speed()
