"""How far to trust approximate posteriors: draws of a belief, weighed by the true density."""
