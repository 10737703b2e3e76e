import numpy as np
import pytest
from scipy.stats import multivariate_normal

from posteriori import Normal
from posteriori.gaussian_process import GaussianProcessRegressor, log_evidence
from posteriori.kernels import RBF, Coregion, Matern, White
from tests.inference.processes.dense_oracle import slopes

#: Of one input and the code of the output.
TOGETHER = Coregion.from_factors([[1.2], [-8.0], [0.4]], [0.3, 5.0, 1.0])
NOISE = np.array([0.1, 2.0, 0.3])
KERNEL = TOGETHER.on([1]) * RBF(0.9).on([0]) + White(NOISE).on([1])
LEVELS = {"zero": 0, "constant": 1, "linear": 2}


def _rows(seed=0, n=12, missing=True):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2.0, 2.0, (n, 1))
    Y = np.sin(2.0 * X) * [1.0, -6.0, 0.5] + [3.0, 100.0, 0.0]
    Y = Y + rng.standard_normal((n, 3)) * np.sqrt(NOISE)
    if missing:
        Y[2, 0] = Y[2, 1] = Y[5:9, 2] = np.nan
    return X, Y


def _fixed(mean="zero", kernel=KERNEL):
    return GaussianProcessRegressor(
        kernel, hyperparameters="fixed", mean=mean, outputs="coregionalised"
    )


def _dense(X, Y, new, mean):
    """Return mean and covariance of all targets that are there and of new values, by plain algebra."""
    seen = [(n, q) for n in range(len(X)) for q in range(3) if not np.isnan(Y[n, q])]
    wanted = [(m, q) for m in range(len(new)) for q in range(3)]
    x = np.array([X[n, 0] for n, _ in seen] + [new[m, 0] for m, _ in wanted])
    q = np.array([q for _, q in seen + wanted])
    cov = TOGETHER.cov[np.ix_(q, q)] * np.exp(-0.5 * np.subtract.outer(x, x) ** 2 / 0.81)
    center = np.zeros(3)
    if mean != "zero":
        center, spread = np.nanmean(Y, axis=0), np.nanstd(Y, axis=0)
        same = np.equal.outer(q, q) * np.multiply.outer(spread[q], spread[q])
        unit = (x - X.mean()) / X.std()
        cov = cov + same * (1.0 + (mean == "linear") * np.multiply.outer(unit, unit))
    M = len(seen)
    cov[:M, :M] += np.diag(NOISE[q[:M]])
    return center[q], cov, np.array([Y[one] for one in seen])


@pytest.mark.parametrize("mean", LEVELS)
def test_the_normal_of_all_targets_that_are_there(mean):
    X, Y = _rows()
    new = np.array([[0.2], [1.7]])
    center, cov, y = _dense(X, Y, new, mean)
    M = len(y)
    gp = _fixed(mean).fit(X, Y)
    expected = multivariate_normal(center[:M], cov[:M, :M]).logpdf(y)
    assert float(gp.log_evidence_) == pytest.approx(expected, rel=1e-10)
    assert gp.log_evidence_.kind == "exact"
    across = np.linalg.solve(cov[:M, :M], cov[:M, M:]).T
    told = center[M:] + across @ (y - center[:M])
    left = cov[M:, M:] - across @ cov[:M, M:]
    predicted = gp.predict_dist(new, noise=False)
    assert predicted.mean == pytest.approx(told.reshape(2, 3), rel=1e-9)
    assert predicted.variance == pytest.approx(left.diagonal().reshape(2, 3), rel=1e-8)
    assert gp.predict(new) == pytest.approx(told.reshape(2, 3), rel=1e-9)
    noisy = gp.predict_dist(new, noise_variance=[1.0, 3.0])
    noise = NOISE * np.array([[1.0], [3.0]])
    assert noisy.variance == pytest.approx(left.diagonal().reshape(2, 3) + noise, rel=1e-8)
    joint = gp.predict_dist(new, joint=True)
    assert joint.mean == pytest.approx(told, rel=1e-9)
    assert joint.cov == pytest.approx(left + np.diag(np.tile(NOISE, 2)), rel=1e-7, abs=1e-9)
    effects = gp.effects(new)
    assert len(effects) == 1 + (mean != "zero")
    assert sum(one.belief.mean for one in effects) == pytest.approx(predicted.mean, rel=1e-9)


def test_slopes_of_variances_and_loadings():
    X, Y = _rows()
    n, q = np.nonzero(~np.isnan(Y))
    rows, y = np.column_stack([X[n], q]), Y[n, q]
    _, gradient = log_evidence(KERNEL, rows, y)
    expected = slopes(lambda k: float(log_evidence(k, rows, y, False)), KERNEL)
    assert gradient == pytest.approx(expected, rel=1e-5, abs=1e-5)


def test_a_missing_output_is_told_by_the_other():
    """One output is −50 times the other: where it is not seen the other says what it is."""
    rng = np.random.default_rng(0)
    X = np.sort(rng.uniform(0.0, 10.0, 30))[:, None]
    f = np.sin(X[:, 0])
    Y = np.column_stack([f, 100.0 - 50.0 * f]) + rng.standard_normal((30, 2)) * [0.1, 3.0]
    Y[15:, 1] = np.nan
    chosen = {"outputs": "coregionalised", "hyperparameters": "type-II"}
    joined = GaussianProcessRegressor(**chosen).fit(X, Y)
    alone = GaussianProcessRegressor(rank=0, **chosen).fit(X, Y)
    wrong = [np.abs(gp.predict(X)[15:, 1] - (100.0 - 50.0 * f[15:])) for gp in (joined, alone)]
    assert wrong[0].max() < 10.0 < wrong[1].mean()
    assert (joined.predict_dist(X).std[15:, 1] < alone.predict_dist(X).std[15:, 1]).all()
    assert float(joined.log_evidence_) > float(alone.log_evidence_) + 5.0
    assert joined.log_evidence_.kind == "type-II"
    assert joined.log_evidence_.comparable(alone.log_evidence_)
    assert joined.account_[0] == "2 coregionalised outputs, 45 targets"


