"""Predictions under variational beliefs, against draws of the beliefs pushed through the model."""

import numpy as np
import pytest

from posteriori import (
    Bernoulli,
    Beta,
    Categorical,
    Chain,
    Dirichlet,
    Gamma,
    Input,
    Model,
    MvNormal,
    Normal,
    take,
)
from posteriori.distributions import Mixture, MvStudentT, NegativeBinomial, StudentT
from tests.modeling.variational.small_models import CASES

DRAWS = 40000


def solved(case):
    model, data = CASES[case]()
    return model.infer(data, method="vmp"), data


def assert_moments(found, draws):
    """Compare mean and variance with draws, within 5 standard errors."""
    mean, variance = np.asarray(found.mean), np.asarray(found.variance)
    error = draws.std(axis=0) / np.sqrt(len(draws))
    assert np.all(np.abs(draws.mean(axis=0) - mean) < 5 * error)
    squares = (draws - mean) ** 2
    error = squares.std(axis=0) / np.sqrt(len(draws))
    assert np.all(np.abs(squares.mean(axis=0) - variance) < 5 * error)


def noise(rng, precision):
    return rng.standard_normal(precision.shape) / np.sqrt(precision)


def test_new_rows_of_location_and_precision():
    post, _ = solved("location and precision")
    d = post.sample(DRAWS, rng=0)
    rng = np.random.default_rng(1)
    x = post.predict("x", n=1)
    assert isinstance(x, StudentT)
    assert post.predict("x", n=3).batch_shape == (3,)
    assert_moments(x, (d["mu"] + noise(rng, d["tau"]))[:, None])
    assert post.predict("x").batch_shape == (12,)


def test_without_doubt_about_the_mean_the_student_is_exact():
    """With mu almost known, x is Student t with the belief about tau integrated out."""
    m = Model()
    m.mu = Normal(2, variance=1e-12)
    m.tau = Gamma(3, rate=2)
    m.x = Normal(m.mu, precision=m.tau).iid("n")
    post = m.infer(x=[1.0, 3.5, 2.5])
    x = post.predict("x", n=1)
    grid = np.array([-1.0, 1.9, 6.0])
    a, b = post.tau.shape, post.tau.rate
    t = np.linspace(1e-6, 12, 400001)
    density = [
        np.trapezoid(np.exp(Normal(2, precision=t).log_prob(g) + Gamma(a, rate=b).log_prob(t)), t)
        for g in grid
    ]
    assert np.allclose(np.exp(x.log_prob(grid[:, None]))[:, 0], density, rtol=1e-6)


def test_regression_at_new_inputs():
    post, _ = solved("regression")
    rng = np.random.default_rng(1)
    X = rng.normal(size=(4, 3))
    d = post.sample(DRAWS, rng=0)
    y = post.predict("y", X=X)
    assert isinstance(y, StudentT)
    assert_moments(y, d["w"] @ X.T + noise(rng, np.repeat(d["tau"][:, None], 4, axis=1)))


def test_new_groups_and_their_data():
    post, data = solved("groups")
    rng = np.random.default_rng(2)
    d = post.sample(DRAWS, rng=0)
    theta = d["mu"] + noise(rng, d["tau"])
    found = post.predict("theta", g=1)
    assert isinstance(found, StudentT)
    assert_moments(found, theta[:, None])
    y = post.predict("y", g=1, noise=[9.0])
    assert_moments(y, (theta + 3.0 * rng.standard_normal(DRAWS))[:, None])
    again = post.predict("y")
    assert_moments(again, d["theta"] + np.sqrt(data["noise"]) * rng.standard_normal((DRAWS, 8)))


def mixture_draws(d, rng):
    z = (rng.random(DRAWS)[:, None] > np.cumsum(d["pi"], axis=1)[:, :-1]).sum(axis=1)
    rows = np.arange(DRAWS)
    root = np.linalg.cholesky(np.linalg.inv(d["precision"][rows, z]))
    return d["mu"][rows, z] + np.einsum("nij,nj->ni", root, rng.standard_normal((DRAWS, 2)))


