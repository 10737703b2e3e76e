"""Chains at many values of numbers outside: matrices are read for all points at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from posteriori.inference.chains.linear_gaussian_chain import LinearGaussianChain
from posteriori.inference.chains.many_chains import evidence_of_chains, pick_chain, smooth_chains
from posteriori.modeling.binding.bound import BoundFactor
from posteriori.modeling.binding.labelled import Axis
from posteriori.modeling.contract.engine import Group, Result
from posteriori.modeling.contract.requests import Request
from posteriori.modeling.exact.chain.chain_block import GaussianChainBlock
from posteriori.modeling.exact.chain.chain_prediction import predict_at_points
from posteriori.modeling.exact.chain.chain_result import ChainResult
from posteriori.modeling.forms.fixing import fix_at_points, some_at_once
from posteriori.numerics.types import Array

__all__ = ["ChainPoints"]

#: Numbers of all points that are held at once: 64 MB.
_NUMBERS = 8_000_000


class ChainPoints:
    """A block of chains at points.

    Parameters
    ----------
    block : GaussianChainBlock
        At some values of those outside.
    group : Group
        With those outside unknown.
    factors : sequence of BoundFactor
        Those of the block, in its order, with those outside unknown.
    """

    def __init__(
        self, block: GaussianChainBlock, group: Group, factors: Sequence[BoundFactor]
    ) -> None:
        self.block = block
        self.group = group
        self.factors = tuple(factors)
        size = block.columns.n_states + block.columns.n_constants
        self.at_once = max(1, _NUMBERS // (block.time.size * (2 * size + 1) * size))

    def log_evidences(self, values: Mapping[str, Array]) -> Array:
        """Return ln p(y | values) at each point."""
        found = []
        for part in some_at_once(values, self.at_once):
            block, chains, log_evidence = self._chains(part)
            found.append(evidence_of_chains(chains, block.y) + log_evidence)
        return np.concatenate(found)

    def results(self, values: Mapping[str, Array]) -> Iterator[Result]:
        """Smooth the chains at each point."""
        for part in some_at_once(values, self.at_once):
            block, chains, log_evidence = self._chains(part)
            post = smooth_chains(chains, block.y)
            totals = post.log_evidence + log_evidence
            for k, total in enumerate(totals):
                moments = post._replace(
                    mean=post.mean[k], cov=post.cov[k], log_evidence=post.log_evidence[k]
                )
                yield ChainResult(float(total), moments, pick_chain(chains, k), block.y, self.block)

    def predict(self, values: Mapping[str, Array], request: Request) -> list[Any]:
        """Predict at the points, as batches whose first axis counts them; none without a rule."""
        found = []
        for part in some_at_once(values, self.at_once):
            block, chains, log_evidence = self._chains(part)
            post = smooth_chains(chains, block.y)
            result = ChainResult(log_evidence, post, chains, block.y, block)
            predicted = predict_at_points(result, self.group.bound, part, request)
            if predicted is None:
                return []
            found.append(predicted)
        return found

    def _chains(
        self, values: Mapping[str, Array]
    ) -> tuple[GaussianChainBlock, LinearGaussianChain, Any]:
        """Return the block at all points, its chains, and the evidence of what these leave out."""
        points = Axis("points", len(next(iter(values.values()))))
        bound, names, chains = self.group.bound, self.block.names, self.block.chains
        factors = fix_at_points(self.factors, bound.layouts, values, points)
        block = GaussianChainBlock(bound, names, factors, chains, points)
        made, log_evidence = block.chain_of(block.seen())
        # as many chains as points, although nothing may differ between them
        first = np.broadcast_to(made.initial_mean, (points.size, np.shape(made.initial_mean)[-1]))
        return block, made._replace(initial_mean=first), log_evidence
