"""What mixtures of independent columns refuse, and how they say so; what they take in their stride."""

import numpy as np
import pandas as pd
import pytest

from posteriori.distributions import (
    Beta,
    Exponential,
    Gamma,
    MvNormal,
    Normal,
    NormalInverseGamma,
    Pareto,
    Poisson,
    Uniform,
)
from posteriori.mixture import FamilyMixture, LatentClasses

COUNTS = np.array([[0.0, 3.0], [1.0, 2.0], [9.0, 4.0], [8.0, 4.0], [10.0, 1.0]])


@pytest.mark.parametrize(
    ("model", "x", "words"),
    [
        (
            FamilyMixture(Poisson, 2),
            [[0.5], [1.0], [2.0]],
            r"X holds 0.5 in row 0.*support of Poisson",
        ),
        (
            FamilyMixture(Poisson, 2, prior=Gamma(1.0, rate=1.0)),
            [[1.0], [-1.0]],
            "support of Poisson",
        ),
        (FamilyMixture(Exponential, 2), [[1.0], [-2.0], [3.0]], "row 1.*support of Exponential"),
        (LatentClasses(2, "bernoulli"), [[0.0], [2.0]], "bernoulli columns hold 0 or 1"),
        (LatentClasses(2, "poisson"), [[0.0], [-2.0]], "whole numbers from 0"),
        (LatentClasses(2, ["normal"]), COUNTS, "kind of all 2 columns"),
        (LatentClasses(2, "gamma"), COUNTS, "must be of kind normal"),
        (LatentClasses(2), [[0.0], [np.inf]], "inf"),
        (LatentClasses(0), COUNTS, "n_components must be a whole number >= 1"),
        (LatentClasses(2, tol=-1.0), COUNTS, "tol must"),
        (LatentClasses(2, method="map"), COUNTS, "method must be"),
        (LatentClasses(2, weight_concentration_prior=0.0), COUNTS, "weight_concentration_prior"),
        (
            LatentClasses(2, method="ml", priors={"normal": NormalInverseGamma(0, 1, 1, 1)}),
            COUNTS,
            "priors are for",
        ),
        (
            LatentClasses(2, method="ml"),
            [[1.0, 3.0]] * 2 + [[1.0, 4.0]],
            "column 0 of X is constant",
        ),
        (
            FamilyMixture(Normal, 2),
            [[1.0, 3.0], [1.0, 5.0], [1.0, 4.0]],
            "column 0 of X is constant",
        ),
        (FamilyMixture(Uniform, 2), [[1.0], [1.0]], "fewer than the 2 components"),
        (
            LatentClasses(3, "poisson", method="ml"),
            [[1.0], [2.0], [2.0]],
            "hold 2 distinct ones, fewer than the 3",
        ),
        (FamilyMixture(Poisson, 2), [[4.0]], "n_samples=1"),
        (LatentClasses(2), [[np.nan, 1.0], [np.nan, 2.0]], "column 0 of X is missing in all rows"),
        (
            FamilyMixture(Poisson, 2),
            [[np.nan, 1.0], [np.nan, 2.0]],
            "column 0 of X is missing in all rows",
        ),
        (
            FamilyMixture(MvNormal, 2),
            [[0.0, np.nan], [1.0, 2.0], [0.0, 3.0]],
            "row 0 misses column 1",
        ),
        (
            LatentClasses(2, "table"),
            [[0.0, np.nan], [1.0, 1.0]],
            "row 0 misses column 1 of the table",
        ),
        (
            FamilyMixture(Poisson, 2, responsibilities_init=np.ones((4, 2))),
            COUNTS,
            r"shape \(5, 2\)",
        ),
        (
            FamilyMixture(Poisson, 2, responsibilities_init=-np.ones((5, 2))),
            COUNTS,
            "finite numbers >= 0",
        ),
        (
            FamilyMixture(Poisson, 2, responsibilities_init=np.zeros((5, 2))),
            COUNTS,
            "0 in a whole row",
        ),
        (FamilyMixture(Poisson, 2, prior=Gamma(np.ones(3), rate=1.0)), COUNTS, "a batch of 2"),
        (
            FamilyMixture(Poisson, 2, prior=Gamma(1.0, rate=1.0) / Gamma(3.0, rate=1.0)),
            COUNTS,
            "prior must be a proper distribution",
        ),
    ],
)
def test_what_cannot_be_learned_is_named(model, x, words):
    with pytest.raises(ValueError, match=words):
        model.fit(x)


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (FamilyMixture(lambda rate: Poisson(rate), 2), "needs a prior"),
        (FamilyMixture(Poisson, 2, prior=Beta(1.0, 1.0)), "not conjugate to Poisson"),
        (
            FamilyMixture(lambda width: Uniform(0.0, width), 2, prior=Pareto(1.0, 1.0)),
            "sums of the data alone",
        ),
        (LatentClasses(2, priors={"normal": Beta(1.0, 1.0)}), "must be a NormalInverseGamma"),
    ],
)
def test_what_does_not_go_together_is_named(model, words):
    with pytest.raises(TypeError, match=words):
        model.fit(COUNTS)


@pytest.mark.parametrize("model", [LatentClasses(2, "poisson"), FamilyMixture(Poisson, 2)])
def test_weights_must_be_frequencies(model):
    for weights, words in [
        (-np.ones(5), "[Nn]egative"),
        (np.zeros(5), "weight"),
        (np.ones(4), "shape"),
    ]:
        with pytest.raises(ValueError, match=words):
            model.fit(COUNTS, sample_weight=weights)


