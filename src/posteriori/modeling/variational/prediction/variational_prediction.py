r"""Posterior predictive distributions under independent beliefs.

Everything above a variable is integrated out under q. Mean and variance of a normal child are exact
under q. If its precision is believed in, it has the shape of the Student t distribution that the belief
in the precision alone gives it: independent beliefs in location and precision have no closed form.
Children behind unknown indices are mixtures over the states; counts and categories whose parameter has
a conjugate belief are exact.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, cast

import numpy as np

from posteriori.distributions.composites.averages import average_first, average_last
from posteriori.distributions.composites.numeric import Numeric
from posteriori.distributions.counts.categorical import Categorical
from posteriori.distributions.numbers.normal import Normal
from posteriori.distributions.numbers.student_t import StudentT
from posteriori.distributions.vectors.mv_student_t import MvStudentT
from posteriori.distributions.vectors.mvnormal import MvNormal
from posteriori.modeling.binding.bound import GAUSSIAN, BoundFactor, Layout
from posteriori.modeling.binding.construction import member
from posteriori.modeling.binding.labelled import (
    Axis,
    Switch,
    Table,
    seen,
    shape_of,
    spread,
    substitute,
)
from posteriori.modeling.binding.products import contract_tables
from posteriori.modeling.contract.linear_forms import Location, locate_mean
from posteriori.modeling.contract.requests import Request, accessed, no_closed_form
from posteriori.modeling.contract.solved import Solved
from posteriori.modeling.exact.conjugate.conjugate_prediction import conjugate_predictive
from posteriori.modeling.forms.conjugate_rows import reshaped
from posteriori.modeling.forms.fixing import fix_at_points
from posteriori.modeling.forms.state_tables import state_probabilities
from posteriori.modeling.variational.densities.gates import open_gates
from posteriori.modeling.variational.prediction.local_ascent import infer_local
from posteriori.modeling.variational.prediction.predictive_spread import (
    Lookup,
    Spread,
    Tails,
    noise_of,
)
from posteriori.modeling.variational.prediction.scene import Scene, make_scene
from posteriori.modeling.variational.prediction.simulated_forecast import forecast
from posteriori.numerics.types import Array

__all__ = ["predict_from_posterior", "predict_under_beliefs", "predictive"]

#: Draws of numbers whose beliefs are tables, where what depends on them has no closed form.
_DRAWS = 1000


def predict_under_beliefs(solved: Solved, request: Request) -> Any:
    """Return the predictive distribution of a variable under independent beliefs."""
    if request.values:
        local, name = infer_local(solved, request), request.name
        return local.belief(name) if name in local.owners else predictive(local, name)
    return predictive(make_scene(solved, request), request.name)


def predict_from_posterior(solved: Solved, request: Request) -> Any:
    """Return the marginal of what is not new, or what follows draws of a chain; None of others."""
    name, variables = request.name, solved.bound.variables
    if request.values:
        return None
    if name in solved.by_name and name not in request.new:
        return solved.marginal(name)
    lengths = {variables[n].length for n in request.needed}
    chains = [plate for plate in request.sizes if plate in lengths]
    if chains and len(request.sizes) > 1:
        raise TypeError(
            f"{name} cannot be predicted on several new plates, {', '.join(request.sizes)}, at once: "
            "ask for new steps of the series that there are"
        )
    return forecast(solved, request, chains[0]) if chains else None


def predictive(scene: Scene, name: str) -> Any:
    """Return the distribution of a variable with everything above it integrated out."""
    anew = scene.anew
    if anew.is_chain(name):
        raise no_closed_form(name, f"{name} is a new chain")
    (factor,) = anew.factors[name]
    opened, switches = open_gates(factor)
    component = _component(scene, opened)
    if switches:
        weights = _weights(scene, factor, switches)
        shape = weights.shape[: len(factor.rows)]
        component = component if len(switches) == 1 else reshaped(component, (*shape, -1))
        component = average_last(weights.reshape(*shape, -1), component)
    if isinstance(component, Categorical):
        return component._labelled(scene.labels.get(name))
    return component


def _component(scene: Scene, factor: BoundFactor) -> Any:
    """Return the distribution of a factor's rows, none of which is behind an index."""
    unknown = accessed([factor])
    if not unknown:
        return member(factor)
    if factor.family in GAUSSIAN:
        return _normal(scene, factor)
    if factor.family is StudentT:
        return _student(scene, factor)
    if any(isinstance(_belief(scene, name)[0], Numeric) for name in unknown):
        return _over_numbers(scene, factor, unknown)
    if len(unknown) > 1:
        raise no_closed_form(factor.name, f"it depends on {', '.join(sorted(unknown))} at once")
    (parent,) = unknown
    belief, layout = _belief(scene, parent)
    return conjugate_predictive(factor, parent, layout, belief)


def _belief(scene: Scene, name: str) -> tuple[Any, Layout]:
    unsolved = name in scene.anew.unsolved
    found = predictive(scene, name) if unsolved else scene.belief(name)
    return found, scene.anew.layouts[name]


# -- normal children -------------------------------------------------------------------------


def _normal(scene: Scene, factor: BoundFactor) -> Any:
    """Return a normal or Student t distribution with the moments under the beliefs."""

    def look_up(name: str) -> tuple[Any, Layout]:
        return _belief(scene, name)

    center, doubt = _location(scene, factor, look_up)
    return _with_noise(center, doubt, noise_of(factor, look_up))


