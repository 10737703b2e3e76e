"""Mixtures of independent columns against enumeration, quadrature, plain EM and the model language."""

import itertools
from functools import cache

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad
from scipy.special import betaln, gammaln, logsumexp

from posteriori import Model, bayes
from posteriori.distributions import (
    Bernoulli,
    Beta,
    Categorical,
    Dirichlet,
    Gamma,
    MvNormal,
    Normal,
    NormalInverseGamma,
    Poisson,
)
from posteriori.mixture import FamilyMixture, LatentClasses
from posteriori.numerics.warnings import ConvergenceWarning

MIXED = ("normal", "bernoulli", "poisson", "categorical")
PRIORS = {
    "normal": NormalInverseGamma(0.0, 0.5, 2.0, 1.5),
    "bernoulli": Beta(1.0, 2.0),
    "poisson": Gamma(2.0, rate=0.5),
    "categorical": Dirichlet([1.0, 0.5, 2.0]),
}


def mixed_table(n, seed=0, gaps=0.15):
    rng = np.random.default_rng(seed)
    z = rng.integers(0, 2, n)
    x = np.column_stack(
        [
            rng.normal(3.0 * z, 1.0),
            rng.random(n) < np.where(z, 0.9, 0.2),
            rng.poisson(np.where(z, 1.0, 6.0)),
            np.where(z, rng.integers(0, 2, n), rng.integers(1, 3, n)),
        ]
    ).astype(float)
    x[rng.random(x.shape) < gaps] = np.nan
    return x


def random_shares(n, k, seed=0):
    return np.random.default_rng(seed).dirichlet(np.ones(k), n)


# -- evidence ------------------------------------------------------------------------------


def log_weight_evidence(codes, k, concentration):
    counts = np.bincount(codes, minlength=k) + concentration
    before = gammaln(concentration * np.ones(k)).sum() - gammaln(k * concentration)
    return gammaln(counts).sum() - gammaln(counts.sum()) - before


def enumerated_evidence(log_evidence_of_rows, n, k, concentration):
    """Return ln Σ_z p(z) Π_k p(rows of k), all K^N assignments written out."""
    inside_of = cache(lambda mine: log_evidence_of_rows(np.array(mine)))
    terms = []
    for codes in itertools.product(range(k), repeat=n):
        codes = np.array(codes)
        inside = sum(inside_of(tuple(codes == j)) for j in range(k))
        terms.append(inside + log_weight_evidence(codes, k, concentration))
    return logsumexp(terms)


def column_evidence(x):
    """Return ln p of rows of the mixed kinds, column by column, by Bayes' rule."""

    def of(mine):
        total = 0.0
        families = (Normal, Bernoulli, Poisson, Categorical)
        for column, kind, family in zip(x[mine].T, MIXED, families, strict=True):
            seen = column[~np.isnan(column)]
            if len(seen):
                total += float(bayes(PRIORS[kind], family, seen).log_evidence.value)
        return total

    return of


@pytest.mark.parametrize("k", [2, 3])
def test_bound_lies_below_the_sum_over_all_assignments(k):
    x = mixed_table(6, seed=3)
    exact = enumerated_evidence(column_evidence(x), len(x), k, 0.7)
    model = LatentClasses(
        k, MIXED, priors=PRIORS, weight_concentration_prior=0.7, random_state=0
    ).fit(x)
    plain = model.log_evidence_.value - model.symmetry_gain_
    assert plain <= model.log_evidence_.value <= exact
    assert exact - model.log_evidence_.value < 2.5  # and not far below
    assert 0.0 <= model.symmetry_gain_ <= gammaln(k + 1)
    assert (model.log_evidence_.kind, model.log_evidence_.of) == ("bound", "X")


