"""From a dated column to a forecast: reading, candidates at origins, ranking, words and report."""
