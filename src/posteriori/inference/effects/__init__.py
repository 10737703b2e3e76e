"""Effects of the levels of categories: matrices with a diagonal corner, sums over cells, spreads."""
