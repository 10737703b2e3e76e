"""Use the package as it was installed: the language, an estimator, a command, a saved model.

``make dist`` runs it in an environment that has nothing but the built package, in a folder of its own.
"""

import subprocess
import sys
from pathlib import Path

import numpy as np

import posteriori
from posteriori import Bernoulli, Beta, Model, Normal, bayes
from posteriori.regression import BayesianLinearRegressor


def main() -> None:
    """Fail where anything is missing from the package."""
    installed = Path(posteriori.__file__)
    assert "site-packages" in installed.parts, f"this is not the installed package: {installed}"
    assert bayes(Beta(1, 1), Bernoulli, [1, 0, 1]).posterior == Beta(3, 2)
    m = Model()
    m.mu = Normal(0.0, variance=1.0)
    m.y = Normal(m.mu, variance=1.0)
    assert np.isclose(m.infer(y=1.0).mu.mean, 0.5)
    x = np.linspace(0.0, 1.0, 30)[:, None]
    assert BayesianLinearRegressor().fit(x, 2.0 * x[:, 0] + np.sin(40 * x[:, 0])).coef_[0] > 1.0
    rows = [f"{a:.3f},{2 * a + 0.1 * np.sin(90 * a):.4f}" for a in x[:, 0]]
    Path("x.csv").write_text("\n".join(["a,y", *rows]) + "\n", encoding="utf-8")
    run("compare", "x.csv", "--target", "y", "--models", "constant,linear", "--save", "model.po")
    run("predict", "model.po", "x.csv", "--out", "predicted.csv")
    assert "y_" in Path("predicted.csv").read_text(encoding="utf-8").splitlines()[0]
    print("The package works as it is installed.")


def run(*arguments: str) -> None:
    """Run the installed command."""
    subprocess.run([Path(sys.executable).parent / "posteriori", *arguments], check=True)


if __name__ == "__main__":
    main()
