"""Posteriors of predictors with effects of levels, and the spreads of these of highest evidence."""
