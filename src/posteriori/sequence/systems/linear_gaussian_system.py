r"""A linear-Gaussian system with known parameters: a value that answers every question about states.

.. math:: s_1 \sim N(m_0, P_0),\quad s_t = A s_{t-1} + b + N(0, Q),\quad y_t = C s_t + d + N(0, R).

The answers are exact, by the passes of :mod:`posteriori.inference`: filter, smoother, draws.

Reference: Särkkä and Svensson, Bayesian Filtering and Smoothing (2023); Bishop (2006), section 13.3.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from posteriori.distributions.vectors.mvnormal import MvNormal
from posteriori.inference.chains.chain_arguments import check_chain
from posteriori.inference.chains.chain_forecast import ChainSample, predict_chain, simulate_chain
from posteriori.inference.chains.linear_gaussian_chain import (
    ChainPosterior,
    FilteredChain,
    LinearGaussianChain,
    filter_chain,
    sample_chain_posterior,
    smooth_chain,
)
from posteriori.inference.systems.gap_expectations import impute_chain
from posteriori.numerics.random import as_generator
from posteriori.numerics.types import Array, Seed
from posteriori.numerics.validation import real
from posteriori.sequence.systems.series_lists import is_list_of_series

__all__ = ["LinearGaussianSystem"]

#: Axes of each field where it does not depend on time.
_AXES = {
    "transition": 2,
    "transition_cov": 2,
    "emission": 2,
    "emission_cov": 2,
    "transition_offset": 1,
    "emission_offset": 1,
}


@dataclass(frozen=True, eq=False)
class LinearGaussianSystem:
    """A linear-Gaussian system with known parameters.

    Parameters
    ----------
    transition, transition_cov : (D, D)
        A, and Q of its noise, which may be singular or zero.
    emission, emission_cov : (P, D) and (P, P)
        C, and R of its noise.
    initial_mean, initial_cov : (D,) and (D, D)
        m₀ and P₀ of the first state: the first step is not a transition.
    transition_offset, emission_offset : (D,) and (P,), default 0
        b and d.

    Notes
    -----
    Numbers stand for 1 × 1 matrices. Matrices and offsets may have a leading axis of time, as long as the
    series: of transitions entry t leads to step t, and the first is not used.

    A series ``y`` is (T, P), or (T,) where P = 1; NaN entries are missing. Several series are an array
    (..., T, P), or a list of arrays of any lengths: of a list answers are lists, too.

    Examples
    --------
    >>> walk = LinearGaussianSystem(1.0, 0.5, 1.0, 1.0, 0.0, 1.0)
    >>> y = [1.0, 2.0, 1.5]
    >>> walk.filter(y).mean[:, 0]
    array([0.5  , 1.25 , 1.375])
    >>> walk.smooth(y).mean[:, 0]
    array([0.90625, 1.3125 , 1.375  ])
    >>> walk.log_prob(y).round(6)
    np.float64(-4.624661)
    >>> walk.forecast(y, 2).cov[:, 0, 0]
    array([2. , 2.5])
    """

    transition: Array
    transition_cov: Array
    emission: Array
    emission_cov: Array
    initial_mean: Array
    initial_cov: Array
    transition_offset: Array = field(default_factory=lambda: np.zeros(()))
    emission_offset: Array = field(default_factory=lambda: np.zeros(()))

    def __post_init__(self) -> None:
        for name, axes in _AXES.items():
            value = np.asarray(real(name, getattr(self, name)))
            if value.ndim == 0 and axes == 2:
                value = value.reshape(1, 1)
            self._set(name, value)
        self._set("initial_mean", np.atleast_1d(real("initial_mean", self.initial_mean)))
        self._set("initial_cov", np.atleast_2d(real("initial_cov", self.initial_cov)))
        check_chain(self.chain, self._steps() or 2)
        for name, size in (
            ("transition_offset", self.n_states),
            ("emission_offset", self.n_outputs),
        ):
            if getattr(self, name).ndim == 0:
                self._set(name, np.full(size, float(getattr(self, name))))

    @property
    def n_states(self) -> int:
        """Length D of a state."""
        return len(self.initial_mean)

    @property
    def n_outputs(self) -> int:
        """Length P of an observation."""
        return int(self.emission.shape[-2])

    @property
    def chain(self) -> LinearGaussianChain:
        """The same as parameters of the functions of :mod:`posteriori.inference`."""
        return LinearGaussianChain(
            self.initial_mean,
            self.initial_cov,
            self.transition,
            self.transition_offset,
            self.transition_cov,
            self.emission,
            self.emission_offset,
            self.emission_cov,
        )

    # -- states given data -------------------------------------------------------------------

    def filter(self, y: Any) -> Any:
        """Return moments of each state given the data up to it, and ln p(y): a ``FilteredChain``."""
        return self._each(y, lambda series: filter_chain(self.chain, series))

    def smooth(self, y: Any) -> Any:
        """Return moments of each state and of neighbours given all data: a ``ChainPosterior``."""
        return self._each(y, lambda series: smooth_chain(self.chain, series))

    def log_prob(self, y: Any) -> Any:
        """Return ln p(y): a number, or one for each series."""
        found = self._each(y, lambda series: filter_chain(self.chain, series).log_evidence)
        return np.array(found) if isinstance(found, list) else found

    def sample_posterior(self, y: Any, size: int = 1, *, rng: Seed = None) -> Any:
        """Draw whole trajectories of the states from p(s | y), (size, ..., T, D)."""
        generator = as_generator(rng)
        return self._each(
            y, lambda series: sample_chain_posterior(self.chain, series, size, rng=generator)
        )

    def impute(self, y: Any) -> Any:
        """Fill in what is missing of series by its expectation given all that is seen.

        Examples
        --------
        >>> LinearGaussianSystem(1.0, 0.5, 1.0, 1.0, 0.0, 1.0).impute([1.0, np.nan, 2.0])[:, 0]
        array([1. , 1.1, 2. ])
        """
        return self._each(y, lambda series: impute_chain(self.chain, series))

    # -- what comes next ---------------------------------------------------------------------

    def forecast(self, y: Any, horizon: int, *, future: LinearGaussianSystem | None = None) -> Any:
        """Return the distributions of the next observations: a batch (..., horizon) of ``MvNormal``.

        Parameters
        ----------
        y : series
        horizon : int
        future : LinearGaussianSystem, optional
            The system of the steps ahead, where it differs: needed where matrices have a time axis. Its
            own time axes have length ``horizon``, and entry 0 leads to the first new step.
        """
        ahead = self._ahead(future)

        def run_on(series: Any) -> MvNormal:
            found = predict_chain(ahead.chain, filter_chain(self.chain, series), horizon)
            return MvNormal(found.mean, cov=found.cov)

        return self._each(y, run_on)

    def step(
        self,
        now: FilteredChain | ChainPosterior,
        y: Any,
        *,
        future: LinearGaussianSystem | None = None,
    ) -> FilteredChain:
        """Go on with one more observation of one series, in time that does not depend on the past.

        Parameters
        ----------
        now : FilteredChain
            What :meth:`filter` or the last step answered.
        y : (P,)
            The observation; a number where P = 1. NaN entries are missing.
        future : LinearGaussianSystem, optional
            As in :meth:`forecast`.

        Returns
        -------
        FilteredChain
            Of the new step alone; ``log_evidence`` is that of all observations so far.

        Examples
        --------
        >>> walk = LinearGaussianSystem(1.0, 0.5, 1.0, 1.0, 0.0, 1.0)
        >>> now = walk.step(walk.filter([1.0, 2.0]), 1.5)
        >>> now.mean, now.log_evidence.round(6)
        (array([[1.375]]), np.float64(-4.624661))
        """
        if now.mean.ndim != 2:
            raise ValueError(
                f"now must be of one series, (T, D); its means have shape {now.mean.shape}: take the "
                "steps of each series by itself"
            )
        row = np.atleast_1d(np.asarray(y, dtype=np.float64))
        if row.shape != (self.n_outputs,):
            raise ValueError(
                f"y must be one observation ({self.n_outputs},), got shape {row.shape}"
            )
        chain = self._ahead(future).chain
        before = predict_chain(chain, now, 1)
        start = chain._replace(initial_mean=before.state_mean[0], initial_cov=before.state_cov[0])
        found = filter_chain(start, row[None])
        return found._replace(log_evidence=found.log_evidence + now.log_evidence)

    def sample(self, length: int, size: int | None = None, *, rng: Seed = None) -> ChainSample:
        """Draw states (length, D) and observations (length, P); with ``size`` so many, on a first axis."""
        return simulate_chain(self.chain, length, size, rng=rng)

    # -- parts -------------------------------------------------------------------------------

    def _each(self, y: Any, answer: Callable[[Any], Any]) -> Any:
        if is_list_of_series(y, self.n_outputs):
            return [answer(series) for series in y]
        return answer(y)

    def _ahead(self, future: LinearGaussianSystem | None) -> LinearGaussianSystem:
        if future is None and self._steps():
            raise ValueError(
                "the matrices of this system belong to the steps of a series: give future=LinearGaussianSystem(…) "
                "with those of the steps ahead"
            )
        if future is not None and (future.n_states, future.n_outputs) != (
            self.n_states,
            self.n_outputs,
        ):
            raise ValueError(
                f"future must have {self.n_states} states and {self.n_outputs} outputs, got "
                f"{future.n_states} and {future.n_outputs}"
            )
        return self if future is None else future

    def _steps(self) -> int:
        """Return the length of the time axes, those of emissions first; 0 where there are none."""
        names = sorted(_AXES)  # "emission…" before "transition…"
        timed = (a for n in names if (a := getattr(self, n)).ndim > _AXES[n])
        return next((len(a) for a in timed if len(a) > 1), 0)

    def _set(self, name: str, value: Array) -> None:
        value.setflags(write=False)
        object.__setattr__(self, name, value)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, LinearGaussianSystem):
            return NotImplemented
        names = [field.name for field in fields(self)]
        return all(np.array_equal(getattr(self, n), getattr(other, n)) for n in names)
