"""Tests of rows that belong to something."""
