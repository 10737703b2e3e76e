"""The report as one HTML page: no network, no scripts; everything from the data is escaped."""

from __future__ import annotations

import platform
from html import escape
from importlib.metadata import version
from importlib.resources import files
from string import Template

import numpy as np
import pandas as pd

from posteriori.analysis.analyzing import Analysis
from posteriori.analysis.report import figures
from posteriori.analysis.report.association import association_matrix, strongest_first
from posteriori.analysis.report.class_figures import (
    MOST_CLASSES,
    confusion_counts,
    draw_confusion,
    draw_reliability,
    frequent_confusions,
    reliability_bins,
)
from posteriori.analysis.report.code import code_of
from posteriori.analysis.report.effects import column_importance, weight_effects
from posteriori.analysis.report.elements import bullet_list, figure, section, side_by_side, table
from posteriori.analysis.report.ranking_figure import choose_scale, draw_ranking, far_models
from posteriori.analysis.report.ranking_table import (
    failures_of,
    group_legend,
    ranking_table,
    warnings_of,
)
from posteriori.analysis.report.surprises import LIMIT, surprise_table
from posteriori.analysis.table.columns import Column
from posteriori.analysis.table.number_words import short_number
from posteriori.analysis.table.wording import counted
from posteriori.numerics.types import Array
from posteriori.plotting.page_figures import short_text

__all__ = ["make_page"]

#: Columns that are shown one by one; more are only counted.
_MOST_COLUMNS = 60

#: Columns beside the target in the figure of associations, the strongest.
_MOST_ASSOCIATED = 11
#: Columns whose entries are told of surprising rows.
_MOST_TOLD = 4


def make_page(analysis: Analysis, title: str, loading: str = "") -> str:
    """Return the report of an analysis.

    Parameters
    ----------
    analysis : Analysis
    title : str
        What the data are called.
    loading : str
        Python code that makes ``table`` of them.
    """
    columns = strongest_first(_values(analysis), _columns(analysis))
    parts = [_ranking(analysis)]
    if not analysis.ranking.rows[0].failure:
        parts += [_predictions(analysis), _posterior(analysis), _surprises(analysis, columns)]
        parts += [_sensitivity(analysis)]
    code = f"<pre><code>{escape(code_of(analysis, loading))}</code></pre>"
    parts += [_glance(analysis, columns), section("The same in Python", code)]
    template = (
        files("posteriori.analysis").joinpath("templates/report.html").read_text(encoding="utf-8")
    )
    return Template(template).substitute(
        title=escape(f"{analysis.target.column.name} in {title}"),
        lede=escape(_lede(analysis)),
        verdict=escape(analysis.verdict),
        sections="\n".join(part for part in parts if part),
        footer=escape(_versions(analysis)),
    )


def _lede(analysis: Analysis) -> str:
    used, name = len(analysis.problem.kinds), analysis.target.column.name
    what = (
        f"The distribution of “{name}”"
        if analysis.target.task == "density"
        else f"{analysis.target.task.capitalize()} of “{name}” from {counted(used, 'column')}"
    )
    return (
        f"{what} in {counted(len(analysis.problem.y), 'row')}; "
        f"{counted(len(analysis.ranking.rows), 'model')} compared by how well they predict rows that "
        "they have not seen."
    )


def _ranking(analysis: Analysis) -> str:
    header, rows = ranking_table(analysis)
    remarks = [*group_legend(analysis), *failures_of(analysis), *warnings_of(analysis)]
    return section(
        "The ranking",
        "<p>Held out is the log predictive density of all rows, each predicted by a model that was "
        "fitted without it, ± one standard error; behind is the difference to the best, row by row. "
        "The evidence is the log probability of the data under the model, prior and all; the "
        "probability of a model assumes that all of its group were equally probable before.</p>"
        + table(header, rows, "ranking")
        + bullet_list(remarks)
        + _ranking_figure(analysis),
    )


def _ranking_figure(analysis: Analysis) -> str:
    if sum(not row.failure for row in analysis.ranking.rows) < 2:
        return ""
    scale = choose_scale(analysis.ranking.rows)
    return figure(draw_ranking(scale), far_models(scale), broad=True)


