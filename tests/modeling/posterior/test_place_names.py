"""Rows of summaries are called as the data, or categories, call the members of plates and other axes."""

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
import pytest

from posteriori import Categorical, Chain, Dirichlet, Input, Model, MvNormal, Normal, take
from posteriori.modeling import load_posterior
from posteriori.plotting import plot

matplotlib.use("Agg")

SCHOOLS = ["Choate", "Deerfield", "Andover"]
Y = np.array([2.0, 3.0, 7.0])
TOWNS = ["Ulm", "Zell", "Aalen", "Ulm", "Ulm", "Zell"]
SEEN = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])


def schools(y: Any) -> tuple[Model, dict[str, Any]]:
    m = Model()
    m.mu = Normal(0, variance=9)
    m.theta = Normal(m.mu, variance=4).iid("school")
    m.y = Normal(m.theta, variance=1)
    return m, {"y": y}


def towns(town: Any, members: int = 3) -> tuple[Model, dict[str, Any]]:
    m = Model()
    m.town = Input("house")
    m.mean = Normal(0, variance=9).iid(members)
    m.effect = Normal(m.mean, variance=4)
    m.y = Normal(m.effect[m.town], variance=1)
    return m, {"town": town, "y": SEEN}


def weights(columns: list[Any]) -> tuple[Model, dict[str, Any]]:
    m = Model()
    m.X = Input()
    m.w = MvNormal(np.zeros(2), cov=np.eye(2))
    m.y = Normal(m.X @ m.w, variance=1)
    return m, {"X": pd.DataFrame([[1.0, 0.0], [0.5, 2.0]], columns=columns), "y": [1.0, 2.0]}


def classes() -> tuple[Model, dict[str, Any]]:
    m = Model()
    m.share = Dirichlet([2, 2])
    m.mu = Normal([-3.0, 3.0], variance=1)
    m.z = Categorical(m.share, labels=("low", "high")).iid("n")
    m.y = Normal(take(m.mu, m.z), variance=1)
    return m, {"y": pd.Series([-3.0, 2.5, 3.0], index=["a", "b", "c"])}


def walk() -> tuple[Model, dict[str, Any]]:
    m = Model()
    m.s = Chain(Normal(0, variance=9), lambda s: Normal(s, variance=1), length="t")
    m.y = Normal(m.s, variance=1)
    return m, {"y": pd.Series(Y, index=pd.date_range("2020-01-30", periods=3))}


def table() -> tuple[Model, dict[str, Any]]:
    m = Model()
    m.a = Normal(0, variance=4).iid("person")
    m.b = Normal(0, variance=4).iid("film")
    m.y = Normal(m.a + m.b, variance=1)
    rated = pd.DataFrame([[1.0, 2.0], [3.0, 5.0]], index=["Ann", "Bo"], columns=["Alien", "Brazil"])
    return m, {"y": rated}


