"""A model to try: one line, which names an estimator by its path."""

from __future__ import annotations

from collections.abc import Mapping
from pkgutil import resolve_name
from typing import Any, NamedTuple

__all__ = ["Candidate"]

_NOTHING: Mapping[str, Any] = {}

#: Costs up to which a model is quick: straight lines and their like.
_QUICK = 5.0


class Candidate(NamedTuple):
    """A model to try.

    Attributes
    ----------
    name : str
    task : {"regression", "classification", "density", "joint", "segments", "series"}
        "density" is that of one column, "joint" that of all columns together; "segments" have hidden states;
        "series" go on.
    path : str
        Where the estimator is found, "posteriori.room.Name".
    parameters : mapping
        What it is constructed with.
    prior : str
        Its prior beliefs in words.
    cost : float
        Time of a fit beside that of the first model of the task; the cheap ones run first.
    encoding : {"groups", "numbers", "codes", "mixed", "nothing", "seasons"}
        Whether the levels of categories have effects with a common spread, are indicator columns, or
        codes with missing entries left open, the most frequent ones or, "mixed", all of them beside
        numbers as they are; or whether the model ignores all columns. Of a joint density, whether it
        takes codes and the kinds of the columns, or numbers as they are; gaps are left open in both. Of a
        series "seasons" where it takes those of the data.
    basis : str
        Path of functions of the columns that stand in their place; empty for the columns themselves.
    basis_parameters : mapping
    targets : {"any", "counts", "many zeros", "positive", "two classes"}
        What it can be fitted to; "many zeros" are counts with more of them than Poisson counts of the
        same mean have. Of a joint density "numbers", "several columns of numbers" or "numbers without gaps"; of
        segments "several numbers"; of series all of some words, with commas between them.
    suits : {"any", "skewed"}
        Where it has a chance; of other targets it runs only if it is asked for. "skewed" are positive numbers
        whose logarithms are more symmetric.
    most_inputs, most_rows : float
        Where it would take too long or too much memory; beyond, it runs only if it is asked for.
    most_predictors : float
        The same of rows times the classes beyond the first.
    fewest_rows : int
        With fewer it would promise too much, and runs only if it is asked for.
    thorough : bool
        Whether it costs much and seldom wins: it runs only if it, or a thorough comparison, is asked for.
    log_odds : float
        Prior log odds beside models that claim little; of a series claims are a level to return to, and growth
        in proportion.
    title : str
        What it is, in words that need no course; the name where that says it.
    """

    name: str
    task: str
    path: str
    parameters: Mapping[str, Any] = _NOTHING
    prior: str = ""
    cost: float = 1.0
    encoding: str = "groups"
    basis: str = ""
    basis_parameters: Mapping[str, Any] = _NOTHING
    targets: str = "any"
    suits: str = "any"
    most_inputs: float = float("inf")
    most_rows: float = float("inf")
    most_predictors: float = float("inf")
    fewest_rows: int = 0
    thorough: bool = False
    title: str = ""
    log_odds: float = 0.0

    @property
    def words(self) -> str:
        """What the model is called where it is shown."""
        return self.title or self.name

    @property
    def quick(self) -> bool:
        """Whether it is among the cheap ones, after which a first verdict is given."""
        return self.cost <= _QUICK

    def make(self) -> Any:
        """Return the estimator, unfitted."""
        return resolve_name(self.path)(**self.parameters)

    def make_basis(self) -> Any:
        """Return the transformer of the columns, or None."""
        return resolve_name(self.basis)(**self.basis_parameters) if self.basis else None
