"""The report as one HTML page: no network, no scripts; everything from the data is escaped."""

from __future__ import annotations

import platform
from collections.abc import Iterable, Sequence
from html import escape
from importlib.metadata import version
from importlib.resources import files
from string import Template

import numpy as np
import pandas as pd

from posteriori.analysis.analyzing import Analysis, suited_candidates
from posteriori.analysis.columns import Column
from posteriori.analysis.number_words import short_number
from posteriori.analysis.ranking_table import group_legend, ranking_table
from posteriori.analysis.report import figures
from posteriori.analysis.report.association import association_matrix
from posteriori.analysis.report.effects import column_importance, weight_effects
from posteriori.analysis.report.surprises import expected_at_least, surprising_rows

__all__ = ["make_page"]

_MOST_COLUMNS = 60
_MOST_ASSOCIATED = 15


def make_page(analysis: Analysis, title: str) -> str:
    """Return the report of an analysis.

    Parameters
    ----------
    analysis : Analysis
    title : str
        What the data are called.
    """
    parts = [_ranking(analysis)]
    if not analysis.ranking.rows[0].failure:
        parts += [_predictions(analysis), _posterior(analysis), _surprises(analysis)]
        parts += [_sensitivity(analysis)]
    parts += [_glance(analysis), _code(analysis, title)]
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
        else f"{analysis.target.task.capitalize()} of “{name}” from {_count(used, 'column')}"
    )
    return (
        f"{what} in {_count(len(analysis.problem.y), 'row')}; "
        f"{_count(len(analysis.ranking.rows), 'model')} compared by how well they predict rows that "
        "they have not seen."
    )


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _ranking(analysis: Analysis) -> str:
    header, rows = ranking_table(analysis)
    failed = [
        f"{outcome.name}: {outcome.failure}"
        for outcome in analysis.outcomes.values()
        if outcome.failure
    ]
    warned = [f"{o.name}: {w}" for o in analysis.outcomes.values() for w in o.warnings[:1]]
    figure = (
        ""
        if analysis.ranking.rows[0].failure
        else (_figure(figures.draw_ranking(analysis), broad=True))
    )
    return _section(
        "The ranking",
        "<p>Held out is the log predictive density of all rows, each predicted by a model that was "
        "fitted without it, ± one standard error; behind is the difference to the best, row by row. "
        "The evidence is the log probability of the data under the model, prior and all; the "
        "probability of a model assumes that all of its group were equally probable before.</p>"
        + _table(header, rows, "ranking")
        + _list([*group_legend(analysis), *failed, *warned])
        + figure,
    )


def _predictions(analysis: Analysis) -> str:
    best = analysis.ranking.best
    metrics = analysis.metrics[best]
    words = ", ".join(f"{name} {short_number(value)}" for name, value in metrics.items())
    text = f"<p>“{escape(best)}” on unseen rows: {escape(words)}.</p>"
    if analysis.problem.classes is None:
        explained = (
            "<p>If the predictive distributions are right, what came is equally likely at every "
            "level of them: the bars lie within the grey band.</p>"
        )
        drawn = (
            [figures.draw_density(analysis)]
            if analysis.target.task == "density"
            else [figures.draw_predictions(analysis), figures.draw_residuals(analysis)]
        )
        drawn.append(figures.draw_calibration(analysis))
    else:
        explained = (
            "<p>If the probabilities are right, the points lie on the line: of the rows with stated "
            "probability 0.8, four in five are of that class.</p>"
        )
        drawn = [figures.draw_calibration(analysis), figures.draw_confusion(analysis)]
    return _section("How well the best model predicts", text + _figures(drawn) + explained)


