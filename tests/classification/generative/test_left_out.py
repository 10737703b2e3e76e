"""Rows that generative classifiers are asked about without having seen them; priors of other widths."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_wine

from posteriori import Beta, Dirichlet, Gamma, MvNormal, Normal, Poisson
from posteriori.classification import GaussianDiscriminant, GenerativeClassifier, NaiveBayes
from posteriori.distributions import (
    Geometric,
    InverseWishart,
    NormalGamma,
    NormalInverseGamma,
    NormalInverseWishart,
    Pareto,
    Uniform,
)
from posteriori.selection import rank_models

rng = np.random.default_rng(7)
N = 24
Y = np.repeat(["a", "b", "c"], [5, 8, 11])
NUMBERS = rng.normal(size=(N, 2)) @ [[1.0, 0.6], [0.0, 0.5]] + 1e4
NUMBERS += np.repeat([[0, 0], [1, 0], [0, 2]], [5, 8, 11], axis=0)
GAPS = np.where(rng.random((N, 2)) < 0.2, np.nan, NUMBERS)
COUNTS = rng.poisson(3.0, (N, 2)).astype(float)
BITS = (rng.random((N, 2)) < 0.4).astype(float)
CODES = np.column_stack([rng.integers(0, 3, N), rng.integers(0, 2, N)]).astype(float)
MIXED = np.column_stack([GAPS, COUNTS, BITS, CODES, CODES[::-1]])
KINDS = [kind for kind in ("normal", "poisson", "bernoulli", "categorical", "table") for _ in "12"]

WIDE = NormalInverseWishart([1e4, 1e4], 0.3, 5.0, [[1.0, 0.2], [0.2, 2.0]])
COLUMNS = NormalInverseGamma(1e4, 0.3, 2.0, 1.5)
PRIORS = {
    "normal": COLUMNS,
    "poisson": Gamma(2.0, rate=0.5),
    "bernoulli": Beta(0.5, 2.0),
    "categorical": [Dirichlet([1.0, 2.0, 0.5]), Dirichlet([1.0, 3.0])],
    "table": Dirichlet([1.0, 0.5, 2.0, 1.0, 1.0, 3.0]),
}

CASES = {
    "shared": (GaussianDiscriminant(prior=WIDE), NUMBERS),
    "full": (GaussianDiscriminant("full", prior=WIDE), NUMBERS),
    "diagonal": (GaussianDiscriminant("diagonal", prior=COLUMNS), NUMBERS),
    "known shares": (GaussianDiscriminant(prior=WIDE, class_prior=[0.2, 0.5, 0.3]), NUMBERS),
    "mixed": (NaiveBayes(KINDS, priors=PRIORS), MIXED),
    "geometric": (GenerativeClassifier(Geometric, Beta(1.0, 2.0)), COUNTS),
    "rate": (GenerativeClassifier(Poisson, Gamma(2.0, rate=0.5)), COUNTS),
    "vectors": (GenerativeClassifier(MvNormal, WIDE), NUMBERS),
    "numbers": (GenerativeClassifier(Normal, NormalGamma(1e4, 0.3, 2.0, 1.5)), NUMBERS),
    "mean": (
        GenerativeClassifier(lambda m: Normal(m, variance=2.0), Normal(1e4, variance=9.0)),
        NUMBERS,
    ),
    "mean vector": (
        GenerativeClassifier(
            lambda m: MvNormal(m, cov=np.eye(2)), MvNormal([1e4, 1e4], cov=9 * np.eye(2))
        ),
        NUMBERS,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_left_out_rows_are_as_refits_say(name):
    model, x = CASES[name]
    found = clone(model).fit(x, Y).leave_one_out_log_density(x, Y)
    for n in range(N):
        rest = clone(model).fit(np.delete(x, n, axis=0), np.delete(Y, n))
        expected = rest.predict_log_proba(x[[n]])[0, rest.classes_ == Y[n]]
        assert found[n] == pytest.approx(expected[0], rel=1e-7, abs=1e-9)


@pytest.mark.parametrize("name", ["shared", "full", "diagonal", "mixed", "rate", "numbers"])
def test_the_only_row_of_a_class_leaves_its_prior(name):
    model, x = CASES[name]
    y = np.where(np.arange(N) == 3, "a", Y)
    y[:5] = np.where(np.arange(5) == 3, "a", "b")
    found = clone(model).fit(x, y).leave_one_out_log_density(x, y)[3]
    # p(C, x | others) = p(all) / p(others): the evidence of all rows with either label of this one.
    evidences = []
    for label in "abc":
        y[3] = label
        if label == "a":
            evidences.append(float(clone(model).fit(x, y).log_evidence_))
            continue
        far = clone(model).fit(
            x, y
        )  # class a is empty here: K = 2 instead of 3 of the labels' prior
        counts = np.array([0, *(np.sum(y == c) for c in "bc")])
        evidences.append(float(far.log_evidence_) + labels(counts) - labels(counts[1:]))
    expected = evidences[0] - np.logaddexp.reduce(evidences)
    assert found == pytest.approx(expected, rel=1e-7)


def labels(counts):
    """Return ln p(y) under a flat Dirichlet."""
    from scipy.special import gammaln

    size = len(counts)
    return gammaln(size) - gammaln(size + counts.sum()) + gammaln(1.0 + counts).sum()


@pytest.mark.parametrize("model", [GaussianDiscriminant(), NaiveBayes()])
def test_one_copy_of_a_repeated_row_is_left_out(model):
    weights = np.arange(N) % 3 + 1
    weighted = clone(model).fit(NUMBERS, Y, weights).leave_one_out_log_density(NUMBERS, Y)
    x, y = np.repeat(NUMBERS, weights, axis=0), np.repeat(Y, weights)
    repeated = clone(model).fit(x, y).leave_one_out_log_density(x, y)
    np.testing.assert_allclose(np.repeat(weighted, weights), repeated, rtol=1e-8)


def test_what_cannot_be_left_out_is_not_offered():
    assert not hasattr(GaussianDiscriminant(method="ml"), "leave_one_out_log_density")
    assert not hasattr(GaussianDiscriminant(method="ml"), "with_prior_scaled")
    assert not hasattr(NaiveBayes(class_weight="balanced"), "leave_one_out_log_density")
    assert not hasattr(GenerativeClassifier(Poisson), "leave_one_out_log_density")
    reach = GenerativeClassifier(lambda high: Uniform(0.0, high), Pareto(1.0, 1.0))
    reach.fit(COUNTS, Y)  # the largest value says nothing of the second largest
    assert not hasattr(reach, "leave_one_out_log_density")
    assert not hasattr(reach, "with_prior_scaled")


def test_rows_that_were_not_seen_cannot_be_left_out():
    model = NaiveBayes("bernoulli").fit([[0.0], [0.0], [1.0]], [0, 0, 1])
    with pytest.raises(ValueError, match="row 1 of X cannot be left out: it is not among the rows"):
        model.leave_one_out_log_density([[0.0], [1.0]], [0, 0])


@pytest.mark.parametrize("name", ["shared", "full", "diagonal", "mixed", "known shares"])
def test_fit_less_complexity_is_the_evidence(name):
    model, x = CASES[name]
    model = clone(model).fit(x, Y)
    fit = model.expected_log_likelihood(x, Y).sum()
    counts = np.array([5.0, 8.0, 11.0])
    if name == "mixed":
        complexity = 0.0
        for kind, belief in model.posterior_.items():
            prior = PRIORS[kind]
            pairs = zip(belief, prior, strict=True) if kind == "categorical" else [(belief, prior)]
            complexity += sum(np.sum(after.kl(before)) for after, before in pairs)
    elif name in ("full", "diagonal"):
        complexity = np.sum(model.posterior_.kl(model.prior))
    else:  # one Σ for all classes: counted once, with the means given Σ of every class
        belief, kappa = model.posterior_, float(WIDE.mean_strength)
        complexity = InverseWishart(belief.dof[0], belief.scale[0]).kl(
            InverseWishart(WIDE.dof, WIDE.scale)
        )
        for k, n in enumerate(counts):
            ratio = kappa / (kappa + n)
            shift = belief.location[k] - WIDE.location
            square = float(belief.dof[0]) * shift @ np.linalg.solve(belief.scale[0], shift)
            complexity += 0.5 * (2 * (ratio - 1 - np.log(ratio)) + kappa * square)
    if name != "known shares":
        complexity += Dirichlet(1 + counts).kl(Dirichlet(np.ones(3)))
    assert fit - complexity == pytest.approx(float(model.log_evidence_), rel=1e-9)


@pytest.mark.parametrize("name", CASES)
def test_a_prior_of_the_same_width_is_the_same(name):
    model, x = CASES[name]
    model = clone(model).fit(x, Y)
    again = model.with_prior_scaled(1.0).fit(x, Y)
    assert float(again.log_evidence_) == pytest.approx(float(model.log_evidence_), rel=1e-12)
    assert float(model.with_prior_scaled(2.0).fit(x, Y).log_evidence_) != pytest.approx(
        float(model.log_evidence_), rel=1e-6
    )


@pytest.mark.parametrize(
    ("model", "x"),
    [
        (GaussianDiscriminant(), NUMBERS),
        (GaussianDiscriminant("diagonal"), NUMBERS),
        (NaiveBayes(KINDS), MIXED),
    ],
    ids=["shared", "diagonal", "mixed"],
)
def test_what_data_have_set_in_a_prior_is_kept(model, x):
    model = clone(model).fit(x, Y)
    again = model.with_prior_scaled(1.0)
    assert float(again.fit(x, Y).log_evidence_) == pytest.approx(
        float(model.log_evidence_), rel=1e-12
    )
    assert float(again.fit(x[5:], Y[5:]).log_evidence_) != pytest.approx(
        float(clone(model).fit(x[5:], Y[5:]).log_evidence_), rel=1e-12
    )


def test_widths_of_priors():
    wider = CASES["shared"][0].fit(NUMBERS, Y).with_prior_scaled(2.0).prior
    assert float(wider.mean_strength) == pytest.approx(0.075)
    np.testing.assert_array_equal(wider.scale, WIDE.scale)
    priors = CASES["mixed"][0].fit(MIXED, Y).with_prior_scaled(0.5).priors
    assert (priors["bernoulli"].a, priors["bernoulli"].b) == (2.0, 8.0)
    assert (priors["poisson"].shape, priors["poisson"].rate) == (8.0, 2.0)
    np.testing.assert_allclose(priors["categorical"][1].concentration, [4.0, 12.0])
    narrow = CASES["mean"][0].with_prior_scaled(0.5).prior
    assert (narrow.mean, narrow.variance) == (1e4, 2.25)
    with pytest.raises(ValueError, match="factor must be positive, got 0"):
        CASES["rate"][0].with_prior_scaled(0.0)


def test_comparing_generative_classifiers():
    x, y = load_wine(return_X_y=True)
    models = {"shared": GaussianDiscriminant(), "naive": NaiveBayes()}
    table = rank_models(models, x, y).to_frame()
    assert set(table["method"]) == {"leave-one-out"}
    assert (table["prior_sensitivity"] > 0.1).all()
    assert (table["complexity"] > 0.0).all()
    fitted = GaussianDiscriminant().fit(x, y)
    expected = fitted.leave_one_out_log_density(x, y).sum()
    assert table.loc["shared", "elpd"] == pytest.approx(expected)
