"""Hidden states behind the rows of a table, cheapest first."""

from __future__ import annotations

from posteriori.selection.lines.candidate import Candidate

__all__ = ["SEGMENTS"]

_CHAIN = "posteriori.sequence.HiddenMarkovModel"

SEGMENTS: tuple[Candidate, ...] = (
    Candidate(
        "independent columns",
        "segments",
        _CHAIN,
        prior="a conjugate prior for every column in every state; all transitions equally likely",
        encoding="codes",
    ),
    Candidate(
        "related columns",
        "segments",
        _CHAIN,
        {"emission": "mvnormal"},
        "normal–Wishart around the data's scale in every state; all transitions equally likely",
        1.5,
        encoding="codes",
        targets="several numbers",
        most_inputs=100,
    ),
)