def test_columns_are_named_as_their_table_names_them():
    table = pd.DataFrame({"calls": [1.0, 2.0, 3.0], "visits": [np.nan] * 3})
    with pytest.raises(ValueError, match="visits of X is missing in all rows"):
        LatentClasses(2).fit(table)


def test_texts_are_told_how_to_become_codes():
    table = pd.DataFrame({"size": [1.0, 2.0, 3.0], "colour": ["red", "blue", "red"]})
    with pytest.raises(ValueError, match=r"codes 0, 1, … \(sklearn\.preprocessing\.Ord.*'red'"):
        LatentClasses(2, ["normal", "categorical"]).fit(table)


def test_one_row_has_a_belief():
    model = LatentClasses(2, ["normal", "poisson"]).fit([[1.5, 3.0]])
    assert np.isfinite(model.log_evidence_.value)
    np.testing.assert_allclose(model.predict_proba([[1.5, 3.0]]).sum(), 1.0)
    assert FamilyMixture(Poisson, 3, prior=Gamma(1.0, rate=1.0)).fit([[4.0]]).converged_


def test_fewer_distinct_rows_than_components_leave_some_empty():
    x = np.repeat([[0.0], [30.0]], 20, axis=0)
    model = FamilyMixture(Poisson, 4, prior=Gamma(1.0, rate=0.1), random_state=0).fit(x)
    assert (model.weights_ > 0.1).sum() == 2


def test_constant_columns_of_counts_say_nothing():
    rng = np.random.default_rng(0)
    useful = rng.poisson(np.where(rng.random(50) < 0.5, 1.0, 9.0))[:, None] * 1.0
    x = np.hstack([useful, np.zeros((50, 1)), np.ones((50, 1))])
    kinds = ["poisson", "poisson", "bernoulli"]
    with_them = LatentClasses(2, kinds, method="ml", random_state=0).fit(x)
    alone = LatentClasses(2, "poisson", method="ml", random_state=0).fit(useful)
    assert with_them.log_likelihood_ == pytest.approx(alone.log_likelihood_, abs=1e-6)
    np.testing.assert_allclose(with_them.weights_, alone.weights_, atol=1e-4)
    with pytest.raises(ValueError, match="row 1 of X has probability 0 in every component"):
        with_them.predict_proba([[3.0, 0.0, 1.0], [3.0, 0.0, 0.0]])


def test_constant_normal_columns_have_a_belief():
    x = np.array([[2.0, 0.0], [2.0, 1.0], [2.0, 5.0], [2.0, 6.0]])
    assert LatentClasses(2, random_state=0).fit(x).converged_


def test_likelihood_stays_bounded_where_a_row_is_alone():
    """A component on one row has the spread of a millionth of the table, not of nothing."""
    x = np.append(np.random.default_rng(0).normal(size=50), 40.0)[:, None]
    model = FamilyMixture(Normal, 2, random_state=0).fit(x)
    assert model.weights_[1] == pytest.approx(1 / 51, rel=1e-3)
    variance = model.model_.components.variance[1]
    assert variance == pytest.approx(1e-6 * ((x - 40.0) ** 2).mean(), rel=1e-3)
    assert np.isfinite(model.log_likelihood_)


def test_columns_far_from_0_and_of_any_size():
    rng = np.random.default_rng(0)
    z = rng.random(80) < 0.3
    x = np.column_stack([1e9 + rng.normal(6.0 * z), 1e-9 * rng.normal(6.0 * z)])
    for estimate in ("bayes", "ml"):
        model = LatentClasses(2, method=estimate, random_state=0).fit(x)
        assert (model.predict(x) == z).mean() > 0.95


def test_another_fit_leaves_nothing_of_the_first():
    model = LatentClasses(2, "poisson", random_state=0).fit(COUNTS)
    assert not hasattr(model, "log_likelihood_")
    model.set_params(method="ml").fit(COUNTS)
    for name in ("log_evidence_", "posterior_", "symmetry_gain_"):
        assert not hasattr(model, name)
    other = FamilyMixture(Poisson, 2, random_state=0).fit(COUNTS)
    assert not hasattr(other.set_params(prior=Gamma(1.0, rate=0.1)).fit(COUNTS), "n_parameters_")


@pytest.mark.parametrize(("n_init", "call"), [(1, 4), (10, 3)])
def test_interruption_keeps_the_best_so_far(monkeypatch, n_init, call):
    from posteriori.inference.mixtures.columns import latent_ascent

    calls, plain = [], latent_ascent.pass_over_rows

    def impatient(*arguments, **named):
        calls.append(1)
        if len(calls) == call:
            raise KeyboardInterrupt
        return plain(*arguments, **named)

    monkeypatch.setattr(latent_ascent, "pass_over_rows", impatient)
    model = LatentClasses(2, "poisson", random_state=0, n_init=n_init).fit(COUNTS)
    assert not model.converged_
    assert len(calls) < 8  # what is kept is seen once more
    np.testing.assert_allclose(model.predict_proba(COUNTS).sum(axis=1), 1.0)


@pytest.mark.parametrize("x", [np.zeros((10, 3)), np.ones((10, 1)), np.zeros((1, 2))])
def test_tables_of_one_symbol_are_learned(x):
    model = LatentClasses(2, "table", random_state=0).fit(x)
    np.testing.assert_allclose(model.predict_proba(x).sum(axis=1), 1.0)
    assert np.isfinite(float(model.log_evidence_))