def _posterior(analysis: Analysis) -> str:
    if not analysis.problem.kinds:
        return ""
    if analysis.outcomes[analysis.ranking.best].candidate.encoding == "nothing":
        return _section(
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
    return _section("What the best model has learned", text + _figure(drawn, broad=True))


def _surprises(analysis: Analysis) -> str:
    unseen = analysis.outcomes[analysis.ranking.best].unseen
    assert unseen is not None
    y, classes = analysis.problem.y, analysis.problem.classes
    codes = None if classes is None else np.searchsorted(classes, y)
    chosen = surprising_rows(unseen, codes)
    if not len(chosen):
        return _section(
            "Surprising rows",
            "<p>None: no row is less probable than the least probable of so many rows should be if "
            "the best model is right.</p>",
        )
    expected = expected_at_least(unseen, codes)
    places = np.flatnonzero(analysis.target.known)[chosen]
    rows = []
    for row, place in zip(chosen, places, strict=True):
        if classes is None:
            came, said = short_number(float(y[row])), short_number(float(unseen.prediction[row]))
        else:
            came, said = str(y[row]), str(classes[unseen.prediction[row].argmax()])
        rows.append((str(place + 1), came, said, f"{expected[row]:.1g}"))
    return _section(
        "Surprising rows",
        "<p>Rows of which the best model expected fewer than one so improbable: errors in the data, "
        "or what the model does not know. Row 1 is the first below the header.</p>"
        + _table(("row", "came", "predicted", "such rows expected"), rows),
    )


def _sensitivity(analysis: Analysis) -> str:
    if not any(analysis.sensitivity.values()):
        return ""
    moves = []
    for name, curve in analysis.sensitivity.items():
        if curve:
            largest = max(abs(value - curve[1.0]) for value in curve.values())
            moves.append(f"“{name}” by up to {largest:.1f}")
    return _section(
        "Sensitivity to the prior",
        "<p>Prior scales from a quarter to four times as large move the log evidence of "
        f"{escape(' and '.join(moves))} nats. Held-out densities hardly feel the prior once there are "
        "many rows; evidences do.</p>" + _figure(figures.draw_sensitivity(analysis)),
    )


def _glance(analysis: Analysis) -> str:
    notes = _list(analysis.notes)
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
    table = (
        f'<div class="wide"><table class="columns"><thead>{head}</thead>'
        f"<tbody>{body}</tbody></table></div>"
    )
    return _section("The data at a glance", notes + table + rest + _association(analysis))


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


def _association(analysis: Analysis) -> str:
    columns = {str(name): analysis.problem.X[name] for name in analysis.problem.X}
    target = _values(analysis)
    everything = {analysis.target.column.name: target, **columns}
    if len(everything) < 3:
        return ""
    if len(everything) > _MOST_ASSOCIATED + 1:
        strength = {
            name: association_matrix({"target": target, name: series})[0, 1]
            for name, series in columns.items()
        }
        chosen = sorted(strength, key=lambda name: -strength[name])[:_MOST_ASSOCIATED]
        everything = {
            analysis.target.column.name: target,
            **{name: columns[name] for name in chosen},
        }
    matrix = association_matrix(everything)
    return (
        "<p>Association of columns, from 0 to 1: rank correlation of numbers, Cramér’s V of "
        "categories, the correlation ratio between the two.</p>"
        + _figure(figures.draw_association(list(everything), matrix), broad=len(everything) > 6)
    )


def _code(analysis: Analysis, title: str) -> str:
    drop = [c.name for c in analysis.columns if c.kind == "dropped"]
    options = f", drop={drop!r}" if drop else ""
    tried = list(analysis.outcomes)
    suited = {c.name for c in suited_candidates(analysis.target, analysis.problem)}
    options += "" if set(tried) == suited else f", models={tried!r}"
    code = (
        "import pandas as pd\n"
        "from posteriori import analyze\n\n"
        f"table = pd.read_csv({title!r})\n"
        f"analysis = analyze(table, target={analysis.target.column.name!r}, "
        f"task={analysis.target.task!r}, seed={analysis.seed}{options})\n"
        "analysis.ranking.to_frame()\n"
        "analysis.best                      # the fitted pipeline\n"
        "analysis.model.predict(new_table)  # mean and interval, or class probabilities\n"
    )
    return _section("The same in Python", f"<pre><code>{escape(code)}</code></pre>")


def _versions(analysis: Analysis) -> str:
    names = ("posteriori", "numpy", "scipy", "scikit-learn", "pandas")
    return (
        ", ".join(f"{name} {version(name)}" for name in names)
        + f"; Python {platform.python_version()}; seed {analysis.seed}"
    )


def _section(title: str, body: str) -> str:
    return f"<section>\n<h2>{escape(title)}</h2>\n{body}\n</section>"


def _figure(svg: str, *, broad: bool = False) -> str:
    return f"<figure{' class=broad' if broad else ''}>{svg}</figure>"


def _figures(svgs: Iterable[str]) -> str:
    return '<div class="figures">' + "".join(_figure(svg) for svg in svgs) + "</div>"


def _list(items: Sequence[str]) -> str:
    if not items:
        return ""
    return "<ul>" + "".join(f"<li>{escape(item)}</li>" for item in items) + "</ul>"


def _table(header: Sequence[str], rows: Iterable[Sequence[str]], name: str = "plain") -> str:
    head = "".join(f'<th scope="col">{escape(cell)}</th>' for cell in header)
    body = "\n".join(
        f'<tr><th scope="row">{escape(row[0])}</th>'
        + "".join(f"<td>{escape(cell)}</td>" for cell in row[1:])
        + "</tr>"
        for row in rows
    )
    return (
        f'<div class="wide"><table class="{name}"><thead><tr>{head}</tr></thead>\n'
        f"<tbody>\n{body}\n</tbody></table></div>"
    )
