"""Blocks that are solved exactly, a folder for each kind."""
