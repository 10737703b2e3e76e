"""Models that are exact once a few numbers are known: these are integrated over, or summed."""
