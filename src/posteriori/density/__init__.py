"""Densities without a form: histograms, kernels and neighbours, with evidence where there is one."""

from posteriori.numerics.lazy import load_on_use

__all__, __getattr__, __dir__ = load_on_use(__name__, __file__)
