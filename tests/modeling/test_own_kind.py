"""A kind of block that the package does not have, defined here, is used like any other."""

from __future__ import annotations

import numpy as np
import pytest

from posteriori.distributions import Empirical, Gamma, HalfNormal, Normal, Poisson
from posteriori.modeling import KINDS, Model, load_posterior
from posteriori.modeling.binding.construction import member
from posteriori.modeling.contract.costs import Cost
from posteriori.modeling.contract.engine import Block, Fit, Group, Kind, Result, Terms
from posteriori.modeling.contract.requests import bind_anew

GRID = np.linspace(1e-3, 12.0, 4000)


class GridResult(Result):
    """One positive number, its posterior a table of weights on a grid."""

    def __init__(self, name: str, log_weights: np.ndarray) -> None:
        self.names = (name,)
        peak = log_weights.max()
        weights = np.exp(log_weights - peak)
        self.log_evidence = float(np.log(np.sum(weights) * (GRID[1] - GRID[0])) + peak)
        self.weights = weights / weights.sum()

    def marginal(self, name):
        return Gamma.fit(GRID, weights=self.weights)

    def expect(self, name, function):
        return self.weights @ function(GRID)

    def sample(self, size, *, rng=None):
        draws = np.random.default_rng(rng).choice(GRID, size=size, p=self.weights)
        return {self.names[0]: draws}

    def most_likely(self):
        return {self.names[0]: float(GRID[np.argmax(self.weights)])}

    def account(self):
        return Terms([], {self.names[0]: 0.0})

    def predict(self, solved, request):
        anew = bind_anew(solved, request)
        (factor,) = anew.factors[request.name]
        rate = self.sample(2000, rng=0)[self.names[0]]
        return Empirical(Poisson(rate).sample(1, rng=1)[0]) if factor.family is Poisson else None


class GridBlock(Block):
    """A half-normal number seen by Poisson counts: no conjugate pair, so it is put on a grid."""

    method = "weights on a grid"
    why = "one number, of which the log density is known at every point"

    def __init__(self, group: Group) -> None:
        self.group = group
        self.names = self.order = group.names
        self.factors = group.factors
        self.cost = Cost(float(GRID.size), 8.0 * GRID.size)

    def describe(self) -> str:
        return f"{GRID.size} points"

    def solve(self) -> GridResult:
        prior = next(f for f in self.factors if f.name == self.names[0])
        logs = np.asarray(member(prior).log_prob(GRID))
        for factor in self.factors:
            if factor is not prior:
                counts = np.ravel(self.group.bound.observed[factor.name])
                logs = logs + sum(np.asarray(Poisson(GRID).log_prob(x)) for x in counts)
        return GridResult(self.names[0], logs)


def fits_grid(group: Group) -> Fit:
    families = [factor.family for factor in group.factors]
    return Fit(
        len(group.names) == 1 and families[0] is HalfNormal and set(families[1:]) == {Poisson}
    )


@pytest.fixture
def kinds():
    before = list(KINDS)
    KINDS.insert(0, Kind("grid", fits_grid, lambda group, _: GridBlock(group)))
    yield
    KINDS[:] = before


def counts_model() -> Model:
    m = Model()
    m.rate = HalfNormal(scale=3.0)
    m.k = Poisson(m.rate).iid("n")
    return m


COUNTS = [2, 4, 3, 5]


def test_without_the_kind_others_find_the_same(kinds):
    m = counts_model()
    own = m.infer(k=COUNTS)
    KINDS.pop(0)
    for method in ("quadrature", "vmp"):
        other = m.infer(k=COUNTS, method=method)
        assert float(other.log_evidence) == pytest.approx(float(own.log_evidence), abs=1e-4)
        assert float(other.rate.mean) == pytest.approx(float(own.rate.mean), rel=1e-3)


def test_it_is_planned(kinds):
    plan = counts_model().plan(k=COUNTS)
    assert repr(plan) == "block 1: rate: weights on a grid\n  4000 points"
    assert "about 4 k operations" in str(plan)


def test_it_is_solved(kinds):
    m = counts_model()
    post = m.infer(k=COUNTS)
    logs = [m.log_joint(rate=rate, k=COUNTS) for rate in GRID[::40]]
    exact = np.log(np.trapezoid(np.exp(logs), GRID[::40]))
    assert float(post.log_evidence) == pytest.approx(exact, abs=1e-3)
    assert post.log_evidence.kind == "exact"
    weights = np.exp(logs) / np.sum(np.exp(logs))
    assert float(post.rate.mean) == pytest.approx(float(weights @ GRID[::40]), rel=1e-3)
    third = post.expect("rate", lambda x: x**3)  # of the grid, not of the gamma that is shown
    assert third == pytest.approx(float(weights @ GRID[::40] ** 3), rel=1e-3)
    assert post.most_likely()["rate"] == pytest.approx(GRID[::40][np.argmax(logs)], abs=0.2)
    assert post.sample(5, rng=0)["rate"].shape == (5,)
    assert "rate  Gamma" in repr(post)


def test_it_stands_beside_other_kinds(kinds):
    m = counts_model()
    m.mu = Normal(0, variance=4)
    m.y = Normal(m.mu, variance=1).iid("n")
    both = m.infer(k=COUNTS, y=[1.0, 2.0, 0.5, 1.5])
    alone = counts_model().infer(k=COUNTS)
    assert both.rate == alone.rate
    assert float(both.mu.mean) == pytest.approx(5.0 / 4.25)


def test_it_is_predicted_from(kinds):
    post = counts_model().infer(k=COUNTS)
    predicted = post.predict("k", n=1)
    error = 5 * np.sqrt(float(post.rate.mean) / 2000)
    assert float(np.mean(predicted.mean)) == pytest.approx(float(post.rate.mean), abs=error)


def test_what_it_does_not_answer_is_refused(kinds):
    post = counts_model().infer(k=COUNTS)
    with pytest.raises(TypeError, match="no exact messages between rate"):
        post.messages()
    with pytest.raises(TypeError, match="no form that can be carried over"):
        post.update(k=[1])


def test_it_is_saved(kinds, tmp_path):
    post = counts_model().infer(k=COUNTS)
    post.save(tmp_path / "rate.post")
    again = load_posterior(tmp_path / "rate.post")
    assert again.rate == post.rate
    assert again.log_evidence == post.log_evidence


def test_it_is_drawn(kinds):
    drawing = counts_model().draw(data={"k": COUNTS})
    assert {"rate", "k"} <= {shape.key for shape in drawing.shapes}
    assert drawing.svg().startswith("<svg")


def test_answers_that_every_result_must_have() -> None:
    class Silent(Result):
        pass

    with pytest.raises(TypeError, match="abstract"):
        Silent()  # type: ignore[abstract]
