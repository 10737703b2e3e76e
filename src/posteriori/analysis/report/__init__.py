"""Figures of reports, and what a fitted model says of columns and rows."""
