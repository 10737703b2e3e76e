"""Naive Bayes over mixed columns: conjugate learning column by column is the oracle."""

from itertools import product

import numpy as np
import pytest
from sklearn.naive_bayes import BernoulliNB, CategoricalNB, GaussianNB

from posteriori import Bernoulli, Beta, Categorical, Dirichlet, Gamma, Normal, Poisson, bayes
from posteriori.classification import GaussianDiscriminant, NaiveBayes
from posteriori.distributions import NormalInverseGamma

KINDS = ("normal", "bernoulli", "poisson", "categorical", "normal")
PRIORS = {
    "normal": NormalInverseGamma(1.0, 0.5, 2.0, 3.0),
    "bernoulli": Beta(2.0, 1.0),
    "poisson": Gamma(2.0, rate=0.5),
    "categorical": Dirichlet([1.0, 2.0, 0.5]),
}
FAMILIES = {
    "normal": Normal,
    "bernoulli": Bernoulli,
    "poisson": Poisson,
    "categorical": Categorical,
}


def mixed(n=80, seed=0, gaps=0.0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    X = np.stack(
        [
            rng.normal(y, 1.0),
            rng.random(n) < 0.3 + 0.4 * y,
            rng.poisson(2.0 + 3 * y),
            rng.integers(0, 3 - y, n),
            rng.normal(-y, 2.0),
        ],
        axis=1,
    )
    X[rng.random(X.shape) < gaps] = np.nan
    return X, y


@pytest.mark.topic("003/G.9")
@pytest.mark.parametrize("gaps", [0.0, 0.2])
def test_every_column_learns_as_it_would_on_its_own(gaps):
    X, y = mixed(gaps=gaps)
    new, _ = mixed(20, seed=1, gaps=gaps)
    model = NaiveBayes(KINDS, priors=PRIORS, class_prior=[0.4, 0.6]).fit(X, y)
    evidence = np.log([0.4, 0.6])[y].sum()
    joint = np.tile(np.log([0.4, 0.6]), (20, 1))
    for d, kind in enumerate(KINDS):
        for k in range(2):
            mine = X[(y == k) & ~np.isnan(X[:, d]), d]
            part = bayes(PRIORS[kind], FAMILIES[kind], mine)
            evidence += float(part.log_evidence)
            seen = ~np.isnan(new[:, d])
            joint[seen, k] += part.predictive.log_prob(new[seen, d])
    assert float(model.log_evidence_) == pytest.approx(evidence, rel=1e-11)
    np.testing.assert_allclose(model.joint_log_prob(new), joint, rtol=1e-9)


@pytest.mark.topic("000/G10", "002/A7")
def test_bernoulli_classes_are_linear_in_the_row():
    X, y = np.array(list(product([0, 1], repeat=3)) * 2, dtype=float), np.arange(16) % 2
    X[::3, 1] = 1.0
    model = NaiveBayes("bernoulli").fit(X, y)
    rows = np.array(list(product([0, 1], repeat=3)), dtype=float)
    q = np.array([(X[y == k].sum(axis=0) + 1) / (8 + 2) for k in range(2)])
    by_product = np.array([[np.prod(np.where(x, qk, 1 - qk)) for qk in q] for x in rows]) * 0.5
    a, b = np.log(q), np.log(1 - q)
    by_weights = rows @ (a - b).T + b.sum(axis=1) + np.log(0.5)
    np.testing.assert_allclose(np.log(by_product), by_weights)
    np.testing.assert_allclose(model.joint_log_prob(rows), by_weights)


@pytest.mark.topic("002/A7")
def test_certain_entries_make_no_nan():
    X, y = np.array([[0.0, 1], [0, 0], [1, 1], [1, 0]]), np.array([0, 0, 1, 1])
    model = NaiveBayes("bernoulli", method="ml").fit(X, y)
    np.testing.assert_array_equal(model.predict_proba([[0, 1], [1, 0]]), [[1, 0], [0, 1]])
    never = NaiveBayes("bernoulli", method="ml").fit([[0.0], [0.0]], [0, 1])
    with pytest.raises(ValueError, match=r"row 1 of X has probability 0 in every class"):
        never.predict([[0], [1]])


@pytest.mark.topic("000/G10", "000/G11")
@pytest.mark.parametrize("d", [1, 3, 5])
def test_a_table_has_many_more_parameters(d):
    rows = np.array(list(product([0, 1], repeat=d)) * 2, dtype=float)
    y = np.repeat([0, 1], len(rows) // 2)
    assert NaiveBayes("bernoulli").fit(rows, y).n_parameters_ == 1 + 2 * d
    assert NaiveBayes("table").fit(rows, y).n_parameters_ == 1 + 2 * (2**d - 1)


@pytest.mark.topic("000/G11")
def test_a_table_learns_exclusive_or_and_naive_bayes_does_not():
    X = np.array(list(product([0, 1], repeat=2)) * 25, dtype=float)
    y = (X[:, 0] != X[:, 1]).astype(int)
    table, naive = NaiveBayes("table").fit(X, y), NaiveBayes("bernoulli").fit(X, y)
    assert table.score(X, y) == 1.0
    np.testing.assert_allclose(naive.predict_proba(X), 0.5)
    assert table.log_evidence_.value > naive.log_evidence_.value + 50
    np.testing.assert_allclose(table.predict_proba([[0, 1]]), [[1 / 27, 26 / 27]])
    parts = [
        bayes(Dirichlet(np.ones(4)), Categorical, (2 * X[y == k, 0] + X[y == k, 1])) for k in (0, 1)
    ]
    labels = bayes(Dirichlet([1.0, 1.0]), Categorical, y)
    total = sum(float(part.log_evidence) for part in (*parts, labels))
    assert float(table.log_evidence_) == pytest.approx(total, rel=1e-12)
    drawn, label = table.sample(500, rng=0)
    assert ((drawn[:, 0] != drawn[:, 1]) == label).mean() > 0.85


@pytest.mark.topic("003/G.9")
def test_columns_are_correlated_but_not_within_a_class():
    X, y = mixed(4000)
    drawn, label = NaiveBayes(KINDS).fit(X, y).sample(40_000, rng=0)
    assert np.corrcoef(drawn[:, 0], drawn[:, 2])[0, 1] > 0.1
    for k in (0, 1):
        mine = drawn[label == k]
        assert abs(np.corrcoef(mine[:, 0], mine[:, 2])[0, 1]) < 5 / np.sqrt(len(mine))


@pytest.mark.topic("000/G12")
@pytest.mark.parametrize("estimate", ["bayes", "ml"])
def test_drawn_rows_have_the_means_of_the_training_rows(estimate):
    X, y = mixed(4000)
    drawn, label = NaiveBayes(KINDS, method=estimate).fit(X, y).sample(40_000, rng=1)
    for k in (0, 1):
        mine, there = drawn[label == k], X[y == k]
        error = there.std(axis=0) * np.sqrt(1 / len(mine) + 1 / len(there))
        assert (np.abs(mine.mean(axis=0) - there.mean(axis=0)) < 5 * error).all()


def test_plug_in_likelihood_is_that_of_the_rows():
    X, y = mixed(200)
    model = NaiveBayes(KINDS, method="ml").fit(X, y)
    own = model.joint_log_prob(X)[np.arange(200), y]
    assert model.log_likelihood_ == pytest.approx(own.sum(), rel=1e-12)


def test_peers_agree():
    X, y = mixed(300)
    for kind, column, peer in [
        ("normal", 0, GaussianNB(var_smoothing=0.0)),
        ("bernoulli", 1, BernoulliNB(alpha=1.0)),
        ("categorical", 3, CategoricalNB(alpha=1.0)),
    ]:
        part = X[:, [column]]
        estimate = "ml" if kind == "normal" else "bayes"
        shares = np.bincount(y) / 300
        ours = NaiveBayes(kind, method=estimate, class_prior=shares).fit(part, y)
        theirs = peer.fit(part, y).predict_proba(part)
        np.testing.assert_allclose(ours.predict_proba(part), theirs, rtol=1e-8)


def test_normal_columns_are_the_diagonal_discriminant():
    X, y = mixed(100)
    X = X[:, [0, 4]]
    one, two = NaiveBayes().fit(X, y), GaussianDiscriminant("diagonal").fit(X, y)
    np.testing.assert_allclose(one.predict_proba(X), two.predict_proba(X), rtol=1e-12)
    assert float(one.log_evidence_ - two.log_evidence_) == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("estimate", ["bayes", "ml"])
def test_weights_are_frequencies(estimate):
    X, y = mixed(120, gaps=0.1)
    weight = np.arange(120) % 3
    one = NaiveBayes(KINDS, method=estimate).fit(X, y, sample_weight=weight)
    two = NaiveBayes(KINDS, method=estimate).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    np.testing.assert_allclose(one.joint_log_prob(X), two.joint_log_prob(X), rtol=1e-9)
    name = "log_evidence_" if estimate == "bayes" else "log_likelihood_"
    assert float(getattr(one, name)) == pytest.approx(float(getattr(two, name)), rel=1e-12)


def test_a_row_of_which_nothing_is_known_has_the_prior_probabilities():
    X, y = mixed()
    model = NaiveBayes(KINDS).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(np.full((1, 5), np.nan))[0], model.class_prior_)


@pytest.mark.parametrize(
    ("options", "row", "message"),
    [
        ({"columns": "gauss"}, None, "must be of kind"),
        ({"columns": ["normal"]}, None, "kind of all 2 columns"),
        ({"columns": "bernoulli"}, [2.0, 0.0], "row 4, column 0: bernoulli columns hold 0 or 1"),
        ({"columns": "poisson"}, [1.0, 0.5], "row 4, column 1: poisson columns hold whole"),
        ({"columns": "table"}, [np.nan, 0.0], "contains NaN in column 0, row 4"),
        ({"columns": ["table", "normal"]}, [np.nan, 0.0], "misses column 0 of the table"),
        ({"columns": "poisson"}, [0.5, -1.0], "X holds -1 in row 4, column 1.* Negative values"),
        ({"columns": "table"}, [1e5, 1e5], 'choose columns="categorical"'),
        ({"priors": {"gauss": Beta(1, 1)}}, None, "priors must be by kind"),
        ({"priors": {"normal": PRIORS["normal"]}, "method": "ml"}, None, "has none"),
        ({"method": "map"}, None, "method must be"),
    ],
)
def test_wrong_choices_are_refused(options, row, message):
    X = [[0.0, 1.0], [1.0, 0.0], [1.0, 1.0], [0.0, 0.0], row or [1.0, 1.0]]
    with pytest.raises(ValueError, match=message):
        NaiveBayes(**options).fit(X, [0, 1, 0, 1, 0])


def test_columns_whose_squares_vanish_are_refused():
    X = np.column_stack([np.arange(6.0), 1e-200 * np.arange(6.0)])
    with pytest.raises(ValueError, match="column 1 of X has no number beyond 5e-200"):
        NaiveBayes().fit(X, [0, 1, 0, 1, 0, 1])
    model = NaiveBayes().fit(X * [1.0, 1e190], [0, 1, 0, 1, 0, 1])
    assert np.isfinite(model.predict_proba(X)).all()  # such rows may be asked about


def test_unseen_categories_and_wrong_priors_are_refused():
    X, y = [[0], [1], [2], [1]], [0, 1, 0, 1]
    with pytest.raises(ValueError, match="category 3 was not there"):
        NaiveBayes("categorical").fit(X, y).predict([[3]])
    wide = NaiveBayes("categorical", priors={"categorical": Dirichlet(np.ones(4))}).fit(X, y)
    np.testing.assert_allclose(wide.predict_proba([[3]]), [[0.5, 0.5]])
    with pytest.raises(ValueError, match="category 2 is beyond the 2"):
        NaiveBayes("categorical", priors={"categorical": Dirichlet([1, 1])}).fit(X, y)
    with pytest.raises(ValueError, match="category 5 of column 0"):
        NaiveBayes("table").fit(X, y).predict([[5]])
    with pytest.raises(ValueError, match="contains NaN in column 0, row 0"):
        NaiveBayes("table").fit(X, y).predict([[np.nan]])
    with pytest.raises(TypeError, match="must be a Beta"):
        NaiveBayes("bernoulli", priors={"bernoulli": Gamma(1.0, rate=1.0)}).fit([[0], [1]], [0, 1])
    with pytest.raises(ValueError, match="missing in all rows of class 1"):
        NaiveBayes("bernoulli", method="ml").fit([[0], [np.nan]], [0, 1])


@pytest.mark.parametrize("kind", ["bernoulli", "poisson", "categorical", "table"])
def test_weights_of_rows_and_of_classes_are_frequencies_in_every_kind(kind):
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 2, (40, 3)), np.arange(40) % 2
    weight = np.arange(40) % 3 + (np.arange(40) < 2)
    one = NaiveBayes(kind).fit(X, y, sample_weight=weight)
    two = NaiveBayes(kind).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    np.testing.assert_allclose(one.predict_proba(X), two.predict_proba(X), rtol=1e-12)
    assert float(one.log_evidence_) == pytest.approx(float(two.log_evidence_), rel=1e-12)
    heavy = NaiveBayes(kind, class_weight={1: 4}).fit(X, y)
    again = NaiveBayes(kind).fit(*(np.repeat(a, np.where(y == 1, 4, 1), axis=0) for a in (X, y)))
    np.testing.assert_allclose(heavy.predict_proba(X), again.predict_proba(X), rtol=1e-12)
    odds = heavy.decision_function(X)
    np.testing.assert_array_equal(heavy.predict(X) == 1, odds > 0)