def _location(scene: Scene, factor: BoundFactor, look_up: Lookup) -> Location:
    """Return mean and covariance of the mean of a factor."""

    def noise(parent: BoundFactor) -> Array:
        variance = noise_of(parent, look_up).variance
        if not np.all(np.isfinite(variance)):
            raise TypeError(
                f"new members of {parent.name} have no finite variance under the belief about "
                "their precision: more data, or a prior with a shape above 1, give them one"
            )
        return variance

    return locate_mean(scene.anew, factor, scene.owners, noise)


def _student(scene: Scene, factor: BoundFactor) -> StudentT:
    """Return a Student t distribution with the variance under the beliefs, and the heavier tails."""

    def look_up(name: str) -> tuple[Any, Layout]:
        return _belief(scene, name)

    center, doubt = _location(scene, factor, look_up)
    scale = factor._replace(parameters={"scale": factor.parameters["scale"]})
    noise = noise_of(scale, look_up)
    points = {}
    for name in accessed([factor._replace(parameters={"dof": factor.parameters["dof"]})]):
        belief, layout = look_up(name)
        points[name] = Table(np.broadcast_to(belief.median, shape_of(layout.axes)), layout.axes)
    dof = substitute(factor.parameters["dof"], points).over(factor.rows)
    with np.errstate(divide="ignore"):
        more = np.where(dof > 2.0, dof / np.maximum(dof - 2.0, 0.0), np.inf)
    tails = noise.tails or Tails(np.asarray(np.inf), noise.variance)
    heavier = Tails(np.minimum(dof, tails.dof), tails.scale)
    return cast(StudentT, _with_noise(center, doubt, Spread(noise.variance * more, heavier)))


def _with_noise(center: Array, doubt: Array, noise: Spread) -> Any:
    """Add the noise to what is not known of the mean; match the variance where it is finite."""
    total = doubt + noise.variance
    vectors = doubt.ndim > center.ndim
    if noise.tails is None:
        full = np.broadcast_to(total, doubt.shape)
        return MvNormal(center, cov=full) if vectors else Normal(center, variance=full)
    dof, scale = noise.tails
    over = dof[..., None, None] if vectors else dof
    finite = over > 2.0
    with np.errstate(invalid="ignore"):
        matched = np.where(finite, total * (over - 2.0) / over, scale + doubt)
    matched = np.broadcast_to(matched, doubt.shape)
    dof = np.broadcast_to(dof, center.shape[:-1] if vectors else center.shape)
    if vectors:
        return MvStudentT(dof, center, scale=matched)
    return StudentT(dof, center, scale=np.sqrt(matched))


# -- numbers whose beliefs are tables --------------------------------------------------------


def _over_numbers(scene: Scene, factor: BoundFactor, names: Collection[str]) -> Any:
    """Return the mixture over draws of all that a factor depends on."""
    rng, values = np.random.default_rng(0), dict[str, Array]()
    for name in sorted(names):
        belief, layout = _belief(scene, name)
        drawn = np.asarray(belief.sample(_DRAWS, rng=rng))
        values[name] = np.broadcast_to(drawn, (_DRAWS, *layout.shape))
    draws = Axis("draws", _DRAWS)
    (made,) = fix_at_points([factor], scene.anew.layouts, values, draws)
    return average_first(np.full(_DRAWS, 1.0 / _DRAWS), [member(made)])


# -- unknown indices -------------------------------------------------------------------------


def _weights(scene: Scene, factor: BoundFactor, switches: Sequence[Switch]) -> Array:
    """Return the probability of each combination of states, (*rows, *states)."""
    _require_apart(scene, factor, switches)
    labels = (*factor.rows, *(s.state for s in switches))
    total: Any = 1.0
    for switch in switches:
        total = total * spread(_probabilities(scene, switch, labels), labels)
    whole = np.broadcast_to(total, tuple(axis.size for axis in labels))
    inner = tuple(range(len(factor.rows), whole.ndim))
    return whole / whole.sum(axis=inner, keepdims=True)


def _probabilities(scene: Scene, switch: Switch, labels: tuple[Axis, ...]) -> Table:
    if switch.name in scene.owners:
        ((table,),) = scene.owners[switch.name].expect([switch])
        return contract_tables([table], labels)
    belief, layout = _belief(scene, switch.name)
    p = state_probabilities(belief)
    state = Axis(switch.name, p.shape[-1])
    axes = (*layout.axes, state)
    return seen(Table(p, axes), axes, (*switch.places, switch.state))


def _require_apart(scene: Scene, factor: BoundFactor, switches: Sequence[Switch]) -> None:
    """Refuse states whose joint probability is not the product of their own."""
    taken: set[Any] = set()
    for switch in switches:
        name = switch.name
        mine: set[Any] = {name}
        if name in scene.owners:
            mine = {id(scene.owners[name])}
        elif name in scene.anew.unsolved:
            mine |= scene.anew.above(name)
        if mine & taken:
            names = ", ".join(dict.fromkeys(s.name for s in switches))
            raise no_closed_form(factor.name, f"states of {names} depend on one another")
        taken |= mine
