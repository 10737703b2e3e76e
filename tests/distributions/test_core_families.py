"""What the laws do not say of the first families: refusals, edges, and Gaussian algebra in batches."""

import numpy as np
import pytest
from scipy import stats

from posteriori.distributions import (
    Bernoulli,
    Beta,
    Cauchy,
    Dirichlet,
    Gamma,
    MvNormal,
    MvStudentT,
    Normal,
    NormalGamma,
    NormalInverseGamma,
    NormalInverseWishart,
    NormalWishart,
    VectorNormalGamma,
    VectorNormalInverseGamma,
    Wishart,
)
from tests.distributions import oracles
from tests.distributions.cases import CASES

EYE = np.eye(2)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: Normal(0.0, variance=-1.0), ValueError, r"variance must be positive, got -1"),
        (lambda: Normal(0.0, scale=0.0), ValueError, r"scale must be positive, got 0"),
        (lambda: Normal(0.0, precision=np.inf), ValueError, r"precision must be finite, got inf"),
        (lambda: Normal(np.nan, variance=1.0), ValueError, r"mean must be finite, got nan"),
        (lambda: Normal(0.0), TypeError, r"exactly one of variance, scale, precision; got none"),
        (lambda: Normal(0.0, variance=1.0, scale=1.0), TypeError, r"got variance and scale"),
        (lambda: Normal("a", variance=1.0), TypeError, r"mean must hold real numbers"),
        (
            lambda: Normal([0.0, 1.0], variance=[1.0, 1.0, 1.0]),
            ValueError,
            r"do not broadcast: mean \(2,\), variance \(3,\)",
        ),
        (
            lambda: MvNormal([0.0, 0.0], cov=[[1.0, 0.5], [0.4, 1.0]]),
            ValueError,
            r"cov must be symm",
        ),
        (
            lambda: MvNormal([0.0, 0.0], cov=[[1.0, 2.0], [2.0, 1.0]]),
            ValueError,
            r"cov must be positive semi-definite, its smallest eigenvalue is -1",
        ),
        (
            lambda: MvNormal([0.0, 0.0], precision=np.ones((2, 2))),
            ValueError,
            r"precision must be positive definite",
        ),
        (lambda: MvNormal([0.0, 0.0], cov=np.eye(3)), ValueError, r"mean has 2 entries.* 3 x 3"),
        (lambda: MvNormal(0.0, cov=EYE), ValueError, r"mean must be a vector"),
        (lambda: MvNormal([0.0, 0.0]), TypeError, r"exactly one of cov, precision; got none"),
        (lambda: Gamma(0.0, 1.0), ValueError, r"shape must be positive, got 0"),
        (lambda: Gamma(1.0, -2.0), ValueError, r"rate must be positive, got -2"),
        (lambda: Beta(1.0, 0.0), ValueError, r"b must be positive, got 0"),
        (lambda: Dirichlet([1.0, -1.0]), ValueError, r"concentration must be positive, got -1"),
        (lambda: Dirichlet(1.0), ValueError, r"concentration must be a vector"),
        (lambda: Bernoulli(1.2), ValueError, r"probability must lie between 0 and 1, got 1.2"),
        (lambda: Wishart(0.5, EYE), ValueError, r"dof must exceed D - 1 = 1.*got 0.5"),
    ],
)
def test_bad_parameters_are_named(make, error, message):
    with pytest.raises(error, match=message):
        make()


@pytest.mark.parametrize(
    ("fit", "message"),
    [
        (lambda: Normal.fit([2.0, 2.0, 2.0]), "do not vary"),
        (lambda: Gamma.fit([2.0, 2.0]), "spread of the data"),
        (lambda: Beta.fit([0.5, 0.5]), "do not vary"),
        (lambda: Dirichlet.fit([[0.5, 0.5], [0.5, 0.5]]), "do not vary"),
        (lambda: Gamma.fit([1.0, 0.0]), "support of Gamma"),
        (lambda: Bernoulli.fit([0, 1, 2]), "support of Bernoulli"),
        (lambda: Dirichlet.fit([[0.5, 0.6]]), "support of Dirichlet"),
    ],
)
def test_data_without_a_fit_are_refused(fit, message):
    with pytest.raises(ValueError, match=message):
        fit()


