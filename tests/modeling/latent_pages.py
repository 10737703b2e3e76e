"""Checks of the gallery's pages on hidden factors and hidden chains.

Each takes beliefs of the page, repeats the updates of the others by hand, and compares both the bound
and what was left out. An update can only raise the bound, and near an optimum hardly does.
"""

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import stats
from scipy.linalg import subspace_angles

from tests.modeling import mean_field_series as oracle
from tests.modeling.mean_field import dirichlet_divergence, gamma_divergence

__all__ = ["PAGES"]

Names = dict[str, Any]
LOG_2PI = np.log(2 * np.pi)


def close(actual: Any, expected: Any, tol: float = 1e-8) -> None:
    np.testing.assert_allclose(actual, expected, rtol=tol, atol=tol)


def nearly_optimal(post: Any, bound: float, rise: float = 1e-4) -> None:
    """Compare bounds, the second after updates that can only raise it, by very little."""
    assert post.log_evidence.kind == "bound"
    assert -1e-7 < bound - float(post.log_evidence) < rise


def normal(belief: Any) -> oracle.Belief:
    return np.array(belief.mean), np.array(belief.cov)


def gamma(belief: Any) -> oracle.Belief:
    return np.array(belief.shape), np.array(belief.rate)


# -- factors -------------------------------------------------------------------------------------


def check_probabilistic_pca(page: Names) -> None:
    """W and μ are one vector for each measurement, (w_d, μ_d) · (z_n, 1)."""
    X = page["X"]
    for k, post in page["posts"].items():
        z, tau = normal(post.z), gamma(post.tau)
        prior = np.diag([10.0] * k + [100.0])
        for _ in range(3):
            padded = np.pad(z[1], ((0, 0), (0, 1), (0, 1)))
            rows = np.column_stack([z[0], np.ones(len(X))]), padded
            precision = np.full(X.shape, tau[0] / tau[1])
            W = oracle.regress(X.T, precision.T, rows, np.linalg.inv(prior))
            squares = oracle.squared_residuals(X, rows, W)
            tau = (1 + X.size / 2, 0.1 + squares.sum() / 2)
            divergence = oracle.normals_divergence(z, np.eye(k))
            bound = oracle.expected_log_normal(X, squares, tau) - divergence
            bound -= oracle.normals_divergence(W, prior) + gamma_divergence(*tau, 1, 0.1)
            # x − μ = W z, whose square has cross terms of W and μ: complete it by hand
            cov = np.linalg.inv(
                np.eye(k) + tau[0] / tau[1] * oracle.second_moments(W)[:, :k, :k].sum(axis=0)
            )
            linear = X @ W[0][:, :k] - oracle.second_moments(W)[:, k, :k].sum(axis=0)
            z = tau[0] / tau[1] * linear @ cov, np.tile(cov, (len(X), 1, 1))
        nearly_optimal(post, bound)
        close(post.W.mean, W[0][:, :k], 1e-2)
        close(post.z.cov[0], cov, 1e-4)
    assert max(page["posts"], key=lambda k: float(page["posts"][k].log_evidence)) == 2
    # the third component is weak but there: 18 nats are lost where a poor start lets it vanish
    assert np.linalg.svd(page["posts"][3].W.mean, compute_uv=False).min() > 0.2
    # the plane is that of maximum likelihood, whose noise is the mean of the smallest eigenvalues
    assert subspace_angles(page["post"].W.mean, page["plane"]).max() < np.radians(1)
    noise = np.linalg.eigvalsh(np.cov(X.T, bias=True))[:2].mean()
    close(1 / page["post"].tau.mean, noise, 0.05)


