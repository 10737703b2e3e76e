"""Long work says how far it is: on a terminal, from two seconds on, whatever the method."""

import io
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from posteriori import Categorical, Chain, Dirichlet, Gamma, Input, Model, MvNormal, Normal, take
from posteriori.modeling.contract.engine import Block, Result
from posteriori.modeling.exact.chain.chain_block import GaussianChainBlock
from posteriori.modeling.exact.discrete.discrete_block import DiscreteBlock
from posteriori.modeling.exact.gaussian.gaussian_block import GaussianBlock
from posteriori.modeling.variational.variational_result import VariationalResult


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Clock:
    """Each look at it takes some time."""

    def __init__(self, step: float) -> None:
        self.now, self.step = 0.0, step

    def __call__(self) -> float:
        self.now += self.step
        return self.now


def mixture() -> Model:
    m = Model()
    m.w = Dirichlet([2, 2])
    m.mu = Normal(0, variance=16).iid(2)
    m.z = Categorical(m.w).iid("n")
    m.y = Normal(take(m.mu, m.z), variance=1)
    return m


def level() -> Model:
    m = Model()
    m.tau = Gamma(2, rate=1)
    m.mu = Normal(0, variance=100)
    m.y = Normal(m.mu, precision=m.tau).iid("n")
    return m


RNG = np.random.default_rng(1)
CLASSES = np.concatenate([RNG.normal(-1.4, 1, 40), RNG.normal(1.4, 1, 30)])

METHODS: dict[str, tuple[Callable[[], Model], dict[str, Any], str]] = {
    "starts": (mixture, {"method": "vmp"}, "bound -.*; Ctrl-C keeps nothing yet)"),
    "ascent": (mixture, {"method": "vmp"}, "bound -.*; Ctrl-C keeps this)"),
    "batches": (mixture, {"batch_size": 20, "max_iter": 300}, "step "),
    "draws": (mixture, {}, "draws that correct beliefs"),
    "integral": (level, {}, "points (.*; Ctrl-C keeps nothing)"),
}


def ask(monkeypatch: pytest.MonkeyPatch, name: str, step: float, **more: Any) -> str:
    build, options, _ = METHODS[name]
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setattr("posteriori.numerics.telling.progress.time.monotonic", Clock(step))
    post = build().infer(y=CLASSES, **options, **more)
    repr(post)
    monkeypatch.undo()
    return terminal.getvalue()


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.filterwarnings("ignore::posteriori.numerics.warnings.ConvergenceWarning")
def test_work_of_every_method_says_how_far_it_is(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    start, _, end = METHODS[name][2].partition(".*")
    told_text = ask(monkeypatch, name, 1.1)
    lines = told_text.split("\r")
    assert told_text.endswith("\n")
    assert "\n\n" not in told_text
    assert any(start in line and end in line for line in lines), lines[:5]


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.filterwarnings("ignore::posteriori.numerics.warnings.ConvergenceWarning")
def test_nothing_is_said_of_short_work_nor_where_it_is_not_wanted(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert ask(monkeypatch, name, 1e-4) == ""
    assert ask(monkeypatch, name, 1.1, progress=False) == ""


def walk() -> tuple[Model, dict[str, Any]]:
    m = Model()
    m.s = Chain(Normal(0, variance=9), lambda s: Normal(s, variance=1), length="t")
    m.y = Normal(m.s, variance=1)
    return m, {"y": CLASSES}


def weights() -> tuple[Model, dict[str, Any]]:
    m = Model()
    m.X = Input("n")
    m.w = MvNormal(np.zeros(2), cov=np.eye(2))
    m.y = Normal(m.X @ m.w, variance=1)
    return m, {"X": np.ones((len(CLASSES), 2)), "y": CLASSES}


def states() -> tuple[Model, dict[str, Any]]:
    rows = np.full((3, 3), 1 / 3)
    m = Model()
    m.z = Chain(Categorical(rows[0]), lambda z: Categorical(take(rows, z)), length="t")
    m.y = Normal(take([0.0, 1.0, 2.0], m.z), variance=1)
    return m, {"y": CLASSES}


EXACT: dict[str, tuple[Callable[[], tuple[Model, dict[str, Any]]], type[Block], str]] = {
    "chain": (walk, GaussianChainBlock, "s: Kalman smoother in square roots, about "),
    "elimination": (weights, GaussianBlock, "w: Gaussian elimination, about "),
    "states": (states, DiscreteBlock, "z: forward-backward, about "),
}


@pytest.mark.parametrize("name", EXACT)
def test_a_single_exact_solution_says_what_is_running_and_for_how_long(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    build, kind, said = EXACT[name]
    terminal, solve = Terminal(), kind.solve

    def solve_late(block: Any) -> Result:
        """Wait, as for a compiled loop, until two lines are there: only another thread can write them."""
        for _ in range(100):
            if terminal.getvalue().count("\r") > 1:
                break
            threading.Event().wait(0.05)
        return solve(block)

    monkeypatch.setattr(kind, "solve", solve_late)
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setattr("posteriori.numerics.telling.progress.time.monotonic", Clock(1.1))
    model, data = build()
    model.infer(**data)
    _, *lines = terminal.getvalue().split("\r")
    assert len(lines) > 1
    assert all(line.startswith(said) and "s; Ctrl-C keeps nothing)" in line for line in lines)
    assert lines[-1].endswith("\n")


@pytest.mark.parametrize("name", EXACT)
def test_nothing_is_said_of_a_short_exact_solution(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setattr("posteriori.numerics.telling.progress.time.monotonic", Clock(1e-4))
    model, data = EXACT[name][0]()
    model.infer(**data)
    assert terminal.getvalue() == ""


def test_nothing_is_said_where_standard_error_is_no_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("posteriori.numerics.telling.progress.time.monotonic", Clock(1.1))
    level().infer(y=CLASSES)
    assert capsys.readouterr().err == ""


def test_ctrl_c_keeps_the_steps_that_were_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(step: int, bound: float) -> bool:
        if step == 40:
            raise KeyboardInterrupt
        return False

    post = mixture().infer(y=CLASSES, batch_size=20, callback=stop)
    (result,) = post._solved.results
    assert isinstance(result, VariationalResult)
    assert result.ascent.message == "interrupted after 40 steps"
    assert not result.ascent.converged
    whole = mixture().infer(y=CLASSES, method="vmp")
    assert abs(float(post.log_evidence) - float(whole.log_evidence)) < 1.0
