"""Data for regression: y = f(x) + ε, with x uniform on an interval and Gaussian noise ε.

Every set has the inputs and, as target, ``y``; its ``truth`` holds ``mean``, the value of f at each
input, and ``noise_variance``, beside the parameters of f.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from posteriori.datasets.dataset import Dataset
from posteriori.datasets.generator_arguments import count, interval, one_number, vector
from posteriori.datasets.generator_docs import generator
from posteriori.numerics.random import as_generator
from posteriori.numerics.types import Array, Seed
from posteriori.numerics.validation import nonnegative, real_vector

__all__ = [
    "make_curve",
    "make_heteroscedastic_line",
    "make_noisy_line",
    "make_polynomial",
    "make_sinusoid",
]


@generator
def make_noisy_line(
    n_samples: int = 20,
    *,
    intercept: float = -0.3,
    slope: float = 0.5,
    noise_variance: float = 0.04,
    low: float = -1.0,
    high: float = 1.0,
    rng: Seed = None,
) -> Dataset:
    """Draw points near a straight line, y = intercept + slope · x + ε.

    The defaults are those of the lesson on sequential Bayesian learning, y = −0.3 + 0.5 x + ε,
    with noise of precision 25.

    Returns
    -------
    Dataset
        Columns ``x`` and ``y``, the target. ``truth``: ``weights`` (intercept, slope), ``mean``,
        ``noise_variance``.

    References
    ----------
    C. M. Bishop (2006), Pattern Recognition and Machine Learning, section 3.3.1.

    Examples
    --------
    >>> line = make_noisy_line(50, rng=0)
    >>> line, line.X.shape, line.truth["weights"].tolist()
    (Dataset(50 rows; x -> y), (50, 1), [-0.3, 0.5])
    """
    weights = np.array([one_number("intercept", intercept), one_number("slope", slope)])
    return _draw_curve(
        lambda x: weights[0] + weights[1] * x,
        {"weights": weights},
        n_samples,
        noise_variance,
        interval(low, high),
        rng,
        f"Points near the line y = {weights[0]:g} + {weights[1]:g} x.",
    )


@generator
def make_polynomial(
    n_samples: int = 30,
    *,
    weights: Sequence[float] = (1.0, 2.0, 0.25),
    noise_variance: float = 2.0,
    low: float = 0.0,
    high: float = 10.0,
    rng: Seed = None,
) -> Dataset:
    """Draw points near a polynomial, y = w₀ + w₁ z + w₂ z² + … + ε.

    The defaults are those of the lesson on factor graphs, where Bayesian linear regression is done
    by message passing: w = (1, 2, 0.25), thirty inputs between 0 and 10, noise of variance 2.

    Parameters
    ----------
    weights : sequence of float
        The coefficients, lowest power first.
    low, high : float
        The ends of the interval of z.

    Returns
    -------
    Dataset
        Columns ``z`` and ``y``, the target. ``truth``: ``weights``, ``mean``, ``noise_variance``.

    Examples
    --------
    The features of the lesson are the powers of the input:

    >>> import numpy as np
    >>> points = make_polynomial(rng=0)
    >>> np.vander(points["z"], 3, increasing=True).shape
    (30, 3)
    """
    w = vector("weights", weights, real_vector)
    return _draw_curve(
        lambda z: np.polynomial.polynomial.polyval(z, w),
        {"weights": w},
        n_samples,
        noise_variance,
        interval(low, high),
        rng,
        f"Points near a polynomial of degree {len(w) - 1}.",
        input_name="z",
    )


@generator
def make_sinusoid(
    n_samples: int = 25,
    *,
    frequency: float = 1.0,
    amplitude: float = 1.0,
    noise_variance: float = 0.04,
    low: float = 0.0,
    high: float = 1.0,
    rng: Seed = None,
) -> Dataset:
    """Draw points near a sine, y = amplitude · sin(2π · frequency · x) + ε.

    The curve sin(2πx) of the lessons on regression: the bias–variance decomposition, the
    predictive distribution of nine Gaussian basis functions. The lesson on model comparison fits
    polynomials to a sine and sees the odd orders gain: that holds on an interval about 0, as in
    ``make_sinusoid(20, frequency=0.5, low=-1, high=1)``.

    Parameters
    ----------
    frequency : float
        Periods per unit of x.
    amplitude : float
        The height of the sine.

    Returns
    -------
    Dataset
        Columns ``x`` and ``y``, the target. ``truth``: ``frequency``, ``amplitude``, ``mean``,
        ``noise_variance``.

    References
    ----------
    C. M. Bishop (2006), Pattern Recognition and Machine Learning, sections 1.1 and 3.2.

    Examples
    --------
    >>> make_sinusoid(rng=0), make_sinusoid(rng=0).truth["frequency"]
    (Dataset(25 rows; x -> y), 1.0)
    """
    periods, height = one_number("frequency", frequency), one_number("amplitude", amplitude)
    return _draw_curve(
        lambda x: height * np.sin(2 * np.pi * periods * x),
        {"frequency": periods, "amplitude": height},
        n_samples,
        noise_variance,
        interval(low, high),
        rng,
        f"Points near a sine of {periods:g} periods per unit.",
    )


@generator
def make_heteroscedastic_line(
    n_samples: int = 50, *, intercept: float = -2.0, slope: float = 5.0, rng: Seed = None
) -> Dataset:
    """Draw points near a line with noise that grows with x: x ~ U(0, 1), y ~ N(f(x), v(x)).

    With f(x) = 5x − 2 and v(x) = 10 exp(2x²) − 9.5 this is the example of the lesson on regression
    that sets least squares beside weighted least squares.

    Parameters
    ----------
    intercept, slope : float
        The line f.

    Returns
    -------
    Dataset
        Columns ``x`` and ``y``, the target. ``truth``: ``weights`` (intercept, slope), ``mean`` and
        ``noise_variance``, one for each point.

    Examples
    --------
    >>> line = make_heteroscedastic_line(rng=0)
    >>> line.truth["noise_variance"].shape
    (50,)
    """
    weights = np.array([one_number("intercept", intercept), one_number("slope", slope)])
    generator = as_generator(rng)
    x = generator.random(count("n_samples", n_samples))
    mean, variance = weights[0] + weights[1] * x, 10 * np.exp(2 * x**2) - 9.5
    return Dataset(
        np.column_stack([x, mean + np.sqrt(variance) * generator.standard_normal(len(x))]),
        ("x", "y"),
        "Points near a line, with noise of variance 10 exp(2 x^2) - 9.5.",
        target="y",
        truth={"weights": weights, "mean": mean, "noise_variance": variance},
    )


_CURVES: dict[str, Callable[[Array], Array]] = {
    "square": np.square,
    "sine": np.sin,
    "absolute": np.abs,
    "step": lambda x: np.where(x > 0, 1.0, 0.0),
}


@generator
def make_curve(
    curve: str,
    n_samples: int = 50,
    *,
    noise_variance: float = 0.0,
    low: float = -1.0,
    high: float = 1.0,
    rng: Seed = None,
) -> Dataset:
    """Draw points on one of the four curves that a small neural network learns to follow.

    The lesson on neural networks approximates x², sin x, abs(x) and the step at 0 with three hidden
    units, from points without noise.

    Parameters
    ----------
    curve : {"square", "sine", "absolute", "step"}
        The function.

    Returns
    -------
    Dataset
        Columns ``x`` and ``y``, the target. ``truth``: ``curve``, ``mean``, ``noise_variance``.

    References
    ----------
    C. M. Bishop (2006), Pattern Recognition and Machine Learning, figure 5.3.

    Examples
    --------
    >>> sorted(set(make_curve("step", rng=0).y.tolist()))
    [0.0, 1.0]
    """
    if curve not in _CURVES:
        raise ValueError(f"curve must be one of {', '.join(_CURVES)}; got {curve!r}")
    return _draw_curve(
        _CURVES[curve],
        {"curve": curve},
        n_samples,
        noise_variance,
        interval(low, high),
        rng,
        f"Points near the curve {curve!r}.",
    )


def _draw_curve(
    function: Callable[[Array], Array],
    parameters: dict[str, Any],
    n_samples: int,
    noise_variance: float,
    limits: tuple[float, float],
    rng: Seed,
    description: str,
    input_name: str = "x",
) -> Dataset:
    variance = one_number("noise_variance", noise_variance, nonnegative)
    generator = as_generator(rng)
    x = generator.uniform(*limits, count("n_samples", n_samples))
    mean = function(x)
    y = mean + np.sqrt(variance) * generator.standard_normal(len(x))
    return Dataset(
        np.column_stack([x, y]),
        (input_name, "y"),
        description,
        target="y",
        truth={**parameters, "mean": mean, "noise_variance": variance},
    )