def test_the_three_ways_to_say_spread_agree():
    for d in (Normal(1.0, scale=2.0), Normal(1.0, precision=0.25)):
        assert d == Normal(1.0, variance=4.0)
        assert (d.scale, d.variance, d.precision) == (2.0, 4.0, 0.25)
    w = np.array([[2.0, 0.5], [0.5, 1.0]])
    a, b = MvNormal([1.0, 2.0], precision=w), MvNormal([1.0, 2.0], cov=np.linalg.inv(w))
    np.testing.assert_allclose(a.cov, b.cov, rtol=1e-14)
    np.testing.assert_allclose(a.precision, b.precision, rtol=1e-14)


def test_densities_at_the_ends_of_the_support():
    assert Gamma(1.0, 2.0).log_prob(0.0) == pytest.approx(np.log(2.0))
    assert Gamma(2.0, 2.0).log_prob(0.0) == -np.inf
    assert Gamma(0.5, 2.0).log_prob(0.0) == np.inf
    assert Gamma(50.0, 2.0).log_prob(0.0) == -np.inf
    np.testing.assert_array_equal(Beta(1.0, 1.0).log_prob([0.0, 1.0]), [0.0, 0.0])
    np.testing.assert_array_equal(Beta(2.0, 0.5).log_prob([0.0, 1.0]), [-np.inf, np.inf])
    np.testing.assert_array_equal(Beta(40.0, 40.0).log_prob([0.0, 1.0]), [-np.inf, -np.inf])
    assert Dirichlet([1.0, 1.0, 1.0]).log_prob([0.0, 0.5, 0.5]) == pytest.approx(np.log(2.0))
    assert Dirichlet([20.0, 20.0, 20.0]).log_prob([0.0, 0.5, 0.5]) == -np.inf


def test_modes_at_the_ends_of_the_support():
    assert Gamma(0.5, 1.0).mode == 0.0
    np.testing.assert_array_equal(
        Beta([2.0, 0.5, 0.5, 1.0], [1.0, 2.0, 0.5, 1.0]).mode, [1, 0, 0.5, 0.5]
    )
    with pytest.raises(ValueError, match="mode needs every concentration"):
        _ = Dirichlet([0.5, 2.0]).mode


def test_certainty():
    yes, no = Bernoulli(1.0), Bernoulli(0.0)
    np.testing.assert_array_equal(yes.log_prob([0, 1]), [-np.inf, 0.0])
    assert yes.entropy() == 0.0
    assert yes.kl(Bernoulli(0.5)) == pytest.approx(np.log(2.0))
    assert Bernoulli(0.5).kl(yes) == np.inf
    assert yes.kl(yes) == 0.0
    assert (yes * Bernoulli(0.3)).probability == 1.0
    with pytest.raises(ValueError, match="contradictory certainties"):
        yes * no


def test_huge_points_have_small_densities_and_no_warnings():
    for d in (Normal(0.0, variance=1.0), MvNormal([0.0], cov=[[1.0]])):
        x = 1e200 if isinstance(d, Normal) else [1e200]
        assert d.log_prob(x) == -np.inf
    assert Gamma(2.0, 1.0).log_prob(1e308) == pytest.approx(-1e308)


def test_a_batch_may_mix_messages_with_distributions():
    mixed = Normal.from_natural([1.0, 0.5, 2.0], [2.0, 0.0, -1.0])
    np.testing.assert_array_equal(mixed.is_proper, [True, False, False])
    x = np.array([0.3, 0.4, 0.5])
    exponent = np.array([1.0, 0.5, 2.0]) * x - 0.5 * np.array([2.0, 0.0, -1.0]) * x**2
    expected = exponent - [Normal.from_natural(1.0, 2.0).log_normalizer(), 0.0, 0.0]
    np.testing.assert_allclose(mixed.log_prob(x), expected, rtol=1e-13)
    proper = mixed * Normal(0.0, precision=3.0)
    assert np.all(proper.is_proper)
    np.testing.assert_allclose(proper.mean, [0.2, 0.5 / 3, 1.0], rtol=1e-13)
    w = np.stack([EYE, np.zeros((2, 2)), -EYE])
    many = MvNormal.from_natural(np.ones((3, 2)), w)
    np.testing.assert_array_equal(many.is_proper, [True, False, False])
    one = MvNormal([1.0, 1.0], cov=EYE).log_prob([0.2, 0.3])
    np.testing.assert_allclose(many.log_prob([0.2, 0.3]), [one, 0.5, 0.5 + 0.065], rtol=1e-13)


