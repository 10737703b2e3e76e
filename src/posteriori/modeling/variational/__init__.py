"""Variational message passing: coordinate ascent between exact blocks of one model."""
