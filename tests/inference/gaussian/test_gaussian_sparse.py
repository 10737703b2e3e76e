"""Sparse precision matrices against dense algebra, on lattices and on random graphs."""

import numpy as np
import pytest

from posteriori import Input, Model, MvNormal, Normal
from posteriori.inference import Equation, Latent, Link, solve_gaussian
from posteriori.inference.gaussian import ordering as ordering
from posteriori.inference.gaussian.energy import equation_energies
from posteriori.inference.gaussian.equations import design_matrix
from posteriori.inference.gaussian.sparse import SparseSystem

pytestmark = pytest.mark.blas


def lattice_edges(height, width):
    """Return the ends of all edges between neighbours."""
    sites = np.arange(height * width).reshape(height, width)
    left = np.concatenate([sites[:, :-1].ravel(), sites[:-1].ravel()])
    right = np.concatenate([sites[:, 1:].ravel(), sites[1:].ravel()])
    return left, right


def scalar_lattice(rng):
    """Differences of neighbours, all about one unknown level."""
    i, j = lattice_edges(5, 7)
    one = np.ones((len(i), 1))
    return [Latent("x", 35, 1), Latent("mu", 1, 1)], [
        Equation(np.zeros(1), np.full(1, 0.3), (Link("mu", np.ones((1, 1))),)),
        Equation(
            np.zeros(35),
            np.full(35, 0.1),
            (Link("x", np.ones((35, 1))), Link("mu", -np.ones((35, 1)), np.zeros(35, dtype=int))),
        ),
        Equation(
            rng.normal(size=len(i)),
            rng.gamma(2.0, size=len(i)),
            (Link("x", one, i), Link("x", -one, j)),
        ),
    ]


def vector_graph(rng):
    """Vectors of two numbers on a random graph, seen through random coefficients, some of them 0."""
    i, j = rng.integers(0, 20, size=(2, 60))
    i, j = i[i != j], j[i != j]
    return [Latent("x", 20, 2)], [
        *(
            Equation(rng.normal(size=20), np.full(20, 0.5), (Link("x", np.tile(axis, (20, 1))),))
            for axis in np.eye(2)
        ),
        Equation(
            rng.normal(size=len(i)),
            np.broadcast_to(2.0, (len(i),)),
            (
                Link("x", rng.integers(-1, 2, size=(len(i), 2)).astype(float), i),
                Link("x", rng.normal(size=(len(i), 2)), j),
            ),
        ),
    ]


def loop_of_scalars(rng):
    """A lattice whose sites are latents of their own."""
    i, j = lattice_edges(4, 4)
    names = [f"x{k}" for k in range(16)]
    one = np.ones((1, 1))
    priors = [Equation(rng.normal(size=1), np.full(1, 0.2), (Link(n, one),)) for n in names]
    edges = [
        Equation(rng.normal(size=1), np.ones(1), (Link(names[a], one), Link(names[b], -one)))
        for a, b in zip(i, j, strict=True)
    ]
    return [Latent(n, 1, 1) for n in names], priors + edges


CASES = [scalar_lattice, vector_graph, loop_of_scalars]


def dense(latents, equations):
    """Return mean, covariance, log evidence and the rows' designs by dense algebra."""
    shapes, places, width = {v.name: v for v in latents}, {}, 0
    for v in latents:
        places[v.name] = slice(width, width + v.count * v.size)
        width += v.count * v.size
    designs = [design_matrix(e, shapes, places, width) for e in equations]
    whole = np.concatenate(designs)
    constant = np.concatenate([e.constant for e in equations])
    weight = np.concatenate([np.broadcast_to(e.weight, e.constant.shape) for e in equations])
    precision = whole.T @ (weight[:, None] * whole)
    mean = np.linalg.solve(precision, whole.T @ (weight * constant))
    misfit = np.sum(weight * (constant - whole @ mean) ** 2)
    rows = len(constant) - width
    log_evidence = 0.5 * (
        np.sum(np.log(weight)) - rows * np.log(2 * np.pi) - np.linalg.slogdet(precision)[1] - misfit
    )
    return mean, np.linalg.inv(precision), log_evidence, designs, places


@pytest.mark.parametrize("make", CASES)
def test_sparse_system_is_the_dense_one(make, monkeypatch):
    latents, equations = make(np.random.default_rng(0))
    monkeypatch.setattr(ordering, "_MANY_NUMBERS", 5)
    monkeypatch.setattr(ordering, "_MANY_LATENTS", 5)
    monkeypatch.setattr(ordering, "_FILLED", np.inf)
    assert ordering.is_sparse(latents, equations)
    found = solve_gaussian(latents, equations)
    mean, cov, log_evidence, designs, places = dense(latents, equations)
    assert found.log_evidence == pytest.approx(log_evidence, rel=1e-12)
    for v in latents:
        own = places[v.name]
        blocks = cov[own, own].reshape(v.count, v.size, v.count, v.size)
        np.testing.assert_allclose(found.mean[v.name].ravel(), mean[own], atol=1e-12)
        np.testing.assert_allclose(
            found.cov[v.name], np.einsum("iaib->iab", blocks), rtol=1e-11, atol=1e-13
        )
    rows, entropy = equation_energies(latents, equations, found.mean)
    for part, design, equation in zip(rows, designs, equations, strict=True):
        expected = np.einsum("ri,ij,rj->r", design, cov, design) * equation.weight
        np.testing.assert_allclose(part.spread, expected, rtol=1e-11)
    assert sum(part.energy for part in rows) + entropy == pytest.approx(log_evidence, rel=1e-11)


