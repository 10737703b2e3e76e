"""Nodes and edges: orders of elimination and trees of cliques."""
