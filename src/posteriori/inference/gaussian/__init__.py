"""Jointly normal unknowns: equations, their elimination and energies."""
