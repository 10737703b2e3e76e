"""Normal classes: the notes' numbers, sequential prediction as the oracle of evidence, peers."""

import numpy as np
import pytest
from scipy import stats
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.naive_bayes import GaussianNB

from posteriori import MvNormal, NormalInverseWishart, bayes
from posteriori.classification import GaussianDiscriminant, NaiveBayes
from posteriori.distributions import NormalInverseGamma

COV = np.array([[0.2, 0.1], [0.1, 0.3]])
APPLE, PEACH = np.array([1.0, 1.0]), np.array([1.7, 2.5])


def exact_rows(means, cov, counts):
    """Return rows whose class means and shared covariance are exactly those given."""
    corners = np.array([[1, 1], [1, -1], [-1, 1], [-1, -1]])
    root = np.linalg.cholesky(cov)
    blocks = [
        np.tile(m + corners @ root.T, (n // 4, 1)) for m, n in zip(means, counts, strict=True)
    ]
    return np.concatenate(blocks), np.repeat(np.arange(len(means)), counts)


def some_rows(n=60, d=3, classes=3, seed=0):
    rng = np.random.default_rng(seed)
    y = np.concatenate([np.arange(classes), rng.integers(0, classes, n - classes)])
    X = rng.normal(size=(n, d)) * (1 + y[:, None]) + rng.normal(size=(classes, d))[y] * 2 + 5
    return X, y


@pytest.mark.topic("004/7.7", "004/7.4", "004/7.5", "004/7.6")
def test_apples_and_peaches():
    X, y = exact_rows([APPLE, PEACH], COV, [140, 60])
    model = GaussianDiscriminant(method="ml").fit(X, y)
    p = model.predict_proba([[2.3, 1.5]])[0]
    assert p[0] == pytest.approx(0.70209579, abs=5e-9)
    assert model.predict([[2.3, 1.5]])[0] == 0
    weights, offsets = model._densities.linear()
    gamma = offsets + np.log(model.class_prior_)
    np.testing.assert_allclose(weights, [[4.0, 2.0], [5.2, 6.6]], rtol=1e-12)
    np.testing.assert_allclose(gamma, [-3.35667494, -13.8739728], atol=5e-8)
    np.testing.assert_allclose(weights[0] - weights[1], [-1.2, -4.6], rtol=1e-12)
    assert gamma[0] - gamma[1] == pytest.approx(10.51729786, abs=5e-8)


@pytest.mark.topic("004/7.7")
def test_two_hundred_and_fifty_fruits_spread_as_the_notes_say():
    found = []
    for seed in range(400):
        rng = np.random.default_rng(seed)
        y = (rng.random(250) > 0.7).astype(int)
        X = (
            np.where(y[:, None], PEACH, APPLE)
            + rng.normal(size=(250, 2)) @ np.linalg.cholesky(COV).T
        )
        found.append(GaussianDiscriminant(method="ml").fit(X, y).predict_proba([[2.3, 1.5]])[0, 0])
    assert np.mean(found) == pytest.approx(0.690, abs=5 * 0.127 / 20)
    assert np.std(found) == pytest.approx(0.127, abs=5 * 0.127 / np.sqrt(800))


@pytest.mark.topic("000/G7", "002/A5", "000/G6")
@pytest.mark.parametrize(("prior", "offset"), [(0.5, 0.0), (0.8, np.log(4.0))])
def test_the_boundary_of_two_unit_circles(prior, offset):
    X, y = exact_rows([[1.0, 0.0], [-1.0, 0.0]], np.eye(2), [20, 20])
    model = GaussianDiscriminant(method="ml", class_prior=[prior, 1 - prior]).fit(X, y)
    points = np.random.default_rng(0).normal(size=(20, 2))
    odds = -model.decision_function(points)  # of the first class
    np.testing.assert_allclose(odds, 2.0 * points[:, 0] + offset, atol=1e-12)
    np.testing.assert_allclose(model.predict_proba(points)[:, 0], 1 / (1 + np.exp(-odds)))


@pytest.mark.topic("000/G8", "004/7.1", "004/7.2", "004/7.3")
def test_maximum_likelihood_estimates():
    X, y = some_rows()
    model = GaussianDiscriminant(method="ml").fit(X, y)
    counts = np.bincount(y)
    np.testing.assert_allclose(model.class_prior_, counts / 60)
    pooled = sum(np.cov(X[y == k].T, ddof=0) * counts[k] / 60 for k in range(3))
    for k in range(3):
        np.testing.assert_allclose(model.means_[k], X[y == k].mean(axis=0))
        np.testing.assert_allclose(model.covariances_[k], pooled)
    own = [
        stats.multivariate_normal(X[y == k].mean(axis=0), pooled).logpdf(X[y == k]).sum()
        + counts[k] * np.log(counts[k] / 60)
        for k in range(3)
    ]
    assert model.log_likelihood_ == pytest.approx(sum(own), rel=1e-12)


@pytest.mark.parametrize(
    ("covariance", "shrinkage"),
    [("shared", 0.0), ("shared", 0.3), ("full", 0.0), ("full", 0.3), ("diagonal", 0.0)],
)
def test_the_likelihood_is_that_of_the_rows(covariance, shrinkage):
    X, y = some_rows()
    model = GaussianDiscriminant(covariance, method="ml", shrinkage=shrinkage).fit(X, y)
    own = model.joint_log_prob(X)[np.arange(60), y]
    assert model.log_likelihood_ == pytest.approx(own.sum(), rel=1e-12)


@pytest.mark.topic("000/G9")
@pytest.mark.parametrize(
    ("covariance", "peer"),
    [
        ("shared", LinearDiscriminantAnalysis("lsqr")),
        ("full", None),
        ("diagonal", GaussianNB(var_smoothing=0.0)),
    ],
)
def test_plug_in_probabilities_equal_the_density_ratio_and_peers(covariance, peer):
    X, y = some_rows()
    model = GaussianDiscriminant(covariance, method="ml").fit(X, y)
    joint = np.empty((60, 3))
    for k in range(3):
        cov = model.covariances_[k]
        cov = np.diag(cov) if covariance == "diagonal" else cov
        joint[:, k] = stats.multivariate_normal(model.means_[k], cov).logpdf(X)
    joint += np.log(model.class_prior_)
    truth = np.exp(joint - joint.max(axis=1, keepdims=True))
    truth /= truth.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.predict_proba(X), truth, rtol=1e-8, atol=1e-14)
    np.testing.assert_allclose(model.joint_log_prob(X), joint, rtol=1e-9)
    if peer is not None:
        np.testing.assert_allclose(peer.fit(X, y).predict_proba(X), truth, rtol=1e-6, atol=1e-10)


@pytest.mark.topic("000/G9")
def test_classes_of_different_spread_need_their_own_covariances():
    rng = np.random.default_rng(1)
    y = np.arange(600) % 3
    spread = np.array([[0.4, 0.4], [0.4, 0.4], [4.0, 0.2]])
    X = np.array([[0.0, 0.0], [1.5, 0.0], [0.0, 1.0]])[y] + rng.normal(size=(600, 2)) * spread[y]
    one, own = (GaussianDiscriminant(c).fit(X, y) for c in ("shared", "full"))
    assert own.score(X, y) > one.score(X, y) + 0.05
    assert own.log_evidence_.value > one.log_evidence_.value + 100
    peer = QuadraticDiscriminantAnalysis().fit(X, y)
    assert (peer.predict(X) == own.predict(X)).mean() > 0.98


@pytest.mark.parametrize("covariance", ["shared", "full", "diagonal"])
def test_evidence_is_the_product_of_one_step_predictions(covariance):
    X, y = some_rows(12, 2, 2)
    if covariance == "diagonal":
        prior = NormalInverseGamma([4.0, 5.0], 0.5, 2.0, [1.0, 3.0])
    else:
        prior = NormalInverseWishart([4.0, 5.0], 0.5, 5.0, [[2.0, 0.5], [0.5, 3.0]])
    whole = GaussianDiscriminant(covariance, prior=prior).fit(X, y)
    steps = []
    for n in range(2, 12):  # rows 0 and 1 hold a row of each class
        model = GaussianDiscriminant(covariance, prior=prior).fit(X[:n], y[:n])
        steps.append(model.joint_log_prob(X[n : n + 1])[0, y[n]])
    first = GaussianDiscriminant(covariance, prior=prior).fit(X[:2], y[:2])
    total = float(first.log_evidence_) + sum(steps)
    assert float(whole.log_evidence_) == pytest.approx(total, rel=1e-11)


def test_evidence_of_classes_of_their_own_is_that_of_conjugate_learning():
    X, y = some_rows(30, 2, 2)
    prior = NormalInverseWishart([4.0, 5.0], 0.5, 5.0, [[2.0, 0.5], [0.5, 3.0]])
    model = GaussianDiscriminant("full", prior=prior, class_prior=[0.5, 0.5]).fit(X, y)
    parts = [bayes(prior, MvNormal, X[y == k]) for k in range(2)]
    total = sum(float(part.log_evidence) for part in parts) + 30 * np.log(0.5)
    assert float(model.log_evidence_) == pytest.approx(total, rel=1e-11)
    for k, part in enumerate(parts):
        np.testing.assert_allclose(model.posterior_.scale[k], part.posterior.scale)
        np.testing.assert_allclose(
            model.joint_log_prob(X)[:, k] - np.log(0.5), part.predictive.log_prob(X)
        )
    assert (model.log_evidence_.kind, model.log_evidence_.of) == ("exact", "X,y")


def test_evidence_does_not_depend_on_units_but_for_the_density():
    X, y = some_rows()
    scale, shift = np.array([1e6, 1e-5, 3.0]), np.array([1e3, -2.0, 1e7])
    for covariance in ("shared", "full", "diagonal"):
        one = GaussianDiscriminant(covariance).fit(X, y)
        two = GaussianDiscriminant(covariance).fit(X * scale + shift, y)
        moved = float(two.log_evidence_) + 60 * np.log(scale).sum()
        assert moved == pytest.approx(float(one.log_evidence_), rel=1e-6)


@pytest.mark.parametrize("covariance", ["shared", "full", "diagonal"])
def test_weights_are_frequencies(covariance):
    X, y = some_rows()
    weight = np.arange(60) % 3 + (np.arange(60) < 3)
    one = GaussianDiscriminant(covariance).fit(X, y, sample_weight=weight)
    two = GaussianDiscriminant(covariance).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    np.testing.assert_allclose(one.predict_proba(X), two.predict_proba(X), rtol=1e-9)
    assert float(one.log_evidence_) == pytest.approx(float(two.log_evidence_), rel=1e-12)
    assert one.log_evidence_.comparable(two.log_evidence_)


@pytest.mark.topic("000/G12", "003/D.4")
@pytest.mark.parametrize("estimate", ["bayes", "ml"])
@pytest.mark.parametrize("covariance", ["shared", "full", "diagonal"])
def test_drawn_rows_have_the_moments_of_the_model(covariance, estimate):
    X, y = some_rows(90)
    names = np.array(["a", "b", "c"])[y]
    model = GaussianDiscriminant(covariance, method=estimate).fit(X, names)
    drawn, labels = model.sample(40_000, rng=0)
    share = (labels == "b").mean()
    p = model.class_prior_[1]
    assert abs(share - p) < 5 * np.sqrt(p * (1 - p) / 40_000)
    mine = drawn[labels == "b"]
    error = mine.std(axis=0) / np.sqrt(len(mine))
    assert (np.abs(mine.mean(axis=0) - model.means_[1]) < 5 * error).all()
    held = model.log_prob(drawn)
    assert held.mean() > model.log_prob(drawn + 5).mean()


@pytest.mark.topic("003/D.4")
def test_the_density_of_rows_integrates_to_one():
    X, y = some_rows(40, 1, 2)
    grid = np.linspace(-300, 300, 400_001)
    for covariance in ("shared", "full", "diagonal"):
        model = GaussianDiscriminant(covariance).fit(X, y)
        assert np.trapezoid(np.exp(model.log_prob(grid[:, None])), grid) == pytest.approx(
            1, abs=1e-6
        )


@pytest.mark.topic("000/G14")
def test_regions_of_linear_classes_are_convex():
    X, y = some_rows(200, 2, 4)
    model = GaussianDiscriminant(method="ml").fit(X, y)
    points = np.random.default_rng(3).normal(5, 6, (4000, 2))
    a, b = points[:2000], points[2000:]
    same = model.predict(a) == model.predict(b)
    assert same.sum() > 200
    np.testing.assert_array_equal(model.predict((a + b)[same] / 2), model.predict(a[same]))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"covariance": "per-class"}, "covariance must be one of"),
        ({"covariance": "tied"}, '"shared", got .tied.: say "shared"'),
        ({"method": "map"}, 'method must be "bayes" or "ml"'),
        ({"method": "ml", "shrinkage": 2.0}, "between 0 and 1"),
        ({"method": "ml", "shrinkage": "some"}, 'or be "auto", got'),
        ({"shrinkage": 0.5}, "the prior shrinks"),
        ({"class_prior": [1.0]}, "one probability for each of the 3"),
    ],
)
def test_parameters_off_their_range_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        GaussianDiscriminant(**options).fit(*some_rows())


