"""The posterior over partitions of rows: exact sums over all of them, and collapsed Gibbs sampling."""
