"""Derivatives, roots and integrals."""
