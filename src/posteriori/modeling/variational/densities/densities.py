r"""The log density of each family as a formula in the statistics of what is unknown.

.. math:: \ln N(x \mid m, \lambda^{-1}) = -\tfrac12\lambda (x-m)^2 + \tfrac12\ln\lambda - \tfrac12\ln 2\pi

is linear in :math:`\lambda` and :math:`\ln\lambda` and quadratic in :math:`x - m`, whatever these are
made of. Each family needs a few such lines; those whose parameters are known need none.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from functools import partial, reduce
from typing import Any

import numpy as np

from posteriori.distributions.counts.bernoulli import Bernoulli
from posteriori.distributions.counts.binomial import Binomial
from posteriori.distributions.counts.categorical import Categorical
from posteriori.distributions.counts.multinomial import Multinomial
from posteriori.distributions.counts.poisson import Poisson
from posteriori.distributions.exponential import ExponentialFamily
from posteriori.distributions.numbers.beta import Beta
from posteriori.distributions.numbers.exponential_distribution import Exponential
from posteriori.distributions.numbers.gamma import Gamma
from posteriori.distributions.numbers.half_normal import HalfNormal
from posteriori.distributions.numbers.inverse_gamma import InverseGamma
from posteriori.distributions.numbers.normal import Normal
from posteriori.distributions.vectors.dirichlet import Dirichlet
from posteriori.distributions.vectors.inverse_wishart import InverseWishart
from posteriori.distributions.vectors.mvnormal import MvNormal
from posteriori.distributions.vectors.wishart import Wishart
from posteriori.modeling.binding.bound import GAUSSIAN, Bound, BoundFactor
from posteriori.modeling.binding.construction import member
from posteriori.modeling.binding.labelled import Axis, Lookup, Switch, Table, gather, spread
from posteriori.modeling.binding.places import add_tables, same_places
from posteriori.modeling.binding.products import (
    Product,
    contract_tables,
    merged,
    with_labels,
    without_idle_switches,
)
from posteriori.modeling.forms.state_tables import (
    DISCRETE,
    number_of_states,
    require_constant_states,
    require_rows,
)
from posteriori.modeling.variational.densities.factor_view import FactorView
from posteriori.modeling.variational.densities.law import LAWS, Law, register_law
from posteriori.modeling.variational.densities.monomials import Formula, Monomial, safe_log, total
from posteriori.modeling.variational.densities.number_functions import log_prior, why_no_numbers
from posteriori.numerics.lazy import special
from posteriori.numerics.linalg import explicit_inverse
from posteriori.numerics.rank import is_definite
from posteriori.numerics.special import LOG_2PI

__all__ = ["log_density", "row_density", "why_not_variational"]

#: Positive parameters. Exponents that are smaller vanish in a − 1; inverses of smaller sizes, or their squares, overflow.
_SMALLEST = dict.fromkeys(("shape", "concentration", "a", "b"), 1e-15) | {
    "rate": 1e-300,
    "variance": 1e-300,
    "cov": 1e-300,
    "scale": 1e-150,
}


def log_density(factor: BoundFactor, bound: Bound, source: int) -> list[Monomial]:
    """Return ln p(child | parents), summed over the rows, as monomials.

    Raises
    ------
    TypeError
        When the density is no such sum; the message names the parameter.
    ValueError
        When a known parameter is too small for floating point.
    """
    _require_noticeable(factor)
    return total(row_density(factor, bound), factor.rows, source)


def row_density(factor: BoundFactor, bound: Bound) -> list[Product]:
    """Return ln p(child | parents) of every row, as products that are added."""
    _require_states(factor, bound)
    view, law = FactorView(factor, bound), LAWS.get(factor.family)
    written = _of_known_parameters if law is None or law.log_density is None else law.log_density
    found = written(view)
    if not isinstance(found, Formula):
        raise ValueError(
            f"the law of {factor.family.__name__} must return a formula made of what its view has, "
            f"got {found!r}"
        )
    products = found.products
    if view.mask is not None:
        products = tuple(Product((view.mask, *p.tables), p.accesses) for p in products)
    for product in products:
        _require_conjugate(product, factor, bound)
    return [without_idle_switches(product) for product in products]


def _require_noticeable(factor: BoundFactor) -> None:
    """Refuse known parameters so small that nothing is left of them after rounding."""
    for key, poly in factor.parameters.items():
        smallest = _SMALLEST.get(key)
        if smallest is None or not poly.is_known:
            continue
        for table, _ in poly.terms:
            positive = table.values[table.values > 0.0]
            if positive.size and positive.min() < smallest:
                raise ValueError(
                    f"the {key} of {factor.name} is {positive.min():.3g}, too small for floating point: "
                    f"use at least {smallest:g}, or units in which numbers are near 1"
                )


def _require_states(factor: BoundFactor, bound: Bound) -> None:
    """Refuse tables and steps that do not fit the states of the variables that index them."""
    discrete = {a.name for a in factor.accesses if bound.families[a.name] in DISCRETE}
    if factor.family in DISCRETE:
        discrete.add(factor.name)
    if not discrete:
        return
    sizes = {f.name: number_of_states(f) for f in reversed(bound.factors) if f.name in discrete}
    for access in factor.accesses:
        if access.name in sizes:
            require_rows(factor, access, sizes[access.name])
    if factor.name in sizes:
        require_constant_states(factor, sizes[factor.name], number_of_states(factor))


def _require_conjugate(product: Product, factor: BoundFactor, bound: Bound) -> None:
    """Refuse powers that beliefs have no closed expectation of."""
    names = [a.name for a in product.accesses if not isinstance(a, Switch)]
    for name in set(names):
        if bound.families[name] in GAUSSIAN:
            few = names.count(name) <= 2
        else:
            few = names.count(name) == 1 or _is_of_one_number(product, name, bound)
        if not few:
            raise TypeError(
                f"{factor.name} depends on {name} in several ways at once, so that its belief "
                "would leave its family"
            )


def _is_of_one_number(product: Product, name: str, bound: Bound) -> bool:
    """Tell whether all that a product sees of a variable is one number of it."""
    first, *others = [a for a in product.accesses if a.name == name]
    same = all(same_places(first.places, other.places) for other in others)
    return same and why_no_numbers(bound, name) is None


def why_not_variational(bound: Bound, name: str) -> str | None:
    """Say why a variable cannot be a block of its own; None when it can."""
    family = bound.families[name]
    learned = [family for family, law in LAWS.items() if law.statistics]
    families = (*GAUSSIAN, *DISCRETE, *learned)
    reason = None if family in families else why_no_numbers(bound, name)
    if reason is None:
        return None
    known = ", ".join(f.__name__ for f in families)
    return (
        f"{reason}; unknown variables must be one of {known}, or numbers with another prior that allows "
        "no negative ones (HalfNormal, HalfCauchy, HalfStudentT, LogNormal, Uniform, …)"
    )


# -- laws ------------------------------------------------------------------------------------


def _normal(view: FactorView) -> Formula:
    """−½ λ (x − m)² + ½ ln λ − ½ ln 2π."""
    weight, log_weight = _scalar_precision(view)
    if view.has("weight"):  # of a row of a Student t variable
        weight, log_weight = weight * view.value("weight"), log_weight + view.log("weight")
    return -0.5 * _residual(view).square() * weight + 0.5 * log_weight - 0.5 * LOG_2PI


def _mvnormal(view: FactorView) -> Formula:
    """−½ (x − m)ᵀ Λ (x − m) + ½ ln|Λ| − ½ D ln 2π."""
    (event,) = view.factor.events
    twin = Axis("twin", event.size)
    weight, log_weight = _matrix_precision(view, event, twin)
    squares = _residual(view).square({event: twin})
    return -0.5 * squares * weight + 0.5 * log_weight - 0.5 * event.size * LOG_2PI


def _residual(view: FactorView) -> Formula:
    """Return x − m; what is known is taken together first, so that no large numbers are squared."""
    whole = view.child() - view.value("mean")
    found = [without_idle_switches(p) for p in whole.products]
    known = [p for p in found if not p.accesses]
    if len(known) > 1:
        tables = [contract_tables(p.tables, view.labels) for p in known]
        labels = tuple(a for a in view.labels if any(a in t.axes for t in tables))
        together = Product((Table(add_tables(tables, labels), labels),))
        found = [together, *(p for p in found if p.accesses)]
    return view.formula(*found)


def _scalar_precision(view: FactorView) -> tuple[Formula, Formula]:
    """Return λ and ln λ."""
    if view.has("precision"):
        return view.value("precision"), view.log("precision")
    key = "variance" if view.has("variance") else "scale"
    if view.is_known(key):
        variance = view.known(key) if key == "variance" else view.known(key).map(np.square)
        weight = variance.map(np.reciprocal)
        return weight, weight.map(np.log)
    if _is_chosen(view, key):
        power = -2.0 if key == "scale" else -1.0
        weight = _chosen(view, key, lambda values: values**power)
        return weight, _chosen(view, key, lambda values: power * np.log(values))
    if key == "scale":
        return view.inverse_square(key), -2.0 * view.log(key)
    return view.inverse(key), -view.log(key)


def _matrix_precision(view: FactorView, event: Axis, twin: Axis) -> tuple[Formula, Formula]:
    """Return Λ over two labels, and ln|Λ|."""
    key = "precision" if view.has("precision") else "cov"
    labels = (*view.labels, twin)
    new = dict(zip(view.events(key), (event, twin), strict=True))
    if view.is_known(key):
        table = view.known_table(key)
        if not np.all(is_definite(table.values)):
            raise ValueError(f"{key} of {view.factor.name} must be positive definite")
        matrix = table.values if key == "precision" else explicit_inverse(table.values)
        logs = np.linalg.slogdet(matrix)[1]
        weight = with_labels(Product((Table(matrix, table.axes),)), new)
        log_weight = Product((Table(np.asarray(logs), table.axes[:-2]),))
        return Formula([weight], labels), view.formula(log_weight)
    is_precision = key == "precision"
    unknown = view.value(key) if is_precision else view.inverse(key)
    found = Formula([with_labels(p, new) for p in unknown.products], labels)
    logs = view.log(key, size=event.size)
    return found, logs if is_precision else -logs


def _gamma(view: FactorView) -> Formula:
    """(a − 1) ln x − b x + a ln b − ln Γ(a)."""
    if view.is_known("shape") or _is_chosen(view, "shape"):
        shape = _chosen(view, "shape", np.asarray)
        log_gamma = _chosen(view, "shape", special.gammaln)
    else:
        shape, log_gamma = view.value("shape"), view.log_gamma("shape")
    log_x, x = view.statistic(0, np.log), view.statistic(1, np.asarray)
    logs = log_x * (shape - 1.0) + view.log("rate") * shape
    return logs - x * view.value("rate") - log_gamma


def _poisson(view: FactorView) -> Formula:
    """X ln λ − λ − ln x!."""
    factorial = view.observed(lambda x: special.gammaln(x + 1.0))
    return view.observed() * view.log("rate") - view.value("rate") - factorial


def _exponential(view: FactorView) -> Formula:
    """Ln λ − λ x."""
    return view.log("rate") - view.statistic(0, np.asarray) * view.value("rate")


def _half_normal(view: FactorView) -> Formula:
    """−½ λ x² + ½ ln λ + ½ ln(2/π)."""
    weight, log_weight = _scalar_precision(view)
    squares = view.statistic(0, lambda x: -0.5 * x * x)
    return squares * weight + 0.5 * log_weight + 0.5 * math.log(2.0 / math.pi)


def _bernoulli(view: FactorView) -> Formula:
    """X ln p + (1 − x) ln(1 − p)."""
    state = Axis("state", 2)
    hot = view.one_hot(state)
    seen, unseen = (Formula([Product((Table(np.eye(2)[k], (state,)),))], (state,)) for k in (1, 0))
    return seen * hot * _log_probability(view, "log") + unseen * hot * _log_probability(
        view, "log of rest"
    )


def _binomial(view: FactorView) -> Formula:
    """X ln p + (n − x) ln(1 − p) + ln C(n, x)."""
    x, trials = view.observed(), view.known("trials")
    counts, n = (spread(f.products[0].tables[0], view.labels) for f in (x, trials))
    ways = special.gammaln(n + 1.0) - special.gammaln(counts + 1.0)
    ways = np.broadcast_to(ways - special.gammaln(n - counts + 1.0), [a.size for a in view.labels])
    logs = x * _log_probability(view, "log")
    rest = (trials - x) * _log_probability(view, "log of rest")
    return logs + rest + view.formula(Product((Table(ways, view.labels),)))


def _log_probability(view: FactorView, kind: str) -> Formula:
    if not _is_chosen(view, "probability"):
        return view.log("probability", kind)
    if kind == "log":
        return _chosen(view, "probability", safe_log)
    return _chosen(view, "probability", lambda values: safe_log(1.0 - values))


def _is_chosen(view: FactorView, key: str) -> bool:
    """Tell whether a parameter is known, but for which entry of it discrete variables choose."""
    terms = view.factor.parameters[key].terms
    return all(isinstance(a, Switch) for term in terms for a in term.accesses)


def _chosen(view: FactorView, key: str, function: Callable[[Any], Any]) -> Formula:
    """Return a function of a known table, from which discrete variables may choose."""
    if view.is_known(key) or not _is_chosen(view, key):
        table, accesses = view.known_table(key), ()
    elif len(view.factor.parameters[key].terms) == 1:
        ((table, accesses),) = view.factor.parameters[key].terms
    else:
        raise view.refuse(key, "is a sum of tables: put the sum into one table")
    if key in _SMALLEST and np.any(table.values <= 0):
        raise ValueError(f"{key} of {view.factor.name} must be positive")
    values = np.asarray(function(table.values))
    return view.formula(merged(Product((Table(values, table.axes),), accesses)))


def _categorical(view: FactorView) -> Formula:
    """Σ_k 1[x = k] ln p_k."""
    (event,) = view.events("probabilities")
    indexed = _is_chosen(view, "probabilities")
    logs = _chosen(view, "probabilities", safe_log) if indexed else view.log("probabilities")
    if view.data is None:
        return view.one_hot(event) * logs
    codes = Table(view.data.values.astype(np.intp), view.data.axes)
    return view.formula(*(_picked(p, event, codes) for p in logs.products))


def _picked(product: Product, event: Axis, codes: Table) -> Product:
    """Read the entry of the observed category."""
    tables = tuple(gather(t, event, codes) for t in product.tables)
    accesses = tuple(
        a._replace(places=tuple(Lookup(codes) if p is event else p for p in a.places))
        for a in product.accesses
    )
    return Product(tables, accesses)


def _multinomial(view: FactorView) -> Formula:
    """Σ_k x_k ln p_k + ln n! − Σ ln x_k!."""

    def ways(x: Any) -> Any:
        return special.gammaln(x.sum(axis=-1) + 1.0) - special.gammaln(x + 1.0).sum(axis=-1)

    return view.observed() * view.log("probabilities") + view.observed(ways)


def _of_known_parameters(view: FactorView) -> Formula:
    """⟨η, T(x)⟩ − A(η) for an unknown child of a family with known parameters."""
    family, law = view.factor.family, LAWS.get(view.factor.family)
    if not issubclass(family, ExponentialFamily) and (law is not None or view.data is not None):
        raise TypeError(f"{view.factor.name} is {family.__name__}, which has no variational rule")
    for key, poly in view.factor.parameters.items():
        if not poly.is_known:
            raise view.refuse(key, f"cannot be learned: {family.__name__} has no rule for it")
    if law is None and view.data is None:
        return view.formula(Product((), (log_prior(view.factor),)))
    known = member(view.factor)
    natural, normalizer = known.natural, np.asarray(known.log_normalizer())
    rows, events = view.factor.rows, view.factor.events
    terms = []
    for k, part in enumerate(natural):
        eta = Table(np.asarray(part), (*rows, *(events if family._natural_ndims[k] else ())))
        statistic = view.statistic(k, partial(_statistic, family, k))
        terms.append(statistic * view.formula(Product((eta,))))
    return reduce(operator.add, terms) - view.formula(Product((Table(normalizer, rows),)))


def _statistic(family: Any, k: int, x: Any) -> Any:
    return family.sufficient(x)[k]


def _above_trials(view: FactorView, data: Table) -> Any:
    return data.values > spread(view.known_table("trials"), data.axes)


def _no_category(view: FactorView, data: Table) -> Any:
    return data.values >= view.events("probabilities")[-1].size


_OF_PRECISION = "Gamma or Wishart"
_OF_VARIANCE = "InverseGamma, or let a Gamma be the precision"
_OF_COV = "InverseWishart, or let a Wishart be the precision"
_OF_SCALE = "HalfNormal, HalfCauchy or another that allows no negative numbers"
_OF_MEAN = "Normal or MvNormal"

for _law in (
    Law(
        Normal,
        _normal,
        priors={
            "mean": _OF_MEAN,
            "precision": _OF_PRECISION,
            "variance": _OF_VARIANCE,
            "scale": _OF_SCALE,
        },
    ),
    Law(MvNormal, _mvnormal, priors={"mean": _OF_MEAN, "precision": _OF_PRECISION, "cov": _OF_COV}),
    Law(Gamma, _gamma, {"log": 0, "value": 1}, priors={"rate": "Gamma", "shape": "Gamma"}),
    Law(HalfNormal, _half_normal, priors={"scale": _OF_SCALE}),
    Law(InverseGamma, statistics={"log": 0, "inverse": 1}),
    Law(Wishart, statistics={"log": 0, "value": 1}),
    Law(InverseWishart, statistics={"log": 0, "inverse": 1}),
    Law(Dirichlet, statistics={"log": 0}),
    Law(Beta, statistics={"log": 0, "log of rest": 1}),
    Law(Poisson, _poisson, priors={"rate": "Gamma"}),
    Law(Exponential, _exponential, priors={"rate": "Gamma"}),
    Law(Bernoulli, _bernoulli, priors={"probability": "Beta"}),
    Law(Binomial, _binomial, priors={"probability": "Beta"}, off_support=_above_trials),
    Law(Categorical, _categorical, priors={"probabilities": "Dirichlet"}, off_support=_no_category),
    Law(Multinomial, _multinomial, priors={"probabilities": "Dirichlet"}),
):
    register_law(_law)
