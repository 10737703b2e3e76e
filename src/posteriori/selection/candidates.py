"""Which models a table is tried with: one line each.

A line names an estimator by its path, so that this room imports none of them; a room that has a
new model adds a line.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from importlib import import_module
from typing import Any, NamedTuple

__all__ = ["CANDIDATES", "Candidate", "candidates_for"]

_NOTHING: Mapping[str, Any] = {}


class Candidate(NamedTuple):
    """A model to try.

    Attributes
    ----------
    name : str
    task : {"regression", "classification", "density"}
    path : str
        Where the estimator is found, "posteriori.room.Name".
    parameters : mapping
        What it is constructed with.
    prior : str
        Its prior beliefs in words.
    cost : float
        Time of a fit beside that of the first model of the task; the cheap ones run first.
    encoding : {"groups", "numbers", "codes", "mixed", "nothing"}
        Whether the levels of categories have effects with a common spread, are indicator columns, or
        codes with missing entries left open, the most frequent ones or, "mixed", all of them beside
        numbers as they are; or whether the model ignores all columns.
    basis : str
        Path of functions of the columns that stand in their place; empty for the columns themselves.
    basis_parameters : mapping
    targets : {"any", "counts", "many zeros", "positive", "two classes"}
        What it can be fitted to; "many zeros" are counts with more of them than Poisson counts of the
        same mean have.
    most_inputs, most_rows : float
        Where it would take too long or too much memory; beyond, it runs only if it is asked for.
    title : str
        What it is, in words that need no course; the name where that says it.
    """

    name: str
    task: str
    path: str
    parameters: Mapping[str, Any] = _NOTHING
    prior: str = ""
    cost: float = 1.0
    encoding: str = "groups"
    basis: str = ""
    basis_parameters: Mapping[str, Any] = _NOTHING
    targets: str = "any"
    most_inputs: float = float("inf")
    most_rows: float = float("inf")
    title: str = ""

    @property
    def words(self) -> str:
        """What the model is called where it is shown."""
        return self.title or self.name

    def make(self) -> Any:
        """Return the estimator, unfitted."""
        return _named(self.path)(**self.parameters)

    def make_basis(self) -> Any:
        """Return the transformer of the columns, or None."""
        return _named(self.basis)(**self.basis_parameters) if self.basis else None


def _named(path: str) -> Any:
    room, _, name = path.rpartition(".")
    return getattr(import_module(room), name)


_UNIT = "each weight N(0, 1) on standardised columns, in units of the noise"
_LOGIT = "each weight N(0, 1) on standardised columns"
_WEAK = "weights N(0, 1) on standardised columns and targets, noise Inv-Gamma(1, 1/200)"
_LINEAR = "posteriori.regression.BayesianLinearRegression"

_AVERAGED: Mapping[str, Any] = {"search": "greedy", "max_depth": 8}
_FOREST: Mapping[str, Any] = {
    "n_estimators": 200,
    "min_samples_leaf": "learned",
    "random_state": 0,
}

#: All models of the command ``posteriori compare``, cheapest first within a task.
CANDIDATES: tuple[Candidate, ...] = (
    Candidate(
        "constant",
        "regression",
        _LINEAR,
        {"prior_precision": float("inf")},
        "one level for all rows, unit information around the mean",
        0.5,
        encoding="nothing",
    ),
    Candidate("linear", "regression", _LINEAR, prior=_UNIT, title="straight lines"),
    Candidate(
        "linear (learned scale)",
        "regression",
        _LINEAR,
        {"hyperparameters": "learned"},
        "one scale of all weights and one of the noise, chosen by evidence or, with few rows, integrated",
        1.5,
        title="straight lines (shrunken)",
    ),
    Candidate(
        "linear (sparse)",
        "regression",
        _LINEAR,
        {"hyperparameters": "sparse"},
        "a scale for each weight, chosen by evidence, useless columns pruned; with few rows sets of columns averaged",
        2.0,
        title="straight lines (few columns)",
    ),
    Candidate(
        "robust linear",
        "regression",
        "posteriori.regression.RobustRegression",
        prior="Student-t noise; " + _UNIT,
        cost=4.0,
        title="straight lines (robust)",
    ),
    Candidate(
        "splines",
        "regression",
        _LINEAR,
        {"hyperparameters": "learned"},
        "a smooth curve for every column of numbers, one scale of lines and one of what bends beside them, "
        "chosen by evidence or integrated",
        6.0,
        basis="posteriori.regression.SmoothBasis",
        basis_parameters={"n_knots": 5},
        most_inputs=60,
        title="smooth curves",
    ),
    Candidate(
        "quadratic",
        "regression",
        _LINEAR,
        {"hyperparameters": "learned"},
        "squares and products of the columns of numbers, one scale of lines and one of these, chosen by "
        "evidence or integrated",
        8.0,
        basis="posteriori.regression.PolynomialBasis",
        basis_parameters={"degree": 2},
        most_inputs=15,
        title="curves and products",
    ),
    Candidate(
        "Poisson",
        "regression",
        "posteriori.regression.PoissonRegression",
        prior=_LOGIT,
        cost=3.0,
        targets="counts",
        title="counts (Poisson)",
    ),
    Candidate(
        "negative binomial",
        "regression",
        "posteriori.regression.NegativeBinomialRegression",
        prior=_LOGIT + "; log dispersion N(0, 1)",
        cost=5.0,
        targets="counts",
        title="counts (negative binomial)",
    ),
    Candidate(
        "hurdle",
        "regression",
        "posteriori.regression.HurdleRegression",
        prior="whether there are any, and how many more than one: " + _LOGIT,
        cost=6.0,
        targets="many zeros",
        title="counts (many zeros)",
    ),
    Candidate(
        "zero-inflated",
        "regression",
        "posteriori.regression.ZeroInflatedRegression",
        prior="whether there can be any, and how many: " + _LOGIT + "; log dispersion N(0, 1)",
        cost=8.0,
        targets="many zeros",
        most_inputs=500,
        title="counts (zeros of two kinds)",
    ),
    Candidate(
        "log-linear",
        "regression",
        "posteriori.regression.LogLinearRegression",
        prior="of the logarithm: " + _UNIT,
        targets="positive",
        title="growth rates (log-linear)",
    ),
    Candidate(
        "mixture of experts",
        "regression",
        "posteriori.mixture.MixtureOfExperts",
        {"n_experts": 2, "random_state": 0},
        "two lines with own noise and a gate: " + _WEAK,
        10.0,
        encoding="numbers",
        most_inputs=30,
        most_rows=50_000,
        title="straight lines (two)",
    ),
    Candidate(
        "tree (averaged)",
        "regression",
        "posteriori.tree.BayesianTreeRegressor",
        _AVERAGED,
        "all prunings of a deep tree; leaves normal–gamma around the data's scale",
        6.0,
        encoding="mixed",
        title="one tree (all averaged)",
    ),
    Candidate(
        "random forest",
        "regression",
        "posteriori.ensemble.RandomForestRegressor",
        _FOREST,
        "none: deep trees, their errors measured on rows that each has not seen",
        10.0,
        encoding="mixed",
    ),
    Candidate(
        "boosted trees",
        "regression",
        "posteriori.ensemble.GradientBoostingRegressor",
        {"random_state": 0},
        "none: small steps, ended and widened by rows that each member has not seen",
        20.0,
        encoding="mixed",
    ),
    Candidate(
        "boosted counts",
        "regression",
        "posteriori.ensemble.GradientBoostingRegressor",
        {"family": "negative binomial", "random_state": 0},
        "none: small steps, ended and widened by rows that each member has not seen",
        15.0,
        encoding="mixed",
        targets="counts",
    ),
    Candidate(
        "normal",
        "density",
        _LINEAR,
        {"prior_precision": float("inf")},
        "unit information around the mean",
        encoding="nothing",
    ),
    Candidate(
        "log-normal",
        "density",
        "posteriori.regression.LogLinearRegression",
        {"prior_precision": float("inf")},
        "of the logarithm: unit information around the mean",
        encoding="nothing",
        targets="positive",
    ),
    Candidate(
        "Student t",
        "density",
        "posteriori.regression.RobustRegression",
        prior="unit information around the mean; log width N(0, 1)",
        cost=2.0,
        encoding="nothing",
    ),
    Candidate(
        "normal mixture",
        "density",
        "posteriori.mixture.MixtureOfExperts",
        {"n_experts": 2, "gate": "constant", "random_state": 0},
        "two normals: " + _WEAK,
        8.0,
        encoding="nothing",
        most_rows=100_000,
        title="two normals",
    ),
    Candidate(
        "Poisson",
        "density",
        "posteriori.regression.PoissonRegression",
        prior="log rate N(log mean, 1)",
        cost=2.0,
        encoding="nothing",
        targets="counts",
    ),
    Candidate(
        "negative binomial",
        "density",
        "posteriori.regression.NegativeBinomialRegression",
        prior="log rate N(log mean, 1); log dispersion N(0, 1)",
        cost=3.0,
        encoding="nothing",
        targets="counts",
    ),
    Candidate(
        "kernel density",
        "density",
        "posteriori.density.TargetKernelDensity",
        prior="none: a normal around every row, as wide as lets rows predict one another",
        cost=4.0,
        encoding="nothing",
    ),
    Candidate(
        "adaptive histogram",
        "density",
        "posteriori.density.TargetHistogram",
        prior="all ways to join 200 cells; masses Dirichlet(½, …, ½), also beyond the range of the rows",
        cost=3.0,
        encoding="nothing",
    ),
    Candidate(
        "class frequencies",
        "classification",
        "posteriori.classification.ClassFrequencies",
        prior="all class probabilities equally likely",
        cost=0.2,
        encoding="nothing",
    ),
    Candidate(
        "naive Bayes",
        "classification",
        "posteriori.classification.NaiveBayes",
        prior="a conjugate prior for every column in every class",
        cost=0.5,
        encoding="codes",
        title="independent columns (naive Bayes)",
    ),
    Candidate(
        "linear discriminant",
        "classification",
        "posteriori.classification.GaussianDiscriminant",
        {"covariance": "shared"},
        "normal–inverse-Wishart around the data's scale",
        0.5,
        title="normal classes of one shape",
        encoding="numbers",
        most_inputs=500,
    ),
    Candidate(
        "quadratic discriminant",
        "classification",
        "posteriori.classification.GaussianDiscriminant",
        {"covariance": "per-class"},
        "normal–inverse-Wishart around the data's scale, for each class",
        0.7,
        title="normal classes of any shape",
        encoding="numbers",
        most_inputs=500,
    ),
    Candidate(
        "logistic",
        "classification",
        "posteriori.classification.BayesianLogisticRegression",
        prior=_LOGIT,
        cost=1.0,
        title="straight boundaries (logistic)",
    ),
    Candidate(
        "logistic (learned)",
        "classification",
        "posteriori.classification.BayesianLogisticRegression",
        {"hyperparameters": "type-II"},
        "one scale of all weights, chosen by evidence",
        2.0,
        most_rows=10_000,  # with more, the scale of the prior hardly matters
        title="straight boundaries (shrunken)",
    ),
    Candidate(
        "probit",
        "classification",
        "posteriori.classification.ProbitRegression",
        prior=_LOGIT,
        cost=1.5,
        targets="two classes",
        title="straight boundaries (probit)",
    ),
    Candidate(
        "logistic splines",
        "classification",
        "posteriori.classification.BayesianLogisticRegression",
        prior="a smooth curve for every column of numbers; " + _LOGIT,
        cost=6.0,
        basis="posteriori.regression.SplineBasis",
        basis_parameters={"n_knots": 5},
        most_inputs=40,
        title="curved boundaries",
    ),
    Candidate(
        "splines (learned)",
        "classification",
        "posteriori.classification.BayesianLogisticRegression",
        {"hyperparameters": "type-II"},
        "a smooth curve for every column of numbers, one scale chosen by evidence",
        12.0,
        basis="posteriori.regression.SplineBasis",
        basis_parameters={"n_knots": 5},
        most_inputs=40,
        most_rows=10_000,
        title="curved boundaries (shrunken)",
    ),
    Candidate(
        "nearest neighbours",
        "classification",
        "posteriori.classification.KNeighborsClassifier",
        {"n_neighbors": 15},
        "one pseudo-count for every class",
        3.0,
        most_rows=50_000,
        encoding="numbers",
    ),
    Candidate(
        "tree (averaged)",
        "classification",
        "posteriori.tree.BayesianTreeClassifier",
        _AVERAGED,
        "all prunings of a deep tree; Dirichlet(½, …, ½) in leaves",
        6.0,
        encoding="mixed",
        title="one tree (all averaged)",
    ),
    Candidate(
        "random forest",
        "classification",
        "posteriori.ensemble.RandomForestClassifier",
        _FOREST,
        "none: deep trees, their votes weighed by rows that each has not seen",
        10.0,
        encoding="mixed",
    ),
    Candidate(
        "boosted trees",
        "classification",
        "posteriori.ensemble.GradientBoostingClassifier",
        {"random_state": 0},
        "none: small steps, ended by rows that each member has not seen",
        20.0,
        encoding="mixed",
    ),
)


def candidates_for(
    task: str,
    names: Sequence[str] = (),
    *,
    targets: Sequence[str] = (),
    inputs: int = 0,
    rows: int = 0,
    curved: bool = True,
) -> list[Candidate]:
    """Return the models to try, cheapest first.

    Parameters
    ----------
    task : str
    names : sequence of str
        Only these, however costly, by name or title; all that suit by default.
    targets : sequence of {"counts", "many zeros", "positive", "two classes"}
        What is known about the targets.
    inputs, rows : int
        Size of the data.
    curved : bool
        Whether some input has more than two values. Otherwise a function of it is a straight line,
        and a candidate with a basis would be the same model as one without.

    Raises
    ------
    ValueError
        When a name is unknown, or the model does not suit the targets.
    """
    known = {c.name: c for c in CANDIDATES if c.task == task}
    called = {c.words: c.name for c in known.values()}
    names = [called.get(name, name) for name in names]
    for name in names:
        if name not in known:
            near = get_close_matches(name, {**known, **called}, n=1, cutoff=0.6)
            hint = f"; did you mean {near[0]!r}?" if near else "."
            raise ValueError(f"no {task} model {name!r}{hint} There are: {', '.join(known)}")
        if not _suits(known[name], targets):
            raise ValueError(f"{name!r} is for {known[name].targets}, which the target is not")
    chosen = [known[name] for name in names] or [
        c
        for c in known.values()
        if _suits(c, targets)
        and inputs <= c.most_inputs
        and rows <= c.most_rows
        and (curved or not c.basis)
    ]
    return sorted(chosen, key=lambda c: c.cost)


def _suits(candidate: Candidate, targets: Sequence[str]) -> bool:
    return candidate.targets == "any" or candidate.targets in targets
