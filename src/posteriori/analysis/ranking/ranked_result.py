"""Results that rank candidates: what they answer, the ranking as a table of texts, and the remarks that belong to it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from functools import cached_property, partial
from typing import Any

from posteriori.analysis.fitting.running import INTERRUPTED, OUT_OF_TIME, Outcome
from posteriori.analysis.ranking.ranked_outcomes import AVERAGE
from posteriori.analysis.report.figures import ranking_figures
from posteriori.analysis.saved.column_reader import common_facts
from posteriori.analysis.table.wording import (
    even_number,
    fixed_number,
    number_with_error,
    short_number,
)
from posteriori.analysis.tasks.contract import TaskResult
from posteriori.analysis.tasks.sections import Finding, Grid, Part, Words, aligned
from posteriori.selection.candidates import Candidate
from posteriori.selection.comparison import Row, best_first, with_differences

__all__ = [
    "RankedResult",
    "behind_best",
    "detailed_table",
    "explanations",
    "failures_of",
    "detailed_grid",
    "ranked_table",
    "ranking_grid",
    "ranking_table",
    "telling_decimals",
    "warnings_of",
]

#: Folds, unless others are asked for.
_FOLDS = 5

#: A header, and rows of as many texts.
Table = tuple[tuple[str, ...], list[tuple[str, ...]]]

#: What a column of a ranking tells of a model.
Tells = Callable[[Row], str]

#: Errors that are shown, under which heading, and how they are written.
_ERRORS: dict[str, tuple[str, Callable[[float], str]]] = {
    "RMSE": ("RMSE", even_number),
    "MAE": ("miss", even_number),
    "factor": ("factor", lambda value: f"×{short_number(value, 3)}"),
    "R²": ("R²", lambda value: fixed_number(value, 2)),
    "accuracy": ("right", lambda value: f"{100.0 * value:.1f} %"),
    "cost": ("cost", lambda value: even_number(value, 3)),
    "AUC": ("AUC", lambda value: fixed_number(value, 3)),
    "average precision": ("AP", lambda value: fixed_number(value, 3)),
    "recall": ("found", lambda value: f"{100.0 * value:.0f} %"),
    "precision": ("precision", lambda value: f"{100.0 * value:.0f} %"),
}

#: Those that stand in rankings only where they lead.
_OF_RARE_CLASSES = ("cost", "AUC", "average precision", "recall", "precision")

#: Stands behind an error that is larger than without any column.
_WORSE = "!"

#: What an evidence is of, in words.
_WORDS = {
    "y|X": "target given columns",
    "y|X (counts)": "counts given columns",
    "y|X, chosen scale": "target given columns, prior scale chosen by it",
    "y|X, prequential": "target given columns, each block of rows predicted by earlier ones",
    "y|X (counts), prequential": "counts given columns, each block of rows predicted by earlier ones",
    "X": "all columns",
    "X,y (numbers)": "target and columns",
    "X,y (codes)": "target and columns, with codes for categories",
}

#: What a report and a table leave out that takes further fits.
_FOR_THE_ASKING = (
    "--thorough (thorough=True) adds what takes further fits: the evidence of models without a prior, each "
    "block of rows predicted by earlier ones, and in the report how far priors move the evidences"
)

#: What the headings of the table for statisticians mean.
_HELD_OUT = (
    "Held out is the log density of all rows, each told by a model that was fitted without it, ± one standard error; "
    "behind is its difference to the best, row by row. The evidence is the log probability of the data under the "
    "model, prior and all, or a bound of it{}. The probability of a model assumes that all of its group were equally "
    "probable before."
)
_PREQUENTIAL = "; for a model without a prior, of kind “prequential”, that of each block of rows as the rows before it predict it"

#: What the headings of the short table mean.
_MEANINGS = {
    "score": "score: log density of a row that the model has not seen, on average",
    "behind": "behind: difference of all rows to the best",
    "miss": "miss: mean absolute error",
    "cost": "cost: of a row, on average",
    "AUC": "AUC: how often a row of the class is held more probable than another row (0.5 is chance)",
    "AP": "AP: average precision, over all thresholds",
    "found": "found: share of the class that is found, at the threshold that decides",
    "precision": "precision: share of alarms that are true",
    "factor": "factor: by which predictions are typically too large or too small",
    "weight": "weight: share in the average",
}

#: What stands in the place of numbers that were not waited for, and of the time they took.
_UNREACHED = {OUT_OF_TIME: ("not reached", ""), INTERRUPTED: ("interrupted", "")}


class RankedResult(TaskResult):
    """What a task has found that ranks candidates.

    Attributes
    ----------
    outcomes : dict of Outcome
        By name of the candidate, best first.
    ranking : Comparison
        The same order, with differences and evidences.
    metrics : mapping of dict
        Errors of what was not seen, by name of the candidate.
    problem : Problem or JointProblem
        Has the rows, ``X``; needed where the ranking is printed as that of rows.
    columns : sequence of Column
        All columns of the table.
    thorough : bool
        Whether all is told that there is.
    leading : tuple of str
        Errors that stand before the score in the ranking, in place of all others.
    """

    outcomes: Any
    ranking: Any
    metrics: Any
    problem: Any
    columns: Any
    thorough: Any = True
    leading: Any = ()

    def summary(self) -> Any:
        """Return the ranking as a DataFrame, a row for each model."""
        return self.ranking.summary()

    @property
    def kept(self) -> str:
        """The model to act on: the one at the top."""
        return str(self.ranking.best)

    @property
    def best_single(self) -> str:
        """The name of the best model that is no average."""
        single = (row.name for row in self.single_rows if not row.failure)
        return next(single, "") or self.ranking.best

    @cached_property
    def single_rows(self) -> list[Row]:
        """The ranking without the average, with differences to the best of these."""
        rows = {row.name: row for row in self.ranking.rows if row.name != AVERAGE}
        unseen = {name: self.outcomes[name].unseen for name in rows}
        said = {name: part.log_density for name, part in unseen.items() if part is not None}
        return best_first(with_differences(rows, said).values())

    @property
    def detailed_rows(self) -> list[Row]:
        """The ranking, with all evidences that were asked for."""
        return list(self.ranking.rows)

    @property
    def baseline(self) -> str:
        """The name of the model that ignores all columns; empty if there is none."""
        return ""

    def error_ratio(self, name: str) -> float:
        """How large the error of a model is beside that of the model without columns."""
        del name
        return 1.0

    def words(self, name: str) -> str:
        """What a model is called where it is shown."""
        return str(self.outcomes[name].candidate.words)

    @property
    def model_words(self) -> str:
        """What the model to act on is called where it is shown."""
        return self.words(self.kept)

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C ended the work before all models were fitted."""
        return any(outcome.failure == INTERRUPTED for outcome in self.outcomes.values())

    @property
    def failure(self) -> str:
        """Why no model was fitted; empty where one was."""
        why = self.ranking.rows[0].failure
        return f"no model was fitted: {why}" if why else ""

    def fitted_outcome(self, name: str) -> Outcome:
        """Return what became of a model, which must have been fitted."""
        outcome: Outcome = self.outcomes[name]
        if outcome.model is None:
            raise ValueError(f"{name!r} was not fitted: {outcome.failure}")
        return outcome

    def facts_of(self, outcome: Outcome, rows: int, seed: int) -> dict[str, Any]:
        """Return what a saved model says about itself."""
        evidence = outcome.evidence
        return {
            **common_facts(rows, seed),
            "prior": outcome.candidate.prior,
            "log_evidence": None if evidence is None else float(evidence),
            "kind": "" if evidence is None else evidence.kind,
            "held_out": self.ranking[outcome.name].elpd,
        }

    def ranking_findings(
        self, rows: Sequence[Row], more: Callable[[], Sequence[Part]]
    ) -> Iterator[Finding]:
        """Yield the ranking with its remarks, how far those rows are behind the best, and evidences, with more."""
        yield Finding("The ranking", lambda: [ranking_grid(self), *self.remarks()], "both")
        named = [replace(row, name=self.words(row.name)) for row in rows]
        yield Finding("The ranking", lambda: ranking_figures(named))
        said = Words(_HELD_OUT.format(_PREQUENTIAL if self.thorough else ""))
        yield Finding(
            "Evidences and technical names", lambda: [said, detailed_grid(self), *more()], "details"
        )

    def remarks(self) -> Iterator[Words]:
        """Yield what failed, and what warned."""
        yield from (Words(text, "yellow") for text in failures_of(self))
        yield from (Words(text, "dim") for text in warnings_of(self))

    def asked_again(self, suited: Iterable[Candidate]) -> dict[str, Any]:
        """Return the options that lead to the same fits, those that would not be guessed."""
        tried, folds = [row.name for row in self.single_rows], len(self.problem.splits)
        return {
            "seed": self.seed,
            "drop": [column.name for column in self.columns if column.kind == "dropped"],
            "models": None if set(tried) == {candidate.name for candidate in suited} else tried,
            "folds": None if folds == min(_FOLDS, len(self.problem.X)) else folds,
        }

    def data(self) -> dict[str, Any]:
        """Return the ranking, errors of unseen rows with it."""
        rows = [
            {**asdict(row), "words": self.words(row.name), "errors": self.metrics.get(row.name, {})}
            for row in self.ranking.rows
        ]
        return {"kept": self.kept, "ranking": rows}

    def __repr__(self) -> str:
        ranking = next(part for part in self.printed() if isinstance(part, Grid))
        return "\n".join([*aligned([ranking.header, *ranking.rows]), "", self.verdict])


