"""The top of the package: light to import, complete to look at, helpful when a name is wrong."""

import ast
import inspect
import subprocess
import sys
from dataclasses import is_dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import posteriori
from posteriori.estimators.parameters import COVARIANCES
from posteriori.modeling.contract.options import OPTION_NAMES

ROOT = Path(posteriori.__file__).parent
ROOMS = {p.parent.name for p in ROOT.glob("*/__init__.py")}
NAMES = sorted(set(posteriori.__all__) - ROOMS)
HEAVY = ("numba", "pandas", "matplotlib", "sklearn", "networkx", "scipy.stats", "rich", "typer")


def run_python(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def stub_of(package: ModuleType) -> dict[str, str]:
    """Return each name of a stub with the module it comes from, as Python reads the stub."""
    stub = Path(package.__file__).with_suffix(".pyi").read_text(encoding="utf-8")
    imports = [node for node in ast.parse(stub).body if isinstance(node, ast.ImportFrom)]
    return {alias.asname: str(node.module) for node in imports for alias in node.names}


def test_importing_the_package_loads_only_what_loads_the_rest():
    loaded = run_python(
        "import sys, posteriori; print(sorted(m for m in sys.modules if m.startswith('posteriori.')))"
    )
    assert loaded == "['posteriori.numerics', 'posteriori.numerics.lazy']"


def test_distributions_load_without_the_heavy_libraries():
    heavy = run_python(
        "import sys; from posteriori import Normal, bayes;"
        f"print([m for m in {HEAVY!r} if m in sys.modules])"
    )
    assert heavy == "[]"


def test_distributions_load_only_the_rooms_below():
    rooms = run_python(
        "import sys; from posteriori import Normal, bayes;"
        "print(sorted({m.split('.')[1] for m in sys.modules if m.startswith('posteriori.')}))"
    )
    assert rooms == "['distributions', 'numerics']"


def test_a_room_is_an_attribute_of_the_package():
    assert run_python("import posteriori; print(posteriori.numerics.__name__)") == (
        "posteriori.numerics"
    )


def test_every_room_on_disk_is_listed():
    assert set(posteriori.__all__) >= ROOMS


@pytest.mark.parametrize("room", sorted(ROOMS))
def test_every_room_is_shown_in_the_readme_and_the_reference(room):
    project = Path(__file__).parents[1]
    readme = (project / "README.md").read_text(encoding="utf-8")
    assert f"`src/posteriori/{room}/`" in readme
    reference = (project / "docs/reference/index.rst").read_text(encoding="utf-8")
    assert room == "cli" or f"   posteriori.{room}\n" in reference  # a command, not a library


@pytest.mark.parametrize("name", NAMES)
def test_every_public_name_resolves_to_the_object_of_its_room(name):
    room = getattr(posteriori, stub_of(posteriori)[name].removeprefix("posteriori."))
    assert getattr(posteriori, name) is getattr(room, name)
    assert name in room.__all__


def test_dir_lists_every_public_name_and_room():
    assert ROOMS | set(posteriori.__all__) <= set(dir(posteriori))
    assert not [name for name in dir(posteriori) if name.startswith("_") and name[1] != "_"]


def test_star_import_brings_every_public_name():
    names = run_python(
        "import posteriori; names = {}; exec('from posteriori import *', names);"
        "print(set(posteriori.__all__) <= set(names))"
    )
    assert names == "True"


@pytest.mark.parametrize("room", sorted(ROOMS - {"cli"}))
def test_rooms_load_the_names_of_their_stub(room):
    package = getattr(posteriori, room)
    folder = Path(package.__file__).parent
    inside = {path.stem for path in folder.iterdir()}
    assert inside.isdisjoint(package.__all__), "a file would hide the name that it defines"
    assert set(stub_of(package)) == set(package.__all__)
    for name in package.__all__:
        assert getattr(package, name) is not None
    assert dir(package) == package.__all__
    with pytest.raises(AttributeError, match="has no attribute 'Nromal'"):
        _ = package.Nromal


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("normal", "Normal"),
        ("Gama", "Gamma"),
        ("distribution", "distributions"),
        ("Bayes", "bayes"),
    ],
)
def test_a_misspelt_name_is_answered_with_the_nearest_one(wrong, right):
    with pytest.raises(AttributeError, match=f"no attribute '{wrong}'; did you mean '{right}'"):
        getattr(posteriori, wrong)


def test_a_name_that_is_near_nothing_gets_no_guess():
    with pytest.raises(AttributeError, match=r"no attribute 'qqqq'$"):
        _ = posteriori.qqqq


def test_import_of_a_wrong_name_fails():
    with pytest.raises(ImportError, match="name 'Gama' from 'posteriori'; did you mean 'Gamma'"):
        from posteriori import Gama  # noqa: F401


def test_a_name_of_another_room_is_answered_with_that_room():
    with pytest.raises(
        ImportError, match=r"from 'posteriori\.distributions'; posteriori\.tables has it$"
    ):
        from posteriori.distributions import ConditionalTable  # noqa: F401
    with pytest.raises(ImportError, match=r"; posteriori\.networks has it$"):
        from posteriori import BayesianNetwork  # noqa: F401
    with pytest.raises(AttributeError, match=r"'BayesianNetwork'; posteriori\.networks has it$"):
        _ = posteriori.distributions.BayesianNetwork
    assert not hasattr(posteriori.distributions, "ConditionalTable")


