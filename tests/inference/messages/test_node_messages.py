"""Every message rule against quadrature or dense Gaussian algebra."""

import numpy as np
import pytest
from scipy import integrate
from scipy.special import logsumexp

from posteriori import Beta, Categorical, Dirichlet, Gamma, MvNormal, Normal, PointMass, Wishart
from posteriori.factors import Factor
from posteriori.inference.messages.node_messages import message, node_kinds, scaled_message
from tests.inference.message_forms import FORMS, PAIRS, natural

pytestmark = pytest.mark.blas

RNG = np.random.default_rng(4)


def value(made, x):
    """ln of the message at x, scale and all."""
    return made.log_scale + made.distribution.log_prob(x)


def integral(log_f, lower=-40.0, upper=40.0):
    """ln ∫ exp(log_f) by adaptive quadrature; log_f takes arrays."""
    grid = np.linspace(lower, upper, 4001)
    heights = log_f(grid)
    top = heights.max()
    answer, _ = integrate.quad(
        lambda x: np.exp(log_f(x) - top),
        lower,
        upper,
        points=[grid[heights.argmax()]],
        limit=500,
        epsabs=1e-13,
        epsrel=1e-12,
    )
    return top + np.log(answer)


def spd(d, rng=RNG):
    a = rng.normal(size=(d, d))
    return a @ a.T + 0.3 * np.eye(d)


# -- numbers against quadrature ----------------------------------------------------------------


@pytest.mark.topic("004/3.20")
@pytest.mark.parametrize(("first", "second"), PAIRS)
@pytest.mark.parametrize("edge", ["z", "x", "y"])
def test_addition_is_a_convolution(edge, first, second):
    a, b = FORMS[first](1.3, 0.7), FORMS[second](-0.4, 2.1)
    names = [name for name in "xyz" if name != edge]
    made = scaled_message("addition", edge, **dict(zip(names, (a, b), strict=True)))
    for point in (-1.0, 0.5, 2.0):
        if edge == "z":  # x = u, y = point − u
            expected = integral(lambda u, p=point: a.log_prob(u) + b.log_prob(p - u))
        else:  # names are (other, z)
            expected = integral(lambda u, p=point: a.log_prob(u) + b.log_prob(p + u))
        np.testing.assert_allclose(value(made, point), expected, atol=1e-9)


def test_addition_of_an_improper_message_is_a_convolution():
    a, b = Normal.from_natural(0.3, -0.2), Normal(0.5, precision=1.5)
    made = scaled_message("addition", "z", x=a, y=b)
    for point in (-1.0, 0.5, 2.0):
        expected = integral(lambda u, p=point: a.log_prob(u) + b.log_prob(p - u))
        np.testing.assert_allclose(value(made, point), expected, atol=1e-9)
    blurred = scaled_message("addition", "z", x=a, y=Normal(0.5, variance=1 / 1.5))
    np.testing.assert_allclose(value(blurred, 0.7), value(made, 0.7), atol=1e-12)


@pytest.mark.topic("004/3.26")
def test_vague_messages():
    flat = Normal.from_natural(0.0, 0.0)
    proper = natural(1.0, 2.0)
    for x, y in ((flat, proper), (proper, flat), (flat, flat)):
        z = message("addition", "z", x=x, y=y)
        np.testing.assert_allclose(z.natural, [0.0, 0.0], atol=1e-15)
    assert message("addition", "z", x=proper) is None
    assert message("gain", "y", matrix=2.0) is None
    assert message("gaussian", "out", variance=1.0) is None
    assert message("equality", "z", x=proper, y=None) is proper
    np.testing.assert_allclose(message("equality", "z", x=flat, y=proper).mean, 1.0)
    assert not message("gaussian", "out", mean=flat, variance=1.0).is_proper


@pytest.mark.topic("004/3.21")
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("gain", [4.0, -0.5])
def test_gain_carries_the_determinant(form, gain):
    x = FORMS[form](1.2, 0.6)
    forward = scaled_message("gain", "y", x=x, matrix=gain)
    backward = scaled_message("gain", "x", y=x, matrix=gain)
    for point in (-1.0, 0.3):
        expected = x.log_prob(point / gain) - np.log(abs(gain))
        np.testing.assert_allclose(value(forward, point), expected, atol=1e-12)
        np.testing.assert_allclose(value(backward, point), x.log_prob(gain * point), atol=1e-12)