def _predictions(analysis: Analysis) -> str:
    best = analysis.ranking.best
    metrics = analysis.metrics[best]
    words = ", ".join(f"{name} {short_number(value)}" for name, value in metrics.items())
    text = f"<p>“{escape(best)}” on unseen rows: {escape(words)}.</p>"
    told = (
        _predicted_numbers(analysis)
        if analysis.problem.classes is None
        else _predicted_classes(analysis)
    )
    return section("How well the best model predicts", text + told)


def _predicted_numbers(analysis: Analysis) -> str:
    unseen = analysis.outcomes[analysis.ranking.best].unseen
    assert unseen is not None
    drawn = (
        [figures.draw_density(analysis)]
        if analysis.target.task == "density"
        else [figures.draw_predictions(analysis), figures.draw_residuals(analysis)]
    )
    drawn.append(figures.draw_levels(unseen.level))
    return side_by_side([figure(svg) for svg in drawn]) + (
        "<p>If the predictive distributions are right, what came is equally likely at every "
        "level of them: the bars lie within the grey band.</p>"
    )


def _predicted_classes(analysis: Analysis) -> str:
    unseen, classes = analysis.outcomes[analysis.ranking.best].unseen, analysis.problem.classes
    assert unseen is not None
    codes = np.searchsorted(classes, analysis.problem.y)
    shown = [figure(_reliability(unseen.prediction, codes, classes))]
    told = (
        "<p>If the probabilities are right, the points lie on the line: of the rows with stated "
        "probability 0.8, four in five are of that class. Bars are two standard errors; small points "
        "stand for few rows.</p>"
    )
    counts = confusion_counts(codes, unseen.prediction.argmax(axis=1), len(classes))
    if len(classes) <= MOST_CLASSES:
        said = "Rows by true and predicted class; the colour is the share of the true class."
        shown.append(figure(draw_confusion(counts, classes), said))
        return side_by_side(shown) + told
    mistakes = frequent_confusions(counts, classes)
    return (
        side_by_side(shown)
        + told
        + (
            "<p>The most frequent mistakes:</p>"
            + table(("true", "predicted", "rows", "of the true class"), mistakes)
            if mistakes
            else "<p>No row was taken for another class.</p>"
        )
    )


def _reliability(p: Array, codes: Array, classes: Array) -> str:
    """Draw the second of two classes, as the first says the same again; or all of more."""
    truth = (codes[:, None] == np.arange(len(classes))).astype(float)
    if len(classes) > 2:
        bins = reliability_bins(p.ravel(), truth.ravel())
        return draw_reliability(bins, "stated probability of a class")
    bins = reliability_bins(p[:, 1], truth[:, 1])
    return draw_reliability(bins, f"stated probability of “{short_text(str(classes[1]), 16)}”")


def _posterior(analysis: Analysis) -> str:
    if not analysis.problem.kinds:
        return ""
    if analysis.outcomes[analysis.ranking.best].candidate.encoding == "nothing":
        return section(
            "What the best model has learned",
            "<p>That the columns do not help: it predicts the same for every row.</p>",
        )
    effects = weight_effects(analysis.best)
    if effects is not None and len(effects.names):
        text = (
            "<p>Weights with their 90% posterior intervals. Columns of numbers are in units of "
            "their standard deviation; a level stands against the most frequent one.</p>"
        )
        drawn = figures.draw_effects(effects, "weight, posterior mean and 90% interval")
    else:
        importance = column_importance(analysis.best, analysis.problem, analysis.seed)
        text = (
            "<p>What is lost when the entries of one column are shuffled: the more, the more the "
            "model relies on it. Lines are the range of three shuffles.</p>"
        )
        drawn = figures.draw_effects(importance, "log density per row lost by shuffling")
    return section("What the best model has learned", text + figure(drawn, broad=True))


