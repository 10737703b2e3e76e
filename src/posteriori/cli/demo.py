"""The demonstration: the command ``compare`` on built-in data."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
from rich.console import Console
from sklearn.datasets import load_diabetes

from posteriori.analysis.tasks.listed import TASKS
from posteriori.cli.running_tasks import Places, answer_task

__all__ = ["load_demo", "run_demo"]


def load_demo() -> pd.DataFrame:
    """Return 442 patients with diabetes, ten measurements each, and the disease a year later."""
    frame = load_diabetes(as_frame=True, scaled=False).frame
    names = {"s1": "cholesterol", "s2": "ldl", "s3": "hdl", "s5": "log_triglycerides"}
    names |= {"s4": "cholesterol_ratio", "s6": "glucose", "target": "progression"}
    frame["sex"] = frame["sex"].map({1.0: "a", 2.0: "b"})
    return frame.rename(columns=names)


def run_demo(html: Path, seed: int) -> None:
    """Compare models of the progression of diabetes, print the verdict and write the report."""
    console = Console(highlight=False)
    console.print("Progression of diabetes in 442 patients (B. Efron et al., 2004)", style="bold")
    loading = "from posteriori.cli.demo import load_demo\n\ntable = load_demo()"
    options = {"target": "progression", "seed": seed}
    answer_task(
        console, TASKS[0], load_demo(), options, Places(html), title="diabetes", loading=loading
    )
    console.print(
        f"Next: open {html}; posteriori compare your.csv --target column",
        markup=False,
        soft_wrap=True,
    )
