"""The pages of the gallery: their code is run, and its numbers are those of an independent oracle.

The oracles use NumPy and SciPy only: dense Gaussian algebra, enumeration, closed forms and
quadrature. What the pages print is compared when the documentation is built.
"""

import doctest
import itertools
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy import integrate, special, stats

from tests.modeling import integral_pages, latent_pages, mean_field_pages
from tests.networks import network_pages

GALLERY = Path(__file__).parents[2] / "docs" / "gallery"
Names = dict[str, Any]


# -- oracles -----------------------------------------------------------------------------------


class Dense(NamedTuple):
    """Posterior of a linear-Gaussian model, and its log evidence."""

    mean: np.ndarray
    cov: np.ndarray
    log_evidence: float


def condition(mean: Any, cov: Any, design: Any, noise: Any, y: Any) -> Dense:
    """Condition x ~ N(mean, cov) on y = design x + N(0, noise); NaN in y is left out."""
    mean, cov, design = np.asarray(mean, float), np.asarray(cov, float), np.asarray(design, float)
    y = np.asarray(y, float).ravel()
    there = ~np.isnan(y)
    design, noise, y = design[there], np.asarray(noise, float)[np.ix_(there, there)], y[there]
    joint = design @ cov @ design.T + noise
    gain = np.linalg.solve(joint, design @ cov).T
    predicted = design @ mean
    return Dense(
        mean + gain @ (y - predicted),
        cov - gain @ design @ cov,
        float(stats.multivariate_normal(predicted, joint).logpdf(y)),
    )


def with_precision(
    gamma: tuple[float, float], solve: Callable[[float], Dense]
) -> tuple[float, np.ndarray, float]:
    """Integrate over τ ~ Gamma(shape, rate): log evidence, mean of the rest, mean of τ."""
    shape, rate = gamma
    grid = np.linspace(np.log(1e-3), np.log(1e3), 801)
    solved = [solve(np.exp(t)) for t in grid]
    prior = stats.gamma(shape, scale=1 / rate)
    logs = np.array([s.log_evidence for s in solved]) + prior.logpdf(np.exp(grid)) + grid
    top = logs.max()
    weights = np.exp(logs - top)
    total = integrate.simpson(weights, x=grid)
    means = np.array([s.mean for s in solved])
    mean = integrate.simpson(weights[:, None] * means, x=grid, axis=0) / total
    tau = float(integrate.simpson(weights * np.exp(grid), x=grid) / total)
    return float(top + np.log(total)), mean, tau


def walk(mean: Any, cov: Any, step: Any, noise: Any, n_steps: int) -> tuple[np.ndarray, np.ndarray]:
    """Mean and covariance of all states of a linear-Gaussian chain, one after another."""
    step, noise = np.atleast_2d(step), np.atleast_2d(noise)
    size = len(step)
    # s = lower (s_1, e_2, ..., e_T), a matrix of powers of the step
    powers = [np.linalg.matrix_power(step, k) for k in range(n_steps)]
    lower = np.zeros((n_steps * size, n_steps * size))
    for t, u in itertools.product(range(n_steps), repeat=2):
        if u <= t:
            lower[t * size : (t + 1) * size, u * size : (u + 1) * size] = powers[t - u]
    sources = np.kron(np.eye(n_steps), noise)
    sources[:size, :size] = np.atleast_2d(cov)
    start = np.zeros(n_steps * size)
    start[:size] = mean
    return lower @ start, lower @ sources @ lower.T


def close(actual: Any, expected: Any, tol: float = 1e-8) -> None:
    np.testing.assert_allclose(actual, expected, rtol=tol, atol=tol)


def agree(post: Any, name: str, exact: Dense, at: slice = slice(None)) -> None:
    """Compare moments of a variable and the evidence."""
    close(np.ravel(post[name].mean), exact.mean[at])
    close(np.ravel(post[name].variance), np.diag(exact.cov)[at])
    close(float(post.log_evidence), exact.log_evidence)


# -- a check for each page ---------------------------------------------------------------------


def check_coin(page: Names) -> None:
    post, heads, n = page["post"], sum(page["throws"]), len(page["throws"])
    evidence = integrate.quad(lambda p: p**heads * (1 - p) ** (n - heads), 0, 1)[0]
    first = integrate.quad(lambda p: p ** (heads + 1) * (1 - p) ** (n - heads), 0, 1)[0]
    close(float(post.log_evidence), np.log(evidence))
    close(post.p.mean, first / evidence)