@pytest.mark.parametrize("make", CASES)
def test_draws_have_the_covariance_of_the_posterior(make):
    latents, equations = make(np.random.default_rng(1))
    system = SparseSystem(latents, equations)
    size = 20_000
    draws = system.deviations(size, np.random.default_rng(2))
    flat = np.concatenate([draws[v.name].reshape(-1, size) for v in latents])
    _, cov, *_ = dense(latents, equations)
    variances = np.diag(cov)
    error = np.sqrt((variances[:, None] * variances + cov**2) / size)
    assert np.all(np.abs(flat @ flat.T / size - cov) < 5 * error)


def lattice_model(sites):
    m = Model()
    m.i, m.j = Input(), Input()
    m.x = Normal(0.0, variance=10.0).iid(sites)
    m.d = Normal(m.x[m.i] - m.x[m.j], variance=1.0)
    return m


def test_a_large_lattice_agrees_with_the_walk_over_its_rows():
    height, width = 40, 30
    i, j = lattice_edges(height, width)
    d = np.random.default_rng(3).normal(size=len(i))
    post = lattice_model(height * width).infer(i=i, j=j, d=d)
    graph = np.zeros((height * width, height * width))
    np.add.at(graph, (i, i), 1.0)
    np.add.at(graph, (j, j), 1.0)
    np.add.at(graph, (i, j), -1.0)
    np.add.at(graph, (j, i), -1.0)
    precision = graph + 0.1 * np.eye(height * width)
    right = np.bincount(i, d, height * width) - np.bincount(j, d, height * width)
    cov = np.linalg.inv(precision)
    np.testing.assert_allclose(post.x.mean, cov @ right, atol=1e-10)
    np.testing.assert_allclose(post.x.variance, np.diag(cov), rtol=1e-10)
    log_evidence = 0.5 * (
        height * width * np.log(0.1)
        - np.linalg.slogdet(precision)[1]
        - len(i) * np.log(2 * np.pi)
        - d @ d
        + right @ cov @ right
    )
    assert float(post.log_evidence) == pytest.approx(log_evidence, rel=1e-11)
    assert float(post.explain().log_evidence) == pytest.approx(log_evidence, rel=1e-11)


def test_an_improper_lattice_is_refused():
    i, j = lattice_edges(3, 3)
    one = np.ones((len(i), 1))
    equation = Equation(np.zeros(len(i)), np.ones(len(i)), (Link("x", one, i), Link("x", -one, j)))
    pinned = Equation(
        np.zeros(1), np.full(1, -4.0), (Link("x", np.ones((1, 1)), np.zeros(1, int)),)
    )
    with pytest.raises(ValueError, match="posterior of x is improper"):
        SparseSystem([Latent("x", 9, 1)], [equation, pinned])


def test_crossed_effects_and_filled_graphs_stay_dense():
    rng = np.random.default_rng(4)
    i, j = rng.integers(0, 2000, size=(2, 5000))
    one = np.ones((5000, 1))
    crossed = Equation(np.zeros(5000), np.ones(5000), (Link("a", one, i), Link("b", one, j)))
    latents = [Latent("a", 2000, 1), Latent("b", 2000, 1)]
    assert not ordering.is_sparse(latents, [crossed])
    looped = Equation(np.zeros(5000), np.ones(5000), (Link("a", one, i), Link("a", -one, j)))
    assert ordering.is_sparse(latents, [looped])
    assert not ordering.is_sparse(latents, [looped] * 40)


def test_vectors_on_a_lattice_from_the_language(monkeypatch):
    monkeypatch.setattr(ordering, "_MANY_NUMBERS", 5)
    monkeypatch.setattr(ordering, "_FILLED", np.inf)
    i, j = lattice_edges(4, 5)
    m = Model()
    m.i, m.j = Input(), Input()
    m.x = MvNormal(np.ones(2), cov=[[2.0, 0.5], [0.5, 1.0]]).iid(20)
    m.d = MvNormal(m.x[m.i] - m.x[m.j], cov=[[1.0, 0.3], [0.3, 2.0]])
    d = np.random.default_rng(5).normal(size=(len(i), 2))
    sparse = m.infer(i=i, j=j, d=d)
    walk = np.zeros((len(i), 20))
    walk[np.arange(len(i)), i] = 1.0
    walk[np.arange(len(i)), j] = -1.0
    design = np.kron(walk, np.eye(2))
    noise = np.kron(np.eye(len(i)), [[1.0, 0.3], [0.3, 2.0]])
    prior = np.kron(np.eye(20), [[2.0, 0.5], [0.5, 1.0]])
    joint = MvNormal(np.zeros(2 * len(i)), cov=design @ prior @ design.T + noise)
    assert float(sparse.log_evidence) == pytest.approx(joint.log_prob(d.ravel()), rel=1e-11)
    gain = prior @ design.T @ np.linalg.inv(joint.cov)
    np.testing.assert_allclose(sparse.x.mean.ravel(), 1.0 + gain @ d.ravel(), atol=1e-11)