def test_units_of_outputs_do_not_matter():
    X, Y = _rows(1, 20)
    units = np.array([1.0, 1e4, 1e-3])
    one, other = (
        GaussianProcessRegressor(Matern(nu=2.5), outputs="coregionalised").fit(X, targets)
        for targets in (Y, Y * units)
    )
    shift = (~np.isnan(Y)).sum(axis=0) @ np.log(units)
    assert float(other.log_evidence_) + shift == pytest.approx(float(one.log_evidence_), abs=1e-2)
    assert other.predict(X[:3]) / units == pytest.approx(one.predict(X[:3]), rel=0.02, abs=0.02)


def test_complete_targets_are_a_grid():
    X, Y = _rows(2, 100, missing=False)
    gp = _fixed("constant").fit(X, Y)
    assert gp.account_[1] == "Kronecker factors of a grid of 100 × 3 inputs, O(N Σ n)"
    center, cov, y = _dense(X, Y, X[:0], "constant")
    expected = multivariate_normal(center, cov).logpdf(y)
    assert float(gp.log_evidence_) == pytest.approx(expected, rel=1e-9)


def test_stream_is_batch():
    X, Y = _rows()
    batch = _fixed("linear").fit(X, Y)
    stream = _fixed("linear").fit(X[:7], Y[:7]).partial_fit(X[7:], Y[7:])
    assert float(stream.log_evidence_) == pytest.approx(float(batch.log_evidence_), rel=1e-9)
    assert stream.predict(X) == pytest.approx(batch.predict(X), rel=1e-8)
    assert stream.account_ == batch.account_


def test_weights_are_repeated_rows():
    X, Y = _rows()
    times = np.array([2, 1, 3] + [1] * 9)
    weighed = _fixed("constant").fit(X, Y, sample_weight=times)
    repeated = _fixed("constant").fit(np.repeat(X, times, axis=0), np.repeat(Y, times, axis=0))
    assert float(weighed.log_evidence_) == pytest.approx(float(repeated.log_evidence_), rel=1e-9)
    assert weighed.predict(X) == pytest.approx(repeated.predict(X), rel=1e-9)


def test_draws_follow_the_joint_belief():
    X, Y = _rows()
    gp = _fixed("constant").fit(X, Y)
    new, size = np.array([[0.2], [3.0]]), 4000
    drawn = gp.sample_functions(new, size, random_state=0)
    joint = gp.predict_dist(new, joint=True, noise=False)
    flat = drawn.reshape(size, 6)
    assert drawn.shape == (size, 2, 3)
    error = np.sqrt(np.diag(joint.cov) / size)
    assert (np.abs(flat.mean(axis=0) - joint.mean) < 5.0 * error).all()
    scale = np.sqrt(np.outer(np.diag(joint.cov), np.diag(joint.cov)))
    assert np.abs(np.cov(flat.T) - joint.cov).max() < 5.0 * np.sqrt(2.0 / size) * scale.max()
    targets = gp.sample_targets(new, size, rng=1)
    spread = gp.predict_dist(new).std
    assert targets.std(axis=0) == pytest.approx(spread, rel=5.0 / np.sqrt(2.0 * size))


def test_integrated_parameters_give_mixtures():
    X, Y = _rows(3, 8)
    gp = GaussianProcessRegressor(
        RBF(),
        hyperparameters="integrated",
        outputs="coregionalised",
        fixed=("Coregion.variance", "White.variance"),
    ).fit(X, Y[:, :2])
    predicted = gp.predict_dist(X[:4])
    assert predicted.batch_shape == (4, 2)
    assert gp.log_evidence_.kind == "laplace"
    assert isinstance(predicted.components, Normal)
    assert predicted.mean == pytest.approx(gp.predict(X[:4]), rel=1e-9)
    joint = gp.predict_dist(X[:4], joint=True)
    assert joint.mean == pytest.approx(gp.predict(X[:4]).ravel(), rel=1e-9)


def test_what_is_refused():
    X, Y = _rows()
    gp = GaussianProcessRegressor(outputs="coregionalised")
    with pytest.raises(ValueError, match="two or more outputs, got one"):
        gp.fit(X, X[:, 0])
    with pytest.raises(ValueError, match=r"hyperparameters='fixed' .* needs a kernel that says"):
        _fixed(kernel=RBF() + White()).fit(X, Y)
    with pytest.raises(ValueError, match="no target in column 1"):
        gp.fit(X, np.column_stack([X, np.full(len(X), np.nan)]))
    with pytest.raises(
        ValueError, match=r"rank must be at most the number of outputs \(3\), got 4"
    ):
        GaussianProcessRegressor(outputs="coregionalised", rank=4).fit(X, Y)
    with pytest.raises(ValueError, match="more than noise"):
        GaussianProcessRegressor(White(), outputs="coregionalised").fit(X, Y)
    with pytest.raises(ValueError, match=r"NaN in row 2, column 0, .*outputs='coregionalised'"):
        GaussianProcessRegressor().fit(X, Y)
    assert not hasattr(_fixed(), "leave_one_out_log_density")