def check_factor_analysis(page: Names) -> None:
    X, post = page["X"], page["post"]
    z, tau, alpha = normal(post.z), gamma(post.tau), gamma(post.alpha)
    D, K = 10, 6
    weights = np.broadcast_to(tau[0] / tau[1], X.shape)
    W = oracle.regress(X.T, weights.T, z, np.diag(alpha[0] / alpha[1]))
    close(post.W.mean, W[0], 1e-3)
    close(post.W.variance, np.einsum("dkk->dk", W[1]), 1e-3)
    size = np.einsum("dkk->k", oracle.second_moments(W))
    alpha = np.full(K, 0.01 + D / 2), 0.01 + size / 2
    z = oracle.regress(X, weights, W, np.eye(K))
    squares = oracle.squared_residuals(X, z, W)
    tau = 1 + (~np.isnan(X)).sum(axis=0) / 2, 0.1 + squares.sum(axis=0) / 2
    close(post.tau.rate, tau[1], 1e-3)
    close(post.alpha.rate, alpha[1], 1e-3)
    bound = oracle.expected_log_normal(X, squares, tau) - oracle.normals_divergence(z, np.eye(K))
    logs = oracle.expected_log_gamma(alpha) - LOG_2PI
    bound += D / 2 * logs.sum() - np.sum(alpha[0] / alpha[1] * size) / 2
    bound += oracle.normal_entropy(W[1]) - gamma_divergence(*tau, 1, 0.1).sum()
    bound -= gamma_divergence(*alpha, 0.01, 0.01).sum()
    nearly_optimal(post, float(bound))
    missing = page["gaps"]
    error = np.sqrt(np.mean((page["guess"] - page["answers"])[missing] ** 2))
    # the best that is possible: the true loadings and noise, and each person's own answers
    loadings, noise = page["loadings"], page["noise"] ** 2
    known = oracle.regress(
        X, np.broadcast_to(1 / noise, X.shape), (loadings, np.zeros((D, 3, 3))), np.eye(3)
    )
    best = np.sqrt(np.mean((known[0] @ loadings.T - page["answers"])[missing] ** 2))
    assert best < error < 1.1 * best


def check_matrix_factorisation(page: Names) -> None:
    r = page["ratings"]
    for post in (page["post"], page["long"]):
        u, v, tau = normal(post.u), normal(post.v), gamma(post.tau)
        weights = np.full(r.shape, tau[0] / tau[1])
        squares = oracle.squared_residuals(r, u, v)
        bound = oracle.expected_log_normal(r, squares, tau) - gamma_divergence(*tau, 1, 0.1)
        bound -= oracle.normals_divergence(u, np.eye(2)) + oracle.normals_divergence(v, np.eye(2))
        close(float(post.log_evidence), bound, 1e-9)
        for belief, again in (
            (u, oracle.regress(r, weights, v, np.eye(2))),
            (v, oracle.regress(r.T, weights.T, u, np.eye(2))),
        ):
            close(belief[0], again[0], 2e-3)
            close(belief[1], again[1], 2e-3)
        close(tau[0], 1 + page["seen"].sum() / 2)
        close(tau[1], 0.1 + squares.sum() / 2, 1e-4)
    # variances of products by draws
    rng = np.random.default_rng(0)
    draws = [
        rng.multivariate_normal(page["post"].u.mean[0], page["post"].u.cov[0], 200_000)
        * rng.multivariate_normal(page["post"].v.mean[0], page["post"].v.cov[0], 200_000)
    ]
    close(page["variance"][0, 0], np.var(np.sum(draws[0], axis=1)), 0.02)


# -- hidden Markov models ------------------------------------------------------------------------


def solve_states(post: Any, log_states: np.ndarray) -> tuple[oracle.Paths, float]:
    """Solve the path given the other beliefs; the bound lacks the divergences of the emissions."""
    paths = oracle.forward_backward(
        oracle.expected_log_dirichlet(post.start.concentration),
        oracle.expected_log_dirichlet(post.A.concentration),
        log_states,
    )
    close(post.z.probabilities, paths.states, 1e-6)
    ones = np.ones(paths.states.shape[1])
    close(post.start.concentration, ones + paths.states[0], 1e-2)
    close(post.A.concentration, ones + paths.pairs.sum(axis=0), 1e-2)
    bound = paths.log_total - dirichlet_divergence(post.start.concentration, ones)
    return paths, bound - dirichlet_divergence(post.A.concentration, np.ones((len(ones),) * 2))


