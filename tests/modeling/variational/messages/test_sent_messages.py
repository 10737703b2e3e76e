"""Messages of variational posteriors: their products are beliefs, their values are derivatives."""

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from posteriori import Categorical, Dirichlet, Gamma, MvNormal, Normal, PointMass, Wishart
from posteriori.distributions.coordinates import inner
from posteriori.inference.messages.forest_messages import pass_messages
from posteriori.modeling import Model
from posteriori.modeling.variational.messages.expected_factors import node_graphs
from tests.modeling.variational.cases import clusters, noise
from tests.modeling.variational.messages.test_messages import (
    conjugate,
    grid,
    normal,
    normal_chain,
    sparse_normal,
    states,
)
from tests.modeling.variational.models import NAMES, by_name, solve, variational
from tests.modeling.variational.stream.test_streaming import cut_into_parts

LOOPY = {"factorial_hmm"}  # two chains that meet at each time


def graph_of(result: Any, node: Any) -> Any:
    """Return the factors around a node, under the present beliefs of all others."""
    return next(
        graph
        for graph, other in zip(node_graphs(result), result.problem.nodes, strict=True)
        if other is node
    )


def updated_nodes(result: Any) -> Any:
    """Yield every node when it has just been updated."""
    for node in result.problem.nodes:
        result.problem.reduce()
        result.problem.update(node)
        yield node


def moments(belief: Any) -> list[np.ndarray]:
    """Return the numbers that beliefs of vectors and of their entries both have, in one order."""
    if hasattr(belief, "probability"):
        return [np.ravel(belief.probability)]
    if hasattr(belief, "probabilities"):
        return [np.ravel(belief.probabilities)]
    return [np.ravel(belief.mean), np.ravel(belief.variance)]


def own_order(values: np.ndarray, node: Any, name: str) -> np.ndarray:
    """Bring a variable's numbers from (batch, inside) to its own order of axes."""
    axes = node.layouts[name].axes
    apart = [i for i, a in enumerate(axes) if a in node.batch]
    if node.kind == "normal":
        apart = list(node.splits()[0][name])
    order = [*apart, *(i for i in range(len(axes)) if i not in apart)]
    shape = [axes[i].size for i in order]
    return np.transpose(values.reshape(shape), np.argsort(order)).ravel()


def parts_of(product: Any, node: Any, name: str) -> list[np.ndarray]:
    """Return means and variances of one variable of a joint normal belief."""
    found = moments(product)
    if node.kind == "sparse normal":
        first, size = node.numbers.first[name], int(np.prod(node.layouts[name].shape))
        return [v[first : first + size] for v in found]
    if node.kind not in ("normal", "normal chain") or isinstance(product, Normal):
        return found
    if node.kind == "normal chain":
        whole = product.event_shape != tuple(a.size for a in node.own)
        return [own_order(v, node, name) for v in found] if whole else found
    vectors = [v.reshape(-1, node.size)[:, node._slices[name]] for v in found]
    return [own_order(v, node, name) for v in vectors]


@pytest.mark.parametrize("name", NAMES)
def test_products_are_beliefs(name: str) -> None:
    result = solve(name, sweeps=3)
    for node in updated_nodes(result):
        if name in LOOPY and node.kind == "discrete":
            continue
        graph = graph_of(result, node)
        assert_rows_add_up(graph)
        passed = pass_messages(graph.variables, graph.factors)
        for receiver in graph.variables:
            product = graph.readers[receiver](passed.product(receiver), graph.shapes[receiver])
            for variable in receiver.split(" & "):
                want = moments(result.marginal(variable))
                for a, b in zip(parts_of(product, node, variable), want, strict=True):
                    assert_allclose(a, b, rtol=1e-8, atol=1e-10)


def assert_rows_add_up(graph: Any) -> None:
    """What rows say one by one, against the shorter way to what each member is told."""
    for factor in graph.factors:
        if factor.sums is None:
            continue
        members = factor.views[0].at(np.arange(factor.rows))
        parts = factor.send(np.arange(factor.rows), 0, [])
        for rows, total in zip(parts, factor.sums(), strict=True):
            added = np.zeros(total.shape)
            np.add.at(added, members, rows)
            assert_allclose(added, total, rtol=1e-9, atol=1e-11 * np.abs(total).max())


