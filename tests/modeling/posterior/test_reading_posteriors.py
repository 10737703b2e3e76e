"""What a posterior shows of itself."""

from posteriori.distributions import (
    Bernoulli,
    Beta,
    Normal,
)
from posteriori.modeling import Chain
from tests.modeling.prediction_models import Y, groups, mixture_of_unknown_kind


def test_a_posterior_shows_means_and_deviations() -> None:
    m = groups()
    m.leaf = Normal(m.mu, variance=1.0)
    post = m.infer(y=[1.0, 2.0])
    first, mu, theta, leaf = repr(post).split("\n")
    assert first == f"Posterior: log_evidence = {float(post.log_evidence):.6g} (exact)"
    assert mu.split() == [
        "mu", "Normal", f"{float(post.mu.mean):.4g}", "±", f"{float(post.mu.variance) ** 0.5:.4g}"
    ]  # fmt: skip
    assert theta.startswith("  theta  Normal (2,)  ")
    assert leaf.split(maxsplit=1) == ["leaf", "predicted: nothing below is observed"]
    assert {"mu", "theta", "leaf"} <= set(dir(post))
    assert "float64" not in repr(post)


def test_long_batches_are_cut() -> None:
    line = repr(groups().infer(y=Y)).split("\n")[2]
    assert line.count("±") == 4
    assert line.endswith(", …")


def test_states_are_shown_by_their_probabilities() -> None:
    post = mixture_of_unknown_kind().infer(y=Y[:2])
    text = repr(post)
    assert f"P(1) = {float(post.kind.probability):.4g}" in text
    best = post.z.probabilities[0].argmax()
    assert f"P({best}) = {float(post.z.probabilities[0, best]):.4g}" in text


def test_the_most_likely_point_has_the_highest_density() -> None:
    m = groups()
    m.p = Beta(2.0, 3.0)
    m.flips = Bernoulli(m.p).iid("k")
    m.s = Chain(Normal(0.0, variance=1.0), lambda s: Normal(s, variance=0.5), length="t")
    m.x = Normal(m.s, variance=1.0)
    data = {"y": Y, "flips": [1, 0, 1], "x": [1.0, 2.0, 0.5]}
    best = m.infer(data).most_likely()
    assert isinstance(best["mu"], float)
    assert isinstance(best["p"], float)
    top = m.log_joint({**data, **best})
    for name, value in best.items():
        for step in (-1e-3, 1e-3):
            assert m.log_joint({**data, **best, name: value + step}) < top
