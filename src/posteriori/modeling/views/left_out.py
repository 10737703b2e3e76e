r"""Leave-one-out predictive densities in closed form, ln p(y_n | all other data).

Of a normal datum with noise variance :math:`\sigma^2`, whose mean has the posterior
:math:`N(m, v)`, with the leverage :math:`h = v/\sigma^2` and the residual :math:`e = y - m`,

.. math:: y_n \mid y_{-n} \sim N\{y - e/(1-h),\ \sigma^2/(1-h)\}.

Where the noise is integrated out, its rate falls by :math:`e^2/\{2\sigma^2(1-h)\}` and its shape by ½.
Of a child of a conjugate variable, what the datum added to the natural parameters is taken back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from posteriori.modeling.binding.binder import bind
from posteriori.modeling.forms.data_points import Data, LeftOut, as_codes
from posteriori.modeling.posterior.pointwise import log_likelihood
from posteriori.numerics.logspace import log_sum_exp
from posteriori.numerics.types import Array, Seed

if TYPE_CHECKING:
    from posteriori.modeling.posterior.posterior import Posterior

__all__ = ["leave_one_out", "log_density_without"]


def leave_one_out(posterior: Posterior, data: Data) -> LeftOut | None:
    """Return the leave-one-out densities of data; None where there is no closed form."""
    solved, bound = posterior._solved, posterior._solved.bound
    if len(data.names) > 1:
        return None
    (factor,) = (f for f in bound.factors if f.name == data.names[0])
    results = {id(r): r for a in factor.accesses for r in [solved.by_name[a.name]]}
    layout = bound.layouts[factor.name]
    if len(results) != 1 or factor.rows != data.axes or layout.lead != data.axes:
        return None
    (result,) = results.values()
    try:
        return result.left_out(bound, data, factor, lambda: posterior.predict(factor.name))
    except TypeError:  # no closed-form predictive
        return None


def log_density_without(
    posterior: Posterior, data: Data, rows: Any, *, draws: int, rng: Seed
) -> Array:
    """Infer without some data and return their log predictive densities, one by one.

    Where their prediction has no closed form, or several numbers make a datum, it is the mean
    likelihood under draws.

    Parameters
    ----------
    posterior : Posterior
    data : Data
    rows : (R,) of int
        Which of ``data.positions``.
    draws : int
    rng : Generator, int or None
    """
    again = _infer_without(posterior, data, data.positions[rows])
    bound = posterior._solved.bound
    (name, *others) = data.names
    layout = bound.layouts[name]
    if not others and layout.lead == data.axes:
        try:
            predicted = again.predict(name)
        except TypeError:  # no closed form
            pass
        else:
            logs = predicted.log_prob(_filled(bound.observed[name], data))
            return np.ravel(logs)[data.positions[rows]]
    unknowns = as_codes(again.sample(draws, rng=rng), bound)
    known = {key: values for key, values in unknowns.items() if key in bound.latent}
    try:
        logs = log_likelihood(posterior, data, known, rows)
    except TypeError:  # states of several data depend on one another: they were drawn together
        logs = log_likelihood(posterior, data, known, rows, sum_states=False)
    return np.asarray(log_sum_exp(logs, axis=0)) - np.log(len(logs))


def _infer_without(posterior: Posterior, data: Data, positions: Any) -> Posterior:
    solved, bound = posterior._solved, posterior._solved.bound
    given = dict(bound.given)
    for name in data.names:
        values = bound.observed[name]
        gone = values.reshape(-1, *values.shape[len(data.axes) :]).copy()
        gone[positions] = np.nan
        given[name] = gone.reshape(values.shape)
    found: Posterior = solved.infer(bind(bound.variables, bound.inputs, given), solved.options)
    return found


def _filled(values: Array, data: Data) -> Array:
    """Return data with gaps filled by what is possible."""
    flat = values.reshape(-1, *values.shape[len(data.axes) :])
    return np.where(np.isnan(flat), flat[data.positions[0]], flat).reshape(values.shape)