def ranking_table(found: RankedResult) -> Table:
    """Return the ranking for everybody, best first: score of a row, errors, share in the average."""
    size = len(found.problem.X)
    decimals = telling_decimals([r.elpd / size for r in found.ranking.rows if not r.failure])
    columns = {
        **_error_columns(found, found.leading),
        "score": lambda row: fixed_number(row.elpd / size, decimals),
        "behind": behind_best,
        **_error_columns(found, _errors(found)),
        "weight": lambda row: f"{row.weight:.2f}" if row.weight > 0.0 else "",
    }
    return ranked_table(found, found.ranking.rows, columns)


def ranking_grid(found: RankedResult) -> Grid:
    """Return the ranking for everybody with what its headings mean."""
    return _explained(found, *ranking_table(found))


def detailed_grid(found: RankedResult) -> Grid:
    """Return the ranking for statisticians with what its headings mean."""
    return _explained(found, *detailed_table(found))


def _explained(found: RankedResult, header: tuple[str, ...], rows: list[tuple[str, ...]]) -> Grid:
    return Grid(header, rows, strong=True, remarks=partial(explanations, found, header))


def detailed_table(found: RankedResult) -> Table:
    """Return the ranking with evidences, their kinds and groups, and the time of all fits."""
    rows = found.detailed_rows
    letters, sizes = _group_letters(rows), Counter(row.of for row in rows)

    def evidence(row: Row) -> str:
        # where it is large, its decimals decide nothing
        decimals = 1 if abs(row.log_evidence) < 1e4 else 0
        return fixed_number(row.log_evidence, decimals) if row.of else ""

    def probability(row: Row) -> str:
        p = row.probability
        known = sizes[row.of] > 1 and not math.isnan(p)
        told = (f"{p:.3f}" if p >= 0.0005 else "<0.001") if known else ""
        return told + letters.get(row.of, "")

    columns = {
        "held out": lambda row: number_with_error(row.elpd, row.elpd_se),
        "behind": behind_best,
        **_error_columns(found, [*found.leading, *_errors(found)][:1]),
        "evidence": evidence,
        "kind": lambda row: row.kind,
        "prob.": probability,
        "seconds": lambda row: short_number(row.seconds, 2),
        "technical name": lambda row: row.name,
    }
    return ranked_table(found, rows, columns)


