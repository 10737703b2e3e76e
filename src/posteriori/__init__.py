"""Probabilistic machine learning: posterior, evidence and predictions from one call.

Every room of the package (``posteriori.distributions``, ``posteriori.datasets``, …) and every name
listed here is loaded on first use, so that ``import posteriori`` costs next to nothing.

Examples
--------
>>> from posteriori import Beta, Bernoulli, bayes
>>> bayes(Beta(1, 1), Bernoulli, [1, 0, 1, 1, 0, 0, 1]).posterior
Beta(5, 4)
"""

from posteriori.numerics.lazy import load_on_use

__version__ = "0.1.0"

__all__, __getattr__, __dir__ = load_on_use(__name__, __file__)
