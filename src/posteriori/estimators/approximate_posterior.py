"""What every estimator with an approximate posterior answers about it: how far to trust it.

An estimator states one method, ``_approximate_belief``: the belief that it has learned, with its draws and the
true density by which they are weighed, or draws of the posterior
(:mod:`posteriori.inference.weighing.approximate_beliefs`). None says that the posterior is exact; words say why
nothing can be weighed, and what is known nevertheless.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

from sklearn.utils.validation import check_is_fitted

from posteriori.inference.weighing.approximate_beliefs import (
    ApproximateBelief,
    cautions_of,
    check_belief,
    weigh_belief,
)
from posteriori.inference.weighing.parameter_intervals import (
    ParameterIntervals,
    intervals_by_draws,
)
from posteriori.inference.weighing.reliability import Reliability, in_words, read_draws
from posteriori.numerics.random import as_generator
from posteriori.numerics.types import Seed

__all__ = ["ApproximatePosterior"]


class ApproximatePosterior:
    """Gives an estimator :meth:`reliability`, ``cautions`` and :meth:`parameter_intervals`."""

    def _approximate_belief(self) -> ApproximateBelief | str | None:
        """Return the belief, None of an exact one, or words that say why it cannot be weighed."""
        raise NotImplementedError

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
        check_is_fitted(self)
        belief = self._approximate_belief()
        if belief is None:
            found = Reliability()
        elif isinstance(belief, str):
            found = Reliability(unchecked=belief)
        else:
            found = check_belief(belief, size, as_generator(rng))
        self._checked = (self._what_was_learned(), found)
        return found

    @property
    def cautions(self) -> tuple[str, ...]:
        """What not to trust: as :meth:`reliability` found, or as is known of what was cut apart."""
        check_is_fitted(self)
        checked = vars(self).get("_checked")
        if checked is not None and checked[0] == self._what_was_learned():
            return cautions_of(checked[1])
        belief = self._approximate_belief()
        if isinstance(belief, str):
            return (f"not checked: {belief}",)
        return () if belief is None else tuple(in_words(belief.too_narrow()))

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
        size = read_draws(draws)
        check_is_fitted(self)
        belief = self._approximate_belief()
        if belief is None or isinstance(belief, str):
            raise TypeError(f"{type(self).__name__} has no draws of its parameters; see posterior_")
        return intervals_by_draws(weigh_belief(belief, size, as_generator(rng)), mass)

    @cached_property
    def _checked(self) -> tuple[Any, Reliability] | None:
        """What was learned when it was checked, and what was found; files leave out what is declared so."""
        return None

    @cached_property
    def _learned_from(self) -> Any:
        """The rows of the last fit, which files leave out as well."""
        raise TypeError(
            f"{type(self).__name__} was read from a file, which has not kept its rows: fit it again to check it"
        )

    def _what_was_learned(self) -> Any:
        """Return the evidence and the fingerprint of the data, by which one fit is told from another."""
        evidence = getattr(self, "log_evidence_", None)
        return None if evidence is None else (float(evidence), evidence.fingerprint)