def test_counting_all_namings_is_most_of_what_a_bound_lacks():
    """The exact evidence of two Poisson components, counted by rows and totals."""
    rng = np.random.default_rng(1)
    calls = rng.poisson(np.where(rng.random(60) < 0.4, 20.0, 3.0))
    total, n = calls.sum(), len(calls)
    ways = np.full((n + 1, total + 1), -np.inf)
    ways[0, 0] = 0.0
    for c in calls:
        ways[1:, c:] = np.logaddexp(ways[1:, c:], ways[:-1, : total + 1 - c])
    rows, s = np.ogrid[: n + 1, : total + 1]

    def log_prob(n, total):
        return np.log(0.1) + gammaln(1 + total) - (1 + total) * np.log(0.1 + n)

    terms = (
        ways + betaln(1 + rows, 1 + n - rows) + log_prob(rows, s) + log_prob(n - rows, total - s)
    )
    exact = logsumexp(terms) - gammaln(calls + 1).sum()
    model = FamilyMixture(
        Poisson, 2, prior=Gamma(1.0, rate=0.1), weight_concentration_prior=1.0, random_state=0
    ).fit(calls[:, None])
    assert model.symmetry_gain_ == pytest.approx(np.log(2), abs=1e-6)
    plain = model.log_evidence_.value - model.symmetry_gain_
    assert plain + 0.8 * (exact - plain) < model.log_evidence_.value < exact


def test_bound_is_energy_and_entropy_by_quadrature():
    """L = E ln p(X, z, θ, π) − E ln q, every expectation an integral of its own."""
    x = np.array([0.0, 1.0, 1.0, 7.0, 9.0])
    alpha, prior = 0.8, Gamma(2.0, rate=0.5)
    model = FamilyMixture(
        Poisson,
        2,
        prior=prior,
        weight_concentration_prior=alpha,
        tol=1e-12,
        responsibilities_init=np.array([[0.9, 0.1]] * 3 + [[0.2, 0.8]] * 2),
    ).fit(x[:, None])
    weights, rates = model.posterior_
    share = stats.beta(*weights.concentration)
    log_pi = [
        quad(lambda p: share.pdf(p) * np.log(p), 0, 1)[0],
        quad(lambda p: share.pdf(p) * np.log1p(-p), 0, 1)[0],
    ]
    q = [
        stats.gamma(a, scale=1 / b)
        for a, b in zip(rates.shape[:, 0], rates.rate[:, 0], strict=True)
    ]
    before = stats.gamma(2.0, scale=2.0)

    def expect(law, f):
        return quad(lambda v: law.pdf(v) * f(v), 0, law.ppf(1 - 1e-15), limit=200)[0]

    log_p = np.array(
        [[expect(law, lambda v, n=n: stats.poisson.logpmf(n, v)) for law in q] for n in x]
    )
    scores = log_p + log_pi
    r = np.exp(scores - logsumexp(scores, axis=1)[:, None])
    bound = (r * (scores - np.log(r))).sum()
    for law in q:
        bound -= expect(law, lambda v, law=law: law.logpdf(v) - before.logpdf(v))
    prior_share = stats.beta(alpha, alpha)
    bound -= quad(lambda p: share.pdf(p) * (share.logpdf(p) - prior_share.logpdf(p)), 0, 1)[0]
    assert model.log_evidence_.value - model.symmetry_gain_ == pytest.approx(bound, abs=1e-6)


def test_bounds_are_those_of_the_model_language_for_counts():
    rng = np.random.default_rng(1)
    calls = rng.poisson(np.where(rng.random(150) < 0.3, 9.0, 3.0))
    m = Model()
    m.pi = Dirichlet([1, 1])
    m.rate = Gamma(shape=1, rate=0.1).iid(2)
    m.z = Categorical(m.pi).iid("day")
    m.calls = Poisson(m.rate[m.z])
    theirs = float(m.infer(calls=calls, tol=1e-12).log_evidence)
    ours = FamilyMixture(
        Poisson,
        2,
        prior=Gamma(1.0, rate=0.1),
        weight_concentration_prior=1.0,
        tol=1e-11,
        random_state=0,
    ).fit(calls[:, None])
    assert ours.log_evidence_.value - ours.symmetry_gain_ == pytest.approx(theirs, rel=1e-8)


