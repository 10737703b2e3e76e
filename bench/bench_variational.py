"""Variational inference against BayesPy on the same models and data: equal bounds first.

Both do one sweep over all variables and evaluate the bound, on one thread. Before anything is
timed, the bounds of both are compared: after each of the first sweeps from the same start where
both can be started alike, else at convergence.
"""

from __future__ import annotations

import time
import warnings

import bayespy.nodes as bn
import numpy as np
from bayespy.inference import VB
from bayespy.inference.vmp.transformations import (
    RotateGaussianARD,
    RotateGaussianMarkovChain,
    RotationOptimizer,
)
from harness import Comparison, compare, peak_memory, report
from threadpoolctl import threadpool_limits

from posteriori import Categorical, Chain, Dirichlet, Gamma, Model, MvNormal, Normal, Wishart
from posteriori.modeling.binding.labelled import Axis
from posteriori.modeling.variational.ascent.coordinate_ascent import sweep
from posteriori.modeling.variational.ascent.starts import start

RNG = np.random.default_rng(0)


class Sweeps:
    """Ours: plain sweeps of a model, from given beliefs about one variable."""

    def __init__(self, model: Model, **given):
        (block,) = model.plan(n_init=1, **given).blocks
        self.problem = block.approximation.problem(Axis("restart", 1))
        start(block.approximation, self.problem, RNG)

    def __call__(self) -> float:
        return float(sweep(self.problem)[0])


class Peer:
    """BayesPy: sweeps over its nodes, by name."""

    def __init__(self, observed, **nodes):
        self.inference = VB(observed, *nodes.values())
        self.by_name = nodes
        self.nodes = tuple(nodes.values())

    def follow(self, ours: Sweeps) -> None:
        """Update in the order of ours."""
        order = [*ours.problem.shared, *ours.problem.local]
        self.nodes = tuple(self.by_name[name] for node in order for name in node.names)

    def __call__(self) -> float:
        self.inference.update(*self.nodes, repeat=1, tol=None, verbose=False)
        return float(self.inference.L[self.inference.iter - 1])


def require_equal_traces(ours: Sweeps, peer: Peer, sweeps: int = 5) -> None:
    """Both started alike: the bounds after each sweep are the same numbers."""
    peer.follow(ours)
    for _ in range(sweeps):
        np.testing.assert_allclose(ours(), peer(), rtol=1e-8)


def require_equal_ends(ours: Sweeps, peer: Peer, sweeps: int) -> None:
    """Both end in the same optimum."""
    for _ in range(sweeps):
        a, b = ours(), peer()
    np.testing.assert_allclose(a, b, rtol=1e-8)


# -- mixtures --------------------------------------------------------------------------------


def mixture_data(n: int, d: int, k: int):
    centers = 5.0 * RNG.normal(size=(k, d))
    z = RNG.integers(0, k, n)
    return centers[z] + RNG.normal(size=(n, d)), z


def mixture_model(d: int, k: int) -> Model:
    m = Model()
    m.pi = Dirichlet(np.ones(k))
    m.mu = MvNormal(np.zeros(d), cov=10.0 * np.eye(d)).iid(k)
    m.L = Wishart(d + 2, np.eye(d)).iid(k)
    m.z = Categorical(m.pi).iid("n")
    m.x = MvNormal(m.mu[m.z], precision=m.L[m.z])
    return m


def mixture_peer(x, start, k: int) -> Peer:
    n, d = x.shape
    pi = bn.Dirichlet(np.ones(k))
    z = bn.Categorical(pi, plates=(n,))
    mu = bn.Gaussian(np.zeros(d), 0.1 * np.eye(d), plates=(k,))
    precision = bn.Wishart(d + 2, np.eye(d), plates=(k,))
    y = bn.Mixture(z, bn.Gaussian, mu, precision)
    y.observe(x)
    z.initialize_from_parameters(start)
    return Peer(y, pi=pi, mu=mu, L=precision, z=z)


def mixture(n: int, d: int, k: int, bar: float, sweeps: int = 1) -> Comparison:
    """Take turns after a number of sweeps: short ones come in a row, as in a fit."""
    x, z = mixture_data(n, d, k)
    start = 0.9 * np.eye(k)[z] + 0.1 / k
    ours = Sweeps(mixture_model(d, k), x=x, init={"z": start})
    peer = mixture_peer(x, start, k)
    require_equal_ends(ours, peer, 25)
    name = f"mixture {n} x {d}, {k} components"
    return compare(name, ours, peer, bar=bar, faster=True, calls=sweeps)


# -- principal components --------------------------------------------------------------------


