"""Log densities as sums of products of statistics."""