@pytest.mark.topic("000/S5")
def test_bounds_are_those_of_the_model_language_for_votes():
    rng = np.random.default_rng(4)
    yes = np.array([[0.9] * 4 + [0.1] * 3 + [0.5], [0.1] * 4 + [0.9] * 3 + [0.5]])
    votes = (rng.random((80, 8)) < yes[rng.integers(0, 2, 80)]).astype(float)
    votes[rng.random(votes.shape) < 0.1] = np.nan
    m = Model()
    m.pi = Dirichlet(np.ones(2))
    m.p = Beta(np.ones(8), 1).iid(2)
    m.z = Categorical(m.pi).iid("member")
    m.votes = Bernoulli(m.p[m.z])
    theirs = float(m.infer(votes=votes, tol=1e-12).log_evidence)
    common = {"weight_concentration_prior": 1.0, "tol": 1e-11, "random_state": 0}
    for ours in (
        FamilyMixture(Bernoulli, 2, prior=Beta(1.0, 1.0), **common),
        LatentClasses(2, "bernoulli", **common),
    ):
        ours.fit(votes)
        plain = ours.log_evidence_.value - ours.symmetry_gain_
        assert plain == pytest.approx(theirs, rel=1e-8)


def test_one_class_is_exact_and_says_so():
    x = mixed_table(20)
    model = LatentClasses(1, MIXED, priors=PRIORS).fit(x)
    exact = column_evidence(x)(np.ones(len(x), dtype=bool))
    assert model.log_evidence_.value == pytest.approx(exact, rel=1e-10)
    assert model.log_evidence_.kind == "exact"
    assert model.symmetry_gain_ == 0.0


# -- expectation–maximisation --------------------------------------------------------------


def plain_em(x, shares, steps, imagined=1e-6):
    """Mixture of Bernoullis with gaps by loops; each component has seen all rows as a millionth."""
    n, k, d = len(x), shares.shape[1], x.shape[1]
    for _ in range(steps + 1):
        weights = (shares.sum(axis=0) + imagined) / (n + k * imagined)
        mu = np.empty((k, d))
        for j in range(k):
            for c in range(d):
                seen = ~np.isnan(x[:, c])
                w = shares[seen, j] + imagined / n
                mu[j, c] = w @ x[seen, c] / w.sum()
        log_joint = np.tile(np.log(weights), (n, 1))
        for i in range(n):
            for c in range(d):
                if not np.isnan(x[i, c]):
                    log_joint[i] += np.log(mu[:, c] if x[i, c] else 1 - mu[:, c])
        shares = np.exp(log_joint - logsumexp(log_joint, axis=1)[:, None])
    return logsumexp(log_joint, axis=1).sum(), weights, mu


@pytest.mark.topic("000/S5")
@pytest.mark.parametrize("gaps", [0.0, 0.3])
def test_steps_are_those_of_plain_em(gaps):
    rng = np.random.default_rng(2)
    x = (rng.random((25, 4)) < np.where(rng.random((25, 1)) < 0.5, 0.8, 0.3)).astype(float)
    x[rng.random(x.shape) < gaps] = np.nan
    x = x[~np.isnan(x).all(axis=1)]
    shares = random_shares(len(x), 2)
    options = {"max_iter": 3, "accelerated": False, "tol": 0.0, "responsibilities_init": shares}
    likelihood, weights, mu = plain_em(x, shares, 3)
    order = np.argsort(-weights)
    for model in (
        LatentClasses(2, "bernoulli", method="ml", **options),
        FamilyMixture(Bernoulli, 2, **options),
    ):
        with pytest.warns(ConvergenceWarning, match="raise max_iter"):
            model.fit(x)
        assert model.log_likelihood_ == pytest.approx(likelihood, rel=1e-10)
        assert model.log_likelihood(x) == pytest.approx(likelihood, rel=1e-10)
        np.testing.assert_allclose(model.weights_, weights[order], rtol=1e-10)
    np.testing.assert_allclose(model.model_.components.probability.T, mu[order], rtol=1e-9)


