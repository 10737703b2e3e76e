"""The report of an analysis: one HTML page that needs no network."""
