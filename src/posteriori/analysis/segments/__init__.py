"""Segments of the rows of a table: states that follow one another, and what they are like."""
