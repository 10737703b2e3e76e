"""Posteriors in files: marginals and evidence as plain text and numbers, never code.

A file holds JSON (families, shapes, evidence, fingerprint of the data) and then every number, eight
bytes each, in the order in which the JSON names them. What is read is checked before it is believed:
the numbers must fill the file exactly, families come from a fixed table, and their constructors
check the parameters.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from posteriori import distributions
from posteriori.distributions.entries import summarize
from posteriori.modeling.binding.construction import constructor_parameters, spelling
from posteriori.modeling.posterior.description import describe
from posteriori.numerics.evidence import Fingerprint, LogEvidence
from posteriori.numerics.record_files import Format, read_record, write_record
from posteriori.numerics.types import Array
from posteriori.numerics.validation import SUM_TOLERANCE, meant_or_has

if TYPE_CHECKING:
    from pandas import DataFrame

    from posteriori.modeling.posterior.posterior import Posterior

__all__ = ["SavedPosterior", "load_posterior", "save_posterior"]

_FORMAT = Format("posteriori posterior", 1, "posterior")
_FAMILIES = (
    "Bernoulli",
    "Beta",
    "BetaBinomial",
    "Binomial",
    "Categorical",
    "Cauchy",
    "Dirichlet",
    "DirichletMultinomial",
    "Exponential",
    "Gamma",
    "Geometric",
    "HalfCauchy",
    "HalfNormal",
    "HalfStudentT",
    "InverseGamma",
    "InverseWishart",
    "Laplace",
    "LogNormal",
    "Multinomial",
    "MvNormal",
    "MvStudentT",
    "NegativeBinomial",
    "Normal",
    "Numeric",
    "NumericCounts",
    "Pareto",
    "PointMass",
    "Poisson",
    "StudentT",
    "TruncatedNormal",
    "Uniform",
    "VonMises",
    "Wishart",
)
#: Families that say how many axes one draw has.
_OF_ANY_SHAPE = ("Empirical", "PointMass", "UnivariateEmpirical")
_MIXTURES = ("Mixture", "UnivariateMixture")


class SavedPosterior:
    """The marginals and the evidence of a posterior, as they were saved.

    Every variable is an attribute; ``post["x"]`` reaches any name.

    Attributes
    ----------
    log_evidence : LogEvidence
    left_out : mapping
        Predicted variables whose distribution could not be written, with the reason.
    cautions : tuple of str
        What not to trust, as the posterior knew it when it was saved.
    """

    def __init__(
        self,
        marginals: Mapping[str, Any],
        log_evidence: LogEvidence,
        left_out: Mapping[str, str] | None = None,
        cautions: Iterable[str] = (),
        place_names: Mapping[str, Any] | None = None,
    ) -> None:
        self._place_names = dict(place_names or {})
        self._marginals = dict(marginals)
        self.log_evidence = log_evidence
        self.left_out = dict(left_out or {})
        self.cautions = tuple(cautions)

    @property
    def names(self) -> tuple[str, ...]:
        """The variables."""
        return tuple(self._marginals)

    def marginals(self, *names: str) -> dict[str, Any]:
        """Return the distributions of variables by name, by default of all."""
        return {name: self[name] for name in names or self._marginals}

    def summary(self, *names: str, mass: float = 0.9) -> DataFrame:
        """Return a table with a row for each number, as :meth:`Posterior.summary` does."""
        return summarize(self.marginals(*names), mass, labels=self._place_names)

    def reliability(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Refuse: model and data are not in the file."""
        raise TypeError(
            "a saved posterior has neither model nor data to weigh its draws by: ask the posterior "
            "for its reliability() before it is saved; repr() then says what was found"
        )

    def __getitem__(self, name: str) -> Any:
        if name in self.left_out:
            raise KeyError(f"{name} was not saved: {self.left_out[name]}")
        if name not in self._marginals:
            meant = meant_or_has(name, self._marginals)
            raise KeyError(f"the saved posterior has no variable {name!r}{meant}")
        return self._marginals[name]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        try:
            return self[name]
        except KeyError as error:
            raise AttributeError(error.args[0]) from None

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._marginals]

    def __repr__(self) -> str:
        return describe(
            "SavedPosterior", self._marginals, self.log_evidence, cautions=self.cautions
        )


