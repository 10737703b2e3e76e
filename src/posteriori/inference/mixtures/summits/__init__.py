"""Summits of mixtures, the ridges between them, and which components are one group."""
