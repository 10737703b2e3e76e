"""Normal variables with their unknown common precision, solved together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from posteriori.distributions.base import Distribution
from posteriori.distributions.numbers.gamma import Gamma
from posteriori.distributions.numbers.inverse_gamma import InverseGamma
from posteriori.distributions.numbers.normal import Normal
from posteriori.distributions.numbers.student_t import StudentT
from posteriori.modeling.beliefs.group_beliefs import Belief, ScaledBelief
from posteriori.modeling.binding.bound import Bound, BoundFactor, Layout
from posteriori.modeling.binding.construction import member
from posteriori.modeling.contract.engine import Result, Terms
from posteriori.modeling.contract.linear_forms import SeenMoments
from posteriori.modeling.contract.requests import Request
from posteriori.modeling.contract.solved import Solved
from posteriori.modeling.exact.chain.chain_prediction import predict_along
from posteriori.modeling.exact.gaussian.normal_result import NormalResult
from posteriori.modeling.exact.scaled.scaled_factors import (
    MATRICES,
    PRECISIONS,
    at_unit,
    at_unit_precision,
    places_of_spread,
)
from posteriori.modeling.exact.scaled.scaled_joint import joint_of_scaled
from posteriori.modeling.exact.scaled.student import student
from posteriori.modeling.forms.data_points import LEAST_LEFT, Data, LeftOut, targets_and_noise
from posteriori.modeling.forms.message_graph import PassedMessages
from posteriori.modeling.forms.simulation import expected_log_prior
from posteriori.numerics.linalg import triangular_inverse
from posteriori.numerics.random import as_generator
from posteriori.numerics.types import Array, Seed

if TYPE_CHECKING:
    from posteriori.modeling.exact.scaled.scaled_block import CommonPrecisionBlock

__all__ = ["CommonPrecisionResult"]


class CommonPrecisionResult(Result):
    """A solved block.

    Attributes
    ----------
    spread : str
        Name of the common precision or variance.
    belief : Gamma, InverseGamma, Wishart or InverseWishart
        Its posterior.
    gaussian : NormalResult
        The normal variables at unit precision.
    owners : mapping to int arrays
        Which member of the common precision each member of a normal variable has.
    block : CommonPrecisionBlock
        What was solved.
    """

    def __init__(
        self,
        belief: Any,
        gaussian: NormalResult,
        owners: Mapping[str, Any],
        log_evidence: float,
        block: CommonPrecisionBlock,
    ) -> None:
        self.spread = block.spread
        self.names = (block.spread, *gaussian.names)
        self.layouts: Mapping[str, Layout] = gaussian.layouts
        self.belief = belief
        self.gaussian = gaussian
        self.owners = owners
        self.log_evidence = log_evidence
        self.block = block

    def answers(self, names: Iterable[str]) -> Mapping[str, SeenMoments]:
        """Return what is known of the normal variables at unit precision."""
        return self.gaussian.answers(names)

    @property
    def chain(self) -> Any:
        """The smoothed chains at unit precision."""
        return self.gaussian.chain

    def marginal(self, name: str) -> Distribution:
        """Return the marginal of a variable: Student t for the normal ones."""
        if name == self.spread:
            return self.belief
        return student(self.gaussian.marginal(name), self.belief, self.owners[name])

    def sample(self, size: int, *, rng: Seed = None) -> dict[str, Array]:
        """Draw the precision, then the normal variables given it."""
        generator = as_generator(rng)
        spreads = self.belief.sample(size, rng=generator)
        roots = _noise_roots(self.belief, spreads)
        found = {self.spread: spreads}
        for name, draws in self.gaussian.sample(size, rng=generator).items():
            center = np.asarray(self.gaussian.marginal(name).mean)
            found[name] = center + self._scale(roots[:, self.owners[name]], draws - center)
        return found

    def most_likely(self) -> dict[str, Any]:
        """Return where the joint density of the precision and the normal variables is highest.

        There the normal variables are at their means, and their density has a factor
        √τ for each of their numbers.
        """
        first, second = self.belief.natural
        rows = self.block.count_rows(self.owners)
        sign = 0.5 if isinstance(self.belief, PRECISIONS) else -0.5
        given = self.belief._from_natural(first + sign * rows.reshape(np.shape(first)), second)
        found = {self.spread: given.mode}
        for name in self.gaussian.names:
            found[name] = np.asarray(self.gaussian.marginal(name).mean)[()]
        return found

    def _scale(self, roots: Array, noise: Array) -> Array:
        """Return root · noise, where a root may stand for all members."""
        tail = self.belief.event_shape
        events = len(tail) // 2
        missing = (1,) * (noise.ndim - events - (roots.ndim - len(tail)))
        full = roots.reshape(roots.shape[: roots.ndim - len(tail)] + missing + tail)
        return np.matmul(full, noise[..., None])[..., 0] if tail else full * noise

    def at_unit(self, factors: Sequence[BoundFactor], layouts: Mapping[str, Layout]) -> list[Any]:
        """Set the common precision to 1."""
        family = type(self.belief)
        return [at_unit_precision(f, self.spread, family, self.owners, layouts) for f in factors]

    def averaged(self, normal: Any) -> Any:
        """Average over the one common precision."""
        return student(normal, self.belief, np.zeros((), dtype=np.intp))

    def predict(self, solved: Solved, request: Request) -> Distribution | None:
        """Predict at the times of a chain, and after its end."""
        return predict_along(self, solved, request)

    def joint(self, solved: Solved, names: Sequence[str]) -> Distribution:
        """Return the law of normal variables, with or without their precision."""
        return joint_of_scaled(self, names)

    def account(self) -> Terms:
        """Average the terms at unit precision over τ: ln τ enters every row, τ every misfit."""
        belief, block = self.belief, self.block
        logs, precisions = belief.mean_params  # ±E[ln|τ|], E[τ]
        log_tau = np.ravel(logs if isinstance(belief, PRECISIONS) else -logs)
        tau = np.reshape(precisions, (len(log_tau), -1))
        rows, entropy = self.gaussian.row_energies()
        energies = [(self.spread, expected_log_prior(belief, member(block.prior_factor)))]
        energies += [(n, part.log_height - 0.5 * float(np.sum(part.spread))) for n, part in rows]
        energies += block.log_slopes.items()
        for tally in block.tallies(self.gaussian):
            misfits = tally.misfits.reshape(tau.shape)
            more = float(tally.counts @ log_tau - np.sum(tau * misfits))  # N E[ln|τ|] − tr(E[τ] R)
            energies.append((tally.name, 0.5 * more))
        entropy += float(np.sum(belief.entropy()))
        for name, owners in self.owners.items():
            alike = block.rows_of(name) / np.size(owners)
            entropy -= 0.5 * alike * float(np.sum(log_tau[owners]))
        return Terms(energies, {", ".join(self.names): entropy})

    def messages(self) -> Iterator[PassedMessages]:
        """Refuse: there are none in an exponential family."""
        raise TypeError(
            f"no messages between {', '.join(self.names)}: factors join unknown means and an unknown "
            "spread, so that messages to one alone are in no exponential family"
        )

    def carried_over(self, solved: Solved, names: Sequence[str]) -> list[Belief]:
        """Return the normal belief at unit precision with that about the precision."""
        normal = tuple(n for n in names if n != self.spread)
        alone = not self.belief.batch_shape and isinstance(self.belief, (Gamma, InverseGamma))
        one_vector = not self.belief.batch_shape and len(normal) == 1
        one_vector = one_vector and len(self.layouts[normal[0]].axes) == 1
        if self.spread not in names or not (alone or one_vector):
            raise TypeError(
                f"what is known of {', '.join(names)} cannot be carried over to new data, because "
                f"{self.spread} has several members, or is a matrix with more than one vector: infer "
                "again with all data"
            )
        unit = self.gaussian.belief(normal)
        return [ScaledBelief(unit, self.spread, self.belief)]

    def left_out(
        self, bound: Bound, data: Data, factor: BoundFactor, predict: Callable[[], Distribution]
    ) -> LeftOut | None:
        """Leave out at unit precision, with a − ½ and b − e²/{2σ²(1 − h)} for its belief."""
        belief = self.belief
        if factor.family is not Normal or isinstance(belief, MATRICES):
            return None
        y, noise = targets_and_noise(bound, data, at_unit(factor, self.spread, type(belief)))
        owners = places_of_spread(factor, self.spread, bound.layouts[self.spread])
        owners = owners.ravel()[data.positions]
        amount = belief.rate if isinstance(belief, PRECISIONS) else belief.scale
        a, b = (np.ravel(part)[owners] for part in (belief.shape, amount))
        predicted = predict()
        mean, scale = (np.ravel(part)[data.positions] for part in (predicted.mean, predicted.scale))
        leverage = scale**2 * a / b / noise - 1.0
        left, gone = 1.0 - leverage, y - mean
        if np.any(left < LEAST_LEFT):
            return None
        shape, rate = a - 0.5, b - 0.5 * gone**2 / (noise * left)
        wide = np.sqrt(rate / shape * noise / left)
        logs = StudentT(2.0 * shape, gone / left, scale=wide).log_prob(0.0)
        return LeftOut(np.asarray(logs), float(leverage.sum()))


def _noise_roots(belief: Any, spreads: Array) -> Array:
    """Return what turns noise of unit precision into that of drawn spreads, (S, G[, D, D])."""
    flat = np.reshape(spreads, (len(spreads), -1, *belief.event_shape))
    if not isinstance(belief, MATRICES):
        return flat**-0.5 if isinstance(belief, PRECISIONS) else np.sqrt(flat)
    lower = np.linalg.cholesky(flat)
    return triangular_inverse(lower).swapaxes(-1, -2) if isinstance(belief, PRECISIONS) else lower