def components_data(n: int, d: int):
    return RNG.normal(size=(n, 8)) @ RNG.normal(size=(8, d)) + 0.3 * RNG.normal(size=(n, d))


def components_model(d: int, k: int) -> Model:
    m = Model()
    m.alpha = Gamma(1e-2, 1e-2).iid(k)
    m.W = Normal(0.0, precision=m.alpha).iid(d)
    m.z = MvNormal(np.zeros(k), cov=np.eye(k)).iid("n")
    m.tau = Gamma(1e-2, 1e-2)
    m.y = Normal(m.W @ m.z, precision=m.tau)
    return m


def components_peer(y, start, k: int) -> Peer:
    n, d = y.shape
    alpha = bn.Gamma(1e-2, 1e-2, plates=(k,))
    w = bn.GaussianARD(0, alpha, shape=(k,), plates=(1, d))
    z = bn.GaussianARD(0, 1, shape=(k,), plates=(n, 1))
    tau = bn.Gamma(1e-2, 1e-2)
    child = bn.GaussianARD(bn.SumMultiply("i,i", w, z), tau)
    known = ~np.isnan(y)
    child.observe(y, mask=True if known.all() else known)
    z.initialize_from_value(start[:, None, :])
    return Peer(child, tau=tau, alpha=alpha, W=w, z=z)


def components(n: int, d: int, k: int, bar: float) -> tuple[Comparison, Comparison]:
    y = components_data(n, d)
    start = RNG.normal(size=(n, k))
    model = components_model(d, k)
    ours = Sweeps(model, y=y, init={"z": start})
    peer = components_peer(y, start, k)
    require_equal_traces(ours, peer)
    gaps = np.where(RNG.random(y.shape) < 0.1, np.nan, y)
    ours_with_gaps = Sweeps(model, y=gaps, init={"z": start})
    require_equal_traces(ours_with_gaps, components_peer(gaps, start, k), 2)
    name = f"principal components {n} x {d}, {k}"
    return (
        compare(name, ours, peer, bar=bar, faster=True),
        compare(f"{name}, 10 % missing / complete", ours_with_gaps, peer, bar=1.5, faster=True),
    )


# -- hidden Markov models --------------------------------------------------------------------


def hidden_markov(length: int, k: int, bar: float) -> Comparison:
    moves = np.full((k, k), 0.1 / (k - 1))
    np.fill_diagonal(moves, 0.9)
    z = np.zeros(length, dtype=int)
    for t in range(1, length):
        z[t] = RNG.choice(k, p=moves[z[t - 1]])
    y = 4.0 * z + RNG.normal(size=length)
    m = Model()
    m.start = Dirichlet(np.ones(k))
    m.A = Dirichlet(np.ones((k, k)))
    m.mu = Normal(0.0, variance=100.0).iid(k)
    m.tau = Gamma(1.0, 1.0).iid(k)
    m.z = Chain(Categorical(m.start), lambda s: Categorical(m.A[s]), length="t")
    m.y = Normal(m.mu[m.z], precision=m.tau[m.z])
    ours = Sweeps(m, y=y, init={"z": 0.9 * np.eye(k)[z] + 0.1 / k})
    start = bn.Dirichlet(np.ones(k))
    a = bn.Dirichlet(np.ones(k), plates=(k,))
    chain = bn.CategoricalMarkovChain(start, a, states=length)
    mu = bn.GaussianARD(0, 0.01, plates=(k,))
    tau = bn.Gamma(1.0, 1.0, plates=(k,))
    child = bn.Mixture(chain, bn.GaussianARD, mu, tau)
    child.observe(y)
    mu.initialize_from_value(4.0 * np.arange(k))
    peer = Peer(child, z=chain, mu=mu, tau=tau, start=start, A=a)
    require_equal_ends(ours, peer, 25)
    return compare(f"hidden Markov model T={length}, {k} states", ours, peer, bar=bar, faster=True)


# -- linear systems --------------------------------------------------------------------------

#: NumPy's global generator: BayesPy's nodes draw from it, and the data of its example.
DRAWN_FROM = np.random.mtrand._rand

#: The bound of BayesPy's example of a linear system at which both are stopped.
REACHED = -8904.0


