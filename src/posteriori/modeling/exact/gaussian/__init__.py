"""Jointly normal variables with known covariances."""