@pytest.mark.topic("000/S5")
def test_one_bernoulli_component_has_the_means():
    x = (np.random.default_rng(0).random((30, 3)) < 0.4) * 1.0
    model = FamilyMixture(Bernoulli, 1).fit(x)
    np.testing.assert_allclose(model.model_.components.probability[:, 0], x.mean(axis=0))


@pytest.mark.topic("000/S5")
def test_separated_prototypes_are_recovered_in_many_columns():
    """Products of 2000 probabilities are far below the least number."""
    rng = np.random.default_rng(0)
    prototypes = rng.integers(0, 2, (3, 2000))
    z = rng.choice(3, p=[0.5, 0.3, 0.2], size=90)
    x = np.where(rng.random((90, 2000)) < 0.1, 1 - prototypes[z], prototypes[z]).astype(float)
    model = FamilyMixture(Bernoulli, 3, random_state=0, n_init=3).fit(x)
    order = np.argsort(-np.bincount(z), kind="stable")
    np.testing.assert_array_equal(model.predict(x), np.argsort(order)[z])
    assert np.mean((model.model_.components.probability.T > 0.5) == prototypes[order]) > 0.999


@pytest.mark.parametrize("estimate", ["bayes", "ml"])
def test_trace_never_falls(estimate):
    for seed in range(4):
        x = mixed_table(80, seed)
        model = LatentClasses(3, MIXED, method=estimate, n_init=3, random_state=seed).fit(x)
        assert model.converged_
        assert len(model.trace_) == model.n_iter_ + 1
        assert np.diff(model.trace_).min() >= -1e-10 * abs(model.trace_).max()


def test_the_objective_of_estimates_is_their_likelihood_but_for_a_millionth_of_a_row():
    x = mixed_table(80)
    model = LatentClasses(2, MIXED, method="ml", random_state=0).fit(x)
    assert model.log_likelihood_ == pytest.approx(model.log_likelihood(x), rel=1e-10)
    assert model.trace_[-1] == pytest.approx(model.log_likelihood_, abs=1e-4)


# -- what must not matter ------------------------------------------------------------------

CASES = [
    (LatentClasses(3, MIXED, n_init=3), mixed_table(60)),
    (LatentClasses(3, MIXED, n_init=3, method="ml"), mixed_table(60)),
    (FamilyMixture(Poisson, 2, n_init=3, prior=Gamma(1.0, rate=0.2)), mixed_table(60)[:, [2]]),
    (FamilyMixture(Normal, 2, n_init=3), mixed_table(60)[:, [0]]),
]


def value_of(model):
    return getattr(model, "log_likelihood_", None) or model.log_evidence_.value