def _surprises(analysis: Analysis, columns: list[str]) -> str:
    unseen = analysis.outcomes[analysis.ranking.best].unseen
    assert unseen is not None
    places = np.flatnonzero(analysis.target.known)
    header, rows = surprise_table(unseen, analysis.problem, places, columns[:_MOST_TOLD])
    if not rows:
        return section(
            "Surprising rows",
            "<p>None: the best model could expect rows like the least probable ones among so many.</p>",
        )
    entries = " Of the other columns those are told that go with the target most closely."
    return section(
        "Surprising rows",
        f"<p>Rows so improbable that the best model expected fewer than {LIMIT:g} of the kind among "
        "all: errors in the data, or what the model does not know. Row 1 is the first below the "
        f"header.{entries if columns else ''}</p>" + table(header, rows),
    )


def _sensitivity(analysis: Analysis) -> str:
    curves = {name: curve for name, curve in analysis.sensitivity.items() if curve}
    if not curves:
        return ""
    moves = [
        f"“{name}” by up to {max(abs(value - curve[1.0]) for value in curve.values()):.1f}"
        for name, curve in curves.items()
    ]
    return section(
        "Sensitivity to the prior",
        "<p>Prior scales from a quarter to four times as large move the log evidence of "
        f"{escape(' and '.join(moves))} nats. Held-out densities hardly feel the prior once there are "
        "many rows; evidences do.</p>" + figure(figures.draw_sensitivity(curves)),
    )


def _glance(analysis: Analysis, strongest: list[str]) -> str:
    notes = bullet_list(analysis.notes)
    total = len(analysis.target.known)
    X, shown = analysis.problem.X, analysis.columns[:_MOST_COLUMNS]
    drawn = [(column, X.get(column.name)) for column in shown]
    body = "".join(
        _column_row(column, series, key, total)
        for key, (column, series) in enumerate(
            [(analysis.target.column, _values(analysis)), *drawn]
        )
    )
    more = len(analysis.columns) - _MOST_COLUMNS
    rest = f"<p>And {more} more columns.</p>" if more > 0 else ""
    head = "<tr><th>column</th><th>kind</th><th>missing</th><th>different</th><th></th></tr>"
    listed = (
        f'<div class="wide"><table class="columns"><thead>{head}</thead>'
        f"<tbody>{body}</tbody></table></div>"
    )
    return section(
        "The data at a glance", notes + listed + rest + _association(analysis, strongest)
    )


def _values(analysis: Analysis) -> pd.Series:
    """Return the known targets: numbers, or classes as texts."""
    values = pd.Series(analysis.problem.y)
    return values if analysis.problem.classes is None else values.astype(str).astype(object)


def _column_row(column: Column, series: pd.Series | None, key: int, total: int) -> str:
    spark = "" if series is None else figures.draw_spark(column.name, series, key)
    missing = f"{100 * column.missing / max(total, 1):.1f}%" if column.missing else ""
    cells = (escape(column.kind), missing, f"{column.distinct:,}" if column.distinct else "", spark)
    kind = "" if column.used else ' class="unused"'
    return (
        f'<tr{kind}><th scope="row">{escape(column.name)}</th>'
        + "".join(f"<td>{cell}</td>" for cell in cells)
        + "</tr>"
    )


def _columns(analysis: Analysis) -> dict[str, pd.Series]:
    return {str(name): analysis.problem.X[name] for name in analysis.problem.X}


def _association(analysis: Analysis, strongest: list[str]) -> str:
    columns = _columns(analysis)
    chosen = set(strongest[:_MOST_ASSOCIATED])
    everything = {analysis.target.column.name: _values(analysis)}
    everything |= {name: series for name, series in columns.items() if name in chosen}
    if len(everything) < 3:
        return ""
    drawn = figures.draw_association(list(everything), association_matrix(everything))
    return (
        "<p>Association of columns, from 0 to 1: rank correlation of numbers, Cramér’s V of "
        "categories, the correlation ratio between the two.</p>"
        + figure(drawn, broad=len(everything) > 6)
    )


def _versions(analysis: Analysis) -> str:
    names = ("posteriori", "numpy", "scipy", "scikit-learn", "pandas")
    return (
        ", ".join(f"{name} {version(name)}" for name in names)
        + f"; Python {platform.python_version()}; seed {analysis.seed}"
    )