def test_improper_numbers_pass_a_gain():
    x = Normal.from_natural(0.7, -0.3)
    y = scaled_message("gain", "y", x=x, matrix=-2.0)
    np.testing.assert_allclose(value(y, 1.1), x.log_prob(-0.55) - np.log(2.0), atol=1e-13)


@pytest.mark.topic("004/3.23")
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("edge", "other"), [("out", "mean"), ("mean", "out")])
def test_gaussian_node(edge, other, form):
    incoming = FORMS[form](0.8, 1.7)
    made = scaled_message("gaussian", edge, **{other: incoming}, variance=0.4)
    for point in (-1.0, 0.9):
        expected = integral(
            lambda u, p=point: incoming.log_prob(u) + Normal(u, variance=0.4).log_prob(p)
        )
        np.testing.assert_allclose(value(made, point), expected, atol=1e-9)


@pytest.mark.topic("004/3.17", "004/3.24")
def test_clamps():
    clamp = message("clamp", "out", value=1.5)
    assert clamp == PointMass(1.5)
    assert message("gaussian", "mean", out=clamp, variance=2.0) == Normal(1.5, variance=2.0)
    assert message("addition", "z", x=clamp, y=2.0) == PointMass(3.5)
    assert message("addition", "y", x=clamp, z=Normal(3.0, variance=2.0)) == Normal(
        1.5, variance=2.0
    )
    assert message("addition", "x", z=clamp, y=Normal(3.0, variance=2.0)) == Normal(
        -1.5, variance=2.0
    )
    assert message("gain", "y", x=clamp, matrix=4.0) == PointMass(6.0)
    back = scaled_message("gain", "x", y=clamp, matrix=4.0)
    assert back.distribution == PointMass(0.375)
    np.testing.assert_allclose(back.log_scale, -np.log(4.0))
    met = scaled_message("equality", "z", x=Normal(0.0, variance=1.0), y=clamp)
    assert met.distribution == clamp
    np.testing.assert_allclose(met.log_scale, Normal(0.0, variance=1.0).log_prob(1.5))
    with pytest.raises(ValueError, match="0 everywhere"):
        message("equality", "z", x=clamp, y=2.0)


def test_an_improper_message_keeps_its_scale_when_shifted():
    x = Normal.from_natural(0.4, -0.1)
    z = scaled_message("addition", "z", x=x, y=2.5)
    np.testing.assert_allclose(value(z, 1.0), x.log_prob(-1.5), atol=1e-13)
    y = scaled_message("addition", "y", x=x, z=2.5)
    np.testing.assert_allclose(value(y, 1.0), x.log_prob(1.5), atol=1e-13)


# -- vectors against dense algebra -------------------------------------------------------------


def dense_vector(m, v, form):
    if form == "moment":
        return MvNormal(m, cov=v)
    if form == "precision":
        return MvNormal(m, precision=np.linalg.inv(v))
    return MvNormal.from_natural(np.linalg.solve(v, m), np.linalg.inv(v))


