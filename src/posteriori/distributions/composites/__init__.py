"""Distributions made of others, of data, or of numbers on a grid."""
