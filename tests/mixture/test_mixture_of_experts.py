"""Mixtures of experts: the ascent, its end, special cases that have other solutions, and bad input."""

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad
from scipy.optimize import minimize
from scipy.special import softmax

from posteriori.inference.predictors.softmax_averages import contrasts
from posteriori.mixture import MixtureOfExperts
from posteriori.mixture.experts.expert_learning import (
    FLOOR,
    ExpertRows,
    Experts,
    _best_experts,
    fit_experts,
    log_joint,
    log_prior,
)
from posteriori.mixture.experts.expert_starts import expert_starts
from posteriori.numerics.warnings import ConvergenceWarning
from tests.scikit_learn_checks import every_check

GATES = ["softmax", "constant"]


def crossing_lines(n=300, seed=0):
    rng = np.random.default_rng(seed)
    x, first = rng.uniform(-1, 1, n), rng.random(n) < 0.6
    y = np.where(first, 1 + 2 * x + 0.1 * rng.normal(size=n), -2 * x + 0.3 * rng.normal(size=n))
    return x[:, None], y, first


def kinked_lines(n=400, seed=1):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-3, 3, n)
    return x[:, None], np.where(x < 0, x, 3 - 2 * x) + 0.2 * rng.normal(size=n)


def standard_rows(gate, n=80, d=2, seed=3):
    rng = np.random.default_rng(seed)
    z = np.column_stack([np.ones(n), rng.standard_normal((n, d))])
    t = np.where(rng.random(n) < 0.5, z @ rng.normal(size=d + 1), -0.5) + 0.2 * rng.normal(size=n)
    t = (t - t.mean()) / t.std()
    f = rng.integers(1, 4, n).astype(float)
    return ExpertRows(z, t, f, d + 1 if gate == "softmax" else 1)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@every_check(
    [
        MixtureOfExperts(n_init=1),
        MixtureOfExperts(),
        MixtureOfExperts(3, "constant"),
        MixtureOfExperts(1),
    ]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


# -- the ascent ------------------------------------------------------------------------------


def objective(experts, rows):
    """Return the log posterior density, with log densities written once more."""
    basis = contrasts(len(experts.weights))
    gates = softmax(rows.gate_design @ experts.gate.T @ basis.T, axis=1)
    mixed = np.zeros(len(rows.targets))
    for k, w in enumerate(experts.weights):
        noise = np.exp(0.5 * experts.log_variances[k])
        mixed += gates[:, k] * stats.norm.pdf(rows.targets, rows.design @ w, noise)
    variances = np.exp(experts.log_variances)
    return (
        rows.frequency @ np.log(mixed)
        + stats.norm.logpdf(experts.weights).sum()
        + stats.norm.logpdf(experts.gate, scale=3.0).sum()
        + stats.invgamma.logpdf(variances, 1.0, scale=1 / 200).sum()
    )


@pytest.mark.topic("000/K2")
@pytest.mark.parametrize("gate", GATES)
@pytest.mark.parametrize("n_experts", [2, 3])
def test_the_ascent_never_falls_and_ends_where_the_gradient_is_zero(gate, n_experts):
    rows = standard_rows(gate)
    start = expert_starts(rows, n_experts, 1, np.random.default_rng(0))[0]
    learned = fit_experts(rows, start, tol=1e-10, max_iter=3000)
    trace = np.array(learned.result.trace)
    assert learned.result.converged
    assert (np.diff(trace) >= -1e-10 * np.abs(trace[1:])).all()
    assert trace[-1] == pytest.approx(objective(learned.experts, rows), rel=1e-10)
    shapes = [part.shape for part in learned.experts]
    ends = np.cumsum([0, *(part.size for part in learned.experts)])
    flat = np.concatenate([part.ravel() for part in learned.experts])

    def value(v):
        parts = (v[a:b].reshape(s) for a, b, s in zip(ends[:-1], ends[1:], shapes, strict=True))
        return objective(Experts(*parts), rows)

    for step in 1e-5 * np.eye(len(flat)):
        slope = (value(flat + step) - value(flat - step)) / 2e-5
        assert abs(slope) < 2e-3


def test_likelihood_is_the_sum_over_all_assignments():
    rows = standard_rows("softmax", n=5)
    start = expert_starts(rows, 2, 1, np.random.default_rng(0))[0]
    experts = fit_experts(rows, start, tol=1e-6, max_iter=500).experts
    once = rows._replace(frequency=np.ones(5))
    found = objective(experts, once) - log_prior(experts)
    plain = log_joint(experts, once)
    every = [sum(plain[n, (code >> n) & 1] for n in range(5)) for code in range(2**5)]
    assert np.logaddexp.reduce(every) == pytest.approx(found, rel=1e-12)


def test_one_expert_is_the_mode_of_linear_regression():
    rows = standard_rows("constant")
    learned = fit_experts(rows, np.ones((80, 1)), tol=1e-12, max_iter=100)

    def negative(v):
        return -objective(Experts(np.zeros((0, 1)), v[None, :-1], v[-1:]), rows)

    best = minimize(negative, np.zeros(4), method="BFGS", options={"gtol": 1e-8}).x
    np.testing.assert_allclose(learned.experts.weights[0], best[:-1], atol=1e-5)
    np.testing.assert_allclose(learned.experts.log_variances, best[-1:], atol=1e-5)
    variance = np.exp(learned.experts.log_variances[0])
    weighted = rows.design * rows.frequency[:, None]
    ridge = np.linalg.solve(
        weighted.T @ rows.design + variance * np.eye(3), weighted.T @ rows.targets
    )
    np.testing.assert_allclose(learned.experts.weights[0], ridge, rtol=1e-9)


def test_noise_stops_at_the_floor_and_says_so():
    n = 40_000
    x, y = np.zeros((n, 1)), np.r_[np.zeros(n // 2), np.linspace(1.0, 3.0, n // 2)]
    model = MixtureOfExperts(2, "constant", n_init=1, random_state=0).fit(x, y)
    least = FLOOR * y.var()
    assert model.noise_variances_.min() == pytest.approx(least, rel=1e-9)
    assert [k for k in range(2) if model.noise_variances_[k] <= 1.001 * least] == model.degenerate_


def test_too_few_steps_are_told():
    x, y, _ = crossing_lines(60)
    with pytest.warns(ConvergenceWarning, match="max_iter or tol"):
        model = MixtureOfExperts(3, n_init=1, tol=1e-13, max_iter=25, random_state=0).fit(x, y)
    assert not model.converged_
    assert model.n_iter_ == 25 == len(model.trace_) - 1


# -- what is learned -------------------------------------------------------------------------


@pytest.mark.topic("000/K2")
@pytest.mark.parametrize("gate", GATES)
def test_crossing_lines_are_recovered(gate):
    x, y, first = crossing_lines()
    model = MixtureOfExperts(2, gate, random_state=0).fit(x, y)
    np.testing.assert_allclose(model.coef_.ravel(), [2.0, -2.0], atol=0.15)
    np.testing.assert_allclose(model.intercept_, [1.0, 0.0], atol=0.1)
    np.testing.assert_allclose(model.noise_variances_, [0.01, 0.09], rtol=0.4)
    np.testing.assert_allclose(model.weights_, [0.6, 0.4], atol=0.1)
    sure = model.responsibilities(x, y)[:, 0]
    right = np.where(first, sure, 1.0 - sure)
    assert right.mean() > 0.9
    assert model.degenerate_ == []


@pytest.mark.topic("000/K2")
def test_a_softmax_gate_finds_where_the_lines_change():
    x, y = kinked_lines()
    model = MixtureOfExperts(2, random_state=0).fit(x, y)
    assert sorted(model.coef_.ravel()) == pytest.approx([-2.0, 1.0], abs=0.1)
    gate = model.predict_gate([[-1.5], [1.5]])
    assert gate.max(axis=1).min() > 0.95
    assert gate.argmax(axis=1).tolist() in ([0, 1], [1, 0])
    assert model.predict([[-1.5], [1.5]]) == pytest.approx([-1.5, 0.0], abs=0.2)
    constant = MixtureOfExperts(2, "constant", random_state=0).fit(x, y)
    assert model.log_likelihood_ > constant.log_likelihood_ + 50


def test_parameters_in_raw_units_are_those_of_predictions():
    x, y = kinked_lines()
    x = np.column_stack([50.0 + 20.0 * x[:, 0], np.full(len(x), 7.0)])
    model = MixtureOfExperts(2, random_state=0).fit(x, 1e4 * y)
    assert (model.coef_[:, 1] == 0).all()
    assert (model.gate_coef_[:, 1] == 0).all()
    gate = softmax(model.gate_intercept_ + x @ model.gate_coef_.T, axis=1)
    means = model.intercept_ + x @ model.coef_.T
    np.testing.assert_allclose(model.predict_gate(x), gate, rtol=1e-9)
    np.testing.assert_allclose(model.weights_, gate.mean(axis=0), rtol=1e-9)
    np.testing.assert_allclose(model.predict(x), (gate * means).sum(axis=1), rtol=1e-9, atol=1e-5)
    each = model.predict_dist(x).log_prob(1e4 * y)
    assert model.log_likelihood_ == pytest.approx(each.sum(), rel=1e-9)
    densities = stats.norm.pdf(1e4 * y[:, None], means, np.sqrt(model.noise_variances_))
    shares = gate * densities
    shares /= shares.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.responsibilities(x, 1e4 * y), shares, rtol=1e-6, atol=1e-12)


def test_predictive_densities_integrate_to_one():
    x, y = kinked_lines(100)
    model = MixtureOfExperts(2, random_state=0).fit(x, y)
    for row in ([-2.0], [0.05], [2.0]):
        one = model.predict_dist([row])
        points = [float(one.quantile(q)[0]) for q in (0.01, 0.5, 0.99)]
        mass = quad(lambda t, one=one: np.exp(one.log_prob(t))[0], -20, 20, points=points)[0]
        mean = quad(lambda t, one=one: t * np.exp(one.log_prob(t))[0], -20, 20, points=points)[0]
        assert mass == pytest.approx(1.0, abs=1e-7)
        assert mean == pytest.approx(model.predict([row])[0], abs=1e-7)


@pytest.mark.parametrize("gate", GATES)
def test_weights_are_repeated_rows_in_any_order(gate):
    x, y, _ = crossing_lines(120)
    f = np.random.default_rng(2).integers(0, 4, 120)
    one = MixtureOfExperts(2, gate, random_state=0).fit(x, y, sample_weight=f)
    order = np.random.default_rng(3).permutation(f.sum())
    repeated = np.repeat(x, f, axis=0)[order], np.repeat(y, f)[order]
    other = MixtureOfExperts(2, gate, random_state=0).fit(*repeated)
    np.testing.assert_allclose(one.coef_, other.coef_, rtol=1e-6)
    np.testing.assert_allclose(one.noise_variances_, other.noise_variances_, rtol=1e-6)
    assert one.log_likelihood_ == pytest.approx(other.log_likelihood_, rel=1e-9)


@pytest.mark.parametrize("gate", GATES)
def test_units_of_columns_and_targets_do_not_matter(gate):
    x, y, _ = crossing_lines(150)
    one = MixtureOfExperts(2, gate, random_state=0).fit(x, y)
    other = MixtureOfExperts(2, gate, random_state=0).fit(1e6 + 1e3 * x, 5.0 - 1e-4 * y)
    np.testing.assert_allclose(other.coef_, -1e-7 * one.coef_, rtol=1e-5)
    np.testing.assert_allclose(other.predict(1e6 + 1e3 * x), 5.0 - 1e-4 * one.predict(x))
    shift = len(y) * np.log(1e4)
    assert other.log_likelihood_ == pytest.approx(one.log_likelihood_ + shift, rel=1e-6)


@pytest.mark.parametrize("gate", GATES)
def test_without_inputs_it_is_a_mixture_of_normals(gate):
    rng = np.random.default_rng(4)
    y = np.r_[rng.normal(size=300), 6 + 0.3 * rng.normal(size=200)]
    model = MixtureOfExperts(2, gate, random_state=0).fit(np.full((500, 2), 3.0), y)
    np.testing.assert_allclose(model.weights_, [0.6, 0.4], atol=1e-2)
    np.testing.assert_allclose(model.intercept_, [y[:300].mean(), y[300:].mean()], atol=1e-2)
    np.testing.assert_allclose(model.noise_variances_, [y[:300].var(), y[300:].var()], rtol=0.1)
    assert not model.coef_.any()
    assert not model.gate_coef_.any()


# -- bad input -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("y", "words"),
    [
        (np.full(6, 2.5), "y is 2.5 in every row"),
        ([1.0, 2.0, np.nan, 1.0, 2.0, 0.0], "NaN in row 2"),
        ([1.0, 2.0, np.inf, 1.0, 2.0, 0.0], "infinity in row 2"),
        ([1.0, 2.0], "inconsistent numbers of samples"),
    ],
)
def test_targets_that_cannot_be_learned_from_are_named(y, words):
    with pytest.raises(ValueError, match=words):
        MixtureOfExperts().fit(np.arange(6.0)[:, None], y)


def test_bad_parameters_and_weights_are_named():
    x, y, _ = crossing_lines(20)
    for name, value in [("n_experts", 0), ("n_experts", 1.5), ("gate", "hard"), ("tol", -1.0)]:
        with pytest.raises(ValueError, match=f"^{name} must"):
            MixtureOfExperts(**{name: value}).fit(x, y)
    with pytest.raises(ValueError, match="Negative values"):
        MixtureOfExperts().fit(x, y, sample_weight=-np.ones(20))
    with pytest.raises(ValueError, match="NaN in column 0, row 3"):
        MixtureOfExperts().fit(np.where(np.arange(20)[:, None] == 3, np.nan, x), y)


def test_more_experts_than_rows_have_an_answer_that_is_called_degenerate():
    x, y, _ = crossing_lines(4)
    model = MixtureOfExperts(6, random_state=0).fit(x, y)
    assert np.isfinite(model.predict(x)).all()
    assert model.degenerate_ == list(range(6))


def test_duplicate_columns_share_their_weight():
    x, y, _ = crossing_lines(100)
    model = MixtureOfExperts(2, "constant", random_state=0).fit(np.column_stack([x, x]), y)
    np.testing.assert_allclose(model.coef_[:, 0], model.coef_[:, 1], rtol=1e-6)


def test_experts_are_the_most_probable_given_their_rows():
    """Beside a search by numbers: columns that repeat one another, and an expert without rows."""
    rng = np.random.default_rng(4)
    z = np.column_stack([np.ones(40), rng.normal(size=(40, 2))])
    z = np.column_stack([z, z[:, 1]])
    rows = ExpertRows(z, z @ [0.1, 0.6, -0.4, 0.2] + 0.3 * rng.normal(size=40), np.ones(40), 1)
    shares = np.column_stack([np.ones(40), np.zeros(40)])
    weights, variances = _best_experts(rows, shares, np.ones(2))

    def descent(point):
        experts = Experts(np.zeros((0, 1)), point[None, :4], point[4:])
        return -float(log_joint(experts, rows).sum()) - log_prior(experts)

    best = minimize(descent, np.zeros(5), tol=1e-10)
    np.testing.assert_allclose(weights[0], best.x[:4], atol=1e-4)
    assert np.log(variances[0]) == pytest.approx(best.x[4], abs=1e-4)
    np.testing.assert_array_equal(weights[1], 0.0)
    # mode of the noise a priori
    assert variances[1] == pytest.approx(1.0 / 200.0 / 2.0)
