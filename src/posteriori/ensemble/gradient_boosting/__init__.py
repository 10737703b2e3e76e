"""Gradient boosting: trees are added that follow the natural gradient of a log density."""
