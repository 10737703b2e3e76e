"""Posteriors as tables, and what notebooks show of posteriors and models."""

from xml.etree import ElementTree

import numpy as np
import pytest

from posteriori import Categorical, Dirichlet, Gamma, Input, Model, MvNormal, Normal, take


def regression():
    m = Model()
    m.X = Input()
    m.w = MvNormal(np.zeros(2), cov=np.eye(2))
    m.tau = Gamma(2.0, 1.0)
    m.y = Normal(m.X @ m.w, precision=m.tau)
    return m


X = np.random.default_rng(0).normal(size=(30, 2))
Y = X @ [1.0, -2.0] + 0.1 * np.random.default_rng(1).normal(size=30)


def test_a_summary_says_what_the_marginals_say():
    m = Model()
    m.mu = Normal(0.0, variance=9.0)
    m.theta = Normal(m.mu, variance=4.0).iid("g")
    m.y = Normal(m.theta, variance=1.0)
    post = m.infer(y=[2.0, 3.0, 7.0])
    table = post.summary(mass=0.8)
    assert list(table.index) == ["mu", "theta[0]", "theta[1]", "theta[2]"]
    np.testing.assert_allclose(table["mean"], [post.mu.mean, *post.theta.mean])
    np.testing.assert_allclose(table["lower"][1:], post.theta.interval(0.8)[0])


def test_a_summary_of_some_names_has_their_rows_alone():
    post = regression().infer(X=X, y=Y)
    assert list(post.summary("tau").index) == ["tau"]
    assert list(post.summary("tau", "w").index) == ["tau", "w[0]", "w[1]"]


def test_numbers_that_walks_have_corrected_say_how_well_they_agree():
    rng = np.random.default_rng(2)
    m = Model()
    m.w = Dirichlet([5.0, 5.0])
    m.mu = Normal(0.0, variance=16.0).iid(2)
    m.z = Categorical(m.w).iid("n")
    m.y = Normal(take(m.mu, m.z), variance=1.0)
    post = m.infer(y=np.concatenate([rng.normal(-1.4, 1.0, 40), rng.normal(1.4, 1.0, 30)]))
    (result,) = post._solved.results
    table = post.summary()
    walks = result.chains("mu")
    for k in range(2):
        # R̂² = 1 + variance between walks over that within them, and noise of their number
        means, spreads = walks[:, :, k].mean(axis=1), walks[:, :, k].var(axis=1, ddof=1)
        naive = np.sqrt(1.0 + means.var(ddof=1) / spreads.mean())
        row = table.loc[f"mu[{k}]"]
        assert 1.0 <= row["r_hat"] < 1.3
        assert row["r_hat"] == pytest.approx(naive, abs=0.1)
        # the variance of the means of walks is that of a draw over the draws each is worth
        worth = walks[:, :, k].var() / means.var(ddof=1) * len(walks)
        assert row["ess"] == pytest.approx(worth, rel=0.5)
    assert np.isnan(table.loc["z[0]", "ess"])
    assert "r_hat" not in m.infer(y=post._solved.bound.observed["y"], method="vmp").summary()


def test_unknown_names_and_masses_are_refused():
    post = regression().infer(X=X, y=Y)
    with pytest.raises(KeyError, match="did you mean 'tau'"):
        post.summary("tao")
    with pytest.raises(ValueError, match="mass must be"):
        post.summary(mass=90)


def test_a_notebook_shows_evidence_rows_and_cautions():
    m = Model()
    m["a<b"] = Normal(0.0, variance=1.0)
    m.z = Categorical([0.7, 0.3], labels=["<red>", "blue"])
    m.mu = Normal(0.0, variance=4.0).iid(2)
    m.y = Normal(m.mu[m.z] + m["a<b"], variance=1.0)
    post = m.infer(y=1.5)
    page = post._repr_html_()
    body = ElementTree.fromstring(f"<html>{page}</html>")  # it is sound, whatever the names hold
    cells = [row[0].text for row in body.iter("tr")][1:]
    assert {"a<b", "z"} <= {*cells}
    assert f"{float(post.log_evidence):.6g}" in page
    assert "&lt;red&gt;" in page
    for text in post.cautions:
        assert text in "".join(p.text or "" for p in body.iter("p"))


def test_a_notebook_shows_the_first_rows_of_many():
    m = Model()
    m.theta = Normal(0.0, variance=4.0).iid("n")
    m.y = Normal(m.theta, variance=1.0)
    page = m.infer(y=np.arange(100.0))._repr_html_()
    assert page.count("<tr>") == 1 + 40
    assert "more in post.summary()" in page


def test_a_notebook_shows_the_graph_and_the_lines_of_a_model():
    m = regression()
    page = m._repr_html_()
    assert page.startswith("<svg")
    assert "w ~ MvNormal(mean=[0, 0], cov=array(2, 2))" in page
    assert "y ~ Normal(mean=(X @ w), precision=tau)" in page
    assert "X: given with the data" in page
