"""What is left over at the posterior mean, by sums or by reading the rows again: exact fractions."""

import math
from fractions import Fraction

import numpy as np
import pytest

from posteriori.inference import Equation, Latent, Link, solve_gaussian

pytestmark = pytest.mark.blas

ROWS = 20_000  # more than one block


def exact(y: np.ndarray, variance: int) -> tuple[float, float]:
    """Return posterior mean and log evidence of a level with unit noise about it."""
    values = [Fraction(float(v)) for v in y]
    total, square = sum(values), sum(v * v for v in values)
    precision = len(values) + Fraction(1, variance)
    misfit = square - total * total / precision
    logs = math.log(variance) + math.log(precision) + len(values) * math.log(2.0 * math.pi)
    return float(total / precision), -0.5 * (logs + float(misfit))


@pytest.mark.parametrize("offset", [0.0, 5.0, 9.0, 12.0, 1e4, 1e8])
def test_evidence_keeps_its_digits_far_from_zero(offset: float) -> None:
    y = offset + np.random.default_rng(0).normal(size=ROWS)
    one = np.ones((ROWS, 1))
    found = solve_gaussian(
        [Latent("x", 1, 1)],
        [
            Equation(np.zeros(1), np.full(1, 2.0**-60), (Link("x", np.ones((1, 1))),)),
            Equation(y, np.ones(ROWS), (Link("x", one, np.zeros(ROWS, dtype=int)),)),
        ],
    )
    mean, log_evidence = exact(y, 2**60)
    assert found.mean["x"][0, 0] == pytest.approx(mean, rel=1e-13, abs=1e-15)
    assert found.log_evidence == pytest.approx(log_evidence, rel=2e-13)


def test_blocks_of_rows_add_up() -> None:
    rng = np.random.default_rng(1)
    x, z, w = rng.normal(size=(ROWS, 3)), rng.normal(size=(ROWS, 2)), rng.gamma(2.0, size=ROWS)
    y = rng.normal(size=ROWS)
    priors = [
        Equation(np.zeros(k), np.ones(k), (Link(n, np.eye(k)),)) for n, k in (("a", 3), ("b", 2))
    ]
    data = Equation(y, w, (Link("b", z), Link("a", x)))
    found = solve_gaussian([Latent("a", 1, 3), Latent("b", 1, 2)], [*priors, data])
    design = np.concatenate([x, z], axis=1)
    precision = design.T @ (w[:, None] * design) + np.eye(5)
    mean = np.linalg.solve(precision, design.T @ (w * y))
    np.testing.assert_allclose(np.concatenate([found.mean[n][0] for n in "ab"]), mean, rtol=1e-11)
    np.testing.assert_allclose(found.cov["a"][0], np.linalg.inv(precision)[:3, :3], rtol=1e-11)
    misfit = w @ (y - design @ mean) ** 2 + mean @ mean
    log_evidence = 0.5 * (
        np.sum(np.log(w / (2 * np.pi))) - np.linalg.slogdet(precision)[1] - misfit
    )
    assert found.log_evidence == pytest.approx(log_evidence, rel=1e-12)
