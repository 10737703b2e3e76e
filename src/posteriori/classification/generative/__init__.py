"""Classifiers that model how rows come about."""
