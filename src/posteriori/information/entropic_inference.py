r"""Maximum entropy: the least committed distribution that honours what is known.

.. math:: \max_p H[p]\ \text{ or }\ \min_p KL(p\,\|\,b)\quad\text{subject to } E_p[f_k] = t_k
          \quad\Rightarrow\quad p \propto b\,\exp\Bigl\{\sum_k\lambda_k f_k\Bigr\}.

Known cases come back as their family: a mean on the positive reals gives the exponential, mean and
variance on the line the normal, a mean on {0, 1, …} the geometric, an interval the uniform; on a
finite support the answer is a categorical, elsewhere a numeric density.

Reference: E. Jaynes, "Information theory and statistical mechanics", 1957.
"""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np

from posteriori.distributions.base import Univariate, has_atoms
from posteriori.distributions.counts.bernoulli import Bernoulli
from posteriori.distributions.counts.binomial import Binomial
from posteriori.distributions.counts.categorical import Categorical
from posteriori.distributions.counts.geometric import Geometric
from posteriori.distributions.counts.poisson import Poisson
from posteriori.distributions.numbers.exponential_distribution import Exponential
from posteriori.distributions.numbers.gamma import Gamma
from posteriori.distributions.numbers.normal import Normal
from posteriori.distributions.numbers.uniform import Uniform
from posteriori.information.gibbs_models import (
    Interval,
    MaximumEntropy,
    closed_form,
    solve_on_labels,
    solve_on_panels,
)
from posteriori.information.moment_constraints import (
    Constraint,
    MomentsLike,
    Power,
    evaluate,
    first_two,
    read_constraints,
    targets_of,
)
from posteriori.numerics.validation import probability_vector
from posteriori.numerics.warnings import ConvergenceWarning

__all__ = ["maximum_entropy", "maximum_relative_entropy"]

_REACH = 10.0  # first window of an unbounded support, in standard deviations

#: Windows that are tried, each 1.6 times as wide as the one before.
_N_WINDOWS = 5


def maximum_entropy(
    support: str | Interval | Iterable[Hashable],
    moments: MomentsLike | None = None,
    *,
    mean: float | None = None,
    variance: float | None = None,
    window: tuple[float, float] | None = None,
    tol: float = 1e-10,
    max_iter: int = 300,
) -> MaximumEntropy:
    """Return the distribution of largest entropy with given moments.

    Parameters
    ----------
    support : "reals", "positives", "counts", Interval, or the listed values of a finite support
        Where the variable lives; ``range(1, 7)`` is a die.
    moments : dict, optional
        Known expectations: key k for E[xᵏ], or a function f for E[f(x)].
    mean, variance : float, optional
        Another way to state the first two; a variance needs a mean.
    window : (float, float), optional
        Where a density on an unbounded support is looked for, when moments do not tell.
    tol : float
        Goal for the deviation of the constraints, relative to the range of their functions.
    max_iter : int
        Most Newton steps.

    Raises
    ------
    ValueError
        When no distribution meets the constraints (the message names those in conflict), or when
        the entropy is unbounded.

    Warns
    -----
    ConvergenceWarning
        When the tolerance was not met; ``reason`` says why.

    Examples
    --------
    >>> die = maximum_entropy(support=range(1, 7), moments={1: 4.5})  # Jaynes' loaded die
    >>> die.distribution.probabilities.round(5)
    array([0.05435, 0.07877, 0.11416, 0.16545, 0.23977, 0.34749])
    >>> maximum_entropy("positives", {1: 2.0}).distribution
    Exponential(0.5)
    """
    constraints = read_constraints(moments, mean, variance)
    if isinstance(support, str):
        support = _named_support(support)
    if isinstance(support, range) and support == _COUNTS:
        return _announced(_on_counts(constraints, tol, max_iter))
    if isinstance(support, Interval):
        return _announced(_on_interval(support, constraints, window, tol, max_iter))
    labels = tuple(support)
    if not labels:
        raise ValueError("support must not be empty")
    size = float(np.log(len(labels)))
    uniform = np.full(len(labels), -size)
    return _announced(solve_on_labels(labels, uniform, constraints, tol, max_iter, size))


