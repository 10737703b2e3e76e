"""Names that are loaded on first use (PEP 562), and the parts of SciPy that are.

Importing ``scipy.special`` or ``scipy.linalg`` takes twice as long as NumPy, and many models need
neither.
"""

from __future__ import annotations

import difflib
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

__all__ = ["blas", "lapack", "load_on_use", "special"]


def load_on_use(
    room: str, files: Mapping[str, Sequence[str]]
) -> tuple[list[str], Callable[[str], object], Callable[[], list[str]]]:
    """Return ``__all__``, ``__getattr__`` and ``__dir__`` of a room.

    Parameters
    ----------
    room : str
        The room's ``__name__``.
    files : mapping
        Which file of the room defines which public names.
    """
    file_of = {name: file for file, names in files.items() for name in names}
    public = sorted(file_of)

    def load(name: str) -> object:
        if name not in file_of:
            near = difflib.get_close_matches(name, public, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise AttributeError(f"module {room!r} has no attribute {name!r}{hint}")
        value: object = getattr(import_module(f"{room}.{file_of[name]}"), name)
        setattr(sys.modules[room], name, value)
        return value

    return public, load, lambda: public


class _ModuleOnUse(ModuleType):
    """A module that is imported when one of its names is first read."""

    def __getattr__(self, name: str) -> object:
        value = getattr(import_module(self.__name__), name)
        setattr(self, name, value)
        return value


if TYPE_CHECKING:
    from scipy import special as special
    from scipy.linalg import blas as blas
    from scipy.linalg import lapack as lapack
else:
    blas = _ModuleOnUse("scipy.linalg.blas")
    lapack = _ModuleOnUse("scipy.linalg.lapack")
    special = _ModuleOnUse("scipy.special")
