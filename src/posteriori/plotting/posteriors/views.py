"""The views of a posterior: what ``plot`` shows of it, by its options."""

from __future__ import annotations

from typing import Any

from posteriori.plotting.posteriors.marginals import plot_marginals
from posteriori.plotting.posteriors.pairs import plot_pairs
from posteriori.plotting.posteriors.predictive import plot_posterior_predictive

__all__ = ["plot_posterior"]


def plot_posterior(
    posterior: Any, ax: Any = None, *, view: str = "marginals", **options: Any
) -> Any:
    """Draw what is believed of the unknowns of a model, or what it expects of the data.

    ``view="predictive"`` is :func:`plot_posterior_predictive`, the option ``pairs`` :func:`plot_pairs`;
    without them see :func:`plot_marginals`.
    """
    if view not in ("marginals", "predictive"):
        raise ValueError(f'a posterior is shown as "marginals" or "predictive", got {view!r}')
    if view == "predictive":
        return plot_posterior_predictive(posterior, ax, **options)
    if "pairs" in options:
        return plot_pairs(posterior, options.pop("pairs"), ax, **options)
    return plot_marginals(posterior, ax, **options)