def test_new_rows_of_a_mixture():
    post, _ = solved("mixture")
    rng = np.random.default_rng(3)
    x = post.predict("x", n=1)
    assert isinstance(x, Mixture)
    assert isinstance(x.components, MvStudentT)
    assert np.allclose(x.probabilities[0], post.pi.mean)
    d = post.sample(DRAWS, rng=0)
    assert_moments(x, mixture_draws(d, rng)[:, None])
    # the density at points, of a shape that is nearly right, is an average over the parameters
    points = np.array([[0.0, 0.0], [3.0, 1.5], [6.0, 3.0], [7.0, 6.0]])
    cov = np.linalg.inv(d["precision"])
    given = np.stack(
        [(d["pi"] * np.exp(MvNormal(d["mu"], cov=cov).log_prob(p))).sum(axis=1) for p in points],
        axis=1,
    )
    error = given.std(axis=0) / np.sqrt(DRAWS)
    found = np.exp([x.log_prob(p)[0] for p in points])
    assert np.all(np.abs(found - given.mean(axis=0)) < 5 * error + 0.01 * found)


def test_rows_of_the_data_keep_their_classes():
    post, _ = solved("mixture")
    assert np.allclose(post.predict("x").probabilities, post.z.probabilities)


def test_new_counts_behind_an_index():
    post, _ = solved("counts")
    rng = np.random.default_rng(4)
    x = post.predict("x", n=1)
    assert isinstance(x.components, NegativeBinomial)
    d = post.sample(DRAWS, rng=0)
    many = rng.random(DRAWS) < d["pi"][:, 1]
    draws = rng.poisson(np.where(many, d["rate"][:, 1], d["rate"][:, 0]))
    assert_moments(x, draws[:, None])
    share = np.mean(draws == 2)
    assert abs(share - np.exp(x.log_prob(2.0))[0]) < 5 * np.sqrt(share / DRAWS)
    z = post.predict("z", n=1)
    assert np.allclose(z.probabilities, post.pi.mean)
    assert z.labels == ("few", "many")


def test_new_events_behind_events():
    """Coins of two kinds, each of which is one with an unknown chance."""
    m = Model()
    m.share = Beta(2, 2)
    m.p = Beta([1.0, 2.0], [2.0, 1.0])
    m.z = Bernoulli(m.share).iid("n")
    m.x = Bernoulli(take(m.p, m.z)).iid(2)
    data = np.array([[0, 0], [0, 1], [1, 1], [1, 1], [0, 0], [1, 0]])
    post = m.infer(x=data, method="vmp")
    share = np.array([1.0 - post.share.mean, post.share.mean])
    found = post.predict("x", n=3).probability
    np.testing.assert_allclose(found, np.full((3, 2), share @ post.p.mean), rtol=1e-12)


def test_new_scores_make_new_rows():
    post, _ = solved("factors")
    rng = np.random.default_rng(5)
    d = post.sample(DRAWS, rng=0)
    z = rng.standard_normal((DRAWS, 2))
    tau = np.repeat(d["tau"][:, None], 4, axis=1)
    draws = np.einsum("sdk,sk->sd", d["W"], z) + d["b"] + noise(rng, tau)
    assert_moments(post.predict("y", n=1), draws[:, None])


def test_sums_over_independent_members():
    """Members of b are believed in independently of one another: variances add."""
    model, data = CASES["factors"]()
    model.total = Normal(np.ones(4) @ model.b, variance=1)
    post = model.infer(data)
    total = post.predict("total")
    assert np.allclose(total.mean, post.b.mean.sum())
    assert np.allclose(total.variance, post.b.variance.sum() + 1)


def test_rows_of_the_data_keep_their_scores():
    post, _ = solved("factors")
    rng = np.random.default_rng(6)
    d = post.sample(10000, rng=0)
    tau = np.broadcast_to(d["tau"][:, None, None], (10000, 30, 4))
    draws = np.einsum("sdk,snk->snd", d["W"], d["z"]) + d["b"][:, None] + noise(rng, tau)
    assert_moments(post.predict("y"), draws)


@pytest.mark.parametrize("case", ["hidden Markov", "linear dynamics"])
def test_series_of_the_data_are_repeated(case):
    post, _ = solved(case)
    rng = np.random.default_rng(7)
    d = post.sample(10000, rng=0)
    if case == "hidden Markov":
        rows = np.arange(10000)[:, None]
        draws = d["mu"][rows, d["z"]] + noise(rng, d["tau"][rows, d["z"]])
    else:
        draws = d["s"] + noise(rng, np.repeat(d["r"][:, None], 25, axis=1))
    assert_moments(post.predict("y"), draws)


