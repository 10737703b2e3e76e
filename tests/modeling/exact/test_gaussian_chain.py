"""Normal chains that move together, their constants and their members, against the dense oracle."""

from typing import Any

import numpy as np
import pytest

from posteriori import MvNormal, Normal
from posteriori.modeling import Chain, Input, Model
from tests.modeling.exact.test_gaussian import HOLES, A, C, Case, Q, R
from tests.modeling.oracles import assert_dense

pytestmark = pytest.mark.blas

RNG = np.random.default_rng(5)
Y = RNG.normal(size=6)
MONTH = np.array([0, 1, 2, 0, 1, 2])
WEIGHT = RNG.uniform(0.5, 2.0, size=6)
STEPS = RNG.normal(size=(6, 2, 2))


def level_and_cycle() -> Model:
    m = Model()
    m.level = Chain(Normal(1.0, variance=4.0), lambda s: Normal(s, variance=0.3), length="t")
    m.cycle = Chain(MvNormal(np.zeros(2), cov=Q), lambda s: MvNormal(A @ s, cov=Q), length="t")
    m.y = Normal(m.level + m.cycle[0], variance=0.5)
    return m


def trend_with_seasons() -> Model:
    """The level reads the slope at the time of arrival, the data a season of their month."""
    m = Model()
    m.month, m.weight = Input("t"), Input("t")
    m.season = Normal(0.0, variance=2.0).iid(3)
    m.gain = Normal(1.0, variance=1.0)
    m.slope = Chain(Normal(0.0, variance=1.0), lambda s: Normal(0.8 * s, variance=0.1), length="t")
    m.level = Chain(
        Normal(m.gain, variance=9.0),
        lambda s: Normal(s + m.weight * m.slope + m.gain, variance=0.2),
        length="t",
    )
    m.y = Normal(m.level + m.season[m.month], scale=m.weight)
    m.z = Normal(m.slope - m.level, variance=3.0)
    return m


def changing_steps() -> Model:
    m = Model()
    m.A = Input("t")
    m.s = Chain(MvNormal(np.ones(2), cov=Q), lambda s: MvNormal(m.A @ s, cov=Q), length="t")
    m.y = MvNormal(C @ m.s, cov=R)
    return m


def repeated_vectors() -> Model:
    m = Model()
    m.s = Chain(MvNormal(np.ones(2), cov=Q), lambda s: MvNormal(A @ s, cov=Q), length="t")
    m.y = MvNormal(C @ m.s, cov=R).iid(2)
    return m


def some_members() -> Model:
    m = Model()
    m.offset = Normal(0.0, variance=2.0)
    m.s = Chain(MvNormal(np.ones(2), cov=Q), lambda s: MvNormal(A @ s, cov=Q), length=5)
    m.late = Normal(m.s[2:, 0] + m.offset, variance=np.array([0.5, 0.6, 0.7]))
    m.last = MvNormal(m.s[4], cov=Q)
    m.some = Normal(m.s[[3, 0], 1] - m.offset, variance=0.4)
    return m


def twice_the_same_member() -> Model:
    m = Model()
    m.s = Chain(Normal(0.0, variance=2.0), lambda s: Normal(0.9 * s, variance=0.5), length=4)
    m.y = Normal(m.s[[1, 1, 3]], variance=0.4)
    m.z = Normal(m.s[0] + m.s[-1], variance=0.2)
    return m


TREND = {"month": MONTH, "weight": WEIGHT, "y": Y, "z": -Y}
CASES = {
    "level and cycle": Case(level_and_cycle, {"y": Y}, {"level": (6,), "cycle": (6, 2)}),
    "trend with seasons": Case(
        trend_with_seasons, TREND, {"season": (3,), "gain": (), "slope": (6,), "level": (6,)}
    ),
    "changing steps": Case(
        changing_steps, {"A": STEPS, "y": RNG.normal(size=(6, 3))}, {"s": (6, 2)}
    ),
    "repeated vectors": Case(repeated_vectors, {"y": RNG.normal(size=(4, 2, 3))}, {"s": (4, 2)}),
    "some members": Case(
        some_members,
        {"late": Y[:3], "last": Y[:2], "some": Y[4:]},
        {"offset": (), "s": (5, 2)},
    ),
    "twice the same member": Case(twice_the_same_member, {"y": Y[:3], "z": 0.3}, {"s": (4,)}),
}


@pytest.mark.parametrize("name", CASES)
def test_posterior_and_evidence_are_those_of_the_dense_joint(name: str) -> None:
    case = CASES[name]
    assert_dense(case.build(), case.data, case.shapes)


@pytest.mark.parametrize("name", CASES)
def test_energies_and_entropy_sum_to_the_evidence(name: str) -> None:
    case = CASES[name]
    post = case.build().infer(case.data)
    assert post.explain().log_evidence == pytest.approx(float(post.log_evidence), abs=1e-9)


@pytest.mark.parametrize("name", [n for n in CASES if n != "twice the same member"])
def test_the_smoother_solves_it(name: str) -> None:
    case = CASES[name]
    (block,) = case.build().plan(case.data).blocks
    assert "Kalman" in block.method