def test_a_prior_of_the_wrong_family_is_refused():
    with pytest.raises(TypeError, match="must be a NormalInverseWishart"):
        GaussianDiscriminant(prior=NormalInverseGamma(0.0, 1.0, 1.0, 1.0)).fit(*some_rows())
    prior = NormalInverseWishart(np.zeros(3), 1.0, 5.0, np.eye(3))
    with pytest.raises(ValueError, match='is for method="bayes"'):
        GaussianDiscriminant(prior=prior, method="ml").fit(*some_rows())


@pytest.mark.topic("000/G18")
@pytest.mark.parametrize(("d", "count"), [(10, 76), (2, 8)])
def test_the_number_of_parameters_grows_with_the_square_of_the_columns(d, count):
    X, y = some_rows(60, d, 2)
    assert GaussianDiscriminant().fit(X, y).n_parameters_ == count == d * (d + 5) // 2 + 1
    pairs = d * (d + 1) // 2
    assert GaussianDiscriminant("full").fit(X, y).n_parameters_ == 1 + 2 * (d + pairs)
    naive = NaiveBayes().fit(X, y)
    assert (
        GaussianDiscriminant("diagonal").fit(X, y).n_parameters_ == naive.n_parameters_ == 1 + 4 * d
    )


@pytest.mark.slow
@pytest.mark.parametrize("covariance", ["shared", "full", "diagonal"])
def test_class_probabilities_keep_their_word_where_parameters_come_from_the_prior(covariance):
    """Classes, rows and a new row are drawn from the model; few rows make all of it uncertain."""
    full = NormalInverseWishart([0.0, 0.0], 0.3, 6.0, 3.0 * np.eye(2))
    columns = NormalInverseGamma([0.0, 0.0], 0.3, 2.5, 1.5)
    prior = columns if covariance == "diagonal" else full
    given, hits = [], []
    for seed in range(500):
        rng = np.random.default_rng(seed)
        X, y = draw_table(prior, covariance, 9, rng)
        model = GaussianDiscriminant(covariance, prior=prior, class_prior=[0.5, 0.5])
        given.append(model.fit(X[:8], y[:8]).predict_proba(X[8:])[0, 1])
        hits.append(y[8])
    p, hit = np.array(given), np.array(hits)
    for low, high in [(0.0, 0.15), (0.15, 0.5), (0.5, 0.85), (0.85, 1.0)]:
        mine = (p >= low) & (p <= high)
        assert mine.sum() > 40
        noise = np.sqrt((p[mine] * (1 - p[mine])).sum())
        assert abs((hit[mine] - p[mine]).sum()) < 5 * noise


