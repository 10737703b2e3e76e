"""Small models that need variational inference, with data; sizes of plates differ on purpose."""

from typing import Any

from posteriori.modeling import Model
from tests.modeling.variational import (
    models_of_chains,
    models_of_hierarchies,
    models_of_mixtures,
    models_of_numbers,
    models_of_products,
)

__all__ = ["CASES", "NAMES", "by_name", "solve", "variational"]

CASES = [
    *models_of_hierarchies.CASES,
    *models_of_mixtures.CASES,
    *models_of_products.CASES,
    *models_of_chains.CASES,
    *models_of_numbers.CASES,
]
NAMES = [c.name for c in CASES]


def by_name(name: str) -> tuple[Model, dict[str, Any]]:
    """Return the model of a name and its data."""
    return next(c for c in CASES if c.name == name).make()


def variational(post: Any) -> Any:
    """Return the one variational result of a posterior."""
    (result,) = [block for block in post._solved.results if hasattr(block, "ascent")]
    return result


def solve(name: str, *, sweeps: int = 25) -> Any:
    """Return what a few sweeps find of members with data, made anew: a test may change it."""
    m, data = by_name(name)
    return variational(
        m.infer(data, callback=lambda i, _: i >= sweeps, n_init=1, method="vmp")
    ).informed
