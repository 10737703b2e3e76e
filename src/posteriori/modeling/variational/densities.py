r"""The log density of each family as a sum of monomials in the statistics of what is unknown.

.. math:: \ln N(x \mid m, \lambda^{-1}) = -\tfrac12\lambda (x-m)^2 + \tfrac12\ln\lambda - \tfrac12\ln 2\pi

is linear in :math:`\lambda` and :math:`\ln\lambda` and quadratic in :math:`x - m`, whatever these are
made of. Each family needs a few such lines; those whose parameters are known need none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from posteriori.distributions.bernoulli import Bernoulli
from posteriori.distributions.beta import Beta
from posteriori.distributions.binomial import Binomial
from posteriori.distributions.categorical import Categorical
from posteriori.distributions.dirichlet import Dirichlet
from posteriori.distributions.exponential import ExponentialFamily
from posteriori.distributions.exponential_distribution import Exponential
from posteriori.distributions.gamma import Gamma
from posteriori.distributions.inverse_gamma import InverseGamma
from posteriori.distributions.inverse_wishart import InverseWishart
from posteriori.distributions.multinomial import Multinomial
from posteriori.distributions.mvnormal import MvNormal
from posteriori.distributions.normal import Normal
from posteriori.distributions.poisson import Poisson
from posteriori.distributions.wishart import Wishart
from posteriori.modeling.binding import Bound, BoundFactor
from posteriori.modeling.gaussian_rows import child_term
from posteriori.modeling.simulation import member
from posteriori.modeling.state_tables import DISCRETE
from posteriori.modeling.tables import (
    Access,
    Axis,
    Lookup,
    Polynomial,
    Switch,
    Table,
    labels_of,
    spread,
)
from posteriori.modeling.variational.contraction import add_tables, contract_tables
from posteriori.modeling.variational.monomials import (
    Monomial,
    Product,
    Stat,
    merged,
    multiply,
    scaled,
    total,
    with_labels,
    without_idle_switches,
)
from posteriori.numerics.special import LOG_2PI, special

__all__ = ["GAUSSIAN", "LOG_ZERO", "STATISTICS", "log_density", "why_not_variational"]

#: Families whose variables are solved together as one normal vector.
GAUSSIAN = (Normal, MvNormal)

#: Stands for ln 0.
LOG_ZERO = -1e100

#: What the entries of T(x) are, for the families that parameters may have.
STATISTICS: dict[Any, dict[str, int]] = {
    Gamma: {"log": 0, "value": 1},
    InverseGamma: {"log": 0, "inverse": 1},
    Wishart: {"log": 0, "value": 1},
    InverseWishart: {"log": 0, "inverse": 1},
    Dirichlet: {"log": 0},
    Beta: {"log": 0, "log of rest": 1},
}


def log_density(factor: BoundFactor, bound: Bound, source: int) -> list[Monomial]:
    """Return ln p(child | parents), summed over the rows, as monomials.

    Raises
    ------
    TypeError
        When the density is no such sum; the message names the parameter.
    """
    view = _View(factor, bound)
    products = _LAWS.get(factor.family, _of_known_parameters)(view)
    if view.mask is not None:
        products = [Product((view.mask, *p.tables), p.accesses) for p in products]
    for product in products:
        _require_conjugate(product, factor, bound)
    return total(products, factor.rows, source)


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


class _View:
    """A factor while its density is written: child and parameters as sums of products."""

    def __init__(self, factor: BoundFactor, bound: Bound) -> None:
        self.factor = factor
        self.bound = bound
        self.labels = (*factor.rows, *factor.events)
        self.observed = factor.name in bound.observed
        self.mask: Table | None = None
        self.data = self._read() if self.observed else None

    def _read(self) -> Table:
        """Return the data of the child, with 0 and a mask where they are missing."""
        table = child_term(self.factor, self.bound).table
        gaps = np.isnan(table.values)
        if not gaps.any():
            return table
        inner = tuple(i for i, a in enumerate(table.axes) if a in self.factor.events)
        absent = gaps.all(axis=inner) if inner else gaps
        if inner and np.any(gaps.any(axis=inner) != absent):
            raise TypeError(
                f"{self.factor.name} misses some entries of a vector under an unknown precision: "
                "write its entries as separate Normal variables, or leave out whole vectors"
            )
        rows = tuple(a for a in table.axes if a not in self.factor.events)
        self.mask = Table((~absent).astype(np.float64), rows)
        return Table(np.where(gaps, self._harmless(table), table.values), table.axes)

    def _harmless(self, table: Table) -> Any:
        """Return a value that every density allows, for rows of weight 0."""
        present = table.values[~np.isnan(table.values)]
        return present[0] if present.size and not self.factor.events else 0.0

    def refuse(self, key: str, what: str) -> TypeError:
        return TypeError(f"{key} of {self.factor.name} {what}")

    # -- child -------------------------------------------------------------------------------

    def child(self) -> list[Product]:
        """Return the child itself."""
        if self.data is not None:
            return [Product((self.data,))]
        return [Product((), (Access(self.factor.name, self.factor.places),))]

    def statistic(self, component: int, values: Callable[[Any], Any]) -> list[Product]:
        """Return an entry of T(child)."""
        if self.data is not None:
            axes = self.data.axes
            made = np.asarray(values(self.data.values))
            return [Product((Table(made, axes[: made.ndim]),))]
        width = self.factor.family._natural_ndims[component]
        lead = len(self.factor.places) - len(self.factor.events)
        events = self.factor.events if width else ()
        places = (*self.factor.places[:lead], *events)
        return [Product((), (Stat(self.factor.name, places, component),))]

    def one_hot(self, state: Axis) -> Product:
        """Return 1[child = state]."""
        if self.data is None:
            return Product((), (Switch(self.factor.name, self.factor.places, state),))
        codes = self.data.values[..., None] == np.arange(state.size)
        return Product((Table(codes.astype(np.float64), (*self.data.axes, state)),))

    # -- parameters --------------------------------------------------------------------------

    def has(self, key: str) -> bool:
        return key in self.factor.parameters

    def is_known(self, key: str) -> bool:
        return self.factor.parameters[key].is_known

    def events(self, key: str) -> tuple[Axis, ...]:
        poly = self.factor.parameters[key]
        return poly.axes[len(poly.axes) - self.factor.family._parameters[key] :]

    def known(self, key: str) -> Table:
        """Return a known parameter, without the rows that it does not vary with."""
        poly = self.factor.parameters[key]
        if not poly.is_known:
            raise self.refuse(key, "must be known: only some parameters can be learned")
        return _known(poly, (*self.factor.rows, *self.events(key)))

    def value(self, key: str, kind: str = "value") -> list[Product]:
        """Return a parameter as a sum of products linear in the statistics of its variables."""
        poly = self.factor.parameters[key]
        if poly.is_known:
            return [Product((self.known(key),))]
        return [
            merged(Product((term.table,), self._linear(term.accesses, key, kind)))
            for term in poly.terms
        ]

    def log(self, key: str, kind: str = "log", size: int = 1) -> list[Product]:
        """Return the logarithm of a parameter, or the log determinant of a matrix of some size."""
        poly = self.factor.parameters[key]
        if len(poly.terms) != 1:
            raise self.refuse(key, "is a sum, whose logarithm has no closed expectation")
        ((table, accesses),) = poly.terms
        switches = self._linear([a for a in accesses if self._is_discrete(a)], key, kind)
        others = [a for a in accesses if not self._is_discrete(a)]
        states = {s.state for s in switches}
        summed = {a for access in others for a in labels_of(access)} | set(table.axes)
        if summed - states - set(self.factor.rows) - set(self.events(key)):
            raise self.refuse(key, "is a sum over an axis, whose logarithm has no closed form")
        found = []
        if np.any(table.values <= 0):
            raise ValueError(f"{key} of {self.factor.name} must be positive")
        if kind == "log of rest" and (len(others) != 1 or np.any(table.values != 1.0)):
            raise self.refuse(key, "is a product: that of its complement has no closed expectation")
        if np.any(table.values != 1.0):
            logs = Table(size * np.log(table.values), table.axes)
            found.append(merged(Product((logs,), switches)))
        for access in others:
            (stat,) = self._linear([access], key, kind)
            found.append(merged(Product((), (stat, *switches))))
        return found

    def _is_discrete(self, access: Any) -> bool:
        return isinstance(access, Switch) or self.bound.families[access.name] in DISCRETE

    def _linear(self, accesses: Iterable[Any], key: str, kind: str) -> tuple[Any, ...]:
        """Turn accesses to variables into accesses to their statistics."""
        found = []
        for access in accesses:
            family = self.bound.families[access.name]
            if isinstance(access, Switch) or (family in GAUSSIAN and kind == "value"):
                found.append(access)
                continue
            if family in DISCRETE:
                raise self.refuse(
                    key, f"uses the number of {access.name}: write take([...], {access.name})"
                )
            component = STATISTICS.get(family, {}).get(kind)
            if component is None:
                raise self.refuse(
                    key, f"depends on {access.name}, a {family.__name__}, in a way without rule"
                )
            lead = len(self.bound.layouts[access.name].axes) - family._event_ndim
            width = family._natural_ndims[component]
            places = access.places[: lead + width]
            found.append(Stat(access.name, places, component))
        return tuple(found)


def _known(poly: Polynomial, labels: tuple[Axis, ...]) -> Table:
    value: Any = 0.0
    for term in poly.terms:
        value = value + spread(term.table, labels)
    value = np.asarray(value)
    gone = tuple(i for i, n in enumerate(value.shape) if n == 1 and labels[i].size != 1)
    axes = tuple(a for i, a in enumerate(labels) if i not in gone)
    return Table(np.squeeze(value, axis=gone) if gone else value, axes)


# -- laws ------------------------------------------------------------------------------------


def _normal(view: _View) -> list[Product]:
    """−½ λ (x − m)² + ½ ln λ − ½ ln 2π."""
    weight, log_weight = _scalar_precision(view)
    rows = view.labels
    squares = _squares(_residual(view), rows)
    return [
        *scaled(multiply(squares, weight, rows), -0.5),
        *scaled(log_weight, 0.5),
        _constant(-0.5 * LOG_2PI),
    ]


def _mvnormal(view: _View) -> list[Product]:
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


def _residual(view: _View) -> list[Product]:
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


def _scalar_precision(view: _View) -> tuple[list[Product], list[Product]]:
    if view.has("precision"):
        return view.value("precision"), view.log("precision")
    key = "variance" if view.has("variance") else "scale"
    if view.is_known(key):
        table = view.known(key)
        power = -1.0 if key == "variance" else -2.0
        weight = Table(table.values**power, table.axes)
        return [Product((weight,))], [Product((Table(np.log(weight.values), table.axes),))]
    if key == "scale":
        raise view.refuse(key, "is unknown: give the precision a Gamma prior instead")
    return view.value(key, "inverse"), scaled(view.log(key), -1.0)


def _matrix_precision(view: _View, event: Axis, twin: Axis) -> tuple[list[Product], list[Product]]:
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


def _gamma(view: _View) -> list[Product]:
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


def _poisson(view: _View) -> list[Product]:
    """X ln λ − λ − ln x!."""
    counts = _data(view)
    factorial = Table(-np.asarray(special.gammaln(counts.values + 1.0)), counts.axes)
    return [
        *multiply([Product((counts,))], view.log("rate"), view.labels),
        *scaled(view.value("rate"), -1.0),
        Product((factorial,)),
    ]


def _exponential(view: _View) -> list[Product]:
    """Ln λ − λ x."""
    data = Product((_data(view),))
    return [*view.log("rate"), *scaled(multiply([data], view.value("rate"), view.labels), -1.0)]


def _bernoulli(view: _View) -> list[Product]:
    """X ln p + (1 − x) ln(1 − p)."""
    state = Axis("state", 2)
    hot = view.one_hot(state)
    rows = (*view.labels, state)
    found = []
    for value, kind in ((1, "log"), (0, "log of rest")):
        pick = Product((Table(np.eye(2)[value], (state,)), *hot.tables), hot.accesses)
        found += multiply([pick], _log_probability(view, kind), rows)
    return found


def _binomial(view: _View) -> list[Product]:
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


def member_log_carrier(view: _View) -> Table:
    """Return ln h(x) of counts among known trials: the number of ways to get them."""
    counts, trials = _data(view), view.known("trials")
    labels = view.labels
    x = spread(counts, labels)
    n = spread(trials, tuple(labels))
    ways = special.gammaln(n + 1.0) - special.gammaln(x + 1.0) - special.gammaln(n - x + 1.0)
    return Table(np.broadcast_to(ways, tuple(a.size for a in labels)), labels)


def _log_probability(view: _View, kind: str) -> list[Product]:
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


def _known_logs(view: _View, key: str, *, complement: bool = False) -> list[Product]:
    """Return the logarithm of a known table that discrete variables index."""
    poly = view.factor.parameters[key]
    if len(poly.terms) != 1:
        raise view.refuse(key, "is a sum of tables: put the sum into one table")
    ((table, accesses),) = poly.terms
    logs = _safe_log(1.0 - table.values if complement else table.values)
    return [merged(Product((Table(logs, table.axes),), accesses))]


def _categorical(view: _View) -> list[Product]:
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
    from posteriori.modeling.tables import gather

    tables = tuple(gather(t, event, codes) for t in product.tables)
    accesses = tuple(
        a._replace(places=tuple(Lookup(codes) if p is event else p for p in a.places))
        for a in product.accesses
    )
    return Product(tables, accesses)


def _multinomial(view: _View) -> list[Product]:
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


def _of_known_parameters(view: _View) -> list[Product]:
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
        stats = view.statistic(k, lambda x, k=k: family.sufficient(x)[k])
        products += multiply(stats, [Product((eta,))], view.labels)
    normalizer = Table(-np.asarray(known.log_normalizer()), rows)
    return [*products, Product((normalizer,))]


def _data(view: _View) -> Table:
    if view.data is None:
        family = view.factor.family.__name__
        raise TypeError(f"{view.factor.name} is unknown: {family} variables must be observed")
    return view.data


def _constant(value: float) -> Product:
    return Product((Table(np.asarray(value), ()),))


_LAWS: dict[Any, Callable[[_View], list[Product]]] = {
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