def check_normal_hmm(page: Names) -> None:
    y = page["y"]
    for k, corrected in page["posts"].items():
        post = page["hidden_markov"](k).infer(y=y, method="vmp")
        close(float(corrected.log_evidence), float(post.log_evidence))
        tau, mean, variance = gamma(post.tau), post.mu.mean, post.mu.variance
        squares = (y[:, None] - mean) ** 2 + variance
        expected = 0.5 * (oracle.expected_log_gamma(tau) - LOG_2PI - tau[0] / tau[1] * squares)
        paths, bound = solve_states(post, expected)
        bound -= gamma_divergence(*tau, 2, 0.5).sum()
        bound -= oracle.normals_divergence(((mean - 3)[:, None], variance[:, None, None]), [[4]])
        close(float(post.log_evidence), bound, 1e-9)
        counts = paths.states.sum(axis=0)
        precision = 1 / 4 + counts * tau[0] / tau[1]
        close(variance, 1 / precision, 1e-2)
        close(mean, (3 / 4 + tau[0] / tau[1] * (y @ paths.states)) / precision, 1e-2)
        close(tau[0], 2 + counts / 2, 1e-2)
        close(tau[1], 0.5 + np.sum(paths.states * squares, axis=0) / 2, 1e-2)
    best = {
        k: float(post.log_evidence) + np.sum(np.log(range(1, k + 1)))
        for k, post in page["posts"].items()
    }
    assert max(best, key=best.__getitem__) == 3  # with ln k! for the orders of the states


def check_categorical_hmm(page: Names) -> None:
    codes, post, n = page["codes"], page["post"], len(page["alphabet"])
    paths, bound = solve_states(
        post, oracle.expected_log_dirichlet(post.B.concentration)[:, codes].T
    )
    bound -= dirichlet_divergence(post.B.concentration, np.full((2, n), 0.5))
    close(float(post.log_evidence), bound, 1e-9)
    close(post.B.concentration, 0.5 + paths.states.T @ np.eye(n)[codes], 1e-2)
    # letters one by one: Pólya's urn
    balls, log_evidence = np.full(n, 0.5), 0.0
    for code in codes:
        log_evidence += np.log(balls[code] / balls.sum())
        balls[code] += 1
    close(float(page["bag"].infer(x=codes).log_evidence), log_evidence)
    assert float(post.log_evidence) > log_evidence
    # the worse optimum that the page speaks of, from a random start
    random = np.random.default_rng(0).dirichlet(np.ones(2), size=len(codes))
    other = page["m"].infer(x=codes, init={"z": random})
    assert 12.5 < float(post.log_evidence) - float(other.log_evidence) < 13.5


def check_factorial_hmm(page: Names) -> None:
    starts, moves = np.log([0.5, 0.5]), np.log(page["lasting"])

    def exact(watts: Any, sd: float, y: np.ndarray) -> oracle.Paths:
        """All combinations of the states as one chain."""
        states = np.array(list(itertools.product((0, 1), repeat=len(watts))))
        steps = sum(moves[np.ix_(states[:, i], states[:, i])] for i in range(len(watts)))
        seen = stats.norm(states @ np.array(watts), sd).logpdf(y[:, None])
        return oracle.forward_backward(len(watts) * starts[0], steps, seen)

    def apart(post: Any, watts: Any, sd: float, y: np.ndarray) -> float:
        """Solve one chain after another, each given the expected powers of the others."""
        on = np.array([post[f"z{i}"].probabilities[:, 1] for i in range(len(watts))])
        rest = 0.0
        for i, w in enumerate(watts):
            others = sum(watts[j] * on[j] for j in range(len(watts)) if j != i)
            gain = np.column_stack([np.zeros(len(y)), (w * (y - others) - w**2 / 2) / sd**2])
            paths = oracle.forward_backward(starts, moves, gain)
            close(on[i], paths.states[:, 1], 1e-3)
            on[i] = paths.states[:, 1]
            rest += paths.log_total - np.sum(gain * paths.states)  # E[ln p(z)] and the entropy
        squares = (y - watts @ on) ** 2 + np.square(watts) @ (on * (1 - on))
        return float(rest - np.sum(squares / sd**2 + np.log(2 * np.pi * sd**2)) / 2)

    y, two = page["y"], [100.0, 60.0]
    joint = exact(two, 30.0, y)
    close(float(page["post"].log_evidence), joint.log_total)
    close(page["on"], [joint.states[:, 2:].sum(axis=1), joint.states[:, 1::2].sum(axis=1)])
    nearly_optimal(page["apart"], apart(page["apart"], two, 30.0, y))
    readings, watts = page["readings"], page["watts"]
    nearly_optimal(page["found"], apart(page["found"], watts, 300.0, readings))
    truth = exact(watts, 300.0, readings).log_total
    close(float(page["large"].infer(y=readings).log_evidence), truth)
    half = page["large"].infer(y=readings, factorize=page["halves"])
    assert truth > float(half.log_evidence) > float(page["found"].log_evidence)