# -- derivatives -----------------------------------------------------------------------------


def second_moments(mean: np.ndarray, cov: np.ndarray) -> np.ndarray:
    return cov + mean[..., :, None] * mean[..., None, :]


def told(factor: Any) -> tuple[np.ndarray, ...]:
    """Return the sum of the messages of all rows to each member."""
    rows = factor.send(np.arange(factor.rows), 0, [])
    members = factor.views[0].at(np.arange(factor.rows))
    count = int(np.max(members)) + 1
    return tuple(_added(part, members, count) for part in rows)


def _added(part: np.ndarray, members: np.ndarray, count: int) -> np.ndarray:
    total = np.zeros((count, *part.shape[1:]))
    np.add.at(total, members, part)
    return total


def normal_state(node: Any) -> list[np.ndarray]:
    """Return means and second moments of the vectors of a normal group."""
    if node.kind == "sparse normal":
        mean, cov = node.joint_moments(node.names)
        return [mean[None], second_moments(mean, cov)[None]]
    n = node.size
    if node.kind == "normal":
        mean = node.mean[0].reshape(-1, n)
        cov = np.broadcast_to(node.cov[0], (*node.mean.shape[1:], n)).reshape(-1, n, n)
    else:
        mean = node._mean.values.reshape(-1, n)
        cov = node._cov.values.reshape(-1, n, n)
    return [mean, second_moments(mean, cov)]


@pytest.mark.parametrize("name", NAMES)
def test_messages_are_derivatives_of_each_expected_log_factor(name: str) -> None:
    """Expected log factors are linear in mean parameters: any finite difference is exact."""
    result = solve(name, sweeps=3)
    problem, block = result.problem, result.approximation
    number = {id(factor): i for i, factor in enumerate(block.factors)}
    rng = np.random.default_rng(0)
    checked = 0
    for node in updated_nodes(result):
        graph = graph_of(result, node)
        told_by = {
            number[id(edge.factor)]: (told(graph.factors[edge.number]), edge.variable)
            for edge in graph.edges
            if edge.factor is not None and len(graph.factors[edge.number].views) == 1
        }
        joined = node.kind == "discrete" and bool(node._pairs)
        if node.kind == "normal chain" and (node.batch or node.time.size == 2):
            continue  # several series, or one vector
        if joined or not block.references.keys().isdisjoint(node.names):
            continue
        before = problem.energies()
        changes = DISTURB[node.kind](node, rng)
        after = problem.energies()
        for source, (message, variable) in told_by.items():
            want = changes(message, variable)
            assert_allclose((after[source] - before[source])[0], want, rtol=1e-7, atol=1e-8)
            checked += 1
        problem.update(node)
    assert checked


def disturb_conjugate(node: Any, rng: np.random.Generator) -> Any:
    before = [table.values[0].copy() for table in node._tables]
    conjugate(node, rng)
    deltas = [t.values[0] - b for t, b in zip(node._tables, before, strict=True)]
    widths = node.family._natural_ndims
    lead = len(node.lead)

    def change(message: Any, variable: str) -> float:
        flat = [d.reshape(-1, *d.shape[lead:]) for d in deltas]
        flat = [d[: len(m)] for d, m in zip(flat, message, strict=True)]
        return float(np.sum(inner(message, flat, widths)))

    return change


def disturb_normal(node: Any, rng: np.random.Generator) -> Any:
    before = normal_state(node)
    MOVE[node.kind](node, rng)
    mean, second = (a - b for a, b in zip(normal_state(node), before, strict=True))

    def change(message: Any, variable: str) -> float:
        h, j = message
        n = len(h)
        return float(np.sum(h * mean[:n]) - 0.5 * np.sum(j * second[:n]))

    return change