def maximum_relative_entropy(
    base: Any,
    constraints: MomentsLike | None = None,
    *,
    mean: float | None = None,
    variance: float | None = None,
    tol: float = 1e-10,
    max_iter: int = 300,
) -> MaximumEntropy:
    """Return the distribution nearest to ``base`` in KL(p ‖ base) with given expectations.

    Parameters
    ----------
    base : distribution of numbers or categories, or array (K,) of probabilities
        What was believed before the expectations were known.
    constraints : dict, optional
        Known expectations: key k for E[xᵏ], or a function f for E[f(x)].
    mean, variance : float, optional
        Another way to state the first two; a variance needs a mean.
    tol : float
        Goal for the deviation of the constraints, relative to the range of their functions.
    max_iter : int
        Most Newton steps.

    Examples
    --------
    >>> maximum_relative_entropy(Gamma(3.0, 1.0), {1: 6.0}).distribution
    Gamma(3, rate=0.5)
    >>> maximum_relative_entropy([0.5, 0.3, 0.2], {1: 1.0}).distribution.probabilities.round(6)
    array([0.339134, 0.321731, 0.339134])
    """
    listed = read_constraints(constraints, mean, variance)
    if isinstance(base, Categorical):
        labels = base.labels or tuple(range(base.n_categories))
        log_p = base._log_probabilities
        return _announced(solve_on_labels(labels, log_p, listed, tol, max_iter, 0.0))
    if not isinstance(base, Univariate):
        return maximum_relative_entropy(
            Categorical(probability_vector("base", base)),
            constraints,
            mean=mean,
            variance=variance,
            tol=tol,
            max_iter=max_iter,
        )
    if base.batch_shape:
        raise ValueError(f"base must be a single distribution, got batch shape {base.batch_shape}")
    exact = _tilted_family(base, listed)
    if exact is not None:
        multipliers = _natural_shift(base, exact, listed)
        return closed_form(exact, listed, multipliers, -float(exact.kl(base)))
    if has_atoms(base):
        return _announced(_from_discrete_base(base, listed, tol, max_iter))
    return _announced(_from_density(base, listed, tol, max_iter))


def _announced(found: MaximumEntropy) -> MaximumEntropy:
    if not found.converged:
        warnings.warn(found.reason, ConvergenceWarning, stacklevel=3)
    return found


# -- supports ----------------------------------------------------------------------------------

#: Stands for all whole numbers; no support is empty.
_COUNTS = range(0)


def _named_support(name: str) -> Any:
    supports = {
        "reals": Interval(-np.inf, np.inf),
        "positives": Interval(0.0, np.inf),
        "counts": _COUNTS,
    }
    if name not in supports:
        raise ValueError(
            f'support must be "reals", "positives", "counts", an Interval or a list; got {name!r}'
        )
    return supports[name]


# -- finite supports ---------------------------------------------------------------------------


def _on_counts(constraints: list[Constraint], tol: float, max_iter: int) -> MaximumEntropy:
    known = targets_of(constraints)
    if "E[x]" not in known:
        raise ValueError("on the counts the entropy is unbounded unless the mean is known")
    m = known["E[x]"]
    if not m > 0:
        raise ValueError(f"E[x] = {m:g} is impossible on 0, 1, 2, … (0 leaves a certain 0)")
    if set(known) == {"E[x]"}:
        exact = Geometric(1.0 / (1.0 + m))
        return closed_form(exact, constraints, {"E[x]": -np.log1p(1.0 / m)}, float(exact.entropy()))
    stop = int(40.0 * m) + 40
    found = solve_on_labels(tuple(range(stop)), np.zeros(stop), constraints, tol, max_iter, 0.0)
    if found.distribution.probabilities[-1] > 1e-12:
        raise ValueError(_ESCAPE)
    return found


