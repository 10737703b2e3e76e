"""Linear factors behind the columns of a table: normal factors with gaps, and independent sources."""
