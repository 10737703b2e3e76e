"""Clusters of rows around centres: seeds, assignments, merges."""