def check_die(page: Names) -> None:
    """The chain rule of Pólya's urn, throw by throw."""
    balls, log_evidence = 2 * np.ones(6), 0.0
    for face in page["throws"]:
        log_evidence += np.log(balls[face] / balls.sum())
        balls[face] += 1
    close(page["post"].p.mean, balls / balls.sum())
    close(float(page["post"].log_evidence), log_evidence)


def check_mean_and_precision(page: Names) -> None:
    y = np.array(page["y"])
    log_evidence, mean, tau = with_precision(
        (2, 0.5),
        lambda t: condition([10], [[10 / t]], np.ones((5, 1)), np.eye(5) / t, y),
    )
    close(float(page["post"].log_evidence), log_evidence, 1e-7)
    close(page["post"].mu.mean, mean[0], 1e-7)
    close(page["post"].tau.mean, tau, 1e-7)


def check_two_sensors(page: Names) -> None:
    both = condition([0], [[4]], [[1], [1]], np.diag([1, 2]), [1, 2])
    agree(page["m"].infer(y1=1.0, y2=2.0), "x", both)
    first = condition([0], [[4]], [[1]], [[1]], [1])
    agree(page["post"], "x", first)
    close(page["post"].y2.variance, first.cov[0, 0] + 2)


def check_recursive_estimation(page: Names) -> None:
    exact = condition([0], [[10]], np.ones((5, 1)), 0.5 * np.eye(5), page["readings"])
    agree(page["batch"], "x", exact)
    close([page["belief"].mean, page["belief"].variance], [exact.mean[0], exact.cov[0, 0]])
    close(page["log_evidence"], exact.log_evidence)


def check_regression(page: Names) -> None:
    X, y = page["X"], page["y"]
    exact = condition(np.zeros(2), 100 * np.eye(2), X, 0.25 * np.eye(5), y)
    agree(page["post"], "w", exact)
    close(page["post"].w.cov, exact.cov)
    new = np.array([[1.0, 2.0], [1.0, 10.0]])
    close(page["new"].mean, new @ exact.mean)
    close(page["new"].variance, np.diag(new @ exact.cov @ new.T) + 0.25)
    log_evidence, mean, tau = with_precision(
        (2, 0.5), lambda t: condition(np.zeros(2), 100 / t * np.eye(2), X, np.eye(5) / t, y)
    )
    close(float(page["unknown"].log_evidence), log_evidence, 1e-7)
    close(page["unknown"].w.mean, mean, 1e-7)
    close(page["unknown"].tau.mean, tau, 1e-7)


def check_polynomial(page: Names) -> None:
    for degree, post in page["posts"].items():
        size = degree + 1
        X = np.column_stack([page["x"] ** k for k in range(size)])
        exact = condition(np.zeros(size), 4 * np.eye(size), X, 0.09 * np.eye(25), page["y"])
        agree(post, "w", exact)
    assert page["best"] == 3  # the degree of the truth


def check_several_outputs(page: Names) -> None:
    X, Y, R = page["X"], page["Y"], page["R"]
    design = np.vstack([np.kron(np.eye(2), x) for x in X])  # of the rows of W, one after another
    exact = condition(np.zeros(4), 10 * np.eye(4), design, np.kron(np.eye(4), R), Y)
    close(np.ravel(page["post"].W.mean), exact.mean)
    close(float(page["post"].log_evidence), exact.log_evidence)
    new = np.kron(np.eye(2), [1.0, 4.0])
    close(page["new"].mean[0], new @ exact.mean)
    close(page["new"].cov[0], new @ exact.cov @ new.T + R)


def check_heteroscedastic_regression(page: Names) -> None:
    for post, error in ((page["post"], page["error"]), (page["same"], np.full(6, 0.65))):
        noise = np.diag(error**2)
        agree(post, "w", condition(np.zeros(2), 100 * np.eye(2), page["X"], noise, page["y"]))


def check_hierarchical_normal(page: Names) -> None:
    """Unknowns: mu and the four schools."""
    cov = 1000 * np.ones((5, 5)) + np.diag([0, 25, 25, 25, 25])
    design = np.eye(5)[1 + page["school"]]
    exact = condition(50 * np.ones(5), cov, design, 36 * np.eye(12), page["score"])
    agree(page["post"], "mu", exact, slice(0, 1))
    agree(page["post"], "theta", exact, slice(1, 5))


