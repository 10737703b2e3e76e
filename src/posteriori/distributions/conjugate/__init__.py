"""Bayes' rule for conjugate pairs, and on grids."""
