"""The ranking in words, for terminals and pages alike: a table, its remarks, and the verdict."""

from __future__ import annotations

import math
from collections.abc import Sequence

from posteriori.analysis.fitting.findings import Findings
from posteriori.analysis.fitting.running import INTERRUPTED, OUT_OF_TIME
from posteriori.analysis.table.wording import (
    even_number,
    fixed_number,
    number_with_error,
    short_number,
)
from posteriori.selection.comparison import Row

__all__ = [
    "aligned",
    "explanations",
    "failures_of",
    "fit_columns",
    "group_legend",
    "ranking_table",
    "strength",
    "verdict",
    "verdict_of",
    "warnings_of",
]

#: How many of the errors that people know are shown.
_SHOWN_METRICS = 1

#: What an evidence is of, in words.
_WORDS = {
    "y|X": "target given columns",
    "y|X (counts)": "counts given columns",
    "y|X, chosen scale": "target given columns, prior scale chosen by it",
    "X,y (numbers)": "target and columns",
    "X,y (codes)": "target and columns, with codes for categories",
}

_HELD_OUT = (
    "held out: log density of rows that the model has not seen, ± standard error; "
    "behind: its difference to the best, row by row"
)

#: Columns that are left out where the window is narrow, in this order.
_GO_FIRST = ("seconds", "kind", "evidence", "prob.")

#: What stands in the place of numbers that were not waited for, and of the time they took.
_UNREACHED = {OUT_OF_TIME: ("not reached", ""), INTERRUPTED: ("interrupted", "")}

#: Differences in nats, of all rows together, that hardly matter however consistent they are.
#: A. Vehtari et al. call models "very similar" below it.
_SMALL = 4.0

#: Where so many times as many rows would be needed to decide, it does not matter.
_MANY_TIMES = 100.0

#: With fewer rows, standard errors are too rough to tell how many more are needed.
_FEW_ROWS = 30

#: The evidence prefers a model if it is so many times as probable.
_PREFERRED = 3.0