@pytest.mark.parametrize(("estimator", "x"), CASES)
def test_weights_are_repeated_rows_in_any_order(estimator, x):
    rng = np.random.default_rng(0)
    times = rng.integers(0, 4, len(x))
    copies = np.repeat(x, times, axis=0)[rng.permutation(times.sum())]
    one = estimator.set_params(random_state=1).fit(x, sample_weight=times)
    first, weights, scores = value_of(one), one.weights_, one.score_samples(x)
    other = estimator.fit(copies)
    assert value_of(other) == pytest.approx(first, rel=1e-9)
    np.testing.assert_allclose(other.weights_, weights, rtol=1e-5)
    np.testing.assert_allclose(other.score_samples(x), scores, rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize(("estimator", "x"), CASES)
def test_names_do_not_matter(estimator, x):
    k = estimator.n_components
    shares = random_shares(len(x), k)
    scores = []
    for order in (np.arange(k), np.arange(k)[::-1]):
        model = estimator.set_params(responsibilities_init=shares[:, order]).fit(x)
        assert (np.diff(model.weights_) <= 0).all()
        scores.append(model.score_samples(x))
    estimator.set_params(responsibilities_init=None)
    np.testing.assert_allclose(*scores, rtol=1e-6)


def test_units_of_normal_columns_do_not_matter():
    x = mixed_table(60)[:, [0]]
    prior = NormalInverseGamma(1.0, 0.1, 1.5, 1.0)
    far = NormalInverseGamma(1.0 + 1e7, 0.1, 1.5, 1.0)
    start = {"responsibilities_init": random_shares(len(x), 2), "tol": 1e-9}
    near = FamilyMixture(Normal, 2, prior=prior, **start).fit(x)
    moved = FamilyMixture(Normal, 2, prior=far, **start).fit(x + 1e7)
    assert moved.log_evidence_.value == pytest.approx(near.log_evidence_.value, rel=1e-6)
    np.testing.assert_allclose(
        moved.posterior_.components.scale, near.posterior_.components.scale, rtol=1e-5
    )


# -- gaps ----------------------------------------------------------------------------------


@pytest.mark.topic("000/I1")
def test_rows_with_gaps_have_the_marginals_of_what_is_seen():
    """p(x) = Σ_z p(x | z) p(z), and an entry that is missing is summed over."""
    x = mixed_table(50, gaps=0.0)[:, 1:]
    model = LatentClasses(2, MIXED[1:], method="ml", random_state=0).fit(x)
    row = np.array([[1.0, 2.0, np.nan]])
    filled = np.repeat(row, 3, axis=0)
    filled[:, 2] = np.arange(3)
    total = logsumexp(model.score_samples(filled))
    assert model.score_samples(row)[0] == pytest.approx(total, rel=1e-12)
    joint = np.exp(model.score_samples(filled) - total) @ model.predict_proba(filled)
    np.testing.assert_allclose(model.predict_proba(row)[0], joint, rtol=1e-10)


@pytest.mark.parametrize(("estimator", "x"), CASES)
def test_rows_without_entries_have_the_weights(estimator, x):
    model = estimator.set_params(random_state=0).fit(x)
    nothing = np.full((2, x.shape[1]), np.nan)
    np.testing.assert_allclose(model.predict_proba(nothing), np.tile(model.weights_, (2, 1)))
    np.testing.assert_allclose(model.score_samples(nothing), 0.0, atol=1e-12)
    before = value_of(model)
    assert value_of(estimator.fit(np.concatenate([x, nothing]))) == pytest.approx(before, rel=1e-9)


# -- draws ---------------------------------------------------------------------------------


def test_draws_come_from_the_components():
    x = mixed_table(400, gaps=0.0)
    model = LatentClasses(2, MIXED, random_state=0).fit(x)
    drawn, codes = model.sample(20_000, rng=0)
    assert drawn.shape == (20_000, 4)
    share = (codes == 0).mean()
    assert abs(share - model.weights_[0]) < 5 * np.sqrt(0.25 / 20_000)
    again = (model.predict(drawn) == codes).mean()
    assert abs(again - model.predict_proba(drawn).max(axis=1).mean()) < 5 * np.sqrt(0.25 / 20_000)


# -- partitions ----------------------------------------------------------------------------


def test_partitions_sum_to_the_evidence_of_all_assignments():
    x = mixed_table(6, seed=3)
    exact = enumerated_evidence(column_evidence(x), len(x), 2, 0.7)
    model = LatentClasses(2, MIXED, priors=PRIORS, weight_concentration_prior=0.7)
    assert float(model.enumerate_partitions(x).log_evidence) == pytest.approx(exact, rel=1e-10)


def test_tables_and_default_priors_have_partitions():
    x = np.array([[0.0, 1.0], [1.0, 1.0], [0.0, 0.0], [0.0, 1.0], [2.0, 0.0]])
    model = LatentClasses(2, "table", weight_concentration_prior=0.5)

    def of(mine):
        cells = 2.0 * x[mine, 0] + x[mine, 1]
        return (
            float(bayes(Dirichlet(np.ones(6)), Categorical, cells).log_evidence.value)
            if mine.any()
            else 0.0
        )

    exact = enumerated_evidence(of, len(x), 2, 0.5)
    assert float(model.enumerate_partitions(x).log_evidence) == pytest.approx(exact, rel=1e-10)
    assert model.set_params(random_state=0).fit(x).log_evidence_.value <= exact


def test_partitions_of_a_family_bound_its_evidence():
    x = np.array([[0.0], [1.0], [1.0], [7.0], [9.0], [np.nan], [8.0]])
    model = FamilyMixture(Poisson, 3, prior=Gamma(1.0, rate=0.2), random_state=0).fit(x)
    exact = float(model.enumerate_partitions(x).log_evidence)
    assert exact - 1.5 < model.log_evidence_.value <= exact


@pytest.mark.parametrize(
    "model", [FamilyMixture(Poisson, 2), LatentClasses(2, "poisson", method="ml")]
)
def test_estimates_have_no_partitions(model):
    with pytest.raises(ValueError, match="only with"):
        model.enumerate_partitions([[0.0], [1.0]])


def test_moves_lead_out_of_poor_starts():
    """The prior has fewer classes than the nine clusters of a grid; ascents alone stay with nine."""
    centres = 8.0 * np.stack(np.divmod(np.arange(9), 3), axis=1)
    x = np.repeat(centres, 20, axis=0) + np.random.default_rng(0).normal(size=(180, 2))
    for seed in range(3):
        plain, moved = (
            LatentClasses(9, n_init=1, split_merge=moves, random_state=seed).fit(x).trace_
            for moves in (False, True)
        )
        assert moved[-1] > plain[-1] + 1.0


def test_moves_lead_likelihoods_out_of_poor_starts():
    """Five Poisson groups: where two share a component and another has two, ascents alone stay."""
    x = np.random.default_rng(0).poisson(np.repeat([1.0, 8.0, 25.0, 60.0, 120.0], 40))[:, None]
    for estimator in (FamilyMixture(Poisson, 5), LatentClasses(5, "poisson", method="ml")):
        estimator.set_params(n_init=1, random_state=0)
        plain = estimator.set_params(split_merge=False).fit(x).log_likelihood_
        moved = estimator.set_params(split_merge=True).fit(x)
        assert moved.log_likelihood_ > plain + 10.0
        assert np.diff(moved.trace_).min() >= -1e-10 * abs(moved.trace_).max()
        np.testing.assert_allclose(moved.weights_, 0.2, atol=0.05)


@pytest.mark.parametrize(
    "estimator",
    [FamilyMixture(Normal, 3), FamilyMixture(MvNormal, 3), LatentClasses(3, method="ml")],
)
def test_moves_do_not_lead_onto_single_rows(estimator):
    """Two equal rows would give any likelihood: where an ascent alone has rows enough, moves keep that."""
    x = np.random.default_rng(0).normal(size=(60, 2))
    x[:2] = 0.3
    kept = 0
    for seed in range(4):
        estimator.set_params(n_init=1, random_state=seed)
        counts, values = [], []
        for moves in (False, True):
            model = estimator.set_params(split_merge=moves).fit(x)
            counts.append(model.predict_proba(x).sum(axis=0).min())
            values.append(model.log_likelihood_)
        assert values[1] >= values[0] - 1e-6
        if counts[0] > 3.0:
            assert counts[1] >= 2.0
            assert np.abs(model.score_samples(x[:2])).max() < 10.0
            kept += 1
    assert kept
