"""Rows with gaps: what is known of their missing entries, pattern by pattern."""
