"""What a comparison tells: findings in the order of the report."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from posteriori.analysis.comparisons.table_problem import suited_candidates
from posteriori.analysis.ranking.ranked_outcomes import AVERAGE
from posteriori.analysis.report import figures
from posteriori.analysis.report.class_figures import (
    MOST_CLASSES,
    confusion_counts,
    draw_confusion,
    draw_reliability,
    frequent_confusions,
    reliability_bins,
)
from posteriori.analysis.report.decision_figures import class_picture, threshold_figures
from posteriori.analysis.report.insights import best_tree, drivers, surprises
from posteriori.analysis.report.what_if import adding_columns, changing_columns, typical_rows
from posteriori.analysis.table.association import association_matrix
from posteriori.analysis.table.wording import counted, short_number
from posteriori.analysis.targets.class_costs import stakes_again
from posteriori.analysis.targets.reasons import chances_hold, ranges_hold
from posteriori.analysis.tasks.sections import (
    Beside,
    CodeAgain,
    Figure,
    Figures,
    Finding,
    Grid,
    Items,
    Part,
    Words,
)
from posteriori.drawing.measures import short_text
from posteriori.numerics.types import Array

if TYPE_CHECKING:
    from posteriori.analysis.comparisons.conclusions import Analysis

__all__ = [
    "chances_in_words",
    "code_of",
    "comparison_findings",
    "comparison_heading",
    "draw_picture",
    "intervals_in_words",
]


#: Columns beside the target in the figure of associations, the strongest.
_MOST_ASSOCIATED = 11


def comparison_findings(found: Analysis) -> Iterator[Finding]:
    """Yield the ranking, how well the best model predicts, what it has learned, and what the columns hold."""
    yield from found.ranking_findings(found.ranking.rows, partial(_sensitivity, found))
    if not found.ranking.rows[0].failure:
        yield Finding("How well the best model predicts", partial(_predictions, found))
        yield Finding("What drives the predictions", partial(drivers, found))
        yield Finding("What drives the predictions", partial(changing_columns, found))
        yield Finding("What each column adds", partial(adding_columns, found))
        yield Finding("The most probable tree", partial(best_tree, found))
        yield Finding("Some rows", partial(typical_rows, found))
        yield Finding("Surprising rows", partial(surprises, found))
    yield Finding(figures.AT_A_GLANCE, partial(_glance, found))


def comparison_heading(found: Analysis, data: str) -> tuple[str, str]:
    """Name the target and the data, and say of how many rows it was predicted, by how many models."""
    used, name = len(found.problem.kinds), found.target.column.name
    what = (
        f"The distribution of “{name}”"
        if found.target.task == "density"
        else f"{found.target.task.capitalize()} of “{name}” from {counted(used, 'column')}"
    )
    return f"{name} in {data}", (
        f"{what} in {counted(len(found.problem.y), 'row')}; "
        f"{counted(len(found.single_rows), 'model')} compared by how well they predict rows that "
        "they have not seen."
    )


def _predictions(found: Analysis) -> list[Part]:
    best = found.kept
    errors = [f"{name} {short_number(value)}" for name, value in found.metrics[best].items()]
    said = Words(f"“{found.words(best)}” on unseen rows: {', '.join(errors)}.")
    told = _predicted_numbers(found) if found.problem.classes is None else _predicted_classes(found)
    return [said, *told]


def _predicted_numbers(found: Analysis) -> list[Part]:
    said = Words(intervals_in_words(found.unseen.level, counts="counts" in found.target.traits))
    drawn = [] if found.target.task == "density" else [figures.draw_residuals(found)]
    drawn.append(figures.draw_levels(found.unseen.level))
    return [
        said,
        Figures([Figure(svg) for svg in drawn]),
        Words(
            "If the predictive distributions are right, what came is equally likely at every level "
            "of them: the bars lie within the grey band."
        ),
    ]


def _predicted_classes(found: Analysis) -> list[Part]:
    classes, codes, p = found.problem.classes, found.codes, found.unseen.prediction
    said = Words(chances_in_words(p, codes))
    decided = found.decided.get(found.kept)
    chosen = p.argmax(axis=1) if decided is None else decided.said
    shown = [] if decided is None else [*threshold_figures(found), _reliability_figure(found)]
    counts = confusion_counts(codes, chosen, len(classes))
    if len(classes) <= MOST_CLASSES:
        rows = "Rows by true and predicted class; the colour is the share of the true class."
        return [said, Figures([*shown, Figure(draw_confusion(counts, classes), rows)])]
    mistakes = frequent_confusions(counts, classes)
    if not mistakes:
        return [said, Figures(shown), Words("No row was taken for another class.")]
    header = ("true", "predicted", "rows", "of the true class")
    frequent = Words("The most frequent mistakes:")
    return [said, Figures(shown), frequent, Grid(header, mistakes)]


def draw_picture(found: Analysis) -> Figure | None:
    """Draw what came against what was predicted: numbers with their band, or shares against probabilities."""
    if found.ranking.rows[0].failure:
        return None
    if found.target.task == "density":
        return Figure(figures.draw_density(found), "All values, and how probable another one is.")
    if found.problem.classes is None:
        return Figure(figures.draw_predictions(found), _PREDICTED)
    return class_picture(found) if found.decided else _reliability_figure(found)


def _reliability_figure(found: Analysis) -> Figure:
    svg = _reliability(found.unseen.prediction, found.codes, found.problem.classes)
    return Figure(svg, _STATED)


_PREDICTED = (
    "Each point is a row that the model had not seen: what it predicted, and what came. Of ten rows nine should lie in "
    "the band; rings are rows outside of the range that the model gave for them."
)
_STATED = (
    "If the probabilities are right, the points lie on the line: of the rows with stated probability 0.8, four in five "
    "are of that class. Bars are two standard errors; small points stand for few rows."
)


def intervals_in_words(level: Array, *, counts: bool = False) -> str:
    """Say whether intervals of 90 % hold what came, of these levels (N,) in its predictive distributions."""
    held, count = int(np.sum(np.abs(level - 0.5) <= 0.45)), len(level)
    return (
        f"Intervals of 90% held what came in {held:,} of {counted(count, 'unseen row')} "
        f"({held / count:.0%}), {_INTERVALS[ranges_hold(level, counts=counts)]}."
    )


_INTERVALS = {
    0: "as they promise: they can be taken at their word",
    1: "more than promised: they are wider than they need to be",
    -1: "less than promised: they are too narrow",
}


def chances_in_words(p: Array, codes: Array) -> str:
    """Say whether the most probable of classes (N, K) come (N,) as often as their probabilities promise."""
    right, count = int(np.sum(p.argmax(axis=1) == codes)), len(codes)
    return (
        f"The most probable class came in {right:,} of {counted(count, 'unseen row')} "
        f"({right / count:.1%}), where its probabilities promise {p.max(axis=1).mean():.1%}; "
        f"{_CHANCES[chances_hold(p, codes)]}."
    )


_CHANCES = {
    0: "as often as promised: probabilities can be taken at their word",
    1: "more often than promised: probabilities are too cautious",
    -1: "less often than promised: probabilities are too sure of themselves",
}


def _reliability(p: Array, codes: Array, classes: Array) -> str:
    """Draw the second of two classes, as the first says the same again; or all of more."""
    truth = (codes[:, None] == np.arange(len(classes))).astype(float)
    if len(classes) > 2:
        bins = reliability_bins(p.ravel(), truth.ravel())
        return draw_reliability(bins, "stated probability of a class")
    bins = reliability_bins(p[:, 1], truth[:, 1])
    return draw_reliability(bins, f"stated probability of “{short_text(str(classes[1]), 16)}”")


def _sensitivity(found: Analysis) -> list[Part]:
    moved = found.sensitivity if found.thorough else {}
    curves = {found.words(name): curve for name, curve in moved.items() if curve}
    if not curves:
        return []
    moves = [
        f"“{name}” by up to {max(abs(value - curve[1.0]) for value in curve.values()):.1f}"
        for name, curve in curves.items()
    ]
    said = (
        "Sensitivity to the prior: scales from a quarter to four times as large move the log "
        f"evidence of {' and '.join(moves)} nats. Held-out densities hardly feel the prior "
        "once there are many rows; evidences do."
    )
    return [Beside([Figure(figures.draw_sensitivity(curves))], [Words(said)])]


def _glance(found: Analysis) -> list[Part]:
    related = _most_associated(found)
    columns = [(found.target.column, found.targets)]
    columns += [(column, found.problem.X.get(column.name)) for column in found.columns]
    told: list[Part] = [Items(found.notes), figures.column_list(columns, len(found.target.known))]
    if len(related) < 3:
        return told
    said = (
        "Association of columns, from 0 to 1: rank correlation of numbers, Cramér’s V of "
        "categories, the correlation ratio between the two."
    )
    svg = figures.draw_association(list(related), association_matrix(related))
    return [*told, Words(said), Figure(svg)]


def _most_associated(found: Analysis) -> dict[str, pd.Series]:
    """Return the target and the columns that go with it most closely, in their order."""
    chosen = set(found.strongest[:_MOST_ASSOCIATED])
    columns = {str(name): found.problem.X[name] for name in found.problem.X if name in chosen}
    return {found.target.column.name: found.targets, **columns}


_AGAIN = CodeAgain(
    "compare",
    "analysis",
    "analysed",
    (
        "analysis.ranking.to_frame()",
        "analysis.best  # the fitted pipeline",
        "# means and intervals, or probabilities of classes; of new rows as well",
        "analysis.model.predict(table.head())",
    ),
)


def code_of(found: Analysis, loading: str = "") -> str:
    """Return code that repeats an analysis: with the arguments that differ from those that would be guessed."""
    loss = found.problem.loss
    asked = {
        "": found.target.column.name,
        "task": found.target.task,
        **found.asked_again(
            suited_candidates(found.target, found.problem, thorough=found.thorough)
        ),
        **({} if found.target.classes is None else stakes_again(found.target)),
        "loss": None if loss == "squared" else loss,
        "thorough": found.thorough,
        "time": None if found.problem.past is None else found.problem.past.time,
        "single": not found.keep,
        "save_model": found.keep if found.keep not in ("", AVERAGE) else None,
    }
    return _AGAIN.code(asked, loading)
