"""Bound factors in the forms that solvers want: rows, tables, densities of known numbers."""