@pytest.mark.topic("004/3.19", "004/3.20")
@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_vectors_in_every_form(first, second):
    rng = np.random.default_rng(7)
    (m1, m2), (v1, v2) = rng.normal(size=(2, 3)), (spd(3, rng), spd(3, rng))
    x, y = dense_vector(m1, v1, first), dense_vector(m2, v2, second)
    z = scaled_message("addition", "z", x=x, y=y)
    np.testing.assert_allclose(z.distribution.mean, m1 + m2, rtol=1e-9)
    np.testing.assert_allclose(z.distribution.cov, v1 + v2, rtol=1e-9)
    np.testing.assert_allclose(z.log_scale, 0.0, atol=1e-9)
    back = scaled_message("addition", "x", z=x, y=y)
    np.testing.assert_allclose(back.distribution.mean, m1 - m2, rtol=1e-9)
    np.testing.assert_allclose(back.log_scale, 0.0, atol=1e-9)
    e = scaled_message("equality", "z", x=x, y=y)
    # V = V₁(V₁+V₂)⁻¹V₂, m = V₂(V₁+V₂)⁻¹m₁ + V₁(V₁+V₂)⁻¹m₂, scale N(m₁ | m₂, V₁+V₂)
    gain = np.linalg.inv(v1 + v2)
    np.testing.assert_allclose(e.distribution.cov, v1 @ gain @ v2, rtol=1e-9)
    np.testing.assert_allclose(e.distribution.mean, v2 @ gain @ m1 + v1 @ gain @ m2, rtol=1e-9)
    np.testing.assert_allclose(e.log_scale, MvNormal(m2, cov=v1 + v2).log_prob(m1), rtol=1e-9)


@pytest.mark.topic("004/3.21")
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("shape", [(3, 3), (2, 3), (4, 3)])
def test_matrices_of_every_shape(shape, form):
    rng = np.random.default_rng(8)
    a = rng.normal(size=shape)
    m, v = rng.normal(size=3), spd(3, rng)
    x = dense_vector(m, v, form)
    if shape[0] <= 3 or form == "moment":
        y = scaled_message("gain", "y", x=x, matrix=a)
        np.testing.assert_allclose(y.distribution.mean, a @ m, rtol=1e-8, atol=1e-12)
        np.testing.assert_allclose(y.distribution.cov, a @ v @ a.T, rtol=1e-8, atol=1e-12)
        np.testing.assert_allclose(y.log_scale, 0.0, atol=1e-8)
    n, s = rng.normal(size=shape[0]), spd(shape[0], rng)
    up = dense_vector(n, s, form)
    back = scaled_message("gain", "x", y=up, matrix=a)
    w = np.linalg.inv(s)
    np.testing.assert_allclose(back.distribution.precision, a.T @ w @ a, rtol=1e-8, atol=1e-11)
    np.testing.assert_allclose(back.distribution.weighted_mean, a.T @ w @ n, rtol=1e-8, atol=1e-11)
    for point in rng.normal(size=(3, 3)):
        np.testing.assert_allclose(value(back, point), up.log_prob(a @ point), rtol=1e-7)


@pytest.mark.topic("004/3.21", "004/3.26")
def test_a_rank_deficient_message_travels_back_and_forth():
    rng = np.random.default_rng(9)
    a = rng.normal(size=(2, 3))
    up = scaled_message("gain", "x", y=MvNormal([1.0, -2.0], cov=spd(2, rng)), matrix=a)
    assert not up.distribution.is_proper
    prior = MvNormal(rng.normal(size=3), cov=spd(3, rng))
    posterior = message("equality", "x", prior=prior, up=up.distribution)
    assert posterior.is_proper
    blurred = message("addition", "z", x=prior, y=up.distribution)  # noise on an improper message
    w, v = up.distribution.precision, prior.cov
    np.testing.assert_allclose(blurred.precision, np.linalg.solve(np.eye(3) + w @ v, w), rtol=1e-9)
    square = rng.normal(size=(3, 3))
    moved = scaled_message("gain", "y", x=up.distribution, matrix=square)
    inverse = np.linalg.inv(square)
    np.testing.assert_allclose(moved.distribution.precision, inverse.T @ w @ inverse, rtol=1e-8)
    point = rng.normal(size=3)
    np.testing.assert_allclose(
        value(moved, square @ point),
        up.distribution.log_prob(point) - np.linalg.slogdet(square)[1],
        rtol=1e-9,
    )


def test_forgetting_a_coordinate_of_an_improper_message():
    # ξᵀx − ½xᵀWx, flat along (1, 1): y = x₀ can be read only after x₁ is integrated out
    w = np.array([[1.0, -1.0], [-1.0, 1.0]])
    x = MvNormal.from_natural([0.4, -0.4], w)
    y = scaled_message("gain", "y", x=x, matrix=[[1.0, 0.0]])
    for point in (0.0, 1.3):
        expected = integral(lambda u, p=point: x.log_prob(np.stack([0.0 * u + p, u], axis=-1)))
        np.testing.assert_allclose(value(y, [point]), expected, atol=1e-9)
    with pytest.raises(ValueError, match="flat along"):
        message("gain", "y", x=x, matrix=[[1.0, -1.0]])