# -- linear systems and series -------------------------------------------------------------------


def check_linear_system(page: Names) -> None:
    y, post = page["y"], page["post"]
    T = len(y)
    A, C, tau = normal(post.A), normal(post.C), gamma(post.tau)
    mean_tau, there = tau[0] / tau[1], ~np.isnan(y)
    square = oracle.second_moments(A).sum(axis=0)  # E[AᵀA]
    s, cov = oracle.linear_chain(
        np.eye(2),
        1.0,
        np.tile(A[0], (T - 1, 1, 1)),
        np.tile(square, (T - 1, 1, 1)),
        mean_tau * np.einsum("td,dkl->tkl", there, oracle.second_moments(C)),
        mean_tau * np.nan_to_num(y) @ C[0],
    )
    now = np.array([cov[t, :, t] for t in range(T)])
    close(post.s.mean, s, 1e-5)  # states are turned with A and C after their own update
    close(post.s.cov, now, 1e-5)
    second = oracle.second_moments((s, now))
    cross = np.array([cov[t + 1, :, t] + np.outer(s[t + 1], s[t]) for t in range(T - 1)])
    squares = oracle.squared_residuals(y, (s, now), C)
    moved = np.einsum("tkk->", second[1:]) - 2 * np.sum(cross * A[0])
    moved += np.sum(square * second[:-1].sum(axis=0))
    energy = -0.5 * (np.trace(second[0]) + moved + T * 2 * LOG_2PI)
    entropy = oracle.normal_entropy(cov.reshape(2 * T, 2 * T))
    bound = oracle.expected_log_normal(y, squares, tau) + energy + entropy
    bound -= gamma_divergence(*tau, 1, 0.1) + oracle.normals_divergence(A, np.eye(2))
    bound -= oracle.normals_divergence(C, 4 * np.eye(2))
    close(float(post.log_evidence), bound, 1e-9)
    precision = np.eye(2) + second[:-1].sum(axis=0)
    close(A[0], cross.sum(axis=0) @ np.linalg.inv(precision), 1e-2)
    again = oracle.regress(y.T, np.full(y.T.shape, mean_tau), (s, now), np.eye(2) / 4)
    close(C[0], again[0], 1e-2)
    close(tau[1], 0.1 + squares.sum() / 2, 1e-3)


def check_switching_system(page: Names) -> None:
    y, post, T = page["y"], page["post"], 200
    A = normal(post.A)  # (regimes, rows, columns)
    square = oracle.second_moments(A).sum(axis=1)
    into = post.z.probabilities[1:]
    s, cov = oracle.linear_chain(
        4 * np.eye(2),
        0.01,
        np.einsum("tk,kij->tij", into, A[0]),
        np.einsum("tk,kij->tij", into, square),
        np.tile(100 * np.eye(2), (T, 1, 1)),
        100 * y,
    )
    now = np.array([cov[t, :, t] for t in range(T)])
    close(post.s.mean, s, 1e-3)
    second = oracle.second_moments((s, now))
    cross = np.array([cov[t + 1, :, t] + np.outer(s[t + 1], s[t]) for t in range(T - 1)])
    moved = np.einsum("tii->t", second[1:])[:, None] - 2 * np.einsum("tij,kij->tk", cross, A[0])
    moved += np.einsum("tij,kij->tk", second[:-1], square)
    logits = np.zeros((T, 2))
    logits[1:] = -LOG_2PI - np.log(0.01) - 50 * moved
    concentration = post.P.concentration
    paths = oracle.forward_backward(
        np.log([0.5, 0.5]), oracle.expected_log_dirichlet(concentration), logits
    )
    close(post.z.probabilities, paths.states, 1e-3)
    prior = np.array([[9.0, 1.0], [1.0, 9.0]])
    close(concentration, prior + paths.pairs.sum(axis=0), 1e-2)
    residual = np.sum((y - s) ** 2) + np.einsum("tii->", now)
    seen = -50 * residual - T * (LOG_2PI + np.log(0.01))
    first = -0.5 * np.trace(second[0]) / 4 - LOG_2PI - np.log(4)
    bound = paths.log_total + seen + first + oracle.normal_entropy(cov.reshape(2 * T, 2 * T))
    bound -= oracle.normals_divergence(A, np.eye(2)) + dirichlet_divergence(concentration, prior)
    nearly_optimal(post, bound)


