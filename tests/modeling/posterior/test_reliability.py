"""Draws of a belief weighed by the model, where the truth is known."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from posteriori import Bernoulli, Categorical, Dirichlet, Gamma, MvNormal, Normal, StudentT
from posteriori.distributions import HalfNormal
from posteriori.modeling import Chain, Input, Model, load_posterior, merge, take
from posteriori.modeling.contract.engine import Group, Result
from posteriori.modeling.contract.weighable import Apart, Weighable
from posteriori.modeling.posterior.importance_weights import weigh
from posteriori.modeling.posterior.posterior import Posterior
from posteriori.numerics.logspace import log_mean_exp
from posteriori.numerics.telling.progress import Progress

Y = np.array([2.8, 0.9, -0.4, 0.7, -0.1, 0.1, 1.8, 1.2])
LASTING = np.array([[0.8, 0.2], [0.3, 0.7]])


def groups() -> Model:
    m = Model()
    m.between = Gamma(shape=2, rate=2)
    m.mu = Normal(0, variance=4)
    m.theta = Normal(m.mu, precision=m.between).iid("g")
    m.y = Normal(m.theta, variance=1)
    return m


def loose(unit: float = 1.0) -> Model:
    """Mean and precision with independent priors, in some unit."""
    m = Model()
    m.tau = Gamma(shape=2, rate=unit**2)
    m.mu = Normal(0, variance=4 * unit**2)
    m.y = Normal(m.mu, precision=m.tau).iid("n")
    return m


def effects(x: np.ndarray) -> Model:
    m = Model()
    m.x = Input("n")
    m.a = Normal(0, variance=4)
    m.b = Normal(1, variance=4)
    m.y = Normal(m.a + m.b * m.x, variance=0.5)
    return m


def mixture() -> Model:
    m = Model()
    m.pi = Dirichlet([2, 2])
    m.mu = Normal([-1.5, 1.5], variance=0.5)
    m.z = Categorical(m.pi, labels=("low", "high")).iid("n")
    m.y = Normal(m.mu[m.z], variance=0.5)
    return m


def two_chains() -> Model:
    m = Model()
    for name in ("z0", "z1"):
        m[name] = Chain(
            Categorical([0.5, 0.5]), lambda z: Categorical(take(LASTING, z)), length="t"
        )
    m.y = Normal(take([0.0, 1.0], m.z0) + take([0.0, 2.0], m.z1), variance=0.5)
    return m


def two_walks() -> Model:
    m = Model()
    for name, variance in (("s", 0.5), ("r", 0.1)):
        m[name] = Chain(
            Normal(0, variance=1), lambda s, v=variance: Normal(s, variance=v), length="t"
        )
    m.y = Normal(m.s + m.r, variance=2)
    return m


# -- the density of the belief ---------------------------------------------------------------

EVIDENCES: dict[str, tuple[Callable[[], Model], Any, Any]] = {
    "a spread": (groups, {"y": Y}, {"method": "vmp"}),
    "mean and precision": (loose, {"y": Y}, {"method": "vmp"}),
    "chains of states": (two_chains, {"y": Y}, {"factorize": [("z0", "z1")]}),
    "chains of numbers": (two_walks, {"y": Y[:5]}, {"factorize": [("s", "r")]}),
    "numbers": (lambda: effects(Y), {"x": Y, "y": Y + 0.3}, {"factorize": "full"}),
}


@pytest.mark.parametrize("case", EVIDENCES)
def test_the_mean_of_the_ratios_is_the_evidence(case: str) -> None:
    """E_q[p(data, θ)/q(θ)] = p(data) holds for densities with all their constants only."""
    build, data, options = EVIDENCES[case]
    post, exact = build().infer(data, **options), build().infer(data)
    (result,) = post._solved.results
    found = weigh(
        result.weighable(),
        post._solved.exact_parts,
        200,
        np.random.default_rng(0),
        Progress(False),
    )
    evidence = float(exact.log_evidence) - post._solved.log_known
    ratios = np.exp(found.log_ratios - evidence)
    error = ratios.std() / len(ratios) ** 0.5
    assert abs(np.exp(log_mean_exp(found.log_ratios) - evidence) - 1.0) < 5 * error


def test_densities_of_joint_normal_beliefs_are_those_of_their_moments() -> None:
    m = Model()
    m.x = Input("t")
    m.tau = Gamma(2, 1)
    m.b = Normal(0, variance=4)
    m.s = Chain(Normal(0, variance=1), lambda s: Normal(s, variance=0.5), length="t")
    m.y = Normal(m.s + m.b * m.x, precision=m.tau)
    beside = m.infer(x=np.linspace(-1, 1, 8), y=Y, method="vmp")
    for post in (beside, groups().infer(y=Y, method="vmp")):
        problem = post._solved.results[0].problem
        node = max(problem.nodes, key=lambda node: len(node.names))
        draws = node.draw(5, np.random.default_rng(0))
        mean, cov = node.joint_moments(node.names)
        flat = np.concatenate([draws[name].reshape(5, -1) for name in node.names], axis=1)
        expected = MvNormal(mean, cov=cov).log_prob(flat)
        np.testing.assert_allclose(node.log_prob(draws), expected, rtol=1e-8)


# -- beliefs that are right, narrow, shifted --------------------------------------------------


class Guessed(Result):
    """A normal belief that was made up, about the mean of some data."""

    def __init__(self, post: Posterior, shift: float, ratio: float) -> None:
        solved, exact = post._solved, post.mu
        self.names = ("mu",)
        self.log_evidence = float(post.log_evidence)
        self.belief = Normal(exact.mean + shift * exact.std, scale=ratio * exact.std)
        self.group = Group(solved.bound, self.names, solved.blocks[0].factors)

    def marginal(self, name: str) -> Any:
        return self.belief

    def sample(self, size: int, *, rng: Any = None) -> Any:
        return {"mu": self.belief.sample(size, rng=rng)}

    def weighable(self) -> Weighable:
        def draw(size: int, rng: np.random.Generator) -> Any:
            x = self.belief.sample(size, rng=rng)
            return {"mu": x}, self.belief.log_prob(x)

        return Weighable(self.group, (Apart(("mu",), 1, True, draw),), {}, self.marginal)


def guess(shift: float, ratio: float) -> Posterior:
    m = Model()
    m.mu = Normal(0, variance=9)
    m.y = Normal(m.mu, variance=1).iid("n")
    post = m.infer(y=Y)
    return Posterior(replace(post._solved, results=(Guessed(post, shift, ratio),)))


@pytest.mark.parametrize(("shift", "ratio"), [(0.0, 0.8), (0.5, 1.0), (-0.4, 1.4), (0.3, 0.9)])
def test_what_is_wrong_with_a_belief_is_found(shift: float, ratio: float) -> None:
    found = [guess(shift, ratio).reliability(300, rng=seed) for seed in range(6)]
    for actual, wanted in (
        ([f.unknowns["mu"].ratio for f in found], ratio),
        ([f.unknowns["mu"].shift for f in found], -shift),
    ):
        assert abs(np.mean(actual) - wanted) < 5 * np.std(actual) / 6**0.5 + 1e-3
    assert all(("mu" in f.shifted) == (abs(shift) > 0.35) for f in found if abs(shift) != 0.3)


def test_a_belief_that_is_right_has_equal_weights() -> None:
    found = guess(0.0, 1.0).reliability(rng=0)
    assert np.isneginf(found.khat)
    assert found.effective_size == pytest.approx(1000)
    assert found.unknowns["mu"].ratio == pytest.approx(1.0)
    assert found.verdict == "the belief agrees with the posterior"


def test_cuts_between_what_is_independent_do_no_harm() -> None:
    x = np.array([-3.0, -1.0, 1.0, 3.0])  # Σ x = 0: given data, a and b are independent
    post = effects(x).infer(x=x, y=[0.0, 1.0, 1.0, 4.0], factorize="full")
    found = post.reliability(200, rng=0)
    assert found.khat < 0.1
    for deviation in found.unknowns.values():
        assert deviation.ratio == pytest.approx(1.0, abs=1e-6)
        assert deviation.shift == pytest.approx(0.0, abs=1e-6)


def test_cuts_between_correlated_numbers_are_found() -> None:
    x = np.array([0.5, 1.0, 0.0, 1.5])
    data = {"x": x, "y": [0.0, 1.0, 1.0, 4.0]}
    joint = effects(x).infer(data).joint("a", "b")
    post = effects(x).infer(data, factorize="full")
    exact = np.sqrt([post.a.variance, post.b.variance]) / np.sqrt(np.diagonal(joint.cov))
    assert np.all(exact < 0.8)
    found = [post.reliability(100, rng=seed).unknowns for seed in range(6)]
    for name, ratio in zip("ab", exact, strict=True):
        ratios = [f[name].ratio for f in found]
        assert abs(np.mean(ratios) - ratio) < 5 * np.std(ratios) / 6**0.5 + 0.01


def test_a_belief_that_is_much_too_narrow_is_called_too_far_away() -> None:
    found = guess(0.0, 0.2).reliability(500, rng=0)
    assert found.khat > 0.7
    assert found.too_narrow == ("mu",)
    assert "too far from the posterior" in found.verdict


def test_states_that_were_cut_apart_are_compared_with_the_truth() -> None:
    cut = two_chains().infer(y=Y, factorize=[("z0", "z1")])
    exact = two_chains().infer(y=Y)
    found = cut.reliability(800, rng=0)
    assert found.unknowns.keys() == {"z0", "z1"}
    for name, deviation in found.unknowns.items():
        away = np.abs(cut[name].probabilities - exact[name].probabilities).max(axis=-1)
        np.testing.assert_allclose(deviation.shifts, away, atol=5 / found.effective_size**0.5)
        assert np.isnan(deviation.ratio)


# -- laws ------------------------------------------------------------------------------------


def test_units_do_not_matter() -> None:
    found = [
        loose(unit).infer(y=unit * Y, method="vmp", tol=1e-13).reliability(200, rng=0)
        for unit in (1.0, 1000.0)
    ]
    assert found[0].khat == pytest.approx(found[1].khat, abs=1e-3)
    for name in ("tau", "mu"):
        one, other = (f.unknowns[name] for f in found)
        assert one.ratio == pytest.approx(other.ratio, rel=1e-4)
        assert one.shift == pytest.approx(other.shift, abs=1e-4)


def test_the_same_seed_finds_the_same() -> None:
    post = groups().infer(y=Y, method="vmp")
    first, again = (post.reliability(100, rng=7) for _ in range(2))
    assert first.khat == again.khat != post.reliability(100, rng=8).khat
    made = post.reliability(100, rng=np.random.default_rng(7))
    assert made.khat == first.khat
    assert repr(first) == repr(again)


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"draws": 20}, ValueError, "draws must be at least 100, got 20"),
        ({"draws": 2.5}, TypeError, "draws must be a whole number, got 2.5"),
        ({"draws": "many"}, TypeError, "draws must be a whole number"),
        ({"draws": True}, ValueError, "draws must be at least 100, got True"),
        ({"rng": "seed"}, TypeError, "rng must be None, an integer seed"),
    ],
)
def test_bad_arguments_are_refused_in_words(arguments: Any, error: Any, words: str) -> None:
    with pytest.raises(error, match=words):
        groups().infer(y=Y, method="vmp").reliability(**arguments)


# -- kinds of posteriors ---------------------------------------------------------------------


def test_exact_posteriors_have_nothing_to_check() -> None:
    m = Model()
    m.mu = Normal(0, variance=9)
    m.y = Normal(m.mu, variance=1).iid("n")
    found = m.infer(y=Y).reliability(rng=0)
    assert repr(found) == "Reliability: exact: nothing to check"
    assert not found.unknowns
    assert np.isneginf(found.khat)


def test_integrals_agree_with_their_draws() -> None:
    found = groups().infer(y=Y).reliability(200, rng=0)
    assert found.weighed == ("between",)
    assert found.khat < 0.5
    assert found.too_narrow == found.shifted == ()
    assert all(abs(d.ratio - 1.0) < 0.1 for d in found.unknowns.values())


def test_sums_beside_integrals_are_weighed_together() -> None:
    m = Model()
    m.c = Bernoulli(0.4)
    m.tau = Gamma(2, 1)
    m.mu = Normal(take([-1.0, 2.0], m.c), variance=1)
    m.y = Normal(m.mu, precision=m.tau).iid("n")
    found = m.infer(y=Y[:3], method="quadrature").reliability(300, rng=0)
    assert found.khat < 0.5
    assert "the belief agrees" in found.verdict


def test_labels_gaps_and_members_without_data() -> None:
    y = np.array([-1.2, np.nan, 1.4, 0.9, -1.8, np.nan])
    found = mixture().infer(y=y, method="vmp").reliability(100, rng=0)
    assert set(found.weighed) == {"pi", "mu"}
    assert np.isfinite(found.khat)
    assert found.unknowns.keys() == {"pi", "mu", "z"}


def test_rows_that_were_looked_at_in_parts() -> None:
    rng = np.random.default_rng(0)
    y = np.where(rng.random(300) < 0.5, -1.5, 1.5) + 0.7 * rng.normal(size=300)
    whole = mixture().infer(y=y, method="vmp").reliability(200, rng=0)
    parts = mixture().infer(y=y, batch_size=50, tol=1e-8).reliability(200, rng=0)
    assert set(parts.weighed) == set(whole.weighed) == {"pi", "mu"}
    for name in ("pi", "mu"):
        assert parts.unknowns[name].ratio == pytest.approx(whole.unknowns[name].ratio, abs=0.15)


def test_more_data_after_inference() -> None:
    post = groups().infer(y=Y, method="vmp").update(y=Y + 1, method="vmp")
    found = post.reliability(200, rng=0)
    assert set(found.unknowns) >= {"between", "mu"}
    assert np.isfinite(found.khat)


def test_points_are_held() -> None:
    found = mixture().infer(y=Y, form={"mu": "point"}).reliability(200, rng=0)
    assert found.held == ("mu",)
    assert "mu" not in found.unknowns
    assert "held at their best values: mu" in repr(found)


def test_merged_posteriors_are_refused_in_words() -> None:
    posts = [groups().infer(y=y, method="vmp") for y in (Y, Y + 1)]
    with pytest.raises(TypeError, match="merged posterior has no data to weigh"):
        merge(*posts).reliability()


def test_saved_posteriors_say_what_was_known_and_refuse_a_check(tmp_path: Any) -> None:
    post = groups().infer(y=Y, method="vmp")
    post.save(tmp_path / "post")
    loaded = load_posterior(tmp_path / "post")
    assert repr(loaded).endswith("intervals of between are too narrow")
    with pytest.raises(TypeError, match="neither model nor data"):
        loaded.reliability(rng=0)


def test_ctrl_c_keeps_what_was_weighed(monkeypatch: pytest.MonkeyPatch) -> None:
    post = groups().infer(y=Y, method="vmp")
    exact_parts, calls = post._solved.exact_parts, []

    def stopped(group: Any) -> Any:
        calls.append(group)
        if len(calls) > 150:
            raise KeyboardInterrupt
        return exact_parts(group)

    found = Posterior(replace(post._solved, exact_parts=stopped)).reliability(rng=0)
    assert 100 < found.draws < 150


# -- in words --------------------------------------------------------------------------------


def test_the_posterior_says_what_its_check_has_found() -> None:
    post = groups().infer(y=Y, method="vmp")
    assert "intervals of between are too narrow\n  leave out method: integral over" in repr(post)
    found = post.reliability(400, rng=0)
    assert found.unknowns["between"].ratio < 0.9
    assert post.cautions == ["intervals of between are too narrow"]
    far = loose().infer(y=np.tile(Y, 10), method="vmp")
    assert far.cautions == []
    far.reliability(200, rng=0)
    assert far.cautions == []


def test_the_table_shows_worst_and_typical_members() -> None:
    found = groups().infer(y=Y, method="vmp").reliability(200, rng=0)
    theta = found.unknowns["theta"]
    assert theta.shifts.shape == theta.ratios.shape == (8,)
    assert abs(theta.shift) == np.abs(theta.shifts).max()
    assert theta.typical_ratio == np.median(theta.ratios)
    lines = repr(found).splitlines()
    assert lines[1].strip().startswith("k̂ = ")
    assert "weighed: between; exact given these: mu, theta" in repr(found)
    assert [line.split()[0] for line in lines[-3:]] == ["between", "mu", "theta"]


def test_how_far_a_belief_with_weights_can_be_trusted():
    """Given the weights the rest is exact: what weighing finds is what an integral says."""
    x = np.random.default_rng(7).normal(size=40)
    m = Model()
    m.x = Input("n")
    m.b = Normal(0.0, scale=5.0)
    m.s = HalfNormal(scale=1.0)
    m.y = StudentT(4.0, m.b * m.x, scale=m.s)
    data = {"x": x, "y": 2.0 * x + 0.5 * np.random.default_rng(3).standard_t(3.0, 40)}
    belief, truth = m.infer(data, method="vmp"), m.infer(data, method="quadrature")
    found = belief.reliability(draws=1000, rng=0)
    for name in ("b", "s"):
        ratio = float(belief[name].std / truth[name].std)
        assert found.unknowns[name].ratio == pytest.approx(ratio, abs=0.1), name
