"""Predictions under independent beliefs."""