def test_categories_and_coins_below_classes():
    """Σ_k q(z = k) E[p_k], exact under q."""
    rng = np.random.default_rng(8)
    m = Model()
    m.pi = Dirichlet([2.0, 2.0])
    m.theta = Dirichlet(np.ones(3)).iid(2)
    m.coin = Beta([1.0, 2.0], [2.0, 1.0])
    m.z = Categorical(m.pi).iid("n")
    m.w = Categorical(m.theta[m.z])
    m.c = Bernoulli(m.coin[m.z])
    z = np.arange(20) % 2
    c = (rng.random(20) < 0.2 + 0.6 * z).astype(int)
    post = m.infer(w=2 * z, c=c, method="vmp")
    w, c = post.predict("w"), post.predict("c")
    assert np.allclose(w.probabilities, post.z.probabilities @ post.theta.mean)
    assert np.allclose(c.probability, post.z.probabilities @ post.coin.mean)
    assert np.allclose(post.predict("w", n=1).probabilities, post.pi.mean @ post.theta.mean)


# -- new data --------------------------------------------------------------------------------


def test_responsibilities_of_new_rows():
    """ln r_k = E[ln π_k] + ½E[ln|Λ_k|] − ½E[(x − μ)ᵀΛ(x − μ)], by hand."""
    post, _ = solved("mixture")
    x = np.array([[0.5, 0.2], [3.0, 1.0], [6.0, 4.0], [np.nan, np.nan]])
    log_det, average = post.precision.mean_params
    gap = x[:, None] - post.mu.mean
    squares = np.einsum("nki,kij,nkj->nk", gap, average, gap)
    squares += np.einsum("kij,kij->k", average, post.mu.cov)
    logs = post.pi.mean_params[0] + np.where(np.isnan(squares), 0.0, 0.5 * (log_det - squares))
    r = np.exp(logs - logs.max(axis=1, keepdims=True))
    found = post.predict("z", x=x).probabilities
    assert np.allclose(found, r / r.sum(axis=1, keepdims=True), atol=1e-12)


def test_scores_of_new_rows_with_gaps():
    post, _ = solved("factors")
    y = np.array([[0.3, 1.0, 2.0, 2.5], [np.nan, 0.4, np.nan, 3.0]])
    tau, W = post.tau.mean, post.W.mean
    joint = post.joint("W", "b")
    cov = joint.cov.reshape(12, 12)
    found = post.predict("z", y=y)
    for i, row in enumerate(y):
        precision, h = np.eye(2), np.zeros(2)
        for d in np.flatnonzero(~np.isnan(row)):
            own = slice(2 * d, 2 * d + 2)
            precision += tau * (np.outer(W[d], W[d]) + cov[own, own])
            h += tau * (W[d] * (row[d] - post.b.mean[d]) - cov[own, 8 + d])
        assert np.allclose(found.cov[i], np.linalg.inv(precision))
        assert np.allclose(found.mean[i], np.linalg.solve(precision, h))


@pytest.mark.parametrize(
    ("case", "name", "data"),
    [
        ("mixture", "z", "x"),
        ("counts", "z", "x"),
        ("factors", "z", "y"),
        ("hidden Markov", "z", "y"),
        ("linear dynamics", "s", "y"),
    ],
)
def test_the_same_data_again_have_the_same_beliefs(case, name, data):
    """At convergence the local nodes are optimal, so copies of the data get the same beliefs."""
    model, given = CASES[case]()
    post = model.infer(given, tol=1e-10, method="vmp")
    values = np.asarray(given[data])
    alone = case in ("hidden Markov", "linear dynamics")  # a longer series would be another one
    values = values + 1e-14 if alone else np.concatenate([values, values])
    again = post.predict(name, **{data: values})
    old = post[name]
    parts = zip(again.mean_params, old.mean_params, strict=True)
    for found, expected in parts:
        assert np.allclose(found[: len(expected)], expected, atol=1e-6, rtol=1e-6)


