"""Exact answers about discrete variables: tables on a tree of cliques, summed or maximised."""