EFFECTS = [f"{name}[{town}]" for name in ("mean", "effect") for town in ("Aalen", "Ulm", "Zell")]
CASES: dict[str, tuple[Callable[[], tuple[Model, dict[str, Any]]], list[str]]] = {
    "index": (
        lambda: schools(pd.Series(Y, index=SCHOOLS)),
        ["mu", "theta[Choate]", "theta[Deerfield]", "theta[Andover]"],
    ),
    "numbers of an index": (
        lambda: schools(pd.Series(Y, index=[1970, 1980, 1990])),
        ["mu", "theta[1970]", "theta[1980]", "theta[1990]"],
    ),
    "several levels": (
        lambda: schools(
            pd.Series(Y, index=pd.MultiIndex.from_tuples([("A", 1), ("A", 2), ("B", 1)]))
        ),
        ["mu", "theta[A, 1]", "theta[A, 2]", "theta[B, 1]"],
    ),
    "no index": (lambda: schools(Y), ["mu", "theta[0]", "theta[1]", "theta[2]"]),
    "an index that counts": (
        lambda: schools(pd.Series(Y)),
        ["mu", *(f"theta[{k}]" for k in range(3))],
    ),
    "an index that repeats": (
        lambda: schools(pd.Series(Y, index=["a", "a", "b"])),
        ["mu", "theta[0]", "theta[1]", "theta[2]"],
    ),
    "dates": (walk, ["s[2020-01-30]", "s[2020-01-31]", "s[2020-02-01]"]),
    "rows and columns": (table, ["a[Ann]", "a[Bo]", "b[Alien]", "b[Brazil]"]),
    "texts": (lambda: towns(TOWNS), EFFECTS),
    "array of texts": (lambda: towns(np.array(TOWNS)), EFFECTS),
    "Series of texts": (lambda: towns(pd.Series(TOWNS)), EFFECTS),
    "categories": (
        lambda: towns(pd.Categorical(TOWNS, categories=["Zell", "Ulm", "Aalen", "Bonn"]), 4),
        [f"{name}[{t}]" for name in ("mean", "effect") for t in ("Zell", "Ulm", "Aalen", "Bonn")],
    ),
    "whole numbers": (
        lambda: towns(pd.Categorical([0, 1, 2, 0, 0, 1])),
        [f"{name}[{k}]" for name in ("mean", "effect") for k in range(3)],
    ),
    "columns": (lambda: weights(["age", "income"]), ["w[age]", "w[income]"]),
    "columns without names": (lambda: weights([0, 1]), ["w[0]", "w[1]"]),
    "states": (
        classes,
        ["share[low]", "share[high]", "mu[low]", "mu[high]", "z[a]", "z[b]", "z[c]"],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_rows_are_called_as_the_data_call_them(case: str) -> None:
    build, names = CASES[case]
    model, data = build()
    assert model.infer(**data).summary().index.tolist() == names


def test_names_stand_beside_the_members_they_name() -> None:
    """Levels are read in their order: every effect is that of the rows with its name."""
    model, data = towns(TOWNS)
    told = model.infer(**data).summary("effect")["mean"]
    codes = np.array([1, 2, 0, 1, 1, 2])
    plain, _ = towns(codes)
    by_code = plain.infer(town=codes, y=SEEN)
    np.testing.assert_allclose(told, by_code.effect.mean)
    post = model.infer(**data)
    new = post.predict("y", town=["Zell", "Aalen"])
    np.testing.assert_allclose(new.mean, by_code.effect.mean[[2, 0]])


def test_one_member_can_be_asked_for() -> None:
    model, data = schools(pd.Series(Y, index=SCHOOLS))
    post = model.infer(**data)
    (one,) = post.marginals("theta[Andover]").values()
    assert one.mean == post.theta.mean[2]
    assert post.summary("mu", "theta[Andover]").index.tolist() == ["mu", "theta[Andover]"]
    with pytest.raises(
        KeyError, match=r"no entry 'theta\[Andovre\]'; did you mean 'theta\[Andover\]'"
    ):
        post.marginals("theta[Andovre]")


def test_names_are_kept_in_files_and_updates(tmp_path: Path) -> None:
    model, data = weights(["age", "income"])
    post = model.infer(**data)
    post.save(tmp_path / "kept.post")
    assert load_posterior(tmp_path / "kept.post").summary().index.tolist() == [
        "w[age]",
        "w[income]",
    ]
    more = post.update(X=np.array([[1.0, 1.0]]), y=[2.0])
    assert more.summary().index.tolist() == ["w[age]", "w[income]"]


def test_pictures_have_the_names() -> None:
    model, data = schools(pd.Series([*Y, 1.0], index=[*SCHOOLS, "Eton"]))
    post = model.infer(**data)
    told = [text.get_text() for text in np.ravel(np.asarray(plot(post)))[-1].get_yticklabels()]
    assert told == [f"theta[{name}]" for name in [*SCHOOLS, "Eton"]]
    drawn = np.ravel(np.asarray(plot(post, pairs=["theta[Choate]", "theta[Eton]"])))
    labels = {text for ax in drawn for text in (ax.get_xlabel(), ax.get_ylabel())}
    assert {"theta[Choate]", "theta[Eton]"} <= labels
    assert "theta[Andover]" in post._repr_html_()


def test_arviz_is_told_the_names(monkeypatch: pytest.MonkeyPatch) -> None:
    told: dict[str, Any] = {}

    def from_dict(**given: Mapping[str, Any]) -> None:
        told.update(given)

    monkeypatch.setitem(sys.modules, "arviz", SimpleNamespace(from_dict=from_dict))
    model, data = table()
    model.infer(**data).to_arviz(10, rng=0)
    assert told["dims"] == {"a": ["person"], "b": ["film"]}
    assert told["coords"] == {"person": ["Ann", "Bo"], "film": ["Alien", "Brazil"]}
    assert told["posterior"]["a"].shape == (1, 10, 2)
    model, data = towns(TOWNS)
    model.infer(**data).to_arviz(10, rng=0)
    assert told["dims"]["effect"] == ["effect_dim_0"]
    assert told["coords"]["effect_dim_0"] == ["Aalen", "Ulm", "Zell"]
    model, data = schools(Y)
    model.infer(**data).to_arviz(10, rng=0)
    assert told["dims"] is told["coords"] is None


def test_data_that_disagree_name_nothing() -> None:
    m = Model()
    m.error = Input("school")
    m.theta = Normal(0, variance=4).iid("school")
    m.y = Normal(m.theta, scale=m.error)
    error = pd.Series([1.0, 1.0, 1.0], index=SCHOOLS[::-1])
    told = m.infer(error=error, y=pd.Series(Y, index=SCHOOLS)).summary()
    assert told.index.tolist() == ["theta[0]", "theta[1]", "theta[2]"]


def test_names_can_only_pick() -> None:
    m = Model()
    m.town = Input("house")
    m.y = Normal(2.0 * m.town, variance=1)
    with pytest.raises(
        TypeError, match=r"input town must hold numbers, got 'Ulm' at index 0; strings are"
    ):
        m.infer(town=TOWNS, y=SEEN)
    model, data = towns(TOWNS, 5)
    with pytest.raises(ValueError, match=r"town has 3 levels, but (mean|effect) has 5 members"):
        model.infer(**data)
    model, data = towns(TOWNS)
    with pytest.raises(ValueError, match=r"input town: 'Ulmm' is no label; did you mean 'Ulm'"):
        model.infer(**data).predict("y", town=["Ulmm"])
    with pytest.raises(ValueError, match=r"input town: .* is no label"):
        model.infer(town=pd.Categorical([*TOWNS[:5], None]), y=SEEN)
