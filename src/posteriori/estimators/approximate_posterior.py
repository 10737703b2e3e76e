"""What every estimator with an approximate posterior answers about it: how far to trust it.

An estimator states one method, ``_approximate_belief``: the belief that it has learned, with its draws and the
true density by which they are weighed, or draws of the posterior
(:mod:`posteriori.inference.weighing.approximate_beliefs`); or :class:`Unweighed`, which says why nothing is. What it
needs of the rows of its fit it keeps as ``_learned_from``, which files leave out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.utils import estimator_html_repr
from sklearn.utils.validation import check_is_fitted

from posteriori.distributions.composites.empirical import Empirical
from posteriori.distributions.entries import Labels, summarize
from posteriori.distributions.summary_views import summary_html
from posteriori.estimators.contract import DrawsLikelihoods, offers
from posteriori.inference.weighing.approximate_beliefs import (
    ApproximateBelief,
    WeighedDraws,
    cautions_of,
    weigh_belief,
)
from posteriori.inference.weighing.parameter_intervals import (
    ParameterIntervals,
    intervals_by_draws,
)
from posteriori.inference.weighing.reliability import Reliability, in_words, read_draws
from posteriori.numerics.arviz_export import as_inference_data, require_arviz
from posteriori.numerics.random import as_generator
from posteriori.numerics.types import Array, Seed

if TYPE_CHECKING:
    from pandas import DataFrame

__all__ = [
    "KEPT_NUMBERS",
    "ApproximatePosterior",
    "DrawsItsPosterior",
    "Unweighed",
    "beliefs_by_draws",
]

#: Tables of more numbers are not kept for a check of what was learned from them by a normal approximation,
#: which is the better the more rows there are.
KEPT_NUMBERS = 1_000_000

#: Draws behind the table that notebooks show.
_SHOWN_DRAWS = 400

#: What is known of a posterior by the kind of its evidence, where its draws are not weighed.
_WORDS = {
    "type-II": "what the data have chosen, by evidence or by their range, is held for certain: with few rows intervals "
    "are too narrow",
    "bound": "beliefs about unknowns that depend on one another were cut apart: intervals may be too narrow",
    "laplace": "the posterior is taken for normal around its mode: with few rows intervals may be off",
    "ep": "the posterior is taken for normal, with moments that were matched: intervals may be off",
}


class Unweighed(NamedTuple):
    """Says of a posterior that is not weighed why, and what is known of it nevertheless.

    Attributes
    ----------
    reason : str
    cautions : tuple of str
        Nothing where intervals hold by experience.
    """

    reason: str
    cautions: tuple[str, ...] = ()

    @classmethod
    def of_kind(cls, kind: str) -> Unweighed:
        """Return what the kind of evidence tells."""
        words = _WORDS.get(kind, "")
        return cls(words or f"the evidence is of kind {kind!r}", (words,) if words else ())


class ApproximatePosterior:
    """Gives an estimator :meth:`reliability`, ``cautions`` and :meth:`parameter_intervals`."""

    def _approximate_belief(self) -> ApproximateBelief | Unweighed:
        """Return the belief, or words: by default what the kind of evidence tells of it."""
        return Unweighed.of_kind(self.log_evidence_.kind)  # type: ignore[attr-defined]

    def reliability(self, draws: int = 1000, *, rng: Seed = None) -> Reliability:
        """Tell how far to trust the posterior.

        Draws of what is believed are weighed by the true density of data and parameters, or compared with draws
        of the posterior itself. They tell by how much each unknown is shifted, and too narrow.

        Parameters
        ----------
        draws : int
            At least 100.
        rng : Generator, int or None

        Returns
        -------
        Reliability
            ``khat``, ``effective_size``, ``unknowns`` and a ``verdict`` in words. ``cautions`` say from now on
            what was found.
        """
        size = read_draws(draws)
        self._require_posterior()
        if self._is_exact():
            return Reliability()
        belief = self._approximate_belief()
        if isinstance(belief, Unweighed):
            found = Reliability(unchecked=belief.reason)
        else:
            found = weigh_belief(belief, size, as_generator(rng)).reliability
        if not found.unchecked:
            self._checked = (self._what_was_learned(), found)
        return found

    @property
    def cautions(self) -> tuple[str, ...]:
        """What not to trust: as :meth:`reliability` found, or as is known of what was cut apart."""
        check_is_fitted(self)
        if self._what_was_learned() is None or self._is_exact():
            return ()
        checked = vars(self).get("_checked")
        if checked is not None and checked[0] == self._what_was_learned():
            return cautions_of(checked[1])
        belief = self._approximate_belief()
        if isinstance(belief, Unweighed):
            return belief.cautions
        return tuple(in_words(belief.too_narrow()))

    def parameter_intervals(
        self, mass: float = 0.9, *, draws: int = 1000, rng: Seed = None
    ) -> ParameterIntervals:
        """Return intervals of all parameters, by draws of the posterior or weighted draws of the belief.

        Parameters
        ----------
        mass : float
            Posterior probability of each.
        draws : int
            At least 100.
        rng : Generator, int or None

        Returns
        -------
        ParameterIntervals
            ``lower``, ``median`` and ``upper`` by name, and ``cautions`` where they could not be corrected.
        """
        return intervals_by_draws(self._weigh_belief(read_draws(draws), rng), mass)

    def summary(self, mass: float = 0.9, *, draws: int = 4000, rng: Seed = 0) -> DataFrame:
        """Return a table with a row for each parameter, in the units of the columns.

        Parameters
        ----------
        mass : float
            Posterior probability between ``lower`` and ``upper``, half of the rest on either side.
        draws : int
            Of the posterior, where it has no closed form; at least 100.
        rng : Generator, int or None
            The same draws each time, by default.

        Returns
        -------
        DataFrame
            ``mean``, ``sd``, ``lower``, ``upper`` and ``positive``, the probability that the parameter is above 0;
            weights of columns stand under the names of these.
        """
        check_is_fitted(self)
        beliefs = self._beliefs_of_parameters(read_draws(draws), rng)
        return summarize(beliefs, mass, labels=_labels_of(self, beliefs), signs=True)

    def _html_repr(self) -> str:
        """Return what notebooks show: the parameters, and what was learned where that is a table."""
        diagram = estimator_html_repr(self)
        try:
            return diagram + summary_html(self.summary(draws=_SHOWN_DRAWS))
        except (
            NotFittedError,
            TypeError,
            AttributeError,
        ):  # nothing was learned, or nothing is drawn
            return diagram

    def _beliefs_of_parameters(self, size: int, rng: Seed) -> dict[str, Any]:
        """Return what is believed of each parameter: by default weighed draws."""
        return beliefs_by_draws(*self._drawn_parameters(size, rng))

    def to_arviz(self, X: Any = None, y: Any = None, *, draws: int = 1000, rng: Seed = None) -> Any:
        """Return draws of the parameters as ``arviz.InferenceData``, for the plots and tables of ArviZ.

        Draws are independent and make one chain; the attributes ``log_evidence`` and ``log_evidence_kind`` tell
        the evidence.

        Parameters
        ----------
        X, y : array-like, optional
            Rows whose ln p(y_n | θ_s) the group ``log_likelihood`` has, where the estimator tells it
            (``log_likelihood_draws``), under draws of their own.
        draws : int
            At least 100.
        rng : Generator, int or None

        Raises
        ------
        ImportError
            When ArviZ is not installed: ``pip install 'posteriori[arviz]'``.
        TypeError
            When parameters are not drawn.
        """
        require_arviz()
        check_is_fitted(self)
        size, generator = read_draws(draws), as_generator(rng)
        values = even_draws(*self._drawn_parameters(size, generator), size, generator)
        logs = {}
        if X is not None and offers(self, DrawsLikelihoods):
            logs["y"] = self.log_likelihood_draws(X, y, size, generator)
        return as_inference_data(values, logs, self.log_evidence_)  # type: ignore[attr-defined]

    def _drawn_parameters(self, size: int, rng: Seed) -> tuple[Mapping[str, Array], Array | None]:
        """Return draws of the parameters, (S, *shape), and their weights, or None where these are equal."""
        drawn = self._weigh_belief(size, rng)
        return drawn.values, drawn.weights

    def _weigh_belief(self, size: int, rng: Seed) -> WeighedDraws:
        self._require_posterior()
        belief = self._approximate_belief()
        if isinstance(belief, Unweighed):
            raise TypeError(f"parameters of {type(self).__name__} are not drawn: {belief.reason}")
        return weigh_belief(belief, size, as_generator(rng))

    @cached_property
    def _checked(self) -> tuple[Any, Reliability] | None:
        """What was learned when it was checked, and what was found; files leave out what is declared so."""
        return None

    @cached_property
    def _learned_from(self) -> Any:
        """The rows of the last fit; without them there is no such attribute, as ``dir`` expects."""
        raise AttributeError(
            f"{type(self).__name__} was read from a file, which does not keep rows: fit it again to check it"
        )

    def _is_exact(self) -> bool:
        """Tell whether the posterior is no approximation."""
        return bool(self.log_evidence_.kind == "exact")  # type: ignore[attr-defined]

    def _what_was_learned(self) -> Any:
        """Return the evidence and the fingerprint of the data, by which one fit is told from another."""
        evidence = getattr(self, "log_evidence_", None)
        return None if evidence is None else (float(evidence), evidence.fingerprint)

    def _require_posterior(self) -> None:
        check_is_fitted(self)
        if self._what_was_learned() is None:
            raise TypeError(
                f"{type(self).__name__} has estimates with these parameters, and no posterior to check"
            )


class DrawsItsPosterior(ApproximatePosterior):
    """Gives an estimator :meth:`draw_posterior` as well."""

    def draw_posterior(self, size: int = 1000, rng: Seed = None) -> dict[str, Array]:
        """Draw parameters from the posterior.

        Assignments and parameters are drawn by turns from many starts, which are draws of what is believed;
        where rows count fractions or have gaps that this does not allow for, draws of the belief are
        drawn again by their weights.

        Parameters
        ----------
        size : int
            At least 100.
        rng : Generator, int or None

        Returns
        -------
        dict from the name of a parameter to its draws, (S, ...)
            Components have the names of those that were fitted.
        """
        generator = as_generator(rng)
        drawn = self._weigh_belief(read_draws(size), generator)
        return even_draws(drawn.values, drawn.weights, size, generator)


def even_draws(
    values: Mapping[str, Array], weights: Array | None, size: int, rng: np.random.Generator
) -> dict[str, Array]:
    """Return so many draws of equal weight: drawn again by their weights, or shuffled where these are equal."""
    if weights is None:
        return dict(values)
    chosen = rng.choice(len(weights), size=size, p=weights / weights.sum())
    if (weights == weights[0]).all():
        chosen = rng.permutation(len(weights))[:size]
    return {name: x[chosen] for name, x in values.items()}


def beliefs_by_draws(values: Mapping[str, Array], weights: Array | None = None) -> dict[str, Any]:
    """Return the draws (S, *shape) of each parameter as a batch of distributions, one for each entry."""
    return {
        name: Empirical(
            np.moveaxis(x, 0, -1),
            None if weights is None else np.broadcast_to(weights, (*x.shape[1:], len(x))),
            event_ndim=0,
        )
        for name, x in values.items()
    }


# -- what the entries of parameters are called ------------------------------------------------


def _labels_of(estimator: Any, beliefs: Mapping[str, Any]) -> dict[str, Labels]:
    """Return the names along the axes of ``coef``, ``intercept`` and ``means``, of one part or of several."""
    return {
        name: _labels(estimator, name, belief.batch_shape + belief.event_shape)
        for name, belief in beliefs.items()
    }


def _labels(estimator: Any, name: str, shape: tuple[int, ...]) -> Labels:
    if name.endswith("coef"):
        return [*_classes(estimator, shape[:-1]), _columns(estimator, shape[-1])]
    if name.endswith("intercept"):
        return _classes(estimator, shape)
    if name == "means" and len(shape) == 2:
        return [None, _columns(estimator, shape[-1])]
    return ()


def _classes(estimator: Any, shape: tuple[int, ...]) -> Labels:
    """Return the classes that predictors are of; of two classes there is one predictor, without a name."""
    if not shape:
        return ()
    return [[""] if shape == (1,) else estimator.classes_]


def _columns(estimator: Any, n: int) -> Sequence[str] | None:
    """Return the names of the columns that have weights, which those of groups have not."""
    groups = getattr(estimator, "_groups", None)
    grouped = groups.names if groups is not None and getattr(estimator, "groups", None) else ()
    every = getattr(estimator, "feature_names_in_", None)
    named = range(estimator.n_features_in_) if every is None else every
    left = [str(column) for column in named if str(column) not in grouped]
    return left if len(left) == n else None
