"""Draws of the exact posterior, by which small variational blocks are corrected."""
