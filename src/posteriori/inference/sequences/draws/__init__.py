"""Draws of hidden chains: of parameters and paths by turns, and evidence from them."""
