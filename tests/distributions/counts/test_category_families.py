"""Categories: multinomial and categorical against enumeration, and their labels."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
from mpmath import log, loggamma

from posteriori.distributions.counts.bernoulli import Bernoulli
from posteriori.distributions.counts.binomial import Binomial
from posteriori.distributions.counts.categorical import Categorical
from posteriori.distributions.counts.multinomial import Multinomial
from posteriori.distributions.labels import encode_labels
from posteriori.distributions.vectors.dirichlet import Dirichlet
from tests.distributions.oracles import compositions, high_precision

# -- multinomial -------------------------------------------------------------------------------


@pytest.mark.topic("000/M13", "004/5.8", "003/P.6")
def test_multinomial_moments_against_enumeration():
    d = Multinomial(4, [0.2, 0.3, 0.5])
    x, _ = compositions(4, 3)
    p = np.exp(d.log_prob(x))
    np.testing.assert_allclose(p.sum(), 1.0, rtol=1e-14)
    np.testing.assert_allclose(p @ x, 4 * np.array([0.2, 0.3, 0.5]))
    centred = x - p @ x
    np.testing.assert_allclose(d.cov, np.einsum("n,ni,nj->ij", p, centred, centred), atol=1e-14)
    np.testing.assert_allclose(d.entropy(), -p @ np.log(p), rtol=1e-13)


def multinomial(x, y, z, p, q, r):
    n = x + y + z
    coefficient = loggamma(n + 1) - loggamma(x + 1) - loggamma(y + 1) - loggamma(z + 1)
    return coefficient + x * log(p) + y * log(q) + z * log(r)


def test_multinomial_log_prob_keeps_its_digits():
    n, p = 10**9, np.array([0.25, 0.25, 0.5])
    d = Multinomial(n, p)
    for shift in ([0, 0, 0], [20_000, -10_000, -10_000], [-(10**6), 0, 10**6]):
        x = n * p + shift
        np.testing.assert_allclose(d.log_prob(x), high_precision(multinomial, *x, *p), rtol=1e-12)


def test_multinomial_entropy_of_many_trials_is_that_of_its_normal_limit():
    d = Multinomial(10**10, [0.2, 0.3, 0.5])
    minor = d.cov[:2, :2]
    limit = 0.5 * np.log(np.linalg.det(2 * np.pi * np.e * minor))
    np.testing.assert_allclose(d.entropy(), limit, rtol=1e-9)


def test_multinomial_mode_is_found_by_enumeration():
    rng = np.random.default_rng(2)
    x, _ = compositions(7, 3)
    for _ in range(30):
        d = Multinomial(7, rng.dirichlet([1.0, 1.0, 1.0]))
        assert d.mode.sum() == 7
        assert d.log_prob(d.mode) >= d.log_prob(x).max() - 1e-12


def test_multinomial_with_impossible_categories():
    d = Multinomial([3, 40], [[0.5, 0.0, 0.5], [1.0, 0.0, 0.0]])
    np.testing.assert_allclose(
        d.log_prob([[1, 0, 2], [40, 0, 0]]), [np.log(3 / 8), 0.0], atol=1e-15
    )
    np.testing.assert_array_equal(d.log_prob([[1, 1, 1], [39, 0, 1]]), [-np.inf, -np.inf])
    np.testing.assert_allclose(d.entropy(), [Binomial(3, 0.5).entropy(), 0.0], atol=1e-14)
    draws = d.sample(50, rng=1)
    assert np.all(draws[..., 1] == 0)
    np.testing.assert_array_equal(draws.sum(axis=-1), np.tile([3.0, 40.0], (50, 1)))
    again = d.from_natural(*d.natural)
    np.testing.assert_allclose(again.probabilities, d.probabilities)


@pytest.mark.topic("004/5.10", "004/5.4")
def test_multinomial_maximum_likelihood_by_two_routes():
    rows = np.array([[2, 1, 3], [4, 0, 2], [1, 1, 4]])
    counts = rows.sum(axis=0)
    best = Multinomial.fit(rows)
    np.testing.assert_allclose(best.probabilities, counts / counts.sum())
    np.testing.assert_allclose(best.probabilities, Dirichlet(counts + 1.0).mode)
    throws = np.repeat(np.arange(3), counts)
    np.testing.assert_allclose(best.probabilities, Categorical.fit(throws).probabilities)
    d = Categorical([0.2, 0.3, 0.5])  # the likelihood knows the data only by their counts
    np.testing.assert_allclose(d.log_prob(throws).sum(), counts @ np.log(d.probabilities))


# -- categorical -------------------------------------------------------------------------------


@pytest.mark.topic("000/M12", "003/P.5", "004/5.2", "004/5.3")
def test_categorical_one_hot_code():
    np.testing.assert_array_equal(Categorical.sufficient(2, n_categories=6)[0], [0, 0, 1, 0, 0, 0])
    d = Categorical([0.2, 0.3, 0.5])
    np.testing.assert_allclose(d.mean_params[0], [0.2, 0.3, 0.5])
    np.testing.assert_allclose(d.cov, np.diag([0.2, 0.3, 0.5]) - np.outer(*[[0.2, 0.3, 0.5]] * 2))
    np.testing.assert_allclose(d.cov.sum(axis=0), 0.0, atol=1e-16)


@pytest.mark.topic("004/5.9", "000/M18")
def test_special_cases_agree():
    p = np.array([0.2, 0.3, 0.5])
    one, many = Categorical(p), Multinomial(1, p)
    np.testing.assert_allclose(one.log_prob([0, 1, 2]), many.log_prob(np.eye(3)), rtol=1e-14)
    np.testing.assert_allclose(one.entropy(), many.entropy(), rtol=1e-14)
    np.testing.assert_allclose(one.cov, many.cov)
    coin, two = Bernoulli(0.3), Categorical([0.7, 0.3])
    np.testing.assert_allclose(coin.log_prob([0, 1]), two.log_prob([0, 1]))
    np.testing.assert_allclose(coin.entropy(), two.entropy())
    np.testing.assert_allclose(coin.kl(Bernoulli(0.6)), two.kl(Categorical([0.4, 0.6])), rtol=1e-14)
    x = np.arange(10.0)
    flips, sides = Binomial(9, 0.3), Multinomial(9, [0.3, 0.7])
    np.testing.assert_allclose(
        flips.log_prob(x), sides.log_prob(np.stack([x, 9 - x], axis=-1)), rtol=1e-13
    )
    np.testing.assert_allclose(flips.entropy(), sides.entropy(), rtol=1e-13)
    np.testing.assert_allclose(
        flips.kl(Binomial(9, 0.6)), sides.kl(Multinomial(9, [0.6, 0.4])), rtol=1e-13
    )
    np.testing.assert_allclose(Binomial(1, 0.3).log_prob([0, 1]), coin.log_prob([0, 1]))


def test_categorical_log_weights_of_any_size():
    d = Categorical.from_natural([1000.0, -np.inf, -2000.0])
    np.testing.assert_array_equal(d.log_prob([0, 1, 2]), [0.0, -np.inf, -3000.0])
    assert d.log_normalizer() == 1000.0
    np.testing.assert_array_equal(d.probabilities, [1.0, 0.0, 0.0])
    batch = Categorical.from_natural([[0.0, 1.0], [5.0, 5.0]])
    np.testing.assert_allclose(batch.probabilities[1], [0.5, 0.5])
    np.testing.assert_allclose(batch.log_normalizer(), [np.log1p(np.e), 5 + np.log(2)])
    for weights, message in (
        ([-np.inf, -np.inf], "contradictory"),
        ([0.0, np.inf], "infinity"),
        (1.0, "vector"),
    ):
        with pytest.raises(ValueError, match=message):
            Categorical.from_natural(weights)


def test_products_of_certainties():
    sure, other, open_ = Categorical([1.0, 0.0]), Categorical([0.0, 1.0]), Categorical([0.4, 0.6])
    assert (sure * open_) == sure
    d, log_scale = sure.product(open_)
    np.testing.assert_allclose(log_scale, np.log(0.4))
    assert d == sure
    with pytest.raises(ValueError, match="contradictory certainties"):
        sure * other
    with pytest.raises(ValueError, match="divided by 0"):
        open_ / sure
    np.testing.assert_array_equal((sure / sure).probabilities, [1.0, 0.0])  # 0/0 counts as 0
    np.testing.assert_array_equal((sure**0).probabilities, [0.5, 0.5])
    assert sure.kl(open_) == pytest.approx(-np.log(0.4))
    assert open_.kl(sure) == np.inf
    assert sure.entropy() == 0.0


def test_codes_off_the_range_have_no_probability():
    d = Categorical([0.2, 0.3, 0.5])
    np.testing.assert_array_equal(d.log_prob([-1, 3, 0.5, np.inf, -np.inf]), [-np.inf] * 5)
    batch = Categorical([[0.5, 0.5], [0.1, 0.9]])
    np.testing.assert_allclose(batch.log_prob(1), np.log([0.5, 0.9]))
    np.testing.assert_allclose(
        batch.log_prob([[0, 1], [7, 0]]), [[np.log(0.5), np.log(0.9)], [-np.inf, np.log(0.1)]]
    )


@pytest.mark.parametrize("size", [2, 3, 7, 100])
def test_draws_of_batches_follow_the_probabilities(size):
    rng = np.random.default_rng(size)
    p = rng.dirichlet(np.ones(size), 3)
    p[0, size // 2] = 0.0
    p /= p.sum(axis=-1, keepdims=True)
    draws = Categorical(p).sample(20_000, rng=rng)
    for j in range(3):
        shares = np.bincount(draws[:, j], minlength=size) / 20_000
        assert np.all(np.abs(shares - p[j]) <= 5 * np.sqrt(p[j] * (1 - p[j]) / 20_000))


def test_a_category_has_no_mean():
    d = Categorical([0.2, 0.8])
    for name in ("mean", "variance", "cdf", "quantile", "median"):
        with pytest.raises(AttributeError, match=f"Categorical has no {name}"):
            getattr(d, name)


# -- labels ------------------------------------------------------------------------------------

PETS = ("cat", "dog", "emu")


def test_labels_name_the_categories():
    d = Categorical([0.2, 0.3, 0.5], labels=PETS)
    np.testing.assert_allclose(d.log_prob(["emu", "cat"]), np.log([0.5, 0.2]))
    np.testing.assert_allclose(d.log_prob("dog"), np.log(0.3))
    np.testing.assert_allclose(d.log_prob(np.array([["cat"], ["dog"]])), np.log([[0.2], [0.3]]))
    np.testing.assert_allclose(d.log_prob(pd.Series(["dog", "emu"])), np.log([0.3, 0.5]))
    assert d.mode == "emu"
    assert d.sample(rng=0) in PETS
    draws = d.sample((50, 2), rng=0)
    assert draws.shape == (50, 2)
    assert set(draws.ravel().tolist()) == set(PETS)
    np.testing.assert_array_equal(
        encode_labels(draws, PETS), Categorical([0.2, 0.3, 0.5]).sample((50, 2), rng=0)
    )
    assert repr(d) == "Categorical([0.2, 0.3, 0.5], labels=('cat', 'dog', 'emu'))"


def test_labels_stay_with_the_value():
    d = Categorical([0.2, 0.3, 0.5], labels=PETS)
    q = Categorical([0.5, 0.25, 0.25], labels=list(PETS))
    for kept in (d * q, d / q, d**2, d.iid(2), copy.deepcopy(d), pickle.loads(pickle.dumps(d))):
        assert kept.labels == PETS
    assert pickle.loads(pickle.dumps(d)) == d
    assert hash(pickle.loads(pickle.dumps(d))) == hash(d)
    assert d != Categorical([0.2, 0.3, 0.5])
    together, log_scale = d.product(q)
    np.testing.assert_allclose(np.exp(log_scale), 0.2 * 0.5 + 0.3 * 0.25 + 0.5 * 0.25)
    assert together.labels == PETS
    np.testing.assert_allclose(
        d.kl(q), Categorical(d.probabilities).kl(Categorical(q.probabilities))
    )


@pytest.mark.parametrize(
    "labels", [(10, 20, 30), (True, False), ("a", 1, None), ((0, 1), (1, 0)), (2.5, -1.0)]
)
def test_labels_of_any_hashable_kind(labels):
    size = len(labels)
    d = Categorical(np.full(size, 1.0 / size), labels=labels)
    for label in labels:
        np.testing.assert_allclose(d.log_prob(label), -np.log(size))
    np.testing.assert_allclose(d.log_prob(list(labels)), np.full(size, -np.log(size)))
    draws = d.sample(40, rng=0)
    assert set(draws.tolist()) == set(labels)
    fitted = Categorical.fit(draws, labels=labels)
    shares = [sum(v == label for v in draws.tolist()) / 40 for label in labels]
    np.testing.assert_allclose(fitted.probabilities, shares)


def test_fit_of_labels_streams_and_unseen_categories():
    d = Categorical.fit(["dog", "emu", "dog"], labels=PETS)
    np.testing.assert_allclose(d.probabilities, [0.0, 2 / 3, 1 / 3])
    assert d.labels == PETS
    stream = Categorical.fit(iter([["dog"], ["emu", "dog"]]), labels=PETS)
    np.testing.assert_allclose(stream.probabilities, d.probabilities)
    np.testing.assert_allclose(
        Categorical.fit(iter([[0], [3, 3]])).probabilities, [1 / 3, 0, 0, 2 / 3]
    )
    np.testing.assert_allclose(
        Categorical.fit([0, 1], n_categories=4).probabilities, [0.5, 0.5, 0, 0]
    )
    columns = Categorical.fit([[0, 1], [1, 1], [1, 2]], weights=[2, 1, 1])
    np.testing.assert_allclose(columns.probabilities, [[0.5, 0.5, 0.0], [0.0, 0.75, 0.25]])


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda d: d.log_prob("dgo"), ValueError, "'dgo' is no label; did you mean 'dog'"),
        (lambda d: d.log_prob(["cat", "zebra"]), ValueError, "'zebra' is no label; the labels are"),
        (lambda d: d.log_prob(0), ValueError, "0 is no label"),
        (lambda d: d * Categorical([0.2, 0.3, 0.5]), ValueError, "same categories"),
        (lambda d: d.kl(Categorical([0.5, 0.5])), ValueError, "same categories"),
        (lambda d: Categorical([0.5, 0.5], labels=PETS), ValueError, "2 categories, got 3"),
        (lambda d: Categorical([0.5, 0.5], labels=["a", "a"]), ValueError, "'a' occurs twice"),
        (lambda d: Categorical([0.5, 0.5], labels="ab"), TypeError, "single text 'ab'"),
        (lambda d: Categorical([0.5, 0.5], labels=[["a"], ["b"]]), TypeError, "hashable"),
        (lambda d: Categorical.fit(["cat", "cow"], labels=PETS), ValueError, "'cow' is no label"),
        (lambda d: Categorical.fit([0, 5], n_categories=3), ValueError, "got 5 with codes 0 to 2"),
        (lambda d: Categorical.fit(["a", "b"]), TypeError, "real numbers"),
    ],
)
def test_bad_labels_are_named(call, error, message):
    with pytest.raises(error, match=message):
        call(Categorical([0.2, 0.3, 0.5], labels=PETS))
