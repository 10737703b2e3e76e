"""Where on the line a distribution has its probability: quantiles of it, or of its parts."""

from __future__ import annotations

from typing import Any

import numpy as np

from posteriori.numerics.types import Array

__all__ = ["landmarks"]

#: Probabilities whose quantiles divide the line: the middle, the shoulders and both tails.
_TAIL = (1e-15, 1e-9, 1e-5, 1e-2, 0.1, 0.25)
_LEVELS = np.array([0.0, *_TAIL, 0.5, *(1.0 - q for q in reversed(_TAIL)), 1.0])


def landmarks(d: Any) -> Array:
    """Return increasing points between which the density of a number is smooth and of one scale.

    They are quantiles from 0 to 1, those of every part where the distribution is a mixture, or
    the nodes of a table; the ends may be infinite.

    Examples
    --------
    >>> from posteriori import Normal
    >>> from posteriori.distributions import Mixture
    >>> landmarks(Normal(0.0, variance=1.0))[[0, 3, 7, 8]].round(4)
    array([   -inf, -4.2649,  0.    ,  0.6745])
    >>> len(landmarks(Mixture([0.5, 0.5], Normal([0.0, 9.0], variance=[1.0, 1.0]))))
    28
    """
    own = d.__dict__
    if "nodes" in own:
        return np.asarray(own["nodes"])
    parts = [own["components"]] if "components" in own else own.get("members", [d])
    found = [np.ravel(p.quantile(_LEVELS.reshape(-1, *(1,) * len(p.batch_shape)))) for p in parts]
    return np.unique(np.concatenate(found))
