"""The variational block: parts of a model that are exact alone, believed in independently."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from posteriori.modeling.binding.bound import Bound, BoundFactor
from posteriori.modeling.binding.labelled import Axis
from posteriori.modeling.contract.costs import Cost
from posteriori.modeling.contract.engine import Block
from posteriori.modeling.contract.options import Options
from posteriori.modeling.variational.ascent.approximation import Approximation
from posteriori.modeling.variational.ascent.coordinate_ascent import (
    Ascent,
    ascend,
    best_start,
    sweep,
)
from posteriori.modeling.variational.ascent.informed import find_informed
from posteriori.modeling.variational.ascent.problem import Problem
from posteriori.modeling.variational.ascent.starts import start
from posteriori.modeling.variational.augmentation.correction import can_correct
from posteriori.modeling.variational.extension import extend, restrict
from posteriori.modeling.variational.stream import streaming
from posteriori.modeling.variational.stream.stochastic import ascend_in_batches, settle
from posteriori.modeling.variational.variational_result import VariationalResult
from posteriori.numerics.random import as_generator
from posteriori.numerics.telling.progress import Progress
from posteriori.numerics.types import Array

__all__ = ["VariationalBlock"]

#: Starts of models whose unknowns can change places, and the sweeps after which the best is kept.
_STARTS = 5

#: Passes over means, spreads and shares before the classes that a start found are looked at again:
#: under wide priors these begin far apart from the data, and from one another. Factors are not
#: held: their loadings would be given up before factors have fitted the data.
_FIRST_PASSES = 10

#: Sweeps of all starts, after which the best is kept.
_TRIAL_SWEEPS = 15


class VariationalBlock(Block):
    """Unknown variables that need several exact blocks.

    Parameters
    ----------
    bound : Bound
    names : sequence of str
    factors : sequence of BoundFactor
        All factors that touch them.
    options : Options, optional
    """

    method = "variational message passing"
    tells_progress = True

    def __init__(
        self,
        bound: Bound,
        names: Sequence[str],
        factors: Sequence[BoundFactor],
        options: Options | None = None,
    ) -> None:
        self.approximation = Approximation(bound, names, factors, options or Options())
        self.names, self.factors = tuple(names), self.approximation.factors
        self.exchangeable = self.approximation.structure.exchangeable

    @property
    def why(self) -> str:
        """Why this method is used."""
        small = "; marginals are corrected by draws" if can_correct(self.approximation) else ""
        return (
            f"{len(self.approximation.structure.groups)} groups of variables are exact given the others; "
            f"their beliefs are independent, so the evidence is a lower bound{small}"
        )

    @property
    def trusted_for(self) -> str:
        """Draws that correct what is cut apart, where the block is small."""
        return "draws of the exact posterior" if can_correct(self.approximation) else ""

    @property
    def order(self) -> tuple[str, ...]:
        """The order of updates."""
        problem = self.approximation.problem(Axis("restart", 1))
        return tuple(" & ".join(node.names) for node in (*problem.shared, *problem.local))

    @property
    def cost(self) -> Cost:
        """Operations and memory of one sweep, roughly."""
        operations = words = 0.0
        for monomial in self.approximation.monomials:
            axes = {a for t in monomial.tables for a in t.axes}
            axes |= {
                a for access in monomial.accesses for a in access.places if isinstance(a, Axis)
            }
            cells = float(np.prod([float(a.size) for a in axes])) if axes else 1.0
            operations += 4.0 * cells
            words = max(words, cells)
        return Cost(operations, 8.0 * words)

    def describe(self) -> str:
        """Say which parts are updated in turn."""
        found, restart = self.approximation, Axis("restart", 1)
        parts = []
        for group in found.structure.groups:
            how = ", by forward-backward" if len(group) == 1 and group[0] in found.chained else ""
            parts.append(f"{' & '.join(group)}: {found.node(group, restart).describe()}{how}")
        return "; ".join(parts)

    def solve(self) -> VariationalResult:
        """Ascend with the members that data depend on; then find the belief about the others."""
        whole = self.approximation
        cut = find_informed(whole.bound, whole.written)
        some = whole if cut is None else restrict(whole, cut)
        progress = Progress(whole.options.progress, kept="nothing yet")
        try:
            informed = VariationalResult(some, *_solve(some, progress))
        finally:
            progress.close()
        if cut is None:
            return informed
        whole, problem = extend(whole, informed.problem, cut)
        return VariationalResult(whole, problem, informed.ascent, informed)


def _solve(approximation: Approximation, progress: Progress) -> tuple[Problem, Ascent]:
    """Ascend from several starts, and from the best of them to the end."""
    options = approximation.options
    several = approximation.structure.exchangeable and not options.init
    starts = options.n_init or (_STARTS if several else 1)
    rng = as_generator(options.rng)
    many = approximation.largest * starts >= min(streaming.MANY, streaming.MANY_COVARIANCES)
    wanted = many or options.batch_size is not None
    stream = streaming.find_stream(approximation, starts) if wanted else None
    streamed, rows = None, None
    problem = approximation.problem(Axis("restart", starts))
    if stream is not None:
        rows = None if options.init else stream.sample(rng)
        problem = streamed = stream.problem(problem.shared, problem.restart, rows)
    start(approximation, problem, rng, rows)
    before: list[float] = []
    if starts > 1 or rows is not None:
        first = 1 if "factors" in approximation.structure.exchangeable.values() else _FIRST_PASSES
        trial: list[Array] = []
        for passes in (first, *[1] * (_TRIAL_SWEEPS - 1)):
            trial.append(sweep(problem, passes))
            progress.show(len(trial), trial[-1].max())
        best = best_start(trial[-1])
        before = [float(bounds[best]) for bounds in trial] if rows is None else []
        problem.select(best)
        if options.batch_size is not None and approximation.structure.bilinears:
            settle(problem, approximation.structure.bilinears, tol=options.tol)
        if stream is not None:  # of all rows, and in larger parts
            problem = streamed = stream.problem(problem.shared, problem.restart)
    progress.kept = "this"
    if streamed is not None and options.batch_size is not None:
        return streamed, ascend_in_batches(
            streamed, options, rng, approximation.structure.bilinears, progress
        )
    classes = [
        name for name, kind in approximation.structure.exchangeable.items() if kind == "classes"
    ]
    ascent = ascend(
        problem,
        tol=options.tol,
        max_iter=options.max_iter,
        callback=options.callback,
        pairs=approximation.structure.bilinears,
        systems=approximation.structure.systems,
        classes=classes,
        named=approximation.structure.named,
        progress=progress,
    )
    return problem, ascent._replace(trace=(*before, *ascent.trace))