def check_ar_order(page: Names) -> None:
    y = page["y"]
    for p, post in page["posts"].items():
        shape = np.eye(145) + page["past"](p) @ page["past"](p).T
        t = stats.multivariate_t(np.zeros(145), 0.1 * shape, df=2)  # Gamma(1, 0.1) averaged over
        close(float(post.log_evidence), float(t.logpdf(y[5:])))
    assert page["best"] == 3  # the order of the truth
    missing = sorted(page["gaps"])
    for p, post in page["gapped"].items():
        bound, a, cov, mean, spread = _autoregression_with_gaps(y[:80], missing, p)
        close(float(post.log_evidence), bound, 1e-7)
        close(post.a.mean, a, 1e-4)
        close(post.a.cov, cov, 1e-4)
        close([post[f"y{t}"].mean for t in missing], mean, 1e-4)
        close([post[f"y{t}"].variance for t in missing], np.diag(spread), 1e-4)


def _autoregression_with_gaps(y: np.ndarray, missing: list[int], p: int) -> tuple[Any, ...]:
    """Let the coefficients, the precision and the missing values take turns, from scratch."""
    T = len(y)
    lags = [np.arange(t - 1, t - p - 1, -1) for t in range(5, T)]  # x_t = (y_t-1, …, y_t-p)
    pairs = [np.ix_(lag, lag) for lag in lags]
    gap = np.eye(T)[:, missing]
    filled, spread = np.where(np.isin(np.arange(T), missing), 0.0, y), np.eye(len(missing))
    shape, rate = 1 + (T - 5) / 2, 1.0
    for _ in range(40):
        tau = shape / rate
        second = gap @ spread @ gap.T + np.outer(filled, filled)  # E[y yᵀ]
        cov = np.linalg.inv(np.eye(p) + tau * sum(second[pair] for pair in pairs))
        a = tau * cov @ sum(second[lag, t] for t, lag in enumerate(lags, 5))
        rows = np.eye(T)[5:]
        for row, lag in zip(rows, lags, strict=True):
            row[lag] -= a
        form = rows.T @ rows  # E[Σ r_t²] = yᵀ form y
        for pair in pairs:
            form[pair] += cov
        spread = np.linalg.inv(tau * gap.T @ form @ gap)
        known = filled - gap @ (gap.T @ filled)
        filled = known - tau * gap @ spread @ gap.T @ form @ known
        squares = filled @ form @ filled + np.trace(gap.T @ form @ gap @ spread)
        rate = 0.1 + squares / 2
    belief = np.array(shape), np.array(rate)
    bound = (T - 5) / 2 * (oracle.expected_log_gamma(belief) - LOG_2PI) - shape / rate * squares / 2
    bound += stats.norm.logpdf(y[:5]).sum() + oracle.normal_entropy(spread)
    bound -= oracle.normals_divergence((a, cov), np.eye(p)) + gamma_divergence(*belief, 1, 0.1)
    return float(bound), a, cov, filled[missing], spread


PAGES: dict[str, Callable[[Names], None]] = {
    "ar_order": check_ar_order,
    "categorical_hmm": check_categorical_hmm,
    "factor_analysis": check_factor_analysis,
    "factorial_hmm": check_factorial_hmm,
    "linear_system": check_linear_system,
    "matrix_factorisation": check_matrix_factorisation,
    "normal_hmm": check_normal_hmm,
    "probabilistic_pca": check_probabilistic_pca,
    "switching_system": check_switching_system,
}