def save_posterior(posterior: Posterior, path: str | os.PathLike[str]) -> None:
    """Write the marginals of all unknown variables and the evidence, whole or not at all.

    Variables that no observation depends on are predicted; those that have no closed form are
    left out, and the file says so.

    Raises
    ------
    TypeError
        When the family of an informed variable's marginal has no form in the file.
    """
    evidence = posterior.log_evidence
    variables: list[dict[str, Any]] = []
    numbers: list[Array] = []
    left_out: dict[str, str] = {}
    for name in posterior._solved.bound.latent:
        try:
            entry, values = _write_marginal(posterior[name])
        except TypeError as error:
            if name in posterior._solved.by_name:
                raise TypeError(f"the marginal of {name} cannot be saved: {error}") from None
            left_out[name] = str(error)
            continue
        variables.append({"name": name, **entry})
        numbers += values
    fingerprint = evidence.fingerprint or Fingerprint()
    header = {
        "variables": variables,
        "left_out": left_out,
        "place_names": _written_names(posterior._place_names),
        "cautions": posterior.cautions,
        "log_evidence": float(evidence),
        "kind": evidence.kind,
        "error": None if evidence.error is None else float(evidence.error),
        "of": evidence.of,
        "namings": evidence.namings,
        "count": fingerprint.count,
        "checksum": fingerprint.checksum,
    }
    write_record(path, _FORMAT, header, [v.tobytes() for v in numbers])


def _written_names(known: Mapping[str, Any]) -> dict[str, Any]:
    """Return the names of places as texts."""
    return {
        name: [None if one is None else [str(part) for part in one] for one in names]
        for name, names in known.items()
    }


def _write_marginal(marginal: Any) -> tuple[dict[str, Any], list[Array]]:
    """Return the description of a distribution, and its numbers in order."""
    family = type(marginal).__name__
    if family in _MIXTURES:
        weights = np.ascontiguousarray(marginal.probabilities, dtype="<f8")
        components, numbers = _write_marginal(marginal.components)
        shapes = {"probabilities": list(weights.shape)}
        mixture = {"family": "Mixture", "parameters": shapes, "components": components}
        return mixture, [weights, *numbers]
    if family not in (*_FAMILIES, *_OF_ANY_SHAPE):
        raise TypeError(f"no form for {family}")
    parameters = constructor_parameters(marginal)
    parameters.pop("event_ndim", None)  # it stands with the shapes
    shapes = {k: list(v.shape) for k, v in parameters.items()}
    entry: dict[str, Any] = {"family": family, "parameters": shapes}
    labels = getattr(marginal, "labels", None) if family == "Categorical" else None
    if labels is not None:
        entry["labels"] = [x.item() if isinstance(x, np.generic) else x for x in labels]
    if family in _OF_ANY_SHAPE:
        entry["event_ndim"] = len(marginal.event_shape)
    values = [np.ascontiguousarray(v, dtype="<f8") for v in parameters.values()]
    return entry, values


def load_posterior(path: str | os.PathLike[str]) -> SavedPosterior:
    """Read what :meth:`Posterior.save` wrote.

    Raises
    ------
    ValueError
        When the file is no saved posterior, of another version, damaged, or does not add up.
    """
    header, numbers = read_record(path, _FORMAT)
    try:
        return _read(header, numbers)
    except (
        ValueError,
        TypeError,
        KeyError,
        AttributeError,
        RecursionError,
        OverflowError,
    ) as error:
        raise ValueError(f"{path} does not hold a posterior: {error}") from None