def test_draws_have_the_moments_of_the_posterior() -> None:
    post = trend_with_seasons().infer(TREND)
    names = ("season", "gain", "slope", "level")
    draws = post.sample(4000, rng=0)
    flat = np.concatenate([draws[n].reshape(4000, -1) for n in names], axis=1)
    joint = post.joint(*names)
    error = np.sqrt(np.diag(joint.cov) / 4000)
    assert np.all(np.abs(flat.mean(axis=0) - joint.mean) < 5 * error)
    spread = np.sqrt(np.diag(joint.cov))
    difference = (np.cov(flat.T) - joint.cov) / np.outer(spread, spread)
    assert np.all(np.abs(difference) < 5 * np.sqrt(2 / 4000))


def test_predictions_at_some_members() -> None:
    post = some_members().infer(late=Y[:3], last=Y[:2], some=Y[4:])
    joint = post.joint("offset", "s")
    for name, pairs, sign, noise in (
        ("late", [(2, 0), (3, 0), (4, 0)], 1.0, [0.5, 0.6, 0.7]),
        ("some", [(3, 1), (0, 1)], -1.0, [0.4, 0.4]),
    ):
        design = np.zeros((len(pairs), 11))
        design[:, 0] = sign
        design[np.arange(len(pairs)), [1 + 2 * t + i for t, i in pairs]] = 1.0
        new = post.predict(name)
        np.testing.assert_allclose(new.mean, design @ joint.mean, atol=1e-9)
        expected = np.diag(design @ joint.cov @ design.T) + noise
        np.testing.assert_allclose(new.variance, expected, atol=1e-9)
    last = post.predict("last")
    np.testing.assert_allclose(last.cov, joint.cov[9:, 9:] + Q, atol=1e-9)


def tracked(q: Any, r: float, p0: float) -> Model:
    """Position and velocity, of which velocity alone has noise."""
    step = np.array([[1.0, 0.1], [0.0, 1.0]])
    m = Model()
    m.s = Chain(
        MvNormal(np.zeros(2), cov=p0 * np.eye(2)),
        lambda s: MvNormal(step @ s, cov=np.asarray(q)),
        length="t",
    )
    m.y = Normal(m.s[0], variance=r)
    return m


@pytest.mark.parametrize("q", [[[0, 0], [0, 0.3]], [[0.3, 0.6], [0.6, 1.2]], np.zeros((2, 2))])
@pytest.mark.parametrize("y", [Y, np.where(np.arange(6) == 2, np.nan, Y)])
def test_noise_that_leaves_directions_out_has_an_account(q: Any, y: np.ndarray) -> None:
    post = tracked(q, 0.5, 4.0).infer(y=y)
    account = post.explain()
    terms = [*account.energies.values(), *account.entropies.values()]
    assert np.all(np.isfinite(terms))
    assert account.log_evidence == pytest.approx(float(post.log_evidence), abs=1e-10)


def test_the_account_of_singular_noise_is_that_of_the_numbers_with_noise() -> None:
    """Velocities are the only free numbers: the same model with positions summed from them."""
    q, r, p0 = 0.3, 0.5, 4.0
    post = tracked([[0, 0], [0, q]], r, p0).infer(y=Y)
    m = Model()
    m.start = Normal(0.0, variance=p0)
    m.v = Chain(Normal(0.0, variance=p0), lambda v: Normal(v, variance=q), length=6)
    sums = 0.1 * np.tri(6, k=-1)
    m.y = Normal(m.start + sums @ m.v[:], variance=r)
    other = m.infer(y=Y)
    mine, theirs = post.explain(), other.explain()
    assert mine.energies["y"] == pytest.approx(theirs.energies["y"], abs=1e-9)
    together = theirs.energies["v"] + theirs.energies["start"]
    assert mine.energies["s"] == pytest.approx(together, abs=1e-9)
    assert sum(mine.entropies.values()) == pytest.approx(sum(theirs.entropies.values()), abs=1e-9)


@pytest.mark.parametrize(("q", "r"), [(1e-12, 1.0), (1.0, 1e-12), (1e6, 1e-6), (1e-6, 1e6)])
@pytest.mark.parametrize("p0", [1.0, 1e8])
def test_accounts_keep_their_digits(q: float, r: float, p0: float) -> None:
    y = np.sqrt(r) * Y
    post = tracked([[0, 0], [0, q]], r, p0).infer(y=y)
    assert post.explain().log_evidence == pytest.approx(float(post.log_evidence), rel=1e-11)


def test_observations_without_noise_have_no_energy() -> None:
    m = Model()
    m.s = Chain(MvNormal(np.zeros(2), cov=Q), lambda s: MvNormal(A @ s, cov=Q), length="t")
    m.y = MvNormal(C @ m.s, cov=np.diag([0.5, 0.5, 0.0]))
    post = m.infer(y=HOLES)
    assert np.isfinite(float(post.log_evidence))
    with pytest.raises(TypeError, match="y sees the chain without noise"):
        post.explain()


def test_paths_with_singular_noise_have_no_joint_density() -> None:
    m = Model()
    q = np.diag([1.0, 0.0])
    m.s = Chain(MvNormal(np.zeros(2), cov=np.eye(2)), lambda s: MvNormal(A @ s, cov=q), length="t")
    m.y = Normal(np.array([1.0, 0.0]) @ m.s, variance=1.0)
    post = m.infer(y=np.ones(3))
    with pytest.raises(ValueError, match="has no density: cov of s must be positive definite"):
        post.joint("s")
