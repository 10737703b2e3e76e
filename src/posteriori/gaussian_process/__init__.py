"""Gaussian processes: functions with a kernel, their evidence, and where they do not know."""

from posteriori.numerics.lazy import load_on_use

__all__, __getattr__, __dir__ = load_on_use(__name__, __file__)
