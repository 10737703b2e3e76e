r"""Bayes' rule on a grid: slow, obvious, and right for any model with a few parameters.

.. math:: p(\theta\mid D) = \frac{p(D\mid\theta)\,p(\theta)}{p(D)},\qquad
          p(D) = \int p(D\mid\theta)\,p(\theta)\,d\theta \approx \sum_i w_i\,p(D\mid\theta_i)\,p(\theta_i).

Weights are Simpson's where an axis is evenly spaced with an odd number of points, trapezoidal
otherwise; the evidence is an estimate whose error is its change when every second point is left
out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from posteriori.distributions.base import Distribution
from posteriori.numerics.evidence import LogEvidence
from posteriori.numerics.logspace import log_sum_exp
from posteriori.numerics.random import as_generator
from posteriori.numerics.types import Array, Seed

__all__ = ["GridPosterior", "grid_posterior"]

#: Cells of a grid: 400 MB.
_MOST_CELLS = 50_000_000


def grid_posterior(
    log_likelihood: Callable[..., Any],
    log_prior: Distribution | Callable[..., Any],
    grids: Mapping[str, Any] | Sequence[Any],
    *,
    of: str = "X",
) -> GridPosterior:
    """Evaluate a posterior on a grid of parameters.

    Parameters
    ----------
    log_likelihood : callable
        ln p(D | θ₁, θ₂, …) of the parameters, in the order of ``grids``. A function that works
        on arrays is called once; any other is called cell by cell.
    log_prior : distribution or callable
        ln p(θ₁, θ₂, …); a distribution of one number for a single parameter.
    grids : mapping of names, or sequence, of increasing arrays
        Points of every parameter, from end to end of where the posterior lives.
    of : str
        Which data the evidence is the probability of: "X", "y|X" or "X,y".

    Returns
    -------
    GridPosterior
        With moments, marginals, draws, predictions, and the evidence with its error.

    Raises
    ------
    ValueError
        When the posterior is 0 on the whole grid.

    Notes
    -----
    Cost and memory grow with the product of the grid sizes: up to three or four parameters.

    Examples
    --------
    >>> theta = np.linspace(0.0, 1.0, 201)
    >>> with np.errstate(divide="ignore"):  # failures 0 and 2 before a success, flat prior
    ...     post = grid_posterior(
    ...         lambda t: 2 * np.log(t) + 2 * np.log1p(-t), lambda t: 0.0 * t, {"theta": theta}
    ...     )
    >>> post.mean["theta"].round(6), np.exp(post.log_evidence.value).round(6)  # ½, B(3, 3)
    (np.float64(0.5), np.float64(0.033333))
    """
    axes = _read_grids(grids)
    cells = int(np.prod([len(axis) for axis in axes.values()]))
    if cells > _MOST_CELLS:
        raise ValueError(f"the grid has {cells} cells, more than {_MOST_CELLS}; make it coarser")
    mesh = np.meshgrid(*axes.values(), indexing="ij")
    prior = log_prior.log_prob if isinstance(log_prior, Distribution) else log_prior
    log_p = _evaluate(prior, mesh, "log_prior")
    joint = log_p + _evaluate(log_likelihood, mesh, "log_likelihood")
    points = list(axes.values())
    total = _log_integral(joint, points)
    if not np.isfinite(total):
        raise ValueError("the posterior is 0 on the whole grid; move or widen it")
    return GridPosterior(
        axes,
        joint - total,
        LogEvidence(total, kind="estimate", of=of, error=_refinement_error(joint, points, total)),
        float(np.exp(_log_integral(log_p, points))),
    )


@dataclass(frozen=True, eq=False, repr=False)
class GridPosterior:
    """A posterior on a grid.

    Attributes
    ----------
    grids : dict
        Points of every parameter by name.
    log_density : array
        ln p(θ | D) at the cells, one axis per parameter; it integrates to 1.
    log_evidence : LogEvidence
        Of kind "estimate", with an error from leaving out every second point.
    prior_mass : float
        Integral of the prior over the grid: far from 1 the grid is too coarse, or cuts off part
        of a proper prior.
    """

    grids: dict[str, Array]
    log_density: Array
    log_evidence: LogEvidence
    prior_mass: float

    @cached_property
    def probabilities(self) -> Array:
        """Probability of every cell: density times quadrature weight, with sum 1."""
        logs = self.log_density + _log_weights(list(self.grids.values()))
        p = np.exp(logs - log_sum_exp(logs))
        p.setflags(write=False)
        return p

    @property
    def mean(self) -> dict[str, Any]:
        """Posterior mean of every parameter."""
        return {name: self._weights(name) @ axis for name, axis in self.grids.items()}

    @property
    def variance(self) -> dict[str, Any]:
        """Posterior variance of every parameter."""
        means = self.mean
        return {n: self._weights(n) @ (axis - means[n]) ** 2 for n, axis in self.grids.items()}

    @property
    def mode(self) -> dict[str, Any]:
        """The grid point of highest density: the MAP estimate up to the spacing."""
        where = np.unravel_index(int(np.argmax(self.log_density)), self.log_density.shape)
        return {n: axis[i] for (n, axis), i in zip(self.grids.items(), where, strict=True)}

    @cached_property
    def cov(self) -> Array:
        """Posterior covariance of the parameters, in the order of ``grids``."""
        mesh = np.meshgrid(*self.grids.values(), indexing="ij")
        means = self.mean.values()
        rows = [(part - m).ravel() for part, m in zip(mesh, means, strict=True)]
        return np.array([[(self.probabilities.ravel() * a) @ b for b in rows] for a in rows])

    @property
    def edge_mass(self) -> float:
        """Probability that exponential tails beyond the ends of the grid would hold.

        Not small where the grid cuts the posterior off, or where its support ends with the grid.
        """
        total = 0.0
        for name, axis in self.grids.items():
            logs = self.marginal(name).log_density
            for end, before in ((0, 1), (-1, -2)):
                if np.isfinite(logs[end]):
                    fall = (logs[before] - logs[end]) / abs(axis[before] - axis[end])
                    total += float(np.exp(logs[end]) / fall) if fall > 0 else 1.0
        return min(total, 1.0)

    def marginal(self, *names: str) -> GridPosterior:
        """Return the posterior of some parameters, the others integrated out."""
        for name in names:
            if name not in self.grids:
                raise KeyError(f"{name!r} is no parameter; there are {', '.join(self.grids)}")
        keep = {n: axis for n, axis in self.grids.items() if n in names}
        rest = tuple(i for i, n in enumerate(self.grids) if n not in names)
        if not rest:
            return self
        weighted = self.log_density + _log_weights(
            [a if i in rest else None for i, a in enumerate(self.grids.values())]
        )
        return GridPosterior(keep, log_sum_exp(weighted, rest), self.log_evidence, self.prior_mass)

    def expect(self, function: Callable[..., Any]) -> Any:
        """Return E[f(θ₁, θ₂, …) | D] for a function that works on arrays."""
        mesh = np.meshgrid(*self.grids.values(), indexing="ij")
        return float((self.probabilities * _evaluate(function, mesh, "function")).sum())

    def log_predictive(self, log_density: Callable[..., Any], x: Any) -> Array:
        """Return ln ∫ p(x | θ) p(θ | D) dθ for every datum of ``x``.

        Parameters
        ----------
        log_density : callable
            ``log_density(x, θ₁, θ₂, …)`` for one datum and arrays of parameters.
        x : array (N, ...) or one number
            New data.
        """
        mesh = np.meshgrid(*self.grids.values(), indexing="ij")
        with np.errstate(divide="ignore"):
            log_p = np.log(self.probabilities)

        def at(datum: Any) -> Array:
            return log_sum_exp(
                log_p + _evaluate(lambda *theta: log_density(datum, *theta), mesh, "log_density")
            )

        if np.ndim(x) == 0:
            return at(x)
        return np.array([at(datum) for datum in x])

    def sample(self, size: int, *, rng: Seed = None) -> dict[str, Array]:
        """Draw grid points with their probabilities."""
        generator = as_generator(rng)
        flat = generator.choice(self.probabilities.size, size=size, p=self.probabilities.ravel())
        where = np.unravel_index(flat, self.probabilities.shape)
        return {n: axis[i] for (n, axis), i in zip(self.grids.items(), where, strict=True)}

    def _weights(self, name: str) -> Array:
        rest = tuple(i for i, n in enumerate(self.grids) if n != name)
        return self.probabilities.sum(axis=rest)

    def __repr__(self) -> str:
        sizes = " × ".join(f"{n}[{len(a)}]" for n, a in self.grids.items())
        return f"GridPosterior({sizes}, log_evidence={float(self.log_evidence):.6g})"


def _read_grids(grids: Any) -> dict[str, Array]:
    named = grids if isinstance(grids, Mapping) else {f"theta{i}": g for i, g in enumerate(grids)}
    if not named:
        raise ValueError("grids must name at least one parameter")
    axes = {}
    for name, values in named.items():
        axis = np.array(values, dtype=np.float64)
        if axis.ndim != 1 or len(axis) < 3 or not np.all(np.diff(axis) > 0):
            raise ValueError(f"the grid of {name} must be at least three increasing numbers")
        axis.setflags(write=False)
        axes[str(name)] = axis
    return axes


def _evaluate(function: Callable[..., Any], mesh: Sequence[Array], name: str) -> Array:
    """Call a function on the whole mesh; cell by cell where it does not work on arrays."""
    values = _on_arrays(function, mesh)
    if values is None:
        cells = zip(*(part.ravel() for part in mesh), strict=True)
        listed = (float(function(*cell)) for cell in cells)
        values = np.fromiter(listed, np.float64, mesh[0].size).reshape(mesh[0].shape)
    bad = np.isnan(values) | (values == np.inf)
    if np.any(bad):
        where = tuple(np.argwhere(bad)[0])
        at = ", ".join(f"{float(part[where]):g}" for part in mesh)
        raise ValueError(f"{name} is not a number or infinite at ({at})")
    return values


def _on_arrays(function: Callable[..., Any], mesh: Sequence[Array]) -> Array | None:
    """Return the function of whole arrays if two single cells confirm it, None otherwise."""
    size = mesh[0].size
    try:
        values = np.asarray(function(*mesh), dtype=np.float64)
        if values.ndim and values.shape != mesh[0].shape:
            return None
        values = np.broadcast_to(values, mesh[0].shape)
        for i in (size // 3, size // 2):
            single = float(function(*(float(part.ravel()[i]) for part in mesh)))
            if not np.isclose(values.ravel()[i], single, rtol=1e-9, equal_nan=True):
                return None
    except (TypeError, ValueError, IndexError):
        return None
    return values


def _log_weights(axes: Sequence[Array | None]) -> Array:
    """Return the logs of the product weights; None marks an axis that stays."""
    total: Any = 0.0
    for i, axis in enumerate(axes):
        if axis is not None:
            shape = [1] * len(axes)
            shape[i] = -1
            total = total + np.log(_rule(axis)).reshape(shape)
    return total


def _rule(axis: Array) -> Array:
    """Return Simpson's weights on an even grid of odd size, trapezoidal ones elsewhere."""
    steps = np.diff(axis)
    size = len(axis)
    if size % 2 and np.allclose(steps, steps[0], rtol=1e-9):
        weights = np.where(np.arange(size) % 2, 4.0, 2.0)
        weights[[0, -1]] = 1.0
        return weights * (axis[-1] - axis[0]) / (3.0 * (size - 1))
    weights = np.zeros(size)
    weights[:-1] += 0.5 * steps
    weights[1:] += 0.5 * steps
    return weights


def _log_integral(log_values: Array, axes: Sequence[Array]) -> float:
    return float(log_sum_exp(log_values + _log_weights(axes)))


def _refinement_error(joint: Array, axes: Sequence[Array], total: float) -> float:
    """Return how much ln p(D) changes when every second point of every axis is left out."""
    if any(len(axis) < 5 for axis in axes):
        return np.inf
    halves = tuple(np.unique(np.append(np.arange(0, len(a), 2), len(a) - 1)) for a in axes)
    coarse = _log_integral(
        joint[np.ix_(*halves)], [a[keep] for a, keep in zip(axes, halves, strict=True)]
    )
    return abs(coarse - total)
