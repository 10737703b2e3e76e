"""Sequences: Markov chains, hidden Markov models, linear systems and series over time, with evidence."""

from posteriori.numerics.lazy import load_on_use

__all__, __getattr__, __dir__ = load_on_use(__name__, __file__)