def draw_table(prior, covariance, n, rng):
    """Draw parameters of two classes from the prior, then rows; the last class is a toss."""
    y = np.concatenate([np.arange(n - 1) % 2, rng.integers(0, 2, 1)])
    if covariance == "diagonal":
        variance = 1.0 / rng.gamma(prior.shape, 1.0 / prior.scale, size=(2, 2))
        mean = rng.normal(prior.location, np.sqrt(variance / prior.mean_strength))
        return rng.normal(mean[y], np.sqrt(variance[y])), y
    covs = stats.invwishart(float(prior.dof), prior.scale).rvs(2, random_state=rng)
    if covariance == "shared":
        covs[1] = covs[0]
    roots = np.linalg.cholesky(covs)
    shift = np.einsum("kij,kj->ki", roots, rng.normal(size=(2, 2)))
    means = prior.location + shift / np.sqrt(prior.mean_strength)
    return means[y] + np.einsum("nij,nj->ni", roots[y], rng.normal(size=(n, 2))), y


# -- shrinkage ---------------------------------------------------------------------------------


@pytest.mark.parametrize("covariance", ["shared", "full"])
def test_the_automatic_share_is_the_noise_of_the_correlations(covariance):
    X, y = some_rows(50, 4, 2)
    X = X + X[:, :1]
    weight = np.arange(50) % 3 + (np.arange(50) < 2)
    model = GaussianDiscriminant(covariance, method="ml", shrinkage="auto")
    model.fit(X, y, sample_weight=weight)
    X, y = np.repeat(X, weight, axis=0), np.repeat(y, weight)
    centred = X - np.array([X[y == k].mean(axis=0) for k in (0, 1)])[y]
    groups = [centred] if covariance == "shared" else [centred[y == k] for k in (0, 1)]
    for group, share in zip(groups, model.shrinkage_, strict=True):
        z = group / group.std(axis=0)
        n, d = z.shape
        noise = signal = 0.0
        for i in range(d):
            for j in range(d):
                if i != j:
                    r = np.mean(z[:, i] * z[:, j])
                    noise += np.mean((z[:, i] * z[:, j] - r) ** 2) / n
                    signal += r**2
        assert share == pytest.approx(noise / signal, rel=1e-9)
        assert 0 < share < 1