@pytest.mark.topic("004/3.22")
@pytest.mark.parametrize("form", FORMS)
def test_dot_products(form):
    rng = np.random.default_rng(10)
    x, m, v = rng.normal(size=3), rng.normal(size=3), spd(3, rng)
    for names in (("x", "y"), ("y", "x")):
        forward = message(
            "dot", "z", **dict(zip(names, (x, dense_vector(m, v, form)), strict=True))
        )
        np.testing.assert_allclose([forward.mean, forward.variance], [x @ m, x @ v @ x], rtol=1e-9)
        back = scaled_message("dot", names[1], **{names[0]: x}, z=FORMS[form](1.7, 0.4))
        np.testing.assert_allclose(back.distribution.precision, np.outer(x, x) / 0.4, rtol=1e-12)
        np.testing.assert_allclose(back.distribution.weighted_mean, x * 1.7 / 0.4, rtol=1e-12)
        point = rng.normal(size=3)
        expected = Normal(1.7, variance=0.4).log_prob(x @ point)
        np.testing.assert_allclose(value(back, point), expected, rtol=1e-10)


def test_singular_covariances_multiply():
    tall = np.array([[1.0], [2.0]])
    line = message("gain", "y", x=MvNormal([1.0], cov=[[2.0]]), matrix=tall)  # on the line (1, 2)t
    other = MvNormal([0.5, -0.5], cov=[[1.0, 0.2], [0.2, 0.5]])
    made = scaled_message("equality", "z", x=line, y=other)
    # the same in the coordinate t
    up = scaled_message("gain", "x", y=other, matrix=tall)
    t = scaled_message("equality", "t", a=MvNormal([1.0], cov=[[2.0]]), b=up.distribution)
    np.testing.assert_allclose(made.distribution.mean, tall @ t.distribution.mean, rtol=1e-12)
    np.testing.assert_allclose(
        made.distribution.cov, tall @ t.distribution.cov @ tall.T, rtol=1e-12
    )
    np.testing.assert_allclose(made.log_scale, t.log_scale + up.log_scale, rtol=1e-12)
    crossing = MvNormal([0.0, 1.0], cov=[[1.0, 0.0], [0.0, 0.0]])  # on the line x₁ = 1
    point = scaled_message("equality", "z", x=line, y=crossing)
    np.testing.assert_allclose(point.distribution.mean, [0.5, 1.0], rtol=1e-12)
    np.testing.assert_allclose(point.distribution.cov, np.zeros((2, 2)), atol=1e-14)
    with pytest.raises(ValueError, match="certain about the same direction"):
        message("equality", "z", x=line, y=line)


# -- other families and tables -----------------------------------------------------------------


@pytest.mark.topic("004/3.19")
@pytest.mark.parametrize(
    ("a", "b", "point"),
    [
        (Beta(2.0, 3.0), Beta(4.0, 1.5), 0.3),
        (Gamma(2.0, 3.0), Gamma(4.0, 1.5), 0.7),
        (Dirichlet([1.0, 2.0, 3.0]), Dirichlet([2.0, 1.0, 1.5]), [0.2, 0.3, 0.5]),
        (Wishart(5.0, np.eye(2)), Wishart(6.0, 2.0 * np.eye(2)), [[1.0, 0.2], [0.2, 2.0]]),
        (Categorical([0.2, 0.8]), Categorical([0.5, 0.5]), 1),
    ],
)
def test_equality_multiplies_any_family(a, b, point):
    made = scaled_message("equality", "z", x=a, y=b)
    np.testing.assert_allclose(value(made, point), a.log_prob(point) + b.log_prob(point), rtol=1e-9)
    three = scaled_message("equality", "out", x=a, y=b, z=a)
    np.testing.assert_allclose(
        value(three, point), 2 * a.log_prob(point) + b.log_prob(point), rtol=1e-9
    )


