"""Posteriors in files: marginals and evidence as plain text and numbers, never code.

A file is a title line with the version of the format, the SHA-256 of all that follows, one line of
JSON (families, shapes, evidence, fingerprint of the data) and then every number, eight bytes each,
in the order in which the JSON names them. What is read is checked before it is believed: the
numbers must fill the file exactly, families come from a fixed table, and their constructors check
the parameters.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import math
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from posteriori.numerics.evidence import Fingerprint, LogEvidence
from posteriori.numerics.types import Array

if TYPE_CHECKING:
    from posteriori.modeling.posterior import Posterior

__all__ = ["SavedPosterior", "load_posterior", "save_posterior"]

_TITLE = b"posteriori posterior"
_VERSION = 1
_FAMILIES = (
    "Bernoulli",
    "Beta",
    "Categorical",
    "Dirichlet",
    "Gamma",
    "InverseGamma",
    "InverseWishart",
    "MvNormal",
    "MvStudentT",
    "Normal",
    "Pareto",
    "StudentT",
    "Wishart",
)

#: Parameters that a constructor takes under another name.
_SPELLINGS = {("MvStudentT", "location"): "mean"}


class SavedPosterior:
    """The marginals and the evidence of a posterior, as they were saved.

    Every variable is an attribute; ``post["x"]`` reaches any name.
    """

    def __init__(self, marginals: Mapping[str, Any], log_evidence: LogEvidence) -> None:
        self._marginals = dict(marginals)
        self.log_evidence = log_evidence

    @property
    def names(self) -> tuple[str, ...]:
        """The variables."""
        return tuple(self._marginals)

    def __getitem__(self, name: str) -> Any:
        if name not in self._marginals:
            known = ", ".join(self._marginals)
            raise KeyError(f"the saved posterior has no variable {name!r}; it has {known}")
        return self._marginals[name]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        try:
            return self[name]
        except KeyError as error:
            raise AttributeError(error.args[0]) from None

    def __repr__(self) -> str:
        value = float(self.log_evidence)
        return f"SavedPosterior({', '.join(self._marginals)}; log_evidence={value:.6g})"


def save_posterior(posterior: Posterior, path: str | os.PathLike[str]) -> None:
    """Write the marginals of all informed variables and the evidence, whole or not at all.

    Raises
    ------
    TypeError
        When the family of a marginal has no form in the file.
    """
    evidence = posterior.log_evidence
    variables, numbers = [], []
    for name in posterior._results:
        marginal = posterior[name]
        family = type(marginal).__name__
        if family not in _FAMILIES:
            raise TypeError(f"the marginal of {name} cannot be saved: no form for {family}")
        parameters = _parameters(marginal)
        numbers += [np.ascontiguousarray(v, dtype="<f8") for v in parameters.values()]
        entry = {
            "name": name,
            "family": family,
            "parameters": {k: list(v.shape) for k, v in parameters.items()},
        }
        labels = getattr(marginal, "labels", None) if family == "Categorical" else None
        if labels is not None:
            entry["labels"] = [x.item() if isinstance(x, np.generic) else x for x in labels]
        variables.append(entry)
    fingerprint = evidence.fingerprint or Fingerprint()
    header = {
        "variables": variables,
        "log_evidence": float(evidence),
        "kind": evidence.kind,
        "of": evidence.of,
        "count": fingerprint.count,
        "checksum": fingerprint.checksum,
    }
    text = json.dumps(header, allow_nan=False).encode()
    body = b"".join([text, b"\n", *(v.tobytes() for v in numbers)])
    digest = hashlib.sha256(body).hexdigest().encode()
    _write(Path(path), b"%s %d\n%s\n%s" % (_TITLE, _VERSION, digest, body))


def load_posterior(path: str | os.PathLike[str]) -> SavedPosterior:
    """Read what :meth:`Posterior.save` wrote.

    Raises
    ------
    ValueError
        When the file is no saved posterior, of another version, damaged, or does not add up.
    """
    content = Path(path).read_bytes()
    title, _, rest = content.partition(b"\n")
    kind, _, version = title.rpartition(b" ")
    if kind != _TITLE:
        raise ValueError(f"{path} is not a saved posterior")
    if version != b"%d" % _VERSION:
        found = version[:20].decode(errors="replace")
        raise ValueError(f"{path} has format version {found}; this release reads {_VERSION}")
    digest, _, body = rest.partition(b"\n")
    if hashlib.sha256(body).hexdigest().encode() != digest:
        raise ValueError(f"{path} is damaged: its checksum does not match its content")
    text, _, numbers = body.partition(b"\n")
    try:
        return _read(json.loads(text), numbers)
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
    from posteriori import distributions

    shapes = [_shape(s) for entry in header["variables"] for s in entry["parameters"].values()]
    needed = 8 * sum(math.prod(shape) for shape in shapes)
    if needed != len(numbers):
        raise ValueError(f"its shapes need {needed} bytes, but it has {len(numbers)}")
    marginals: dict[str, Any] = {}
    start = 0
    for entry in header["variables"]:
        if entry["family"] not in _FAMILIES:
            raise ValueError(f"unknown family {entry['family']!r:.40}")
        family = getattr(distributions, entry["family"])
        parameters: dict[str, Array] = {}
        for key, shape in entry["parameters"].items():
            if key not in family._parameters:
                raise ValueError(f"{entry['family']} has no parameter {key!r:.40}")
            count = math.prod(shape)
            values = np.frombuffer(numbers, dtype="<f8", count=count, offset=start)
            parameters[key] = values.astype(np.float64).reshape(shape)[()]
            start += 8 * count
        extra = {"labels": entry["labels"]} if "labels" in entry else {}
        spelled = {_SPELLINGS.get((entry["family"], k), k): v for k, v in parameters.items()}
        checked = family(**spelled, **extra)
        exact = family._from(**parameters)  # constructors may round where they normalise
        if checked.batch_shape != exact.batch_shape:
            raise ValueError(f"the parameters of {entry['name']!r:.40} do not fit together")
        exact.__dict__.update({"_labels": checked.labels} if extra else {})
        marginals[str(entry["name"])] = exact
    return SavedPosterior(
        marginals,
        LogEvidence(
            float(header["log_evidence"]),
            kind=header["kind"],
            of=header["of"],
            fingerprint=Fingerprint(int(header["count"]), int(header["checksum"])),
        ),
    )


def _parameters(marginal: Any) -> dict[str, Array]:
    """Return the parameters as they were given, or as the constructor takes them."""
    given = marginal._given_parameters()
    family = type(marginal).__name__
    accepted = inspect.signature(type(marginal).__new__).parameters
    if not {_SPELLINGS.get((family, k), k) for k in given} <= accepted.keys():
        given = {name: getattr(marginal, name) for n in marginal._shown if (name := n.rstrip("="))}
    return {name: np.asarray(value) for name, value in given.items()}


def _shape(given: Any) -> tuple[int, ...]:
    if len(given) > 16 or not all(type(n) is int and n >= 0 for n in given):
        raise ValueError("a shape must be a short list of sizes")
    return tuple(given)


def _write(path: Path, content: bytes) -> None:
    """Write to a neighbour, then take the place of the file."""
    handle, draft = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, path)
    except BaseException:
        Path(draft).unlink(missing_ok=True)
        raise