@pytest.mark.parametrize("correlation", [0.0, 0.3, 0.8])
def test_the_automatic_share_comes_near_the_best_fixed_one(correlation):
    d, n = 10, 40
    truth = np.full((d, d), correlation) + (1 - correlation) * np.eye(d)
    root = np.linalg.cholesky(truth)
    shares, errors, automatic = np.linspace(0, 1, 21), np.zeros(21), 0.0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        y = np.arange(n) % 2
        X = rng.normal(size=(n, d)) @ root.T
        model = GaussianDiscriminant(method="ml", shrinkage="auto").fit(X, y)
        automatic += np.sum((model.covariances_[0] - truth) ** 2)
        plain = np.cov((X - np.array([X[y == k].mean(axis=0) for k in (0, 1)])[y]).T, ddof=0)
        whole = np.diag(np.diag(plain))
        errors += [np.sum(((1 - s) * plain + s * whole - truth) ** 2) for s in shares]
    assert automatic < 1.25 * errors.min()
    assert automatic < 0.6 * max(errors[0], errors[-1])


@pytest.mark.parametrize("shrinkage", [0.1, "auto"])
@pytest.mark.parametrize("covariance", ["shared", "full"])
def test_shrunk_columns_without_spread_have_that_of_the_table(covariance, shrinkage):
    X, y = some_rows(40, 2, 2)
    marked = np.column_stack([X, 3.0 * y, np.full(40, 7.0)])
    model = GaussianDiscriminant(covariance, method="ml", shrinkage=shrinkage).fit(marked, y)
    variance = np.var(3.0 * y)
    for k in range(2):
        share = model.shrinkage_[k % len(model.shrinkage_)]
        np.testing.assert_allclose(model.covariances_[k, 2, 2], share * variance)
        np.testing.assert_allclose(model.covariances_[k, 3, 3], share)
    assert model.score(marked, y) == 1.0


def test_singular_covariances_are_named():
    X, y = some_rows()
    twice = np.column_stack([X, X[:, 0]])
    with pytest.raises(ValueError, match="covariance of all classes is singular"):
        GaussianDiscriminant(method="ml").fit(twice, y)
    with pytest.raises(ValueError, match="covariance of class"):
        GaussianDiscriminant("full", method="ml").fit(X[:4], y[:4])
    with pytest.raises(ValueError, match="column 0 is constant in class"):
        GaussianDiscriminant("diagonal", method="ml").fit(X[:3], y[:3])
    assert GaussianDiscriminant(method="ml", shrinkage=0.1).fit(twice, y).score(twice, y) > 0.5
    assert np.isfinite(GaussianDiscriminant("full").fit(X[:4], y[:4]).predict_proba(X)).all()
