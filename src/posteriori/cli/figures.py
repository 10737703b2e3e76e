"""The figures of the report, as SVG text whose colours follow the page (light or dark)."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from posteriori.cli.coal import CoalAnalysis
from posteriori.plotting.page_figures import FIRST, MUTED, SECOND, render_svg

__all__ = ["draw_change_year", "draw_counts", "draw_densities", "draw_prediction"]


def draw_counts(analysis: CoalAnalysis) -> str:
    """Draw the counts with the posterior mean and the 95% band of the better model's rate."""

    def paint(axes: Axes) -> None:
        years, model = analysis.years, analysis.better
        axes.bar(years, analysis.counts, width=0.7, color=MUTED, alpha=0.45, label="disasters")
        axes.fill_between(
            years, model.yearly_low, model.yearly_high, color=FIRST, alpha=0.3, lw=0, step="mid"
        )
        axes.step(years, model.yearly_mean, where="mid", color=FIRST, lw=2, label="rate, 95% band")
        axes.set(xlabel="year", ylabel="per year", xlim=(years[0] - 1, years[-1] + 1))
        axes.yaxis.set_major_locator(MaxNLocator(integer=True))
        axes.legend(loc="upper right")

    return render_svg("counts", "Disasters per year and their rate", paint)


def draw_densities(analysis: CoalAnalysis) -> str:
    """Draw the prior and the posterior density of a constant rate."""

    def paint(axes: Axes) -> None:
        low, high = analysis.prior.quantile(1e-4), analysis.prior.quantile(0.995)
        rate = np.linspace(float(low), float(high), 600)
        prior = np.exp(analysis.prior.log_prob(rate))
        posterior = np.exp(analysis.posterior.log_prob(rate))
        axes.fill_between(rate, posterior, color=FIRST, alpha=0.3, lw=0)
        axes.plot(rate, posterior, color=FIRST, lw=2, label="posterior")
        axes.fill_between(rate, prior, color=SECOND, alpha=0.2, lw=0)
        axes.plot(rate, prior, color=SECOND, lw=2, ls="--", label="prior")
        axes.set(xlabel="disasters per year", ylabel="density", xlim=(0, high))
        axes.set_ylim(bottom=0)
        axes.legend(loc="upper right")

    return render_svg("densities", "Prior and posterior density of the rate", paint)


def draw_change_year(analysis: CoalAnalysis) -> str:
    """Draw the posterior of the year in which the rate changed."""

    def paint(axes: Axes) -> None:
        years, probability = analysis.change_years, analysis.change_probabilities
        axes.bar(years, probability, width=0.8, color=FIRST)
        shown = years[probability > 1e-3 * probability.max()]
        axes.set(
            xlabel="first year of the new rate",
            ylabel="probability",
            xlim=(shown[0] - 3, shown[-1] + 3),
        )
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))

    return render_svg("change", "Posterior probability of the year of change", paint)


def draw_prediction(analysis: CoalAnalysis) -> str:
    """Draw both models' probabilities of next year's count."""

    def paint(axes: Axes) -> None:
        drawn = zip((analysis.change, analysis.constant), (FIRST, SECOND), (-0.2, 0.2), strict=True)
        for model, colour, shift in drawn:
            probability = model.prediction.probabilities
            shown = np.arange(min(8, len(probability)))
            axes.bar(shown + shift, probability[shown], width=0.38, color=colour, label=model.name)
        axes.set(xlabel=f"disasters in {analysis.years[-1] + 1}", ylabel="probability")
        axes.set_xticks(shown)
        axes.legend(loc="upper right")

    return render_svg("prediction", "Predicted probabilities of next year's count", paint)
