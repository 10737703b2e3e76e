"""The table of a comparison: what it holds, how it prints, and the verdict it allows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np

from posteriori.drawing.html_table import html_table
from posteriori.numerics.evidence import LogEvidence
from posteriori.numerics.lazy import pandas
from posteriori.numerics.types import Array

__all__ = [
    "Comparison",
    "Row",
    "best_first",
    "ranked",
    "require_comparable",
    "row_of",
    "standard_error",
    "with_differences",
    "with_probabilities",
]


@dataclass(frozen=True)
class Row:
    """One model of a comparison.

    Attributes
    ----------
    name : str
    log_evidence : float
        NaN for a model without evidence.
    kind, of : str
        How the evidence was obtained, and of which data it is the probability.
    probability : float
        Posterior probability among the models whose evidence is of the same data.
    log_bayes_factor : float
        Log evidence minus that of the best model of the group.
    accuracy, complexity : float
        Expected log likelihood under the posterior, and what of it the evidence takes away.
    elpd, elpd_se : float
        Held-out log predictive density of all rows, and its standard error.
    elpd_difference, elpd_difference_se : float
        To the best model, row by row.
    method : str
        How it was held out; "psis of 2000 rows" has left out these and tells the others by them.
    waic : float
    effective_parameters : float
    prior_sensitivity : float
        Largest change of the log evidence when the scale of the prior is changed by ¼ to 4.
    seconds : float
        Time of the fit; NaN for a model that came fitted.
    pareto_shape : float
        Largest k̂ of importance sampling: above 0.7 it was not trusted.
    weight : float
        Share in the average of all models.
    measure : str
        "density" or "probability", which do not compare.
    blanks : str
        Why some columns are blank.
    failure : str
        Why a model could not be fitted or examined.
    errors : dict from str to float
        What was wrong with predictions of unseen rows, in measures that people know; frames have a column for each.
    """

    name: str
    log_evidence: float = float("nan")
    kind: str = ""
    of: str = ""
    probability: float = float("nan")
    log_bayes_factor: float = float("nan")
    accuracy: float = float("nan")
    complexity: float = float("nan")
    elpd: float = float("nan")
    elpd_se: float = float("nan")
    elpd_difference: float = float("nan")
    elpd_difference_se: float = float("nan")
    method: str = ""
    waic: float = float("nan")
    effective_parameters: float = float("nan")
    prior_sensitivity: float = float("nan")
    seconds: float = float("nan")
    pareto_shape: float = float("nan")
    weight: float = float("nan")
    measure: str = ""
    blanks: str = ""
    failure: str = ""
    errors: dict[str, float] = field(default_factory=dict, hash=False)


class Comparison:
    """Models ranked by what the data say: by evidence in one group, by held-out density across.

    Parameters
    ----------
    rows : sequence of Row
        Best first.
    remarks : sequence of str
        What happened on the way.
    """

    def __init__(self, rows: Sequence[Row], remarks: Sequence[str] = ()) -> None:
        self.rows = tuple(rows)
        self._remarks = tuple(remarks)

    @property
    def best(self) -> str:
        """Name of the model at the top."""
        if self.rows[0].failure:
            raise ValueError(
                f"no model could be fitted; {self.rows[0].name}: {self.rows[0].failure}"
            )
        return self.rows[0].name

    @property
    def probabilities(self) -> dict[str, float]:
        """Posterior probability of each model within its group."""
        return {row.name: row.probability for row in self.rows}

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def __getitem__(self, name: str) -> Row:
        for row in self.rows:
            if row.name == name:
                return row
        raise KeyError(f"no model {name!r}; there are {', '.join(r.name for r in self.rows)}")

    def to_frame(self) -> Any:
        """Return a pandas DataFrame, a row for each model, indexed by name."""
        columns = [f.name for f in fields(Row) if f.name not in ("name", "errors")]
        data = {c: [getattr(row, c) for row in self.rows] for c in columns}
        for error in dict.fromkeys(error for row in self.rows for error in row.errors):
            data[error] = [row.errors.get(error, float("nan")) for row in self.rows]
        return pandas.DataFrame(data, index=pandas.Index([r.name for r in self.rows], name="model"))

    def summary(self) -> Any:
        """Return :meth:`to_frame` with the columns that are known of some model: what there is to read."""
        frame = self.to_frame()
        return frame.loc[
            :, [(known := frame[c]).notna().any() and (known != "").any() for c in frame]
        ]

    # -- showing ---------------------------------------------------------------------------

    def _shown(self) -> tuple[list[str], list[list[str]]]:
        """Return titles and cells of the columns that have something to show."""
        columns = {
            "log evidence": [_number(r.log_evidence) for r in self.rows],
            "kind": [r.kind for r in self.rows],
            "of": [r.of for r in self.rows],
            "log BF": [_number(r.log_bayes_factor, 3) for r in self.rows],
            "probability": [_number(r.probability, 3) for r in self.rows],
            "accuracy": [_number(r.accuracy) for r in self.rows],
            "complexity": [_number(r.complexity) for r in self.rows],
            "held out": [_with_error(r.elpd, r.elpd_se) for r in self.rows],
            "behind": [_with_error(r.elpd_difference, r.elpd_difference_se) for r in self.rows],
            "by": [r.method for r in self.rows],
            "WAIC": [_number(r.waic) for r in self.rows],
            "parameters": [_number(r.effective_parameters, 3) for r in self.rows],
            "prior ±": [_number(r.prior_sensitivity, 3) for r in self.rows],
            "seconds": [_number(r.seconds, 2) for r in self.rows],
            "weight": [_number(r.weight, 2) for r in self.rows],
            "failed": ["see note" if r.failure else "" for r in self.rows],
        }
        shown = {title: cells for title, cells in columns.items() if any(cells)}
        return ["model", *shown], [
            [row.name, *(cells[i] for cells in shown.values())] for i, row in enumerate(self.rows)
        ]

    @property
    def notes(self) -> list[str]:
        """What to keep in mind when reading the table."""
        kinds = {row.kind for row in self.rows if row.kind}
        groups = {row.of for row in self.rows if row.of}
        found = list(self._remarks)
        if len(kinds) > 1:
            found.append(f"evidences are of different kinds ({', '.join(sorted(kinds))})")
        if len(groups) > 1:
            found.append(
                f"evidences answer different questions ({', '.join(sorted(groups))}): across these "
                "groups only the held-out density compares"
            )
        if len({row.measure for row in self.rows if row.measure}) > 1:
            names = ", ".join(row.name for row in self.rows if row.measure == "probability")
            found.append(
                f"{names}: probabilities of targets, which do not compare with the densities of the "
                "other models"
            )
        for row in self.rows:
            if row.method.endswith("-fold") and row.pareto_shape >= 0.7:
                found.append(
                    f"{row.name}: cross-validated, since importance sampling is not to be trusted "
                    f"(k̂ = {row.pareto_shape:.2f})"
                )
            if row.blanks:
                found.append(f"{row.name}: {row.blanks}")
            if row.failure:
                found.append(f"{row.name} failed: {row.failure}")
        return found

    def __repr__(self) -> str:
        titles, cells = self._shown()
        widths = [max(len(line[i]) for line in [titles, *cells]) for i in range(len(titles))]
        lines = [
            "  ".join(
                text.ljust(w) if i == 0 else text.rjust(w)
                for i, (text, w) in enumerate(zip(line, widths, strict=True))
            ).rstrip()
            for line in [titles, *cells]
        ]
        return "\n".join([*lines, *(f"note: {note}" for note in self.notes)])

    def _repr_html_(self) -> str:
        titles, cells = self._shown()
        return html_table(titles, cells, self.notes)


def _number(value: float, digits: int = 6) -> str:
    return "" if np.isnan(value) else f"{value:.{digits}g}"


def _with_error(value: float, error: float) -> str:
    if np.isnan(value):
        return ""
    return f"{value:.1f}" if np.isnan(error) else f"{value:.1f} ± {error:.1f}"


def standard_error(pointwise: Array) -> float:
    """Return the standard error of a sum of independent terms."""
    n = len(pointwise)
    return float(np.sqrt(n) * pointwise.std(ddof=1)) if n > 1 else float("nan")


def row_of(
    name: str, evidence: LogEvidence | None, pointwise: Array, *, of: str = "", **others: Any
) -> Row:
    """Return the row of a model with the held-out log densities of its rows, (N,)."""
    elpd = {"elpd": float(pointwise.sum()), "elpd_se": standard_error(pointwise)}
    row = Row(name, **{**elpd, **others})
    if evidence is None:
        return row
    return replace(
        row, log_evidence=float(evidence), kind=evidence.kind, of=of or evidence.question
    )


def with_probabilities(
    rows: Mapping[str, Row], evidences: Mapping[str, LogEvidence]
) -> dict[str, Row]:
    """Add posterior probabilities within each group of evidences of the same data."""
    rows = dict(rows)
    for group in {(rows[name].of, rows[name].measure) for name in evidences}:
        names = [name for name in evidences if (rows[name].of, rows[name].measure) == group]
        require_comparable({name: evidences[name] for name in names})
        logs = np.array([float(evidences[name]) for name in names])
        total = np.logaddexp.reduce(logs)
        for name, value in zip(names, logs, strict=True):
            rows[name] = replace(
                rows[name],
                probability=float(np.exp(value - total)),
                log_bayes_factor=float(value - logs.max()),
            )
    return rows


def require_comparable(evidences: Mapping[str, LogEvidence]) -> None:
    """Refuse evidences that answer the same question about different data."""
    first: dict[str, str] = {}
    for name, evidence in evidences.items():
        one = first.setdefault(evidence.question, name)
        if one != name and not evidences[one].comparable(evidence):
            raise ValueError(
                f"the evidences of {one} and {name} are of different data; fit both to the same rows "
                "and targets"
            )


def with_differences(
    rows: Mapping[str, Row],
    pointwise: Mapping[str, Array],
    errors: Mapping[str, float] | None = None,
) -> dict[str, Row]:
    """Add how far each model is behind the best, with the error of the paired difference.

    Probabilities and densities are apart; so are models whose data are divided into other rows.

    Parameters
    ----------
    rows : mapping from name to Row
    pointwise : mapping from name to (N,)
        Held-out log density of every row.
    errors : mapping from name to float, optional
        Standard errors of the sums from other sources than the choice of the data.
    """
    rows = dict(rows)
    held = {name: values for name, values in pointwise.items() if np.isfinite(values.sum())}
    for group in {(rows[name].measure, len(values)) for name, values in held.items()}:
        names = [n for n, values in held.items() if (rows[n].measure, len(values)) == group]
        best = max(names, key=lambda name: held[name].sum())
        for name in names:
            gap = held[name] - held[best]
            parts = [standard_error(gap), *((errors or {}).get(n, 0.0) for n in (name, best))]
            error = float("nan") if name == best else float(np.linalg.norm(parts))
            rows[name] = replace(
                rows[name], elpd_difference=float(gap.sum()), elpd_difference_se=error
            )
    return rows


def best_first(rows: Iterable[Row]) -> list[Row]:
    """Sort by held-out density; failures last."""
    return sorted(rows, key=lambda row: (bool(row.failure), -np.nan_to_num(row.elpd)))


def ranked(rows: list[Row]) -> list[Row]:
    """Sort by evidence within one group, by held-out density across groups; failures last."""
    sound = [row for row in rows if not row.failure]
    one_group = len({(row.of, row.measure) for row in sound}) == 1 and all(r.of for r in sound)

    def key(row: Row) -> tuple[bool, float, float]:
        evidence, held = (
            -np.nan_to_num(row.log_evidence, nan=-np.inf),
            -np.nan_to_num(row.elpd, nan=-np.inf),
        )
        first, second = (evidence, held) if one_group else (held, evidence)
        return bool(row.failure), float(first), float(second)

    return sorted(rows, key=key)
