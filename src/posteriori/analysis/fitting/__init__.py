"""Fitting candidates to a table, and saving what was learnt."""
