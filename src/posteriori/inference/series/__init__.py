"""Series of numbers: passes over chains whose transitions are sparse and whose scales are unknown."""
