"""Classifiers with linear boundaries."""