def check_crossed_effects(page: Names) -> None:
    """Unknowns: level, three judges and four wines."""
    rows = np.eye(8)
    design = rows[[0] * 9] + rows[1 + page["judge"]] + rows[4 + page["wine"]]
    cov = np.diag([25, 1, 1, 1, 4, 4, 4, 4])
    exact = condition([5] + [0] * 7, cov, design, 0.25 * np.eye(9), page["rating"])
    agree(page["post"], "level", exact, slice(0, 1))
    agree(page["post"], "severity", exact, slice(1, 4))
    agree(page["post"], "quality", exact, slice(4, 8))
    close(page["quality"].cov, exact.cov[4:, 4:])


def check_local_level(page: Names) -> None:
    mean, cov = walk(1000, 1e6, 1.0, 1469.1, 100)
    exact = condition(mean, cov, np.eye(100), 15099 * np.eye(100), page["flow"])
    agree(page["post"], "level", exact)
    assert np.isnan(page["flow"]).sum() == 40


def check_local_trend(page: Names) -> None:
    step = [[1.0, 1.0], [0.0, 1.0]]
    mean, cov = walk([1000, 0], np.diag([1e6, 100]), step, np.diag([1469.1, 1.0]), 100)
    design = np.kron(np.eye(100), [1.0, 0.0])
    exact = condition(mean, cov, design, 15099 * np.eye(100), page["flow"])
    agree(page["post"], "state", exact)
    mean, cov = walk(1000, 1e6, 1.0, 1469.1, 100)
    level = condition(mean, cov, np.eye(100), 15099 * np.eye(100), page["flow"])
    close(float(page["without"].log_evidence), level.log_evidence)


def check_ar2(page: Names) -> None:
    """The closed form of the normal-gamma regression, by the determinant of the t density."""
    X, y = page["past"], page["y"][2:]
    shape = np.eye(len(y)) + X @ X.T
    t = stats.multivariate_t(np.zeros(len(y)), 0.1 * shape, df=2)  # Gamma(1, 0.1) averaged over
    close(float(page["post"].log_evidence), float(t.logpdf(y)))
    close(page["post"].a.mean, np.linalg.solve(X.T @ X + np.eye(2), X.T @ y))
    rest = 0.1 + 0.5 * y @ np.linalg.solve(shape, y)
    close(page["post"].tau.mean, (1 + len(y) / 2) / rest)


def check_tracking(page: Names) -> None:
    mean, cov = walk(np.zeros(4), np.diag([100, 100, 1, 1]), page["A"], page["Q"], 40)
    design = np.kron(np.eye(40), np.eye(4)[:2])
    exact = condition(mean, cov, design, 0.25 * np.eye(80), page["seen"])
    agree(page["post"], "state", exact)


def check_hmm_decoding(page: Names) -> None:
    """All 3^8 paths, one by one."""
    paths = np.array(list(itertools.product(range(3), repeat=8)))
    seen = stats.norm(page["temperature"][paths], 10).pdf(page["y"]).prod(axis=1)
    moves = page["move"][paths[:, :-1], paths[:, 1:]].prod(axis=1)
    p = page["start"][paths[:, 0]] * moves * seen
    close(float(page["post"].log_evidence), np.log(p.sum()))
    marginals = [[p[paths[:, t] == k].sum() / p.sum() for k in range(3)] for t in range(8)]
    close(page["post"].z.probabilities, marginals)
    np.testing.assert_array_equal(page["post"].most_likely()["z"], paths[p.argmax()])


def check_explaining_away(page: Names) -> None:
    """The table of all causes, cell by cell."""
    joint = np.outer([0.8, 0.2], [0.7, 0.3]) * np.array(page["wet"])  # rain, sprinkler
    close(float(page["post"].log_evidence), np.log(joint.sum()))
    close(page["table"].probabilities, joint / joint.sum())
    close(page["post"].rain.mean, joint[1].sum() / joint.sum())
    given = page["m"].infer(wet=1, sprinkler=1).rain.mean
    close(given, joint[1, 1] / joint[:, 1].sum())
    assert given < page["post"].rain.mean
    close(page["m"].infer(sprinkler=1).rain.mean, 0.2)