def ranked_table(found: RankedResult, rows: Sequence[Row], columns: Mapping[str, Tells]) -> Table:
    """Return a header, and of each model what its columns tell; of one that failed why, and what it took."""

    def texts(row: Row) -> list[str]:
        if not row.failure:
            return [tell(row) for tell in columns.values()]
        word, took = _UNREACHED.get(row.failure, ("failed", short_number(row.seconds, 2)))
        told = {next(iter(columns)): word, "seconds": took, "technical name": row.name}
        return [told.get(heading, "") for heading in columns]

    return ("model", *columns), [(found.words(row.name), *texts(row)) for row in rows]


def telling_decimals(values: Sequence[float]) -> int:
    """Return with how many decimals, from 2 to 4, most of several numbers differ from the largest.

    Examples
    --------
    >>> telling_decimals([-3.1, -3.4, -7.0]), telling_decimals([-0.0921, -0.0925, -3.0])
    (2, 4)
    """
    sound = sorted(value for value in values if math.isfinite(value))
    gap = sound[-1] - sound[-1 - math.ceil(len(sound) / 4)] if sound[1:] else 0.0
    return min(max(2, -math.floor(math.log10(gap))), 4) if gap > 0.0 else 2


def _errors(found: RankedResult) -> list[str]:
    """Return the errors that stand behind the score."""
    best = found.metrics.get(found.ranking.rows[0].name, {})
    shown = [name for name in best if name in _ERRORS and name not in _OF_RARE_CLASSES]
    return [] if found.leading else shown


