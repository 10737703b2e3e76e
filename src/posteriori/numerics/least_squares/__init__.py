"""Least squares: triangular factors of data, and the weights that they determine."""
