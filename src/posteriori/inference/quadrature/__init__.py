"""Integrals over a few numbers by lattices that find where the mass lies."""