def disturb_discrete(node: Any, rng: np.random.Generator) -> Any:
    before = {name: node.centre(name)[0].copy() for name in node.names}
    for name in node.names:
        states(node, name, rng)
    after = {name: node.centre(name)[0] for name in node.names}

    def change(message: Any, variable: str) -> float:
        finite, impossible = message
        delta = (after[variable] - before[variable]).reshape(-1, finite.shape[-1])
        return float(np.sum(np.where(impossible > 0, 0.0, finite) * delta[: len(finite)]))

    return change


def disturb_grid(node: Any, rng: np.random.Generator) -> Any:
    before = dict(node._means)
    grid(node, rng)
    deltas = [node._means[key] - before[key] for key in node.keys]

    def change(message: Any, variable: str) -> float:
        return float(sum(m @ d[: len(m)] for m, d in zip(message, deltas, strict=True)))

    return change


MOVE = {"normal": normal, "sparse normal": sparse_normal, "normal chain": normal_chain}

DISTURB = {
    "conjugate": disturb_conjugate,
    "normal": disturb_normal,
    "sparse normal": disturb_normal,
    "normal chain": disturb_normal,
    "discrete": disturb_discrete,
    "grid": disturb_grid,
}


# -- by hand ---------------------------------------------------------------------------------


def mean_and_precision(x: np.ndarray, **options: Any) -> Any:
    m = Model()
    m.mu = Normal(1.0, variance=4.0)
    m.tau = Gamma(2.0, rate=1.5)
    m.x = Normal(m.mu, precision=m.tau).iid("n")
    return m.infer(x=x, **options)


def test_mean_and_precision() -> None:
    """Of x to μ: N(x, 1/E[τ]); of x to τ: τ^½ exp(−½ τ E[(x − μ)²])."""
    x = 3.0 + noise(5)
    post = mean_and_precision(x, tol=1e-13)
    messages = post.messages()
    to_mu = messages["x", "mu"].to_variable
    assert_allclose(to_mu.mean, x)
    assert_allclose(to_mu.precision, np.full(5, post.tau.mean))
    to_tau = messages["x", "tau"].to_variable
    assert_allclose(to_tau.shape, np.full(5, 1.5))
    assert_allclose(to_tau.rate, 0.5 * ((x - post.mu.mean) ** 2 + post.mu.variance))
    assert messages["mu", "mu"].to_variable == Normal(1.0, variance=4.0)
    assert messages["tau", "tau"].to_variable == Gamma(2.0, rate=1.5)
    told_back = messages["x", "mu"].to_factor  # without its own row
    assert_allclose(told_back.precision, 0.25 + 4 * post.tau.mean)
    assert_allclose(messages.product("mu").mean, post.mu.mean, rtol=1e-8)
    assert_allclose(messages.product("tau").rate, post.tau.rate, rtol=1e-6)


def mixture(x: np.ndarray, classes: int = 3, **options: Any) -> Any:
    width = x.shape[1]
    m = Model()
    m.pi = Dirichlet(np.ones(classes))
    m.mu = MvNormal(np.zeros(width), cov=10.0 * np.eye(width)).iid(classes)
    m.L = Wishart(width + 2.0, scale=0.5 * np.eye(width)).iid(classes)
    m.z = Categorical(m.pi).iid("n")
    m.x = MvNormal(m.mu[m.z], precision=m.L[m.z])
    return m.infer(x=x, **options)


def test_mixture() -> None:
    """Rows speak of every class, with the weight of its responsibility."""
    x = clusters(10, 2)
    post = mixture(x, tol=1e-12, method="vmp")
    messages = post.messages()
    r = post.z.probabilities
    to_mu = messages["x", "mu"].to_variable
    assert to_mu.batch_shape == messages["x", "mu"].shape == (10, 3)
    precision = r[..., None, None] * post.L.mean
    assert_allclose(to_mu.natural[1], precision, rtol=1e-9)
    assert_allclose(to_mu.natural[0], np.einsum("nkij,nj->nki", precision, x), rtol=1e-9)
    to_pi = messages["z", "pi"].to_variable
    assert_allclose(to_pi.concentration, 1.0 + r, rtol=1e-12)
    to_z = messages["z", "z"].to_variable.probabilities  # exp E[ln π], normalised
    weights = np.exp(post.pi.mean_params[0])
    assert_allclose(to_z, np.broadcast_to(weights / weights.sum(), (10, 3)))
    assert_allclose(messages.product("z").probabilities, r, atol=1e-6)