def test_new_inputs_with_new_data():
    rng = np.random.default_rng(9)
    X = rng.normal(size=(40, 2))
    z = np.arange(40) % 2
    y = np.where(z, X @ [3.0, 1.0], X @ [-3.0, 1.0]) + 0.1 * rng.normal(size=40)
    m = Model()
    m.X = Input("n")
    m.pi = Dirichlet([2.0, 2.0])
    m.w = Normal(0, variance=10).iid(2).iid(2)
    m.tau = Gamma(2, rate=0.1)
    m.z = Categorical(m.pi).iid("n")
    m.y = Normal((m.w[m.z] * m.X) @ np.ones(2), precision=m.tau)
    post = m.infer(X=X, y=y)
    again = post.predict("z", X=X[:6], y=y[:6])
    assert np.allclose(again.probabilities, post.z.probabilities[:6], atol=1e-6)
    with pytest.raises(ValueError, match="X"):
        post.predict("z", y=y[:6])
    rng = np.random.default_rng(10)
    d = post.sample(DRAWS, rng=0)
    mean = np.einsum("skj,j->sk", d["w"], X[0])
    second = rng.random(DRAWS) < d["pi"][:, 1]
    draws = np.where(second, mean[:, 1], mean[:, 0]) + noise(rng, d["tau"])
    assert_moments(post.predict("y", X=X[:1]), draws[:, None])


def test_children_of_new_members_use_their_data():
    """With y given for new groups, a second measurement is predicted from their own theta."""
    m = Model()
    m.mu = Normal(0, variance=100)
    m.tau = Gamma(3, rate=3)
    m.theta = Normal(m.mu, precision=m.tau).iid("g")
    m.y = Normal(m.theta, variance=0.01)
    m.w = Normal(m.theta, variance=0.25)
    post = m.infer(y=[1.0, 2.0, 4.0, 3.0], w=[1.1, 2.2, 3.9, 2.8])
    theta = post.predict("theta", y=[2.0, 10.0])
    w = post.predict("w", y=[2.0, 10.0])
    assert np.allclose(theta.mean, [2.0, 10.0], atol=0.2)
    assert np.allclose(w.mean, theta.mean)
    assert np.allclose(w.variance, theta.variance + 0.25)


def test_plates_of_unchanged_size_keep_their_members():
    """Columns on a named plate: new rows, the same columns."""
    rng = np.random.default_rng(11)
    m = Model()
    m.mu = Normal(0, variance=100).iid("d")
    m.tau = Gamma(3, rate=3)
    m.a = Normal(0, variance=1).iid("n")
    m.y = Normal(m.mu + m.a, precision=m.tau)
    y = rng.normal(size=(6, 3)) + np.arange(3)
    axes = m.plan(y=y).bound.layouts["y"].plates
    y = y if axes[0].name == "n" else y.T
    post = m.infer(y=y)
    new = np.concatenate([y, y], axis=[a.name for a in axes].index("n"))
    assert np.allclose(post.predict("a", y=new).mean[:6], post.predict("a", y=new).mean[6:])
    assert post.update(y=new).mu.batch_shape == (3,)


def test_digits_far_from_zero():
    near, far = Model(), Model()
    x = np.array([1.0, 2.0, 4.0, 3.0])
    for m, at in ((near, 0.0), (far, 1e8)):
        m.mu = Normal(at, variance=100)
        m.tau = Gamma(3, rate=3)
        m.x = Normal(m.mu, precision=m.tau).iid("n")
    a = near.infer(x=x).predict("x", n=1)
    b = far.infer(x=x + 1e8).predict("x", n=1)
    assert np.allclose(a.variance, b.variance, rtol=1e-6)
    assert np.allclose(a.mean, b.mean - 1e8, atol=1e-6)


def test_points_are_put_in():
    m = Model()
    m.mu = Normal(0, variance=100)
    m.tau = Gamma(3, rate=3)
    m.x = Normal(m.mu, precision=m.tau).iid("n")
    post = m.infer(x=[1.0, 2.0, 4.0, 3.0], form={"tau": "point"})
    x = post.predict("x", n=1)
    assert isinstance(x, Normal)
    assert np.allclose(x.variance, post.mu.variance + 1 / post.tau.mean)


