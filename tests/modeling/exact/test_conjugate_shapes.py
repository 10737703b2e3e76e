"""Conjugate blocks in plates, chains, loops and sums of children, and what is refused."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from posteriori import (
    Bernoulli,
    Beta,
    Binomial,
    Categorical,
    Dirichlet,
    Exponential,
    Gamma,
    MvNormal,
    Normal,
    Poisson,
    bayes,
)
from posteriori.distributions import Laplace
from posteriori.distributions.vectors.wishart import Wishart
from posteriori.modeling import Chain, Input, Model, take
from posteriori.modeling.binding.binder import bind
from posteriori.modeling.contract.engine import Group
from posteriori.modeling.exact.conjugate.conjugate_block import fits_conjugate
from tests.modeling.conjugate_models import (
    BITS,
    CASES,
    CODES,
    COUNTS,
    GROUP,
    POSITIVE,
    REAL,
    SCALE,
    VECTORS,
    N,
    assert_same,
    gaps,
    log_average,
    one_for_all,
)

RNG = np.random.default_rng(8)

# -- shapes ------------------------------------------------------------------------------------


def test_children_of_several_families_add_up() -> None:
    prior = Gamma(2.0, 1.5)
    m = Model()
    m.theta = prior
    m.counts = Poisson(m.theta).iid("n")
    m.waits = Exponential(m.theta).iid("k")
    m.x = Normal(0.0, precision=m.theta)
    data = {"counts": COUNTS[:4], "waits": POSITIVE[:3], "x": 0.7}
    post = m.infer(data)
    first = bayes(prior, Poisson, COUNTS[:4])
    second = bayes(first.posterior, Exponential, POSITIVE[:3])
    third = bayes(second.posterior, lambda t: Normal(0.0, precision=t), [0.7])
    assert_same(post.theta, third.posterior)
    total = sum(r.log_evidence.value for r in (first, second, third))
    assert float(post.log_evidence) == pytest.approx(total, rel=1e-12)
    assert float(post.log_evidence) == pytest.approx(log_average(m, prior, data), abs=1e-8)


def test_a_plate_of_unknowns_is_a_batch_of_priors() -> None:
    prior = Beta([1.0, 2.0, 0.5], 1.5)
    y = RNG.integers(0, 2, size=(5, 3))
    named = Model()
    named.theta = Beta(2.0, 1.5).iid("j")
    named.y = Bernoulli(named.theta).iid("n")
    sized = Model()
    sized.theta = prior
    sized.y = Bernoulli(sized.theta).iid(5)
    exact = bayes(Beta(2.0, 1.5).iid(3), Bernoulli, y)
    post = named.infer(y=y)
    assert_same(post.theta, exact.posterior)
    assert float(post.log_evidence) == pytest.approx(exact.log_evidence.value.sum(), rel=1e-12)
    assert_same(sized.infer(y=y).theta, bayes(prior, Bernoulli, y).posterior)


def test_plates_on_both_sides_of_the_unknown_are_summed_over() -> None:
    y = RNG.poisson(2.0, size=(4, 3, 2))
    m = Model()
    m.e = Input("k")
    m.rate = Gamma(2.0, 1.0).iid("j")
    m.y = Poisson(m.e * m.rate).iid("n")
    e = np.array([0.5, 2.0])
    assert m.simulate(e=e, plates={"n": 4, "j": 3}, rng=0)["y"].shape == (4, 2, 3)
    post = m.infer(e=e, y=np.swapaxes(y, 1, 2))
    for j in range(3):
        rows = y[:, j].ravel()
        exact = bayes(Gamma(2.0, 1.0), lambda r: Poisson(np.tile(e, 4) * r), rows)
        assert_same(post.rate, exact.posterior, j)
    assert post.rate.batch_shape == (3,)


def exposed(exposure: np.ndarray) -> Callable[[Any], Any]:
    return lambda rate: Poisson(exposure * rate)


def test_known_quantities_differ_from_row_to_row() -> None:
    exposure = RNG.uniform(0.5, 3.0, size=N)
    m = Model()
    m.e, m.g = Input(), Input()
    m.rate = Gamma([1.0, 2.0, 3.0], 1.0)
    m.y = Poisson(m.e * m.rate[m.g])
    post = m.infer(e=exposure, g=GROUP, y=gaps(COUNTS))
    there = ~np.isnan(gaps(COUNTS))
    for j in range(3):
        rows = (j == GROUP) & there
        exact = bayes(Gamma(j + 1.0, 1.0), exposed(exposure[rows]), COUNTS[rows])
        assert_same(post.rate, exact.posterior, j)
    new = post.predict("y", e=[2.0, 0.1], g=[1, 1])
    np.testing.assert_allclose(new.mean, np.array([2.0, 0.1]) * post.rate.mean[1], rtol=1e-12)


def test_a_mean_for_each_row_of_vectors() -> None:
    means = RNG.normal(size=(N, 2))
    m = Model()
    m.q = Wishart(dof=4.0, scale=SCALE).iid(3)
    m.y = MvNormal(means, precision=m.q[GROUP])
    post = m.infer(y=VECTORS)
    for j in range(3):
        rows = j == GROUP
        deviations = (VECTORS - means)[rows]
        exact = bayes(
            Wishart(dof=4.0, scale=SCALE),
            lambda q: MvNormal(np.zeros(2), precision=q),
            deviations,
        )
        assert_same(post.q, exact.posterior, j)


def test_a_loop_of_scalars_equals_the_plate() -> None:
    plate = one_for_all(CASES["GammaPoisson"]).infer(y=COUNTS)
    m = Model()
    m.theta = CASES["GammaPoisson"].prior
    for i in range(N):
        m[f"y{i}"] = Poisson(2.0 * m.theta)
    loop = m.infer({f"y{i}": COUNTS[i] for i in range(N)})
    assert_same(loop.theta, plate.theta)
    assert float(loop.log_evidence) == pytest.approx(float(plate.log_evidence), rel=1e-12)


def test_many_rows_and_groups_are_summed_in_chunks() -> None:
    rows, groups = 200_000, 50_000
    g = np.arange(rows) % groups
    m = Model()
    m.p = Beta(1.0, 1.0).iid(groups)
    m.y = Bernoulli(m.p[g])
    post = m.infer(y=g % 2)
    np.testing.assert_array_equal(post.p.a, 1.0 + 4.0 * (np.arange(groups) % 2))
    # four equal bits under a uniform prior: p = 1/5
    assert float(post.log_evidence) == pytest.approx(groups * np.log(0.2), rel=1e-12)


def test_transitions_of_an_observed_chain_are_counted_row_by_row() -> None:
    z = np.array([0, 1, 1, 2, 0, 1, 2, 2, 2, 0])
    m = Model()
    m.rows = Dirichlet([1.0, 2.0, 0.5]).iid(3)
    m.z = Chain(Categorical([0.2, 0.3, 0.5]), lambda z: Categorical(m.rows[z]), length="t")
    post = m.infer(z=z)
    expected = np.tile([1.0, 2.0, 0.5], (3, 1))
    np.add.at(expected, (z[:-1], z[1:]), 1.0)
    np.testing.assert_allclose(post.rows.concentration, expected, rtol=1e-14)
    total = np.log(0.2)
    for j in range(3):
        following = z[1:][z[:-1] == j]
        total += bayes(Dirichlet([1.0, 2.0, 0.5]), Categorical, following).log_evidence.value
    assert float(post.log_evidence) == pytest.approx(total, rel=1e-12)


def test_the_first_member_of_a_chain_may_see_the_same_unknown() -> None:
    m = Model()
    m.rows = Dirichlet([1.0, 2.0]).iid(2)
    m.z = Chain(Categorical(m.rows[0]), lambda z: Categorical(m.rows[z]), length="t")
    post = m.infer(z=[1, 1, 0, 1])
    np.testing.assert_allclose(post.rows.concentration, [[1.0, 4.0], [2.0, 3.0]], rtol=1e-14)
    # 2/3 · 3/4 from row 0, 2/3 · 1/4 from row 1
    assert float(post.log_evidence) == pytest.approx(np.log(1.0 / 12.0), rel=1e-12)


def test_an_observed_variable_is_an_index() -> None:
    m = Model()
    m.z = Categorical([0.2, 0.3, 0.5]).iid("n")
    m.p = Beta(1.0, 2.0).iid(3)
    m.y = Bernoulli(take(m.p, m.z))
    post = m.infer(z=CODES, y=BITS)
    for j in range(3):
        ones = BITS[j == CODES]
        assert_same(post.p, Beta(1.0 + ones.sum(), 2.0 + len(ones) - ones.sum()), j)
    index = Model()
    index.p = Beta(1.0, 2.0).iid(3)
    index.y = Bernoulli(index.p[CODES])
    known = np.log([0.2, 0.3, 0.5])[CODES].sum()
    assert float(post.log_evidence) == pytest.approx(
        float(index.infer(y=BITS).log_evidence) + known, rel=1e-12
    )


def test_independent_unknowns_are_separate_blocks() -> None:
    m = Model()
    m.p = Beta(1.0, 1.0)
    m.x = Bernoulli(m.p).iid("n")
    m.mu = Normal(0.0, variance=1.0)
    m.y = Normal(m.mu, variance=1.0)
    plan = m.plan(x=BITS, y=0.3)
    assert [block.method for block in plan.blocks] == ["conjugate update", "Gaussian elimination"]
    assert "Beta prior in 1 place; 9 rows of x (Bernoulli)" in repr(plan)
    total = bayes(Beta(1.0, 1.0), Bernoulli, BITS).log_evidence.value
    total += Normal(0.0, variance=2.0).log_prob(0.3)
    assert float(plan.run().log_evidence) == pytest.approx(total, rel=1e-12)


def test_without_data_the_prior_predicts() -> None:
    m = Model()
    m.p = Beta(2.0, 1.0)
    m.y = Binomial(3, m.p)
    post = m.infer()
    assert post.p == Beta(2.0, 1.0)
    assert post.y.mean == pytest.approx(2.0)
    assert float(post.log_evidence) == 0.0


def test_a_prior_may_have_been_asked_for_its_other_forms() -> None:
    prior = Normal(0.2, variance=2.0)
    assert prior.precision == 0.5
    assert prior.scale == pytest.approx(np.sqrt(2.0))
    case = CASES["LogMeanVariance"]._replace(prior=prior)
    assert_same(
        one_for_all(case).infer(y=POSITIVE).theta,
        bayes(prior, case.likelihood, POSITIVE).posterior,
    )


@pytest.mark.topic("004/4.13")
def test_recursive_estimation_of_a_constant() -> None:
    belief, variance = Normal(0.5, variance=4.0), 0.8
    for x in REAL:
        m = Model()
        m.theta = belief
        m.x = Normal(m.theta, variance=variance)
        after = m.infer(x=x).theta
        gain = belief.variance / (belief.variance + variance)
        assert after.mean == pytest.approx(belief.mean + gain * (x - belief.mean), rel=1e-12)
        assert after.variance == pytest.approx((1.0 - gain) * belief.variance, rel=1e-12)
        assert after.variance < belief.variance
        belief = after
    whole = Model()
    whole.theta = Normal(0.5, variance=4.0)
    whole.x = Normal(whole.theta, variance=variance).iid("t")
    assert_same(belief, whole.infer(x=REAL).theta)


# -- refusals ----------------------------------------------------------------------------------


def seen_by(prior: Any, likelihood: Callable[[Any], Any], **data: Any) -> Any:
    m = Model()
    m.theta = prior
    m.y = likelihood(m.theta)
    return m.infer(**data)


@pytest.mark.parametrize(
    ("prior", "likelihood", "y", "error", "words"),
    [
        (Laplace(0.0, 1.0), lambda t: Normal(0.0, variance=t), 1.0, TypeError, "not conjugate"),
        (
            Laplace(0.0, 1.0),
            lambda p: Poisson(p),
            1.0,
            TypeError,
            "not conjugate to the rate of Poi",
        ),
        (Beta(1.0, 1.0), lambda p: Bernoulli(1.0 - p), 1.0, TypeError, "without a map"),
        (Beta(1.0, 1.0), lambda p: Bernoulli(0.5 * p), 1.0, TypeError, "without a map"),
        (Gamma(1.0, 1.0), lambda r: Poisson(r + 1.0), 1.0, TypeError, "known factor times"),
        (Gamma(1.0, 1.0), lambda r: Poisson(-1.0 * r), 1.0, ValueError, "y: .*positive"),
        (
            Gamma([1.0, 2.0], 1.0),
            lambda r: Poisson(r[0] + r[1]),
            1.0,
            TypeError,
            "several members of theta",
        ),
        (Gamma([1.0, 2.0], 1.0), lambda r: Poisson([1, 2] @ r), 1.0, TypeError, "mixes"),
        (
            Dirichlet([1.0, 1.0]),
            lambda p: Bernoulli(p[0]),
            1.0,
            TypeError,
            "mixes the entries",
        ),
        (
            Gamma(1.0, 1.0),
            lambda r: Poisson(r).iid("n"),
            [1.0, 2.5],
            ValueError,
            r"y: .*Poisson: row 1 holds 2\.5",
        ),
        (
            Beta(1.0, 1.0),
            lambda p: Binomial(2, p).iid("n"),
            [1.0, 3.0],
            ValueError,
            "exceed trials: row 1",
        ),
    ],
)
def test_refusals(prior: Any, likelihood: Any, y: Any, error: Any, words: str) -> None:
    with pytest.raises(error, match=words):
        seen_by(prior, likelihood, y=y, method="vmp")


def test_row_numbers_among_gaps_say_what_they_count() -> None:
    with pytest.raises(ValueError, match=r"row 2 .*\(counting rows that"):
        seen_by(Gamma(1.0, 1.0), lambda r: Poisson(r).iid("n"), y=[1.0, np.nan, 2.0, -1.0])


@pytest.mark.parametrize(
    ("prior", "likelihood", "words"),
    [
        (Beta(1.0, 1.0), lambda p: Bernoulli(p * p), "not linear"),
        (Gamma(1.0, 1.0), lambda t: Normal(t, precision=t), "mean and precision of y both"),
    ],
)
def test_what_is_not_conjugate_has_a_reason(prior: Any, likelihood: Any, words: str) -> None:
    m = Model()
    m.theta = prior
    m.y = likelihood(m.theta)
    bound = bind(m._variables, m._inputs, {"y": 1.0})
    reason = fits_conjugate(Group(bound, bound.latent, bound.factors)).reason
    assert reason is not None
    assert words in reason


def test_two_unknowns_of_one_child_are_no_conjugate_block() -> None:
    m = Model()
    m.a = Gamma(1.0, 1.0)
    m.b = Gamma(1.0, 1.0)
    m.y = Poisson(m.a + m.b)
    bound = bind(m._variables, m._inputs, {"y": 3})
    reason = fits_conjugate(Group(bound, bound.latent, bound.factors)).reason
    assert reason == "several unknown variables share factors"


def test_a_joint_distribution_with_no_family_is_refused() -> None:
    post = one_for_all(CASES["GammaPoisson"]).infer(y=COUNTS)
    with pytest.raises(TypeError, match="no closed form"):
        post.joint("theta")
