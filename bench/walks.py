"""How far a reader walks to follow one call: files, functions, and changes of file on the way.

Each walk runs once to load and compile what it needs, and again while every call is traced. A hop is
a change of file when the functions are read in the order in which they are first called; comprehensions
and class bodies are parts of the functions around them, and files outside the package are not counted.

    python bench/walks.py            # all walks
    python bench/walks.py compare    # one of them, with its files
"""

from __future__ import annotations

import contextlib
import io
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, NamedTuple

import numpy as np

import posteriori

ROOT = Path(posteriori.__file__).parent

#: Parts of functions that Python runs as functions of their own.
PARTS = ("<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>", "<module>")


class Walk(NamedTuple):
    """The functions of a call in the order in which they are first called, by file and name."""

    steps: list[tuple[str, str]]

    @property
    def files(self) -> list[str]:
        return list(dict.fromkeys(file for file, _ in self.steps))

    @property
    def hops(self) -> int:
        return sum(
            one[0] != other[0] for one, other in zip(self.steps, self.steps[1:], strict=False)
        )


def follow(call: Callable[[], Any]) -> Walk:
    """Trace a call, in all threads that it starts, after it has run once."""
    call()
    seen: dict[CodeType, None] = {}

    def note(frame: FrameType, event: str, _: Any) -> None:
        if event == "call":
            seen.setdefault(frame.f_code)

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    places = [(Path(code.co_filename), code.co_qualname) for code in seen if _is_function(code)]
    return Walk([(str(p.relative_to(ROOT)), name) for p, name in places if p.is_relative_to(ROOT)])


def _is_function(code: CodeType) -> bool:
    is_class_body = "__qualname__" in code.co_names and "__module__" in code.co_names
    return code.co_name not in PARTS and not is_class_body


def table(n: int = 60) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n, 2))
    return x, 1.0 + x @ [2.0, -1.0] + 0.3 * rng.normal(size=n)


def compare_one_model() -> Callable[[], Any]:
    """``posteriori compare x.csv --target y --models linear --html x.html``."""
    from posteriori.cli import app

    folder = Path(tempfile.mkdtemp(prefix="walk"))
    x, y = table()
    text = "\n".join(["a,b,y", *(",".join(f"{v:.6f}" for v in row) for row in np.c_[x, y])])
    (folder / "x.csv").write_text(text + "\n")
    call = [str(folder / "x.csv"), "--target", "y", "--models", "linear"]

    def run() -> None:
        with contextlib.redirect_stdout(io.StringIO()):
            app(["compare", *call, "--html", str(folder / "x.html")], standalone_mode=False)

    return run


def forecast_one_model() -> Callable[[], Any]:
    """``posteriori forecast x.csv --time month --value y --models level --html x.html``."""
    from posteriori.cli import app

    folder = Path(tempfile.mkdtemp(prefix="walk"))
    y = 10.0 + np.cumsum(np.random.default_rng(0).normal(size=60))
    months = np.datetime64("2015-01") + np.arange(60)
    text = "\n".join(["month,y", *(f"{m}-01,{v:.6f}" for m, v in zip(months, y, strict=True))])
    (folder / "x.csv").write_text(text + "\n")
    call = [str(folder / "x.csv"), "--time", "month", "--value", "y", "--models", "level"]

    def run() -> None:
        with contextlib.redirect_stdout(io.StringIO()):
            app(["forecast", *call, "--html", str(folder / "x.html")], standalone_mode=False)

    return run


def infer_regression() -> Callable[[], Any]:
    """``infer`` of linear regression with known noise."""
    from posteriori import Input, Model, MvNormal, Normal

    x, y = table()
    m = Model()
    m.X = Input()
    m.w = MvNormal(np.zeros(2), cov=np.eye(2))
    m.y = Normal(m.X @ m.w, variance=0.1)

    def run() -> None:
        post = m.infer(X=x, y=y)
        _ = post.w, post.log_evidence

    return run


def predict_regression() -> Callable[[], Any]:
    """``predict`` of linear regression at new inputs, after ``infer``."""
    from posteriori import Input, Model, MvNormal, Normal

    x, y = table()
    m = Model()
    m.X = Input()
    m.w = MvNormal(np.zeros(2), cov=np.eye(2))
    m.y = Normal(m.X @ m.w, variance=0.1)
    post = m.infer(X=x, y=y)
    return lambda: post.predict("y", X=x[:3])


def infer_mixture() -> Callable[[], Any]:
    """``infer`` of a Gaussian mixture, by variational message passing."""
    from posteriori import Categorical, Dirichlet, Gamma, Model, Normal

    rng = np.random.default_rng(0)
    data = np.concatenate([rng.normal(-3.0, 1.0, 40), rng.normal(3.0, 1.0, 40)])
    m = Model()
    m.pi = Dirichlet(np.ones(2))
    m.mu = Normal(0.0, variance=100.0).iid(2)
    m.tau = Gamma(shape=1.0, rate=1.0).iid(2)
    m.z = Categorical(m.pi).iid("n")
    m.x = Normal(m.mu[m.z], precision=m.tau[m.z])

    def run() -> None:
        post = m.infer(x=data, rng=0)
        _ = post.mu, post.log_evidence

    return run


def fit_regression() -> Callable[[], Any]:
    """``BayesianLinearRegressor.fit``."""
    from posteriori.regression import BayesianLinearRegressor

    x, y = table()
    model = BayesianLinearRegressor()
    return lambda: model.fit(x, y)


WALKS = {
    "compare": compare_one_model,
    "forecast": forecast_one_model,
    "infer": infer_regression,
    "predict": predict_regression,
    "mixture": infer_mixture,
    "fit": fit_regression,
}


def main(names: list[str]) -> None:
    print(f"{'walk':<10}{'files':>7}{'functions':>11}{'hops':>7}  rooms")
    for name in names or WALKS:
        walk = follow(WALKS[name]())
        rooms = Counter(Path(file).parts[0] for file in walk.files)
        told = ", ".join(f"{room} {count}" for room, count in rooms.most_common())
        print(f"{name:<10}{len(walk.files):>7}{len(walk.steps):>11}{walk.hops:>7}  {told}")
        if names:
            calls = Counter(file for file, _ in walk.steps)
            print("\n".join(f"    {calls[file]:>4}  {file}" for file in walk.files))


if __name__ == "__main__":
    main(sys.argv[1:])