def ranking_table(found: Findings) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Return header and rows, best first; models without a result come last, with no numbers."""
    best = found.metrics.get(found.ranking.rows[0].name, {})
    metrics = list(best)[:_SHOWN_METRICS]
    groups = _group_letters(found.ranking.rows)
    header = ("model", "held out", "behind", *metrics)
    header += ("evidence", "kind", "prob.", "seconds")
    return header, [_cells(row, found, metrics, groups) for row in found.ranking.rows]


def group_legend(found: Findings) -> list[str]:
    """Say what the evidences of each group are of; nothing if there is one group."""
    letters = _group_letters(found.ranking.rows)
    if len(letters) < 2:
        return []
    named = "; ".join(f"{letter.strip()}: {_WORDS.get(of, of)}" for of, letter in letters.items())
    return [f"evidence and prob. compare within a group only ({named})"]


def failures_of(found: Findings) -> list[str]:
    """Say why models have no result: a line for each reason."""
    return _together([(o.failure, o.name) for o in found.outcomes.values() if o.failure])


def warnings_of(found: Findings) -> list[str]:
    """Say what models warned of first: a line for each warning."""
    return _together([(w, o.name) for o in found.outcomes.values() for w in o.warnings[:1]])


def _together(said: list[tuple[str, str]]) -> list[str]:
    """Return each text once, behind the names of all that it is about."""
    names: dict[str, list[str]] = {}
    for text, name in said:
        names.setdefault(text, []).append(name)
    return [f"{', '.join(about)}: {text}" for text, about in names.items()]


def fit_columns(
    header: tuple[str, ...], rows: Sequence[tuple[str, ...]], width: int
) -> tuple[list[str], list[str]]:
    """Return lines no wider than so many letters, and the headings that had to go.

    Columns go first that the verdict needs least.
    """
    table = [header, *rows]
    widths = [max(len(row[k]) for row in table) + 2 for k in range(len(header))]
    kept = list(range(len(header)))
    errors = [name for name in header[3:] if name not in _GO_FIRST]
    for heading in (*_GO_FIRST, *errors, "held out"):
        if sum(widths[k] for k in kept) - 2 > width:
            kept.remove(header.index(heading))
    lines = aligned([tuple(row[k] for k in kept) for row in table])
    return lines, [name for k, name in enumerate(header) if k not in kept]


def explanations(found: Findings, hidden: Sequence[str]) -> list[str]:
    """Say what the columns mean, and which that matter a wider window would show."""
    lines = [_HELD_OUT, *(() if "prob." in hidden else group_legend(found))]
    missed = [name for name in hidden if name not in ("seconds", "kind")]
    return [*lines, f"a wider window also shows: {', '.join(missed)}"] if missed else lines


def aligned(rows: Sequence[tuple[str, ...]]) -> list[str]:
    """Return lines of text: names to the left, numbers to the right."""
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    return [
        "  ".join(
            cell.ljust(width) if k == 0 else cell.rjust(width)
            for k, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def _group_letters(rows: tuple[Row, ...]) -> dict[str, str]:
    """Return a letter for each group of evidences that compare, if there is more than one."""
    groups = list(dict.fromkeys(row.of for row in rows if row.of))
    if len(groups) < 2:
        return dict.fromkeys(groups, "")
    return {group: f" {chr(ord('a') + k)}" for k, group in enumerate(groups)}


def _cells(
    row: Row, found: Findings, metrics: list[str], groups: dict[str, str]
) -> tuple[str, ...]:
    if row.failure:
        word, seconds = _UNREACHED.get(row.failure, ("failed", short_number(row.seconds, 2)))
        return (row.name, word, *("" for _ in range(len(metrics) + 4)), seconds)
    behind = (
        ""
        if row.elpd_difference == 0.0
        else number_with_error(row.elpd_difference, row.elpd_difference_se)
    )
    errors = [even_number(found.metrics[row.name][name]) for name in metrics]
    group = groups.get(row.of, "")
    # where an evidence is large, its decimals decide nothing
    decimals = 1 if abs(row.log_evidence) < 1e4 else 0
    evidence = fixed_number(row.log_evidence, decimals) if row.of else ""
    alone = sum(other.of == row.of for other in found.ranking.rows) < 2
    probability = "" if alone else _probability(row.probability)
    probability += group if row.of else ""
    return (
        row.name,
        number_with_error(row.elpd, row.elpd_se),
        behind,
        *errors,
        evidence,
        row.kind,
        probability,
        short_number(row.seconds, 2),
    )


def _probability(p: float) -> str:
    if math.isnan(p):
        return ""
    return f"{p:.3f}" if p >= 0.0005 else "<0.001"


# -- the verdict in one sentence -----------------------------------------------------------------


def verdict_of(found: Findings) -> str:
    """Say which model it is, how sure that is, what would change it."""
    outcomes = found.outcomes.values()
    flat = (o.name for o in outcomes if o.candidate.encoding == "nothing")
    return verdict(
        found.ranking.rows,
        len(found.problem.y),
        baseline=next(flat, "") if found.target.task != "density" else "",
        untried=sum(o.failure in (INTERRUPTED, OUT_OF_TIME) for o in outcomes),
        revealing=found.revealing,
    )


def strength(difference: float, error: float) -> str:
    """Say how far a difference stands above its standard error.

    Parameters
    ----------
    difference : float
        Advantage in held-out log density, ≥ 0.
    error : float
        Its standard error.
    """
    if not error > 0.0:
        return "not known" if math.isnan(error) else "clear" if difference > 0 else "none"
    ratio = difference / error
    for limit, word in ((1.0, "not decided"), (2.0, "weak"), (4.0, "clear")):
        if ratio < limit:
            return word
    return "very clear"


def verdict(
    rows: Sequence[Row],
    n_rows: int,
    *,
    baseline: str = "",
    untried: int = 0,
    revealing: Sequence[str] = (),
) -> str:
    """Return the verdict on ranked models, best first.

    Parameters
    ----------
    rows : sequence of Row
    n_rows : int
        Rows of the data.
    baseline : str
        The model that ignores all columns.
    untried : int
        Models that were not reached.
    revealing : sequence of str
        Columns that alone tell the target.
    """
    sound = [row for row in rows if not row.failure]
    if not sound:
        return "No model could be fitted; the notes say why."
    if len(sound) == 1:
        text = f"{_name(sound[0])} is the only model that was fitted: there is nothing to compare it with."
    else:
        text = _against_baseline(sound, baseline) or _against_second(sound, n_rows)
    return text + _reservations(untried, revealing)


def _against_baseline(sound: list[Row], baseline: str) -> str:
    """Say that the columns do not help, where they do not; else nothing."""
    best, flat = sound[0], next((row for row in sound if row.name == baseline), None)
    if flat is None:
        return ""
    if flat is best:
        return f"{_name(best)} predicts unseen rows best: no model finds help in the columns."
    gap, error = -flat.elpd_difference, flat.elpd_difference_se
    if not (math.isfinite(gap) and math.isfinite(error)) or gap >= 2.0 * error:
        return ""
    return (
        f"The columns tell next to nothing that these rows show: {_name(best)} predicts unseen rows "
        f"best, by {number_with_error(gap, error)} nats over {_name(flat)}, which ignores them."
    )


def _against_second(sound: list[Row], n_rows: int) -> str:
    best, second = sound[:2]
    gap, error = abs(second.elpd_difference), second.elpd_difference_se
    if gap < 0.05 and not error >= 0.05:  # both would be printed as 0.0
        text = f"{_name(best)} and {_name(second)} predict unseen rows equally well."
    elif not math.isfinite(gap):
        text = f"{_name(best)} predicts unseen rows best: {_name(second)} held some of them impossible."
    else:
        text = (
            f"{_name(best)} predicts unseen rows best, by {number_with_error(gap, error)} nats over "
            f"{_name(second)}: {_meaning(gap, error, n_rows)}."
        )
    return text + _what_evidence_adds(best, second, sound)


def _meaning(gap: float, error: float, n_rows: int) -> str:
    how = strength(gap, error)
    if how == "not known":
        return "how sure that is cannot be told from so few rows"
    if how == "not decided":
        return f"the data do not decide between them{_rows_to_decide(gap, error, n_rows)}"
    if how == "weak":
        return f"a weak preference{_rows_to_decide(gap, error, n_rows)}"
    if gap < _SMALL:
        return "a small difference, which hardly matters for prediction"
    return f"a {how} difference, which new rows like these would hardly change"


def _rows_to_decide(gap: float, error: float, n_rows: int) -> str:
    """Say how many rows would bring the difference to two standard errors: both grow as N, √N."""
    if not (gap > 0.0 and error > 0.0):
        return ""
    needed = n_rows * (2.0 * error / gap) ** 2
    if needed > _MANY_TIMES * n_rows:
        return ", and for prediction it hardly matters which one is used"
    if n_rows < _FEW_ROWS:
        return ""
    return f"; about {_rounded(needed)} rows like these would settle it"


def _rounded(count: float) -> str:
    digits = max(0, math.floor(math.log10(count)) - 1)
    return f"{round(count, -digits):,.0f}"


def _what_evidence_adds(best: Row, second: Row, rows: Sequence[Row]) -> str:
    """Say what the evidence has to add: agreement, or another opinion."""
    group = [row for row in rows if row.of == best.of and row.measure == best.measure and row.of]
    if len(group) < 2:
        return ""
    likely = max(group, key=lambda row: row.probability)
    p = f"{likely.probability:.3f}" if likely.probability < 0.9995 else "more than 0.999"
    if likely is best and likely.probability >= 0.5:
        if second in group:
            return f" The evidence agrees (probability {p} among {len(group)} models)."
        return f" The evidence cannot compare these two; it prefers {_name(best)} in its group of {len(group)} ({p})."
    if likely.probability < _PREFERRED * best.probability:
        return ""
    return (
        f" The evidence prefers {_name(likely)} (probability {p} among {len(group)} "
        "models): it also counts how surprising the data were to the prior."
    )


def _reservations(untried: int, revealing: Sequence[str]) -> str:
    text = ""
    if untried:
        models = "1 model was" if untried == 1 else f"{untried} models were"
        text += f" {models} not tried and may do better."
    if revealing:
        names = " and ".join(repr(name) for name in revealing[:2])
        each = "tells" if len(revealing) == 1 else "each tell"
        text += f" But {names} alone {each} the target: is that known beforehand?"
    return text


def _name(row: Row) -> str:
    return f"“{row.name}”"
