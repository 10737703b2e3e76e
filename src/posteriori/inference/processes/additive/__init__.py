"""Sums of smooth functions of one column each, by their values at a few points of every column."""
