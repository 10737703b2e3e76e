"""The model: variables with names, and the questions one can ask of their joint distribution."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from posteriori.distributions.base import Distribution
from posteriori.distributions.unknown import Conditional
from posteriori.modeling import views
from posteriori.modeling.binding.binder import bind
from posteriori.modeling.binding.bound import Bound
from posteriori.modeling.binding.observations import require_finite_observations
from posteriori.modeling.binding.place_names import names_of_places, read_levels, with_codes
from posteriori.modeling.contract.options import OPTION_NAMES, OTHER_WORDS, Options
from posteriori.modeling.forms.simulation import log_joint, simulate
from posteriori.modeling.language.chain import Chain, trace_step
from posteriori.modeling.language.expressions import Expression, Input, Variable
from posteriori.modeling.planning.planner import Plan, make_plan
from posteriori.modeling.posterior.posterior import Posterior
from posteriori.numerics.types import Array, Seed
from posteriori.numerics.validation import hint, meant_or_has

if TYPE_CHECKING:
    from posteriori.drawing import Drawing
    from posteriori.forney.forney_nodes import Expansion

__all__ = ["Model"]


class Model:
    """A joint distribution, written down variable by variable.

    Assigning a distribution to an attribute names a random variable; using it among the
    parameters of another draws an edge. Observations are given by name when inference is asked
    for, so one model serves fitting, predicting, simulating and missing data.

    Examples
    --------
    >>> from posteriori import Normal
    >>> m = Model()
    >>> m.x = Normal(0.0, variance=4.0)
    >>> m.y1 = Normal(m.x, variance=1.0)
    >>> m.y2 = Normal(m.x, variance=2.0)
    >>> post = m.infer(y1=1.0, y2=2.0)
    >>> post.x
    Normal(1.142857, variance=0.571429)
    >>> post.log_evidence
    LogEvidence(-3.514549, kind="exact", of="X")
    """

    _variables: dict[str, Variable]
    _inputs: dict[str, Input]

    def __init__(self) -> None:
        object.__setattr__(self, "_variables", {})
        object.__setattr__(self, "_inputs", {})

    # -- writing a model -------------------------------------------------------------------

    def __setattr__(self, name: str, value: Any) -> None:
        self[name] = value

    def __setitem__(self, name: str, value: Any) -> None:
        self._check_name(name)
        if isinstance(value, Input):
            if value.name is not None:
                raise ValueError(f"the input is named {value.name!r} already; make a new Input()")
            value.name = name
            self._inputs[name] = value
        elif isinstance(value, Chain):
            step = trace_step(value, name)
            self._variables[name] = Variable(name, value.initial, value.length, step, value.order)
        elif isinstance(value, (Distribution, Conditional)):
            self._variables[name] = Variable(name, value)
        else:
            what = "an expression" if isinstance(value, Expression) else repr(value)
            raise TypeError(
                f"{name} must be a distribution, a Chain or an Input, got {what}; "
                "known quantities need no name, and expressions go into parameters"
            )

    def _check_name(self, name: str) -> None:
        if hasattr(type(self), name) or name.startswith("_"):
            raise ValueError(f"{name!r} is reserved: it is a method of Model; choose another name")
        if name in OPTION_NAMES:
            raise ValueError(f"{name!r} is reserved: infer() takes it as an option; choose another")
        if name in self._variables or name in self._inputs:
            raise ValueError(f"{name!r} is defined already: start a new Model to change it")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        try:
            return self[name]
        except KeyError as error:
            raise AttributeError(error.args[0]) from None

    def __getitem__(self, name: str) -> Any:
        for table in (self._variables, self._inputs):
            if name in table:
                return table[name]
        raise KeyError(_unknown(name, list(self)))

    def __iter__(self) -> Iterator[str]:
        return iter([*self._inputs, *self._variables])

    def __contains__(self, name: object) -> bool:
        return name in self._variables or name in self._inputs

    def __repr__(self) -> str:
        parts = [*self._inputs, *(f"{n}: {v.family.__name__}" for n, v in self._variables.items())]
        return f"Model({', '.join(parts)})"

    def _repr_html_(self) -> str:
        return views.html_of_model(self)

    # -- asking ----------------------------------------------------------------------------

    def infer(self, data: Mapping[str, Any] | None = None, /, **more: Any) -> Posterior:
        """Condition on data and return the posterior with its evidence.

        What can be solved exactly is. Other models are divided into the largest parts that are
        exact given the others, and the evidence is a lower bound.

        Parameters
        ----------
        data : mapping, optional
            Observations and inputs by name, for names that are no identifiers. An input of texts, or of a pandas
            Categorical, picks members by name: its levels, sorted where no order is given, are these members.
        **more
            The same, as keywords. NaN in an observation means missing. The following keywords are
            choices for models that are approximated.
        n_init : int, optional
            Number of starts, of which the best is carried to the end. By default 5 where the start
            matters (mixtures, products of unknowns) and 1 otherwise.
        tol : float
            The ascent ends when a sweep raises the bound by less than this, in nats; 1e-6.
        max_iter : int
            Most sweeps; 2000.
        rng : Generator, int or None
            For the starts. The default, 0, gives the same answer every time.
        callback : callable, optional
            Called with the number of the sweep and the bound; True ends the ascent.
        init : mapping, optional
            First means of normal variables, probabilities or codes of discrete ones, or beliefs about
            others, by name.
        factorize : sequence of sequences of names, or "full"
            Within each, variables are believed in independently although they could be solved
            together; "full" keeps all variables apart.
        form : mapping, optional
            ``{"x": "point"}`` for variables of which only the best value is wanted.
        batch_size : int, optional
            Rows of the data that are looked at in each step of stochastic ascent.
        progress : bool, optional
            Whether to show on standard error how far the work is; by default from two seconds on, in a
            terminal.
        method : {"vmp", "quadrature"}, optional
            What to do where no exact method fits: an ascent of the bound, or an integral over a few
            unknowns given which all others are exact. By default the integral where it takes
            seconds, and nothing was chosen that only concerns an ascent. Marginals of small mixtures
            are corrected by draws; ``"vmp"`` keeps the beliefs as the ascent found them.

        Raises
        ------
        ValueError
            When a name is unknown or a shape does not fit; the message names both sides.
        TypeError
            When there is no method for some variables; the message says why.

        Examples
        --------
        >>> from posteriori import Beta, Binomial
        >>> m = Model()
        >>> m.p = Beta(1, 1)
        >>> m.heads = Binomial(10, m.p)
        >>> m.infer(heads=7).p
        Beta(8, 4)
        """
        return self.plan(data, **more).run()

    def plan(self, data: Mapping[str, Any] | None = None, /, **more: Any) -> Plan:
        """Return what :meth:`infer` would do with these data, without doing it.

        Examples
        --------
        >>> from posteriori import Beta, Binomial
        >>> m = Model()
        >>> m.p = Beta(1, 1)
        >>> m.heads = Binomial(10, m.p)
        >>> m.plan(heads=7)
        block 1: p: conjugate update
          Beta prior in 1 place; 1 row of heads (Binomial)
        """
        if data is not None and not isinstance(data, Mapping):
            raise TypeError(
                f"data are given by name, as in infer(x=...) or infer({{'x': ...}}), "
                f"got {type(data).__name__}"
            )
        chosen = {name: more.pop(name) for name in OPTION_NAMES & more.keys()}
        given = {**(data or {}), **more}
        for name in given:
            if name not in self:
                raise ValueError(_unknown(name, list(self), OPTION_NAMES))
        options = Options(**chosen) if chosen else None
        bound = self._bind(given)
        require_finite_observations(bound.observed)
        return make_plan(bound, options)

    def _bind(self, given: Mapping[str, Any]) -> Bound:
        """Bind data; where they are arrays of numbers and no variable has categories, nothing has names."""
        is_bare = all(isinstance(x, np.ndarray) and x.dtype.kind in "biuf" for x in given.values())
        if is_bare and all(v.labels is None for v in self._variables.values()):
            return bind(self._variables, self._inputs, given)
        levels = read_levels(self._inputs, given)
        bound = bind(self._variables, self._inputs, with_codes(given, levels))
        return bound._replace(names=names_of_places(bound, given, levels), levels=levels)

    def simulate(
        self,
        n: int | None = None,
        /,
        *,
        plates: Mapping[str, int] | None = None,
        rng: Seed = None,
        **inputs: Any,
    ) -> dict[str, Array]:
        """Draw every variable, parents before children.

        Parameters
        ----------
        n : int, optional
            How often; the draws are the first axis of every array. None draws once, without it.
        plates : mapping, optional
            Sizes of named plates that no input tells.
        rng : Generator, int or None
        **inputs
            Inputs, and values of variables that are to be held fixed.

        Examples
        --------
        >>> from posteriori import Normal
        >>> m = Model()
        >>> m.mu = Normal(0, variance=9)
        >>> m.y = Normal(m.mu, variance=1).iid("n")
        >>> m.simulate(plates={"n": 3}, rng=0)["y"].shape
        (3,)
        >>> m.simulate(1000, plates={"n": 3}, rng=0)["y"].shape
        (1000, 3)
        """
        if n is not None and (not isinstance(n, int | np.integer) or n < 1):
            raise ValueError(f"n must be a whole number >= 1, got {n!r}")
        size = None if n is None else int(n)
        return simulate(self._variables, self._inputs, inputs, plates or {}, rng, size)

    def log_joint(self, values: Mapping[str, Any] | None = None, /, **more: Any) -> float:
        """Return ln p of all variables at given values.

        Examples
        --------
        >>> from posteriori import Normal
        >>> m = Model()
        >>> m.x = Normal(0, variance=1)
        >>> m.y = Normal(m.x, variance=1)
        >>> round(m.log_joint(x=0.0, y=0.0), 6)  # −ln 2π
        -1.837877
        """
        return log_joint(self._variables, self._inputs, {**(values or {}), **more})

    def draw(
        self,
        kind: str = "directed",
        data: Mapping[str, Any] | None = None,
        *,
        constants: bool = False,
    ) -> Drawing:
        """Return a drawing of the model, which a notebook shows.

        Parameters
        ----------
        kind : "directed" or "factor"
            The directed graph with plates, or the factor graph.
        data : mapping, optional
            What is observed: its shapes are shaded, and plates show their sizes.
        constants : bool
            Whether to show the known parameters of each variable as small squares.

        Returns
        -------
        Drawing
            With ``svg()``, ``dot()`` and ``mermaid()``.

        Examples
        --------
        >>> from posteriori import Normal
        >>> m = Model()
        >>> m.x = Normal(0, variance=1)
        >>> m.y = Normal(m.x, variance=1)
        >>> print(m.draw().mermaid())
        flowchart TD
          n0(("x"))
          n1(("y"))
          n0 --> n1
        """
        return views.draw_model(self, kind, data or {}, constants=constants)

    def expand(self, data: Mapping[str, Any] | None = None, /) -> Expansion:
        """Return the factors of the model as nodes on its variables, with observations as clamps.

        :meth:`posteriori.forney.ForneyGraph.from_model` joins them to a graph.
        """
        return views.expand_model(self, data or {})


def _unknown(name: str, known: list[str], others: Iterable[str] = ()) -> str:
    if others and name in OTHER_WORDS:
        return f"infer has no option {name!r}: say {OTHER_WORDS[name]}="
    meant = hint(name, [*known, *others]) or meant_or_has(name, known)
    return f"the model has no variable or input {name!r}{meant}"
