"""What inference returns: every variable as a distribution, evidence and predictions."""

from __future__ import annotations

import operator
import os
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from posteriori import distributions
from posteriori.distributions.base import Univariate
from posteriori.modeling import posterior as questions
from posteriori.modeling.binding.constants import constants_of
from posteriori.modeling.binding.place_names import with_codes
from posteriori.modeling.contract.solved import Solved
from posteriori.modeling.posterior.description import describe
from posteriori.numerics.evidence import Fingerprint, Kind, LogEvidence
from posteriori.numerics.random import as_generator
from posteriori.numerics.types import Array, Seed
from posteriori.numerics.validation import meant_or_has

if TYPE_CHECKING:
    from pandas import DataFrame

    from posteriori.inference.weighing.reliability import Reliability
    from posteriori.modeling.posterior.account import Account
    from posteriori.modeling.posterior.messages import Messages

__all__ = ["Posterior"]

#: What the evidence of several blocks is together.
_WEAKEST_FIRST: tuple[Kind, ...] = ("type-II", "bound", "quadrature")


class Posterior:
    """The posterior of a model.

    Every unknown variable is an attribute: a distribution whose batch axes are the variable's
    plates and integer axes. ``post["x"]`` reaches any name. Variables that no observation depends
    on are there, too, as they are predicted.

    Examples
    --------
    >>> from posteriori import Model, Normal
    >>> m = Model()
    >>> m.mu = Normal(0, variance=9)
    >>> m.theta = Normal(m.mu, variance=4).iid("g")
    >>> m.y = Normal(m.theta, variance=1)
    >>> post = m.infer(y=[2.0, 3.0, 7.0])
    >>> post
    Posterior: log_evidence = -8.24912 (exact)
      mu     Normal       3.375 ± 1.186
      theta  Normal (3,)  2.275 ± 0.9253, 3.075 ± 0.9253, 6.275 ± 0.9253
    >>> post.mu
    Normal(3.375, variance=1.40625)
    """

    def __init__(self, solved: Solved) -> None:
        self._solved = solved
        self._checked: Reliability | None = None

    @cached_property
    def log_evidence(self) -> LogEvidence:
        """Ln p(data | model): exact, or a lower bound where beliefs are approximate."""
        solved, bound = self._solved, self._solved.bound
        if solved.evidence is not None:
            return solved.evidence
        value = sum(result.log_evidence for result in solved.results) + solved.log_known
        fingerprint = Fingerprint()
        for name, array in (*bound.observed.items(), *bound.evidence.items()):
            if name in bound.given:
                fingerprint = fingerprint.update(np.atleast_1d(array))
        of = "y|X" if bound.inputs else "X"
        kinds = {result.kind for result in solved.results}
        kind: Kind = next((k for k in _WEAKEST_FIRST if k in kinds), "exact")
        error = sum(result.error for result in solved.results) if kind == "quadrature" else None
        one = any(result.namings == "one" for result in solved.results)
        return LogEvidence(
            value,
            kind=kind,
            of=of,
            fingerprint=fingerprint,
            error=error,
            namings="one" if one else "all",
        )

    @property
    def free_energy(self) -> Array:
        """Minus the bound on the log evidence after every sweep, never rising; exact: one value."""
        traces = [np.asarray(r.trace) for r in self._solved.results if len(r.trace)]
        if not traces:
            return -np.atleast_1d(np.asarray(self.log_evidence.value))
        length = max(map(len, traces))
        whole = sum(np.pad(t, (0, length - len(t)), mode="edge") for t in traces)
        rest = float(self.log_evidence) - sum(t[-1] for t in traces)
        return -(whole + rest)

    def __getitem__(self, name: str) -> Any:
        bound = self._solved.bound
        if not isinstance(name, str):
            raise TypeError(f'variables are named one by one, as in "a", "b", got {name!r}')
        if name in self._solved.by_name:
            return self._solved.marginal(name)
        if name in bound.observed:
            raise KeyError(f"{name} was observed: its value is in the data")
        if name in self._solved.barren:
            return self.predict(name)
        raise KeyError(f"the model has no variable {name!r}{meant_or_has(name, bound.layouts)}")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        try:
            return self[name]
        except KeyError as error:
            raise AttributeError(error.args[0]) from None

    def predict(self, name: str, /, **inputs: Any) -> Any:
        """Return the posterior predictive distribution of a variable.

        Its members are new, given all that was learnt. How many they are is told by

        1. a keyword with the name of a plate: ``post.predict("y", n=5)`` are 5 new members of
           plate ``"n"``;
        2. inputs that are not those of the data: ``post.predict("y", X=X_new)`` has a row for each
           of ``X_new``;
        3. without either, the data: one new observation for each that there was.

        Unknown variables on a plate with new members are new, too: of them only the parameters of
        their distribution were learnt. So ``post.theta`` are the groups of the data, and
        ``post.predict("theta", g=3)`` are three groups that were never seen. Everything else,
        such as groups that a known index selects, is what ``post`` has.

        New members of the plate that is a chain's length are those that follow its end, and new
        inputs on it are theirs: ``post.predict("y", t=12)`` forecasts 12 steps, as does
        ``post.predict("y", u=U_next)`` with 12 rows of inputs. Should these happen to equal the
        inputs of the data, ``t=`` says that they follow.

        Where inference was variational, observations of new members are given by name:
        ``post.predict("z", x=X_new)`` are the classes of new rows, while beliefs about what they
        share with the others stay as they are. Predictions then are averages under the beliefs:
        normal variables have their exact mean and variance, and the shape of a normal or, where
        their precision is unknown, of a Student t distribution. What follows the end of a chain
        is a mixture over 4000 draws. Where draws correct small mixtures, predictions are averages over
        up to 1000 of them. Of several plates of the new data, those of unchanged size
        keep their members.

        Parameters
        ----------
        name : str
            A variable, observed or not.
        **inputs
            Inputs of the new members, and the number of new members of named plates. Inputs equal
            to those of the data change nothing. A name that is both an input and a plate is read
            as the input. Axes of fixed length, as of ``.iid(5)``, keep it.

        Returns
        -------
        Distribution
            A batch over the variable's plates and integer axes. The members share what is
            unknown, so they are not independent: these are their marginals, one by one.

        Raises
        ------
        ValueError
            When there is no such variable, input or plate, or sizes do not fit.
        TypeError
            When the predictive distribution has no closed form.

        Examples
        --------
        >>> from posteriori import Model, Normal
        >>> m = Model()
        >>> m.mu = Normal(0, variance=9)
        >>> m.y = Normal(m.mu, variance=1).iid("n")
        >>> post = m.infer(y=[2.0, 3.0, 4.0])
        >>> post.predict("y", n=2)
        Normal([2.892857, 2.892857], variance=[1.321429, 1.321429])

        A random walk goes on from where it was seen last:

        >>> from posteriori import Chain
        >>> m = Model()
        >>> m.s = Chain(Normal(0, variance=9), lambda s: Normal(s, variance=1), length="t")
        >>> m.y = Normal(m.s, variance=1)
        >>> post = m.infer(y=[2.0, 3.0])
        >>> post.predict("s", t=2).mean == post.s.mean[-1]
        array([ True,  True])
        """
        return questions.predict(self._solved, name, self._coded(inputs))

    def _coded(self, data: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return data with the places of levels instead of these, where inputs have any."""
        levels = self._solved.bound.levels
        return with_codes(data, levels) if levels else data

    def update(self, **data: Any) -> Posterior:
        """Return the posterior after more data: what was learnt is the prior of what follows.

        Variables on a plate of the new data are new members; all others are those of before. Of
        several plates, those of unchanged size keep their members; if all sizes are unchanged, the
        first one has the new members.

        Exact posteriors stay exact: the answer is that of all data at once. Where inference was
        variational, the belief of each group of variables takes the place of its prior.

        Parameters
        ----------
        **data
            New observations and their inputs; the options of :meth:`Model.infer` as well.

        Returns
        -------
        Posterior
            With ``log_evidence`` = ln p(new data | earlier data): the sum over all updates, and of
            the first evidence, is the evidence of all data.

        Raises
        ------
        TypeError
            When what was learnt has no form that can be carried over, as of chains.

        Examples
        --------
        >>> from posteriori import Model, Normal
        >>> m = Model()
        >>> m.mu = Normal(0, variance=9)
        >>> m.y = Normal(m.mu, variance=1).iid("n")
        >>> first = m.infer(y=[2.0, 3.0])
        >>> second = first.update(y=[4.0])
        >>> second.mu
        Normal(2.892857, variance=0.321429)
        >>> first.log_evidence + second.log_evidence
        LogEvidence(-5.905061, kind="exact", of="X")
        """
        return questions.update(self._solved, self._coded(data))

    def joint(self, *names: str) -> Any:
        """Return the joint distribution of variables that were solved together.

        Parameters
        ----------
        *names : str

        Returns
        -------
        Distribution
            Of one vector, in which normal variables are flattened and put one after another; a
            table of discrete ones. Normal variables with their unknown common precision make a
            pair of both, such as :class:`~posteriori.distributions.NormalGamma`, one for each
            member of the precision; without it they follow a Student t distribution.

        Raises
        ------
        ValueError
            When the variables are independent, or believed in independently: their joint
            distribution is the product.
        TypeError
            When it has no closed form, or no observation depends on some of several variables.

        Examples
        --------
        >>> from posteriori import Model, Normal
        >>> m = Model()
        >>> m.a = Normal(0, variance=1)
        >>> m.b = Normal(0, variance=1)
        >>> m.y = Normal(m.a + m.b, variance=1)
        >>> m.infer(y=3.0).joint("a", "b")
        MvNormal([1., 1.], cov=[[ 0.666667, -0.333333], [-0.333333, 0.666667]])

        >>> from posteriori import Gamma
        >>> m = Model()
        >>> m.tau = Gamma(2, rate=1)
        >>> m.mu = Normal(0, precision=m.tau)
        >>> m.x = Normal(m.mu, precision=m.tau).iid("n")
        >>> m.infer(x=[1.0, 2.0, 3.0]).joint("mu", "tau")
        NormalGamma(1.5, mean_strength=4, shape=3.5, rate=3.5)
        """
        if not names:
            raise ValueError('joint needs the names of variables, as in joint("a", "b")')
        for name in names:
            if name not in self._solved.bound.latent:
                self[name]  # raises the error that fits
        return questions.joint(self._solved, names)

    def expect(self, name: str, function: Callable[[Array], Any]) -> Array:
        """Return E[f(x) | data], one for each member of a variable.

        Parameters
        ----------
        name : str
            A variable whose members are numbers.
        function : callable
            Elementwise and smooth.

        Raises
        ------
        TypeError
            When the members are vectors or categories: average over :meth:`sample`.

        Examples
        --------
        >>> from posteriori import Model, Normal
        >>> m = Model()
        >>> m.mu = Normal(0, variance=9)
        >>> m.y = Normal(m.mu, variance=1).iid("n")
        >>> m.infer(y=[2.0, 3.0, 4.0]).expect("mu", np.exp).round(6)  # exp(mean + variance/2)
        np.float64(21.190891)
        """
        marginal = self[name]
        if not isinstance(marginal, Univariate):
            raise TypeError(
                f"{name} is not a number: average over post.sample(1000)[{name!r}] instead"
            )
        if name in self._solved.by_name:
            return self._solved.by_name[name].expect(name, function)
        return distributions.expect(marginal, function)

    def marginals(self, *names: str) -> dict[str, Any]:
        """Return the distributions of unknowns by name, by default of all that the data tell something of.

        ``"theta[2]"``, or ``"theta[Ulm]"`` as rows of :meth:`summary` are called, is that of one entry.

        Examples
        --------
        >>> from posteriori import Model, Normal
        >>> m = Model()
        >>> m.mu = Normal(0, variance=9)
        >>> m.y = Normal(m.mu, variance=1)
        >>> m.infer(y=2.0).marginals()
        {'mu': Normal(1.8, variance=0.9)}
        """
        return questions.marginals(self, names)

    def summary(self, *names: str, mass: float = 0.9) -> DataFrame:
        """Return a table with a row for each number: mean, standard deviation and interval.

        Parameters
        ----------
        *names : str
            Unknowns; by default all that the data tell something of.
        mass : float
            Probability between ``lower`` and ``upper``, half of the rest on either side.

        Returns
        -------
        DataFrame
            Indexed by name and place, ``theta[2]``, or ``theta[Ulm]`` where data or categories name the members:
            the index of a Series or frame, the columns of a frame of inputs, the levels of an input that
            picks. States of discrete unknowns have the columns
            ``state`` and ``probability``, beliefs that are made of draws the effective number ``ess``, and
            those of small mixtures, which walks have corrected, ``r_hat`` too: near 1 where walks agree.

        Examples
        --------
        >>> from posteriori import Model, Normal
        >>> m = Model()
        >>> m.mu = Normal(0, variance=9)
        >>> m.theta = Normal(m.mu, variance=4).iid("g")
        >>> m.y = Normal(m.theta, variance=1)
        >>> m.infer(y=[2.0, 7.0]).summary().round(2)
                  mean    sd  lower  upper
        mu        3.52  1.40   1.22   5.82
        theta[0]  2.30  0.94   0.76   3.85
        theta[1]  6.30  0.94   4.76   7.85
        """
        return questions.summary(self, names, mass)

    def explain(self) -> Account:
        """Return what each factor and each block adds to the log evidence.

        The log evidence is the sum of the expected log densities of all factors under the
        posterior (energies) and the entropies of the blocks.
        """
        return questions.make_account(self._solved)

    def messages(self) -> Messages:
        """Return the messages between each factor and the unknowns that it sees.

        Their product at a variable is the belief about it. Where the posterior is exact they are
        those of the sum-product algorithm, which exist where no factors close a loop. Where
        inference was variational, a factor f tells each group exp E[ln f], under the beliefs of
        all other groups; members that no observation depends on have none.
        """
        return questions.make_messages(self._solved)

    def most_likely(self) -> dict[str, Any]:
        """Return the most probable configuration of all informed variables together.

        Of discrete variables this is not the list of the most probable states of each; of
        continuous ones it is the point of highest density. Variables that no observation depends
        on are left out.

        Returns
        -------
        dict of states, labels, numbers or arrays

        Raises
        ------
        TypeError
            When a block has no closed form for it.

        Examples
        --------
        >>> from posteriori import Categorical, Model, Normal, take
        >>> m = Model()
        >>> m.z = Categorical([0.7, 0.3], labels=("low", "high")).iid("n")
        >>> m.y = Normal(take([0.0, 3.0], m.z), variance=1)
        >>> m.infer(y=[0.2, 3.5]).most_likely()
        {'z': array(['low', 'high'], dtype='<U4')}
        """
        best: dict[str, Any] = {}
        for result in self._solved.results:
            best |= result.most_likely()
        return best

    def sample(self, size: int, *, rng: Seed = None) -> dict[str, Array]:
        """Draw ``size`` configurations of all unknown variables from the joint posterior.

        Variables that no observation depends on are simulated from the draws of the others.

        Parameters
        ----------
        size : int
            At least 1.
        rng : Generator, int or None

        Returns
        -------
        dict of arrays (size, *shape)

        Examples
        --------
        >>> from posteriori import Model, Normal
        >>> m = Model()
        >>> m.mu = Normal(0, variance=9)
        >>> m.y = Normal(m.mu, variance=1).iid("n")
        >>> m.new = Normal(m.mu, variance=1).iid(5)
        >>> draws = m.infer(y=[2.0, 3.0, 4.0]).sample(1000, rng=0)
        >>> {name: values.shape for name, values in draws.items()}
        {'mu': (1000,), 'new': (1000, 5)}
        """
        return self._solved.sample(_at_least_one(size, "size"), as_generator(rng))

    def to_arviz(self, draws: int = 1000, *, rng: Seed = None) -> Any:
        """Return draws as ``arviz.InferenceData``, for the plots and tables of ArviZ.

        Draws are independent and make one chain; states are codes 0, 1, …. The group
        ``log_likelihood`` has ln p(datum | draw) where the data can be told apart, and the attributes
        ``log_evidence`` and ``log_evidence_kind`` tell the evidence.

        Parameters
        ----------
        draws : int
            At least 1.
        rng : Generator, int or None

        Raises
        ------
        ImportError
            When ArviZ is not installed: ``pip install 'posteriori[arviz]'``.
        """
        return questions.to_arviz(self, _at_least_one(draws), rng)

    def reliability(self, draws: int = 1000, *, rng: Seed = None) -> Reliability:
        """Tell how far to trust an approximate posterior.

        Draws of the belief are weighed by the exact density of the model, over as few unknowns as
        possible: those given which all others have an exact method, by which they are integrated
        out. Where all weights are alike, the belief is the posterior. Where they are not, they
        tell by how much each unknown is shifted, and too narrow. Draws of a narrow belief hardly
        reach the tails that it misses: ratios of spreads that are found lie nearer to 1 than the
        true ones. What no draw comes near, such as classes in another order, they cannot see.

        Small mixtures are corrected by draws of the exact posterior, once their marginals are asked
        for. It is the beliefs before that which are weighed here: what is found tells how far they
        have been corrected, and is no caution.

        Parameters
        ----------
        draws : int
            At least 100. Each takes an exact solution of the rest of the model.
        rng : Generator, int or None

        Returns
        -------
        Reliability
            ``khat``, ``effective_size``, ``unknowns`` and a ``verdict`` in words. ``repr`` of the
            posterior says from now on what was found.

        Raises
        ------
        TypeError
            When the data are no longer there, or a belief has no density.

        Examples
        --------
        >>> from posteriori import Gamma, Model, Normal
        >>> m = Model()
        >>> m.between = Gamma(shape=2, rate=2)
        >>> m.mu = Normal(0, variance=4)
        >>> m.theta = Normal(m.mu, precision=m.between).iid("g")
        >>> m.y = Normal(m.theta, variance=1)
        >>> y = [2.8, 0.9, -0.4, 0.7, -0.1, 0.1, 1.8, 1.2]
        >>> found = m.infer(y=y, method="vmp").reliability(rng=0)
        >>> found.verdict
        'intervals of between are too narrow'
        >>> round(found.unknowns["between"].ratio, 1)
        0.8
        """
        self._checked = questions.check_reliability(self._solved, draws, rng)
        return self._checked

    @property
    def cautions(self) -> list[str]:
        """What not to trust: as :meth:`reliability` found, or as is known of what was cut apart."""
        results, checked = self._solved.results, self._checked
        narrow = self._too_narrow
        others = [
            f"{', '.join(block.names)}: {block.method}, instead of {block.gave_up}"
            for block in self._solved.blocks
            if block.gave_up
        ]
        others += [text for result in results for text in result.cautions()]
        if checked is None:
            return [*questions.in_words(narrow), *others]
        mended = {name for result in results for name in result.corrected()} - {*narrow}
        told = [
            [n for n in names if n not in mended] for names in (checked.too_narrow, checked.shifted)
        ]
        return [*questions.in_words(*told), *others]

    @property
    def remedy(self) -> str:
        """What to do about intervals that are too narrow; "" where none are known to be.

        Examples
        --------
        >>> from posteriori import Gamma, Model, Normal
        >>> m = Model()
        >>> m.between = Gamma(shape=2, rate=2)
        >>> m.theta = Normal(0, precision=m.between).iid("g")
        >>> m.y = Normal(m.theta, variance=1)
        >>> m.infer(y=[2.8, 0.9, -0.4, 0.7, -0.1], method="vmp").remedy
        'leave out method: integral over between'
        """
        checked = "" if self._checked else "reliability() tells by how much"
        return (self._other_choice or checked) if self._too_narrow else ""

    @cached_property
    def _other_choice(self) -> str:
        return questions.find_remedy(self._solved, self._too_narrow)

    @property
    def _too_narrow(self) -> list[str]:
        return [name for result in self._solved.results for name in result.too_narrow()]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write marginals and evidence to a file, whole or not at all.

        :func:`~posteriori.modeling.load_posterior` reads them. Variables that no observation
        depends on are written as they are predicted, or left out where that has no closed form.

        Raises
        ------
        TypeError
            When a marginal is of a family that has no form in the file.
        """
        questions.save_posterior(self, path)

    @property
    def _place_names(self) -> Mapping[str, Any]:
        """What the places along the axes of unknowns are called, of those with names."""
        return self._solved.bound.names

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._solved.bound.latent]

    def __repr__(self) -> str:
        solved = self._solved
        shown = {*solved.by_name, *constants_of(solved.bound)}
        marginals = {
            name: self[name] if name in shown else "predicted: nothing below is observed"
            for name in solved.bound.latent
        }
        classes: dict[str, tuple[int, int]] = {}
        for result in solved.results:
            classes |= result.used_classes()
        remarks = [
            f"{', '.join(names)}: corrected by {result.n_draws} draws of the exact posterior"
            for result in solved.results
            if (names := result.corrected())
        ]
        texts = [*remarks, *self.cautions, *([self.remedy] if self.remedy else [])]
        return describe("Posterior", marginals, self.log_evidence, classes, texts)

    def _repr_html_(self) -> str:
        return questions.html_of(self)


def _at_least_one(number: int, name: str = "draws") -> int:
    if operator.index(number) < 1:
        raise ValueError(f"{name} must be at least 1 draw, got {number}")
    return number
