"""Random normal models against decimal arithmetic of 50 digits, and against loops of scalars."""

import re
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from posteriori import MvNormal, Normal
from posteriori.modeling import Chain, Input, Model, dot
from tests.modeling.exact_conditioning import condition
from tests.modeling.random_models import Entry, RandomModel, gaussian_models

pytestmark = pytest.mark.blas


class Problem(NamedTuple):
    """A model, the names of what is observed, and of what has gaps."""

    random: RandomModel
    observed: tuple[str, ...]
    gaps: tuple[str, ...]

    def draw(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return a draw of all variables, and the data."""
        random = self.random
        values = random.model.simulate(rng=random.rng, **random.inputs)
        data = {name: values[name].copy() for name in self.observed}
        for name in self.gaps:
            data[name] = np.where(random.rng.random(data[name].shape) < 0.3, np.nan, data[name])
        return values, data


@st.composite
def problems(draw: Any, decades: float = 1.0) -> Problem:
    """Some variables of a random model are observed; those without children may have gaps."""
    random = draw(gaussian_models(decades))
    observed = tuple(name for name in random.entries if draw(st.booleans()))
    childless = [name for name in observed if not random.entries[name].has_children]
    return Problem(random, observed, tuple(name for name in childless if draw(st.booleans())))


def close(actual: Any, expected: Any, scale: Any, tol: float) -> None:
    """Compare numbers, up to a share of their size or of a scale."""
    actual, expected = np.asarray(actual), np.asarray(expected)
    assert actual.shape == expected.shape
    assert np.all(np.abs(actual - expected) <= tol * (np.abs(expected) + scale))


def check_marginal(
    found: Any, entry: Entry, mean: Any, cov: Any, tol: float, prior: Any = 0.0
) -> None:
    """Compare a marginal; ``prior`` holds variances that cancel in those of a sum of unknowns."""
    scale = np.broadcast_to(prior, len(cov)).reshape(entry.shape)
    deviation = np.sqrt(np.diag(cov).reshape(entry.shape) + scale)
    close(found.mean, mean.reshape(entry.shape), deviation, tol)
    close(found.variance, np.diag(cov).reshape(entry.shape), scale, tol)
    if entry.event:
        size = entry.shape[-1]
        blocks = cov.reshape(len(cov) // size, size, len(cov) // size, size)
        own = np.einsum("iaib->iab", blocks).reshape(*entry.shape, size)
        close(found.cov, own, deviation[..., :, None] * deviation[..., None, :], tol)


def check_solved(problem: Problem, tol: float) -> None:
    """Compare joint density, evidence, marginals and joint distributions of blocks."""
    random = problem.random
    values, data = problem.draw()
    mean, cov = random.joint()
    density = condition(mean, cov, random.flat(values)).log_evidence
    close(random.model.log_joint({**random.inputs, **values}), density, random.size, tol)
    post = random.model.infer({**random.inputs, **data})
    truth = condition(mean, cov, random.flat(data))
    close(float(post.log_evidence), truth.log_evidence, random.size, tol)
    for block in post._solved.results:
        at = [np.arange(random.size)[random.entries[name].place] for name in block.names]
        for name, own in zip(block.names, at, strict=True):
            part = truth.cov[np.ix_(own, own)]
            check_marginal(post[name], random.entries[name], truth.mean[own], part, tol)
        index = np.concatenate(at)
        part = truth.cov[np.ix_(index, index)]
        deviation = np.sqrt(np.diag(part))
        joint = post.joint(*block.names)
        close(joint.mean, truth.mean[index], deviation, tol)
        close(joint.cov, part, np.outer(deviation, deviation), tol)


def predicted(post: Any, name: str) -> Any:
    """Return the predictive distribution, or None where it is refused in plain words."""
    try:
        return post.predict(name)
    except TypeError as error:
        if re.search("no closed-form predictive|see different members", str(error)):
            return None
        raise


def check_predicted(problem: Problem, tol: float) -> None:
    """Compare variables without data below them, and new draws of observed ones."""
    random = problem.random
    _, data = problem.draw()
    post = random.model.infer({**random.inputs, **data})
    leaves = tuple(name for name in data if not random.entries[name].has_children)
    mean, cov = random.joint(leaves)
    seen = np.concatenate([random.flat(data), np.full(len(mean) - random.size, np.nan)])
    truth = condition(mean, cov, seen)
    places = {n: random.entries[n].place for n in post._solved.barren}
    start = random.size
    for name in leaves:
        places[name] = slice(start, start + int(np.prod(random.entries[name].shape)))
        start = places[name].stop
    for name, at in places.items():
        found = predicted(post, name)
        if found is not None:
            part, prior = truth.cov[at, at], np.diag(cov)[at].astype(float)
            check_marginal(found, random.entries[name], truth.mean[at], part, tol, prior)


def written_as_a_loop(random: RandomModel) -> Model:
    """Return the same model with a variable for each number.

    Correlated noise becomes a regression on the numbers before: x = μ + B(x − μ) + e, where
    Q = (I − B)⁻¹ D (I − B)⁻ᵀ.
    """
    rows, noise = random.rows.astype(float), random.noise.astype(float)
    lower = np.linalg.cholesky(noise)
    scale = np.diag(lower)
    shares = np.eye(random.size) - np.linalg.inv(lower / scale)
    linear = rows[:, 1 : 1 + random.size]
    weights = np.tril(linear + shares - shares @ linear, -1)
    level = rows[:, 0] - shares @ rows[:, 0]
    m = Model()
    for i in range(random.size):
        mean: Any = level[i]
        for j in np.flatnonzero(weights[i]):
            mean = mean + weights[i, j] * m[f"x{j}"]
        m[f"x{i}"] = Normal(mean, variance=scale[i] ** 2)
    return m


def check_loop(problem: Problem, tol: float) -> None:
    random = problem.random
    _, data = problem.draw()
    post = random.model.infer({**random.inputs, **data})
    flat = random.flat(data)
    loop = written_as_a_loop(random).infer({f"x{i}": v for i, v in enumerate(flat) if v == v})
    close(float(loop.log_evidence), float(post.log_evidence), len(flat), tol)
    for block in post._solved.results:
        for name in block.names:
            numbers = range(random.size)[random.entries[name].place]
            mean, variance = np.ravel(post[name].mean), np.ravel(post[name].variance)
            found = [loop[f"x{i}"] for i in numbers]
            close([d.mean for d in found], mean, np.sqrt(variance), tol)
            close([d.variance for d in found], variance, 0.0, tol)


@given(problems())
def test_posteriors_are_those_of_the_dense_joint(problem: Problem) -> None:
    check_solved(problem, 1e-8)


@given(problems())
def test_predictions_are_those_of_the_dense_joint(problem: Problem) -> None:
    check_predicted(problem, 1e-8)


@given(problems())
def test_a_loop_over_scalars_is_the_same_model(problem: Problem) -> None:
    check_loop(problem, 1e-8)


@given(problems(decades=3.0))
def test_variances_may_be_of_many_scales(problem: Problem) -> None:
    check_solved(problem, 1e-8)


@pytest.mark.slow
@given(problems(decades=3.0))
@settings(max_examples=400)
def test_many_random_models(problem: Problem) -> None:
    check_solved(problem, 1e-8)
    check_predicted(problem, 1e-8)
    check_loop(problem, 1e-8)


# -- what these tests found ----------------------------------------------------------------------


def test_a_number_may_be_the_mean_of_a_vector() -> None:
    m = Model()
    m.c = Normal(0.0, variance=1.0)
    m.y = MvNormal(m.c + np.zeros(3), cov=np.eye(3) + 0.5)
    y = np.array([1.0, 2.0, 4.0])
    exact = MvNormal(np.zeros(3), cov=np.eye(3) + 1.5)
    assert float(m.infer(y=y).log_evidence) == pytest.approx(exact.log_prob(y), abs=1e-12)


def test_all_rows_of_a_plate_may_be_missing() -> None:
    m = Model()
    m.x = MvNormal(np.zeros(3), cov=np.eye(3)).iid("a")
    m.y = Normal(dot([1.0, 2.0, 3.0], m.x), variance=1.0)
    post = m.infer(y=[np.nan, np.nan])
    assert float(post.log_evidence) == 0.0
    np.testing.assert_allclose(post.x.cov, np.broadcast_to(np.eye(3), (2, 3, 3)), atol=1e-15)


def test_all_rows_that_see_two_members_may_be_missing() -> None:
    m = Model()
    m.x = Normal(0.0, variance=1.0).iid(3)
    m.y = Normal(m.x[[0, 1]] + m.x[[1, 2]], variance=1.0)
    post = m.infer(y=[np.nan, np.nan])
    assert float(post.log_evidence) == 0.0
    np.testing.assert_allclose(post.x.variance, 1.0, rtol=1e-15)


@pytest.mark.parametrize("length", [1, 3])
def test_below_a_chain_without_data(length: int) -> None:
    m = Model()
    m.u = Input("t")
    m.s = Chain(Normal(0.0, variance=1.0), lambda s: Normal(0.5 * s, variance=1.0), length="t")
    m.y = Normal(m.s + m.u, variance=2.0)
    post = m.infer(u=np.ones(length))
    variances = np.array([1.0, 1.25, 1.3125])[:length]
    np.testing.assert_allclose(post.s.variance, variances, rtol=1e-12)
    np.testing.assert_allclose(post.y.mean, np.ones(length), rtol=1e-12)
    np.testing.assert_allclose(post.y.variance, 2.0 + variances, rtol=1e-12)


@pytest.mark.parametrize(
    ("prior", "y", "there"),
    [
        (Normal([0.0, 1.0, 2.0], variance=[1.0, 2.0, 3.0]), [1.0, np.nan, 0.0], [0, 2]),
        (Normal([[0.0], [1.0]], variance=[1.0, 2.0]), [[1.0, np.nan], [np.nan, 0.0]], [0, 3]),
        (MvNormal([0.0, 1.0, 2.0], cov=np.eye(3) + 0.5), [np.nan, 1.0, 0.0], [1, 2]),
        (MvNormal([0.0, 1.0, 2.0], precision=np.eye(3) + 0.5), [np.nan, 1.0, 0.0], [1, 2]),
    ],
)
def test_gaps_where_all_parameters_are_known(prior: Any, y: Any, there: Any) -> None:
    m = Model()
    m.y = prior
    if isinstance(prior, Normal):
        mean, variance = np.broadcast_arrays(prior.mean, prior.variance)
        joint = MvNormal(mean.ravel()[there], cov=np.diag(variance.ravel()[there]))
    else:
        joint = MvNormal(prior.mean[there], cov=prior.cov[np.ix_(there, there)])
    expected = joint.log_prob(np.ravel(y)[there])
    assert float(m.infer(y=y).log_evidence) == pytest.approx(expected, abs=1e-12)