@pytest.mark.topic("004/3.11", "004/3.25", "004/3.15", "004/3.16")
def test_tables():
    rng = np.random.default_rng(12)
    table = Factor(["y", "a", "b"], rng.uniform(size=(2, 3, 4)))
    a, b = Factor("a", rng.uniform(size=3)), Factor("q", rng.uniform(size=4))
    y = message("tabular", "y", factor=table, a=a, b=b)
    expected = np.einsum("yab,a,b->y", table.values, a.values, b.values)
    np.testing.assert_allclose(y.values, expected, rtol=1e-13)
    half = message("tabular", "y", factor=table, a=a)  # b is a half-edge: its message is 1
    np.testing.assert_allclose(half.values, np.einsum("yab,a->y", table.values, a.values))
    assert message("tabular", "a", factor=a).allclose(a)  # a terminal node sends itself
    product = message("equality", "b", u=b, v=b)
    np.testing.assert_allclose(product.values, b.values**2)


def test_batches_pass_at_once():
    means = np.array([1.0, 2.0, -1.0])
    z = scaled_message("addition", "z", x=natural(means, 0.5), y=natural(means, np.full(3, 1.5)))
    np.testing.assert_allclose(z.distribution.mean, 2 * means)
    np.testing.assert_allclose(z.log_scale, 0.0, atol=1e-12)
    y = message("gain", "y", x=Normal(means, variance=0.5), matrix=3.0)
    np.testing.assert_allclose(y.variance, np.full(3, 4.5))


@pytest.mark.topic("004/3.18")
def test_the_registry_lists_what_it_has():
    kinds = node_kinds()
    assert set(kinds) == {"equality", "addition", "gain", "dot", "gaussian", "clamp", "tabular"}
    assert set(kinds["addition"]) == {"x", "y", "z"}


N = Normal(0.0, variance=1.0)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: message("maximum", "z"), ValueError, "kind must be one of equality"),
        (lambda: message("addition", "w"), ValueError, "sends on z, x, y"),
        (lambda: message("addition", "z", z=N), ValueError, "asked for"),
        (lambda: message("addition", "z", q=N), TypeError, "addition node"),
        (lambda: message("addition", "z", x=N, y=Gamma(1.0, 1.0)), TypeError, "no rule for Gamma"),
        (
            lambda: message("addition", "z", x=N, y=MvNormal([0.0], cov=[[1.0]])),
            TypeError,
            "both on numbers",
        ),
        (lambda: message("gain", "y", x=N), TypeError, "matrix"),
        (lambda: message("gain", "y", x=N, matrix=np.eye(2)), TypeError, "vector of length 2"),
        (
            lambda: message("gain", "x", y=MvNormal(np.zeros(3), cov=np.eye(3)), matrix=np.eye(2)),
            ValueError,
            "length 2.*length 3",
        ),
        (lambda: message("gain", "x", y=[1.0, 2.0], matrix=np.ones((2, 2))), ValueError, "noise"),
        (lambda: message("dot", "y", x=[1.0, 2.0], z=1.0), ValueError, "noise"),
        (lambda: message("dot", "y", x=N, z=N), TypeError, "known"),
        (lambda: message("gaussian", "out", mean=N), TypeError, "variance"),
        (lambda: message("equality", "z", x=N, y=Gamma(1.0, 1.0)), TypeError, "one family"),
        (lambda: message("tabular", "q", factor=Factor("a", [1.0])), ValueError, "axes a"),
        (
            lambda: message("addition", "z", x=N, y=Normal.from_natural(0.0, -2.0)),
            ValueError,
            "integrable|diverges",
        ),
    ],
)
def test_refusals(call, error, words):
    with pytest.raises(error, match=words):
        call()


def test_tables_far_below_1_keep_their_digits():
    a = Factor.from_log("a", [-2000.0, -2001.0])
    made = message("equality", "z", x=a, y=a)
    np.testing.assert_allclose(logsumexp(made.log_values), -4000.0 + np.log1p(np.exp(-2.0)))
