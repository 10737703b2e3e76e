"""Models with two linear predictors of the same columns: log posteriors and beliefs."""