# -- the posterior's own ---------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_every_model_has_a_table_of_messages(name: str) -> None:
    model, data = by_name(name)
    messages = model.infer(data, n_init=1, callback=lambda i, _: i >= 3).messages()
    assert repr(messages).count("\n") == len(messages)
    for edge in messages:
        if name in LOOPY and edge.variable in ("a", "b", "previous a", "previous b"):
            with pytest.raises(ValueError, match=r"no messages between a, b: .* close a loop"):
                edge.to_variable  # noqa: B018
            continue
        assert edge.to_variable.batch_shape == edge.to_factor.batch_shape == edge.shape


def test_groups_receive_one_vector() -> None:
    model, data = by_name("eight_schools")
    post = model.infer(data, tol=1e-12)
    messages = post.messages()
    product = messages.product("mu & theta")
    joint = post.joint("mu", "theta")
    assert_allclose(product.mean, joint.mean, rtol=1e-6)
    assert_allclose(product.cov, joint.cov, rtol=1e-6)
    rows = messages["y", "mu & theta"].to_variable.natural[1]
    assert_allclose(np.diagonal(rows, axis1=1, axis2=2)[:, 1:], np.diag(1.0 / data["noise"]))
    with pytest.raises(KeyError, match="'mu': it is part of 'mu & theta'"):
        messages.product("mu")


def test_far_from_zero() -> None:
    x = 1e6 + noise(6)
    m = Model()
    m.mu = Normal(1e6, variance=4.0)
    m.tau = Gamma(2.0, rate=1.5)
    m.x = Normal(m.mu, precision=m.tau).iid("n")
    post = m.infer(x=x, tol=1e-13)
    messages = post.messages()
    assert_allclose(messages["x", "mu"].to_variable.mean, x, rtol=1e-14)
    assert_allclose(messages.product("mu").mean, post.mu.mean, rtol=1e-13)
    assert messages["mu", "mu"].to_variable.mean == pytest.approx(1e6, rel=1e-15)


def test_rows_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    x = clusters(400, 2)
    cut_into_parts(monkeypatch, 50)
    post = mixture(x, 2, tol=1e-12)
    assert "parts" in variational(post).problem.owner["z"].describe()
    messages = post.messages()
    precision = post.z.probabilities[..., None, None] * post.L.mean
    assert_allclose(messages["x", "mu"].to_variable.natural[1], precision, rtol=1e-9, atol=1e-12)
    assert_allclose(messages.product("mu").mean, post.mu.mean, rtol=1e-5)
    assert_allclose(messages.product("z").probabilities, post.z.probabilities, atol=1e-9)


def test_what_earlier_data_say_is_a_message() -> None:
    first = mean_and_precision(3.0 + noise(5))
    second = first.update(x=2.0 + noise(4, seed=1), tol=1e-13)
    messages = second.messages()
    assert messages["tau", "tau"].to_variable == first.tau
    earlier = messages["what was known of mu", "mu"].to_variable
    assert_allclose(earlier.mean[0], first.mu.mean)
    assert_allclose(messages.product("mu").mean, second.mu.mean, rtol=1e-8)


def test_of_a_point_the_product_has_its_mode_there() -> None:
    post = mean_and_precision(3.0 + noise(5), form={"mu": "point"}, tol=1e-13)
    assert isinstance(post.mu, PointMass)
    assert_allclose(post.messages().product("mu").mean, post.mu.mean, rtol=1e-9)


def test_members_without_data_have_no_messages() -> None:
    model, data = by_name("eight_schools")
    y = data["y"].copy()
    y[2] = np.nan
    messages = model.infer({**data, "y": y}).messages()
    assert messages["y", "mu & theta"].shape == (7,)
