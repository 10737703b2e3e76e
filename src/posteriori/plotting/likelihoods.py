r"""One formula, two views: :math:`p(y\mid\theta)` as a distribution of y for a fixed θ, and as
the likelihood function :math:`L(\theta)` of θ for a fixed y.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.integrate import trapezoid

from posteriori.numerics.types import Array
from posteriori.plotting.parts.frame import make_room, place_legend
from posteriori.plotting.parts.members import Member
from posteriori.plotting.parts.part_names import number_text
from posteriori.plotting.parts.style import COLORS, panels_for
from posteriori.plotting.pictures.density_curves import draw_curves

__all__ = ["plot_likelihood"]


def plot_likelihood(
    likelihood: Callable[[Any], Any],
    parameter: float,
    observation: Any,
    ax: Any = None,
    *,
    between: Any = None,
) -> Any:
    r"""Draw the sampling distribution beside the likelihood function.

    The first panel is a probability distribution: it sums, or integrates, to 1 over y. The second
    is a function of θ and no density: its area, stated in the legend, is anything.

    Parameters
    ----------
    likelihood : family or function
        Returns the distribution of one number y given θ: ``Bernoulli``, or
        ``lambda mu: Normal(mu, variance=1.0)``.
    parameter : float
        The value of θ at which y is distributed.
    observation : float or array (N,)
        What was seen; of several independent observations the likelihoods multiply.
    ax : pair of matplotlib Axes, optional
        Where to draw the two; a new figure if None.
    between : pair of float, optional
        Range of θ; where the likelihood is not negligible if None.

    Returns
    -------
    array of 2 Axes

    Examples
    --------
    >>> from posteriori import Bernoulli
    >>> sampling, function = plot_likelihood(Bernoulli, 0.5, 1)
    >>> function.get_legend_handles_labels()[1]
    ['L(θ), area 0.5']
    """
    seen = np.ravel(np.asarray(observation, dtype=np.float64))

    def log_likelihood(theta: float) -> float:
        try:
            with np.errstate(all="ignore"):
                return float(np.sum(likelihood(theta).log_prob(seen)))
        except (ValueError, ArithmeticError):  # θ is no parameter of the family
            return -np.inf

    low, high = _support_of(log_likelihood, float(parameter), seen) if between is None else between
    theta = np.linspace(low, high, 401)
    log_l = np.array([log_likelihood(t) for t in theta])
    if not np.any(np.isfinite(log_l)):
        raise ValueError(f"the observation has likelihood 0 for every θ from {low} to {high}")
    kept = log_l < np.inf
    theta, values = theta[kept], np.exp(log_l[kept])
    with panels_for(ax, (1, 2), 2, (7.4, 3.0)) as (sampling, function):
        member = Member(likelihood(float(parameter)))
        draw_curves(sampling, {f"p(y | θ = {number_text(parameter)})": member})
        sampling.set(xlabel="y", title="sampling distribution")
        area = trapezoid(values, theta)
        make_room(function, (low, high), float(values.max()))
        function.plot(theta, values, color=COLORS[1], label=f"L(θ), area {number_text(area)}")
        function.set(xlabel="θ", ylabel="likelihood", title=f"likelihood of {_tell(seen)}")
        place_legend(function)
    return np.array([sampling, function])


def _support_of(
    log_likelihood: Callable[[float], float], parameter: float, seen: Array
) -> tuple[float, float]:
    """Find where the likelihood exceeds 1/500 of its maximum, on ever finer ladders."""
    steps = np.append(0.0, np.geomspace(1e-3, 1e3, 37))
    anchors = (0.0, parameter, float(seen.mean()))
    ladder = np.unique([a + s * step for a in anchors for s in (-1.0, 1.0) for step in steps])
    values = np.array([log_likelihood(t) for t in ladder])
    for _ in range(3):
        if not np.any(values > -np.inf):
            raise ValueError("no parameter explains the observation; say where to look by between")
        high_enough = np.flatnonzero(values >= np.max(values[values < np.inf]) - np.log(500.0))
        first, last = max(high_enough[0] - 1, 0), min(high_enough[-1] + 1, len(ladder) - 1)
        ladder = np.linspace(ladder[first], ladder[last], 161)
        values = np.array([log_likelihood(t) for t in ladder])
    low, high = float(ladder[0]), float(ladder[-1])
    margin = 0.1 * (high - low)
    middle = float(ladder[np.argmax(np.where(values < np.inf, values, -np.inf))])
    low = _edge(log_likelihood, middle, low, low - margin)
    high = _edge(log_likelihood, middle, high, high + margin)
    return min(low, parameter), max(high, parameter)


def _edge(
    log_likelihood: Callable[[float], float], inside: float, end: float, beyond: float
) -> float:
    """Return ``end``, or the edge of the parameters that the family has where that is near."""
    if log_likelihood(beyond) > -np.inf:
        return end
    outside = beyond
    for _ in range(1100):  # down to the smallest number
        middle = 0.5 * (inside + outside)
        if middle in (inside, outside):
            break
        if log_likelihood(middle) > -np.inf:
            inside = middle
        else:
            outside = middle
    return inside


def _tell(seen: Array) -> str:
    return f"y = {number_text(seen[0])}" if len(seen) == 1 else f"{len(seen)} data"