def test_a_rank_deficient_message_informs_one_direction():
    message = MvNormal.from_natural([2.0, 0.0], [[1.0, 0.0], [0.0, 0.0]])
    assert not message.is_proper
    d = message * MvNormal([0.0, 5.0], cov=EYE)
    np.testing.assert_allclose(d.mean, [1.0, 5.0], rtol=1e-14)
    np.testing.assert_allclose(d.cov, np.diag([0.5, 1.0]), rtol=1e-14)
    with pytest.raises(ValueError, match="MvNormal is an improper"):
        _ = message.cov
    with pytest.raises(ValueError, match="symmetric"):
        MvNormal.from_natural([0.0, 0.0], [[1.0, 0.5], [0.0, 1.0]])


def test_a_singular_covariance_has_draws_but_no_density():
    d = MvNormal([1.0, 2.0], cov=np.ones((2, 2)))
    draws = d.sample(500, rng=0)
    np.testing.assert_allclose(draws[:, 0] - 1.0, draws[:, 1] - 2.0, atol=1e-7)
    with pytest.raises(ValueError, match="covariance is singular"):
        d.log_prob([1.0, 2.0])
    assert d.marginal([0]).log_prob([1.0]) == pytest.approx(-0.5 * np.log(2 * np.pi))


def test_gaussian_algebra_of_batches_is_a_loop():
    rng = np.random.default_rng(2)
    root = rng.normal(size=(4, 3, 3))
    batch = MvNormal(rng.normal(size=(4, 3)), cov=root @ np.swapaxes(root, -1, -2) + np.eye(3))
    a, b = rng.normal(size=(2, 3)), rng.normal(size=2)
    members = [MvNormal(m, cov=c) for m, c in zip(batch.mean, batch.cov, strict=True)]
    for operation in (
        lambda d: d.marginal([2, 0]),
        lambda d: d.condition([1], [0.3]),
        lambda d: d.affine(a, b),
        lambda d: d + d,
        lambda d: d + np.ones(3),
        lambda d: d.joint(a, b, noise=EYE),
    ):
        together = operation(batch)
        for i, member in enumerate(members):
            alone = operation(member)
            np.testing.assert_allclose(together.mean[i], alone.mean, rtol=1e-11, atol=1e-12)
            np.testing.assert_allclose(together.cov[i], alone.cov, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda d: d.marginal([2]), "indices must lie between 0 and 1"),
        (lambda d: d.marginal([0, 0]), "must not repeat"),
        (lambda d: d.condition([0, 1], [0.0, 0.0]), "nothing is left"),
        (lambda d: d.affine(np.ones((2, 3))), "matrix must have 2 columns"),
    ],
)
def test_gaussian_algebra_refuses_what_does_not_fit(ask, message):
    with pytest.raises(ValueError, match=message):
        ask(MvNormal([0.0, 0.0], cov=EYE))
    with pytest.raises(TypeError, match="indices must be whole numbers"):
        MvNormal([0.0, 0.0], cov=EYE).marginal([0.5])


# -- joint families: their marginals are integrals of the joint density ------------------------


@pytest.mark.parametrize(
    "family",
    [
        NormalGamma,
        NormalInverseGamma,
        VectorNormalGamma,
        VectorNormalInverseGamma,
        NormalWishart,
        NormalInverseWishart,
    ],
)
def test_the_spread_of_a_joint_family_has_its_marginal(family):
    case = next(c for c in CASES if c.family is family)
    d = case.one()
    rule = case.rule_for(d)
    name = {
        "precision": "marginal_precision",
        "variance": "marginal_variance",
        "cov": "marginal_cov",
    }
    marginal = getattr(d, name[d.mean._fields[1]])()
    f = oracles.statistics_of(marginal)
    wanted = oracles.expect(d, rule, f(rule.points[1]))
    mean = np.concatenate(
        [np.ravel(p) if np.ndim(p) < 2 else p[np.tril_indices(2)] for p in marginal.mean_params]
    )
    np.testing.assert_allclose(mean, wanted, rtol=1e-5)