def behind_best(row: Row) -> str:
    """Return how far a model is behind the best, with its error; nothing for the best."""
    if row.elpd_difference == 0.0:
        return ""
    return number_with_error(row.elpd_difference, row.elpd_difference_se)


def _error_columns(found: RankedResult, names: Sequence[str]) -> dict[str, Tells]:
    """Return columns of errors, the first with a mark where it is larger than without any column."""

    def column(name: str, write: Callable[[float], str]) -> Tells:
        def tell(row: Row) -> str:
            worse = name == names[0] and found.error_ratio(row.name) > 1.0
            return write(found.metrics[row.name][name]) + _WORSE * worse

        return tell

    return {_ERRORS[name][0]: column(name, _ERRORS[name][1]) for name in names}


def _group_letters(rows: Sequence[Row]) -> dict[str, str]:
    """Return a letter for each group of evidences that compare, if there is more than one."""
    groups = list(dict.fromkeys(row.of for row in rows if row.of))
    if len(groups) < 2:
        return dict.fromkeys(groups, "")
    return {group: f" {chr(ord('a') + k)}" for k, group in enumerate(groups)}


# -- remarks ---------------------------------------------------------------------------------------


def explanations(found: RankedResult, header: Sequence[str], hidden: Sequence[str]) -> list[str]:
    """Say what the headings mean, and which that matter a wider window would show."""
    shown = [name for name in header if name not in hidden]
    lines = ["; ".join(_MEANINGS[name] for name in shown if name in _MEANINGS)]
    if "held out" in header:
        letters = {} if "prob." in hidden else _group_letters(found.detailed_rows)
        told = [f"{letter.strip()}: {_WORDS.get(of, of)}" for of, letter in letters.items()]
        legend = f"evidence and prob. compare within a group only ({'; '.join(told)})"
        lines = [legend] * (len(told) > 1) + [_FOR_THE_ASKING] * (not found.thorough)
    names = [row.name for row in found.ranking.rows if not row.failure]
    if any(found.error_ratio(name) > 1.0 for name in names):
        flat = found.words(found.baseline)
        lines.append(f"{_WORSE} errs more than “{flat}”, which ignores all columns")
    missed = [name for name in hidden if name not in ("technical name", "seconds", "kind")]
    return [*lines, f"a wider window also shows: {', '.join(missed)}"] if missed else lines


def failures_of(found: RankedResult) -> list[str]:
    """Say why models have no result: a line for each reason."""
    return _together([(o.failure, o.candidate.words) for o in found.outcomes.values() if o.failure])


def warnings_of(found: RankedResult) -> list[str]:
    """Say what models warned of first: a line for each warning."""
    said = [(w, o.candidate.words) for o in found.outcomes.values() for w in o.warnings[:1]]
    return _together(said)


def _together(said: list[tuple[str, str]]) -> list[str]:
    """Return each text once, behind the names of all that it is about."""
    names: dict[str, list[str]] = {}
    for text, name in said:
        names.setdefault(text, []).append(name)
    return [f"{', '.join(about)}: {text}" for text, about in names.items()]
