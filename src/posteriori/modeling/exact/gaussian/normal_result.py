"""What results of jointly normal variables have in common, however they were solved."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from posteriori.distributions.numbers.normal import Normal
from posteriori.distributions.vectors.mvnormal import MvNormal
from posteriori.inference.gaussian.dense import joint_moments
from posteriori.inference.gaussian.energy import RowEnergies
from posteriori.inference.gaussian.equations import Equation, Latent
from posteriori.modeling.beliefs.group_beliefs import (
    Belief,
    NormalBelief,
    dense_belief,
    require_few,
)
from posteriori.modeling.binding.bound import Bound, BoundFactor, Layout
from posteriori.modeling.contract.engine import Result, Terms
from posteriori.modeling.contract.solved import Solved
from posteriori.modeling.forms.data_points import LEAST_LEFT, Data, LeftOut, targets_and_noise
from posteriori.modeling.forms.normal_rows import Split
from posteriori.numerics.types import Array

__all__ = ["NormalResult", "Solution", "System", "in_layout_order"]

#: Latents, equations, and how the axes of each variable were split between them.
System = tuple[tuple[Latent, ...], tuple[Equation, ...], Mapping[str, Split]]


#: The factor of each equation, the equations, and the means of the latents.
Solution = tuple[tuple[str, ...], tuple[Equation, ...], Mapping[str, Array]]


class NormalResult(Result):
    """Jointly normal variables with known spreads."""

    layouts: Mapping[str, Layout]
    #: The log evidence less the part of the misfit, −½ Σ rᵀΛr, where it is known apart.
    log_volume: float | None = None
    #: The smoothed chains, where it has been solved along them.
    chain: Any = None

    @abstractmethod
    def system(self) -> System:
        """Return the equations, for questions about several variables at once."""

    @abstractmethod
    def solution(self) -> Solution:
        """Return all equations, whose factors they are, and the means as they see them."""

    @abstractmethod
    def row_energies(self) -> tuple[list[tuple[str, RowEnergies]], float]:
        """Return the parts of the energy of each row of factors, and the entropy."""

    def at_unit(self, factors: Sequence[BoundFactor], layouts: Mapping[str, Layout]) -> list[Any]:
        """Return factors with an unknown common spread set to 1; here there is none."""
        return list(factors)

    def averaged(self, normal: Any) -> Any:
        """Return a normal distribution averaged over an unknown common spread."""
        return normal

    def most_likely(self) -> dict[str, Any]:
        """Return the means: where the joint density is highest."""
        return {name: _plain(self.marginal(name).mode) for name in self.names}

    def account(self) -> Terms:
        """Return the energy of each factor, and the entropy of all variables together."""
        rows, entropy = self.row_energies()
        return Terms([(name, part.energy) for name, part in rows], {", ".join(self.names): entropy})

    def joint(self, solved: Solved, names: Sequence[str]) -> MvNormal:
        """Return the law of whole variables, flattened and put one after another."""
        mean, cov = self.dense_moments(names)
        return MvNormal(mean, cov=cov)

    def dense_moments(self, names: Sequence[str]) -> tuple[Array, Array]:
        """Return mean and covariance of whole variables, put one after another."""
        latents, equations, splits = self.system()
        mean, cov, slices = joint_moments(latents, equations)
        order = np.concatenate(
            [in_layout_order(self.layouts[n], splits[n]) + slices[n].start for n in names]
        )
        return mean[order], cov[np.ix_(order, order)]

    def carried_over(self, solved: Solved, names: Sequence[str]) -> list[Belief]:
        """Return the joint belief about some variables."""
        return [self.belief(names)]

    def belief(self, names: Sequence[str]) -> NormalBelief:
        """Return the joint belief about some variables."""
        require_few(names, self.layouts)
        return dense_belief(names, *self.dense_moments(names), self.layouts)

    def left_out(
        self, bound: Bound, data: Data, factor: BoundFactor, predict: Callable[[], Any]
    ) -> LeftOut | None:
        """Use y − E = e/(1 − h) and the variance σ²/(1 − h), where h is the leverage."""
        if factor.family is not Normal:
            return None
        y, noise = targets_and_noise(bound, data, factor)
        predicted = predict()
        mean = np.ravel(predicted.mean)[data.positions]
        leverage = np.ravel(predicted.variance)[data.positions] / noise - 1.0
        left = 1.0 - leverage
        if np.any(left < LEAST_LEFT):
            return None
        logs = Normal((y - mean) / left, variance=noise / left).log_prob(0.0)
        return LeftOut(np.asarray(logs), float(leverage.sum()))


def in_layout_order(layout: Layout, split: Split) -> Any:
    """Return positions within a latent's numbers, in the order of the variable's own axes."""
    sizes = [layout.axes[i].size for i in split.batch + split.dense]
    numbers = np.arange(int(np.prod(sizes))).reshape(sizes)
    return np.transpose(numbers, np.argsort(split.batch + split.dense)).ravel()


def _plain(value: Any) -> Any:
    """Return single numbers as Python has them."""
    return float(value) if np.ndim(value) == 0 else value
