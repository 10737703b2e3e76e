"""The forms in which a normal message travels."""

import itertools

from posteriori import Normal

__all__ = ["FORMS", "PAIRS", "natural"]


def natural(m, v):
    return Normal.from_natural(m / v, 1.0 / v)


FORMS = {
    "moment": lambda m, v: Normal(m, variance=v),
    "precision": lambda m, v: Normal(m, precision=1.0 / v),
    "natural": natural,
}
PAIRS = list(itertools.product(FORMS, FORMS))