def _read(header: Any, numbers: bytes) -> SavedPosterior:
    shapes = [s for entry in header["variables"] for s in _shapes(entry)]
    needed = 8 * sum(math.prod(shape) for shape in shapes)
    if needed != len(numbers):
        raise ValueError(f"its shapes need {needed} bytes, but it has {len(numbers)}")
    values = iter(_arrays(shapes, numbers))
    marginals = {str(e["name"]): _read_marginal(e, values) for e in header["variables"]}
    left_out = {str(k): str(v) for k, v in header.get("left_out", {}).items()}
    evidence = LogEvidence(
        float(header["log_evidence"]),
        kind=header["kind"],
        of=header["of"],
        namings=header.get("namings", "all"),
        error=None if header.get("error") is None else float(header["error"]),
        fingerprint=Fingerprint(int(header["count"]), int(header["checksum"])),
    )
    cautions = [str(text) for text in header.get("cautions", [])]
    known = _read_names(header.get("place_names", {}), marginals)
    return SavedPosterior(marginals, evidence, left_out, cautions, known)


def _read_names(known: Any, marginals: Mapping[str, Any]) -> dict[str, Any]:
    """Return the names of places that were written; they must be as many as there are places."""
    for name, names in known.items():
        shape = marginals[name].batch_shape + marginals[name].event_shape
        sizes = [n if one is None else len(one) for n, one in zip(shape, names, strict=True)]
        texts = [part for one in names if one is not None for part in one]
        if tuple(sizes) != shape or not all(isinstance(part, str) for part in texts):
            raise ValueError(f"the names of the places of {name} do not fit")
    return {str(name): tuple(names) for name, names in known.items()}


def _shapes(entry: Any) -> list[tuple[int, ...]]:
    own = [_shape(s) for s in entry["parameters"].values()]
    return own + (_shapes(entry["components"]) if "components" in entry else [])


def _arrays(shapes: list[tuple[int, ...]], numbers: bytes) -> Iterator[Array]:
    start = 0
    for shape in shapes:
        count = math.prod(shape)
        values = np.frombuffer(numbers, dtype="<f8", count=count, offset=start)
        yield values.astype(np.float64).reshape(shape)[()]
        start += 8 * count


def _read_marginal(entry: Any, values: Iterator[Array]) -> Any:
    """Build a distribution; what its constructor refuses, the file cannot hold."""
    name = entry["family"]
    if name == "Mixture":
        weights = {key: next(values) for key in entry["parameters"]}
        return distributions.Mixture(
            **weights, components=_read_marginal(entry["components"], values)
        )
    if name not in (*_FAMILIES, *_OF_ANY_SHAPE):
        raise ValueError(f"unknown family {name!r:.40}")
    family = getattr(distributions, name.removeprefix("Univariate"))
    parameters: dict[str, Array] = {}
    for key in entry["parameters"]:
        if key not in family._parameters:
            raise ValueError(f"{name} has no parameter {key!r:.40}")
        parameters[key] = next(values)
    if name in _OF_ANY_SHAPE:
        return family(**parameters, event_ndim=int(entry["event_ndim"]))
    extra = {"labels": entry["labels"]} if "labels" in entry else {}
    spelled = {spelling(name, k): v for k, v in parameters.items()}
    checked = family(**spelled, **extra)
    exact = family._from(**parameters)  # constructors may round where they normalise
    if checked.batch_shape != exact.batch_shape or not _alike(checked, parameters):
        raise ValueError(f"the parameters of a {name} do not fit together")
    exact.__dict__.update({"_labels": checked.labels} if extra else {})
    return exact


def _alike(checked: Any, parameters: Mapping[str, Array]) -> bool:
    """Tell whether a constructor took parameters as they are, but for rounding."""
    taken = checked._given_parameters()
    return taken.keys() == parameters.keys() and all(
        np.allclose(taken[key], value, rtol=SUM_TOLERANCE, atol=0.0)
        for key, value in parameters.items()
    )


def _shape(given: Any) -> tuple[int, ...]:
    if len(given) > 16 or not all(type(n) is int and n >= 0 for n in given):
        raise ValueError("a shape must be a short list of sizes")
    return tuple(given)
