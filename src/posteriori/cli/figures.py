"""The figures of the report, as SVG text whose colours follow the page (light or dark)."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from posteriori.cli.coal import CoalAnalysis
from posteriori.plotting import STYLE

__all__ = ["draw_change_year", "draw_counts", "draw_densities", "draw_prediction"]

# matplotlib wants fixed colours; each of these stands for a variable of the page's style sheet.
INK, MUTED, FIRST, SECOND, GRID = "#010101", "#020202", "#030303", "#040404", "#050505"
_VARIABLES = {INK: "ink", MUTED: "muted", FIRST: "first", SECOND: "second", GRID: "grid"}

_STYLE: dict[Any, Any] = {
    **STYLE,
    "axes.edgecolor": MUTED,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "axes.labelcolor": INK,
    "axes.spines.left": False,
    "font.size": 11,
    "grid.color": GRID,
    "legend.fontsize": 11,
    "legend.labelcolor": INK,
    "svg.fonttype": "none",
    "xtick.color": MUTED,
    "xtick.labelcolor": INK,
    "ytick.color": MUTED,
    "ytick.labelcolor": INK,
    "ytick.left": False,
}


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

    return _render("counts", "Disasters per year and their rate", paint)


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

    return _render("densities", "Prior and posterior density of the rate", paint)


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

    return _render("change", "Posterior probability of the year of change", paint)


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

    return _render("prediction", "Predicted probabilities of next year's count", paint)


def _render(name: str, title: str, paint: Callable[[Axes], None]) -> str:
    # The salt makes the ids inside one figure reproducible and unlike those of its neighbours.
    with matplotlib.rc_context({**_STYLE, "svg.hashsalt": name}):
        figure = Figure(figsize=(4.8, 3.1))
        paint(figure.add_subplot())
        buffer = io.StringIO()
        figure.savefig(
            buffer,
            format="svg",
            transparent=True,
            metadata=dict.fromkeys(("Creator", "Date", "Format", "Type")),
        )
    return _inline(buffer.getvalue(), title)


def _inline(svg: str, title: str) -> str:
    """Cut the SVG element out of a file, name it for screen readers, and free its colours."""
    svg = svg[svg.index("<svg") :].strip()
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    used = set(re.findall(r"#([\w.-]+)", svg))  # the other ids would repeat from figure to figure
    svg = re.sub(r' id="([^"]*)"', lambda m: m[0] if m[1] in used else "", svg)
    for colour, variable in _VARIABLES.items():
        svg = svg.replace(colour, f"var(--{variable})")
    svg = re.sub(r"(font: [^;\"]*?px) [^;\"]*", r"\1 system-ui, sans-serif", svg)
    head, body = svg.split(">", 1)
    head = re.sub(r'\s(width|height)="[^"]*"', "", head)
    return f'{head} role="img" aria-label="{title}">{body}'