def test_forecast_of_linear_dynamics():
    """E[s_{T+h}] = E[a^h] E[s_T], E[s²_{T+h}] by the same recursion, under independent beliefs."""
    post, _ = solved("linear dynamics")
    rng = np.random.default_rng(12)
    d = post.sample(DRAWS, rng=0)
    s, y = d["s"][:, -1], []
    states = []
    for _ in range(3):
        s = d["a"] * s + noise(rng, d["q"])
        states.append(s)
        y.append(s + noise(rng, d["r"]))
    for name, draws in (("s", states), ("y", y)):
        found = post.predict(name, t=3)
        assert found.batch_shape == (3,)
        draws = np.stack(draws, axis=1)
        size = np.sqrt(1 / DRAWS + 1 / 4000)  # the forecast is made of 4000 draws
        assert np.all(np.abs(found.mean - draws.mean(axis=0)) < 5 * draws.std(axis=0) * size)
        squares = (draws - draws.mean(axis=0)) ** 2
        error = 5 * squares.std(axis=0) * size
        assert np.all(np.abs(found.variance - squares.mean(axis=0)) < error)


def test_forecast_of_a_hidden_markov_model():
    post, _ = solved("hidden Markov")
    rng = np.random.default_rng(13)
    d = post.sample(DRAWS, rng=0)
    rows, z = np.arange(DRAWS), d["z"][:, -1]
    for _ in range(2):
        z = (rng.random(DRAWS) < d["A"][rows, z, 1]).astype(int)
    share = z.mean()
    found = post.predict("z", t=2)
    error = np.sqrt(share * (1 - share) * (1 / DRAWS + 1 / 4000))
    assert abs(found.probabilities[1, 1] - share) < 5 * error
    y = d["mu"][rows, z] + noise(rng, d["tau"][rows, z])
    assert abs(post.predict("y", t=2).mean[1] - y.mean()) < 5 * y.std() * np.sqrt(
        1 / DRAWS + 1 / 4000
    )


def test_forecast_with_inputs():
    """A random walk with drift b·u: the inputs of the new steps are used, in their order."""
    rng = np.random.default_rng(14)
    u = rng.normal(size=30)
    x = np.cumsum(2.0 * u) + 0.1 * rng.normal(size=30)
    m = Model()
    m.u = Input("t")
    m.b = Normal(0, variance=10)
    m.q = Gamma(3, rate=0.1)
    m.s = Chain(Normal(0, variance=9), lambda s: Normal(s + m.b * m.u, precision=m.q), length="t")
    m.y = Normal(m.s, variance=0.01)
    post = m.infer(u=u, y=x)
    new = np.array([1.0, -1.0, 10.0])
    found = post.predict("y", u=new)
    assert found.batch_shape == (3,)
    assert np.allclose(found.mean - post.s.mean[-1], 2.0 * np.cumsum(new), atol=1.0)


def test_forecast_of_a_panel():
    """Each series goes on from its own end; new series at the same time are refused."""
    rng = np.random.default_rng(15)
    m = Model()
    m.q = Gamma(3, rate=0.1)
    m.r = Gamma(3, rate=0.1)
    m.s = Chain(Normal(0, variance=100).iid("k"), lambda s: Normal(s, precision=m.q), length="t")
    m.y = Normal(m.s, precision=m.r)
    y = np.array([0.0, 10.0, -20.0]) + np.cumsum(0.1 * rng.normal(size=(20, 3)), axis=0)
    post = m.infer(y=y)
    found = post.predict("y", t=2)
    assert found.batch_shape == (2, 3)
    assert np.allclose(found.mean, post.s.mean[-1], atol=0.1)
    with pytest.raises(TypeError, match="several new plates"):
        post.predict("y", t=2, k=2)


def test_fixed_axes_ask_for_an_update():
    m = Model()
    m.mu = Normal(0, variance=100)
    m.tau = Gamma(3, rate=3)
    m.x = Normal(m.mu, precision=m.tau).iid(4)
    post = m.infer(x=[1.0, 2.0, 4.0, 3.0])
    with pytest.raises(TypeError, match="update"):
        post.predict("mu", x=[1.0, 2.0, 3.0, 9.0])
