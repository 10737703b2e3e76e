"""The analysis again, in Python."""

from __future__ import annotations

from posteriori.analysis.analyzing import Analysis, suited_candidates

__all__ = ["code_of", "reading_code"]

_FOLDS = 5  # of analyze, unless asked for others


def code_of(analysis: Analysis, loading: str = "") -> str:
    """Return code that repeats an analysis.

    Parameters
    ----------
    analysis : Analysis
    loading : str
        Code that makes ``table``; without it the code says what is needed.
    """
    options = "".join(f", {name}={value!r}" for name, value in _options(analysis).items())
    return (
        "from posteriori import analyze\n"
        f"{loading or '# table: the data that were analysed'}\n\n"
        f"analysis = analyze(table, {analysis.target.column.name!r}{options})\n"
        "analysis.ranking.to_frame()\n"
        "analysis.best  # the fitted pipeline\n"
        "# means and intervals, or probabilities of classes; of new rows as well\n"
        "analysis.model.predict(table.head())\n"
    )


def reading_code(path: str, max_rows: int | None = None) -> str:
    """Return code that reads a table from a file as the command ``compare`` does."""
    limit = "" if max_rows is None else f", max_rows={max_rows}"
    said = "  # standard input" if path == "-" else ""
    return (
        "from posteriori.analysis import read_table\n\n"
        f"table = read_table({path!r}{limit}).frame{said}"
    )


def _options(analysis: Analysis) -> dict[str, object]:
    """Return the arguments that differ from those that would be guessed."""
    options: dict[str, object] = {"task": analysis.target.task, "seed": analysis.seed}
    dropped = [column.name for column in analysis.columns if column.kind == "dropped"]
    if dropped:
        options["drop"] = dropped
    tried = list(analysis.outcomes)
    if set(tried) != {c.name for c in suited_candidates(analysis.target, analysis.problem)}:
        options["models"] = tried
    folds = len(analysis.problem.splits)
    if folds != min(_FOLDS, len(analysis.problem.y)):
        options["folds"] = folds
    return options
