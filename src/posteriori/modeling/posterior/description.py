"""Posteriors in words: each unknown variable with its mean and standard deviation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from posteriori.distributions.counts.bernoulli import Bernoulli
from posteriori.distributions.counts.categorical import Categorical
from posteriori.numerics.evidence import LogEvidence

__all__ = ["describe"]

#: Members of a batch that are shown.
_SHOWN = 4


def describe(
    title: str,
    marginals: Mapping[str, Any],
    evidence: LogEvidence,
    classes: Mapping[str, tuple[int, int]] | None = None,
    cautions: Iterable[str] = (),
) -> str:
    """Return a line for the evidence and one for each variable.

    Parameters
    ----------
    title : str
    marginals : mapping to distributions, or to words where there is none
    evidence : LogEvidence
    classes : mapping, optional
        How many classes of a variable are used, of how many.
    cautions : iterable of str, optional
        What not to trust.
    """
    lines = [f"{title}: log_evidence = {float(evidence):.6g} ({evidence.kind})"]
    rows = [(name, *_words(d)) for name, d in marginals.items()]
    widths = [max((len(row[i]) for row in rows), default=0) for i in range(2)]
    for name, family, text in rows:
        lines.append(f"  {name:<{widths[0]}}  {family:<{widths[1]}}  {text}".rstrip())
    for name, (used, count) in (classes or {}).items():
        lines.append(f"  {used} of {count} classes of {name} are used")
    lines += [f"  {text}" for text in cautions]
    return "\n".join(lines)


def _words(d: Any) -> tuple[str, str]:
    """Return the family with its shape, and the most important numbers."""
    if isinstance(d, str):
        return "", d
    shape = d.batch_shape + d.event_shape
    family = type(d).__name__ + (f" {shape}" if shape else "")
    if isinstance(d, Bernoulli):
        return family, "P(1) = " + _listed([f"{p:.4g}" for p in _first(d.probability)], shape)
    if isinstance(d, Categorical):
        return family, _most_probable(d)
    means = _first(d.mean)
    spreads = _first(_deviations(d, np.shape(d.mean)))
    texts = [
        f"{m:.4g}" + ("" if np.isnan(s) else f" ± {s:.4g}")
        for m, s in zip(means, spreads, strict=True)
    ]
    return family, _listed(texts, np.shape(d.mean))


def _deviations(d: Any, shape: tuple[int, ...]) -> Any:
    """Return standard deviations, NaN where they have no simple form."""
    try:
        variance = np.asarray(d.variance)
    except (AttributeError, NotImplementedError, TypeError):
        return np.full(shape, np.nan)
    return np.sqrt(variance) if variance.shape == shape else np.full(shape, np.nan)


def _most_probable(d: Any) -> str:
    """Return the most probable state of each member."""
    p = np.reshape(d.probabilities, (-1, np.shape(d.probabilities)[-1]))[:_SHOWN]
    states = np.argmax(p, axis=-1)
    names = states if d.labels is None else [d.labels[k] for k in states]
    texts = [f"P({k}) = {row[i]:.4g}" for k, i, row in zip(names, states, p, strict=True)]
    return _listed(texts, d.batch_shape)


def _first(values: Any) -> list[float]:
    return [float(v) for v in np.ravel(values)[:_SHOWN]]


def _listed(texts: list[str], shape: tuple[int, ...]) -> str:
    return ", ".join(texts) + (", …" if int(np.prod(shape)) > _SHOWN else "")
