"""Forecasts as words, figures and pages."""
