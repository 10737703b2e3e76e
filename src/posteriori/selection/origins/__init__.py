"""Forecasts from points in the past of a series: fits, scores, and the average."""
