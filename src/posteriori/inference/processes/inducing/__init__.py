"""Processes of many rows, told at a few points."""
