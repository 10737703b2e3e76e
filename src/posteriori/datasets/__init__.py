"""Data to learn from: public data sets that ship with the package, and generators with known truth.

Tables are of the class :class:`Dataset`. A ``load_…`` function reads numbers that stand in the
package, without a network; its docstring says where they come from. A ``make_…`` function draws
from a stated model: the same ``rng`` seed gives the same data, and ``truth`` holds the parameters.
Beside them stand small Bayesian networks, as files: :func:`list_networks`, :func:`network_path`.
"""

from posteriori.numerics.lazy import load_on_use

__all__, __getattr__, __dir__ = load_on_use(__name__, __file__)
