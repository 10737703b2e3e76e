"""Names that are loaded on first use (PEP 562), and the libraries that are.

Importing ``scipy.special`` or ``scipy.linalg`` takes twice as long as NumPy, pandas takes longer
still, and many models need none of them. So files import these modules from here, at the top, and
pay for one when they first read a name of it.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from opcode import opmap
from pathlib import Path
from types import FrameType, ModuleType
from typing import TYPE_CHECKING

__all__ = [
    "blas",
    "contourpy",
    "covariance",
    "csgraph",
    "fft",
    "lapack",
    "load_on_use",
    "matplotlib",
    "mpl_axes",
    "mpl_colors",
    "mpl_fonts",
    "mpl_patches",
    "mpl_paths",
    "mpl_ticker",
    "names_here",
    "networkx",
    "optimize",
    "pandas",
    "pyplot",
    "read_other_names",
    "scipy_linalg",
    "sparse",
    "sparse_linalg",
    "special",
    "stats",
]

_IMPORT = re.compile(r"^from ([\w.]+) import (\([^)]*\)|.*)$", re.MULTILINE)
_ALIAS = re.compile(r"(\w+) as \w+")

#: What libraries append to the word for a method.
_ENDINGS = r"(classifier|regressor|regression|model|cv|analysis)$"


def load_on_use(
    room: str, file: str
) -> tuple[list[str], Callable[[str], object], Callable[[], list[str]]]:
    """Return ``__all__``, ``__getattr__`` and ``__dir__`` of a room, as its stub file lists them.

    The stub ``__init__.pyi``, which type checkers and editors read, is the only list of a room's
    public names: ``from posteriori.room.file import Name as Name``.

    Parameters
    ----------
    room, file : str
        The room's ``__name__`` and ``__file__``.
    """
    source_of = _read_stub(file)
    public = sorted(source_of)

    def load(name: str) -> object:
        if name not in source_of:
            known = _rooms_with(name, room, file) or _elsewhere(name) or _hint(name, public)
            if _is_import(sys._getframe(1)):  # which would put words of its own in place of these
                raise ImportError(f"cannot import name {name!r} from {room!r}{known}", name=room)
            raise AttributeError(f"module {room!r} has no attribute {name!r}{known}")
        source = source_of[name]
        if source == room:  # a room of the package itself
            return import_module(f"{room}.{name}")
        value: object = getattr(import_module(source), name)
        setattr(sys.modules[room], name, value)
        return value

    return public, load, lambda: public


def _read_stub(file: str) -> dict[str, str]:
    """Return which module each name is imported from."""
    text = Path(file).with_suffix(".pyi").read_text(encoding="utf-8")
    return {
        name: source for source, names in _IMPORT.findall(text) for name in _ALIAS.findall(names)
    }


def _rooms_with(name: str, room: str, file: str) -> str:
    """Name the rooms that have a public name which this one has not."""
    package, _, inner = room.partition(".")
    folder = Path(file).parents[1 if inner else 0]
    stubs = [] if name.startswith("__") else sorted(folder.glob("*/__init__.pyi"))
    found = [f"{package}.{stub.parent.name}" for stub in stubs if name in _read_stub(str(stub))]
    return f"; {' and '.join(found)} {'has' if len(found) == 1 else 'have'} it" if found else ""


def _elsewhere(name: str) -> str:
    """Name what does here what other libraries call so."""
    here = () if name.startswith("_") else names_here(name)
    return f"; here that is {' or '.join(here)}" if here else ""


def read_other_names() -> dict[str, list[str]]:
    """Return words of the field and of other libraries, and by room what does here what they stand for."""
    import tomllib

    file = Path(__file__).parents[1] / "other_names.toml"
    return tomllib.loads(file.read_text(encoding="utf-8"))


def names_here(word: str) -> tuple[str, ...]:
    """Return what does here what a word stands for elsewhere; nothing for words that are not known.

    Examples
    --------
    >>> names_here("kalman_filter")
    ('posteriori.sequence.LinearGaussianSystem', 'posteriori.inference.filter_chain')
    >>> names_here("XGBRegressor")
    ('posteriori.ensemble.GradientBoostingClassifier', 'posteriori.ensemble.GradientBoostingRegressor')
    """
    known = {_bare(name): here for name, here in read_other_names().items()}
    asked = _bare(word)
    found = known.get(asked) or known.get(re.sub(_ENDINGS, "", asked)) or ()
    return tuple(f"posteriori.{name}" for name in found)


def _bare(word: str) -> str:
    """Return a word in small letters, without what stands between them; XGB and LGBM are short for others."""
    plain = "".join(c for c in word.lower() if c.isalnum())
    return re.sub(r"^lgbm", "lightgbm", re.sub(r"^xgb(?!oost)", "xgboost", plain))


def _is_import(frame: FrameType) -> bool:
    """Tell whether a frame runs ``from … import …``, and asks for a name by that."""
    return frame.f_code.co_code[frame.f_lasti] == opmap["IMPORT_FROM"]


def _hint(name: str, public: Sequence[str]) -> str:
    """Name the public name nearest to a misspelt one, if any is near."""
    if name.startswith("__"):  # probed by tools: not a misspelling
        return ""
    from difflib import get_close_matches

    spelling = {known.lower(): known for known in public}
    near = get_close_matches(name.lower(), spelling, n=1)
    return f"; did you mean {spelling[near[0]]!r}?" if near else ""


class _ModuleOnUse(ModuleType):
    """A module that is imported when one of its names is first read."""

    def __getattr__(self, name: str) -> object:
        value = getattr(import_module(self.__name__), name)
        setattr(self, name, value)
        return value


if TYPE_CHECKING:
    import contourpy as contourpy
    import matplotlib as matplotlib
    import networkx as networkx
    import pandas as pandas
    from matplotlib import (
        axes as mpl_axes,
        colors as mpl_colors,
        font_manager as mpl_fonts,
        patches as mpl_patches,
        path as mpl_paths,
        pyplot as pyplot,
        ticker as mpl_ticker,
    )
    from scipy import (
        fft as fft,
        linalg as scipy_linalg,
        optimize as optimize,
        sparse as sparse,
        special as special,
        stats as stats,
    )
    from scipy.linalg import blas as blas, lapack as lapack
    from scipy.sparse import csgraph as csgraph, linalg as sparse_linalg
    from sklearn import covariance as covariance
else:
    blas = _ModuleOnUse("scipy.linalg.blas")
    contourpy = _ModuleOnUse("contourpy")
    covariance = _ModuleOnUse("sklearn.covariance")
    csgraph = _ModuleOnUse("scipy.sparse.csgraph")
    fft = _ModuleOnUse("scipy.fft")
    lapack = _ModuleOnUse("scipy.linalg.lapack")
    matplotlib = _ModuleOnUse("matplotlib")
    mpl_axes = _ModuleOnUse("matplotlib.axes")
    mpl_colors = _ModuleOnUse("matplotlib.colors")
    mpl_fonts = _ModuleOnUse("matplotlib.font_manager")
    mpl_patches = _ModuleOnUse("matplotlib.patches")
    mpl_paths = _ModuleOnUse("matplotlib.path")
    mpl_ticker = _ModuleOnUse("matplotlib.ticker")
    networkx = _ModuleOnUse("networkx")
    optimize = _ModuleOnUse("scipy.optimize")
    pandas = _ModuleOnUse("pandas")
    pyplot = _ModuleOnUse("matplotlib.pyplot")
    scipy_linalg = _ModuleOnUse("scipy.linalg")
    sparse = _ModuleOnUse("scipy.sparse")
    sparse_linalg = _ModuleOnUse("scipy.sparse.linalg")
    special = _ModuleOnUse("scipy.special")
    stats = _ModuleOnUse("scipy.stats")
