"""The demonstration told in words and tables, and as one HTML file that needs no network."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from html import escape
from importlib.resources import files
from string import Template
from typing import NamedTuple

from posteriori import __version__
from posteriori.cli.coal import CoalAnalysis, Rate, summarise_rate, weigh_evidence

__all__ = ["Section", "make_report", "tell_analysis"]


class Section(NamedTuple):
    """One step of the analysis: what was done, a table, and what follows from it."""

    title: str
    text: str
    header: tuple[str, ...]
    rows: list[tuple[str, ...]]
    verdict: str = ""


def tell_analysis(analysis: CoalAnalysis) -> list[Section]:
    """Tell the analysis in four sections: prior and posterior, evidence, change, prediction."""
    return [
        _tell_posterior(analysis),
        _tell_evidence(analysis),
        _tell_change(analysis),
        _tell_prediction(analysis),
    ]


def make_report(analysis: CoalAnalysis) -> str:
    """Make the HTML page: the same sections, each with its figure."""
    from posteriori.cli import figures

    draw = (
        figures.draw_densities,
        figures.draw_counts,
        figures.draw_change_year,
        figures.draw_prediction,
    )
    sections = zip(tell_analysis(analysis), draw, strict=True)
    template = files(__package__).joinpath("templates/report.html").read_text(encoding="utf-8")
    return Template(template).substitute(
        total=int(analysis.counts.sum()),
        first=int(analysis.years[0]),
        last=int(analysis.years[-1]),
        sections="\n".join(_section_html(section, paint(analysis)) for section, paint in sections),
        version=escape(__version__),
    )


def _tell_posterior(analysis: CoalAnalysis) -> Section:
    prior, posterior = analysis.prior, analysis.posterior
    return Section(
        "1  From prior to posterior",
        f"Suppose disasters came at one constant rate. Before the data, the belief about it is "
        f"{prior}; after {analysis.counts.sum()} disasters in {len(analysis.years)} years it is "
        f"{posterior}.",
        ("rate per year", "mean", "sd", "95% interval"),
        [
            _rate_row("prior", summarise_rate(prior)),
            _rate_row("posterior", summarise_rate(posterior)),
        ],
    )


def _tell_evidence(analysis: CoalAnalysis) -> Section:
    constant, change = analysis.constant, analysis.change
    factor = analysis.log_bayes_factor
    less = 1 / (1 + math.exp(abs(factor)))
    worse = constant if analysis.better is change else change
    rows: list[tuple[str, ...]] = []
    for model in (constant, change):
        probability = less if model is worse else 1 - less
        evidence = model.log_evidence
        rows.append(
            (model.name, _signed(float(evidence)), evidence.kind, _format_probability(probability))
        )
    return Section(
        "2  Evidence of two rival models",
        "The rival: one change of rate in an unknown year, every year equally likely a priori, "
        "both rates from the same prior. The models start with equal probability.",
        ("model", "log evidence", "kind", "probability"),
        rows,
        f"The data are {_format_factor(abs(factor))} times more probable under "
        f"“{analysis.better.name}” than under “{worse.name}”: the evidence for it is "
        f"{weigh_evidence(factor)}.",
    )


def _tell_change(analysis: CoalAnalysis) -> Section:
    most_probable = analysis.change_years[analysis.change_probabilities.argmax()]
    low, high = analysis.change_interval
    rates = analysis.change.rates
    early, late = rates.values()
    return Section(
        "3  What changed, and when",
        f"If the rate changed once, its new value most probably began in {most_probable}, and "
        f"with probability 95% between {low} and {high}.",
        ("rate per year", "mean", "sd", "95% interval"),
        [_rate_row(name, rate) for name, rate in rates.items()],
        f"The mean rate {'fell' if late.mean < early.mean else 'rose'} from {early.mean:.2f} to "
        f"{late.mean:.2f} per year.",
    )


def _tell_prediction(analysis: CoalAnalysis) -> Section:
    constant, change = analysis.constant.prediction, analysis.change.prediction
    following = analysis.years[-1] + 1
    last = 4
    rows: list[tuple[str, ...]] = [
        (str(n), _percent(change.probabilities[n]), _percent(constant.probabilities[n]))
        for n in range(last)
    ]
    tail = [1 - p.probabilities[:last].sum() for p in (change, constant)]
    rows.append((f"{last} or more", *map(_percent, tail)))
    rows.append(("mean ± sd", *(f"{p.mean:.2f} ± {p.std:.2f}" for p in (change, constant))))
    best = analysis.better.prediction
    return Section(
        f"4  Prediction for {following}",
        "The posterior predictive distribution of the next year's count: what is still unknown "
        "about rates and year of change is averaged out.",
        (f"disasters in {following}", analysis.change.name, analysis.constant.name),
        rows,
        f"Under the better model, a year without a disaster has probability "
        f"{_percent(best.probabilities[0])}.",
    )


def _rate_row(name: str, rate: Rate) -> tuple[str, ...]:
    return name, f"{rate.mean:.2f}", f"{rate.std:.2f}", f"{rate.low:.2f} – {rate.high:.2f}"


def _signed(number: float) -> str:
    return f"{number:.2f}".replace("-", "−")


def _percent(probability: float) -> str:
    return f"{100 * probability:.1f}%"


def _format_probability(probability: float) -> str:
    return f"{probability:.4f}" if probability >= 1e-4 else f"{probability:.0e}"


def _format_factor(log_factor: float) -> str:
    """Write exp(log_factor) as a plain number, or as 6 × 10¹² when it is long."""
    if log_factor < math.log(1e4):
        return f"{math.exp(log_factor):,.1f}"
    exponent, rest = divmod(log_factor / math.log(10), 1)
    leading = round(10**rest)
    if leading == 10:
        leading, exponent = 1, exponent + 1
    superscript = str(int(exponent)).translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return f"{leading} × 10{superscript}"


def _section_html(section: Section, figure: str) -> str:
    number, title = section.title.split("  ", 1)
    verdict = f'<p class="verdict">{escape(section.verdict)}</p>' if section.verdict else ""
    return f"""\
<section>
<h2><span>{escape(number)}</span> {escape(title)}</h2>
<div class="pair">
<div><p>{escape(section.text)}</p>
{_table_html(section.header, section.rows)}
{verdict}</div>
<figure>{figure}</figure>
</div>
</section>"""


def _table_html(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    def row(cells: Sequence[str], tag: str) -> str:
        first = f'<th scope="{"col" if tag == "th" else "row"}">{escape(cells[0])}</th>'
        rest = "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in cells[1:])
        return f"<tr>{first}{rest}</tr>"

    body = "\n".join(row(cells, "td") for cells in rows)
    return f"<table>\n<thead>{row(header, 'th')}</thead>\n<tbody>\n{body}\n</tbody>\n</table>"
