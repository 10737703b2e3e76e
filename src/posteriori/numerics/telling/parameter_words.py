"""Words of other libraries for parameters: an argument that is not known names the one that is meant.

``Normal(0, sigma=2)`` is refused with "say scale=", ``Gamma(2, scale=3)`` with "say rate=1/scale", and
``GaussianMixture(covariance_type="full")`` with "say covariance=".
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from functools import wraps
from typing import Any, TypeAlias

__all__ = ["OtherWords", "naming_parameters", "words_refused"]

#: What others call a parameter, and what it may be here: the first that is there. After "=" stands how
#: the number changes; an option of several words says what to do where no parameter is meant.
OtherWords: TypeAlias = Mapping[str, tuple[str, ...]]


#: How alike a word and a parameter must be for it to be a slip of the pen.
_NEAR = 0.7


def naming_parameters(make: Callable[..., Any], words: OtherWords) -> Callable[..., Any]:
    """Let a constructor say which of its parameters is meant by a word that it does not know."""
    signature = inspect.signature(make)
    known = signature.parameters

    @wraps(make)
    def made(owner: Any, *args: Any, **named: Any) -> Any:
        try:
            return make(owner, *args, **named)
        except TypeError:
            strange = [word for word in named if word not in known]
            name = owner.__name__ if isinstance(owner, type) else type(owner).__name__
            if strange:
                raise TypeError(words_refused(name, strange, list(known)[1:], words)) from None
            if missing := _missing(signature, (owner, *args), named):
                raise TypeError(f"{name} needs {', '.join(missing)}") from None
            raise

    return made


def _missing(
    signature: inspect.Signature, args: tuple[Any, ...], named: Mapping[str, Any]
) -> list[str]:
    """Return what a call leaves out, as it would be written; nothing where it has too much."""
    try:
        given = signature.bind_partial(*args, **named).arguments
    except TypeError:
        return []
    return [
        f"{p.name}=" if p.kind is p.KEYWORD_ONLY else p.name
        for p in signature.parameters.values()
        if p.default is p.empty
        and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
        and p.name not in given
    ]


def words_refused(
    owner: str, strange: Sequence[str], parameters: Sequence[str], words: OtherWords
) -> str:
    """Return what to say instead of words that a class does not know.

    Examples
    --------
    >>> words_refused("Line", ["sd"], ["slope", "scale"], {"sd": ("scale",)})
    "Line has no parameter 'sd': say scale="
    >>> words_refused("Line", ["colour"], ["slope", "scale"], {})
    "Line has no parameter 'colour': it has slope, scale"
    """
    mine = [name for name in parameters if name != "args"]
    meant = [_meant(word, mine, words) for word in strange]
    advice = [text for text in meant if " " in text]
    said = [text for text in meant if " " not in text]
    hints = [f"say {', '.join(said)}"] if said else []
    has = f"it has {', '.join(mine) or 'none'}"
    hint = "; ".join([*hints, *advice]) if all(meant) else has
    return f"{owner} has no parameter {', '.join(map(repr, strange))}: {hint}"


def _meant(word: str, parameters: Sequence[str], words: OtherWords) -> str:
    """Return the argument to give instead, or what to do; empty where none is known."""
    for option in words.get(word) or get_close_matches(word, parameters, 1, _NEAR):
        name, _, value = option.partition("=")
        if " " in name:
            return option
        if name in parameters:
            return f"{name}={value}"
    return ""