def system_peer():
    """BayesPy's example: ten states for the four of the data, 30 series of which it sees a fifth."""
    DRAWN_FROM.seed(1)
    k, width, length = 10, 30, 400
    alpha, gamma = (bn.Gamma(1e-5, 1e-5, plates=(k,)) for _ in range(2))
    a = bn.GaussianARD(0, alpha, shape=(k,), plates=(k,))
    x = bn.GaussianMarkovChain(np.zeros(k), 1e-3 * np.eye(k), a, np.ones(k), n=length)
    c = bn.GaussianARD(0, gamma, shape=(k,), plates=(width, 1))
    c.initialize_from_random()
    tau = bn.Gamma(1e-5, 1e-5)
    y = bn.GaussianARD(bn.Dot(c, x), tau)
    data = system_data(width, length)
    y.observe(np.nan_to_num(data).T, mask=~np.isnan(data).T)
    turn_x = RotateGaussianMarkovChain(x, RotateGaussianARD(a, alpha))
    turns = RotationOptimizer(turn_x, RotateGaussianARD(c, gamma), k)
    return VB(x, c, gamma, a, alpha, tau, y), turns, data


def system_data(width: int, length: int) -> np.ndarray:
    """Draw an oscillation, a random walk and noise through random loadings; most is missing."""
    cos, sin = np.cos(0.3), np.sin(0.3)
    move = np.array([[cos, -sin, 0, 0], [sin, cos, 0, 0], [0, 0, 1, 0], [0, 0, 0, 0]])
    loadings = DRAWN_FROM.randn(width, 4)
    state = 10 * DRAWN_FROM.randn(4)
    rows = [loadings @ state + 3 * DRAWN_FROM.randn(width)]
    for _ in range(length - 1):
        state = move @ state + [1, 1, 10, 10] * DRAWN_FROM.randn(4)
        rows.append(loadings @ state + 3 * DRAWN_FROM.randn(width))
    seen = DRAWN_FROM.rand(width, length) < 0.2
    return np.where(seen.T, rows, np.nan)


def system_model(k: int, width: int) -> Model:
    m = Model()
    m.alpha = Gamma(1e-5, 1e-5).iid(k)
    m.A = Normal(0.0, precision=m.alpha).iid(k)
    m.gamma = Gamma(1e-5, 1e-5).iid(k)
    m.C = Normal(0.0, precision=m.gamma).iid(width)
    m.x = Chain(
        MvNormal(np.zeros(k), cov=1e3 * np.eye(k)),
        lambda x: MvNormal(m.A @ x, cov=np.eye(k)),
        length="t",
    )
    m.tau = Gamma(1e-5, 1e-5)
    m.y = Normal(m.C @ m.x, precision=m.tau)
    return m


def linear_system(bar: float) -> Comparison:
    """Both from their own start, with turns of the states, until the bound is reached."""
    sweeps = {}

    def peer() -> None:
        inference, turns, _ = system_peer()
        inference.update(repeat=10, tol=None, verbose=False)  # as in the example
        inference.callback = turns.rotate
        while inference.L[inference.iter - 1] < REACHED and inference.iter < 400:
            inference.update(repeat=1, tol=None, verbose=False)
        sweeps["BayesPy"] = inference.iter, inference.L[inference.iter - 1]

    _, _, data = system_peer()
    model = system_model(10, 30)

    def ours() -> None:
        post = model.infer(y=data, rng=0, callback=lambda _, bound: bound >= REACHED)
        (result,) = post._solved.results
        sweeps["ours"] = len(result.trace), result.log_evidence

    row = compare("linear system 400 x 30, to the same bound", ours, peer, bar=bar, faster=True)
    for who, (count, bound) in sweeps.items():
        print(f"  {who}: {count} sweeps to {bound:.2f}")
        assert bound >= REACHED
    assert sweeps["ours"][0] < sweeps["BayesPy"][0]
    return row


# -- growth ----------------------------------------------------------------------------------


def growth(n: int) -> None:
    """Print seconds per sweep and peak memory of mixtures as rows become ten times as many."""
    print("\nMixtures of 6 normals in 2 dimensions, 20 sweeps")
    for rows in (n // 10, n):
        x, _ = mixture_data(rows, 2, 6)
        model = mixture_model(2, 6)

        def run(model=model, x=x):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return model.infer(x=x, max_iter=20).log_evidence

        began = time.perf_counter()
        run()
        spent = time.perf_counter() - began
        peak = peak_memory(run)
        print(
            f"  {rows:9d} rows: {spent:7.2f} s, {spent / rows * 1e6:6.2f} µs a row, "
            f"peak memory {peak / x.nbytes:5.1f} x the data"
        )


if __name__ == "__main__":
    with threadpool_limits(1):
        report(
            "Variational inference, one sweep with the bound / BayesPy",
            [
                mixture(1000, 5, 3, bar=5, sweeps=20),
                mixture(2000, 10, 40, bar=25),
                *components(2000, 100, 40, bar=25),
                hidden_markov(10**4, 5, bar=100),
                linear_system(bar=5),
            ],
        )
        growth(10**6)
