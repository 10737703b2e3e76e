"""Series of numbers over time: structural models, autoregressions and counts, with forecasts."""
