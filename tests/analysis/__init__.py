"""Tests of :mod:`posteriori.analysis`."""
