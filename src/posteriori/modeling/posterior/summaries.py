"""A posterior as a table, and as a notebook shows it: a row for each number, with its interval."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from posteriori.distributions.batches import take_members
from posteriori.distributions.counts.categorical import Categorical
from posteriori.distributions.entries import entries_of, place_names, summarize
from posteriori.distributions.summary_views import SUMMARY_TITLES, summary_rows
from posteriori.drawing.html_table import html_table
from posteriori.inference.weighing.chain_agreement import (
    effective_sample_size,
    potential_scale_reduction,
)
from posteriori.modeling.binding.constants import constants_of
from posteriori.numerics.validation import hint

if TYPE_CHECKING:
    from pandas import DataFrame

    from posteriori.modeling.posterior.posterior import Posterior

__all__ = ["html_of", "marginals", "summary"]

#: Rows that a notebook shows.
_SHOWN = 40


def summary(posterior: Posterior, names: Sequence[str], mass: float) -> DataFrame:
    """Return a row for each number of the unknowns, of all that the data tell of by default."""
    beliefs = posterior.marginals(*names)
    known = posterior._place_names
    table = summarize(beliefs, mass, labels=known)
    for name in beliefs:
        result = posterior._solved.by_name.get(name)
        chains = None if result is None else result.chains(name)
        if chains is not None and chains.dtype.kind == "f":
            each = np.moveaxis(chains.reshape(*chains.shape[:2], -1), 2, 0)
            rows = list(place_names(name, chains.shape[2:], known.get(name, ())))
            table.loc[rows, "ess"] = [effective_sample_size(one) for one in each]
            table.loc[rows, "r_hat"] = [potential_scale_reduction(one) for one in each]
    return table


def marginals(posterior: Posterior, names: Sequence[str]) -> dict[str, Any]:
    """Return the marginals of the unknowns, of all that the data tell of by default."""
    return {name: _asked(posterior, name) for name in names or _informed(posterior)}


def _asked(posterior: Posterior, name: str) -> Any:
    """Return the belief about an unknown, or about one of its entries, as ``theta[Ulm]`` names it."""
    whole, bracket, _ = name.partition("[") if isinstance(name, str) else (name, "", "")
    if not bracket or name in posterior._solved.bound.layouts:
        return posterior[name]
    belief, known = posterior[whole], posterior._place_names.get(whole, ())
    parts = belief if isinstance(belief, Categorical) else entries_of(belief)
    texts = [*place_names(whole, parts.batch_shape, known)]
    if name not in texts:
        meant = hint(name, texts) or f"; it has {texts[0]} to {texts[-1]}"
        raise KeyError(f"{whole} has no entry {name!r}{meant}")
    return take_members(parts, np.unravel_index(texts.index(name), parts.batch_shape))


def _informed(posterior: Posterior) -> list[str]:
    solved = posterior._solved
    shown = {*solved.by_name, *constants_of(solved.bound)}
    return [name for name in solved.bound.latent if name in shown]


def html_of(posterior: Posterior) -> str:
    """Return the evidence, the summary with a bar for each interval, and the cautions."""
    evidence = posterior.log_evidence
    notes = [*posterior.cautions, *([posterior.remedy] if posterior.remedy else [])]
    rows: list[list[str]] = []
    for name in _informed(posterior):
        table = summarize({name: posterior[name]}, labels=posterior._place_names)
        rows += _rows(table.head(_SHOWN - len(rows)))
        if len(rows) == _SHOWN:
            notes = ["more in post.summary()", *notes]
            break
    head = f"<p>Posterior: log evidence {float(evidence):.6g} ({evidence.kind})</p>"
    return head + html_table(SUMMARY_TITLES, rows, notes)


def _rows(table: DataFrame) -> list[list[str]]:
    """Return the cells of the entries of one unknown, whose bars share an axis."""
    if "state" in table:
        told = zip(table.index, table["state"], table["probability"], strict=True)
        return [[name, str(state), "", f"P = {p:.3g}", ""] for name, state, p in told]
    return summary_rows(table)
