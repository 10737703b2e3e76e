"""Trees over binned columns: one grower for every criterion, and sums over all trees."""
