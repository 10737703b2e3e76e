"""Conjugate blocks over plates, indices and gaps, against `bayes`, loops and quadrature."""

from typing import Any

import numpy as np
import pytest

from posteriori import MvNormal, Normal, bayes
from posteriori.distributions.conjugate.pair import list_pairs
from posteriori.modeling import Input, Model
from tests.modeling.conjugate_models import (
    CASES,
    GROUP,
    N,
    assert_same,
    gaps,
    log_average,
    one_for_all,
    one_for_each_group,
)

SCALARS = [n for n, c in CASES.items() if not c.prior.event_shape]


def test_every_pair_with_one_unknown_has_a_row() -> None:
    normal = (Normal, MvNormal)
    pairs = {
        p.__name__
        for p in list_pairs()
        if len(p.unknown) == 1
        and not (p.prior_family in normal and p.likelihood_family in normal)  # the Gaussian block
    }
    assert pairs == set(CASES)


@pytest.mark.parametrize("name", CASES)
def test_one_unknown_for_all_rows_is_bayes_rule(name: str) -> None:
    case = CASES[name]
    post = one_for_all(case).infer(y=case.data)
    exact = bayes(case.prior, case.likelihood, case.data)
    assert_same(post.theta, exact.posterior)
    assert float(post.log_evidence) == pytest.approx(exact.log_evidence.value, rel=1e-12)
    predicted = post.predict("y")
    assert predicted.batch_shape == (N,)
    np.testing.assert_allclose(
        predicted.log_prob(case.data), exact.predictive.log_prob(case.data), rtol=1e-12
    )


@pytest.mark.parametrize("name", CASES)
def test_a_known_index_is_one_fit_for_each_group(name: str) -> None:
    case = CASES[name]
    post = one_for_each_group(case).infer(g=GROUP, y=case.data)
    fits = [bayes(case.prior, case.likelihood, case.data[j == GROUP]) for j in range(3)]
    for j, fit in enumerate(fits):
        assert_same(post.theta, fit.posterior, j)
    total = sum(fit.log_evidence.value for fit in fits)
    assert float(post.log_evidence) == pytest.approx(total, rel=1e-12)
    predicted = post.predict("y", g=[2, 0]).log_prob(case.data[:2])
    for k, j in enumerate((2, 0)):
        assert predicted[k] == pytest.approx(fits[j].predictive.log_prob(case.data[k]), rel=1e-12)


@pytest.mark.parametrize("build", [one_for_all, one_for_each_group])
@pytest.mark.parametrize("name", CASES)
def test_missing_rows_are_rows_left_out(name: str, build: Any) -> None:
    case = CASES[name]
    kept = np.array([k not in (1, 4) for k in range(N)])
    index = {"g": GROUP} if build is one_for_each_group else {}
    post = build(case).infer(index, y=gaps(case.data))
    shorter = build(case).infer({k: v[kept] for k, v in index.items()}, y=case.data[kept])
    assert_same(post.theta, shorter.theta)
    assert float(post.log_evidence) == pytest.approx(float(shorter.log_evidence), rel=1e-13)


@pytest.mark.parametrize("name", CASES)
def test_no_rows_say_nothing(name: str) -> None:
    case = CASES[name]
    for data in (case.data[:0], np.full(np.shape(case.data), np.nan)):
        post = one_for_all(case).infer(y=data)
        assert post.theta == case.prior
        assert float(post.log_evidence) == 0.0


@pytest.mark.parametrize("name", CASES)
def test_groups_without_rows_keep_their_prior(name: str) -> None:
    case = CASES[name]
    post = one_for_each_group(case).infer(g=[0, 0], y=case.data[:2])
    exact = bayes(case.prior, case.likelihood, case.data[:2])
    assert_same(post.theta, exact.posterior, 0)
    assert_same(post.theta, case.prior, 2)
    assert float(post.log_evidence) == pytest.approx(exact.log_evidence.value, rel=1e-12)


@pytest.mark.parametrize("name", CASES)
def test_groups_may_differ_in_size(name: str) -> None:
    case = CASES[name]
    rng = np.random.default_rng(11)
    group = rng.permutation(np.repeat(np.arange(7), [1, 0, 2, 13, 5, 8, 3]))
    data = case.data[rng.integers(0, N, len(group))]
    m = Model()
    m.g = Input()
    m.theta = case.prior.iid(7)
    m.y = case.likelihood(m.theta[m.g])
    post = m.infer(g=group, y=data)
    total = 0.0
    for j in (0, 2, 3, 4, 5, 6):
        fit = bayes(case.prior, case.likelihood, data[group == j])
        assert_same(post.theta, fit.posterior, j)
        total += fit.log_evidence.value
    assert_same(post.theta, case.prior, 1)
    assert float(post.log_evidence) == pytest.approx(total, rel=1e-12)


@pytest.mark.parametrize("name", SCALARS)
def test_evidence_is_the_average_of_the_likelihood_over_the_prior(name: str) -> None:
    case = CASES[name]
    model, y = one_for_all(case), case.data[:3]
    jump = case.prior.cdf(np.max(y) + 1.0) if name == "ParetoUniform" else 0.5
    assert float(model.infer(y=y).log_evidence) == pytest.approx(
        log_average(model, case.prior, {"y": y}, split=float(jump)), abs=1e-7
    )
