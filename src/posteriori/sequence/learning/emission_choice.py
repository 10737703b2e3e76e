"""What states emit, chosen by name: from the words of a user to the model of an emission."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from posteriori.distributions.conjugate.pair import Pair, find_pair
from posteriori.distributions.counts.poisson import Poisson
from posteriori.distributions.joint.normal_inverse_wishart import NormalInverseWishart
from posteriori.distributions.joint.normal_wishart import NormalWishart
from posteriori.distributions.numbers.normal import Normal
from posteriori.distributions.numbers.student_t import StudentT
from posteriori.inference.clusters.rough_clusters import nearest_of, rough_centers
from posteriori.inference.latent.contract import Components
from posteriori.inference.sequences.dirichlet_rows import DirichletRows, Estimate
from posteriori.inference.sequences.emissions.column_emissions import ColumnEmission
from posteriori.inference.sequences.emissions.feature_emissions import (
    likely_members,
    weighed_members,
)
from posteriori.inference.sequences.emissions.member_emissions import MemberEmission
from posteriori.inference.sequences.emissions.mixture_emissions import MixtureEmission
from posteriori.inference.sequences.emissions.normal_emissions import (
    NormalEmission,
    normal_emission,
)
from posteriori.inference.sequences.emissions.regression_emissions import regression_emission
from posteriori.inference.sequences.emissions.separate_normals import separate_normals
from posteriori.inference.sequences.emissions.symbol_emissions import symbol_emission
from posteriori.numerics.types import Array
from posteriori.sequence.emission_densities import emission_densities
from posteriori.sequence.learning.emission_priors import (
    are_separate,
    columns_prior,
    counts_prior,
    rows_prior,
    symbols_prior,
)

__all__ = ["FAMILIES", "Choice", "choose_emission", "columns_by_family", "is_alike"]

#: Names of families.
FAMILIES = ("normal", "mvnormal", "categorical", "poisson", "student-t", "mixture")


class Choice(NamedTuple):
    """What a model of emissions is made of.

    Attributes
    ----------
    x : (T, D)
        Symbols as codes.
    regressors : (T, P) or None
        What rows regress on.
    frequency : (T,) or None
    n_states : int
    estimate : {"likelihood", "mode", "belief"}
    covariance : {"full", "spherical", "shared"}
    n_components : int
        Of the mixture of each state.
    symbols : mapping from column to its symbols
    rng : Generator
    """

    x: Array
    regressors: Array | None
    frequency: Array | None
    n_states: int
    estimate: Estimate
    covariance: str
    n_components: int
    symbols: Mapping[int, Any]
    rng: np.random.Generator

    @property
    def counted(self) -> Array:
        """How often each row counts, (T,)."""
        return np.ones(len(self.x)) if self.frequency is None else self.frequency


def columns_by_family(emission: Any, names: list[str]) -> dict[Any, list[int]]:
    """Return the columns of each family.

    Parameters
    ----------
    emission : str, class, or mapping from column to one of them
    names : D names of columns

    Raises
    ------
    ValueError
        When a column has no family, or a family has no name that is known.
    """
    if not isinstance(emission, Mapping):
        _check_family(emission)
        return {emission: list(range(len(names)))}
    places: dict[Any, list[int]] = {}
    for column, family in emission.items():
        _check_family(family)
        place = names.index(column) if column in names else column
        if not (isinstance(place, int) and 0 <= place < len(names)):
            raise ValueError(f"emission names column {column!r}, but X has columns {names}")
        places.setdefault(family, []).append(place)
    missing = set(range(len(names))) - {d for at in places.values() for d in at}
    if missing:
        raise ValueError(
            f"emission must name a family for every column; {names[min(missing)]} has none"
        )
    return {family: sorted(at) for family, at in places.items()}


def choose_emission(places: Mapping[Any, list[int]], prior: Any, choice: Choice) -> Components:
    """Return the model of the emissions of all columns."""
    if choice.regressors is not None:
        return _regression(places, prior, choice, choice.regressors)
    if len(places) == 1:
        (family,) = places
        return _one(family, prior, choice)
    priors = {} if prior is None else prior
    if not isinstance(priors, Mapping):
        raise TypeError(
            f"emission_prior must be a mapping from family to prior here, got {prior!r}"
        )
    named = {_name(family): (family, at) for family, at in places.items()}
    for name in priors:
        if name not in named:
            raise ValueError(
                f"emission_prior is for {name!r}, but columns are of {', '.join(named)}"
            )
    parts = {
        name: _one(family, priors.get(name), _part(choice, at))
        for name, (family, at) in named.items()
    }
    at_columns = {name: np.array(at) for name, (_, at) in named.items()}
    return ColumnEmission(parts, at_columns, lambda e: emission_densities(e, choice.n_states))


def is_alike(prior: Any) -> bool:
    """Tell whether all states have one prior of what they emit."""
    priors = prior.values() if isinstance(prior, Mapping) else [prior]
    rows = (one for one in priors if isinstance(one, NormalWishart | NormalInverseWishart))
    return not any(one.batch_shape for one in rows)


def _one(family: Any, prior: Any, choice: Choice) -> Components:
    """Return the model of columns of one family."""
    if choice.estimate == "belief" and (not isinstance(family, str) or family == "student-t"):
        raise ValueError(
            f'emission {_name(family)} has no conjugate prior: take method="em" instead of "variational"'
        )
    if choice.estimate == "likelihood" and prior is not None:
        raise ValueError('emission_prior is for method="variational" or "map"')
    makers = {
        "normal": _normal,
        "mvnormal": _mvnormal,
        "categorical": _categorical,
        "poisson": _poisson,
        "mixture": _mixture,
    }
    if family in makers:
        return makers[family](prior, choice)
    if prior is not None:
        raise ValueError(
            f"emission_prior has no meaning for members of {_name(family)}, which are fitted"
        )
    fitted = StudentT if family == "student-t" else family
    return MemberEmission(fitted, choice.x, choice.counted, choice.n_states)


def _regression(
    places: Mapping[Any, list[int]], prior: Any, choice: Choice, regressors: Array
) -> Components:
    if list(places) not in (["normal"], ["mvnormal"]) or choice.covariance != "full":
        raise ValueError(
            'lags and inputs to emissions are linear means, of emission "normal", or of "mvnormal" with '
            f'covariance="full"; got {", ".join(map(_name, places))} with covariance="{choice.covariance}". Model the '
            'logarithm of counts as "normal", or let inputs speak to transitions (inputs_to="transitions")'
        )
    if prior is not None:
        raise ValueError("emission_prior has no meaning with lags or inputs to emissions")
    return regression_emission(
        choice.x,
        regressors,
        choice.frequency,
        together="mvnormal" in places,
        estimate=choice.estimate,
    )


def _normal(prior: Any, choice: Choice) -> Components:
    x, frequency = choice.x, choice.frequency
    if choice.estimate == "likelihood":
        return normal_emission(x, frequency, "diagonal", choice.n_states, None, "likelihood")
    if are_separate(prior):
        if choice.estimate == "mode":
            raise ValueError('separate priors of mean and precision are for method="variational"')
        means, precisions = prior
        return separate_normals(means, precisions, x, frequency)
    told = columns_prior(prior, x, frequency)
    return weighed_members(
        _pair_with(Normal), told, x, frequency, at_mode=choice.estimate == "mode"
    )


def _mvnormal(prior: Any, choice: Choice) -> NormalEmission:
    x, frequency = choice.x, choice.frequency
    told = None if choice.estimate == "likelihood" else rows_prior(prior, x, frequency)
    return normal_emission(x, frequency, choice.covariance, choice.n_states, told, choice.estimate)


def _categorical(prior: Any, choice: Choice) -> Components:
    symbols = [choice.symbols[d] for d in range(choice.x.shape[1])]
    sizes = [len(one) for one in symbols]
    plain = all(one == tuple(range(len(one))) for one in symbols)
    return symbol_emission(
        choice.x,
        sizes,
        choice.n_states,
        symbols_prior(prior, sizes),
        choice.estimate,
        None if plain else symbols,
    )


def _poisson(prior: Any, choice: Choice) -> Components:
    x, frequency = choice.x, choice.frequency
    wrong = (x < 0) | (x != np.rint(x))
    wrong &= x == x
    if wrong.any():
        row, column = np.argwhere(wrong)[0]
        raise ValueError(
            f"X holds {x[row, column]:.6g} in row {row}: Poisson columns hold counts. Negative values "
            "in data, and fractions, have no model of this kind"
        )
    if choice.estimate == "likelihood":
        zeros = np.fmax.reduce(x, axis=0) == 0
        if zeros.any():
            raise ValueError(
                f"column {int(np.argmax(zeros))} of X holds no count above 0, and no rate is the most likely one; "
                "leave it out, or give the rates a prior"
            )
        return likely_members(Poisson, x, frequency)
    told = counts_prior(prior, x, frequency)
    return weighed_members(
        _pair_with(Poisson), told, x, frequency, at_mode=choice.estimate == "mode"
    )


def _mixture(prior: Any, choice: Choice) -> Components:
    k, m = choice.n_states, choice.n_components
    inside = _mvnormal(prior, choice._replace(n_states=k * m))
    alpha = 1.0 / m if choice.estimate == "belief" else 1.0  # as of mixtures
    weights = DirichletRows(np.full((k, m), alpha), choice.estimate)
    z = np.where(choice.x == choice.x, choice.x, np.nanmean(choice.x, axis=0))
    centers = rough_centers(z, m, choice.frequency, choice.rng, steps=10)
    near = np.eye(m)[nearest_of(z, centers)]
    return MixtureEmission(inside, weights, 0.8 * near + 0.2 / m, is_alike(prior))


def _pair_with(family: type) -> Any:
    def find(prior: Any) -> Pair:
        return find_pair(prior, family)

    return find


def _part(choice: Choice, at: list[int]) -> Choice:
    symbols = {i: choice.symbols[d] for i, d in enumerate(at) if d in choice.symbols}
    return choice._replace(x=np.ascontiguousarray(choice.x[:, at]), symbols=symbols)


def _check_family(family: Any) -> None:
    if isinstance(family, str) and family not in FAMILIES:
        raise ValueError(
            f"emission must be one of {', '.join(FAMILIES)}, or a class; got {family!r}. Labels and truth values "
            'are "categorical", counts "poisson", numbers "normal" or, with outliers, "student-t"'
        )
    if not isinstance(family, str) and not hasattr(family, "fit"):
        raise TypeError(
            f"emission must name a family, or be a class with fit(x, weights) and log_prob; got {family!r}"
        )


def _name(family: Any) -> str:
    return family if isinstance(family, str) else getattr(family, "__name__", repr(family))
