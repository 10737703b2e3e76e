r"""A system whose steps and observations are known functions of the state, with normal noise.

.. math:: s_1 \sim N(m_0, P_0),\quad s_t = f(s_{t-1}) + N(0, Q),\quad y_t = g(s_t) + N(0, R).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from posteriori.distributions.vectors.mvnormal import MvNormal
from posteriori.estimators.parameters import check_parameters, one_of
from posteriori.inference.chains.chain_arguments import check_series
from posteriori.inference.chains.chain_forecast import ChainSample
from posteriori.inference.chains.linear_gaussian_chain import ChainPosterior, FilteredChain
from posteriori.inference.chains.semidefinite import factor_semidefinite
from posteriori.inference.systems.assumed_density import (
    NonlinearChain,
    StateBelief,
    filter_nonlinear,
    linearized,
    predict_nonlinear,
    sigma_points,
    smooth_nonlinear,
)
from posteriori.numerics.calculus.derivatives import jacobian
from posteriori.numerics.random import as_generator
from posteriori.numerics.types import Array, Seed
from posteriori.numerics.validation import real
from posteriori.sequence.systems.series_lists import is_list_of_series

__all__ = ["NonlinearSystem"]

Function = Callable[[Array], Any]


@dataclass(frozen=True, eq=False)
class NonlinearSystem:
    """A nonlinear system with known functions and normal noise.

    Parameters
    ----------
    transition, emission : callable
        f and g: from one state (D,), the mean of the next one (D,) and of its observation (P,). A number
        is a vector of length 1.
    transition_cov, emission_cov : (D, D) and (P, P)
        Q and R, of the noise.
    initial_mean, initial_cov : (D,) and (D, D)
        Of the first state.
    method : {"unscented", "cubature", "extended"}
        How moments of functions are found: by 2D + 1 points, by 2D points, or by the tangent at the mean.
    transition_jacobian, emission_jacobian : callable, optional
        Derivatives (D, D) and (P, D) at a state, for ``method="extended"``; by default finite differences,
        with about 10 digits.

    Notes
    -----
    After every step the belief is the normal of its moments, so answers and densities are approximate,
    and exact where f and g are linear. A belief with two peaks (g even, say) is beyond all three methods.

    Series are given as to :class:`LinearGaussianSystem`: NaN is missing, and of a list answers are lists. A step
    asks f and g at each point: O(T D) calls of Python functions.

    Examples
    --------
    A pendulum, of which the horizontal deflection is seen:

    >>> def swing(s):
    ...     angle, speed = s
    ...     return [angle + 0.1 * speed, speed - 0.98 * np.sin(angle)]
    >>> pendulum = NonlinearSystem(
    ...     swing, 1e-4 * np.eye(2), lambda s: np.sin(s[0]), 0.1, [1.5, 0.0], 0.1 * np.eye(2)
    ... )
    >>> y = pendulum.sample(50, rng=0).observations
    >>> pendulum.filter(y).mean.shape, pendulum.forecast(y, 3).mean.shape
    ((50, 2), (3, 1))
    """

    transition: Function
    transition_cov: Array
    emission: Function
    emission_cov: Array
    initial_mean: Array
    initial_cov: Array
    method: str = "unscented"
    transition_jacobian: Function | None = None
    emission_jacobian: Function | None = None

    _constraints = {"method": one_of("unscented", "cubature", "extended")}

    def __post_init__(self) -> None:
        check_parameters(self)
        for name in ("transition", "emission"):
            if not callable(getattr(self, name)):
                raise TypeError(
                    f"{name} must be a function of one state; of matrices take LinearGaussianSystem"
                )
        mean = np.atleast_1d(real("initial_mean", self.initial_mean))
        object.__setattr__(self, "initial_mean", mean)
        sizes = {"initial_cov": len(mean), "transition_cov": len(mean), "emission_cov": None}
        for name, size in sizes.items():
            cov = np.atleast_2d(real(name, getattr(self, name)))
            if cov.ndim != 2 or cov.shape != (size or len(cov),) * 2:
                wanted = f"({size}, {size})" if size else "(P, P)"
                raise ValueError(f"{name} must have shape {wanted}, got {cov.shape}")
            factor_semidefinite(name, cov[None])
            object.__setattr__(self, name, cov)

    @property
    def n_states(self) -> int:
        """Length D of a state."""
        return len(self.initial_mean)

    @property
    def n_outputs(self) -> int:
        """Length P of an observation."""
        return len(self.emission_cov)

    # -- states given data -------------------------------------------------------------------

    def filter(self, y: Any) -> Any:
        """Return moments of each state given the data up to it, and ln p(y): a ``FilteredChain``."""
        return self._each(y, lambda series: filter_nonlinear(self._chain, series))

    def smooth(self, y: Any) -> Any:
        """Return moments of each state and of neighbours given all data: a ``ChainPosterior``."""
        return self._each(y, lambda series: smooth_nonlinear(self._chain, series))

    def log_prob(self, y: Any) -> Any:
        """Return an approximation of ln p(y): a number, or one for each series."""
        found = self._each(y, lambda series: filter_nonlinear(self._chain, series).log_evidence)
        return np.array(found) if isinstance(found, list) else found

    # -- what comes next ---------------------------------------------------------------------

    def forecast(self, y: Any, horizon: int) -> Any:
        """Return the distributions of the next observations: a batch (horizon,) of ``MvNormal``."""
        if horizon < 1:
            raise ValueError(f"horizon must be at least 1, got {horizon}")

        def run_on(series: Array) -> MvNormal:
            last = _last(filter_nonlinear(self._chain, series))
            found = predict_nonlinear(self._chain, last, horizon)
            return MvNormal(found.mean, cov=found.cov)

        return self._each(y, run_on)

    def step(self, now: FilteredChain | ChainPosterior, y: Any) -> FilteredChain:
        """Go on with one more observation (P,); ``log_evidence`` is that of all so far."""
        row = np.atleast_1d(np.asarray(y, dtype=np.float64))
        if row.shape != (self.n_outputs,):
            raise ValueError(
                f"y must be one observation ({self.n_outputs},), got shape {row.shape}"
            )
        found = filter_nonlinear(self._chain, row[None], _last(now))
        return found._replace(log_evidence=found.log_evidence + now.log_evidence)

    def sample(self, length: int, *, rng: Seed = None) -> ChainSample:
        """Draw states (length, D) and observations (length, P)."""
        if length < 1:
            raise ValueError(f"length must be at least 1, got {length}")
        generator = as_generator(rng)
        roots = [
            factor_semidefinite(name, getattr(self, name)[None])[0]
            for name in ("initial_cov", "transition_cov", "emission_cov")
        ]
        noise = generator.standard_normal((length, self.n_states))
        states = np.empty((length, self.n_states))
        states[0] = self.initial_mean + roots[0] @ noise[0]
        for t in range(1, length):
            states[t] = self._move(states[t - 1]) + roots[1] @ noise[t]
        seen = np.stack([self._see(state) for state in states])
        return ChainSample(
            states, seen + generator.standard_normal((length, self.n_outputs)) @ roots[2].T
        )

    # -- parts -------------------------------------------------------------------------------

    @property
    def _chain(self) -> NonlinearChain:
        return NonlinearChain(
            StateBelief.from_moments(self.initial_mean, self.initial_cov),
            self._rule(self._move, self.transition_jacobian),
            factor_semidefinite("transition_cov", self.transition_cov[None])[0],
            self._rule(self._see, self.emission_jacobian),
            self.emission_cov,
        )

    def _rule(self, function: Callable[[Array], Array], slope: Function | None) -> Any:
        if self.method == "extended":
            given = (lambda s: jacobian(function, s)) if slope is None else slope
            return linearized(function, lambda s: np.atleast_2d(given(s)))
        return sigma_points(function, max(3.0 - self.n_states, 0.0) * (self.method == "unscented"))

    def _move(self, state: Array) -> Array:
        return _value("transition", self.transition, state, self.n_states)

    def _see(self, state: Array) -> Array:
        return _value("emission", self.emission, state, self.n_outputs)

    def _each(self, y: Any, answer: Callable[[Array], Any]) -> Any:
        if is_list_of_series(y, self.n_outputs):
            return [answer(self._one(series)) for series in y]
        return answer(self._one(y))

    def _one(self, y: Any) -> Array:
        series = check_series(y, self.n_outputs)
        if series.batch_shape:
            raise ValueError(
                f"y must be one series (T, {self.n_outputs}) or a list of them, got shape {np.shape(y)}"
            )
        return series.values[0]


def _value(name: str, function: Function, state: Array, size: int) -> Array:
    """Return what a function of the user says, or what is wrong with it."""
    value = np.atleast_1d(np.asarray(function(state), dtype=np.float64))
    if value.shape != (size,):
        raise ValueError(f"{name} must return {size} numbers for a state, got shape {value.shape}")
    if not np.isfinite(value).all():
        raise ValueError(f"{name} returned {value.tolist()} at the state {state.tolist()}")
    return value


def _last(now: FilteredChain | ChainPosterior) -> StateBelief:
    return StateBelief.from_moments(now.mean[-1], now.cov[-1])
