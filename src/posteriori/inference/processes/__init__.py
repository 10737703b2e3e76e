"""Gaussian processes: evidence of a kernel, and the search for its parameters."""