# -- densities ---------------------------------------------------------------------------------

_ESCAPE = (
    "no distribution has the largest entropy under these constraints: better and better ones put "
    "ever less probability ever farther out; bound the support with Interval(lower, upper)"
)


def _on_interval(
    support: Interval,
    constraints: list[Constraint],
    window: tuple[float, float] | None,
    tol: float,
    max_iter: int,
) -> MaximumEntropy:
    low, high = support
    if not low < high:
        raise ValueError(f"an Interval must have lower < upper, got {low!r} and {high!r}")
    exact = _exact_on_interval(low, high, constraints)
    if exact is not None:
        return exact
    if np.isfinite(low) and np.isfinite(high):
        return solve_on_panels(low, high, None, constraints, tol, max_iter)[0]
    if window is not None:
        return _within(
            max(low, window[0]), min(high, window[1]), support, constraints, tol, max_iter
        )
    centre, spread = _location(low, high, constraints)
    reach = _REACH
    for _ in range(_N_WINDOWS):
        a, b = max(low, centre - reach * spread), min(high, centre + reach * spread)
        found, fits = solve_on_panels(a, b, support, constraints, tol, max_iter)
        if fits:
            return found
        reach *= 1.6
    raise ValueError(_ESCAPE)


def _within(
    a: float, b: float, support: Interval, constraints: list[Constraint], tol: float, max_iter: int
) -> MaximumEntropy:
    found, fits = solve_on_panels(a, b, support, constraints, tol, max_iter)
    if not fits:
        raise ValueError(
            f"the density does not vanish at the ends of the window ({a:g}, {b:g}); widen it"
        )
    return found


def _exact_on_interval(
    low: float, high: float, constraints: list[Constraint]
) -> MaximumEntropy | None:
    known = targets_of(constraints)
    bounded = np.isfinite(low) and np.isfinite(high)
    if not known and bounded:
        return closed_form(Uniform(low, high), constraints, {}, float(np.log(high - low)))
    two = first_two(constraints)
    if (low, high) == (-np.inf, np.inf) and two is not None:
        mean, variance = two
        if not variance > 0:
            raise ValueError(
                f"E[x^2] = {known['E[x^2]']:g} is impossible with E[x] = {mean:g}: "
                f"it must exceed {mean * mean:g}"
            )
        d = Normal(mean, variance=variance)
        half = -0.5 / variance
        multipliers = {"E[x]": 0.0, "Var[x]": half}
        if "E[x^2]" in known:
            multipliers = {"E[x]": mean / variance, "E[x^2]": half}
        return closed_form(d, constraints, multipliers, float(d.entropy()))
    if (low, high) == (0.0, np.inf) and set(known) == {"E[x]"}:
        if not known["E[x]"] > 0:
            raise ValueError(f"E[x] = {known['E[x]']:g} is impossible on the positive numbers")
        d_positive = Exponential(1.0 / known["E[x]"])
        rate = {"E[x]": -1.0 / known["E[x]"]}
        return closed_form(d_positive, constraints, rate, float(d_positive.entropy()))
    return None


def _location(low: float, high: float, constraints: list[Constraint]) -> tuple[float, float]:
    """Tell from the moments where a density on an unbounded support must live."""
    known = targets_of(constraints)
    mean = known.get("E[x]")
    second = known.get("Var[x]")
    if mean is not None and second is None and "E[x^2]" in known:
        second = known["E[x^2]"] - mean * mean
        if not second > 0:
            raise ValueError(
                f"E[x^2] = {known['E[x^2]']:g} is impossible with E[x] = {mean:g}: "
                f"it must exceed {mean * mean:g}"
            )
    if mean is not None and second is not None:
        return mean, float(np.sqrt(second))
    edge = low if np.isfinite(low) else high
    if mean is not None and np.isfinite(edge):
        if not low < mean < high:
            raise ValueError(f"E[x] = {mean:g} is impossible between {low:g} and {high:g}")
        return mean, 4.0 * abs(mean - edge)
    if not all(isinstance(c.function, Power) for c in constraints):
        raise ValueError(
            "a function on an unbounded support needs window=(lower, upper): where to look for "
            "the density"
        )
    raise ValueError(
        "the entropy is unbounded on this support: fix the mean and the variance on the reals, "
        "or the mean on a half-line"
    )


