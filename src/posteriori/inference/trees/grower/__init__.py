"""How one tree grows, in compiled loops: nodes, sums by bins, divisions."""
