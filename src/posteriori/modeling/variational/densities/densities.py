r"""The log density of each family as a sum of monomials in the statistics of what is unknown.

.. math:: \ln N(x \mid m, \lambda^{-1}) = -\tfrac12\lambda (x-m)^2 + \tfrac12\ln\lambda - \tfrac12\ln 2\pi

is linear in :math:`\lambda` and :math:`\ln\lambda` and quadratic in :math:`x - m`, whatever these are
made of. Each family needs a few such lines; those whose parameters are known need none.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from posteriori.distributions.counts.bernoulli import Bernoulli
from posteriori.distributions.counts.binomial import Binomial
from posteriori.distributions.counts.categorical import Categorical
from posteriori.distributions.counts.multinomial import Multinomial
from posteriori.distributions.counts.poisson import Poisson
from posteriori.distributions.exponential import ExponentialFamily
from posteriori.distributions.numbers.exponential_distribution import Exponential
from posteriori.distributions.numbers.gamma import Gamma
from posteriori.distributions.numbers.normal import Normal
from posteriori.distributions.vectors.mvnormal import MvNormal
from posteriori.modeling.binding.bound import Bound, BoundFactor
from posteriori.modeling.binding.labelled import (
    Axis,
    Lookup,
    Switch,
    Table,
    spread,
)
from posteriori.modeling.forms.simulation import member
from posteriori.modeling.forms.state_tables import (
    DISCRETE,
    number_of_states,
    require_constant_states,
    require_rows,
)
from posteriori.modeling.variational.densities.factor_view import GAUSSIAN, STATISTICS, FactorView
from posteriori.modeling.variational.densities.magnitudes import require_noticeable
from posteriori.modeling.variational.densities.monomials import (
    Monomial,
    Product,
    merged,
    multiply,
    scaled,
    total,
    with_labels,
    without_idle_switches,
)
from posteriori.modeling.variational.densities.planned_products import add_tables, contract_tables
from posteriori.numerics.lazy import special
from posteriori.numerics.special import LOG_2PI

__all__ = [
    "GAUSSIAN",
    "LOG_ZERO",
    "STATISTICS",
    "log_density",
    "row_density",
    "why_not_variational",
]

#: Stands for ln 0.
LOG_ZERO = -1e100


def log_density(factor: BoundFactor, bound: Bound, source: int) -> list[Monomial]:
    """Return ln p(child | parents), summed over the rows, as monomials.

    Raises
    ------
    TypeError
        When the density is no such sum; the message names the parameter.
    ValueError
        When a known parameter is too small for floating point.
    """
    require_noticeable(factor)
    return total(row_density(factor, bound), factor.rows, source)


def row_density(factor: BoundFactor, bound: Bound) -> list[Product]:
    """Return ln p(child | parents) of every row, as products that are added."""
    _require_states(factor, bound)
    view = FactorView(factor, bound)
    products = _LAWS.get(factor.family, _of_known_parameters)(view)
    if view.mask is not None:
        products = [Product((view.mask, *p.tables), p.accesses) for p in products]
    for product in products:
        _require_conjugate(product, factor, bound)
    return [without_idle_switches(product) for product in products]


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
        if names.count(name) > (2 if bound.families[name] in GAUSSIAN else 1):
            raise TypeError(
                f"{factor.name} depends on {name} in several ways at once, so that its belief "
                "would leave its family"
            )


def why_not_variational(bound: Bound, name: str) -> str | None:
    """Say why a variable cannot be a block of its own; None when it can."""
    family = bound.families[name]
    if family in GAUSSIAN or family in DISCRETE or family in STATISTICS:
        return None
    known = ", ".join(f.__name__ for f in (*GAUSSIAN, *DISCRETE, *STATISTICS))
    return f"{name} is {family.__name__}; unknown variables must be one of {known}"


# -- laws ------------------------------------------------------------------------------------


def _normal(view: FactorView) -> list[Product]:
    """−½ λ (x − m)² + ½ ln λ − ½ ln 2π."""
    weight, log_weight = _scalar_precision(view)
    rows = view.labels
    squares = _squares(_residual(view), rows)
    return [
        *scaled(multiply(squares, weight, rows), -0.5),
        *scaled(log_weight, 0.5),
        _constant(-0.5 * LOG_2PI),
    ]


def _mvnormal(view: FactorView) -> list[Product]:
    """−½ (x − m)ᵀ Λ (x − m) + ½ ln|Λ| − ½ D ln 2π."""
    rows = view.factor.rows
    (event,) = view.factor.events
    twin = Axis("twin", event.size)
    weight, log_weight = _matrix_precision(view, event, twin)
    residual = _residual(view)
    squares = []
    for i, s in enumerate(residual):
        squares += multiply([s], [s], rows, {event: twin})
        for t in residual[i + 1 :]:  # Λ is symmetric: both orders are the same
            squares += scaled(multiply([s], [t], rows, {event: twin}), 2.0)
    return [
        *scaled(multiply(squares, weight, (*rows, event, twin)), -0.5),
        *scaled(log_weight, 0.5),
        _constant(-0.5 * event.size * LOG_2PI),
    ]


def _residual(view: FactorView) -> list[Product]:
    """Return x − m; what is known is taken together first, so that no large numbers are squared."""
    found = [without_idle_switches(p) for p in [*view.child(), *scaled(view.value("mean"), -1.0)]]
    known = [p for p in found if not p.accesses]
    unknown = [p for p in found if p.accesses]
    if len(known) < 2:
        return found
    tables = [contract_tables(p.tables, view.labels) for p in known]
    labels = tuple(a for a in view.labels if any(a in t.axes for t in tables))
    return [Product((Table(add_tables(tables, labels), labels),)), *unknown]


def _squares(residual: list[Product], rows: tuple[Axis, ...]) -> list[Product]:
    found = []
    for i, s in enumerate(residual):
        found += multiply([s], [s], rows)
        found += scaled(multiply([s], residual[i + 1 :], rows), 2.0)
    return found


def _scalar_precision(view: FactorView) -> tuple[list[Product], list[Product]]:
    if view.has("precision"):
        return view.value("precision"), view.log("precision")
    key = "variance" if view.has("variance") else "scale"
    if view.is_known(key):
        table = view.known(key)
        power = -1.0 if key == "variance" else -2.0
        weight = Table(table.values**power, table.axes)
        return [Product((weight,))], [Product((Table(np.log(weight.values), table.axes),))]
    if key == "scale":
        return _of_scales(view)
    return view.value(key, "inverse"), scaled(view.log(key), -1.0)


def _of_scales(view: FactorView) -> tuple[list[Product], list[Product]]:
    """Return σ⁻² and −2 ln σ of known scales that discrete variables choose from."""
    terms = view.factor.parameters["scale"].terms
    if len(terms) != 1 or not all(isinstance(a, Switch) for a in terms[0].accesses):
        raise view.refuse("scale", "is unknown: give the precision a Gamma prior instead")
    ((table, switches),) = terms
    if np.any(table.values <= 0):
        raise ValueError(f"scale of {view.factor.name} must be positive")
    weight = Product((Table(table.values**-2.0, table.axes),), switches)
    logs = Product((Table(-2.0 * np.log(table.values), table.axes),), switches)
    return [merged(weight)], [merged(logs)]


def _matrix_precision(
    view: FactorView, event: Axis, twin: Axis
) -> tuple[list[Product], list[Product]]:
    key = "precision" if view.has("precision") else "cov"
    new = dict(zip(view.events(key), (event, twin), strict=True))
    if view.is_known(key):
        table = view.known(key)
        matrix = table.values if key == "precision" else np.linalg.inv(table.values)
        sign, logs = np.linalg.slogdet(matrix)
        if np.any(sign <= 0):
            raise ValueError(f"{key} of {view.factor.name} must be positive definite")
        weight = with_labels(Product((Table(matrix, table.axes),)), new)
        return [weight], [Product((Table(np.asarray(logs), table.axes[:-2]),))]
    kind = "value" if key == "precision" else "inverse"
    weight_terms = [with_labels(p, new) for p in view.value(key, kind)]
    return weight_terms, scaled(view.log(key, size=event.size), 1.0 if kind == "value" else -1.0)


def _gamma(view: FactorView) -> list[Product]:
    """(a − 1) ln x − b x + a ln b − ln Γ(a)."""
    shape = view.known("shape")
    rows = view.labels
    excess = [Product((Table(shape.values - 1.0, shape.axes),))]
    logs = view.statistic(0, np.log)
    value = view.statistic(1, np.asarray)
    return [
        *multiply(logs, excess, rows),
        *scaled(multiply(value, view.value("rate"), rows), -1.0),
        *multiply(view.log("rate"), [Product((shape,))], rows),
        Product((Table(-np.asarray(special.gammaln(shape.values)), shape.axes),)),
    ]


def _poisson(view: FactorView) -> list[Product]:
    """X ln λ − λ − ln x!."""
    counts = _data(view)
    factorial = Table(-np.asarray(special.gammaln(counts.values + 1.0)), counts.axes)
    return [
        *multiply([Product((counts,))], view.log("rate"), view.labels),
        *scaled(view.value("rate"), -1.0),
        Product((factorial,)),
    ]


def _exponential(view: FactorView) -> list[Product]:
    """Ln λ − λ x."""
    data = Product((_data(view),))
    return [*view.log("rate"), *scaled(multiply([data], view.value("rate"), view.labels), -1.0)]


def _bernoulli(view: FactorView) -> list[Product]:
    """X ln p + (1 − x) ln(1 − p)."""
    state = Axis("state", 2)
    hot = view.one_hot(state)
    rows = (*view.labels, state)
    found = []
    for value, kind in ((1, "log"), (0, "log of rest")):
        pick = Product((Table(np.eye(2)[value], (state,)), *hot.tables), hot.accesses)
        found += multiply([pick], _log_probability(view, kind), rows)
    return found


def _binomial(view: FactorView) -> list[Product]:
    """X ln p + (n − x) ln(1 − p) + ln C(n, x)."""
    counts, trials = _data(view), view.known("trials")
    rest = [Product((trials,)), Product((Table(-counts.values, counts.axes),))]
    rows = view.labels
    choose = member_log_carrier(view)
    return [
        *multiply([Product((counts,))], _log_probability(view, "log"), rows),
        *multiply(rest, _log_probability(view, "log of rest"), rows),
        Product((choose,)),
    ]


def member_log_carrier(view: FactorView) -> Table:
    """Return ln h(x) of counts among known trials: the number of ways to get them."""
    counts, trials = _data(view), view.known("trials")
    labels = view.labels
    x = spread(counts, labels)
    n = spread(trials, tuple(labels))
    ways = special.gammaln(n + 1.0) - special.gammaln(x + 1.0) - special.gammaln(n - x + 1.0)
    return Table(np.broadcast_to(ways, tuple(a.size for a in labels)), labels)


def _log_probability(view: FactorView, kind: str) -> list[Product]:
    if not view.is_known("probability"):
        poly = view.factor.parameters["probability"]
        if all(isinstance(a, Switch) for t in poly.terms for a in t.accesses):
            return _known_logs(view, "probability", complement=kind != "log")
        return view.log("probability", kind)
    table = view.known("probability")
    logs = _safe_log(table.values if kind == "log" else 1.0 - table.values)
    return [Product((Table(logs, table.axes),))]


def _safe_log(values: Any) -> Any:
    """Return logarithms, and a finite stand-in for that of 0: its products with 0 are 0."""
    with np.errstate(divide="ignore"):
        return np.maximum(np.log(values), LOG_ZERO)


def _known_logs(view: FactorView, key: str, *, complement: bool = False) -> list[Product]:
    """Return the logarithm of a known table that discrete variables index."""
    poly = view.factor.parameters[key]
    if len(poly.terms) != 1:
        raise view.refuse(key, "is a sum of tables: put the sum into one table")
    ((table, accesses),) = poly.terms
    logs = _safe_log(1.0 - table.values if complement else table.values)
    return [merged(Product((Table(logs, table.axes),), accesses))]


def _categorical(view: FactorView) -> list[Product]:
    """Σ_k 1[x = k] ln p_k."""
    poly = view.factor.parameters["probabilities"]
    (event,) = view.events("probabilities")
    accesses = [a for t in poly.terms for a in t.accesses]
    if poly.is_known:
        table = view.known("probabilities")
        logs = [Product((Table(_safe_log(table.values), table.axes),))]
    elif all(isinstance(a, Switch) for a in accesses):
        logs = _known_logs(view, "probabilities")
    else:
        logs = view.log("probabilities")
    if view.data is not None:
        codes = Table(view.data.values.astype(np.intp), view.data.axes)
        return [_picked(p, event, codes) for p in logs]
    return multiply([view.one_hot(event)], logs, (*view.labels, event))


def _picked(product: Product, event: Axis, codes: Table) -> Product:
    """Read the entry of the observed category."""
    from posteriori.modeling.binding.labelled import gather

    tables = tuple(gather(t, event, codes) for t in product.tables)
    accesses = tuple(
        a._replace(places=tuple(Lookup(codes) if p is event else p for p in a.places))
        for a in product.accesses
    )
    return Product(tables, accesses)


def _multinomial(view: FactorView) -> list[Product]:
    """Σ_k x_k ln p_k + ln n! − Σ ln x_k!."""
    counts, event = _data(view), view.factor.events[0]
    logs = [with_labels(p, {}) for p in view.log("probabilities")]
    x = counts.values
    ways = special.gammaln(x.sum(axis=-1) + 1.0) - special.gammaln(x + 1.0).sum(axis=-1)
    rows = (*view.labels, event)
    return [
        *multiply([Product((counts,))], logs, rows),
        Product((Table(np.asarray(ways), counts.axes[:-1]),)),
    ]


def _of_known_parameters(view: FactorView) -> list[Product]:
    """⟨η, T(x)⟩ − A(η) for an unknown child of a family with known parameters."""
    family = view.factor.family
    if not (isinstance(family, type) and issubclass(family, ExponentialFamily)):
        raise TypeError(f"{view.factor.name} is {family.__name__}, which has no variational rule")
    for key in view.factor.parameters:
        if not view.is_known(key):
            raise view.refuse(key, f"cannot be learned: {family.__name__} has no rule for it")
    known = member(view.factor)
    rows, events = view.factor.rows, view.factor.events
    products = []
    for k, part in enumerate(known.natural):
        width = family._natural_ndims[k]
        eta = Table(np.asarray(part), (*rows, *(events if width else ())))
        stats = view.statistic(k, partial(_statistic, family, k))
        products += multiply(stats, [Product((eta,))], view.labels)
    normalizer = Table(-np.asarray(known.log_normalizer()), rows)
    return [*products, Product((normalizer,))]


def _statistic(family: Any, k: int, x: Any) -> Any:
    return family.sufficient(x)[k]


def _data(view: FactorView) -> Table:
    if view.data is None:
        family = view.factor.family.__name__
        raise TypeError(f"{view.factor.name} is unknown: {family} variables must be observed")
    return view.data


def _constant(value: float) -> Product:
    return Product((Table(np.asarray(value), ()),))


_LAWS: dict[Any, Callable[[FactorView], list[Product]]] = {
    Normal: _normal,
    MvNormal: _mvnormal,
    Gamma: _gamma,
    Poisson: _poisson,
    Exponential: _exponential,
    Bernoulli: _bernoulli,
    Binomial: _binomial,
    Categorical: _categorical,
    Multinomial: _multinomial,
}