# -- other bases -------------------------------------------------------------------------------


def _tilted_family(base: Univariate, constraints: list[Constraint]) -> Any:
    """Return the member of the base's family with the known mean, where tilting stays in it."""
    known = targets_of(constraints)
    two = first_two(constraints)
    if isinstance(base, Normal) and two is not None and two[1] > 0:
        return Normal(two[0], variance=two[1])
    if set(known) != {"E[x]"}:
        return None
    m = known["E[x]"]
    if isinstance(base, Normal):
        return Normal(m, variance=base.variance)
    if isinstance(base, (Exponential, Gamma, Poisson)) and m > 0:
        if isinstance(base, Gamma):
            return Gamma(base.shape, base.shape / m)
        return Exponential(1.0 / m) if isinstance(base, Exponential) else Poisson(m)
    if isinstance(base, Bernoulli) and 0 < m < 1:
        return Bernoulli(m)
    if isinstance(base, Binomial) and 0 < m < base.trials:
        return Binomial(base.trials, m / base.trials)
    return None


def _natural_shift(base: Any, exact: Any, constraints: list[Constraint]) -> dict[str, float]:
    """Return λ by comparing ln p − ln base at as many points as it takes."""
    known = targets_of(constraints)
    grid = np.array([0.0, 1.0, 2.0]) if has_atoms(base) else exact.quantile([0.3, 0.5, 0.8])
    grid = grid[: len(known) + 1]
    gap = exact.log_prob(grid) - base.log_prob(grid)
    rows = np.stack([np.ones(len(grid)), *(evaluate(c, grid) for c in constraints)], axis=1)
    return dict(zip(known, np.linalg.solve(rows, gap)[1:].tolist(), strict=True))


def _from_discrete_base(
    base: Univariate, constraints: list[Constraint], tol: float, max_iter: int
) -> MaximumEntropy:
    start, stop = float(base.quantile(0.0)), float(base.quantile(1.0))
    if not np.isfinite(stop):
        top = max([float(base.quantile(1 - 1e-15)), *(abs(c.target) for c in constraints)])
        stop = 4.0 * top + 40.0
    x = np.arange(start, stop + 1.0)
    log_base = np.asarray(base.log_prob(x))
    labels = tuple(int(k) for k in x)
    found = solve_on_labels(labels, log_base, constraints, tol, max_iter, 0.0)
    if not np.isfinite(base.quantile(1.0)) and found.distribution.probabilities[-1] > 1e-12:
        raise ValueError(_ESCAPE)
    return found


def _from_density(
    base: Univariate, constraints: list[Constraint], tol: float, max_iter: int
) -> MaximumEntropy:
    support = Interval(*(float(base.quantile(q)) for q in (0.0, 1.0)))
    middle, width = float(base.median), float(base.quantile(0.75) - base.quantile(0.25))
    mean = targets_of(constraints).get("E[x]", middle)
    reach = _REACH
    for _ in range(_N_WINDOWS):
        a = max(support.lower, min(middle, mean) - reach * width)
        b = min(support.upper, max(middle, mean) + reach * width)
        found, fits = solve_on_panels(a, b, support, constraints, tol, max_iter, base)
        if fits:
            return found
        reach *= 1.6
    raise ValueError(_ESCAPE)


# -- results -----------------------------------------------------------------------------------
