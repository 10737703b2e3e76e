"""The code that repeats an analysis, as its report shows it."""

from __future__ import annotations

from posteriori.analysis.fitting.findings import Findings
from posteriori.analysis.fitting.table_problem import suited_candidates

__all__ = ["code_of"]

#: Folds of ``compare``, unless it is asked for others.
_FOLDS = 5


def code_of(found: Findings, loading: str = "") -> str:
    """Return code that repeats an analysis.

    Parameters
    ----------
    found : Findings
    loading : str
        Code that makes ``table``; without it the code says what is needed.
    """
    options = "".join(f", {name}={value!r}" for name, value in _unusual_options(found).items())
    return (
        "from posteriori import compare\n"
        f"{loading or '# table: the data that were analysed'}\n\n"
        f"analysis = compare(table, {found.target.column.name!r}{options})\n"
        "analysis.ranking.to_frame()\n"
        "analysis.best  # the fitted pipeline\n"
        "# means and intervals, or probabilities of classes; of new rows as well\n"
        "analysis.model.predict(table.head())\n"
    )


def _unusual_options(found: Findings) -> dict[str, object]:
    """Return the arguments that differ from those that would be guessed."""
    options: dict[str, object] = {"task": found.target.task, "seed": found.seed}
    dropped = [column.name for column in found.columns if column.kind == "dropped"]
    if dropped:
        options["drop"] = dropped
    tried = [row.name for row in found.single_rows]
    suited = suited_candidates(found.target, found.problem, thorough=found.thorough)
    if set(tried) != {c.name for c in suited}:
        options["models"] = tried
    if found.thorough:
        options["thorough"] = True
    folds = len(found.problem.splits)
    if folds != min(_FOLDS, len(found.problem.y)):
        options["folds"] = folds
    return options