@pytest.mark.parametrize(
    "d", [NormalGamma(0.5, 1.7, 4.0, 3.0), NormalInverseGamma(0.5, 1.7, 4.0, 3.0)], ids=repr
)
def test_the_mean_of_a_joint_family_has_its_marginal(d):
    tau = oracles.positive_line()
    spread = tau if isinstance(d, NormalGamma) else oracles.inverted(tau)
    for m in (-2.0, 0.5, 0.9, 6.0):
        density = np.exp(d.log_prob((np.full(len(tau.weights), m), spread.points)))
        assert np.exp(d.marginal_mean().log_prob(m)) == pytest.approx(
            spread.weights @ density, rel=1e-9
        )


@pytest.mark.parametrize("family", [NormalWishart, NormalInverseWishart])
def test_the_mean_vector_of_a_joint_family_has_its_marginal(family):
    d = next(c for c in CASES if c.family is family).one()
    spread = oracles.matrices_2d() if family is NormalWishart else oracles.inverse_matrices_2d()
    for m in ([0.3, -0.2], [0.8, 0.5]):
        means = np.broadcast_to(m, (len(spread.weights), 2))
        density = np.exp(d.log_prob((means, spread.points)))
        assert np.exp(d.marginal_mean().log_prob(m)) == pytest.approx(
            spread.weights @ density, rel=1e-5
        )


def test_vector_form_with_one_weight_is_the_scalar_one():
    one = NormalInverseGamma(0.5, 1.7, 4.0, 3.0)
    vector = NormalInverseGamma([0.5], mean_precision=[[1.7]], shape=4.0, scale=3.0)
    assert isinstance(vector, VectorNormalInverseGamma)
    at = vector.log_prob(([0.9], 1.1))
    assert at == pytest.approx(one.log_prob((0.9, 1.1)), rel=1e-13)
    assert vector.entropy() == pytest.approx(one.entropy(), rel=1e-13)


def test_multivariate_t_is_a_normal_of_uncertain_scale():
    d = MvStudentT(7.0, [0.5, -0.3], scale=[[1.2, 0.4], [0.4, 0.8]])
    x = np.array([1.5, 0.3])
    tau = oracles.positive_line()
    mixed = [
        np.exp(stats.multivariate_normal(d.location, d.scale / t).logpdf(x)) for t in tau.points
    ]
    expected = (tau.weights * np.exp(Gamma(3.5, 3.5).log_prob(tau.points))) @ np.array(mixed)
    assert np.exp(d.log_prob(x)) == pytest.approx(expected, rel=1e-10)
    split = d.marginal([1]).log_prob(x[1:]) + d.condition([1], x[1:]).log_prob(x[:1])
    assert d.log_prob(x) == pytest.approx(split, rel=1e-12)


def test_multivariate_t_fit_is_a_maximum():
    true = MvStudentT(5.0, [0.5, -0.3], scale=[[1.2, 0.4], [0.4, 0.8]])
    x = true.sample(200, rng=9)
    best = MvStudentT.fit(x, dof=5.0)
    top = best.log_prob(x).sum()
    for shift in (0.01 * EYE[0], -0.01 * EYE[0], 0.01 * EYE[1], -0.01 * EYE[1]):
        assert MvStudentT(5.0, best.location + shift, scale=best.scale).log_prob(x).sum() < top
    for change in (np.diag([0.01, 0.0]), np.diag([0.0, 0.01]), 0.01 * (1 - EYE)):
        for sign in (-1.0, 1.0):
            moved = MvStudentT(5.0, best.location, scale=best.scale + sign * change)
            assert moved.log_prob(x).sum() < top
    times = np.arange(200) % 3
    weighted, repeated = (
        MvStudentT.fit(x, times, dof=5.0),
        MvStudentT.fit(np.repeat(x, times, 0), dof=5.0),
    )
    np.testing.assert_allclose(weighted.scale, repeated.scale, rtol=1e-8)


def test_an_unnamed_spread_is_refused_with_the_names():
    with pytest.raises(TypeError, match="variance=…"):
        Normal(0.0, 1.0)
    with pytest.raises(TypeError, match="cov=…"):
        MvNormal([0.0], [[1.0]])


def test_what_a_family_lacks_is_not_offered():
    with pytest.raises(AttributeError, match="Cauchy has no mean") as caught:
        _ = Cauchy(0.0, 1.0).mean
    assert "std" not in str(caught.value)
