"""Experts: regressions of which a gate chooses one for each row."""