def check_poisson_counts(page: Names) -> None:
    site, days, counts = page["site"], page["days"], page["counts"]
    log_evidence, means = 0.0, []
    for j in range(3):
        n, d = counts[site == j], days[site == j]

        def weight(r: float, n: Any = n, d: Any = d) -> float:
            counts = n * np.log(d) - special.gammaln(n + 1)  # Π (d r)ⁿ exp(−d r) / n!
            power = (1 + n.sum()) * np.log(r) - (2 + d.sum()) * r
            return float(4 * np.exp(counts.sum() + power))

        total = integrate.quad(weight, 0, 20, points=[0.5, 1.5, 3.0], epsabs=0, epsrel=1e-11)[0]
        first = integrate.quad(
            lambda r, w=weight: r * w(r), 0, 20, points=[0.5, 1.5, 3.0], epsabs=0, epsrel=1e-11
        )[0]
        log_evidence += np.log(total)
        means.append(first / total)
    close(float(page["post"].log_evidence), log_evidence)
    close(page["post"].rate.mean, means)
    # a week at site 0: a negative binomial with the posterior of shape 2 + 63, rate 2 + 45
    week = stats.nbinom(65, 47 / (47 + 7))
    close(page["week"].mean[0], week.mean())
    close(page["week"].variance[0], week.var())
    close(page["week"].log_prob([4, 4])[0], week.logpmf(4))


PAGES: dict[str, Callable[[Names], None]] = {
    "ar2": check_ar2,
    "coin": check_coin,
    "crossed_effects": check_crossed_effects,
    "die": check_die,
    "explaining_away": check_explaining_away,
    "heteroscedastic_regression": check_heteroscedastic_regression,
    "hierarchical_normal": check_hierarchical_normal,
    "hmm_decoding": check_hmm_decoding,
    "local_level": check_local_level,
    "local_trend": check_local_trend,
    "mean_and_precision": check_mean_and_precision,
    "poisson_counts": check_poisson_counts,
    "polynomial": check_polynomial,
    "recursive_estimation": check_recursive_estimation,
    "regression": check_regression,
    "several_outputs": check_several_outputs,
    "tracking": check_tracking,
    "two_sensors": check_two_sensors,
    **mean_field_pages.PAGES,
    **latent_pages.PAGES,
    **integral_pages.PAGES,
    **network_pages.PAGES,
}


def run_page(name: str) -> Names:
    """Run the examples of a page and return its names."""
    text = (GALLERY / f"{name}.md").read_text(encoding="utf-8")
    names: Names = {"np": np, "__name__": "__main__"}
    for block in re.findall(r"```\{doctest\}\n(.*?)```", text, flags=re.DOTALL):
        for example in doctest.DocTestParser().get_examples(block):
            exec(compile(example.source, f"{name}.md", "exec"), names)
    return names


#: Pages that infer for seconds. Small models like theirs are tested elsewhere: autoregressions with gaps
#: are among variational/models_of_chains.py, chains beside one another among discrete_cases.py.
LONG = {"ar_order", "factorial_hmm"}


@pytest.mark.parametrize(
    "name", [pytest.param(page, marks=pytest.mark.slow) if page in LONG else page for page in PAGES]
)
def test_the_numbers_of_a_page_are_those_of_its_oracle(name: str) -> None:
    PAGES[name](run_page(name))


@pytest.mark.slow
def test_error_bars_of_relevance_are_as_much_too_small_as_the_page_says() -> None:
    page = run_page("ard_regression")
    rng = np.random.default_rng(5)
    draws = mean_field_pages.sample_relevance_regression(page["X"], page["y"], 100_000, rng)
    ratio = np.sqrt(page["post"].w.variance) / draws.std(axis=0)
    assert np.all(ratio < 1.0)
    assert 1 - ratio.min() == pytest.approx(1 / 8, abs=0.02)
    assert np.all(ratio[[0, 3, 6]] > 0.93)


#: Pages about estimators, whose examples run with the pages.
OF_ESTIMATORS = {
    "colours",
    "eigen_digits",
    "eruption_runs",
    "galaxies",
    "half_tagged",
    "labelling_pixels",
    "mauna_loa",
    "medical_decision",
    "mouse",
    "outliers",
    "sources",
    "two_moons",
    "xor",
}


def test_every_page_has_a_check() -> None:
    assert {path.stem for path in GALLERY.glob("*.md")} - {"index"} == set(PAGES) | OF_ESTIMATORS


def test_the_index_names_every_page() -> None:
    text = (GALLERY / "index.md").read_text(encoding="utf-8")
    linked = set(re.findall(r"\]\((\w+)\.md\)", text))
    listed = set(text.split(":hidden:")[1].split("```")[0].split())
    assert linked == listed == set(PAGES) | OF_ESTIMATORS