def public_objects() -> list[tuple[str, Any]]:
    """Return all public classes and functions with their rooms."""
    rooms = [(room, import_module(f"posteriori.{room}")) for room in sorted(ROOMS - {"cli"})]
    return [
        (f"{room}.{name}", getattr(here, name)) for room, here in rooms for name in here.__all__
    ]


def test_random_numbers_are_asked_for_in_one_way():
    """Constructors take ``random_state``, as scikit-learn's do; methods and functions take ``rng``.

    What has to draw the same numbers several times, for each of some models, takes a whole number, ``seed``.
    """
    asked = public_signatures()
    wrong = [
        name
        for name, signature in asked
        if ("rng" if name.endswith(".__init__") else "random_state") in signature.parameters
    ]
    seeds = [(n, s.parameters["seed"]) for n, s in asked if "seed" in s.parameters]
    wrong += [name for name, seed in seeds if seed.annotation not in (int, "int")]
    assert not wrong


def test_no_public_name_is_that_of_a_file_beside_the_stub() -> None:
    """Else the file, once it is imported for another name, stands in its place."""
    for stub in sorted(ROOT.rglob("*/__init__.pyi")):
        files = {file.stem for file in stub.parent.glob("*.py")}
        names = {
            alias.asname
            for node in ast.parse(stub.read_text(encoding="utf-8")).body
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
        }
        assert not files & names, stub


#: Words that no parameter is called by, and the one word that stands for them in all rooms.
SAID_OTHERWISE = {
    "algorithm": "method",
    "apart": "own_scale",
    "approximation": "method",
    "covariance_type": "covariance",
    "estimate": "method",
    "inference": "method",
    "learning": "method",
    "longest": "max_duration",
    "moves": "split_merge",
    "restarts": "n_init",
    "several": "multiclass",
    "tensor": "tensor_product",
    "training": "method",
    "verbose": "progress",
}


def public_signatures() -> list[tuple[str, inspect.Signature]]:
    """Return the signatures of all public functions and methods, and of constructors of what is no record."""
    found = []
    for name, thing in public_objects():
        if inspect.isfunction(thing):
            found.append((name, inspect.signature(thing)))
        if inspect.isclass(thing):
            methods = inspect.getmembers(thing, inspect.isfunction)
            methods += inspect.getmembers(thing, inspect.ismethod)  # of the class
            found += [
                (f"{name}.{method}", inspect.signature(function))
                for method, function in methods
                if method != "__init__" or not is_dataclass(thing)
                if method == "__init__" or not method.startswith("_")
            ]
    return found


def test_one_word_stands_for_one_thing() -> None:
    wrong = [
        f"{name}({parameter}=): say {SAID_OTHERWISE[parameter]}"
        for name, signature in public_signatures()
        for parameter in signature.parameters
        if parameter in SAID_OTHERWISE
    ]
    assert not wrong
    assert not OPTION_NAMES & SAID_OTHERWISE.keys()


def test_progress_is_shown_and_callbacks_are_called() -> None:
    asked = [(n, s.parameters) for n, s in public_signatures()]
    shown = {n: str(p["progress"].annotation) for n, p in asked if "progress" in p}
    called = {n: str(p["callback"].annotation) for n, p in asked if "callback" in p}
    assert {n for n, kind in shown.items() if kind != "bool | None"} == set()
    assert {n for n, kind in called.items() if kind != "Any" and "Callable" not in kind} == set()


def test_covariances_have_one_vocabulary() -> None:
    classes = [thing for _, thing in public_objects() if hasattr(thing, "_constraints")]
    allowed = {
        one.__name__: one._constraints["covariance"].choices
        for one in classes
        if "covariance" in inspect.signature(one).parameters
    }
    assert set(allowed) == {"GaussianDiscriminant", "GaussianMixture", "HiddenMarkovModel"}
    assert all(set(choices) <= set(COVARIANCES) for choices in allowed.values())


def test_draws_and_forecasts_are_asked_for_in_one_way() -> None:
    """``size`` is how many draws; what draws sequences takes the ``length`` of one."""
    wrong = []
    for name, signature in public_signatures():
        asked = [parameter for parameter in signature.parameters if parameter != "self"]
        if name.endswith(".sample") and (asked[0] not in ("size", "length") or "rng" not in asked):
            wrong.append(name)
        if name.endswith(".forecast") and "horizon" not in asked:
            wrong.append(name)
    assert not wrong


def test_densities_of_rows_are_log_probabilities() -> None:
    classes = [thing for _, thing in public_objects() if hasattr(thing, "score_samples")]
    without = {one.__name__ for one in classes if not hasattr(one, "log_prob")}
    assert without == {"OneClassSupportVector"}  # its scores are no densities


def test_one_name_means_one_thing_in_all_rooms():
    homes: dict[str, set[int]] = {}
    for name, thing in public_objects():
        homes.setdefault(name.rpartition(".")[2], set()).add(id(thing))
    assert not [name for name, things in homes.items() if len(things) > 1]


def test_version_is_that_of_the_installed_distribution():
    from importlib.metadata import version

    assert posteriori.__version__ == version("posteriori")
