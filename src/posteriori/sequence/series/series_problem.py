r"""A structural series in its units, and its likelihood in the shares of its scales.

With a common scale :math:`\sigma^2 \sim \mathrm{IG}(a, b)` and shares of the parts that add up to 1,

.. math:: p(y\mid θ) = (2\pi)^{-n/2}\,|F|^{-1/2}\,\frac{\Gamma(a + n/2)}{\Gamma(a)}\,
          \frac{b^a}{(b + q/2)^{a+n/2}}, \qquad q = \sum_t v_t^2/F_t .
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from posteriori.inference.series.mode_draws import ParameterPrior, climb_to_peak
from posteriori.inference.series.scalar_chain import (
    FilteredSeries,
    ScalarChain,
    filter_scalar,
    score_scalar,
)
from posteriori.inference.series.scalar_draws import ChainDraws, FilteredDraws, filter_draws
from posteriori.numerics.lazy import special
from posteriori.numerics.special import LOG_2PI
from posteriori.numerics.types import Array
from posteriori.sequence.series.series_form import SeriesForm
from posteriori.sequence.series.series_parts import SeriesPart
from posteriori.sequence.series.series_rows import SeriesRows
from posteriori.sequence.series.series_template import ChainTemplate

__all__ = [
    "KNOWN_SCALE",
    "RATE",
    "SHAPE",
    "SeriesProblem",
    "choose_harmonics",
    "make_problem",
    "running_log_prob",
]

#: Inverse-gamma prior of the common scale σ², in squared units of the series.
SHAPE, RATE = 0.5, 0.1
#: The shape of a scale that is known.
KNOWN_SCALE = np.inf
#: Standard deviation of the logarithm of each variance.
_VAGUE = 2.5
#: Variances whose logarithms are further apart are as good as 0 beside each other.
_FAR = 40.0
#: Step of forward differences in numbers that are no scales: slopes to some five digits, for one pass each.
_STEP = 1e-6


#: Waves of a season at most.
_MOST_HARMONICS = 12


class SeriesProblem:
    """A series in its units, the form it is given, and the likelihood of what is unknown.

    Parameters
    ----------
    form : SeriesForm
    y : (T,)
        In units; NaN is missing.
    steps : (T,) or None
        Times to the next value, None for regular ones.
    inputs : (T, K)
    scales : dict or None
        Variances of the parts in squared units if they are known.
    diffuse : bool
        Whether first states have no prior.
    """

    def __init__(
        self,
        form: SeriesForm,
        y: Array,
        steps: Array | None,
        inputs: Array,
        scales: dict[str, float] | None = None,
        diffuse: bool = False,
    ) -> None:
        self.form, self.y, self.steps, self.inputs = form, y, steps, inputs
        self.scales, self.diffuse = scales, diffuse
        self.names = form.scale_names
        self.shapes = form.shapes
        self.n_ratios = 0 if scales else len(self.names) - 1

    @cached_property
    def prior(self) -> ParameterPrior:
        """Of log ratios of variances to the first, and of the numbers that are no scales."""
        shapes, free = self.shapes, self.n_ratios
        expected = self.form.expected_scales
        mean = [*(expected[1 : 1 + free] - expected[0]), *(shape.mean for shape in shapes)]
        precision = np.diag(np.ones(len(mean)))
        # ratios of P variances that vary independently: covariance τ²(I + 11ᵀ)
        precision[:free, :free] = (np.eye(free) - 1.0 / (free + 1)) / _VAGUE**2
        for k, shape in enumerate(shapes):
            precision[free + k, free + k] = 1.0 / shape.std**2
        return ParameterPrior(np.array(mean, dtype=np.float64), precision)

    def variances(self, theta: Array) -> Array:
        """Return the variances of noise and of all parts, (..., 1 + P), for θ (..., ·); noise 0 if there is none."""
        found = np.ones((*theta.shape[:-1], len(self.names)))
        if self.scales:
            found *= [self.scales[name] for name in self.names]
        else:
            ratios = np.minimum(np.maximum(theta[..., : self.n_ratios], -_FAR), _FAR)
            found[..., 1:] = np.exp(ratios)
            found /= found.sum(axis=-1, keepdims=True)
        if self.names[0] == "noise":
            return found
        return np.concatenate([np.zeros((*theta.shape[:-1], 1)), found], axis=-1)

    def chain(self, theta: Array) -> ScalarChain:
        """Return the chain."""
        if not self.shapes:
            return self._chain
        return self._template.at(theta[self.n_ratios :])

    def chains(self, thetas: Array) -> ChainDraws:
        """Return the chains of several θ."""
        if not self.shapes:
            return self._shared
        return self._template.at_all(thetas[:, self.n_ratios :])

    @cached_property
    def _template(self) -> ChainTemplate:
        return ChainTemplate(self.form, self.steps, self.inputs, self.diffuse)

    @cached_property
    def _shared(self) -> ChainDraws:
        return ChainDraws.of_one(self._chain)

    @cached_property
    def _chain(self) -> ScalarChain:
        return self.form.chain(np.zeros(0), self.steps, self.inputs, self.diffuse)

    @property
    def first_parts(self) -> list[SeriesPart]:
        """The parts, at the prior mean of what is unknown of them."""
        shape = np.array([shape.mean for shape in self.form.shapes])
        return self.form.parts(shape, self.steps, self.inputs)

    def filter(self, theta: Array) -> FilteredSeries:
        """Filter the series."""
        return filter_scalar(self.chain(theta), self.variances(theta), self.y)

    @property
    def shape(self) -> float:
        """Prior shape of the common scale."""
        return KNOWN_SCALE if self.scales else SHAPE

    @property
    def rate(self) -> float:
        """Prior rate of the common scale, or the scale itself."""
        return 1.0 if self.scales else RATE

    def log_likelihoods(self, thetas: Array) -> Array:
        """Return ln p(y | θ) of several θ, (S,), the common scale integrated out unless it is known."""
        chains, variances = self.chains(thetas), self.variances(thetas)
        done = filter_draws(chains, variances, self.y, *chains.first_states(variances))
        seen = ~np.isnan(self.y)
        count = int(seen.sum())
        value = -0.5 * (count * LOG_2PI + np.log(done.spreads[:, seen]).sum(axis=1))
        if self.scales:
            return value - 0.5 * done.quadratics
        after = SHAPE + 0.5 * count
        value += special.gammaln(after) - special.gammaln(SHAPE) + SHAPE * np.log(RATE)
        return value - after * np.log(RATE + 0.5 * done.quadratics)

    def profile_likelihood(self, theta: Array) -> tuple[float, Array]:
        """Return the largest log-likelihood over common scales, and its slope."""
        variances = self.variances(theta)
        score = score_scalar(self.chain(theta), variances, self.y)
        done = score.filtered
        weight = 1.0 / self.best_scale(done)
        slope = self._slope(variances, len(theta), 0.5 * (weight * score.fit - score.complexity))
        value = self._profile(done)
        return value, self._with_shapes(theta, value, slope)

    def best_scale(self, done: FilteredSeries) -> float:
        """Return the most likely common scale σ²: q/(n − d) where d start values have no prior."""
        if self.scales:
            return 1.0
        if not done.quadratic > 0.0:
            raise ValueError(
                "y does not vary, so that the most likely scale is 0; give scales='integrated', or leave the "
                "series out"
            )
        return done.quadratic / self._freedom(done)

    def _profile(self, done: FilteredSeries) -> float:
        scale, freedom = self.best_scale(done), self._freedom(done)
        square = done.quadratic / scale + freedom * np.log(scale)
        return float(-0.5 * (done.n_observed * LOG_2PI + done.log_volume + square))

    def _freedom(self, done: FilteredSeries) -> int:
        return max(done.n_observed - self.unknown_starts, 1)

    @cached_property
    def unknown_starts(self) -> int:
        """How many start values have no prior."""
        return int(self.chain(self.prior.mean).diffuse.sum())

    def _slope(self, variances: Array, size: int, slopes: Array) -> Array:
        """Turn slopes in variances into those in log ratios; the rest is 0."""
        made = np.zeros(size)
        if self.n_ratios:
            shares = variances[-len(self.names) :]
            towards = shares * slopes[-len(self.names) :]
            made[: self.n_ratios] = (towards - shares * towards.sum())[1:]
        return made

    def _with_shapes(self, theta: Array, value: float, slope: Array) -> Array:
        """Add slopes in the numbers that are no scales, by differences."""
        for k in range(self.n_ratios, len(theta)):
            near = theta.copy()
            near[k] += _STEP
            slope[k] = (self._profile(self.filter(near)) - value) / _STEP
        return slope


def running_log_prob(
    done: FilteredSeries | FilteredDraws,
    y: Array,
    shape: float,
    rate: float | Array,
    counted: Array | None = None,
) -> Array:
    """Return ln p(y_1 … y_t) for every t, (T,) or (S, T), from a scale σ² ~ IG(shape, rate) or σ² = rate.

    Of values that are not ``counted`` the exponential alone is taken, without the root of 2πσ².
    """
    seen = ~np.isnan(y)
    count = np.cumsum(seen if counted is None else seen & counted)
    spreads = np.where(seen, done.spreads, 1.0)
    log_volume = np.cumsum(np.log(spreads), axis=-1)
    square = np.cumsum(np.where(seen, done.innovations, 0.0) ** 2 / spreads, axis=-1)
    half = -0.5 * (count * LOG_2PI + log_volume)
    if shape == KNOWN_SCALE:
        return half - 0.5 * (square / rate + count * np.log(rate))
    after = shape + 0.5 * count
    gain = special.gammaln(after) - special.gammaln(shape) + shape * np.log(rate)
    return half + gain - after * np.log(rate + 0.5 * square)


# -- made of rows ----------------------------------------------------------------------------


def make_problem(
    form: SeriesForm, rows: SeriesRows, given: dict[str, float] | None, *, diffuse: bool = False
) -> SeriesProblem:
    """Return the problem of rows in the units of a form; ``given`` are standard deviations of y."""
    units = form.units
    steps = None if rows.clock.regular else np.append(rows.steps, 1.0) / units.tempo
    inputs = np.nan_to_num((rows.inputs - units.input_center) / units.input_width)
    variances = None
    if given is not None:
        variances = {name: (float(sd) / units.per_time(name)) ** 2 for name, sd in given.items()}
    y = (rows.y - units.center) / units.unit
    return SeriesProblem(form, y, steps, inputs, variances, diffuse)


def choose_harmonics(
    form: SeriesForm, rows: SeriesRows, given: dict[str, float] | None
) -> SeriesForm:
    """Add waves to each season that is a sum of them, as long as the evidence rises."""
    for i, (period, waves) in enumerate(form.seasons):
        most = min(_MOST_HARMONICS, int(np.ceil(period / 2.0)) - 1) if waves else 0
        best, start = -np.inf, None
        for count in range(1, most + 1):
            seasons = (*form.seasons[:i], (period, count), *form.seasons[i + 1 :])
            tried = form._replace(seasons=seasons)
            problem = make_problem(tried, rows, given)
            begin = problem.prior.mean if start is None else start
            peak = climb_to_peak(problem.log_likelihoods, problem.prior, begin)
            if peak.log_integral <= best:
                break
            best, start, form = peak.log_integral, peak.at, tried
    return form
