"""The slow and obvious answer for normal models: a quadratic function, probed point by point."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from posteriori.modeling import Model

__all__ = ["DenseAnswer", "assert_dense", "dense_answer"]


class DenseAnswer(NamedTuple):
    """Posterior of all unknowns as one vector, where each lies in it, and the evidence."""

    mean: np.ndarray
    cov: np.ndarray
    places: Mapping[str, slice]
    log_evidence: float


def dense_answer(
    model: Model, data: Mapping[str, Any], shapes: Mapping[str, tuple[int, ...]]
) -> DenseAnswer:
    """Solve a model whose log joint density is quadratic in the unknowns named in ``shapes``.

    Second differences of a quadratic are exact, so nothing enters but the joint density.
    """
    places, start = {}, 0
    for name, shape in shapes.items():
        size = int(np.prod(shape))
        places[name] = slice(start, start + size)
        start += size

    def value(x: np.ndarray) -> float:
        point = {n: x[places[n]].reshape(shape) for n, shape in shapes.items()}
        return model.log_joint({**data, **point})

    unit = np.eye(start)
    base = value(np.zeros(start))
    single = np.array([value(e) for e in unit])
    minus = np.array([value(-e) for e in unit])
    h = 0.5 * (single - minus)
    precision = np.diag(2.0 * base - single - minus)
    for i in range(start):
        for j in range(i):
            both = value(unit[i] + unit[j])
            precision[i, j] = precision[j, i] = -(both - single[i] - single[j] + base)
    cov = np.linalg.inv(precision)
    mean = cov @ h
    log_det = np.linalg.slogdet(precision)[1]
    evidence = value(mean) + 0.5 * (start * np.log(2 * np.pi) - log_det)
    return DenseAnswer(mean, cov, places, evidence)


def assert_dense(
    model: Model, data: Mapping[str, Any], shapes: Mapping[str, tuple[int, ...]]
) -> None:
    """Compare evidence, marginals and joint posterior of a normal model with the dense answer."""
    post, exact = model.infer(data), dense_answer(model, data, shapes)
    np.testing.assert_allclose(float(post.log_evidence), exact.log_evidence, rtol=0, atol=1e-9)
    for name, shape in shapes.items():
        d, place = post[name], exact.places[name]
        assert np.shape(d.mean) == shape
        np.testing.assert_allclose(np.ravel(d.mean), exact.mean[place], atol=1e-9)
        np.testing.assert_allclose(np.ravel(d.variance), np.diag(exact.cov)[place], atol=1e-10)
    joint = post.joint(*shapes)
    np.testing.assert_allclose(joint.mean, exact.mean, atol=1e-9)
    np.testing.assert_allclose(joint.cov, exact.cov, atol=1e-9)
