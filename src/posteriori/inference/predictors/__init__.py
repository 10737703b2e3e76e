"""Posteriors of linear predictors behind a link."""
