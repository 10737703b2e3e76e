"""Regression by kernels: rows that are kept, features of a kernel, and rows that suffice."""
