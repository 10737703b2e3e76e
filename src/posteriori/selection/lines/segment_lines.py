"""Hidden states behind the rows of a table, cheapest first."""

from __future__ import annotations

from posteriori.selection.lines.candidate import Candidate

__all__ = ["SEGMENTS"]

_CHAIN = "posteriori.sequence.HiddenMarkovModel"

#: Segments last: a state is believed to stay as if it had been seen to four times more than to move to each other.
#: A few long series have few first rows, which say nothing of how many states there are: none is held back.
_STAYS = {"self_concentration": 4.0, "initial_concentration": 1.0}

SEGMENTS: tuple[Candidate, ...] = (
    Candidate(
        "independent columns",
        "segments",
        _CHAIN,
        _STAYS,
        "a conjugate prior for every column in every state; states rather stay than move",
        encoding="codes",
    ),
    Candidate(
        "related columns",
        "segments",
        _CHAIN,
        {"emission": "mvnormal", **_STAYS},
        "normal–Wishart around the data's scale in every state; states rather stay than move",
        1.5,
        encoding="codes",
        targets="several numbers",
        most_inputs=100,
    ),
)
